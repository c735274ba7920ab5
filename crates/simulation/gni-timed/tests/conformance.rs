//! The conformance suite over NICs on virtual time.

use gni::{InstId, Modes, PeAddr, Time};
use gni_conformance::{Rig, Wanted};
use gni_soft::{FaultPlan, NicConfig, NodeLimits};
use gni_timed::{NetworkConfig, TimedNic, TimedWorld};
use mem::UserMem;

#[derive(Default)]
struct TimedRig {
    now: u64,
}

impl Rig for TimedRig {
    type Nic = TimedNic;

    fn attach(&mut self, wanted: &Wanted) -> Option<(TimedNic, TimedNic)> {
        // A simulated machine runs one job.
        if wanted.stranger {
            return None;
        }
        let default = NodeLimits::default();
        let or = |wish: u32, default: u32| if wish == 0 { default } else { wish };
        let limits = NodeLimits {
            mdds: or(wanted.mdds, default.mdds),
            mrt_entries: or(wanted.mrt_entries, default.mrt_entries),
            ..default
        };
        let world = TimedWorld::new(NetworkConfig { limits, ..NetworkConfig::cielo(12) });
        let nic = |pe: u32, inst: u32, faults: &str, modes: Modes| {
            let faults = FaultPlan::parse(faults).expect("a plan");
            let config = NicConfig { faults, ..NicConfig::default() };
            world.attach(PeAddr(pe), InstId(inst), modes, config).expect("attaching")
        };
        let a = nic(5, 10, wanted.faults, wanted.modes);
        let b = nic(if wanted.same_node { 5 } else { 60 }, 11, "", wanted.modes);
        Some((a, b))
    }

    fn pause(&mut self, step: Time) -> Time {
        self.now += step.0;
        Time(self.now)
    }

    fn untouched(&mut self, _nic: &mut TimedNic, bytes: usize) -> Option<UserMem> {
        // SAFETY: no code looks at the memory; the view only names an address range for registration.
        Some(unsafe { UserMem::new(1 << 40, bytes) })
    }
}

gni_conformance::suite!(TimedRig::default());
