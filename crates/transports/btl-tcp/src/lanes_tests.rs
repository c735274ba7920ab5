//! Parts and weights; and large gets and puts between two ends of this host, whose lanes end meanwhile.

use super::*;
use crate::{JobProof, Listening, TcpParams};
use btl::{Access, Btl, Event};
use proptest::prelude::*;

/// Two ends with `links` connections between them for what is at least 64 KiB long.
fn ends(links: i64) -> [Tcp; 2] {
    let params = TcpParams { if_include: "lo".into(), links, striping: 64 << 10, ..TcpParams::default() };
    let listening = [0, 1].map(|_| Listening::new(&params).expect("listening"));
    let cards: Box<[_]> = listening.iter().map(Listening::card).collect();
    let mut me = 0..;
    let job = JobProof { id: 1, key: 2 };
    listening.map(|one| one.open(Peer(me.next().expect("a number")), job, cards.clone(), &params, None))
}

#[allow(unsafe_code, reason = "a view of a test's bytes")]
fn view(bytes: &mut [u8]) -> UserMem {
    // SAFETY: the bytes outlive the transfers that use them.
    unsafe { UserMem::of(bytes) }
}

/// Moves `len` bytes by a get or put of end `user`, with a lane's end at `cut`: after so many turns, at this end.
fn moved(ends: &mut [Tcp; 2], user: usize, stores: bool, len: usize, cut: Option<(u32, usize)>) {
    let mut source: Vec<u8> = (0..len).map(|at| (at * 7 + at / 1000 + len) as u8).collect();
    let mut target = vec![0; len];
    let (from, to) = (view(&mut source), view(&mut target));
    let (exposed, local) = if stores { (to, from) } else { (from, to) };
    let access = if stores { Access::Write } else { Access::Read };
    let (owner, them) = (1 - user, Peer(1 - user as u32));
    let key = ends[owner].expose(Peer(user as u32), exposed, access).expect("a name");
    match stores {
        true => ends[user].put(them, local, &key, 0, 77),
        false => ends[user].get(them, local, &key, 0, 77),
    }
    .expect("begun");
    let deadline = Instant::now() + std::time::Duration::from_secs(60);
    let mut turns = 0;
    loop {
        if let Some((after, end)) = cut
            && turns == after
        {
            // Lane 1 of this pair of two.
            let lane = 2 + (1 - end as u32);
            ends[end].end(lane, "it was cut");
        }
        turns += 1;
        assert!(ends.iter_mut().all(|end| end.next_arrival().is_none()));
        assert_eq!(ends[owner].next_event(), None);
        match ends[user].next_event() {
            Some(event) => break assert_eq!(event, Event::Done(77)),
            None => assert!(Instant::now() < deadline, "no end after {turns} turns"),
        }
    }
    ends[owner].conceal(Peer(user as u32), key);
    assert!(source == target, "other bytes arrived");
    assert_eq!(ends[user].next_event(), None);
}

/// Connections of an end with the other that are open.
fn open(end: &Tcp) -> usize {
    end.peers.iter().filter(|one| matches!(one.pair.state(), State::Open(_))).count()
}

/// Large transfers by end `user` until there are so many connections.
fn join(ends: &mut [Tcp; 2], user: usize, connections: usize) {
    let deadline = Instant::now() + std::time::Duration::from_secs(60);
    while ends.iter().any(|end| open(end) < connections) {
        assert!(Instant::now() < deadline, "{} connections", open(&ends[0]));
        moved(ends, user, true, 128 << 10, None);
    }
    assert_eq!((open(&ends[0]), open(&ends[1])), (connections, connections));
}

#[test]
fn lanes_are_made_by_the_first_large_transfer_and_used_by_all_others() {
    for user in [0, 1] {
        let mut ends = ends(3);
        moved(&mut ends, user, false, 60 << 10, None);
        assert_eq!((open(&ends[0]), open(&ends[1])), (1, 1));
        join(&mut ends, user, 3);
        for end in [0, 1] {
            let before = ends[end].bytes_moved()[0];
            moved(&mut ends, end, false, (4 << 20) - 5, None);
            assert_eq!(ends[end].bytes_moved()[0] - before, (4 << 20) - 5);
            let weight = |at: u32| ends[end].peers[at].as_ref().and_then(|lane| lane.weight);
            let other = 1 - end as u32;
            assert!((1..3).all(|lane| weight(lane_to(other, lane)).is_some()), "each carries some");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whichever end notices the end of a lane first, and whenever: all bytes come, and the peer stays.
    #[test]
    fn what_was_under_way_on_a_lane_that_ends_comes_over_the_first(
        user in 0usize..2, stores in any::<bool>(), after in 0u32..60, end in 0usize..2,
    ) {
        let mut ends = ends(2);
        join(&mut ends, user, 2);
        moved(&mut ends, user, stores, 3 << 20, Some((after, end)));
        moved(&mut ends, user, stores, 1 << 20, None);
        moved(&mut ends, 1 - user, !stores, 1 << 20, None);
    }
}

#[test]
fn a_lost_peer_ends_what_goes_over_its_lanes_once() {
    let mut ends = ends(2);
    join(&mut ends, 0, 2);
    let (mut ours, mut theirs) = (vec![0; 4 << 20], vec![0; 4 << 20]);
    let key = ends[1].expose(Peer(0), view(&mut theirs), Access::Read).expect("a name");
    let [mut left, right] = ends;
    left.get(Peer(1), view(&mut ours), &key, 0, 5).expect("begun");
    drop(right);
    let mut events = Vec::new();
    let deadline = Instant::now() + std::time::Duration::from_secs(60);
    while events.len() < 2 {
        assert!(Instant::now() < deadline, "{events:?}");
        assert!(left.next_arrival().is_none());
        events.extend(left.next_event());
    }
    assert_eq!(events, [Event::Failed(5), Event::PeerLost(Peer(1))]);
    assert_eq!(left.next_event(), None);
}

proptest! {
    /// Nothing is lost, no part is too small, and faster lanes carry more.
    #[test]
    fn parts_are_the_whole(
        len in 64usize << 10..64 << 20, weights in proptest::collection::vec(0.001f64..1e6, 1..9), all in any::<bool>(),
    ) {
        let shares = divide(len, &weights, all);
        prop_assert_eq!(shares.iter().sum::<usize>(), len);
        prop_assert!(shares.iter().all(|&share| share == 0 || share >= LEAST));
        for (a, b) in (0..shares.len()).flat_map(|a| (0..shares.len()).map(move |b| (a, b))) {
            prop_assert!(all || weights[a] < weights[b] || shares[a] + len % PAGE + PAGE * shares.len() >= shares[b]);
        }
    }
}

#[test]
fn equal_lanes_carry_equal_parts_and_slow_ones_nothing() {
    assert_eq!(divide(1 << 20, &[1.0, 1.0], false), [1 << 19, 1 << 19]);
    assert_eq!(divide(1 << 20, &[1.0, 3.0], true), [1 << 18, 3 << 18]);
    assert_eq!(divide(1 << 20, &[100.0, 1.0, 100.0], false), [1 << 19, 0, 1 << 19]);
    assert_eq!(
        divide(1 << 20, &[1.0, 100.0], true),
        [32 << 10, (1 << 20) - (32 << 10)],
        "now and then a little"
    );
    assert_eq!(divide(1000, &[1.0, 1.0], true).iter().max(), Some(&1000));
}

#[test]
fn weights_come_to_what_the_lanes_can() {
    let mut weights = vec![10000.0, 10000.0];
    for _ in 0..12 {
        let parts = divide(4 << 20, &weights, false);
        // The second is five times as fast.
        let rates = [(0, if parts[0] > 0 { 100.0 } else { 0.0 }), (1, 500.0)];
        weights = weighed(&weights, &rates);
    }
    assert!((weights[1] / weights[0] - 5.0).abs() < 0.1, "{weights:?}");
    assert!((weights[0] + weights[1] - 20000.0).abs() < 1.0);
}

/// A peer that asks without end and takes no answers is ended: what it can make this process keep is bounded.
#[test]
fn a_peer_that_asks_for_more_than_it_may_is_lost() {
    let [mut owner, mut hostile] = ends(1);
    let (mut exposed, mut local) = (vec![1; 4096], vec![0; 4096]);
    let key = owner.expose(Peer(1), view(&mut exposed), Access::Read).expect("memory can be exposed");
    let memory = view(&mut local);
    // The connection.
    hostile.get(Peer(0), memory, &key, 0, 0).expect("a first get");
    while hostile.next_event().is_none() {
        owner.next_event();
    }
    let pending = hostile.direct.begin(1, usize::MAX).expect("a name");
    let lost = loop {
        for _ in 0..64 {
            // As `begin_move`, which would refuse it.
            let place = (u32::try_from(key.0[0]).expect("a name"), 0);
            hostile.begin_part(Part { at: 0, pending, place, memory, stores: false });
        }
        hostile.flush(0);
        if let Some(event) = owner.next_event() {
            break event;
        }
        let waiting = owner.conversation(1).output.answers();
        assert!(waiting <= MOST_ASKED, "{waiting} answers wait");
    };
    assert_eq!(lost, Event::PeerLost(Peer(1)));
    assert!(owner.loss(Peer(1)).seen.contains("did not ask for"), "{:?}", owner.loss(Peer(1)));
}
