//! Cancelling (MPI-5.0 section 3.8.4), and peers that are gone.

use btl::{Btl, Event, Peer};
use pml::{FastMessages, Mode};

use crate::world::{Message, Processes, from};
use crate::{LENGTHS, SEEDS};
use chance::Rng;

/// A cancelled receive ends so, its buffer untouched, and takes no part in matching. One that has its message is not
/// cancelled.
pub fn a_cancelled_receive_leaves_its_message_to_the_next<L: FastMessages<B>, B: Btl>(
    make: fn(u32, u64) -> Processes<L, B>,
) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        for (number, len) in LENGTHS.into_iter().enumerate() {
            let message = Message::new(number, 2, len);
            let first = world.post(1, &from(abi::ANY_SOURCE, abi::ANY_TAG), 100_002);
            let second = world.post(1, &from(0, 2), 100_002);
            let third = world.post(1, &from(0, abi::ANY_TAG), 100_002);
            for receive in [first, third] {
                world.cancel(1, receive.id);
                let done = world.over(1, receive.id);
                assert!(done.status.cancelled());
                assert_eq!(done.error, abi::SUCCESS);
            }
            let send = world.start(&message);
            world.until(|world| world.layer(1).poll(second.id).copied());
            world.cancel(1, second.id);
            world.got(second, &message);
            world.sent(&message, send);
            for receive in [first, third] {
                world.untouched(world.bytes(receive.buffer));
            }
        }
        world.finish();
    }
}

/// A synchronous send without a receive is cancelled, and its message is gone; those before and after it arrive.
pub fn an_unmatched_send_is_cancelled<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        if !world.layer(0).cancels_begun_sends() {
            return;
        }
        for (number, len) in LENGTHS.into_iter().enumerate() {
            let message = |n, mode| Message { mode, ..Message::new(number * 3 + n, 2, len) };
            let (before, after) = (message(0, Mode::Standard), message(2, Mode::Standard));
            let unwanted = message(1, Mode::Synchronous);
            let first = world.start(&before);
            let id = world.start(&unwanted).expect("a synchronous send waits for its receive");
            let last = world.start(&after);
            if seed % 2 == 0 {
                world.settle();
            }
            world.cancel(0, id);
            let done = world.over(0, id);
            assert!(done.status.cancelled(), "{unwanted:?}");
            for (message, send) in [(before, first), (after, last)] {
                let receive = world.post(1, &from(0, 2), 100_002);
                world.got(receive, &message);
                world.sent(&message, send);
            }
            assert_eq!(world.iprobe(1, &from(abi::ANY_SOURCE, abi::ANY_TAG)), None);
        }
        world.finish();
    }
}

/// A cancellation that meets its match on the way: the message is received or the send is cancelled, and never both.
pub fn a_send_is_cancelled_or_received<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS * 4 {
        let (mut world, mut random) = (make(2, seed), Rng::new(seed));
        for number in 0..10 {
            let mode = random.pick(&[Mode::Standard, Mode::Synchronous]);
            let message = Message { mode, ..Message::new(number, 2, random.pick(&LENGTHS)) };
            let receive = random.coin().then(|| world.post(1, &from(0, 2), 100_002));
            let id = world.start(&message);
            (0..random.index(6)).for_each(|_| {
                world.step();
            });
            let receive = receive.unwrap_or_else(|| world.post(1, &from(0, 2), 100_002));
            let cancelled = id.is_some_and(|id| {
                world.cancel(0, id);
                let done = world.over(0, id);
                assert_eq!(done.error, abi::SUCCESS);
                done.status.cancelled()
            });
            world.settle();
            if cancelled {
                assert_eq!(
                    world.layer(1).is_complete(receive.id),
                    Some(false),
                    "a cancelled send delivers nothing"
                );
                world.cancel(1, receive.id);
                assert!(world.over(1, receive.id).status.cancelled());
                world.untouched(world.bytes(receive.buffer));
            } else {
                world.got(receive, &message);
            }
        }
        world.finish();
    }
}

/// When a peer is gone, what depends on it ends with an error, and what does not goes on. Whole messages of it can still
/// be received.
pub fn a_lost_peer_ends_what_depends_on_it<L: FastMessages<B>, B: Btl>(
    make: fn(u32, u64) -> Processes<L, B>,
) {
    for seed in 0..SEEDS {
        let mut world = make(3, seed);
        let kept = Message { from: 0, to: 2, ..Message::new(1, 1, 8) };
        let send = world.start(&kept);
        world.until(|world| world.iprobe(2, &from(0, 1)));
        world.sent(&kept, send);
        let waiting = world.post(2, &from(0, 5), 8);
        let anyone = world.post(2, &from(abi::ANY_SOURCE, 6), 8);
        let unanswered = Message { from: 2, to: 0, mode: Mode::Synchronous, ..Message::new(2, 9, 100_001) };
        let offered = world.start(&unanswered).expect("a synchronous send waits for its receive");
        let (layer, btl) = world.end(2);
        layer.on_event(btl, Event::PeerLost(Peer(0)));
        assert_eq!(layer.next_lost(), Some(Peer(0)));
        assert_eq!(layer.next_lost(), None);
        for id in [waiting.id, offered] {
            assert_eq!(world.over(2, id).error, abi::ERR_PROC_ABORTED);
        }
        let late = world.post(2, &from(0, 5), 8);
        assert_eq!(world.over(2, late.id).error, abi::ERR_PROC_ABORTED);
        let whole = world.post(2, &from(0, 1), 8);
        world.got(whole, &kept);
        let other = Message { from: 1, to: 2, ..Message::new(3, 6, 8) };
        let send = world.start(&other);
        world.got(anyone, &other);
        world.sent(&other, send);
        assert!(world.layer(2).idle());
    }
}
