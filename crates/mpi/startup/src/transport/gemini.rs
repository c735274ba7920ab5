//! Opens the transport over Gemini: a NIC in software, its address put before the job's fence, those of the others
//! read after it.

use std::sync::Arc;

use bml::Gemini;
use btl::Peer;
use btl_ugni::{Job, PeerAddress, Ugni, UgniParams};
use gni::{InstId, JobKey, Modes, PeAddr, Time};
use gni_soft::host::{self, HostConfig, HostNic, SharedDoorbell};
use gni_soft::{FaultPlan, GniParams, NicConfig, NodeLimits, Reach, SoftNic};

use objects::params::Params;

/// Under this name each process puts its address.
const ADDRESS: &str = "alhena-gni";

/// Attaches this process's NIC and puts its address, which the others see after the next fence. With `doorbell`, it
/// rings that one, the node's, on which this process then sleeps.
///
/// # Errors
/// The lines to print.
pub(super) fn attach(
    job: &mut pmi::Job,
    params: &Params,
    doorbell: Option<SharedDoorbell>,
) -> Result<SoftNic<HostNic>, String> {
    let gni = GniParams::read(&params.values).map_err(|error| error.to_string())?;
    let faults = FaultPlan::parse(&gni.faults).map_err(|error| format!("alhena: {error}"))?;
    let own_doorbell = doorbell.is_none();
    let seed = faults.seed.wrapping_add(job.rank.into());
    let several_nodes = job.node_of.iter().any(|node| *node != job.node_of[0]);
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
        job: (job.job_id >> 32) as u32,
        secret: super::random().map_err(|error| error.to_string())?,
        report: Some(super::report),
        listen: several_nodes || gni.listen || gni.reach == Reach::Tcp,
        doorbell,
        proxy_pid: job.proxy_pid,
        ..HostConfig::default()
    };
    let place = (given_pe().unwrap_or(PeAddr(job.node_of[job.rank as usize])), InstId(job.rank));
    let nic_config = NicConfig { faults: FaultPlan { seed, ..faults }, ..NicConfig::default() };
    let modes = Modes::FORK_PARTCOPY | Modes::ERR_NO_KILL | Modes::MDD_SHARED | Modes::FMA_SHARED;
    let nic = host::attach(place.0, place.1, JobKey::for_job(job.job_id as u32), modes, nic_config, config)
        .map_err(|error| format!("alhena: {error}"))?;
    if own_doorbell && job.oversubscribed {
        // Ranks that sleep often leave the fence to their senders.
        nic.fabric().lasting_doorbell().ask_for_fences();
    }
    job.put(ADDRESS, &pmi::hex::text(&PeerAddress::of(&nic).to_bytes()))
        .map_err(|error| error.to_string())?;
    Ok(nic)
}

/// The transport on the NIC, all of whose peers have put their addresses.
///
/// # Errors
/// The lines to print.
pub(super) fn open(nic: SoftNic<HostNic>, job: &mut pmi::Job, params: &Params) -> Result<Gemini, String> {
    let ugni = UgniParams::read(&params.values).map_err(|error| error.to_string())?;
    let gni = GniParams::read(&params.values).map_err(|error| error.to_string())?;
    // Processes of one node find each other by name; only what is apart, or pretends to be, says how it is reached.
    let near = !gni.listen && gni.reach != Reach::Tcp && given_pe().is_none();
    let peers = (0..job.size).map(|rank| address_of(job, rank, near)).collect::<Result<Arc<[_]>, _>>()?;
    let about = Job { me: Peer(job.rank), peers, local_ranks: job.local_ranks.len() };
    let clock: fn() -> Time = || Time(platform::clock::nanoseconds());
    let mut gemini = Ugni::new(nic, clock, about, ugni).map_err(|error| format!("alhena: {error}"))?;
    gemini.cache_registrations(super::registered::watch(job.rank, &params.rcache));
    if job.rank == 0 && is_tuned(params) {
        for notice in &gemini.plan().notices {
            eprintln!("alhena: {notice}");
        }
    }
    Ok(gemini)
}

/// Whether the user has set any of the transport's limits, and so wants to know what follows from them.
fn is_tuned(params: &Params) -> bool {
    UgniParams::PARAMS.iter().any(|param| params.values.setting(param).source != mca::Source::Default)
}

/// The address of this process's node as the launcher of a Cray gives it, a list of which the first counts; else a node's
/// address is its number in the job.
fn given_pe() -> Option<PeAddr> {
    let list = std::env::var("PMI_GNI_LOC_ADDR").ok()?;
    list.split(':').next()?.parse().ok().map(PeAddr)
}

/// The address of a rank: known without asking for one of this node, if those are `near`.
fn address_of(job: &mut pmi::Job, rank: u32, near: bool) -> Result<PeerAddress, String> {
    let node = job.node_of[rank as usize];
    if near && node == job.node_of[job.rank as usize] {
        return Ok(PeerAddress { pe: PeAddr(node), inst: InstId(rank), locator: Box::new([]) });
    }
    let text = job.get(rank, ADDRESS).map_err(|error| error.to_string())?.unwrap_or_default();
    let address = pmi::hex::bytes(&text).and_then(|bytes| PeerAddress::from_bytes(&bytes).ok());
    address.ok_or_else(|| {
        format!(
            "alhena: rank {} has no way to rank {rank}\n\
             alhena: seen: \"{text}\" for its Gemini address\n\
             alhena: give all ranks the same transports: mpiexec --mca btl self,vader,ugni for the whole job",
            job.rank
        )
    })
}
