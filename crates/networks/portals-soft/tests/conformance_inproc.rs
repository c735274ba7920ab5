//! The conformance suite over NICs of one process.

use portals::{Error, Jid, Nid, Pid, ProcessId, Uid};
use portals_conformance::{Rig, Wanted};
use portals_soft::inproc::{InProc, Inboxes};
use portals_soft::{FaultPlan, Mode, NicConfig, SoftNic, XT_LIMITS};

struct InProcRig;

fn config(wanted: &Wanted, faults: &str) -> NicConfig {
    NicConfig {
        limits: wanted.limits.unwrap_or(XT_LIMITS),
        mode: if wanted.accelerated { Mode::Accelerated } else { Mode::Interrupt },
        faults: FaultPlan::parse(faults).expect("a plan"),
        ..NicConfig::default()
    }
}

impl Rig for InProcRig {
    type Nic = SoftNic<InProc>;

    fn attach(&mut self, wanted: &Wanted) -> Option<(Self::Nic, Self::Nic)> {
        let world = Inboxes::new();
        let attach = |nid, uid, faults| {
            let id = ProcessId { nid: Nid(nid), pid: Pid(3) };
            world.attach(id, uid, Jid(1), config(wanted, faults)).expect("attaching")
        };
        let a = attach(5, wanted.uid, wanted.faults_of_initiator);
        Some((a, attach(6, Uid(0), wanted.faults_of_target)))
    }
}

portals_conformance::suite!(InProcRig);

#[test]
fn a_process_attaches_once_at_a_time() {
    let world = Inboxes::new();
    let id = ProcessId { nid: Nid(1), pid: Pid(1) };
    let attach = || world.attach(id, Uid(0), Jid(0), NicConfig::default());
    let nic = attach().expect("attaching");
    assert_eq!(attach().err(), Some(Error::IfaceDup));
    drop(nic);
    attach().expect("detached before");
}
