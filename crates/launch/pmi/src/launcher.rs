//! Signs of launchers in the environment.
//!
//! A program that cannot reach the launcher which started it must not quietly become N programs of one
//! rank each ("all ranks print 0"). So everything that hints at a launcher of several processes is looked
//! at before this process takes itself for a singleton.

use std::{env, fs};

use crate::Error;

/// Lets a process be alone although a launcher of several processes was seen.
pub(crate) const ALLOW_SINGLETON: &str = "ALHENA_ALLOW_SINGLETON";

/// A launcher and the variables it sets for each process.
struct Trace {
    launcher: &'static str,
    /// Holds the number of processes; a value of 1 is harmless.
    size: &'static str,
    /// Set for each process; gives the launcher away where the size is not in the environment.
    presence: &'static str,
}

const TRACES: &[Trace] = &[
    Trace {
        launcher: "another PMI launcher (MPICH's mpiexec or a relative)",
        size: "PMI_SIZE",
        presence: "PMI_ID",
    },
    Trace { launcher: "Open MPI's mpirun", size: "OMPI_COMM_WORLD_SIZE", presence: "OMPI_COMM_WORLD_RANK" },
    Trace { launcher: "Slurm's srun", size: "SLURM_STEP_NUM_TASKS", presence: "" },
    Trace { launcher: "Cray's aprun or PALS", size: "PALS_SIZE", presence: "ALPS_APP_PE" },
    Trace { launcher: "Flux", size: "FLUX_JOB_SIZE", presence: "" },
    Trace { launcher: "IBM's jsrun", size: "JSM_NAMESPACE_SIZE", presence: "" },
    Trace { launcher: "MVAPICH's mpirun_rsh", size: "MPIRUN_NPROCS", presence: "" },
    Trace { launcher: "a PMIx launcher (prterun, srun --mpi=pmix)", size: "", presence: "PMIX_RANK" },
];

/// `Ok` where nothing contradicts a job of one rank.
pub fn check_singleton() -> Result<(), Error> {
    check(|name| env::var(name).ok())
}

/// Notes where mpiexec has started this process as a rank whose environment was lost on the way, which makes it a job of one.
pub(crate) fn note_lost_environment() {
    let parent = std::os::unix::process::parent_id();
    let program = fs::read_link(format!("/proc/{parent}/exe")).ok();
    let is_mpiexec = program.is_some_and(|path| path.file_name().is_some_and(|name| name == "mpiexec"));
    if is_mpiexec && !may_be_alone() {
        eprintln!(
            "alhena: MPI_Init: this process is a job of its own, of one rank\n  \
             seen: mpiexec (pid {parent}) has started it, and the variables that mpiexec sets for a rank are gone\n  \
             next: keep the environment (`env -i` and `sudo` remove it), or set {ALLOW_SINGLETON}=1 if it is meant to be alone"
        );
    }
}

/// Whether the user has set that this process is meant to be alone.
pub(crate) fn may_be_alone() -> bool {
    says_yes(&|name| env::var(name).ok())
}

fn says_yes(variable: &impl Fn(&str) -> Option<String>) -> bool {
    variable(ALLOW_SINGLETON).is_some_and(|v| !matches!(v.as_str(), "" | "0"))
}

fn check(variable: impl Fn(&str) -> Option<String>) -> Result<(), Error> {
    if says_yes(&variable) {
        return Ok(());
    }
    for trace in TRACES {
        let seen = match variable(trace.size) {
            Some(size) if size.trim() == "1" => return Ok(()),
            Some(size) if !size.is_empty() => Some(format!("{}={size}", trace.size)),
            _ => variable(trace.presence).map(|value| format!("{}={value}", trace.presence)),
        };
        if let Some(seen) = seen {
            return Err(Error::UnreachableLauncher { launcher: trace.launcher, seen });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_with(set: &[(&str, &str)]) -> Result<(), String> {
        check(|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn nothing_set_is_a_singleton() {
        assert!(check_with(&[]).is_ok());
    }

    #[test]
    fn launchers_of_several_processes_stop_the_program() {
        for (name, value) in [
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("PMIX_RANK", "0"),
            ("SLURM_STEP_NUM_TASKS", "2"),
            ("PMI_SIZE", "3"),
        ] {
            let message = check_with(&[(name, value)]).unwrap_err();
            assert!(message.contains(&format!("{name}={value}")), "{message}");
            assert_eq!(message.lines().count(), 3, "{message}");
            assert!(check_with(&[(name, value), (ALLOW_SINGLETON, "1")]).is_ok());
        }
    }

    #[test]
    fn a_job_of_one_process_is_harmless() {
        assert!(check_with(&[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")]).is_ok());
        assert!(check_with(&[("SLURM_STEP_NUM_TASKS", "1")]).is_ok());
    }
}
