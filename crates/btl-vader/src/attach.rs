//! Joining the processes of a node.

use core::fmt;
use std::os::fd::{AsFd, OwnedFd};

use btl::{Limits, Peer};
use shm::cell::Pool;
use shm::{MapError, Segment, fastbox, queue};

use crate::arrivals::Found;
use crate::huge_pages::HugePages;
use crate::joint_copy::Offers;
use crate::link::{Link, NONE};
use crate::mapped::Mapped;
use crate::params::{SingleCopy, VaderParams};
use crate::single_copy::{self, Reach};
use crate::transport::Vader;
use platform::xpmem::{Device, Xpmem};

/// What a process knows of its node when it attaches.
#[derive(Debug)]
pub struct Attach {
    /// The node's memory file, at least [`segment_bytes`](crate::segment_bytes) long and all zero at first.
    pub fd: OwnedFd,
    /// Length of the memory file, as its creator told all processes.
    pub bytes: u64,
    /// This process's place in `local_peers`.
    pub local_index: usize,
    /// The processes of the node, this one included, in the same order in each of them.
    pub local_peers: Vec<Peer>,
    /// Their process ids, as the kernel told them (SCM_CREDENTIALS); empty where they are unknown.
    pub pids: Vec<i32>,
    /// Whether the node has more ranks than cores.
    pub oversubscribed: bool,
    /// Ancestor of all processes of the job, which are to reach each other's memory.
    pub guard_pid: Option<i32>,
}

/// Why a process cannot attach.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The shared segment cannot be used.
    Segment(MapError),
    /// The description of the node contradicts itself.
    Description(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Segment(error) => error.fmt(f),
            Error::Description(what) => write!(
                f,
                "joining the processes of this node failed\n{what}\nstart the job by Alhena's own mpiexec"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Segment(error) => Some(error),
            Error::Description(_) => None,
        }
    }
}

/// More processes than fit in the entries of a receive queue.
const MOST_RANKS: usize = 1 << 16;

impl Vader {
    /// Joins the processes of the node.
    ///
    /// All of them attach before the first of them sends; a fence of the job lies in between.
    ///
    /// # Errors
    /// [`Error`].
    pub fn attach(node: Attach, params: &VaderParams) -> Result<Vader, Error> {
        let wanted = params.single_copy_mechanism == SingleCopy::Xpmem;
        let device = if wanted { Xpmem::open().ok() } else { None };
        Vader::attach_with(node, params, device.map(|device| Box::new(device) as Box<dyn Device>))
    }

    /// As [`Vader::attach`], with this device in place of `/dev/xpmem`, whatever the parameters say.
    ///
    /// # Errors
    /// [`Error`].
    pub fn attach_with(
        node: Attach,
        params: &VaderParams,
        device: Option<Box<dyn Device>>,
    ) -> Result<Vader, Error> {
        check(&node)?;
        let ranks = node.local_peers.len();
        let layout = params.layout(ranks, node.bytes);
        let segment = Segment::map(node.fd.as_fd(), layout).map_err(Error::Segment)?;
        if let Some(guard) = node.guard_pid {
            platform::ptracer::allow(guard);
        }
        let single_copy = params.single_copy_mechanism != SingleCopy::Off && !node.pids.is_empty();
        prepare_doorbells(&segment, &node);
        // The helping owner needs a core of its own.
        let cooperative = params.cooperative && single_copy && !node.oversubscribed;
        let me = node.local_index;
        let heads = segment.cell_heads(me);
        let device = device.filter(|_| single_copy);
        let mapped = device.and_then(|device| Mapped::new(device, &segment, me, ranks));
        let small = layout.shape().cells[0];
        Ok(Vader {
            me: me as u32,
            local_of: index_peers(&node.local_peers),
            links: (0..ranks).map(|local| link(&segment, &node, params, local, single_copy)).collect(),
            active: Vec::with_capacity(layout.shape().fastboxes),
            admitted: vec![false; layout.shape().fastboxes].into(),
            cursor: 0,
            burst: 0,
            found: Found::NOTHING,
            inbox: queue::Receiver::new(segment.queue(me)),
            doorbell: segment.doorbell(me),
            room_was_missing: false,
            queue_was_full: false,
            cell_was_missing: [false; 2],
            cells: [Pool::new(&heads[..small]), Pool::new(&heads[small..])],
            _nonce: single_copy::publish_identity(&segment, me),
            mapped,
            huge_pages: HugePages::new(params.huge_pages && single_copy),
            copies: Default::default(),
            chunk: params.chunk,
            cooperative,
            offers: Offers::new(segment.joints(me), if cooperative { single_copy::LEAST_JOINT } else { 0 }),
            copied: 0,
            tables: Vec::new(),
            events: Default::default(),
            busy: false,
            limits: limits(&layout, params, single_copy, cooperative),
            segment,
        })
    }
}

fn check(node: &Attach) -> Result<(), Error> {
    let ranks = node.local_peers.len();
    if ranks > MOST_RANKS {
        return Err(Error::Description("there are more than 65536 processes on one node"));
    }
    if node.local_index >= ranks {
        return Err(Error::Description("this process is not among those of its node"));
    }
    if !node.pids.is_empty() && node.pids.len() != ranks {
        return Err(Error::Description("there are not as many process ids as processes"));
    }
    Ok(())
}

/// Agrees on who executes fences: the sleeper for all by membarrier, or each sender.
///
/// Oversubscribed ranks sleep often, and a membarrier interrupts the other cores; there the senders' fences
/// are the cheaper side.
fn prepare_doorbells(segment: &Segment, node: &Attach) {
    let registered = platform::membarrier::register() && platform::membarrier::barrier();
    if !registered {
        // Our stores are not ordered by others' barriers: all we send to must allow for that.
        (0..node.local_peers.len()).for_each(|local| segment.doorbell(local).ask_for_fences());
    } else if node.oversubscribed {
        segment.doorbell(node.local_index).ask_for_fences();
    }
}

fn index_peers(local_peers: &[Peer]) -> Box<[u32]> {
    let count = local_peers.iter().map(|peer| peer.0 as usize + 1).max().unwrap_or(0);
    let mut local_of = vec![NONE; count];
    for (local, peer) in local_peers.iter().enumerate() {
        local_of[peer.0 as usize] = local as u32;
    }
    local_of.into()
}

fn link(segment: &Segment, node: &Attach, params: &VaderParams, local: usize, single_copy: bool) -> Link {
    let reach = match node.pids.get(local) {
        Some(&pid) if single_copy => Reach::Untried(pid),
        _ => Reach::Refused,
    };
    Link {
        outbound: fastbox::Sender::closed(),
        doorbell: segment.doorbell(local),
        queue: segment.queue(local),
        inbound: fastbox::Receiver::closed(),
        borrowable: Default::default(),
        until_fastbox: params.fastbox_threshold as u32,
        claimed: None,
        peer: node.local_peers[local],
        reach,
        alone: 0,
        sent: 0,
    }
}

/// Answers shorter than this go in fragments, where each process has a core of its own: cells go to and fro between the
/// processors' caches. Measured in a ping-pong: 64 KiB at 15 instead of 6.6 GB/s, 256 KiB at 25 instead of 9. A stream in
/// one direction goes faster copied once.
const ANSWER: usize = 1 << 20;

fn limits(layout: &shm::Layout, params: &VaderParams, single_copy: bool, own_cores: bool) -> Limits {
    let max_send = layout.shape().cell_bytes[1];
    let eager = params.eager_limit.min(max_send);
    Limits {
        eager,
        max_send,
        get: single_copy,
        put: single_copy,
        min_rdma: eager + 1,
        min_rdma_answer: if own_cores { ANSWER.max(eager + 1) } else { eager + 1 },
        max_get: usize::MAX,
        max_put: usize::MAX,
        get_align: 1,
    }
}
