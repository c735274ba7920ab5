//! The conformance suite over NICs of one process.

use gni::{InstId, JobKey, PeAddr, Time};
use gni_conformance::{Rig, Wanted};
use gni_soft::inproc::{InProc, NetworkConfig, SharedNetwork};
use gni_soft::{FaultPlan, NicConfig, NodeLimits, SoftNic};
use mem::UserMem;

#[derive(Default)]
struct InProcRig {
    now: u64,
    pinned: bool,
}

impl Rig for InProcRig {
    type Nic = SoftNic<InProc>;

    fn attach(&mut self, wanted: &Wanted) -> Option<(Self::Nic, Self::Nic)> {
        let defaults = NetworkConfig::default();
        let or = |wish: u32, default: u32| if wish == 0 { default } else { wish };
        let world = SharedNetwork::new(NetworkConfig {
            jobs: vec![JobKey::for_job(1), JobKey::for_job(2)],
            limits: NodeLimits {
                mdds: or(wanted.mdds, defaults.limits.mdds),
                mrt_entries: or(wanted.mrt_entries, defaults.limits.mrt_entries),
                ..defaults.limits
            },
            pinned: self.pinned,
            ..defaults
        });
        let faults = FaultPlan::parse(wanted.faults).expect("a plan");
        let faulty = NicConfig { faults, ..NicConfig::default() };
        let job = JobKey::for_job(1);
        let other = if wanted.stranger { JobKey::for_job(2) } else { job };
        let pe = PeAddr(if wanted.same_node { 5 } else { 6 });
        let a = match world.attach(PeAddr(5), InstId(10), job, wanted.modes, faulty) {
            Err(gni::Error::IllegalOp) if self.pinned => return None,
            a => a.expect("attaching"),
        };
        let b = world.attach(pe, InstId(11), other, wanted.modes, NicConfig::default()).expect("attaching");
        Some((a, b))
    }

    fn pause(&mut self, step: Time) -> Time {
        self.now += step.0;
        Time(self.now)
    }

    fn untouched(&mut self, _nic: &mut Self::Nic, bytes: usize) -> Option<UserMem> {
        // SAFETY: the memory is never read; the view only names an address range for registration.
        Some(unsafe { UserMem::new(1 << 40, bytes) })
    }
}

gni_conformance::suite!(InProcRig::default());

mod pinned {
    use super::InProcRig;

    gni_conformance::suite!(InProcRig { pinned: true, ..InProcRig::default() });
}

mod attaching {
    use super::*;
    use gni::{Error, Modes};

    fn attach(
        world: &SharedNetwork,
        pe: u32,
        inst: u32,
        key: JobKey,
        modes: Modes,
    ) -> Result<SoftNic<InProc>, Error> {
        world.attach(PeAddr(pe), InstId(inst), key, modes, NicConfig::default())
    }

    #[test]
    fn a_job_needs_its_key() {
        let world = SharedNetwork::new(NetworkConfig::default());
        let wrong = attach(&world, 0, 0, JobKey::for_job(9), Modes::default()).err();
        assert_eq!(wrong, Some(Error::Permission));
    }

    #[test]
    fn an_instance_attaches_once_at_a_time() {
        let world = SharedNetwork::new(NetworkConfig::default());
        let key = JobKey::for_job(0);
        let nic = attach(&world, 1, 7, key, Modes::default()).expect("attaching");
        assert_eq!(attach(&world, 1, 7, key, Modes::default()).err(), Some(Error::InvalidState));
        drop(nic);
        attach(&world, 1, 7, key, Modes::default()).expect("detached before");
    }

    #[test]
    fn dedicated_windows_run_out() {
        let world = SharedNetwork::new(NetworkConfig {
            limits: NodeLimits { fma_descriptors: 2, ..NodeLimits::default() },
            ..NetworkConfig::default()
        });
        let key = JobKey::for_job(0);
        let nics: Vec<_> = (0..2)
            .map(|inst| attach(&world, 1, inst, key, Modes::FMA_DEDICATED).expect("a window"))
            .collect();
        assert_eq!(attach(&world, 1, 2, key, Modes::FMA_DEDICATED).err(), Some(Error::Resource));
        attach(&world, 1, 3, key, Modes::FMA_SHARED).expect("shared ones are always there");
        drop(nics);
        attach(&world, 1, 4, key, Modes::FMA_DEDICATED).expect("came back");
    }
}
