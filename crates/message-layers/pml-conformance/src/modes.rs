//! Send modes, truncation, messages without bytes (MPI-5.0 sections 3.2 and 3.4).

use btl::Btl;
use pml::{FastMessages, Mode};

use crate::world::{Message, Processes, from};
use crate::{LENGTHS, SEEDS};

/// A short standard send completes though no receive is posted. So does every send once its receive is posted.
pub fn standard_sends_need_no_receive<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        let short = Message::new(1, 2, btl::SHORT);
        let send = world.start(&short);
        world.sent(&short, send);
        for (number, len) in LENGTHS.into_iter().enumerate() {
            for mode in [Mode::Standard, Mode::Ready, Mode::Blocking] {
                let message = Message { mode, ..Message::new(number, 3, len) };
                let receive = world.post(1, &from(0, 3), len + 1);
                let send = world.start(&message);
                world.sent(&message, send);
                world.got(receive, &message);
            }
        }
        let receive = world.post(1, &from(0, 2), btl::SHORT);
        world.got(receive, &short);
        world.finish();
    }
}

/// A synchronous send completes after its message is matched and not before, however long the message is.
pub fn synchronous_sends_complete_after_the_match<L: FastMessages<B>, B: Btl>(
    make: fn(u32, u64) -> Processes<L, B>,
) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        for (number, len) in LENGTHS.into_iter().enumerate() {
            let message = Message { mode: Mode::Synchronous, ..Message::new(number, 2, len) };
            let id = world.start(&message).expect("a synchronous send waits for its receive");
            world.settle();
            assert_eq!(world.layer(0).is_complete(id), Some(false), "{message:?} is not matched yet");
            assert!(!world.layer(0).idle(), "the peer's answer is awaited");
            let other = world.post(1, &from(0, 3), len);
            world.settle();
            assert_eq!(world.layer(0).is_complete(id), Some(false), "{message:?} does not match");
            world.cancel(1, other.id);
            world.over(1, other.id);
            let receive = world.post(1, &from(0, 2), len);
            world.sent(&message, Some(id));
            world.got(receive, &message);
        }
        world.finish();
    }
}

/// A message that is longer than its receive fills the buffer, and its status shows it. The sender sees success, and
/// the next message is whole.
pub fn a_longer_message_is_truncated<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        for (number, len) in LENGTHS.into_iter().enumerate().skip(1) {
            for room in [0, 1, len / 2, len - 1] {
                for posted in [true, false] {
                    let message = Message::new(number, 2, len);
                    let next = Message::new(number + 50, 2, len);
                    let early = posted.then(|| world.post(1, &from(0, 2), room));
                    let sends = [world.start(&message), world.start(&next)];
                    if !posted {
                        world.settle();
                    }
                    let receive = early.unwrap_or_else(|| world.post(1, &from(0, 2), room));
                    let whole = world.post(1, &from(0, 2), len);
                    let done = world.over(1, receive.id);
                    assert_eq!(done.error, abi::ERR_TRUNCATE);
                    assert_eq!(done.status.bytes(), room as u64, "of {len}");
                    assert!(world.bytes(receive.buffer) == &crate::world::content(number, len)[..room]);
                    world.got(whole, &next);
                    world.sent(&message, sends[0]);
                    world.sent(&next, sends[1]);
                }
            }
        }
        world.finish();
    }
}

/// Messages without bytes are matched and complete like others, in every mode, into buffers with and without room.
pub fn empty_messages_carry_their_envelope<L: FastMessages<B>, B: Btl>(
    make: fn(u32, u64) -> Processes<L, B>,
) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        let modes = [Mode::Standard, Mode::Synchronous, Mode::Ready, Mode::Blocking];
        for (number, mode) in modes.into_iter().enumerate() {
            for room in [0, 10] {
                for posted in [true, false] {
                    let message = Message { mode, ..Message::new(number, number as i32, 0) };
                    let early = posted.then(|| world.post(1, &from(0, number as i32), room));
                    let send = world.start(&message);
                    if !posted {
                        let seen = world.until(|world| world.iprobe(1, &from(0, abi::ANY_TAG)));
                        assert_eq!((seen.tag, seen.bytes()), (number as i32, 0));
                    }
                    let receive = early.unwrap_or_else(|| world.post(1, &from(0, number as i32), room));
                    world.got(receive, &message);
                    world.sent(&message, send);
                }
            }
        }
        world.finish();
    }
}
