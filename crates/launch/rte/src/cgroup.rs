//! What control groups allow this process: processors and memory, under both versions of the interface.
//!
//! The file `/proc/self/cgroup` names our group in each hierarchy. In a container that path may not exist
//! below `/sys/fs/cgroup`; the mount's root is our group then.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// Our group in the hierarchies that matter here.
#[derive(Clone, Debug, Default)]
pub struct Cgroup {
    /// From the mount's root down to our group, for processor time. Machines in transition mount both versions;
    /// then both chains are here.
    cpu: Vec<PathBuf>,
    /// Likewise for memory.
    memory: Vec<PathBuf>,
}

impl Cgroup {
    /// The group of this process.
    pub fn own() -> Cgroup {
        let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Cgroup::find(&text, Path::new(ROOT))
    }

    fn find(membership: &str, root: &Path) -> Cgroup {
        let mut found = Cgroup::default();
        for line in membership.lines() {
            let mut fields = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let has = |name| controllers.split(',').any(|c| c == name);
            if controllers.is_empty() {
                for mount in [root.to_owned(), root.join("unified")] {
                    let chain = chain(&mount, path);
                    if crate::look::kind(&mount.join("cgroup.controllers")).is_ok() {
                        found.cpu.extend(chain.iter().cloned());
                        found.memory.extend(chain);
                        break;
                    }
                }
            } else if has("cpu") {
                found.cpu.extend(chain(&root.join(controllers), path));
            } else if has("memory") {
                found.memory.extend(chain(&root.join(controllers), path));
            }
        }
        found
    }

    /// Processors' worth of time that the group may use: the least over all groups above; `None` without limit.
    pub fn cpu_quota(&self) -> Option<f64> {
        let quotas = self.cpu.iter().filter_map(|directory| {
            let (quota, period) = match read(directory, "cpu.max") {
                Some(text) => {
                    let (quota, period) = text.trim().split_once(' ')?;
                    (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?)
                }
                None => (number(directory, "cpu.cfs_quota_us")?, number(directory, "cpu.cfs_period_us")?),
            };
            (quota > 0.0 && period > 0.0).then_some(quota / period)
        });
        quotas.reduce(f64::min)
    }

    /// How often the kernel killed a process for lack of memory: of our group, or of the whole machine where
    /// no group counts.
    pub(crate) fn oom_kills(&self) -> Option<u64> {
        let group = self.memory.iter().rev().find_map(|directory| {
            read(directory, "memory.events")
                .or_else(|| read(directory, "memory.oom_control"))
                .and_then(oom_line)
        });
        group.or_else(|| oom_line(fs::read_to_string("/proc/vmstat").ok()?))
    }

    /// The least limit of memory over all groups above, in bytes; `None` without limit.
    pub fn memory_limit(&self) -> Option<u64> {
        let limits = self.memory.iter().filter_map(|directory| {
            let text = read(directory, "memory.max").or_else(|| read(directory, "memory.limit_in_bytes"))?;
            // Version 1 gives "no limit" by a number near 2^63.
            text.trim().parse::<u64>().ok().filter(|&limit| limit < 1 << 62)
        });
        limits.min()
    }

    /// Bytes that may still be charged before a limit is reached, file cache counted as free.
    pub fn memory_left(&self) -> Option<u64> {
        let left = self.memory.iter().filter_map(|directory| {
            let limit = read(directory, "memory.max").or_else(|| read(directory, "memory.limit_in_bytes"))?;
            let limit = limit.trim().parse::<u64>().ok().filter(|&limit| limit < 1 << 62)?;
            let used =
                read(directory, "memory.current").or_else(|| read(directory, "memory.usage_in_bytes"))?;
            let used = used.trim().parse::<u64>().ok()?;
            Some(limit.saturating_sub(used.saturating_sub(file_cache(directory))))
        });
        left.min()
    }
}

fn oom_line(text: String) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// All groups from `mount` down to `path`; only the mount where `path` is not below it.
fn chain(mount: &Path, path: &str) -> Vec<PathBuf> {
    let mut directories = vec![mount.to_owned()];
    if crate::look::kind(&mount.join(path.trim_start_matches('/'))).is_ok_and(|kind| kind.is_dir()) {
        let mut at = mount.to_owned();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            at.push(part);
            directories.push(at.clone());
        }
    }
    directories
}

/// Bytes of clean file pages that the kernel drops before it kills any process.
fn file_cache(directory: &Path) -> u64 {
    let text = read(directory, "memory.stat").unwrap_or_default();
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    field("inactive_file ") + field("active_file ")
}

fn read(directory: &Path, name: &str) -> Option<String> {
    fs::read_to_string(directory.join(name)).ok()
}

fn number(directory: &Path, name: &str) -> Option<f64> {
    read(directory, name)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up tree below a fresh directory.
    fn tree(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("rte-cgroup-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn version_2_takes_the_tightest_limit_on_the_way() {
        let root = tree(
            "v2",
            &[
                ("cgroup.controllers", "cpu memory"),
                ("job/cpu.max", "150000 100000\n"),
                ("job/memory.max", "1000000\n"),
                ("job/memory.current", "600000\n"),
                ("job/memory.stat", "anon 1\ninactive_file 100000\nactive_file 0\n"),
                ("job/step/cpu.max", "max 100000\n"),
                ("job/step/memory.max", "max\n"),
                ("job/step/memory.events", "low 0\noom 3\noom_kill 2\n"),
            ],
        );
        let group = Cgroup::find("0::/job/step\n", &root);
        assert_eq!(group.cpu_quota(), Some(1.5));
        assert_eq!(group.memory_limit(), Some(1_000_000));
        assert_eq!(group.memory_left(), Some(500_000));
        assert_eq!(group.oom_kills(), Some(2));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn version_1_in_a_container_falls_back_to_the_mount() {
        let root = tree(
            "v1",
            &[
                ("cpu,cpuacct/cpu.cfs_quota_us", "200000\n"),
                ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("unified/cgroup.controllers", ""),
                ("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"),
            ],
        );
        let group = Cgroup::find("4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n", &root);
        assert_eq!(group.cpu_quota(), Some(2.0));
        assert_eq!(group.memory_limit(), None);
        assert_eq!(group.oom_kills(), Some(5));
        fs::remove_dir_all(root).unwrap();
    }
}
