//! The suite on the route table: one transport, the other, both.

mod common;

use bml::{Bml, Gemini, Transports};
use btl::{Btl, Peer};
use btl_conformance::Endpoints;
use btl_portals::{BtlPortalsParams, Portals};
use btl_ugni::{Job, PeerAddress, Ugni, UgniParams};
use btl_vader::{Vader, VaderParams, segment_bytes};
use gni::{InstId, JobKey, Modes, PeAddr, Time};
use gni_soft::NicConfig;
use gni_soft::host::{self, HostConfig, SharedDoorbell};
use mem::UserMem;
use node::Node;
use portals::{Jid, Nid, Pid, ProcessId, Shared, Uid};
use portals_soft::Identity;
use portals_wire::Wire;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

mod a_node {
    use super::*;
    fn world() -> Endpoints<Bml> {
        let vaders = common::attach_all(3, &VaderParams::default()).into_iter().enumerate();
        let table = |(index, vader)| {
            Bml::new(Peer(index as u32), 3, None, Transports { vader: Some(vader), ..Transports::default() })
                .unwrap()
        };
        Endpoints { ends: vaders.map(table).collect() }
    }
    btl_conformance::suite!(world);
}

mod by_gemini {
    use super::*;
    fn world() -> Endpoints<Bml> {
        let table = |(index, gemini)| {
            Bml::new(Peer(index), 3, None, Transports { gemini: Some(gemini), ..Transports::default() })
                .unwrap()
        };
        met(Endpoints { ends: (0..).zip(geminis(vec![None, None, None])).map(table).collect() })
    }
    btl_conformance::suite!(world);
}

mod mixed {
    use super::*;
    /// Two ranks of one node, which share memory and sleep on doorbells there, and one of another node of this host.
    fn world() -> Endpoints<Bml> {
        let params = VaderParams::default();
        let file = Arc::new(common::memory_file(segment_bytes(2)));
        let nodes: Vec<_> = (0..2).map(|index| common::node(&file, &params, index, 2)).collect();
        let shared = |node: &Arc<Node>| node.shared_doorbell().expect("a descriptor");
        let geminis = geminis(nodes.iter().map(shared).chain([None]).collect());
        let vaders = nodes.into_iter().map(|node| Some(Vader::new(node, &params))).chain([None]);
        let table = |((index, gemini), vader)| {
            Bml::new(
                Peer(index),
                3,
                None,
                Transports { vader, gemini: Some(gemini), ..Transports::default() },
            )
            .unwrap()
        };
        met(Endpoints { ends: (0..).zip(geminis).zip(vaders).map(table).collect() })
    }
    btl_conformance::suite!(world);
}

mod by_tcp_and_vader {
    use super::*;
    use btl_tcp::{JobProof, Listening, TcpParams};
    /// Two ranks of one node, which share memory, and one that both reach by TCP.
    fn world() -> Endpoints<Bml> {
        let params = TcpParams { if_include: "lo".into(), connect_rounds: 3, ..TcpParams::default() };
        let ports: Vec<_> = (0..3).map(|_| Listening::new(&params).unwrap()).collect();
        let cards: Box<[_]> = ports.iter().map(Listening::card).collect();
        let vaders = common::attach_all(2, &VaderParams::default()).into_iter().map(Some).chain([None]);
        let table = |((index, port), vader): ((u32, Listening), _)| {
            let tcp = port.open(Peer(index), JobProof { id: 1, key: 2 }, cards.clone(), &params, None);
            Bml::new(Peer(index), 3, None, Transports { vader, tcp: Some(tcp), ..Transports::default() })
                .unwrap()
        };
        Endpoints { ends: (0..).zip(ports).zip(vaders).map(table).collect() }
    }
    btl_conformance::suite!(world);
}

/// Of two transports that reach a peer, the one that declares less time is its route.
#[test]
fn the_fastest_way_is_the_route() {
    use btl_tcp::{JobProof, Listening, TcpParams};
    let routes = |latency| {
        let params =
            TcpParams { if_include: "lo".into(), latency, bandwidth: 100_000, ..TcpParams::default() };
        let port = Listening::new(&params).unwrap();
        let cards: Box<[_]> = vec![port.card(); 3].into();
        let tcp = port.open(Peer(0), JobProof { id: 1, key: 2 }, cards, &params, None);
        let vader = common::attach_all(2, &VaderParams::default()).into_iter().next();
        let bml = Bml::new(Peer(0), 3, None, Transports { vader, tcp: Some(tcp), ..Transports::default() });
        let bml = bml.unwrap();
        (bml.table(), bml.slower_ways(Peer(1)))
    };
    let (near, far) = (vec![Peer(0)], vec![Peer(2)]);
    let by_default = vec![("self", near.clone()), ("vader", vec![Peer(1)]), ("tcp", far)];
    assert_eq!(routes(15_000), (by_default, vec!["tcp"]));
    assert_eq!(routes(1), (vec![("self", near), ("tcp", vec![Peer(1), Peer(2)])], vec!["vader"]));
}

/// The wire of a NIC in a process.
fn over_portals(rank: u32, carrier: Bml) -> Bml {
    let ids: Vec<_> = (0..3).map(|rank| ProcessId { nid: Nid(rank), pid: Pid(0) }).collect();
    let who = Identity { id: ids[rank as usize], uid: Uid(0), jid: Jid(0) };
    let nic =
        portals_soft::SoftNic::new(Wire::new(carrier, who, ids.clone()), portals_soft::NicConfig::default());
    let portals = Portals::new(Shared::new(nic), ids, &BtlPortalsParams::default()).expect("a transport");
    Bml::new(Peer(rank), 3, None, Transports { portals: Some(portals), ..Transports::default() }).unwrap()
}

mod by_portals_over_vader {
    use super::*;
    fn world() -> Endpoints<Bml> {
        let vaders = (0..).zip(common::attach_all(3, &VaderParams::default()));
        let table = |(rank, vader)| {
            let transports = Transports { vader: Some(vader), ..Transports::default() };
            over_portals(rank, Bml::new(Peer(rank), 3, None, transports).unwrap())
        };
        Endpoints { ends: vaders.map(table).collect() }
    }
    btl_conformance::suite!(world);
}

mod by_portals_over_tcp {
    use super::*;
    use btl_tcp::{JobProof, Listening, TcpParams};
    fn world() -> Endpoints<Bml> {
        let params = TcpParams { if_include: "lo".into(), connect_rounds: 3, ..TcpParams::default() };
        let ports: Vec<_> = (0..3).map(|_| Listening::new(&params).unwrap()).collect();
        let cards: Box<[_]> = ports.iter().map(Listening::card).collect();
        let table = |(rank, port): (u32, Listening)| {
            let tcp = port.open(Peer(rank), JobProof { id: 1, key: 2 }, cards.clone(), &params, None);
            let transports = Transports { tcp: Some(tcp), ..Transports::default() };
            over_portals(rank, Bml::new(Peer(rank), 3, None, transports).unwrap())
        };
        Endpoints { ends: (0..).zip(ports).map(table).collect() }
    }
    btl_conformance::suite!(world);
}

/// Data reliability over the table of a process.
fn reliable(rank: u32, below: Bml, faults: &str) -> Bml {
    reliable_with(rank, below, faults, btl_dr::Rdma::Never)
}

fn reliable_with(rank: u32, below: Bml, faults: &str, rdma: btl_dr::Rdma) -> Bml {
    use btl_dr::{Checksum, Dr, DrParams, FaultPlan};
    let params = DrParams { checksum: Checksum::Always, rdma, ..DrParams::default() };
    let faults = FaultPlan::parse(faults).unwrap();
    let faults = FaultPlan { seed: faults.seed + u64::from(rank), ..faults };
    let dr = Dr::new(below, (Peer(rank), 5), 3, &params, &faults).unwrap();
    Bml::new(Peer(rank), 3, None, Transports { dr: Some(dr), ..Transports::default() }).unwrap()
}

mod reliable_over_vader {
    use super::*;
    fn world() -> Endpoints<Bml> {
        let vaders = (0..).zip(common::attach_all(3, &VaderParams::default()));
        let table = |(rank, vader)| {
            let transports = Transports { vader: Some(vader), ..Transports::default() };
            reliable(rank, Bml::new(Peer(rank), 3, None, transports).unwrap(), "")
        };
        Endpoints { ends: vaders.map(table).collect() }
    }
    btl_conformance::suite!(world);
}

/// A process that comes late to MPI finds acknowledgements that came in time: nothing is lost, and nothing leaves again.
#[test]
fn what_has_arrived_is_no_loss() {
    use btl_dr::{Dr, DrParams, FaultPlan};
    let vaders = (0..).zip(common::attach_all(2, &VaderParams::default()));
    let mut ends: Vec<Dr<Bml>> = vaders
        .map(|(rank, vader)| {
            let transports = Transports { vader: Some(vader), ..Transports::default() };
            let table = Bml::new(Peer(rank), 2, None, transports).unwrap();
            Dr::new(table, (Peer(rank), 5), 2, &DrParams::default(), &FaultPlan::default()).unwrap()
        })
        .collect();
    let word = [u64::from(btl::Class::Test.byte(0))];
    for _ in 0..10 {
        let mut nothing = UserMem::EMPTY;
        ends[0].send(Peer(1), &word, &mut nothing).unwrap();
        let arrival = (0..1_000_000).find_map(|_| ends[1].next_arrival()).expect("a frame");
        ends[1].release(arrival);
        ends[1].arm();
        ends[1].disarm();
        // Longer than an acknowledgement takes within a host.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(ends[0].next_arrival().is_none());
    let counts = ends[0].counts();
    assert_eq!((counts.sent, counts.resent, counts.timeouts), (10, 0, 0));
}

mod reliable_over_tcp {
    use super::*;
    fn world() -> Endpoints<Bml> {
        over_tcp("")
    }
    btl_conformance::suite!(world);

    /// Data reliability over connections of this host.
    pub fn over_tcp(faults: &str) -> Endpoints<Bml> {
        Endpoints { ends: tcps().map(|(rank, below)| reliable(rank, below, faults)).collect() }
    }
}

/// Tables with connections of this host alone.
fn tcps() -> impl Iterator<Item = (u32, Bml)> {
    use btl_tcp::{JobProof, Listening, TcpParams};
    let params = TcpParams { if_include: "lo".into(), connect_rounds: 3, ..TcpParams::default() };
    let ports: Vec<_> = (0..3).map(|_| Listening::new(&params).unwrap()).collect();
    let cards: Box<[_]> = ports.iter().map(Listening::card).collect();
    (0..).zip(ports).map(move |(rank, port)| {
        let tcp = port.open(Peer(rank), JobProof { id: 1, key: 2 }, cards.clone(), &params, None);
        let transports = Transports { tcp: Some(tcp), ..Transports::default() };
        (rank, Bml::new(Peer(rank), 3, None, transports).unwrap())
    })
}

/// Verification over the table of a process; damage panics, since a test has no job to end.
fn verified(rank: u32, below: Bml, faults: &str) -> Bml {
    use btl_verify::{Settings, Verify};
    let faults = sums::Faults::of(faults, rank).unwrap();
    let settings = Settings { hosts: Default::default(), faults, end: |text| panic!("{text}") };
    let verify = Verify::new(below, (Peer(rank), 5), 3, settings);
    Bml::new(Peer(rank), 3, None, Transports { verify: Some(verify), ..Transports::default() }).unwrap()
}

/// Gets and puts under data reliability, as the transports do them, or compared with their owner's memory and repeated.
mod reliable_gets {
    use super::*;
    use btl_dr::Rdma;

    const BAD: &str = "seed=5,drop=0.01,twice=0.01,damage=0.01,late=0.02,copy=0.2";

    fn over_vader(faults: &str, rdma: Rdma) -> Endpoints<Bml> {
        let vaders = (0..).zip(common::attach_all(3, &VaderParams::default()));
        let table = |(rank, vader)| {
            let transports = Transports { vader: Some(vader), ..Transports::default() };
            reliable_with(rank, Bml::new(Peer(rank), 3, None, transports).unwrap(), faults, rdma)
        };
        Endpoints { ends: vaders.map(table).collect() }
    }

    fn over_tcp(faults: &str, rdma: Rdma) -> Endpoints<Bml> {
        Endpoints { ends: tcps().map(|(rank, below)| reliable_with(rank, below, faults, rdma)).collect() }
    }

    mod verified {
        use super::*;
        fn world() -> Endpoints<Bml> {
            over_vader("", Rdma::Verified)
        }
        btl_conformance::suite!(world);
    }

    mod verified_over_tcp {
        use super::*;
        fn world() -> Endpoints<Bml> {
            over_tcp("", Rdma::Verified)
        }
        btl_conformance::suite!(world);
    }

    mod trusted {
        use super::*;
        fn world() -> Endpoints<Bml> {
            over_vader("", Rdma::Trusted)
        }
        btl_conformance::suite!(world);
    }

    /// Each get has brought what its owner has, or has failed; so many of ten have not.
    fn damage_is_repaired(mut world: Endpoints<Bml>, least: u64) {
        use btl::{Access, Event};
        const GETS: u64 = 200;
        let (owner, user) = (Peer(0), Peer(2));
        let (mut done, mut failed) = (0, 0);
        for seed in 0..GETS {
            let len = 1 + (seed as usize * 7919) % 300_000;
            let (mut exposed, mut local) = (btl_conformance::fill(seed, len), vec![0; len]);
            let key =
                world.ends[0].expose(user, view(&mut exposed), Access::Read).expect("memory can be exposed");
            world.ends[2].get(owner, view(&mut local), &key, 0, seed).expect("a get begins");
            let event = loop {
                let news = world.ends[2].next_event();
                let others = world.ends[..2].iter_mut().map(btl::Btl::next_event);
                others.for_each(|event| assert_eq!(event, None));
                if let Some(event) = news {
                    break event;
                }
            };
            if event == Event::Done(seed) {
                assert!(local == exposed, "a get of {len} bytes");
                done += 1;
            } else {
                assert_eq!(event, Event::Failed(seed));
                failed += 1;
            }
            world.ends[0].conceal(user, key);
        }
        assert!(done > GETS * least / 10, "{done} of {GETS}, {failed} failed");
    }

    /// Memory that two processes copy together is named for one get: that fails where it differs.
    #[test]
    fn damage_is_repaired_over_vader() {
        damage_is_repaired(over_vader(BAD, Rdma::Verified), 6);
    }

    /// Of three tries at 0.2 each, one in 125 fails.
    #[test]
    fn damage_is_repaired_over_tcp() {
        damage_is_repaired(over_tcp(BAD, Rdma::Verified), 9);
    }

    /// Each put that is reported as done has stored what its user has; so many of ten are.
    fn puts_are_whole_or_fail(mut world: Endpoints<Bml>, least: u64) {
        use btl::{Access, Event};
        const PUTS: u64 = 200;
        let (owner, user) = (Peer(0), Peer(2));
        let mut done = 0;
        for seed in 0..PUTS {
            let len = 1 + (seed as usize * 7919) % 300_000;
            let (mut exposed, mut local) = (vec![0; len], btl_conformance::fill(seed, len));
            let key =
                world.ends[0].expose(user, view(&mut exposed), Access::Write).expect("memory can be exposed");
            world.ends[2].put(owner, view(&mut local), &key, 0, seed).expect("a put begins");
            let event = loop {
                let news = world.ends[2].next_event();
                let others = world.ends[..2].iter_mut().map(btl::Btl::next_event);
                others.for_each(|event| assert_eq!(event, None));
                if let Some(event) = news {
                    break event;
                }
            };
            if event == Event::Done(seed) {
                assert!(local == exposed, "a put of {len} bytes");
                done += 1;
            } else {
                assert_eq!(event, Event::Failed(seed));
            }
            world.ends[0].conceal(user, key);
        }
        assert!(done > PUTS * least / 10 && done < PUTS, "{done} of {PUTS}");
    }

    /// A put is made once.
    #[test]
    fn damaged_puts_fail() {
        puts_are_whole_or_fail(over_tcp(BAD, Rdma::Verified), 6);
    }

    /// A network changes words by itself, and twice where it repeats what it was told: there is nothing of that.
    #[test]
    fn network_atomics_are_off() {
        use btl::{Atomics, RemoteMemory};
        let below = |(index, gemini)| {
            let transports = Transports { gemini: Some(gemini), ..Transports::default() };
            (index, Bml::new(Peer(index), 3, None, transports).unwrap())
        };
        let mut word = [0; 8];
        for (rank, below) in (0..).zip(geminis(vec![None, None, None])).map(below) {
            let peer = Peer((rank + 1) % 3);
            assert!(below.remote(peer).is_some_and(|remote| remote.atomics != Atomics::None));
            let mut above = reliable_with(rank, below, "", Rdma::Trusted);
            assert_eq!(above.remote(peer), None);
            assert_eq!(above.register(peer, view(&mut word)), Err(btl::Refusal::Unfit));
        }
    }

    /// A view of bytes that outlive it.
    #[allow(unsafe_code)]
    fn view(bytes: &mut [u8]) -> UserMem {
        // SAFETY: what is done with it is over before they go.
        unsafe { UserMem::of(bytes) }
    }
}

mod verified_over_vader {
    use super::*;
    fn world() -> Endpoints<Bml> {
        over_vader("")
    }
    btl_conformance::suite!(world);

    pub fn over_vader(faults: &str) -> Endpoints<Bml> {
        let vaders = (0..).zip(common::attach_all(3, &VaderParams::default()));
        let table = |(rank, vader)| {
            let transports = Transports { vader: Some(vader), ..Transports::default() };
            verified(rank, Bml::new(Peer(rank), 3, None, transports).unwrap(), faults)
        };
        Endpoints { ends: vaders.map(table).collect() }
    }
}

mod verified_over_tcp {
    use super::*;
    fn world() -> Endpoints<Bml> {
        over_tcp("")
    }
    btl_conformance::suite!(world);

    pub fn over_tcp(faults: &str) -> Endpoints<Bml> {
        Endpoints { ends: tcps().map(|(rank, below)| verified(rank, below, faults)).collect() }
    }
}

/// Verification finds each damaged frame and copy, and its report has three lines.
mod damaged {
    use super::*;
    use btl_conformance::{
        every_size_and_offset_is_fetched, every_size_and_offset_is_stored, every_size_arrives,
        runs_of_every_size_are_fetched,
    };

    /// What `check` panics with over such a world.
    fn report(world: impl FnOnce() -> Endpoints<Bml>, check: fn(Endpoints<Bml>)) -> String {
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(world())));
        let text = ended.expect_err("damage is found");
        *text.downcast::<String>().expect("a report")
    }

    fn is_three_lines(text: &str, path: &str, of: &str) {
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains(&format!("over {path}")) && text.contains(of), "{text}");
    }

    #[test]
    fn frames() {
        for seed in 1..=20 {
            let faults = format!("seed={seed},damage=0.1");
            let of = "the CRC-32C of ";
            is_three_lines(
                &report(|| verified_over_vader::over_vader(&faults), every_size_arrives),
                "vader",
                of,
            );
            is_three_lines(
                &report(|| verified_over_tcp::over_tcp(&faults), every_size_arrives),
                "tcp by lo",
                of,
            );
        }
    }

    #[test]
    fn copies() {
        for seed in 1..=20 {
            let faults = format!("seed={seed},copy=0.5");
            let get = report(|| verified_over_vader::over_vader(&faults), every_size_and_offset_is_fetched);
            is_three_lines(&get, "vader", "a directly copied message of rank 0");
            let runs = report(|| verified_over_vader::over_vader(&faults), runs_of_every_size_are_fetched);
            is_three_lines(&runs, "vader", "bytes from byte ");
            let put = report(|| verified_over_tcp::over_tcp(&faults), every_size_and_offset_is_stored);
            is_three_lines(&put, "tcp by lo", "rank 0 has received a directly copied message of rank 2");
        }
    }
}

/// The suite but for the case whose one thread sleeps while the sender has to send again, and the one that awaits the end of a
/// process, which no datagram tells.
macro_rules! suite_with_faults {
    ($make:path $(, $more:ident)*) => {
        btl_conformance::suite!(@ $make:
            $($more)*
            a_blocked_sender_sleeps
            a_full_peer_stops_no_other
            a_get_in_the_last_poll_is_answered
            a_sleeping_pair_talks
            sleeping_ranks_talk_to_all
            a_stream_of_mixed_sizes_arrives_once
            active_messages_are_bounded
            active_messages_are_ordered_and_answered
            active_messages_end_a_sleep
            an_awaited_end_is_noticed
            answers_wait_for_their_own_peer
            any_number_of_gets_may_be_asked_for
            arm_notices_what_is_there
            arrivals_of_one_peer_are_its_own
            atomics_change_words
            atomics_of_all_add_up
            atomics_on_a_word_keep_their_order
            back_pressure_is_temporary
            congestion_is_seen_by_peers
            cookies_and_events_match
            every_size_and_offset_is_fetched
            every_size_and_offset_is_stored
            every_size_arrives
            headers_of_every_length_arrive
            limits_are_consistent
            registered_memory_is_read_and_written_anywhere
            registered_memory_serves_all_peers
            room_before_a_sleep_is_not_missed
            room_ends_a_sleep
            runs_of_every_size_are_fetched
            what_was_not_exposed_is_refused
            what_was_not_registered_is_refused
            who_comes_back_has_not_left
            who_comes_back_learns_who_is_back
            who_says_goodbye_has_sent_all
        );
    };
}

/// Frames are lost, repeated, damaged and late below.
mod reliable_over_bad_memory {
    use super::*;
    fn world() -> Endpoints<Bml> {
        let vaders = (0..).zip(common::attach_all(3, &VaderParams::default()));
        let table = |(rank, vader)| {
            let transports = Transports { vader: Some(vader), ..Transports::default() };
            let below = Bml::new(Peer(rank), 3, None, transports).unwrap();
            reliable(rank, below, "seed=1,drop=0.01,twice=0.01,damage=0.01,late=0.02")
        };
        Endpoints { ends: vaders.map(table).collect() }
    }
    suite_with_faults!(world, many_senders_are_served_fairly, an_end_without_a_word_is_noticed);
}

mod reliable_over_a_bad_network {
    use super::*;
    fn world() -> Endpoints<Bml> {
        reliable_over_tcp::over_tcp("seed=7,drop=0.01,twice=0.01,damage=0.01,late=0.02")
    }
    suite_with_faults!(world, many_senders_are_served_fairly, an_end_without_a_word_is_noticed);
}

/// Data reliability over datagrams of this host.
fn over_udp(faults: &str, security: btl_udp::Security) -> Endpoints<Bml> {
    use btl_udp::{Listening, UdpParams};
    // As over Ethernet; the loopback takes more.
    let params = UdpParams { if_include: "127.0.0.1".into(), mtu: 1500, security, ..UdpParams::default() };
    let ports: Vec<_> = (0..3).map(|_| Listening::new(&params).unwrap()).collect();
    let cards: Vec<_> = ports.iter().map(Listening::card).collect();
    let table = |(rank, port): (u32, Listening)| {
        let udp = port.open(Peer(rank), (1, connect::Secret::new(2)), &cards, &params, None);
        let transports = Transports { udp: Some(udp), ..Transports::default() };
        reliable(rank, Bml::new(Peer(rank), 3, None, transports).unwrap(), faults)
    };
    Endpoints { ends: (0..).zip(ports).map(table).collect() }
}

mod reliable_over_udp {
    use super::*;
    fn world() -> Endpoints<Bml> {
        over_udp("", btl_udp::Security::Encrypt)
    }
    suite_with_faults!(world, many_senders_are_served_fairly);
}

mod reliable_over_bad_datagrams {
    use super::*;
    fn world() -> Endpoints<Bml> {
        over_udp("seed=3,drop=0.01,twice=0.01,damage=0.01,late=0.02", btl_udp::Security::Integrity)
    }
    // A window of datagrams halves with each loss, so that shares follow the losses.
    suite_with_faults!(world, many_senders_are_all_served);
}

mod alone {
    use super::*;
    fn world() -> Endpoints<Bml> {
        Endpoints { ends: vec![Bml::solo()] }
    }
    btl_conformance::suite!(world);
}

#[test]
fn a_peer_elsewhere_is_named() {
    let vader = common::attach_all(2, &VaderParams::default()).remove(0);
    let error =
        Bml::new(Peer(0), 3, None, Transports { vader: Some(vader), ..Transports::default() }).unwrap_err();
    assert!(matches!(error, bml::SetupError::Unreachable(bml::Unreachable(Peer(2)))));
    assert_eq!(error.to_string().lines().count(), 3);
}

/// Transports over NICs of this host, with what their owners sleep on; the last rank is on a node of its own.
fn geminis(doorbells: Vec<Option<SharedDoorbell>>) -> Vec<Gemini> {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let job = std::process::id() * 1000 + JOBS.fetch_add(1, Ordering::Relaxed);
    let key = JobKey::for_job(job);
    let ranks = doorbells.len() as u32;
    let nic = |(rank, doorbell)| {
        let pe = PeAddr(u32::from(rank + 1 == ranks));
        let config = HostConfig { job, doorbell, ..HostConfig::default() };
        host::attach(pe, InstId(rank), key, Modes::default(), NicConfig::default(), config)
            .expect("attaching")
    };
    let nics: Vec<_> = (0..).zip(doorbells).map(nic).collect();
    let peers: Arc<[PeerAddress]> = nics.iter().map(PeerAddress::of).collect();
    let clock: fn() -> Time = || Time(platform::clock::nanoseconds());
    let open = |(rank, nic)| {
        let job = Job { me: Peer(rank), peers: Arc::clone(&peers), local_ranks: ranks as usize };
        Ugni::new(nic, clock, job, UgniParams::default()).expect("a transport")
    };
    (0..).zip(nics).map(open).collect()
}

/// Sends a message each way between all pairs, so that no case sees a connection being made.
fn met(mut world: Endpoints<Bml>) -> Endpoints<Bml> {
    let count = world.ends.len();
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    for (from, to) in pairs.filter(|(from, to)| from != to) {
        let mut sent = false;
        loop {
            let mut nothing = UserMem::EMPTY;
            sent = sent || world.ends[from].send(Peer(to as u32), &[], &mut nothing).is_ok();
            if take_one(&mut world.ends) {
                break;
            }
        }
    }
    world
}

/// Gives every end a turn; whether a message arrived.
fn take_one(ends: &mut [Bml]) -> bool {
    let mut arrived = false;
    for end in ends {
        assert_eq!(end.next_event(), None);
        if let Some(arrival) = end.next_arrival() {
            end.release(arrival);
            arrived = true;
        }
    }
    arrived
}
