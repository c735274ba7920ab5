//! Hardware that processes may share, and the parts of a communicator that do (MPI-5.0 sections 7.4.2 and 9.1.2).
//!
//! A process is *restricted* to one of a type of resource, a package say, if all processors that it may use at the
//! moment belong to that one. Only then are the processes known with which it shares that one.

use abi::Result;
use hardware::{CpuSet, Topology, Unit};

use crate::domain::Token;
use crate::info::Info;
use crate::state::State;

/// Types of resources from large to small, named as hwloc names them, after [`SCHEME`].
const TYPES: [(&str, Unit); 8] = [
    ("Machine", Unit::Host),
    ("Package", Unit::Package),
    ("NUMANode", Unit::Numa),
    ("L3Cache", Unit::L3),
    ("L2Cache", Unit::L2),
    ("L1Cache", Unit::L1),
    ("Core", Unit::Core),
    ("PU", Unit::Thread),
];
const SCHEME: &str = "hwloc://";
/// The type of what shares memory (MPI-5.0 section 7.4.2).
pub const SHARED_MEMORY: &str = "mpi_shared_memory";
/// The key that names a type, in both directions.
pub const TYPE_KEY: &str = "mpi_hw_resource_type";

/// The processors that this process may use now, and what they belong to.
pub struct Processors {
    topology: Topology,
    allowed: CpuSet,
}

impl Processors {
    pub fn now() -> Processors {
        let allowed = CpuSet::allowed();
        Processors { topology: Topology::new(allowed.clone()), allowed }
    }

    /// The lowest processor of the one resource of this type that the process is restricted to.
    pub fn restricted_to(&self, unit: Unit) -> Option<u32> {
        let first = self.allowed.iter().next()?;
        if unit == Unit::Host {
            return Some(0);
        }
        let whole = self.topology.unit_of(unit, first);
        if self.allowed.iter().all(|cpu| whole.contains(cpu)) { whole.iter().next() } else { None }
    }
}

/// `MPI_Get_hw_resource_info`: the types of resources, each with whether the process is restricted to one of it.
pub fn get_hw_resource_info(t: &mut Token, info: &mut abi::Info) -> Result<()> {
    let place = Processors::now();
    let mut facts = Info::default();
    for (name, unit) in TYPES {
        let restricted = place.restricted_to(unit).is_some();
        facts.set(&format!("{SCHEME}{name}"), if restricted { "true" } else { "false" });
    }
    *info = t.lock().infos.add(facts)?;
    Ok(())
}

/// The colour by which `MPI_Comm_split_type` splits when hints name a type of resource; `MPI_UNDEFINED` for a process
/// that shares no such resource, and for a type that is not known.
pub fn colour_of(state: &State, name: &str) -> i32 {
    let name = name.strip_prefix(SCHEME).unwrap_or(name);
    let Some((_, unit)) = TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) else {
        return abi::UNDEFINED;
    };
    state.colour(Processors::now().restricted_to(*unit))
}

impl State {
    /// The number of this process's node.
    pub fn node(&self) -> i32 {
        self.world.as_ref().map_or(0, |world| world.job.node_of[world.job.rank as usize] as i32)
    }

    /// One number for each resource of the job: those of different nodes differ.
    fn colour(&self, resource: Option<u32>) -> i32 {
        const PROCESSORS: i32 = 1024;
        resource.map_or(abi::UNDEFINED, |cpu| self.node() * PROCESSORS + cpu as i32)
    }
}

/// The colour of this process for each type of hardware, from large to small; `MPI_UNDEFINED` where it is not restricted
/// to one.
pub fn colours(state: &State) -> [i32; TYPES.len()] {
    let place = Processors::now();
    TYPES.map(|(_, unit)| state.colour(place.restricted_to(unit)))
}

/// How hints name the type at a place of [`colours`].
pub fn name_of(level: usize) -> String {
    format!("{SCHEME}{}", TYPES[level].0)
}
