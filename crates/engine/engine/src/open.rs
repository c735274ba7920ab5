//! Opens the way to the other processes of the job: the transports, and the message layer over them.

use std::sync::Arc;

use bml::{Bml, Joining, NodeMemory, OverPortals, Wants};
use btl::{Cards, Lines};
use mtl_portals::{Device, MpichParams, MtlPortalsParams, PortalsMtl};
use mtl_shmem::{MtlShmemParams, ShmemMtl};
use node::Node;
use pml_cm::Cm;
use pml_ob1::{Config, Ob1, Ob1Params};

use crate::{Layer, MessageLayer, Network, P2p, Peers, PmlParams};

/// Attempts of an eager send to find room, about a microsecond in all, where the receiver has its own core.
const EAGER_RETRIES: u32 = 32;

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
        let network = (pml == MessageLayer::Cm).then_some(mtl);
        let peers = Peers::of_job(job.id(), job.size());
        let ob1 = ob1(job, values)?;
        if job.size() == 1 && memory.is_none() {
            return Ok((None, P2p::new(Bml::solo(), Layer::ob1(ob1), peers)));
        }
        // A NIC that matches has to see all messages; what is not a message takes the transport over it.
        let matching = network.filter(|&network| network != Network::Ofi);
        let wants = match (pml, matching) {
            (MessageLayer::Dr, _) => Wants::Reliability,
            (_, Some(_)) => Wants::MatchingNic,
            (_, None) => Wants::Transports,
        };
        let transports = Joining::begin(job, values, memory, wants)?;
        let libfabric = match network {
            Some(Network::Ofi) => Some(mtl_ofi::join::Joining::begin(job, values)?),
            _ => None,
        };
        job.fence()?;
        let layer = match libfabric {
            Some(joining) => Layer::ofi(Cm::new(joining.open(job)?).map_err(|error| Lines::of(&error))?),
            None => Layer::ob1(ob1),
        };
        let (node, bml) = transports.open(job, layer.descriptor())?;
        let layer = match bml.portals().zip(matching) {
            Some((portals, network)) => on_nic(portals, network, values)?,
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

/// The message layer that lets the transport's NIC match as `network` did. The transport sleeps on the NIC for both.
fn on_nic(portals: &OverPortals, network: Network, values: &mca::Values) -> Result<Layer, Lines> {
    let (nic, ids) = (portals.nic().another(), portals.ids().to_vec());
    let device = match network {
        Network::Shmem => {
            let matching = ShmemMtl::new(nic, ids, &MtlShmemParams::read(values)?);
            let matching = matching.map_err(|error| Lines::of(&error))?.rung();
            return Ok(Layer::shmem(Cm::new(matching).map_err(|error| Lines::of(&error))?));
        }
        Network::Mpich => Device::mpich(&MpichParams::read(values)?),
        Network::Portals | Network::Ofi => Device::open_mpi(&MtlPortalsParams::read(values)?),
    };
    let matching = PortalsMtl::new(nic, ids, &device);
    let matching = matching.map_err(|error| Lines::of(&error))?.rung();
    Ok(Layer::portals(Cm::new(matching).map_err(|error| Lines::of(&error))?))
}
