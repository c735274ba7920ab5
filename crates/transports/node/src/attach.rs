//! Joining the processes of a node.

use core::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;

use platform::xpmem::Xpmem;
use shm::{Layout, MapError};

use crate::huge_pages::HugePages;
use crate::params::{NodeParams, SingleCopy};
use crate::reach::Reaches;
use crate::{Arc, Device, Mapped, MemoryFile, NOWHERE, Node, Peer, Segment, presence};

/// What a process knows of its node when it attaches.
#[derive(Debug)]
pub struct Attach {
    /// The node's memory file, all zero at first.
    pub fd: OwnedFd,
    /// Where what lies in it; the same in all processes of the node, and no longer than the file.
    pub layout: Layout,
    /// This process's place in `local_peers`.
    pub local_index: usize,
    /// The processes of the node, this one included, in the same order in each of them.
    pub local_peers: Vec<Peer>,
    /// Their process ids, as the kernel reported them (SCM_CREDENTIALS); empty where they are unknown.
    pub pids: Vec<i32>,
    /// Whether the node has more ranks than cores.
    pub oversubscribed: bool,
    /// Ancestor of all processes of the job, which are to reach each other's memory.
    pub proxy_pid: Option<i32>,
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

impl Node {
    /// Joins the processes of the node.
    ///
    /// All of them attach before the first of them uses what they share; a fence of the job lies in between.
    ///
    /// # Errors
    /// [`Error`].
    pub fn attach(node: Attach, params: &NodeParams) -> Result<Arc<Node>, Error> {
        let wanted = params.single_copy_mechanism == SingleCopy::Xpmem;
        let device = if wanted { Xpmem::open().ok() } else { None };
        Node::attach_with(node, params, device.map(|device| Box::new(device) as Box<dyn Device>))
    }

    /// As [`Node::attach`], with this device in place of `/dev/xpmem`, whatever the parameters say.
    ///
    /// # Errors
    /// [`Error`].
    pub fn attach_with(
        node: Attach,
        params: &NodeParams,
        device: Option<Box<dyn Device>>,
    ) -> Result<Arc<Node>, Error> {
        check(&node)?;
        let segment = Segment::map(node.fd.as_fd(), node.layout).map_err(Error::Segment)?;
        if let Some(proxy) = node.proxy_pid {
            platform::ptracer::allow(proxy);
        }
        prepare_doorbells(&segment, &node);
        let file = own_file(node.fd, &node.layout);
        let presence = presence::announce(&file, &segment, node.local_index);
        let single_copy = params.single_copy_mechanism != SingleCopy::Off && !node.pids.is_empty();
        let (me, ranks) = (node.local_index, node.local_peers.len());
        let device = device.filter(|_| single_copy);
        let mapped = device.and_then(|device| Mapped::new(device, &segment, me, ranks));
        let reached: &[i32] = if single_copy { &node.pids } else { &[] };
        Ok(Arc::new(Node {
            reaches: Reaches::new(&segment, me, reached, mapped),
            segment,
            file: Some(Arc::new(file)),
            _presence: presence,
            me: me as u32,
            places: index_peers(&node.local_peers),
            members: node.local_peers.into(),
            pids: node.pids.into(),
            oversubscribed: node.oversubscribed,
            huge_pages: HugePages::new(params.huge_pages && single_copy),
            made_areas: AtomicU64::new(0),
            held_areas: AtomicU64::new(0),
        }))
    }

    /// The view of virtual process `place` on a node of which all processes are within this one. They read each other's
    /// memory by the kernel, and none of them sleeps or passes descriptors. The peers of the node are the places on it,
    /// in a table that the view shares with those that are `like` it: of a node with as many.
    pub fn virtual_process(segment: Segment, place: u32, like: Option<&Node>) -> Arc<Node> {
        let ranks = segment.layout().shape().ranks;
        let pids = vec![std::process::id() as i32; ranks];
        let (members, places) = match like.filter(|like| like.members.len() == ranks) {
            Some(like) => (Arc::clone(&like.members), Arc::clone(&like.places)),
            None => {
                let members: Arc<[Peer]> = (0..ranks as u32).map(Peer).collect();
                let places = index_peers(&members);
                (members, places)
            }
        };
        Arc::new(Node {
            reaches: Reaches::new(&segment, place as usize, &pids, None),
            segment,
            file: None,
            _presence: None,
            me: place,
            places,
            members,
            pids: Box::default(),
            oversubscribed: false,
            huge_pages: HugePages::new(false),
            made_areas: AtomicU64::new(0),
            held_areas: AtomicU64::new(0),
        })
    }
}

/// The node's file; if its size could change, without the room behind the segment.
fn own_file(fd: OwnedFd, layout: &Layout) -> MemoryFile {
    let sealed = fd.try_clone().and_then(MemoryFile::adopt);
    sealed.unwrap_or(MemoryFile { fd, bytes: layout.bytes() as u64 })
}

fn check(node: &Attach) -> Result<(), Error> {
    let ranks = node.local_peers.len();
    if ranks > MOST_RANKS {
        return Err(Error::Description("there are more than 65536 processes on one node"));
    }
    if node.layout.shape().ranks != ranks {
        return Err(Error::Description("the segment is laid out for another number of processes"));
    }
    if node.local_index >= ranks {
        return Err(Error::Description("this process is not among those of its node"));
    }
    if !node.pids.is_empty() && node.pids.len() != ranks {
        return Err(Error::Description("there are not as many process ids as processes"));
    }
    Ok(())
}

/// Agrees on which side executes fences: the sleeper for all by membarrier, or each sender.
///
/// Oversubscribed ranks sleep often, and a membarrier interrupts the other cores; there the senders' fences
/// are the cheaper side.
fn prepare_doorbells(segment: &Segment, node: &Attach) {
    let registered = platform::membarrier::register() && platform::membarrier::barrier();
    if !registered {
        // Our stores are not ordered by others' barriers: all we send to must allow for that.
        (0..node.local_peers.len()).for_each(|place| segment.doorbell(place).ask_for_fences());
    } else if node.oversubscribed {
        segment.doorbell(node.local_index).ask_for_fences();
    }
}

fn index_peers(local_peers: &[Peer]) -> Arc<[u32]> {
    let count = local_peers.iter().map(|peer| peer.0 as usize + 1).max().unwrap_or(0);
    let mut places = vec![NOWHERE; count];
    for (place, peer) in local_peers.iter().enumerate() {
        places[peer.0 as usize] = place as u32;
    }
    places.into()
}
