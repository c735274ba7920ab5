//! The processors of this machine as the kernel describes them in `/sys`: which share a core, a cache, a
//! memory node, a package. Read only as far as a placement needs it: each file costs some microseconds.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cpuset::CpuSet;

/// A kind of group of processors, from small to large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// One hardware thread: what the kernel calls a processor.
    Thread,
    /// The threads of a core.
    Core,
    /// Processors that share a level-1 cache.
    L1,
    /// Processors that share a level-2 cache.
    L2,
    /// Processors that share a level-3 cache.
    L3,
    /// Processors of a memory node.
    Numa,
    /// Processors of a package (socket).
    Package,
    /// All processors of this host.
    Host,
}

impl Unit {
    /// Reads the names that MPICH, Open MPI and hwloc use.
    pub fn parse(name: &str) -> Option<Unit> {
        Some(match name.to_ascii_lowercase().as_str() {
            "hwthread" | "hwt" | "pu" | "thread" => Unit::Thread,
            "core" => Unit::Core,
            "l1cache" | "l1" | "l1ucache" | "l1dcache" => Unit::L1,
            "l2cache" | "l2" | "l2ucache" => Unit::L2,
            "l3cache" | "l3" | "l3ucache" => Unit::L3,
            "numa" | "numanode" => Unit::Numa,
            "socket" | "package" | "sockets" => Unit::Package,
            "node" | "board" | "machine" | "host" => Unit::Host,
            _ => return None,
        })
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Thread => "hwthread",
            Unit::Core => "core",
            Unit::L1 => "l1cache",
            Unit::L2 => "l2cache",
            Unit::L3 => "l3cache",
            Unit::Numa => "numa",
            Unit::Package => "socket",
            Unit::Host => "node",
        }
    }
}

/// The processors of this machine that the job may use.
pub struct Topology {
    root: PathBuf,
    allowed: CpuSet,
}

impl Topology {
    /// This machine, restricted to `allowed`.
    pub fn new(allowed: CpuSet) -> Topology {
        Topology { root: PathBuf::from("/sys/devices/system"), allowed }
    }

    /// A machine described in another folder than `/sys/devices/system`.
    pub fn described_in(root: PathBuf, allowed: CpuSet) -> Topology {
        Topology { root, allowed }
    }

    /// The processors that may be used.
    pub fn allowed(&self) -> &CpuSet {
        &self.allowed
    }

    /// The allowed processors grouped by `unit`, ordered by their lowest processor, each in one group.
    /// What the kernel does not describe is one group of its own (a thread for a core, the host for all else).
    pub fn units(&self, unit: Unit) -> Vec<CpuSet> {
        match unit {
            Unit::Thread => self.allowed.iter().map(|cpu| [cpu].into_iter().collect()).collect(),
            Unit::Host => vec![self.allowed.clone()],
            Unit::Numa => self.group(|cpu| self.numa_of(cpu)),
            _ => self.group(|cpu| self.shared_by(unit, cpu)),
        }
    }

    fn group(&self, of: impl Fn(u32) -> Option<CpuSet>) -> Vec<CpuSet> {
        let mut groups: Vec<CpuSet> = Vec::new();
        let mut placed = CpuSet::default();
        for cpu in self.allowed.iter() {
            if !placed.contains(cpu) {
                let all =
                    of(cpu).filter(|all| all.contains(cpu)).unwrap_or_else(|| [cpu].into_iter().collect());
                let group: CpuSet =
                    all.intersection(&self.allowed).iter().filter(|c| !placed.contains(*c)).collect();
                placed = placed.iter().chain(group.iter()).collect();
                groups.push(group);
            }
        }
        groups
    }

    /// All processors of the unit that `cpu` belongs to, allowed or not; what the kernel does not describe is a unit
    /// of its own, as in [`Topology::units`].
    pub fn unit_of(&self, unit: Unit, cpu: u32) -> CpuSet {
        let all = match unit {
            Unit::Thread => None,
            Unit::Host => Some(self.allowed.clone()),
            Unit::Numa => self.numa_of(cpu),
            _ => self.shared_by(unit, cpu),
        };
        all.filter(|all| all.contains(cpu)).unwrap_or_else(|| [cpu].into_iter().collect())
    }

    fn shared_by(&self, unit: Unit, cpu: u32) -> Option<CpuSet> {
        let directory = self.root.join(format!("cpu/cpu{cpu}"));
        match unit {
            Unit::Core => list(&directory.join("topology/core_cpus_list"))
                .or_else(|| list(&directory.join("topology/thread_siblings_list"))),
            Unit::Package => list(&directory.join("topology/package_cpus_list"))
                .or_else(|| list(&directory.join("topology/core_siblings_list")))
                .or_else(|| Some(self.allowed.clone())),
            Unit::L1 => cache(&directory, 1).or_else(|| self.shared_by(Unit::Core, cpu)),
            Unit::L2 => cache(&directory, 2).or_else(|| self.shared_by(Unit::Core, cpu)),
            Unit::L3 => cache(&directory, 3).or_else(|| self.shared_by(Unit::Package, cpu)),
            Unit::Thread | Unit::Numa | Unit::Host => None,
        }
    }

    fn numa_of(&self, cpu: u32) -> Option<CpuSet> {
        let nodes = fs::read_dir(self.root.join("node")).ok();
        let lists = nodes.into_iter().flatten().flatten().filter(|entry| {
            entry
                .file_name()
                .to_str()
                .and_then(|n| n.strip_prefix("node"))
                .is_some_and(|n| n.parse::<u32>().is_ok())
        });
        let found =
            lists.filter_map(|entry| list(&entry.path().join("cpulist"))).find(|cpus| cpus.contains(cpu));
        found.or_else(|| Some(self.allowed.clone()))
    }
}

/// The processors that share the data cache of `level` with the one described in `directory`.
fn cache(directory: &Path, level: u32) -> Option<CpuSet> {
    (0..8).find_map(|index| {
        let cache = directory.join(format!("cache/index{index}"));
        let text = |name| fs::read_to_string(cache.join(name)).ok();
        let fits = text("level")?.trim().parse() == Ok(level) && text("type")?.trim() != "Instruction";
        if fits { list(&cache.join("shared_cpu_list")) } else { None }
    })
}

fn list(path: &Path) -> Option<CpuSet> {
    CpuSet::parse(&fs::read_to_string(path).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    fn texts(topology: &Topology, unit: Unit) -> Vec<String> {
        topology.units(unit).iter().map(CpuSet::to_string).collect()
    }

    #[test]
    fn groups_follow_the_machine() {
        let machine = Sample::two_packages("groups", "0-7");
        assert_eq!(texts(&machine, Unit::Core), ["0,4", "1,5", "2,6", "3,7"]);
        assert_eq!(texts(&machine, Unit::Package), ["0-1,4-5", "2-3,6-7"]);
        assert_eq!(texts(&machine, Unit::Numa), ["0-1,4-5", "2-3,6-7"]);
        assert_eq!(texts(&machine, Unit::L3), ["0-1,4-5", "2-3,6-7"]);
        assert_eq!(texts(&machine, Unit::L2), ["0,4", "1,5", "2,6", "3,7"]);
        assert_eq!(texts(&machine, Unit::Thread).len(), 8);
        assert_eq!(texts(&machine, Unit::Host), ["0-7"]);
    }

    #[test]
    fn only_allowed_processors_count() {
        let machine = Sample::two_packages("allowed", "1,2,6");
        assert_eq!(texts(&machine, Unit::Core), ["1", "2,6"]);
        assert_eq!(texts(&machine, Unit::Package), ["1", "2,6"]);
    }

    #[test]
    fn a_unit_is_whole_even_where_not_all_of_it_is_allowed() {
        let machine = Sample::two_packages("whole", "1,2");
        assert_eq!(machine.unit_of(Unit::Core, 1).to_string(), "1,5");
        assert_eq!(machine.unit_of(Unit::Package, 2).to_string(), "2-3,6-7");
        assert_eq!(machine.unit_of(Unit::Thread, 2).to_string(), "2");
    }
}
