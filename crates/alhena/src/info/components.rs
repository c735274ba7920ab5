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

/// All components, by framework.
pub const COMPONENTS: [Component; 7] = [
    Component {
        framework: "pml",
        name: "ob1",
        description: "matching in the library; eager, rendezvous and pipelined protocols over the BTLs",
    },
    Component { framework: "btl", name: "self", description: "messages of a rank to itself" },
    Component {
        framework: "btl",
        name: "vader",
        description: "ranks of one node: fastboxes, receive queue, single and cooperative copy",
    },
    Component {
        framework: "btl",
        name: "ugni",
        description: "Gemini, in software: mailboxes, Eager GET, GET and PUT, Put Fallback; by --mca btl self,ugni",
    },
    Component {
        framework: "btl",
        name: "portals",
        description: "Portals 3.3, in software: blocks, flow control by retry, GET and PUT; by --mca btl self,portals",
    },
    Component {
        framework: "btl",
        name: "tcp",
        description: "TCP, between hosts and within one; eager and fragments; by --mca btl self,vader,tcp",
    },
    Component {
        framework: "launcher",
        name: "mpiexec",
        description: "one node: guard process, PMI-1 server, binding, output forwarding",
    },
];
