//! NICs of one or several hosts: real processes.
//!
//! ```text
//!   same host    peers map each other's core segment, queues and blocks of allocated memory:
//!                  messages, credits, events and small data are plain stores
//!                other registered memory: one copy by the kernel (process_vm_readv, process_vm_writev)
//!                where the kernel refuses that, and atomics on such memory: the owner's service does it
//!   other host   everything by the owner's service over TCP
//! ```
//!
//! NICs find each other by abstract socket names made of a number of the job and the NIC's address, so that nothing
//! is left behind, and get each other's memory files as messages (SCM_RIGHTS). The kernel vouches for the
//! process id and the user on the other side, a number read from its memory for its being the right one. Over TCP a
//! caller shows the random number that stands in the called NIC's locator.
//!
//! Each NIC has one thread, its *service*: it gives out memory files, does for initiators what they cannot do
//! themselves, reads the responses of other services and notices the end of peer processes. It sleeps in
//! `poll` otherwise.

mod arrival_queue;
mod core_segment;
mod lane;
mod link;
mod locator;
mod nic;
mod node_segment;
mod own;
mod peer;
mod service;
mod shared;
mod sockets;
mod submission;
mod wire;

pub use nic::HostNic;
pub use shm::doorbell::SharedDoorbell;

use crate::config::{NicConfig, NodeLimits};
use crate::engine::SoftNic;
use crate::pinned::Pins;
use connect::Secret;
use core::fmt;
use core::sync::atomic::Ordering;
use gni::{Error, InstId, JobKey, Modes, PeAddr, limits};
use locator::Locator;
use node_segment::NodeSegment;
use own::Own;
use service::{Listeners, Service};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use wire::{Hello, Purpose};

/// Which ways to peers a NIC uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reach {
    /// Shared memory and single copy on the host, TCP beyond.
    #[default]
    Auto,
    /// On the host, no single copy by the kernel, as where it is forbidden.
    Socket,
    /// TCP for all peers, also of the same host.
    Tcp,
}

/// How a NIC attaches to its host.
#[derive(Clone, Default)]
pub struct HostConfig {
    /// What the node's NIC has; equal for all ranks of a node.
    pub limits: NodeLimits,
    /// Which ways to peers to use.
    pub reach: Reach,
    /// Names the job on its hosts, whose users can all read it: no key, and none of its bits.
    pub job: u32,
    /// What callers over TCP must prove that they know: random. Peers get it with the locator.
    pub secret: u128,
    /// Takes a report on the first stranger that calls at the NIC's sockets, to be printed.
    pub report: Option<fn(&str)>,
    /// Whether to listen for peers of other hosts.
    pub listen: bool,
    /// IPv4 addresses to tell peers; empty: those of the interfaces that are up.
    pub addresses: Vec<Ipv4Addr>,
    /// What this process sleeps on, if not on its NIC's own doorbell; peers of the host ring it, of whichever node.
    pub doorbell: Option<SharedDoorbell>,
    /// Whether registrations hold the pages of registration time, as the hardware's do: peers then have the owner's
    /// service copy from and to these pages. Needs io_uring.
    pub pinned: bool,
    /// An ancestor of all processes of the job on this host, which are to reach each other's memory.
    pub proxy_pid: Option<i32>,
}

/// Why a NIC cannot attach.
#[derive(Debug)]
#[non_exhaustive]
pub enum AttachError {
    /// The interface refuses it.
    Refused(Error),
    /// A system call failed.
    System(&'static str, io::Error),
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachError::Refused(Error::Permission) => f.write_str(
                "attaching to the Gemini NIC failed\n\
                 the protection tag and cookie are not ones that a user job can have\n\
                 start the job by mpiexec, or set PMI_GNI_PTAG (3 to 253) and PMI_GNI_COOKIE",
            ),
            AttachError::Refused(Error::InvalidState) => f.write_str(
                "attaching to the Gemini NIC failed\n\
                 another process of this host has attached under the same job, node and instance\n\
                 give each rank its own instance id, and each job its own cookie",
            ),
            AttachError::Refused(error) => write!(
                f,
                "attaching to the Gemini NIC failed\nthe NIC answered {error}\nsee the modes and limits in effect: \
                 alhena info --param btl_ugni_"
            ),
            AttachError::System(step, error) => write!(
                f,
                "attaching to the Gemini NIC failed: {step}\n{error}\nlook at the limits for files, memory and \
                 threads: ulimit -a"
            ),
        }
    }
}

impl std::error::Error for AttachError {}

/// `GNI_CdmCreate` and `GNI_CdmAttach`: a NIC of the node `pe`, which is this host or a part of it.
///
/// # Errors
/// [`AttachError::Refused`] with `INVALID_PARAM` for contradictory modes or an address beyond 18 bits,
/// `PERMISSION_ERROR` for a key no user job can have, `INVALID_STATE` when the instance is attached already,
/// `ERROR_RESOURCE` when a dedicated FMA descriptor is wanted and none is left; [`AttachError::System`].
pub fn attach(
    pe: PeAddr,
    inst: InstId,
    key: JobKey,
    modes: Modes,
    nic: NicConfig,
    host: HostConfig,
) -> Result<SoftNic<HostNic>, AttachError> {
    if modes.is_contradictory() || pe.0 >> limits::PE_BITS != 0 {
        return Err(AttachError::Refused(Error::InvalidParam));
    }
    if !key.is_user() {
        return Err(AttachError::Refused(Error::Permission));
    }
    let listener = listen(host.job, pe, inst)?;
    let (node_listener, node) = join_node(host.job, key, pe, inst)?;
    let pins = host.pinned.then(Pins::new).transpose();
    let pins = pins.map_err(|error| AttachError::System("preparing to hold pages by io_uring", error))?;
    let own = Own::new((host.job, pe, inst, key), node, host.doorbell.clone(), pins)
        .map_err(|error| AttachError::System("making the segment that peers map", error))?;
    let dedicated_fma = modes.has(Modes::FMA_DEDICATED);
    if dedicated_fma {
        own.node.take_fma(host.limits.fma_descriptors).map_err(AttachError::Refused)?;
    }
    if let Some(proxy) = host.proxy_pid {
        platform::ptracer::allow(proxy);
    }
    if !platform::membarrier::register() {
        own.doorbell().ask_for_fences();
    }
    let nonce = publish_nonce(&own);
    let tcp = host.listen.then(listen_tcp).transpose()?;
    let locator = own_locator(&host, tcp.as_ref());
    let own = Arc::new(own);
    let listeners = Listeners { nic: listener, node: node_listener, tcp };
    let service = Service::start(Arc::clone(&own), listeners, (Secret::new(host.secret), host.report))
        .map_err(|error| AttachError::System("starting the service thread", error))?;
    let fabric = HostNic::new(own, host, service, locator, (nonce, dedicated_fma));
    Ok(SoftNic::new(fabric, modes, nic))
}

/// Takes the NIC's name; a name that is taken means that the instance is attached.
fn listen(job: u32, pe: PeAddr, inst: InstId) -> Result<UnixListener, AttachError> {
    let bound = sockets::nic_name(job, pe, inst).and_then(|name| UnixListener::bind_addr(&name));
    let listener = bound.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => AttachError::Refused(Error::InvalidState),
        _ => AttachError::System("taking the NIC's socket name", error),
    })?;
    nonblocking(&listener)?;
    Ok(listener)
}

fn nonblocking(listener: &UnixListener) -> Result<(), AttachError> {
    listener.set_nonblocking(true).map_err(|error| AttachError::System("preparing a socket", error))
}

fn listen_tcp() -> Result<TcpListener, AttachError> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0));
    let ready = listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    ready.map_err(|error| AttachError::System("listening for other hosts", error))
}

type Node = (OwnedFd, NodeSegment);

/// Gets the node's segment from the NIC that gives it out, or becomes that NIC.
///
/// The one that takes the name makes the segment. Should it end before its node's other ranks, they keep what
/// they have mapped, and a rank that comes later begins a new segment, with counts of its own.
fn join_node(
    job: u32,
    key: JobKey,
    pe: PeAddr,
    inst: InstId,
) -> Result<(Option<UnixListener>, Node), AttachError> {
    let failed = |error| AttachError::System("joining the node's other ranks", error);
    let name = sockets::node_name(job, pe).map_err(failed)?;
    let hello = Hello { purpose: Purpose::Node, key, pe, inst };
    loop {
        match UnixListener::bind_addr(&name) {
            Ok(listener) => {
                nonblocking(&listener)?;
                return Ok((Some(listener), NodeSegment::create().map_err(failed)?));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(failed(error)),
        }
        match sockets::fetch_file(&name, &hello) {
            Ok((file, _)) => {
                let segment = NodeSegment::map(&file).map_err(failed)?;
                return Ok((None, (file, segment)));
            }
            // The owner of the name has just gone, or has not begun to listen: once more.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::UnexpectedEof
                ) =>
            {
                platform::waiter::give_way();
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Puts a number into private memory and publishes where it is.
fn publish_nonce(own: &Own) -> Box<u64> {
    let head = own.core.head();
    let mut nonce = Box::new(0u64);
    *nonce =
        (&raw const *nonce as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(std::process::id()) << 32;
    head.nonce.store(*nonce, Ordering::Relaxed);
    head.nonce_address.store(&raw const *nonce as u64, Ordering::Release);
    nonce
}

fn own_locator(host: &HostConfig, tcp: Option<&TcpListener>) -> Locator {
    let port = tcp.and_then(|tcp| tcp.local_addr().ok()).map_or(0, |address| address.port());
    let addresses = if host.addresses.is_empty() { locator::own_addresses() } else { host.addresses.clone() };
    Locator { host: locator::host(), port, secret: host.secret, addresses }
}
