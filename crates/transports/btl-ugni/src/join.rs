//! Opens the transport in a job: a NIC in software and its address; the others' addresses.

use std::sync::Arc;

use btl::join::report;
use btl::{Cards, Join, Lines, Peer, Start};
use gni::{InstId, JobKey, Modes, PeAddr, Time};
use gni_soft::host::{self, HostConfig, HostNic};
use gni_soft::{FaultPlan, GniParams, NicConfig, NodeLimits, Reach, SoftNic};
use mca::Quantity::Sum;
use mca::Variable;
use mem::hex;
use rcache::RcacheParams;
use shm::doorbell::Doorbell;

use crate::{Job, PeerAddress, Ugni, UgniParams};

/// The transport as processes use it: over the NIC of their host, with the host's clock.
pub type Gemini = Ugni<SoftNic<HostNic>, fn() -> Time>;

/// Under this name each process puts its address.
const ADDRESS: &str = "alhena-gni";

const ADVICE: &str =
    "give all ranks the same transports: mpiexec --mca btl self,vader,ugni for the whole job";

/// A process that has a NIC and does not know its peers yet.
pub struct Joining {
    nic: SoftNic<HostNic>,
    params: UgniParams,
    rcache: RcacheParams,
    /// Peers of this node are known without a card.
    near: bool,
    /// The user has set limits of the transport, and so wants to know what follows from them.
    is_tuned: bool,
}

impl Join for Joining {
    type Opened = Gemini;
    type Below = ();
    const ABOUT: &'static str = "Gemini, in software: mailboxes, Eager GET, GET and PUT, Put Fallback";
    const PARAMS: &'static [mca::Param] = UgniParams::PARAMS;
    const VARIABLES: &'static [Variable<Gemini>] = &[
        Variable::new(
            "btl_ugni_bytes",
            Sum,
            |gemini| gemini.stats().copied_bytes,
            "Payload sent over Gemini in messages: through mailboxes, the node's shared queue, and buffers that the peer fetches",
        ),
        Variable::new(
            "btl_ugni_moved_bytes",
            Sum,
            |gemini| gemini.stats().direct_bytes,
            "Payload that this process fetched from or stored into other processes' memory over Gemini: of messages and in windows",
        ),
        Variable::new(
            "btl_ugni_atomics",
            Sum,
            |gemini| gemini.stats().atomics,
            "Atomic operations of this process on other processes' windows over Gemini",
        ),
    ];

    fn begin(start: &mut Start<'_>) -> Result<Joining, Lines> {
        let gni = GniParams::read(start.values)?;
        let params = UgniParams::read(start.values)?;
        let rcache = RcacheParams::read(start.values)?;
        let nic = attach(start, &gni)?;
        start.job.put(ADDRESS, &hex::text(&PeerAddress::of(&nic).to_bytes()))?;
        // Processes of one node find each other by name; only NICs apart, or so set, state how they are reached.
        let near = !gni.listen && gni.reach != Reach::Tcp && given_pe().is_none();
        Ok(Joining { nic, params, rcache, near, is_tuned: !start.values.are_defaults(UgniParams::PARAMS) })
    }

    fn open(self, job: &mut dyn Cards, _below: ()) -> Result<Gemini, Lines> {
        let all = job.all();
        let address = |peer| address_of(job, peer, self.near);
        let peers = all.map(address).collect::<Result<Arc<[_]>, _>>()?;
        let about = Job { me: job.me(), peers, local_ranks: job.local_ranks() };
        let clock: fn() -> Time = || Time(platform::clock::nanoseconds());
        let opened = Ugni::new(self.nic, clock, about, self.params);
        let mut gemini = opened.map_err(|error| Lines::of(&error))?;
        let is_first = job.me() == Peer(0);
        gemini.cache_registrations(rcache::watch(&self.rcache, is_first));
        if is_first && self.is_tuned {
            for notice in &gemini.plan().notices {
                report(&notice.to_string());
            }
        }
        Ok(gemini)
    }

    /// No process may send to a shared queue that its owner has not joined.
    fn awaits_all(gemini: &Gemini) -> bool {
        gemini.plan().msgq
    }

    fn doorbell(gemini: &Gemini) -> Option<&'static Doorbell> {
        Some(gemini.nic().fabric().lasting_doorbell())
    }
}

/// Attaches this process's NIC, which rings the node's doorbell where there is one.
fn attach(start: &Start<'_>, gni: &GniParams) -> Result<SoftNic<HostNic>, Lines> {
    let job = &*start.job;
    let faults = FaultPlan::parse(&gni.faults).map_err(|error| Lines::of(&error))?;
    let doorbell = (start.doorbell)();
    let doorbell = doorbell.map_err(|error| Lines::system("sharing the node's doorbell", &error))?;
    let own_doorbell = doorbell.is_none();
    let Peer(rank) = job.me();
    let secret = platform::random::secret();
    let config = HostConfig {
        limits: NodeLimits {
            mdds: gni.mdds as u32,
            mrt_entries: gni.mrt_entries as u32,
            ..NodeLimits::default()
        },
        pinned: gni.pinned,
        reach: match gni.reach {
            Reach::Auto => host::Reach::Auto,
            Reach::Socket => host::Reach::Socket,
            Reach::Tcp => host::Reach::Tcp,
        },
        // The key is made of the number's other half.
        job: (job.id() >> 32) as u32,
        secret: secret.map_err(|error| Lines::system("drawing the NIC's secret", &error))?,
        report: Some(report),
        listen: !job.is_one_node() || gni.listen || gni.reach == Reach::Tcp,
        doorbell,
        proxy_pid: job.proxy_pid(),
        ..HostConfig::default()
    };
    let pe = given_pe().unwrap_or(PeAddr(job.node_of(job.me())));
    let seed = faults.seed.wrapping_add(rank.into());
    let nic_config = NicConfig { faults: FaultPlan { seed, ..faults }, ..NicConfig::default() };
    let modes = Modes::FORK_PARTCOPY | Modes::ERR_NO_KILL | Modes::MDD_SHARED | Modes::FMA_SHARED;
    let key = JobKey::for_job(job.id() as u32);
    let nic = host::attach(pe, InstId(rank), key, modes, nic_config, config);
    let nic = nic.map_err(|error| Lines::of(&error))?;
    if own_doorbell && job.oversubscribed() {
        // Ranks that sleep often leave the fence to their senders.
        nic.fabric().lasting_doorbell().ask_for_fences();
    }
    Ok(nic)
}

/// The address of this process's node as the launcher of a Cray gives it, a list of which the first counts; else a node's
/// address is its number in the job.
fn given_pe() -> Option<PeAddr> {
    let list = std::env::var("PMI_GNI_LOC_ADDR").ok()?;
    list.split(':').next()?.parse().ok().map(PeAddr)
}

/// The address of a peer: known without asking for one of this node, if those are `near`.
fn address_of(job: &mut dyn Cards, peer: Peer, near: bool) -> Result<PeerAddress, Lines> {
    let node = job.node_of(peer);
    if near && node == job.node_of(job.me()) {
        return Ok(PeerAddress { pe: PeAddr(node), inst: InstId(peer.0), locator: Box::new([]) });
    }
    job.card(peer, (ADDRESS, "Gemini address", ADVICE), |text| {
        PeerAddress::from_bytes(&hex::bytes(text)?).ok()
    })
}
