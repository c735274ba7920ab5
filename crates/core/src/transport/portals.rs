//! Opens the transport over Portals: a NIC in software, whose wire is a table of transports of its own.

use bml::{Bml, OverPortals, SoftPortals};
use btl_portals::{BtlPortalsParams, Portals};
use portals::{Jid, Nid, Pid, ProcessId, Uid};
use portals_soft::wire::Wire;
use portals_soft::{FaultPlan, Identity, Mode, NicConfig, PortalsParams, SoftNic};

use crate::params::Params;

/// Who a rank is: its node, and its number in the job.
fn id(job: &pmi::Job, rank: u32) -> ProcessId {
    ProcessId { nid: Nid(job.node_of[rank as usize]), pid: Pid(rank) }
}

/// Attaches this process's NIC; `wire` reaches all ranks.
///
/// # Errors
/// The lines to print.
fn attach(wire: Bml, ids: Vec<ProcessId>, rank: u32, params: &Params) -> Result<SoftPortals, String> {
    let portals = PortalsParams::read(&params.values).map_err(|error| error.to_string())?;
    let faults = FaultPlan::parse(&portals.faults).map_err(|error| format!("alhena: {error}"))?;
    let config = NicConfig {
        mode: if portals.accelerated { Mode::Accelerated } else { Mode::Interrupt },
        faults: FaultPlan { seed: faults.seed.wrapping_add(rank.into()), ..faults },
        ..NicConfig::default()
    };
    // The wire's transports have made sure that all ranks are of one job, and so of one user.
    let who = Identity { id: ids[rank as usize], uid: Uid(0), jid: Jid(0) };
    Ok(SoftNic::new(Wire::new(wire, who, ids), config))
}

/// The transport on a NIC of this process; `wire` reaches all ranks.
///
/// # Errors
/// The lines to print.
pub(super) fn open(wire: Bml, job: &pmi::Job, params: &Params) -> Result<OverPortals, String> {
    let btl = BtlPortalsParams::read(&params.values).map_err(|error| error.to_string())?;
    let ids: Vec<ProcessId> = (0..job.size).map(|rank| id(job, rank)).collect();
    let nic = attach(wire, ids.clone(), job.rank, params)?;
    Portals::new(nic, ids, &btl).map_err(|error| format!("alhena: {error}"))
}
