//! Opens the way to the other processes of the job: the transports, and the message layer over them.

use std::sync::Arc;

use bml::{Bml, Joining, NodeMemory, OverPortals, Wants};
use btl::{Cards, Lines};
use mtl::Mtl;
use mtl_ofi::Ofi;
use mtl_portals::{Device, MpichParams, MtlPortalsParams, PortalsMtl};
use mtl_shmem::{MtlShmemParams, ShmemMtl};
use node::Node;
use pml_cm::{Cm, Verified};
use pml_ob1::{Config, Ob1, Ob1Params};
use sums::{Checksum, Faults, SumParams};

use crate::{Layer, MessageLayer, Network, P2p, Peers, PmlParams};

/// Attempts of an eager send to find room, about a microsecond in all, where the receiver has its own core.
const EAGER_RETRIES: u32 = 32;

/// How a Portals NIC is called in a report of damage.
const NIC: &str = "portals (a NIC in software)";

impl P2p {
    /// Opens all that leads to the other processes of the job. Returns what those of this node share, too, if the launcher
    /// gave them `memory`.
    ///
    /// # Errors
    /// The lines to print.
    pub fn open(
        job: &mut dyn Cards,
        values: &mca::Values,
        memory: Option<NodeMemory>,
    ) -> Result<(Option<Arc<Node>>, P2p), Lines> {
        let PmlParams { pml, mtl } = PmlParams::read(values)?;
        let sums = SumParams::read(values)?;
        let pml = match (pml, sums.checksum) {
            (MessageLayer::Ob1, Checksum::Repair) => MessageLayer::Dr,
            (MessageLayer::Cm, Checksum::Repair) => return Err(repair_under_cm()),
            (pml, _) => pml,
        };
        let verifies = sums.checksum == Checksum::Verify;
        let network = (pml == MessageLayer::Cm).then_some(mtl);
        let peers = Peers::of_job(job.id(), job.size());
        let ob1 = ob1(job, values)?;
        if job.size() == 1 && memory.is_none() {
            return Ok((None, P2p::new(Bml::solo(), Layer::ob1(ob1), peers)));
        }
        // A NIC that matches has to see all messages; what is not a message takes the transport over it.
        let matching = network.filter(|&network| network != Network::Ofi);
        let wants = match (pml, matching) {
            (MessageLayer::Dr, _) => Wants::Reliability { everywhere: sums.checksum == Checksum::Repair },
            (_, Some(_)) => Wants::MatchingNic,
            (_, None) if verifies => Wants::Verification,
            (_, None) => Wants::Transports,
        };
        let transports = Joining::begin(job, values, memory, wants)?;
        let libfabric = match network {
            Some(Network::Ofi) => Some(mtl_ofi::join::Joining::begin(job, values)?),
            _ => None,
        };
        job.fence()?;
        let layer = match libfabric {
            Some(joining) => Layer::ofi(cm(joining.open(job)?, job, &sums, Ofi::path)?),
            None => Layer::ob1(ob1),
        };
        let (node, mut bml) = transports.open(job, layer.descriptor())?;
        bml.describe_by(pml_ob1::frame::describe);
        let layer = match bml.portals().zip(matching) {
            Some((portals, network)) => on_nic(portals, network, values, (job, &sums))?,
            None => layer,
        };
        Ok((node, P2p::new(bml, layer, peers)))
    }
}

fn ob1(job: &dyn Cards, values: &mca::Values) -> Result<Ob1, Lines> {
    let params = Ob1Params::read(values)?;
    Ok(Ob1::new(Config {
        unexpected_cap: params.unexpected_cap as u64,
        eager_retries: if job.oversubscribed() { 0 } else { EAGER_RETRIES },
        ..Config::new(job.size())
    }))
}

/// A message layer that lets `network` match; `path` names that network in a report of damage.
fn cm<M: Mtl>(
    network: M,
    job: &dyn Cards,
    sums: &SumParams,
    path: impl Fn(&M) -> String,
) -> Result<Cm<M>, Lines> {
    let verified = match sums.checksum {
        Checksum::Verify => {
            let faults = Faults::of(&sums.checksum_faults, job.me().0).map_err(|error| Lines::of(&error))?;
            let (me, job_id, end, path) = (job.me(), job.id(), job.end(), path(&network));
            Some(Verified { me, job: job_id, path, faults, end })
        }
        Checksum::Off | Checksum::Repair => None,
    };
    let cm = Cm::new(network).map_err(|error| Lines::of(&error))?;
    Ok(match verified {
        Some(verified) => cm.verified(verified),
        None => cm,
    })
}

/// What a network that matches has brought cannot be asked for again.
fn repair_under_cm() -> Lines {
    Lines::of(
        &"choosing the message layer failed\n\
          seen: mpi_checksum is repair, and pml is cm, whose network brings a message once\n\
          choose one: --mca mpi_checksum verify --mca pml cm, or --mca mpi_checksum repair",
    )
}

/// The message layer that lets the transport's NIC match as `network` did. The transport sleeps on the NIC for both.
fn on_nic(
    portals: &OverPortals,
    network: Network,
    values: &mca::Values,
    (job, sums): (&dyn Cards, &SumParams),
) -> Result<Layer, Lines> {
    let (nic, ids) = (portals.nic().another(), portals.ids().to_vec());
    let device = match network {
        Network::Shmem => {
            let matching = ShmemMtl::new(nic, ids, &MtlShmemParams::read(values)?);
            let matching = matching.map_err(|error| Lines::of(&error))?.rung();
            return Ok(Layer::shmem(cm(matching, job, sums, |_| NIC.to_owned())?));
        }
        Network::Mpich => Device::mpich(&MpichParams::read(values)?),
        Network::Portals | Network::Ofi => Device::open_mpi(&MtlPortalsParams::read(values)?),
    };
    let matching = PortalsMtl::new(nic, ids, &device);
    let matching = matching.map_err(|error| Lines::of(&error))?.rung();
    Ok(Layer::portals(cm(matching, job, sums, |_| NIC.to_owned())?))
}
