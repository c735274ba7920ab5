//! Processes of different jobs: they meet and part, each when it finds out, and end.

use btl::{Btl, Event, Peer};
use btl_tcp::{Foreign, JobProof, Tcp, TcpParams};
use connect::Secret;
use std::time::{Duration, Instant};

const OTHER: Peer = Peer(1);

/// Two processes that have met: rank 0 of job 1, rank 0 of job 2.
fn pair() -> [Tcp; 2] {
    let params = TcpParams { if_include: "lo".into(), connect_rounds: 3, ..TcpParams::default() };
    let open =
        |id| Tcp::for_strangers(Peer(0), 1, JobProof { id, key: id.into() }, &params, None).expect("a port");
    let mut ends = [open(1), open(2)];
    let cards = [ends[0].card().clone(), ends[1].card().clone()];
    for (end, (job, card)) in ends.iter_mut().zip([(2, &cards[1]), (1, &cards[0])]) {
        end.meet(OTHER, card.clone(), Foreign { job, rank: 0, secret: Secret::new(7) });
    }
    ends
}

fn send(end: &mut Tcp, number: u64) {
    let mut nothing = mem::UserMem::EMPTY;
    assert!(end.send(OTHER, &[number], &mut nothing).is_ok());
}

/// What has come by now.
fn take(end: &mut Tcp) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Some(arrival) = end.next_arrival() {
        numbers.push(arrival.header.word(0));
        end.release(arrival);
    }
    numbers
}

/// Polls until `done`; a guard against hangs.
fn until<R>(mut done: impl FnMut() -> Option<R>) -> R {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(result) = done() {
            return result;
        }
        assert!(Instant::now() < end, "it does not happen");
    }
}

/// Both have a connection.
fn talked() -> [Tcp; 2] {
    let [mut a, mut b] = pair();
    send(&mut a, 1);
    send(&mut b, 2);
    let (mut at_a, mut at_b) = (Vec::new(), Vec::new());
    until(|| {
        at_a.extend(take(&mut a));
        at_b.extend(take(&mut b));
        (at_a == [2] && at_b == [1]).then_some(())
    });
    [a, b]
}

/// All events of a process up to the end of its connection with the other one, which has ended.
fn events_of_the_end(mut end: Tcp, mut other: Tcp) -> (Tcp, Vec<Event>) {
    until(|| {
        take(&mut other);
        assert_eq!(other.next_event(), None);
        other.is_flushed().then_some(())
    });
    drop(other);
    let mut events = Vec::new();
    until(|| {
        take(&mut end);
        events.extend(end.next_event());
        (end.loss(OTHER).seen.contains("closed") || end.is_apart(OTHER)).then_some(())
    });
    events.extend(end.next_event());
    (end, events)
}

#[test]
fn whatever_the_order_of_meetings_and_partings_all_messages_come() {
    let [mut a, mut b] = talked();
    let mut chance: u64 = 1;
    let mut sent = [0, 0];
    let mut got = [Vec::new(), Vec::new()];
    for _ in 0..20_000 {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let choice = chance >> 60;
        let (at, end) = if chance >> 59 & 1 == 0 { (0, &mut a) } else { (1, &mut b) };
        match choice {
            0..=2 => end.part_from(OTHER),
            3..=6 => end.meet_again(OTHER),
            7..=9 => {
                send(end, sent[at]);
                sent[at] += 1;
            }
            _ => got[at].extend(take(end)),
        }
        assert_eq!(end.next_event(), None);
        assert_eq!(end.next_gone(), None);
    }
    until(|| {
        got[0].extend(take(&mut a));
        got[1].extend(take(&mut b));
        (got[0].len() as u64 == sent[1] && got[1].len() as u64 == sent[0]).then_some(())
    });
    assert!(got[0].iter().copied().eq(0..sent[1]) && got[1].iter().copied().eq(0..sent[0]));
}

#[test]
fn a_peer_never_talked_to_is_gone_with_the_parting() {
    let [mut a, _b] = pair();
    a.part_from(OTHER);
    assert_eq!((a.next_gone(), a.next_gone()), (Some(OTHER), None));
    assert!(!a.reaches(OTHER));
}

#[test]
fn the_end_of_a_process_is_no_loss_where_both_have_parted() {
    let [mut a, mut b] = talked();
    a.part_from(OTHER);
    b.part_from(OTHER);
    drop(b);
    assert_eq!(
        until(|| {
            assert_eq!(a.next_event(), None);
            a.next_gone()
        }),
        OTHER
    );
}

#[test]
fn the_end_of_a_process_that_has_parted_is_no_loss_for_one_that_has_not_yet() {
    let [a, mut b] = talked();
    b.part_from(OTHER);
    let (mut a, events) = events_of_the_end(a, b);
    assert_eq!((events, a.next_gone()), (vec![], None));
    a.part_from(OTHER);
    assert_eq!(a.next_gone(), Some(OTHER));
}

#[test]
fn the_end_of_a_process_is_a_loss_for_one_that_has_met_it_anew() {
    for before in [true, false] {
        let [mut a, mut b] = talked();
        if before {
            a.meet_again(OTHER);
        }
        b.part_from(OTHER);
        let (mut a, mut events) = events_of_the_end(a, b);
        if !before {
            assert_eq!(events, []);
            a.meet_again(OTHER);
            events.extend(a.next_event());
        }
        assert_eq!(events, [Event::PeerLost(OTHER)]);
    }
}
