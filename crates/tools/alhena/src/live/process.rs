//! What the system shows of the process of a rank.

use std::fs;

use platform::process_stat::Stat;

/// A process at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// The letter of its state: R, S, D, T and others.
    pub state: char,
    /// Processor time that it has used, in the system's ticks.
    pub ticks: u64,
}

/// What the process is; `None`: there is none.
pub fn of(pid: i32) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let stat = Stat::parse(&text).filter(|stat| !stat.has_ended())?;
    Some(Process { state: stat.state()?, ticks: stat.ticks()? })
}

/// Ticks in a second.
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_process_that_runs_has_a_state_and_a_time() {
        assert!(of(std::process::id() as i32).is_some());
        assert_eq!(of(i32::MAX), None);
    }
}
