//! The processes of a job, for a debugger that looks at mpiexec (crate `mpir`).
//!
//! A daemon reports the processes of its ranks before it reports that they have come to a barrier. While the debugger has stopped
//! mpiexec, no barrier of the key space ends: so all ranks wait in `MPI_Init`.

use super::Head;

impl Head {
    /// The ranks of a host were started.
    pub(super) fn take_processes(&mut self, host: usize, processes: Vec<(u32, i32)>) {
        for (rank, process) in processes {
            if self.hosts[host].ranks.contains(&rank) {
                self.processes[rank as usize] = Some(process);
            }
        }
        if let Some(all) = self.processes.iter().copied().collect::<Option<Vec<i32>>>() {
            mpir::spawned(&self.described(&all));
        }
    }

    fn described(&self, processes: &[i32]) -> Vec<mpir::Process> {
        let apps = self.spec.app_of();
        let process = |(rank, &pid): (usize, &i32)| mpir::Process {
            host: self.hosts[self.spec.host_of[rank] as usize].name.clone(),
            program: self.spec.apps[apps[rank]].program.to_string_lossy().into_owned(),
            pid,
        };
        processes.iter().enumerate().map(process).collect()
    }
}
