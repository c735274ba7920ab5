//! The suite of byte transfer layers over the software NIC: in one process, and through the host's shared
//! memory and sockets.

use btl::{Btl, Peer};
use btl_conformance::Endpoints;
use btl_ugni::{Job, PeerAddress, Ugni, UgniParams, UseMsgq};
use gni::{Gni, InstId, JobKey, Modes, PeAddr, Time};
use gni_soft::host::{self, HostConfig, HostNic, Reach};
use gni_soft::inproc::{InProc, NetworkConfig, SharedNetwork};
use gni_soft::{FaultPlan, NicConfig, SoftNic};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

type Clock = fn() -> Time;

/// Time since the first call in this process.
fn clock() -> Time {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    Time(START.get_or_init(Instant::now).elapsed().as_nanos() as u64)
}

/// As [`clock`], giving way to the NICs' service threads: an endpoint gives up after so many turns.
fn slow_clock() -> Time {
    std::thread::sleep(std::time::Duration::from_micros(2));
    clock()
}

/// Transports over these NICs, in the order of their instances, connected where that takes no choice.
fn ends<N: Gni>(nics: Vec<N>, params: &UgniParams, clock: Clock) -> Endpoints<Ugni<N, Clock>> {
    let peers: Arc<[PeerAddress]> = nics.iter().map(PeerAddress::of).collect();
    let make = |(rank, nic)| {
        let job = Job { me: Peer(rank), peers: Arc::clone(&peers), local_ranks: peers.len() };
        Ugni::new(nic, clock, job, params.clone()).expect("a transport")
    };
    let mut ends: Vec<_> = (0..).zip(nics).map(make).collect();
    connect(&mut ends);
    Endpoints { ends }
}

/// Sends one message each way between all pairs, so that no case sees a connection being made.
fn connect<N: Gni>(ends: &mut [Ugni<N, Clock>]) {
    let count = ends.len();
    for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
        if from == to {
            continue;
        }
        let mut payload = mem::UserMem::EMPTY;
        let mut sent = false;
        let mut got = false;
        while !got {
            sent = sent || ends[from].send(Peer(to as u32), &[], &mut payload).is_ok();
            for (index, end) in ends.iter_mut().enumerate() {
                assert_eq!(end.next_event(), None);
                if let Some(arrival) = end.next_arrival() {
                    assert_eq!((index, arrival.peer), (to, Peer(from as u32)));
                    end.release(arrival);
                    got = true;
                }
            }
        }
    }
}

fn in_process(ranks: u32, params: &UgniParams, faults: &str) -> Local {
    ends(in_process_nics(ranks, faults), params, clock)
}

fn in_process_nics(ranks: u32, faults: &str) -> Vec<SoftNic<InProc>> {
    let world = SharedNetwork::new(NetworkConfig::default());
    let nic = |rank: u32| {
        let faults = FaultPlan::parse(faults).expect("a plan");
        let faults = FaultPlan { seed: faults.seed + u64::from(rank), ..faults };
        let config = NicConfig { faults, ..NicConfig::default() };
        world
            .attach(PeAddr(rank), InstId(rank), JobKey::for_job(0), Modes::default(), config)
            .expect("attaching")
    };
    (0..ranks).map(nic).collect()
}

/// `nodes` is how many nodes the ranks are spread over.
fn on_host(ranks: u32, nodes: u32, params: &UgniParams, reach: Reach) -> Host {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let job = std::process::id() * 1000 + JOBS.fetch_add(1, Ordering::Relaxed);
    let key = JobKey::for_job(job);
    let addresses = vec![[127, 0, 0, 1].into()];
    let config = HostConfig { reach, job, listen: true, addresses, ..HostConfig::default() };
    let nic = |rank: u32| {
        let config = config.clone();
        host::attach(PeAddr(rank % nodes), InstId(rank), key, Modes::default(), NicConfig::default(), config)
            .expect("attaching")
    };
    ends((0..ranks).map(nic).collect(), params, if reach == Reach::Auto { clock } else { slow_clock })
}

/// The paper's bands: mailboxes up to 1 KiB, Eager GET up to 8 KiB.
fn paper() -> UgniParams {
    UgniParams { smsg_limit: 1024, ..UgniParams::default() }
}

/// Little of everything.
fn scarce() -> UgniParams {
    UgniParams {
        smsg_limit: 256,
        smsg_max_credits: 2,
        eager_num: 1,
        eager_inc: 1,
        eager_max: 2,
        local_cq_size: 4,
        local_rdma_cq_size: 3,
        ..UgniParams::default()
    }
}

fn msgq() -> UgniParams {
    UgniParams { use_msgq: UseMsgq::Always, ..UgniParams::default() }
}

/// Mailboxes for peers that get more than two messages.
fn by_use() -> UgniParams {
    UgniParams { use_msgq: UseMsgq::ByUse, msgq_uses: 3, ..UgniParams::default() }
}

/// The suite for NICs of one process, which have nothing to sleep on: all but `a_sleeping_pair_talks`, whose ends
/// also stop working while what they sent may have to be sent again.
macro_rules! awake {
    ($make:path) => {
        btl_conformance::suite!(@ $make: back_pressure_is_temporary many_senders_are_served_fairly);
        no_hurry!($make);
    };
}

/// The suite for NICs that give room back by a socket: without `back_pressure_is_temporary`, which wants it at
/// once.
macro_rules! by_socket {
    ($make:path) => {
        btl_conformance::suite!(@ $make:
            a_sleeping_pair_talks a_blocked_sender_sleeps active_messages_end_a_sleep many_senders_are_served_fairly);
        no_hurry!($make);
    };
}

/// The suite for NICs that lose much: as `awake`, without fairness, since a lost message waits for its repetition.
macro_rules! unlucky {
    ($make:path) => {
        btl_conformance::suite!(@ $make: back_pressure_is_temporary);
        no_hurry!($make);
    };
}

macro_rules! no_hurry {
    ($make:path) => {
        btl_conformance::suite!(@ $make:
            limits_are_consistent
            every_size_arrives
            headers_of_every_length_arrive
            a_stream_of_mixed_sizes_arrives_once
            arrivals_of_one_peer_are_its_own
            every_size_and_offset_is_fetched
            every_size_and_offset_is_stored
            what_was_not_exposed_is_refused
            cookies_and_events_match
            any_number_of_gets_may_be_asked_for
            registered_memory_is_read_and_written_anywhere
            registered_memory_serves_all_peers
            atomics_change_words
            atomics_of_all_add_up
            atomics_on_a_word_keep_their_order
            what_was_not_registered_is_refused
            congestion_is_seen_by_peers
            arm_notices_what_is_there
            a_message_after_arm_wakes
            room_ends_a_sleep
            room_before_a_sleep_is_not_missed
            active_messages_are_ordered_and_answered
            active_messages_are_bounded
            answers_wait_for_their_own_peer
            who_says_goodbye_has_sent_all
        );
    };
}

/// Coming back, and ends without a word. In one process no NIC of a node reports the end of another one, so where nodes share queues
/// only the host's NICs have the latter.
macro_rules! leaving {
    ($make:path) => {
        btl_conformance::suite!(@ $make:
            who_comes_back_has_not_left
            who_comes_back_learns_who_is_back
            an_end_without_a_word_is_noticed
            an_awaited_end_is_noticed
            a_sleeper_notices_an_end
        );
    };
}

type Local = Endpoints<Ugni<SoftNic<InProc>, Clock>>;
type Host = Endpoints<Ugni<SoftNic<HostNic>, Clock>>;

mod defaults {
    fn world() -> super::Local {
        super::in_process(3, &super::UgniParams::default(), "")
    }
    awake!(world);
    leaving!(world);
}

mod as_in_the_paper {
    fn world() -> super::Local {
        super::in_process(3, &super::paper(), "")
    }
    awake!(world);
    leaving!(world);
}

/// Registrations stay after their use.
mod cached {
    use rcache::{Monitor, Trusting, Watch};
    use std::sync::{Arc, OnceLock};

    fn world() -> super::Local {
        static WATCH: OnceLock<Arc<dyn Watch>> = OnceLock::new();
        let watch = WATCH.get_or_init(|| match Monitor::start() {
            Ok(monitor) => Arc::new(monitor),
            // This NIC reaches memory by its address, so nothing can be stale.
            Err(_) => Arc::new(Trusting),
        });
        let mut world = super::in_process(3, &super::paper(), "");
        for end in &mut world.ends {
            end.cache_registrations(Arc::clone(watch));
        }
        world
    }
    awake!(world);
    leaving!(world);
}

mod scarcity {
    fn world() -> super::Local {
        super::in_process(3, &super::scarce(), "cq_entries=16")
    }
    awake!(world);
}

mod faults {
    fn world() -> super::Local {
        let faults =
            "seed=1,drop=0.05,lost_ack=0.05,reorder=0.2,delay=0.2,early_event=0.1,overrun=0.1,datagram=0.1";
        super::in_process(3, &super::paper(), faults)
    }
    awake!(world);
    leaving!(world);
}

mod eager_get_for_all {
    fn world() -> super::Local {
        let eager = super::UgniParams {
            smsg_limit: 128,
            eager_limit: 64 << 10,
            max_send_size: 64 << 10,
            eager_num: 2,
            ..super::UgniParams::default()
        };
        super::in_process(3, &eager, "seed=5,drop=0.01,lost_ack=0.01,cq_entries=16")
    }
    unlucky!(world);
    leaving!(world);
}

mod put_alone {
    fn world() -> super::Local {
        let put = super::UgniParams { get_limit: 0, ..super::paper() };
        super::in_process(3, &put, "seed=6,drop=0.01,lost_ack=0.01,cq_entries=16")
    }
    unlucky!(world);
    leaving!(world);
}

mod eight_descriptors {
    fn world() -> super::Local {
        let few = super::UgniParams { max_mem_reg: 8, ..super::paper() };
        super::in_process(3, &few, "seed=7,mdds=8,drop=0.01,lost_ack=0.01,cq_entries=16")
    }
    unlucky!(world);
    leaving!(world);
}

mod shared_queue {
    fn world() -> super::Local {
        super::in_process(3, &super::msgq(), "")
    }
    awake!(world);
}

mod mailboxes_by_use {
    fn world() -> super::Local {
        super::in_process(3, &super::by_use(), "")
    }
    awake!(world);
}

mod host_mapped {
    fn world() -> super::Host {
        super::on_host(3, 3, &super::paper(), super::Reach::Auto)
    }
    btl_conformance::suite!(world);
}

mod host_sockets {
    fn world() -> super::Host {
        super::on_host(2, 2, &super::paper(), super::Reach::Tcp)
    }
    by_socket!(world);
    leaving!(world);
}

mod host_mailboxes_by_use {
    fn world() -> super::Host {
        super::on_host(3, 3, &super::by_use(), super::Reach::Auto)
    }
    // Mailboxes are connected by datagrams, at some moment of a test.
    by_socket!(world);
    leaving!(world);
}

mod host_shared_queue {
    fn world() -> super::Host {
        super::on_host(3, 1, &super::msgq(), super::Reach::Auto)
    }
    btl_conformance::suite!(world);
}

/// A process of another job is met: each calls the other by an index of its own, behind those of its job.
#[test]
fn a_peer_of_another_job_is_met() {
    let nics = in_process_nics(3, "");
    let addresses: Vec<PeerAddress> = nics.iter().map(PeerAddress::of).collect();
    let jobs: [(u32, &[usize]); 3] = [(0, &[0, 1]), (1, &[0, 1]), (0, &[2])];
    let make = |(nic, (me, members)): (_, (u32, &[usize]))| {
        let peers: Arc<[PeerAddress]> = members.iter().map(|&member| addresses[member].clone()).collect();
        let job = Job { me: Peer(me), local_ranks: peers.len(), peers };
        Ugni::new(nic, clock as Clock, job, UgniParams::default()).expect("a transport")
    };
    let mut ends: Vec<_> = nics.into_iter().zip(jobs).map(make).collect();
    assert!(!ends[0].reaches(Peer(2)));
    for _ in 0..2 {
        assert_eq!(ends[0].add_peer(addresses[2].clone()), Peer(2));
        assert_eq!(ends[2].add_peer(addresses[0].clone()), Peer(1));
    }
    assert!(ends[0].reaches(Peer(2)) && ends[2].reaches(Peer(1)));
    // From the later one first: its hello claims an index that is another's here. Then the answer, and within the job.
    for (from, to, called, caller) in [(2, 0, 1, 2), (0, 2, 2, 1), (0, 1, 1, 0), (1, 0, 0, 1)] {
        let (mut sent, mut got) = (false, false);
        while !got {
            let mut bytes = btl_conformance::fill(5, 3000);
            // SAFETY: the bytes live until the call is over.
            let mut payload = unsafe { mem::UserMem::of(&mut bytes) };
            sent = sent || ends[from].send(Peer(called), &[7], &mut payload).is_ok();
            for (index, end) in ends.iter_mut().enumerate() {
                assert_eq!(end.next_event(), None);
                if let Some(arrival) = end.next_arrival() {
                    assert_eq!((index, arrival.peer), (to, Peer(caller)));
                    btl_conformance::verify(5, 0, &arrival.payload.to_vec());
                    end.release(arrival);
                    got = true;
                }
            }
        }
    }
}

/// A process that has given all the mailboxes that its registrations allow reports the next peer as lost at once.
#[test]
fn a_peer_without_a_mailbox_is_lost_with_the_reason() {
    let nics = in_process_nics(4, "");
    let addresses: Vec<PeerAddress> = nics.iter().map(PeerAddress::of).collect();
    let few = UgniParams { max_mem_reg: 6, mbox_increment: 1, ..UgniParams::default() };
    let make = |(me, nic): (usize, _)| {
        let peers: Arc<[PeerAddress]> = [addresses[me].clone()].into();
        Ugni::new(nic, clock as Clock, Job { me: Peer(0), local_ranks: 1, peers }, few.clone())
            .expect("a transport")
    };
    let mut ends: Vec<_> = nics.into_iter().enumerate().map(make).collect();
    assert_eq!(ends[0].add_peer(addresses[1].clone()), Peer(1));
    assert_eq!(ends[1].add_peer(addresses[0].clone()), Peer(1));
    let send = |ends: &mut [Ugni<_, Clock>], to: u32| {
        let mut payload = mem::UserMem::EMPTY;
        ends[0].send(Peer(to), &[7], &mut payload).is_ok()
    };
    while !send(&mut ends, 1) {
        assert!(ends.iter_mut().all(|end| end.next_event().is_none() && end.next_arrival().is_none()));
    }
    let arrival = (0..100_000).find_map(|_| ends[1].next_arrival()).expect("the message");
    ends[1].release(arrival);
    // The mailbox that there would be for the process itself.
    assert_eq!(ends[0].add_peer(addresses[2].clone()), Peer(2));
    assert!(!send(&mut ends, 2));
    assert_eq!(ends[0].add_peer(addresses[3].clone()), Peer(3));
    assert!(!send(&mut ends, 3));
    let lost = (0..100_000).find_map(|_| ends[0].next_event());
    assert_eq!(lost, Some(btl::Event::PeerLost(Peer(3))));
    let btl::Loss { seen, advice } = ends[0].loss(Peer(3));
    assert!(seen.contains("mailbox") && advice.contains("btl_ugni_max_mem_reg"), "{seen}; {advice}");
    assert!(!ends[0].loss(Peer(1)).seen.contains("mailbox"));
    assert!((0..100).any(|_| send(&mut ends, 1) || ends[1].next_arrival().is_some()), "the others go on");
}
