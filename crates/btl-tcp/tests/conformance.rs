//! The suite between endpoints of this host, and what happens when one of them goes.

use btl::{Btl, Class, Event, Farewells, Peer};
use btl_conformance::World;
use btl_tcp::{JobProof, Listening, Tcp, TcpParams};

fn ends(ranks: u32, params: &TcpParams) -> Vec<Tcp> {
    let listening: Vec<Listening> = (0..ranks).map(|_| Listening::new(params).expect("listening")).collect();
    let cards: Box<[_]> = listening.iter().map(Listening::card).collect();
    let job = JobProof { id: 1, key: 2 };
    let open = |(me, one): (u32, Listening)| one.open(Peer(me), job, cards.clone(), params, None);
    (0..).zip(listening).map(open).collect()
}

fn params() -> TcpParams {
    TcpParams { if_include: "lo".into(), ..TcpParams::default() }
}

mod defaults {
    fn world() -> super::World<super::Tcp> {
        super::World { ends: super::ends(3, &super::params()) }
    }
    btl_conformance::suite!(world);
}

mod little_room {
    fn world() -> super::World<super::Tcp> {
        let params = super::TcpParams { max_send_size: 1500, out_buffer: 0, ..super::params() };
        super::World { ends: super::ends(3, &params) }
    }
    btl_conformance::suite!(world);
}

mod lanes {
    fn world() -> super::World<super::Tcp> {
        let params = super::TcpParams { links: 3, striping: 4096, ..super::params() };
        super::World { ends: super::ends(3, &params) }
    }
    btl_conformance::suite!(world);
}

/// What a peer had sent arrives, then its loss is reported, in words that name the connection.
#[test]
fn a_peer_that_goes_is_lost_after_its_last_message() {
    let mut ends = ends(2, &params());
    let mut nothing = mem::UserMem::EMPTY;
    assert!(ends[0].send(Peer(1), &[1], &mut nothing).is_ok());
    while {
        let arrival = ends[1].next_arrival();
        ends[0].next_event();
        arrival.map(|arrival| ends[1].release(arrival)).is_none()
    } {}
    for number in 2..5 {
        assert!(ends[1].send(Peer(0), &[number], &mut nothing).is_ok());
    }
    ends.truncate(1);
    let end = &mut ends[0];
    let (mut numbers, mut lost) = (Vec::new(), false);
    while !lost {
        if let Some(arrival) = end.next_arrival() {
            numbers.push(arrival.header.word(0));
            end.release(arrival);
        }
        lost |= end.next_event() == Some(Event::PeerLost(Peer(1)));
    }
    assert_eq!(numbers, [2, 3, 4]);
    assert!(end.loss(Peer(1)).seen.contains("it closed the connection"), "{:?}", end.loss(Peer(1)));
    assert!(end.send(Peer(1), &[1], &mut nothing).is_err());
}

/// A process may end while its peer computes: what it sent is with the peer's kernel then, whatever the peer sends it
/// afterwards, which resets the connection.
#[test]
fn a_peer_that_computes_gets_all_of_one_that_left() {
    const MESSAGES: u64 = 60;
    let mut ends = ends(2, &params());
    let mut nothing = mem::UserMem::EMPTY;
    let take = |end: &mut Tcp, numbers: &mut Vec<u64>, farewells: &mut Farewells| {
        if let Some(arrival) = end.next_arrival() {
            match Class::of(arrival.header) {
                Some(Class::Farewell) => farewells.accept(&arrival),
                _ => numbers.push(arrival.header.word(0) >> 8),
            }
            end.release(arrival);
        }
    };
    let (mut numbers, mut heard, mut own) = (Vec::new(), Farewells::default(), Farewells::default());
    let header = |number: u64| u64::from(Class::Test.byte(0)) | number << 8;
    assert!(ends[0].send(Peer(1), &[header(0)], &mut nothing).is_ok());
    while numbers.is_empty() {
        take(&mut ends[1], &mut numbers, &mut heard);
        assert_eq!(ends[0].next_event(), None);
    }
    // What the one who leaves has not read.
    assert!(ends[1].send(Peer(0), &[header(0)], &mut nothing).is_ok());
    for number in 1..MESSAGES {
        let mut payload = [7; 500];
        #[allow(unsafe_code, reason = "a view of a test's bytes")]
        // SAFETY: the payload outlives the call that uses it.
        let mut view = unsafe { mem::UserMem::of(&mut payload) };
        assert!(ends[0].send(Peer(1), &[header(number)], &mut view).is_ok());
    }
    own.leave();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !own.may_end(&mut ends[0], 2) {
        assert!(std::time::Instant::now() < deadline, "it may not end");
        assert_eq!(ends[0].next_event(), None);
    }
    drop(ends.remove(0));
    for _ in 0..3 {
        let _ = ends[0].send(Peer(0), &[header(1)], &mut nothing);
    }
    while ends[0].next_event() != Some(Event::PeerLost(Peer(0))) {
        take(&mut ends[0], &mut numbers, &mut heard);
    }
    assert!(numbers.iter().copied().eq(0..MESSAGES) && heard.has_left(Peer(0)), "{} came", numbers.len());
}

mod few_connections {
    fn world() -> super::World<super::Tcp> {
        let params = super::TcpParams { connections: 2, ..super::params() };
        super::World { ends: super::ends(3, &params) }
    }
    btl_conformance::suite!(world);
}

/// Everybody talks to everybody with far fewer connections than pairs: all arrives once, in order.
#[test]
fn idle_connections_make_room_for_others() {
    const RANKS: u32 = 9;
    const ROUNDS: u64 = 40;
    for connections in [2, 3, 5] {
        let mut ends = ends(RANKS, &TcpParams { connections, ..params() });
        let size = RANKS as usize;
        // What each has sent to, and received from, each.
        let (mut sent, mut got) = (vec![vec![0u64; size]; size], vec![vec![0u64; size]; size]);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
        let is_over = |got: &Vec<Vec<u64>>| {
            let complete = |me: usize, from: usize| me == from || got[me][from] == ROUNDS;
            (0..size).all(|me| (0..size).all(|from| complete(me, from)))
        };
        while !is_over(&got) {
            assert!(std::time::Instant::now() < deadline, "{connections}: {got:?}");
            for me in 0..size {
                let to = (me + 1 + (sent[me].iter().sum::<u64>() as usize) % (size - 1)) % size;
                let mut payload = vec![me as u8; if to < 4 { 5000 } else { 5 }];
                #[allow(unsafe_code, reason = "a view of a test's bytes")]
                // SAFETY: the payload outlives the call that uses it.
                let mut view = unsafe { mem::UserMem::of(&mut payload) };
                if sent[me][to] < ROUNDS && ends[me].send(Peer(to as u32), &[sent[me][to]], &mut view).is_ok()
                {
                    sent[me][to] += 1;
                }
                while let Some(arrival) = ends[me].next_arrival() {
                    let from = arrival.peer.0 as usize;
                    assert_eq!(arrival.header.word(0), got[me][from]);
                    got[me][from] += 1;
                    ends[me].release(arrival);
                }
                assert_eq!(ends[me].next_event(), None);
            }
        }
    }
}
