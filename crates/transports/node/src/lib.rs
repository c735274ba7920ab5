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
//!
//! # One file for a node
//!
//! The launcher makes one memory file per node and job, allocates it as far as it is laid out, seals it, and hands it
//! over by SCM_RIGHTS with the job description in one round trip; process ids come from the kernel (SCM_CREDENTIALS).
//! Each process maps that file once. Areas, the call log, doorbells, scheduling hints and direct reads belong to the
//! node and not to a transport: collectives use them also where the parameter `btl` excludes vader (`coll_areas`
//! switches that off).
//!
//! Memory that is wanted later is a part of the same file (`arena`): the file is 2^62 bytes long where the system
//! allows that, and what no process has taken has no memory behind it. A process that wants a part takes the next place
//! by one addition, allocates its pages and writes a nonce into it. A ticket with place and nonce goes in any message,
//! and the others map it. So no process needs a descriptor of another one, and memory is shared in user and pid
//! namespaces of their own, by programs that may not be read, and under any launcher that handed the file over. No
//! place is used twice.
//!
//! Blocks of `MPI_Alloc_mem` stay files of their own: forked children keep them, and ranks allocate their pages at the
//! same time. The others take their descriptors in the two ways of `segments`. Where the system refuses both ways,
//! windows of such memory go by messages.
//!
//! **Which processes live** (`presence`). A process id would not do as the sign of life: it means nothing in another
//! pid namespace, and the system may have given it to another process. Before a direct copy by process id, the number
//! that the process published is compared again, unless that was done in the same tick of the system's clock: the
//! system gives an id out anew no sooner.
//!
//! **Sleep** ([`wakeup`]). The watcher watches only for a sleep: each sleep asks for one report, so a process that
//! polls is never woken twice. The other way round, a message through shared memory would pay for a second thread's
//! wake-up, which is ten times its own time; to a message by TCP that adds a third. A transport's deadlines are a
//! timerfd among its descriptors, so a sleep needs no timeout.

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
use std::sync::atomic::AtomicU64;

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
pub use runs::{CopyDirection, MOST_RUNS, Runs};
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
    /// Their process ids, as the kernel reported them; empty where they are unknown.
    pids: Box<[i32]>,
    oversubscribed: bool,
    /// What is known about the others' memory.
    reaches: Reaches,
    huge_pages: HugePages,
    /// Bytes of areas beside the segment that this process has made and holds.
    made_areas: AtomicU64,
    /// A bit for each area of the directory that this process holds.
    held_areas: AtomicU64,
}

const _: () = assert!(shm::area::areas(1) <= u64::BITS as usize);

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
