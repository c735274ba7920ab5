//! What the threads of another process do, as `/proc` has it.

use std::fs;

use platform::process_stat::Stat;

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Its number.
    pub thread: i32,
    /// See [`Stat::sleeps`].
    pub sleeps: bool,
    /// Processor time that it has used, in the system's ticks.
    pub ticks: u64,
    /// It is one of the MPI library's own.
    pub is_librarys: bool,
}

/// The threads of a process that have not ended; `None`: they cannot be seen.
pub fn all(pid: i32) -> Option<Vec<Task>> {
    let mut tasks = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let entry = entry.ok()?;
        let thread = entry.file_name().to_str()?.parse().ok()?;
        // One that ends just now may go on in another one.
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        tasks.extend(parse(thread, &stat)?);
    }
    (!tasks.is_empty()).then_some(tasks)
}

/// What its `stat` says of a thread; `Some(None)`: it has ended.
fn parse(thread: i32, stat: &str) -> Option<Option<Task>> {
    let stat = Stat::parse(stat)?;
    if stat.has_ended() {
        return Some(None);
    }
    let is_librarys = stat.name.starts_with("alhena");
    Some(Some(Task { thread, sleeps: stat.sleeps(), ticks: stat.ticks()?, is_librarys }))
}

/// Whether a thread waits, without a limit of time, on a word of its process's own memory: then only another thread of the
/// process can wake it.
pub fn waits_for_own_process(pid: i32, task: &Task) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/task/{}/syscall", task.thread));
    call.ok().and_then(|text| word(&text)).is_some_and(|word| is_private(pid, word))
}

/// The word on which the thread waits, if it does so by a futex without time-out. `text`: number of the call, six
/// arguments, stack pointer, program counter.
fn word(text: &str) -> Option<u64> {
    /// Bits of the operation that say whose word it is, and by which clock time would count.
    const FLAGS: u64 = 128 | 256;
    const WAIT: u64 = 0;
    const WAIT_BITSET: u64 = 9;
    let mut fields = text.split_ascii_whitespace();
    let call: i64 = fields.next()?.parse().ok()?;
    let numbers: Option<Vec<u64>> =
        fields.take(4).map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok()).collect();
    let [address, operation, _, limit] = numbers?[..] else { return None };
    let waits = matches!(operation & !FLAGS, WAIT | WAIT_BITSET);
    (call == libc::SYS_futex && waits && limit == 0).then_some(address)
}

/// Whether no other process has the memory at `address`.
fn is_private(pid: i32, address: u64) -> bool {
    let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/maps")) else { return false };
    let has = |line: &&str| {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let parsed = range.map(|(a, b)| (u64::from_str_radix(a, 16), u64::from_str_radix(b, 16)));
        matches!(parsed, Some((Ok(start), Ok(end))) if (start..end).contains(&address))
    };
    let line = maps.lines().find(has);
    line.and_then(|line| line.split(' ').nth(1)).is_some_and(|rights| rights.ends_with('p'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_line_is_read_whatever_the_name() {
        let stat = "7 (a) S (b) S 1 7 7 0 -1 4194304 1 2 3 4 50 6 0 0 20 0";
        let task = parse(7, stat).unwrap().unwrap();
        assert_eq!((task.sleeps, task.ticks, task.is_librarys), (true, 56, false));
        assert!(!parse(7, &stat.replace(") S 1", ") T 1")).unwrap().unwrap().sleeps);
        assert_eq!(parse(7, &stat.replace(") S 1", ") Z 1")), Some(None));
        assert_eq!(parse(7, "7 (a) S 1"), None);
        assert_eq!(parse(7, ""), None);
    }

    #[test]
    fn only_a_futex_without_a_limit_waits_for_its_process() {
        let futex = libc::SYS_futex;
        let text = |operation: u64, limit: u64| {
            format!("{futex} 0x1000 {operation:#x} 0x2 {limit:#x} 0x0 0x0 0x7f 0x7f")
        };
        assert_eq!(word(&text(0x80, 0)), Some(0x1000));
        assert_eq!(word(&text(0x189, 0)), Some(0x1000));
        assert_eq!(word(&text(0x80, 0x7ffd)), None);
        assert_eq!(word(&text(0x81, 0)), None);
        assert_eq!(word("running"), None);
        assert_eq!(word("0 0x0 0x1 0x2 0x3 0x4 0x5 0x7f 0x7f"), None);
    }

    #[test]
    fn a_thread_that_waits_for_another_is_seen_to() {
        let (number, its) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            number.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let _ = ends.recv();
        });
        let its = its.recv().unwrap();
        let own = std::process::id() as i32;
        // None while a thread of another test ends: then the next look sees it.
        let seen = || {
            let tasks = all(own)?;
            let task = tasks.into_iter().find(|task| task.thread == its)?;
            Some(task.sleeps && waits_for_own_process(own, &task))
        };
        while seen() != Some(true) {
            platform::waiter::give_way();
        }
        drop(end);
        thread.join().unwrap();
        assert!(all(i32::MAX).is_none());
    }
}
