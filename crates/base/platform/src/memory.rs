//! How much memory the system still has: a file in memory that outgrows it makes the kernel end processes instead of
//! failing.

use std::fs::read_to_string;
use std::path::Path;

/// Bytes that may still be allocated: what the machine has, or what the control group of this process may have if that
/// is less. `None`: the system does not tell.
pub fn available() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text));
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(|line| {
        let (kind, path) = line.split_once(':')?.1.split_once(':')?;
        of_group(kind, path)
    });
    machine.into_iter().chain(limits).min()
}

/// From the lines of `/proc/meminfo`.
fn of_machine(text: &str) -> Option<u64> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    Some((field("MemAvailable:")? + field("SwapFree:").unwrap_or(0)) << 10)
}

/// What a control group leaves; inside of a container the group may be the root of what is mounted.
fn of_group(kind: &str, path: &str) -> Option<u64> {
    let (mount, limit, usage) = match kind {
        "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
        kind if kind.split(',').any(|word| word == "memory") => {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
        }
        _ => return None,
    };
    [path, ""].into_iter().find_map(|path| {
        let directory = Path::new(mount).join(path.trim_start_matches('/'));
        let number = |name| read_to_string(directory.join(name)).ok()?.trim().parse::<u64>().ok();
        // Pages of files are given up before anything else.
        let stat = read_to_string(directory.join("memory.stat")).unwrap_or_default();
        let files = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
        let files = files.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
        Some(number(limit)?.saturating_sub(number(usage)?.saturating_sub(files)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_memory_and_not_without_end() {
        let text = "MemTotal:  100 kB\nMemAvailable:      40 kB\nSwapFree:         2 kB\n";
        assert_eq!(of_machine(text), Some(42 << 10));
        assert_eq!(of_machine("MemTotal: 100 kB\n"), None);
        if let Some(bytes) = available() {
            assert!(bytes < 1 << 50);
        }
    }
}
