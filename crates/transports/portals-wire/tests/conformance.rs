//! The conformance suite over NICs whose headers and data a transport carries: one that is well-behaved, and one whose
//! frames overtake each other and whose rings are full.

use btl::Limits;
use btl_mock::{Net, Options, Port};
use portals::{Jid, Nid, Pid, ProcessId, Uid};
use portals_conformance::{Rig, Wanted};
use portals_soft::{FaultPlan, Identity, Mode, NicConfig, SoftNic, XT_LIMITS};
use portals_wire::Wire;

struct WireRig(Options);

impl Rig for WireRig {
    type Nic = SoftNic<Wire<Port>>;

    fn attach(&mut self, wanted: &Wanted) -> Option<(Self::Nic, Self::Nic)> {
        if wanted.uid != Uid(0) {
            return None;
        }
        let ids: Vec<ProcessId> = (0..2).map(|rank| ProcessId { nid: Nid(rank), pid: Pid(0) }).collect();
        let net = Net::new(self.0);
        let attach = |rank: u32, faults| {
            let who = Identity { id: ids[rank as usize], uid: Uid(0), jid: Jid(1) };
            let config = NicConfig {
                limits: wanted.limits.unwrap_or(XT_LIMITS),
                mode: if wanted.accelerated { Mode::Accelerated } else { Mode::Interrupt },
                faults: FaultPlan::parse(faults).expect("a plan"),
                ..NicConfig::default()
            };
            SoftNic::new(Wire::new(net.port(rank), who, ids.clone()), config)
        };
        Some((attach(0, wanted.faults_of_initiator), attach(1, wanted.faults_of_target)))
    }
}

mod quiet {
    use super::*;

    portals_conformance::suite!(WireRig(Options::new(2)));
}

mod unpleasant {
    use super::*;

    fn options() -> Options {
        let quiet = Options::new(2);
        let limits = Limits { max_send: 3000, ..quiet.limits };
        Options { limits, paths: 3, slots: 4, busy: 20, late: 30, ..quiet }
    }

    portals_conformance::suite!(WireRig(options()));
}
