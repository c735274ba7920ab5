//! What the system tells about the process of a rank.

use std::fs;

/// A process at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// The letter of its state: R, S, D, T, Z and others.
    pub state: char,
    /// Processor time that it has used, in the system's ticks.
    pub ticks: u64,
}

/// What the process is; `None`: there is none.
pub fn of(pid: i32) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `number (name) state …`, of which the fields 14 and 15 are its times.
fn parse(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Process { state: fields.first()?.chars().next()?, ticks })
}

/// Ticks in a second.
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_do_no_harm() {
        let stat = "7 (a) R (b) S 1 7 7 0 -1 4194304 90 0 0 0 12 30 0 0 20";
        assert_eq!(parse(stat), Some(Process { state: 'S', ticks: 42 }));
        assert_eq!(parse("7"), None);
        assert!(of(std::process::id() as i32).is_some());
    }
}
