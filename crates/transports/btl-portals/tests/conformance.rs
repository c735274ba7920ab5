//! The suite that every transport passes, over NICs of one process.

use btl_conformance::Endpoints;
use btl_portals::{BtlPortalsParams, Portals};
use portals::{Jid, Nid, Pid, ProcessId, Uid};
use portals_soft::inproc::InProc;
use portals_soft::{NicConfig, SoftNic};

fn ids(count: u32) -> Vec<ProcessId> {
    (0..count).map(|nid| ProcessId { nid: Nid(nid), pid: Pid(0) }).collect()
}

fn over_inproc(params: &BtlPortalsParams) -> Endpoints<Portals<SoftNic<InProc>>> {
    let (world, ids) = (portals_soft::inproc::Inboxes::new(), ids(3));
    let end = |&id| {
        let nic = world.attach(id, Uid(0), Jid(0), NicConfig::default()).expect("attaching");
        Portals::new(nic, ids.clone(), params).expect("a transport")
    };
    Endpoints { ends: ids.iter().map(end).collect() }
}

mod defaults {
    use super::*;

    fn world() -> Endpoints<Portals<SoftNic<InProc>>> {
        over_inproc(&BtlPortalsParams::default())
    }

    btl_conformance::suite!(world);
}

/// Blocks for two frames each, so that many frames are refused at first.
mod short_of_room {
    use super::*;

    fn world() -> Endpoints<Portals<SoftNic<InProc>>> {
        let params = BtlPortalsParams {
            eager_limit: 4096,
            max_send_size: 30_000,
            recv_mds_num: 2,
            recv_mds_size: 65_536,
            eq_recv_size: 64,
            max_pending_ops: 64,
            free_list_max: 20,
        };
        over_inproc(&params)
    }

    btl_conformance::suite!(world);
}
