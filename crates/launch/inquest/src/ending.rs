//! Whether a process has begun to end.

use platform::process_stat::Stat;
use rustix::process::Pid;

/// Whether the process `pid` is about to end: others may see that its connections are closed already, and its parent
/// does not see its end yet. It has ended once all its threads have.
pub fn is_ending(pid: Pid) -> bool {
    let pid = pid.as_raw_nonzero();
    if !is_exiting(&format!("/proc/{pid}/stat")) {
        return false;
    }
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.flatten().all(|thread| is_exiting(&format!("{}/stat", thread.path().display())))
}

/// Whether the thread with this file has begun to end: it has the flag `PF_EXITING` in the ninth field. One that is gone
/// has ended.
fn is_exiting(path: &str) -> bool {
    const PF_EXITING: u64 = 4;
    let Ok(stat) = std::fs::read_to_string(path) else { return true };
    let flags = Stat::parse(&stat).and_then(|stat| stat.number(9));
    flags.is_some_and(|flags| flags & PF_EXITING != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_is_not_ending() {
        assert!(!is_ending(rustix::process::getpid()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = Pid::from_child(&child);
        // A zombie has begun to end.
        while !is_ending(pid) {
            platform::waiter::give_way();
        }
        child.wait().unwrap();
    }
}
