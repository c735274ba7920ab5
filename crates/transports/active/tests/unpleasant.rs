//! Active messages over a network that reorders, refuses and delays, and from a process that writes whatever it likes.

use active::{Active, Brought, Head, Refused, WINDOW};
use btl::{Btl, Class, Peer};
use btl_conformance::{Endpoints, active_messages_are_bounded, active_messages_are_ordered_and_answered};
use btl_mock::{Net, Options, Port};
use chance::Rng;
use mem::PeerBytes;

fn network(seed: u64) -> Options {
    let mut options =
        Options { seed, paths: 1 + seed as usize % 4, slots: 2 + seed as usize % 7, ..Options::new(3) };
    (options.busy, options.late) = (seed as u32 % 3 * 15, seed as u32 % 4 * 15);
    options.limits.max_send = 3000;
    options
}

fn world(seed: u64) -> Endpoints<Port> {
    let net = Net::new(network(seed));
    Endpoints { ends: (0..3).map(|rank| net.port(rank)).collect() }
}

#[test]
fn requests_that_overtake_each_other_are_handed_over_in_order() {
    (0..24).map(world).for_each(active_messages_are_ordered_and_answered);
}

#[test]
fn bounds_hold_where_messages_overtake_each_other() {
    // Paths that hold a window, so that credits are what refuses.
    for seed in 0..24 {
        let net = Net::new(Options { slots: 2 * WINDOW as usize, busy: 0, ..network(seed) });
        active_messages_are_bounded(Endpoints { ends: (0..3).map(|rank| net.port(rank)).collect() });
    }
}

/// A requester that takes one frame where it sends many requests: the answers kept for it are bounded by the window.
#[test]
fn answers_that_wait_for_room_hold_requests_back() {
    const SLOTS: usize = 4;
    let net = Net::new(Options { slots: SLOTS, ..Options::new(2) });
    let (mut one, mut other) = (net.port(0), net.port(1));
    let (mut requester, mut server) = (Active::new(), Active::new());
    let (mut handled, mut answered) = (0, 0);
    for _ in 0..500 {
        for _ in 0..3 * SLOTS {
            let head = Head { class: Class::Test, kind: 1, words: &[] };
            // Refused or not: what is sent is what may be sent.
            let _ = requester.request(&mut one, Peer(1), head, &mut PeerBytes::of(&[]));
            while let Some(arrival) = other.next_arrival() {
                if let Brought::Message(message) = server.accept(Class::Test, &arrival) {
                    handled += 1;
                    let head = Head { class: Class::Test, kind: 2, words: &[handled] };
                    server.answer(&mut other, message.from, head, &mut PeerBytes::of(&[1; 100]));
                    assert!(server.handled(Class::Test, message.from, false).is_none());
                }
                other.release(arrival);
            }
            server.advance(&mut other);
        }
        if let Some(arrival) = one.next_arrival() {
            answered += u64::from(matches!(requester.accept(Class::Test, &arrival), Brought::Message(_)));
            one.release(arrival);
        }
        assert!(
            handled - answered <= u64::from(WINDOW) + SLOTS as u64,
            "{handled} handled, {answered} answered"
        );
    }
    assert!(answered > 400);
}

/// Rubbish, and frames that are right but for one field, do no harm: no panic, no more than a window is handed over or
/// kept without being acknowledged, honest requests of others arrive in between.
#[test]
fn a_rogue_is_not_believed() {
    for seed in 1..200 {
        let net = Net::new(Options { seed, slots: 64, ..Options::new(3) });
        let (mut victim, mut rogue, mut honest) = (net.port(0), net.port(1), net.port(2));
        let (mut active, mut other) = (Active::new(), Active::new());
        let mut random = Rng::new(seed);
        let (mut sent, mut handled, mut written) = (0u64, 0u64, 0u64);
        for _ in 0..400 {
            let word = match random.below(3) {
                0 => random.below(u64::MAX),
                _ => {
                    let (sort, number) = (random.below(4), random.below(2 * u64::from(WINDOW)));
                    u64::from(Class::Test.byte(1)) | sort << 8 | number << 16 | random.below(3) << 32
                }
            };
            let header: Vec<u64> =
                [word].into_iter().chain((0..random.below(8)).map(|at| word.wrapping_mul(at))).collect();
            let payload = [7; 40];
            let mut payload = PeerBytes::of(&payload[..random.below(40) as usize]);
            written += u64::from(rogue.send(Peer(0), &header, &mut payload).is_ok());
            let head = Head { class: Class::Test, kind: 2, words: &[sent] };
            sent += u64::from(other.request(&mut honest, Peer(0), head, &mut PeerBytes::of(&[])).is_ok());
            while let Some(arrival) = victim.next_arrival() {
                if let Some(class) = Class::of(arrival.header).filter(|&class| class != Class::Pml)
                    && let Brought::Message(message) = active.accept(class, &arrival)
                {
                    let (from, is_answer) = (message.from, message.is_answer);
                    if from == Peer(2) {
                        assert_eq!((is_answer, message.words()), (false, &[handled][..]));
                        handled += 1;
                    }
                    // The early ones are bounded by the window, so this ends.
                    while active.handled(class, from, is_answer).is_some() {}
                }
                victim.release(arrival);
            }
            active.advance(&mut victim);
            while let Some(arrival) = honest.next_arrival() {
                if let Some(class) = Class::of(arrival.header) {
                    assert!(matches!(other.accept(class, &arrival), Brought::Nothing));
                }
                honest.release(arrival);
            }
        }
        assert!(written > 100 && active.bad_frames() > 0);
        assert_eq!((handled, other.bad_frames()), (sent, 0));
        assert!(sent > u64::from(WINDOW), "the window opens again");
        active.peer_lost(Peer(1));
        let head = Head { class: Class::Test, kind: 1, words: &[] };
        let refused = active.request(&mut victim, Peer(1), head, &mut PeerBytes::of(&[]));
        assert_eq!(refused, Err(Refused::Lost));
    }
}
