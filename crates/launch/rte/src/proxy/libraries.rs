//! Looks whether ranks without a hello have loaded another MPI library.

use std::path::Path;
use std::time::Duration;

use super::Proxy;
use super::clock::no_later_than;
use crate::foreign;
use crate::spec::Verbosity;
use pmi::server::Phase;

/// Searches after the first, each four times later than the one before: up to a minute after the start.
const MOST_SEARCHES: u32 = 5;

impl Proxy {
    /// Plans a search, unless one rank is alone anyway.
    pub(super) fn look_for_libraries_in(&mut self, delay: Duration) {
        if self.ranks.len() > 1 && self.job.spec.verbosity > Verbosity::Quiet {
            no_later_than(&mut self.clock.libraries, delay);
        }
    }

    /// The planned search: the first silent rank stands for all.
    pub(super) fn look_for_libraries(&mut self) {
        let silent = (0..self.ranks.len()).find(|&rank| self.is_silent(rank));
        if let (Some(rank), false) = (silent, self.libraries.told) {
            self.look_into(rank);
            self.libraries.count += 1;
            if self.libraries.count < MOST_SEARCHES {
                self.look_for_libraries_in(Duration::from_millis(250 << (2 * self.libraries.count)));
            }
        }
    }

    /// A silent rank has written something: it may be a short program that is about to end.
    pub(super) fn look_at_output(&mut self, rank: usize) {
        if !self.libraries.at_output && self.ranks.len() > 1 && self.is_silent(rank) {
            self.libraries.at_output = true;
            self.look_into(rank);
        }
    }

    /// A silent rank has ended: its program's file shows what it was linked with.
    pub(super) fn look_at_program(&mut self, rank: usize) {
        let silent = self.server.phase(rank) == Phase::Silent;
        if self.libraries.told || !silent || self.ranks.len() < 2 {
            return;
        }
        let Some(program) = &self.job.programs[self.job.app_of[rank]] else { return };
        let path = Path::new(program.path.to_str().unwrap_or(""));
        let path = match &program.directory {
            Some(directory) => Path::new(directory.to_str().unwrap_or("")).join(path),
            None => path.to_owned(),
        };
        if let Some(library) = foreign::linked(&path) {
            self.tell(rank, &format!("{} is linked with {library}", path.display()));
        }
        // The file is the same for all ranks of a program; jobs of many programs with many files are rare.
        self.libraries.told |= self.job.programs.len() == 1;
    }

    /// Another library than ours sends us PMI-1.
    pub(super) fn other_library(&mut self, rank: usize) {
        if self.libraries.told || self.job.spec.verbosity == Verbosity::Quiet {
            return;
        }
        self.libraries.told = true;
        let pid = self.ranks[rank].mpi_pid.unwrap_or_default();
        let library = foreign::loaded_below(pid)
            .map_or("a library of its own".to_owned(), |(_, p)| p.display().to_string());
        let number = self.number(rank);
        self.note(&format!(
            "mpiexec: rank {number} uses another MPI library than this mpiexec's\n  \
             seen: {library}, which speaks PMI-1, so the job runs\n  \
             next: to run on Alhena, compile the program with Alhena's mpicc or load its library\n"
        ));
    }

    fn is_silent(&self, rank: usize) -> bool {
        self.server.phase(rank) == Phase::Silent && self.ranks[rank].status.is_none()
    }

    fn look_into(&mut self, rank: usize) {
        if let Some((pid, path)) =
            foreign::loaded_below(self.ranks[rank].process.pid().as_raw_nonzero().get())
        {
            self.tell(rank, &format!("process {pid} loaded {}", path.display()));
        }
    }

    fn tell(&mut self, rank: usize, seen: &str) {
        if self.libraries.told || self.job.spec.verbosity == Verbosity::Quiet {
            return;
        }
        self.libraries.told = true;
        let number = self.number(rank);
        self.note(&format!(
            "mpiexec: rank {number} uses another MPI library than this mpiexec's\n  \
             seen: {seen}, and it does not speak to this mpiexec: each rank takes itself for rank 0 of 1\n  \
             next: start the program with that library's own mpiexec, or compile it with Alhena's mpicc\n"
        ));
    }
}
