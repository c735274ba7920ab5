//! What the processes of a node share, whatever carries their messages.
//!
//! A [`Node`] is one process's view of its node: the mapped segment, the processes that share it, and the ways
//! to reach them beside messages.
//!
//! | module       | shared                                                                    |
//! |--------------|---------------------------------------------------------------------------|
//! | `attach`     | the segment, mapped once; whose place is where                            |
//! | `doorbells`  | what each process sleeps on, and how the others wake it                    |
//! | [`wakeup`]   | nothing: a thread's sleep on its doorbell and on descriptors               |
//! | `area`       | areas for collectives ([`NodeArea`])                                      |
//! | `call_log`   | the last collective calls of each process, for those that wait too long   |
//! | `hint`       | scheduling hints: whose turn comes next on a shared processor             |
//! | `reach`      | direct reads and writes of another process's memory, once it has proven whose it is |
//! | `runs`       | the same for memory in several runs                                       |
//! | `mapped`     | the same through xpmem                                                    |
//! | `presence`   | which processes still live                                                |
//! | `segments`   | memory made later, beside the segment ([`SharedSegment`])                 |
//! | `arena`      | the room that the node's file has for it                                  |
//! | `descriptors` | taking a descriptor that another process has open                        |
//! | `huge_pages` | huge pages under memory that is copied again and again                    |
//!
//! The transport `btl-vader` stands on it and adds fastboxes, receive queues and bounce buffers; collectives use it
//! directly, also where no message goes through shared memory. All of it takes `&self`: a process has one node, and
//! each user holds an `Arc`.
//!
//! Peers are not trusted: what they write into the segment, and what a system call reads of them, is checked before it
//! is used.

mod area;
mod arena;
mod attach;
mod call_log;
mod descriptors;
mod doorbells;
mod hint;
mod huge_pages;
mod mapped;
mod params;
mod presence;
mod reach;
mod runs;
mod segments;
pub mod wakeup;

use std::sync::Arc;

use btl::Peer;
use platform::memory_file::MemoryFile;
use platform::presence::Presence;
use platform::xpmem::Device;
use shm::Segment;

pub use area::{AreaName, NodeArea};
pub use attach::{Attach, Error};
pub use call_log::CALL_WORDS;
pub use descriptors::TakeError;
pub use doorbells::{ring, ring_each};
pub use params::{NodeParams, SingleCopy};
pub use platform::cma::Failure as CopyFailure;
pub use reach::Process;
pub use runs::{MOST_RUNS, Runs, Way};
pub use segments::{SegmentTicket, SharedSegment};

use huge_pages::HugePages;
use mapped::Mapped;
use reach::Reaches;

/// No place on this node.
pub const NOWHERE: u32 = u32::MAX;

/// One process's view of the node it runs on.
#[derive(Debug)]
pub struct Node {
    segment: Segment,
    /// The file it is mapped of, which may have room behind it; virtual processes have none.
    file: Option<Arc<MemoryFile>>,
    /// That this process lives, for the others.
    _presence: Option<Presence>,
    /// Our place on the node.
    me: u32,
    /// The processes of the node, by place.
    members: Arc<[Peer]>,
    /// Place of each peer by its index above; [`NOWHERE`] for peers elsewhere.
    places: Arc<[u32]>,
    /// Their process ids, as the kernel told them; empty where they are unknown.
    pids: Box<[i32]>,
    oversubscribed: bool,
    /// What is known about the others' memory.
    reaches: Reaches,
    huge_pages: HugePages,
}

impl Node {
    /// The mapped segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// The place of this process among those of the node.
    pub fn place(&self) -> u32 {
        self.me
    }

    /// The processes of the node by place, this one included.
    pub fn members(&self) -> &[Peer] {
        &self.members
    }

    /// The place of each peer by its index, [`NOWHERE`] for those elsewhere; it ends with the last one of this node.
    pub fn places(&self) -> &Arc<[u32]> {
        &self.places
    }

    /// The place of `peer`, if it is on this node.
    pub fn place_of(&self, peer: Peer) -> Option<u32> {
        self.places.get(peer.0 as usize).copied().filter(|&place| place != NOWHERE)
    }

    /// Whether `peer` is another process of this node.
    pub fn reaches(&self, peer: Peer) -> bool {
        self.place_of(peer).is_some_and(|place| place != self.me)
    }

    /// Whether the node has more ranks than cores.
    pub fn is_oversubscribed(&self) -> bool {
        self.oversubscribed
    }
}
