//! Opens a Portals NIC in software, whose wire is a table of transports of its own, and what stands on it: the
//! transport, and matching where the NIC is to match.

use bml::{Bml, OverPortals, SoftPortals};
use btl_portals::{BtlPortalsParams, Portals};
use engine::{Layer, Network};
use mtl_portals::{Device, MpichParams, MtlPortalsParams, PortalsMtl};
use mtl_shmem::{MtlShmemParams, ShmemMtl};
use pml_cm::Cm;
use portals::{Jid, Nid, Pid, ProcessId, Shared, Uid};
use portals_soft::{FaultPlan, Identity, Mode, NicConfig, PortalsParams, SoftNic};
use portals_wire::Wire;

use objects::params::Params;

/// Who a rank is: its node, and its number in the job.
fn id(job: &pmi::Job, rank: u32) -> ProcessId {
    ProcessId { nid: Nid(job.node_of[rank as usize]), pid: Pid(rank) }
}

/// A process's NIC, its own and that of whatever else stands on it.
pub(super) struct Attached {
    nic: Shared<SoftPortals>,
    ids: Vec<ProcessId>,
}

impl Attached {
    /// Attaches this process's NIC; `wire` reaches all ranks.
    ///
    /// # Errors
    /// The lines to print.
    pub(super) fn new(wire: Bml, job: &pmi::Job, params: &Params) -> Result<Attached, String> {
        let portals = PortalsParams::read(&params.values).map_err(|error| error.to_string())?;
        let faults = FaultPlan::parse(&portals.faults).map_err(|error| format!("alhena: {error}"))?;
        let config = NicConfig {
            mode: if portals.accelerated { Mode::Accelerated } else { Mode::Interrupt },
            faults: FaultPlan { seed: faults.seed.wrapping_add(job.rank.into()), ..faults },
            ..NicConfig::default()
        };
        let ids: Vec<ProcessId> = (0..job.size).map(|rank| id(job, rank)).collect();
        // The wire's transports have made sure that all ranks are of one job, and so of one user.
        let who = Identity { id: ids[job.rank as usize], uid: Uid(0), jid: Jid(0) };
        let nic = SoftNic::new(Wire::new(wire, who, ids.clone()), config);
        Ok(Attached { nic: Shared::new(nic), ids })
    }

    /// The message layer that lets the NIC match as `network` did; the transport sleeps on the NIC for both.
    ///
    /// # Errors
    /// The lines to print.
    pub(super) fn matching(&self, network: Network, params: &Params) -> Result<Layer, String> {
        let device = match network {
            Network::Shmem => return self.symmetric(params),
            Network::Mpich => {
                let mpich = MpichParams::read(&params.values).map_err(|error| error.to_string())?;
                Device::mpich(&mpich)
            }
            _ => {
                let own = MtlPortalsParams::read(&params.values).map_err(|error| error.to_string())?;
                Device::open_mpi(&own)
            }
        };
        let matching = PortalsMtl::new(self.nic.another(), self.ids.clone(), &device);
        let matching = matching.map_err(|error| lines(&error))?.rung();
        Ok(Layer::portals(Cm::new(matching).map_err(|error| lines(&error))?))
    }

    fn symmetric(&self, params: &Params) -> Result<Layer, String> {
        let shmem = MtlShmemParams::read(&params.values).map_err(|error| error.to_string())?;
        let matching = ShmemMtl::new(self.nic.another(), self.ids.clone(), &shmem);
        let matching = matching.map_err(|error| lines(&error))?.rung();
        Ok(Layer::shmem(Cm::new(matching).map_err(|error| lines(&error))?))
    }

    /// The transport on the NIC.
    ///
    /// # Errors
    /// The lines to print.
    pub(super) fn transport(self, params: &Params) -> Result<OverPortals, String> {
        let btl = BtlPortalsParams::read(&params.values).map_err(|error| error.to_string())?;
        Portals::new(self.nic, self.ids, &btl).map_err(|error| lines(&error))
    }
}

fn lines(error: &dyn std::error::Error) -> String {
    format!("alhena: {}", error.to_string().replace('\n', "\nalhena: "))
}
