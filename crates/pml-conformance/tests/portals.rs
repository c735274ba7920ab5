//! The suite on cm, over Portals NICs of one process.

use btl_sim::Port;
use mtl_portals::{MtlPortalsParams, PortalsMtl};
use pml_cm::Cm;
use pml_conformance::World;
use portals::{Jid, Nid, Pid, ProcessId, Uid};
use portals_soft::inproc::InProc;
use portals_soft::{FaultPlan, NicConfig, SoftNic};

type Layer = Cm<PortalsMtl<SoftNic<InProc>>>;

fn world(ranks: u32, seed: u64, faults: &str, params: &MtlPortalsParams) -> World<Layer, Port> {
    let (world, frames) =
        (portals_soft::inproc::World::new(), btl_sim::Net::new(btl_sim::Options::new(ranks)));
    let ids: Vec<ProcessId> = (0..ranks).map(|nid| ProcessId { nid: Nid(nid), pid: Pid(0) }).collect();
    let layer = |rank: u32| {
        let faults = FaultPlan { seed: seed + u64::from(rank), ..FaultPlan::parse(faults).expect("a plan") };
        let config = NicConfig { faults, ..NicConfig::default() };
        let nic = world.attach(ids[rank as usize], Uid(0), Jid(0), config).expect("attaching");
        Cm::new(PortalsMtl::new(nic, ids.clone(), params).expect("a network")).expect("bits enough")
    };
    World::new((0..ranks).map(|rank| (layer(rank), frames.port(rank))).collect())
}

mod defaults {
    use super::*;

    fn make(ranks: u32, seed: u64) -> World<Layer, Port> {
        let params = MtlPortalsParams {
            short_recv_mds_size: 1 << 20,
            eager_limit: 16 << 10,
            ..MtlPortalsParams::default()
        };
        world(ranks, seed, "", &params)
    }

    pml_conformance::suite!(make);
}

/// Many messages are long, ENDs come late, operations are refused, few buffers.
mod unpleasant {
    use super::*;

    fn make(ranks: u32, seed: u64) -> World<Layer, Port> {
        let params = MtlPortalsParams {
            eager_limit: 1000,
            copy_block_len: 16,
            num_copy_blocks: 3,
            short_recv_mds_size: 1 << 20,
            ..MtlPortalsParams::default()
        };
        world(ranks, seed, "defer=0.3,no_space=0.2", &params)
    }

    pml_conformance::suite!(make);
}
