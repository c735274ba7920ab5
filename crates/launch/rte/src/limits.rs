//! Limits of the system (`ulimit`) that the launcher raises, and those that end ranks.

use std::io;

use platform::process_stat::Stat;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that the launcher needs for each rank: its connection, two pipes, two files, input, two processes.
pub const FOR_EACH: u64 = 8;
/// What the kernel counts processor time in for programs (`USER_HZ`), a second.
const TICKS: f64 = 100.0;
/// Descriptors that it needs besides.
pub const BESIDES: u64 = 64;

/// Makes room for the descriptors of `ranks` ranks. Returns the limit before, if it was raised.
pub fn raise_open_files(ranks: usize) -> Option<libc::rlimit> {
    let before = getrlimit(Resource::Nofile);
    let needed = ranks as u64 * FOR_EACH + BESIDES;
    if before.current.is_none_or(|current| current >= needed) {
        return None;
    }
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    setrlimit(Resource::Nofile, raised).ok()?;
    let number = |limit: Option<u64>| limit.unwrap_or(libc::RLIM_INFINITY);
    Some(libc::rlimit { rlim_cur: number(before.current), rlim_max: number(before.maximum) })
}

/// Most processes of this host, by the kernel's setting.
pub fn most_processes() -> Option<usize> {
    std::fs::read_to_string("/proc/sys/kernel/pid_max").ok()?.trim().parse().ok()
}

/// What to do about `error`, where a limit is behind it.
pub fn advice(error: &io::Error) -> Option<String> {
    let now =
        |resource| getrlimit(resource).current.map_or("unlimited".to_owned(), |limit| limit.to_string());
    match error.raw_os_error()? {
        libc::EMFILE => Some(format!(
            "raise `ulimit -n` (now {}): mpiexec needs {BESIDES} descriptors and {FOR_EACH} more for each rank",
            now(Resource::Nofile)
        )),
        libc::EAGAIN => {
            Some(format!("raise `ulimit -u` (now {}), or start fewer ranks", now(Resource::Nproc)))
        }
        libc::ENFILE => {
            Some("have the administrator raise fs.file-max: this host has no descriptors left".to_owned())
        }
        _ => None,
    }
}

/// Why the kernel ended `pid`, a process that was not reaped yet, by `signal`: its limit of processor time.
pub fn behind(signal: i32, pid: Pid) -> Option<String> {
    if signal != libc::SIGKILL {
        return None;
    }
    let limit = getrlimit(Resource::Cpu).current?;
    let used = processor_seconds(pid)?;
    // The kernel counts in ticks and strikes late rather than early.
    (used + 0.5 >= limit as f64)
        .then(|| format!("it has used up its {limit} s of processor time (`ulimit -t`)"))
}

/// Processor time of `pid` and of its children that it has waited for, in seconds.
fn processor_seconds(pid: Pid) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    Some(Stat::parse(&text)?.ticks()? as f64 / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_of_descriptors_names_the_limit() {
        let text = advice(&io::Error::from_raw_os_error(libc::EMFILE)).unwrap();
        assert!(text.contains("ulimit -n"), "{text}");
        assert_eq!(advice(&io::Error::from_raw_os_error(libc::EIO)), None);
    }

    #[test]
    fn the_time_of_this_process_is_read() {
        assert!(processor_seconds(rustix::process::getpid()).is_some());
    }
}
