//! The suite on cm, over symmetric memory of NICs of one process.

use btl_mock::Port;
use mtl_shmem::{MtlShmemParams, ShmemMtl};
use pml_cm::Cm;
use pml_conformance::Processes;
use portals::{Jid, Nid, Pid, ProcessId, Uid};
use portals_soft::inproc::InProc;
use portals_soft::{FaultPlan, NicConfig, SoftNic};

type Layer = Cm<ShmemMtl<SoftNic<InProc>>>;

fn world(ranks: u32, seed: u64, faults: &str, params: &MtlShmemParams) -> Processes<Layer, Port> {
    let (world, frames) =
        (portals_soft::inproc::Inboxes::new(), btl_mock::Net::new(btl_mock::Options::new(ranks)));
    let ids: Vec<ProcessId> = (0..ranks).map(|nid| ProcessId { nid: Nid(nid), pid: Pid(0) }).collect();
    let layer = |rank: u32| {
        let faults = FaultPlan { seed: seed + u64::from(rank), ..FaultPlan::parse(faults).expect("a plan") };
        let config = NicConfig { faults, ..NicConfig::default() };
        let nic = world.attach(ids[rank as usize], Uid(0), Jid(0), config).expect("attaching");
        Cm::new(ShmemMtl::new(nic, ids.clone(), params).expect("a network")).expect("bits enough")
    };
    Processes::new((0..ranks).map(|rank| (layer(rank), frames.port(rank))).collect())
}

mod defaults {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        world(ranks, seed, "", &MtlShmemParams::default())
    }

    pml_conformance::suite!(make);
}

/// Two slots, few credits, ENDs come late, operations are refused.
mod narrow {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        let params = MtlShmemParams { slots: 2, short_limit: 256, early: 2, piece: 1024, operations: 8 };
        world(ranks, seed, "defer=0.3,no_space=0.2", &params)
    }

    pml_conformance::suite!(make);
}
