//! Stacks of ranks that crash (`-stacks-on-crash`).

use std::fmt::Write;

use inquest::Status;
use symbols::Resolver;

use super::Proxy;

impl Proxy {
    /// Follows the ranks to their ends, if that is wanted.
    pub(super) fn follow_ranks(&mut self) {
        if !self.job.spec.stacks_on_crash {
            return;
        }
        let pids = self.ranks.iter().map(|rank| rank.process.pid().as_raw_nonzero().get()).collect();
        match stacks::follow(pids) {
            Ok(crashes) => self.crashes = Some(crashes),
            Err(error) => {
                let next = stacks::advice(&error);
                self.note(&format!(
                    "mpiexec: -stacks-on-crash: the ranks cannot be traced\n  seen: {error}\n  next: {next}; the job goes on without\n"
                ));
            }
        }
    }

    /// Prints where a rank has crashed.
    pub(super) fn show_crash(&mut self, rank: usize) {
        let Some(crashes) = self.crashes.clone().filter(|_| !self.ending) else { return };
        let state = &self.ranks[rank];
        let own = state.process.pid().as_raw_nonzero().get();
        let Some(stack) = state.mpi_pid.and_then(|pid| crashes.take(pid)).or_else(|| crashes.take(own))
        else {
            return;
        };
        let signal = match state.status {
            Some(Status::Killed(signal)) => format!(", killed by {}", inquest::signal::name(signal)),
            _ => String::new(),
        };
        let (number, host) = (self.number(rank), &self.job.host);
        let mut text = format!("mpiexec: call stack of rank {number} on {host}{signal}\n");
        let mut resolver = Resolver::new();
        for (depth, frame) in stack.frames.iter().enumerate() {
            let _ = writeln!(text, "  #{depth:<2} {}", frame.place(&mut resolver));
        }
        self.note(&text);
    }
}
