//! The conformance suite over NICs of this host, on each of the ways they can reach each other.

mod common;

use gni::{Gni, InstId, JobKey, PeAddr, Time};
use gni_conformance::{Rig, Wanted};
use gni_soft::host::{self, HostConfig, HostNic, Reach};
use gni_soft::{FaultPlan, NicConfig, NodeLimits, SoftNic};
use mem::UserMem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What kind of memory the cases use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// The NIC's own, which peers map.
    Lent,
    /// The test's, which peers reach by the kernel's copy or by socket.
    Private,
}

struct HostRig {
    reach: Reach,
    memory: Memory,
    pinned: bool,
    began: Instant,
    skipped: Duration,
    /// Buffers of the current case, kept until its end.
    buffers: Vec<Vec<u64>>,
}

impl HostRig {
    fn new(reach: Reach, memory: Memory) -> HostRig {
        HostRig {
            reach,
            memory,
            pinned: false,
            began: Instant::now(),
            skipped: Duration::ZERO,
            buffers: Vec::new(),
        }
    }

    /// Registrations hold their pages, where io_uring is allowed.
    fn pinned() -> HostRig {
        HostRig { pinned: true, ..HostRig::new(Reach::Auto, Memory::Private) }
    }
}

/// A job of its own for each case, so that cases can run side by side.
fn fresh_job() -> u32 {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    std::process::id() * 1000 + JOBS.fetch_add(1, Ordering::Relaxed)
}

impl Rig for HostRig {
    type Nic = SoftNic<HostNic>;

    fn attach(&mut self, wanted: &Wanted) -> Option<(Self::Nic, Self::Nic)> {
        let or = |wish: u32, default: u32| if wish == 0 { default } else { wish };
        let defaults = NodeLimits::default();
        let config = HostConfig {
            limits: NodeLimits {
                mdds: or(wanted.mdds, defaults.mdds),
                mrt_entries: or(wanted.mrt_entries, defaults.mrt_entries),
                ..defaults
            },
            reach: self.reach,
            secret: 0x1234_5678_9abc_def0_0fed_cba9_8765_4321,
            listen: true,
            addresses: vec![std::net::Ipv4Addr::LOCALHOST],
            pinned: self.pinned && common::can_pin(),
            ..HostConfig::default()
        };
        let job = fresh_job();
        let other = if wanted.stranger { fresh_job() } else { job };
        let faulty =
            NicConfig { faults: FaultPlan::parse(wanted.faults).expect("a plan"), ..NicConfig::default() };
        let pe = PeAddr(if wanted.same_node { 5 } else { 6 });
        let attach = |(pe, inst), job, nic| {
            let config = HostConfig { job, ..config.clone() };
            host::attach(pe, inst, JobKey::for_job(job), wanted.modes, nic, config).expect("attaching")
        };
        Some((
            attach((PeAddr(5), InstId(10)), job, faulty),
            attach((pe, InstId(11)), other, NicConfig::default()),
        ))
    }

    fn pause(&mut self, step: Time) -> Time {
        if step >= Time::from_millis(1) {
            self.skipped += Duration::from_nanos(step.0);
        } else if self.reach != Reach::Auto {
            std::thread::sleep(Duration::from_micros(20));
        } else {
            platform::waiter::give_way();
        }
        Time((self.began.elapsed() + self.skipped).as_nanos() as u64)
    }

    fn memory(&mut self, nic: &mut Self::Nic, bytes: usize) -> UserMem {
        if self.memory == Memory::Lent {
            return nic.mem_alloc(bytes).expect("memory for a test");
        }
        let mut buffer = vec![0u64; bytes.div_ceil(8) + 1024];
        let start = (buffer.as_mut_ptr() as usize).next_multiple_of(4096);
        self.buffers.push(buffer);
        // SAFETY: the buffer has a page to spare for the alignment, and is kept as long as the rig.
        unsafe { UserMem::new(start, bytes) }
    }

    fn untouched(&mut self, _nic: &mut Self::Nic, bytes: usize) -> Option<UserMem> {
        // SAFETY: the memory is never read; the view only names an address range for registration.
        Some(unsafe { UserMem::new(1 << 40, bytes) })
    }
}

mod mapped {
    use super::*;
    gni_conformance::suite!(HostRig::new(Reach::Auto, Memory::Lent));
}

mod single_copy {
    use super::*;
    gni_conformance::suite!(HostRig::new(Reach::Auto, Memory::Private));
}

mod by_the_owner {
    use super::*;
    gni_conformance::suite!(HostRig::new(Reach::Socket, Memory::Private));
}

mod pinned {
    use super::*;
    gni_conformance::suite!(HostRig::pinned());
}

mod tcp {
    use super::*;
    gni_conformance::suite!(HostRig::new(Reach::Tcp, Memory::Private));
}

#[test]
fn atomics_are_quick_where_messages_go_by_sockets_too() {
    for (reach, quick) in [(Reach::Auto, false), (Reach::Socket, false), (Reach::Tcp, true)] {
        let mut rig = HostRig::new(reach, Memory::Private);
        let (mut near, far) = rig.attach(&Wanted::default()).expect("two NICs");
        near.learn_peer(far.local_pe(), far.local_inst(), far.locator()).expect("a locator");
        assert_eq!(near.atomics_are_quick(far.local_pe(), far.local_inst()), quick);
    }
}
