//! The suite between endpoints of this host, and what happens when one of them goes.

use btl::{Btl, Class, Event, Farewells, Peer};
use btl_conformance::Endpoints;
use btl_tcp::{JobProof, Listening, Tcp, TcpParams};

fn ends(ranks: u32, params: &TcpParams) -> Vec<Tcp> {
    let listening: Vec<Listening> = (0..ranks).map(|_| Listening::new(params).expect("listening")).collect();
    let cards: Box<[_]> = listening.iter().map(Listening::card).collect();
    let job = JobProof { id: 1, key: 2 };
    let open = |(me, one): (u32, Listening)| one.open(Peer(me), job, cards.clone(), params, None);
    (0..).zip(listening).map(open).collect()
}

/// A peer that has ended is called three times.
fn params() -> TcpParams {
    TcpParams { if_include: "lo".into(), connect_rounds: 3, ..TcpParams::default() }
}

mod defaults {
    fn world() -> super::Endpoints<super::Tcp> {
        super::Endpoints { ends: super::ends(3, &super::params()) }
    }
    btl_conformance::suite!(world);
}

mod signed {
    fn world() -> super::Endpoints<super::Tcp> {
        let params = super::TcpParams { security: btl_tcp::Security::Integrity, ..super::params() };
        super::Endpoints { ends: super::ends(3, &params) }
    }
    btl_conformance::suite!(world);
}

mod encrypted {
    fn world() -> super::Endpoints<super::Tcp> {
        let params = super::TcpParams {
            security: btl_tcp::Security::Encrypt,
            max_send_size: 1500,
            out_buffer: 0,
            links: 3,
            striping: 4096,
            ..super::params()
        };
        super::Endpoints { ends: super::ends(3, &params) }
    }
    btl_conformance::suite!(world);
}

mod little_room {
    fn world() -> super::Endpoints<super::Tcp> {
        let params = super::TcpParams { max_send_size: 1500, out_buffer: 0, ..super::params() };
        super::Endpoints { ends: super::ends(3, &params) }
    }
    btl_conformance::suite!(world);
}

mod lanes {
    fn world() -> super::Endpoints<super::Tcp> {
        let params = super::TcpParams { links: 3, striping: 4096, ..super::params() };
        super::Endpoints { ends: super::ends(3, &params) }
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
    for security in [btl_tcp::Security::None, btl_tcp::Security::Encrypt] {
        leaves_while_its_peer_computes(&TcpParams { security, ..params() });
    }
}

fn leaves_while_its_peer_computes(params: &TcpParams) {
    const MESSAGES: u64 = 60;
    let mut ends = ends(2, params);
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
    // What the process that leaves has not read.
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

mod few_encrypted_connections {
    fn world() -> super::Endpoints<super::Tcp> {
        let params =
            super::TcpParams { connections: 2, security: btl_tcp::Security::Encrypt, ..super::params() };
        super::Endpoints { ends: super::ends(3, &params) }
    }
    btl_conformance::suite!(world);
}

mod few_connections {
    fn world() -> super::Endpoints<super::Tcp> {
        let params = super::TcpParams { connections: 2, ..super::params() };
        super::Endpoints { ends: super::ends(3, &params) }
    }
    btl_conformance::suite!(world);
}

/// All ranks talk to all with far fewer connections than pairs, and sleep.
#[test]
fn idle_connections_make_room_for_others() {
    for connections in [2, 3, 5] {
        let params = TcpParams { connections, ..params() };
        btl_conformance::sleeping_ranks_talk_to_all(Endpoints { ends: ends(9, &params) });
    }
}

/// Callers that fill a process in the poll after `arm` have it look for room after a while, so it arms for that before it sleeps.
#[test]
fn what_is_due_since_arm_is_armed_for() {
    let params = TcpParams { connections: 2, ..params() };
    let listening = [(); 2].map(|()| Listening::new(&params).unwrap());
    let cards: Box<[_]> = listening.iter().map(Listening::card).collect();
    let (port, _) = cards[0].parts();
    let [first, _other] = listening;
    let mut end = first.open(Peer(0), JobProof { id: 1, key: 2 }, cards, &params, None);
    let sleep = end.arm();
    let _callers = [(); 3].map(|()| std::net::TcpStream::connect(("127.0.0.1", port)).unwrap());
    assert!(sleep.is_some() && end.next_arrival().is_none());
    assert!(end.must_arm_again());
    end.disarm();
    assert!(end.arm().is_some());
}

/// A process between two ranks, which both take for the other one: passes on what they send and changes one bit of the
/// caller's byte `changed`. Its port, and what went by.
fn relay(target: u16, changed: Option<usize>) -> (u16, std::sync::Arc<std::sync::Mutex<Vec<u8>>>) {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let record = heard.clone();
    // The threads end with the connections, and the first one with the process.
    std::thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            let Ok(owner) = TcpStream::connect(("127.0.0.1", target)) else { continue };
            let (mut back, mut to_caller) = (owner.try_clone().unwrap(), caller.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut back, &mut to_caller);
                let _ = to_caller.shutdown(Shutdown::Both);
            });
            let (record, mut caller, mut owner) = (record.clone(), caller, owner);
            std::thread::spawn(move || {
                let (mut passed, mut bytes) = (0, [0; 4096]);
                while let Ok(count @ 1..) = caller.read(&mut bytes) {
                    if let Some(at) = changed.filter(|at| (passed..passed + count).contains(at)) {
                        bytes[at - passed] ^= 1;
                    }
                    passed += count;
                    record.lock().unwrap().extend_from_slice(&bytes[..count]);
                    if owner.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                let _ = owner.shutdown(Shutdown::Both);
            });
        }
    });
    (port, heard)
}

/// Sends 1,000 bytes through a relay; what became of it at the receiver, and what went by at the relay.
fn relayed(params: &TcpParams, changed: Option<usize>) -> (Result<Vec<u8>, String>, Vec<u8>) {
    let mut listening: Vec<Listening> = (0..2).map(|_| Listening::new(params).expect("listening")).collect();
    let mut cards: Vec<_> = listening.iter().map(Listening::card).collect();
    let port = cards[1].encode().split(' ').next().unwrap().parse().unwrap();
    let (port, heard) = relay(port, changed);
    cards[1] = btl_tcp::Card::parse(&format!("{port} 127.0.0.1")).unwrap();
    let job = JobProof { id: 1, key: 2 };
    let mut open = |me| listening.remove(0).open(Peer(me), job, cards.clone(), params, None);
    let (mut one, mut other) = (open(0), open(1));
    let mut payload = *b"0123456789".repeat(100).first_chunk::<1000>().unwrap();
    #[allow(unsafe_code, reason = "a view of a test's bytes")]
    // SAFETY: the payload outlives the call that uses it.
    let mut view = unsafe { mem::UserMem::of(&mut payload) };
    assert!(one.send(Peer(1), &[1], &mut view).is_ok());
    loop {
        while let Some(arrival) = one.next_arrival() {
            one.release(arrival);
        }
        one.next_event();
        if let Some(arrival) = other.next_arrival() {
            let got = arrival.payload.to_vec();
            other.release(arrival);
            assert_eq!(got, payload);
            return (Ok(got), heard.lock().unwrap().clone());
        }
        if let Some(Event::PeerLost(peer)) = other.next_event() {
            return (Err(other.loss(peer).seen), heard.lock().unwrap().clone());
        }
    }
}

/// Bytes of the hello, the proof and the confirmation: all that comes before frames.
const EXCHANGE: usize = 84 + 32 + 28;

#[test]
fn a_relay_changes_nothing_unnoticed_whatever_is_wished() {
    use btl_tcp::Security;
    for security in [Security::None, Security::Integrity, Security::Encrypt] {
        let params = TcpParams { security, ..params() };
        let (got, heard) = relayed(&params, None);
        assert!(got.is_ok());
        let shows = heard.windows(20).any(|window| window == b"01234567890123456789");
        assert_eq!(shows, security != Security::Encrypt, "{security:?}");
        for at in [EXCHANGE + 5, EXCHANGE + 100, EXCHANGE + 1000] {
            let why = relayed(&params, Some(at)).0.unwrap_err();
            assert!(why.contains("changed on their way"), "{security:?} {at}: {why}");
        }
    }
}
