//! The suite between endpoints of this host, and what happens when one of them goes.

use btl::{Btl, Event, Peer};
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
