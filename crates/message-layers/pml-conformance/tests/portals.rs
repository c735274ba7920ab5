//! The suite on cm, over Portals NICs of one process, for Open MPI's use of them and for each device of MPICH.

use btl_mock::Port;
use mtl_portals::{Device, LongMessages, MpichDevice, MpichParams, MtlPortalsParams, PortalsMtl};
use pml_cm::Cm;
use pml_conformance::Processes;
use portals::{Jid, Nid, Pid, ProcessId, Uid};
use portals_soft::inproc::InProc;
use portals_soft::{FaultPlan, NicConfig, SoftNic};

type Layer = Cm<PortalsMtl<SoftNic<InProc>>>;

fn world(ranks: u32, seed: u64, faults: &str, device: &Device) -> Processes<Layer, Port> {
    let (world, frames) =
        (portals_soft::inproc::Inboxes::new(), btl_mock::Net::new(btl_mock::Options::new(ranks)));
    let ids: Vec<ProcessId> = (0..ranks).map(|nid| ProcessId { nid: Nid(nid), pid: Pid(0) }).collect();
    let layer = |rank: u32| {
        let faults = FaultPlan { seed: seed + u64::from(rank), ..FaultPlan::parse(faults).expect("a plan") };
        let config = NicConfig { faults, ..NicConfig::default() };
        let nic = world.attach(ids[rank as usize], Uid(0), Jid(0), config).expect("attaching");
        Cm::new(PortalsMtl::new(nic, ids.clone(), device).expect("a network")).expect("bits enough")
    };
    Processes::new((0..ranks).map(|rank| (layer(rank), frames.port(rank))).collect())
}

/// ENDs come late, operations are refused.
const UNPLEASANT: &str = "defer=0.3,no_space=0.2";

mod defaults {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        let params = MtlPortalsParams {
            short_recv_mds_size: 1 << 20,
            eager_limit: 16 << 10,
            ..MtlPortalsParams::default()
        };
        world(ranks, seed, "", &Device::open_mpi(&params))
    }

    pml_conformance::suite!(make);
}

/// Many messages are long, few buffers.
mod unpleasant {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        let params = MtlPortalsParams {
            eager_limit: 1000,
            copy_block_len: 16,
            num_copy_blocks: 3,
            short_recv_mds_size: 1 << 20,
            ..MtlPortalsParams::default()
        };
        world(ranks, seed, UNPLEASANT, &Device::open_mpi(&params))
    }

    pml_conformance::suite!(make);
}

/// Headers go before what is long.
mod rendezvous {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        let params = MtlPortalsParams {
            eager_limit: 1000,
            copy_block_len: 16,
            short_recv_mds_size: 1 << 20,
            use_rendezvous: true,
            ..MtlPortalsParams::default()
        };
        world(ranks, seed, UNPLEASANT, &Device::open_mpi(&params))
    }

    pml_conformance::suite!(make);
}

/// A device of MPICH with a short limit below what the suite sends.
fn mpich(device: MpichDevice, very_short: bool, long_messages: LongMessages) -> Device {
    let params = MpichParams {
        device,
        short_limit: 3000,
        very_short,
        very_short_limit: 320,
        unexpected_size: 3 << 20,
        unexpected_buffers: 256,
        long_messages,
        ..MpichParams::default()
    };
    Device::mpich(&params)
}

mod mpich_1_2_6 {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        world(ranks, seed, "", &mpich(MpichDevice::One, true, LongMessages::Device))
    }

    pml_conformance::suite!(make);
}

mod mpich_1_2_6_without_very_short {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        world(ranks, seed, UNPLEASANT, &mpich(MpichDevice::One, false, LongMessages::Device))
    }

    pml_conformance::suite!(make);
}

mod mpich_1_2_6_with_rendezvous {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        world(ranks, seed, UNPLEASANT, &mpich(MpichDevice::One, true, LongMessages::Rendezvous))
    }

    pml_conformance::suite!(make);
}

mod mpich2_0_97 {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        world(ranks, seed, UNPLEASANT, &mpich(MpichDevice::Two, true, LongMessages::Device))
    }

    pml_conformance::suite!(make);
}

mod cray_1_5 {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        world(ranks, seed, UNPLEASANT, &mpich(MpichDevice::Xt, true, LongMessages::Device))
    }

    pml_conformance::suite!(make);
}

mod cray_1_5_with_eager_long {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Layer, Port> {
        world(ranks, seed, "", &mpich(MpichDevice::Xt, true, LongMessages::Eager))
    }

    pml_conformance::suite!(make);
}
