//! What this build consists of.

use serde::Serialize;

/// A part that can be chosen or left out by a parameter.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Component {
    /// The kind of part, in Open MPI's terms.
    pub framework: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
}

/// Components that are no transports, by framework.
const LISTED: [Component; 8] = [
    Component {
        framework: "pml",
        name: "ob1",
        description: "matching in the library; eager, rendezvous and pipelined protocols over the BTLs",
    },
    Component { framework: "pml", name: "cm", description: "matching by a network; by --mca pml cm" },
    Component {
        framework: "pml",
        name: "dr",
        description: "ob1 over data reliability, which repairs what transports lose or damage; by --mca pml dr",
    },
    Component {
        framework: "mtl",
        name: "ofi",
        description: "tagged messages of libfabric, which is loaded then",
    },
    Component {
        framework: "mtl",
        name: "portals",
        description: "the match list of a Portals 3.3 NIC, in software, as Open MPI used it; by --mca pml cm --mca mtl portals",
    },
    Component {
        framework: "mtl",
        name: "mpich",
        description: "the same as MPICH-1.2.6, MPICH2-0.97 and Cray MPT 1.5 used it (mpich_device); by --mca pml cm --mca mtl mpich",
    },
    Component {
        framework: "mtl",
        name: "shmem",
        description: "matching in the library over symmetric memory, as MPICH-1.2.6 over SHMEM; by --mca pml cm --mca mtl shmem",
    },
    Component {
        framework: "launcher",
        name: "mpiexec",
        description: "one node: proxy process, PMI-1 server, binding, output forwarding",
    },
];

/// All components, by framework. The transports are those of `bml`'s list.
pub fn components() -> Vec<Component> {
    let transport = |&(name, description)| Component { framework: "btl", name, description };
    let (launcher, layers) = LISTED.split_last().expect("the launcher is the last");
    layers.iter().copied().chain(bml::TRANSPORTS.iter().map(transport)).chain([*launcher]).collect()
}
