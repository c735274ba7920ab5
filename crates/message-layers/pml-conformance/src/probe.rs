//! Probe and matched probe (MPI-5.0 section 3.8).

use btl::Btl;
use pml::{Data, FastMessages};

use crate::world::{Message, OWNER, Processes, from};
use crate::{LENGTHS, SEEDS};
use chance::Rng;

/// A receive with the pattern of a probe gets the message that the probe showed, though others come meanwhile.
pub fn probe_shows_what_the_receive_gets<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    let patterns =
        [from(0, 4), from(abi::ANY_SOURCE, 4), from(0, abi::ANY_TAG), from(abi::ANY_SOURCE, abi::ANY_TAG)];
    for seed in 0..SEEDS {
        let (mut world, mut random) = (make(3, seed), Rng::new(seed));
        for round in 0..20 {
            let pattern = random.pick(&patterns);
            let messages: Vec<Message> = (0..4)
                .map(|n| Message {
                    from: if n < 2 { 0 } else { 1 },
                    to: 2,
                    ..Message::new(round * 4 + n, 4, random.pick(&LENGTHS))
                })
                .collect();
            assert_eq!(world.iprobe(2, &pattern), None, "nothing was sent yet");
            let sends: Vec<_> = messages.iter().map(|message| world.start(message)).collect();
            let seen = world.until(|world| world.iprobe(2, &pattern));
            if random.coin() {
                world.settle();
            }
            let again = world.until(|world| world.iprobe(2, &pattern));
            assert_eq!(again, seen, "a probe takes nothing");
            let receive = world.post(2, &pattern, 100_002);
            let done = world.over(2, receive.id);
            assert_eq!(done.status, seen);
            let shown = messages.iter().find(|m| m.from as i32 == seen.source).expect("a sender");
            world.check(&done, receive.buffer, shown);
            // The others, each sender's in order.
            for message in messages.iter().filter(|m| m.number != shown.number) {
                let receive = world.post(2, &from(message.from as i32, 4), 100_002);
                world.got(receive, message);
            }
            for (message, send) in messages.iter().zip(sends) {
                world.sent(message, send);
            }
        }
        world.finish();
    }
}

/// The arrival of a message that a thread waits for in a probe counts as a change, without another probe.
pub fn what_is_sought_is_counted<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        for (round, &len) in LENGTHS.iter().enumerate() {
            let pattern = from(0, 4);
            world.settle();
            let (layer, _) = world.end(1);
            layer.seek(&pattern);
            let before = layer.changes();
            let message = Message::new(round, 4, len);
            let send = world.start(&message);
            world.until(|world| (world.end(1).0.changes() != before).then_some(()));
            let seen = world.until(|world| world.iprobe(1, &pattern));
            assert_eq!(seen.bytes(), len as u64);
            let receive = world.post(1, &pattern, 100_002);
            world.got(receive, &message);
            world.sent(&message, send);
        }
        world.finish();
    }
}

/// A claimed message is received by its name only; the next receive of its pattern gets the message behind it.
pub fn a_matched_probe_takes_the_message_out<L: FastMessages<B>, B: Btl>(
    make: fn(u32, u64) -> Processes<L, B>,
) {
    for seed in 0..SEEDS {
        let (mut world, mut random) = (make(2, seed), Rng::new(seed));
        for round in 0..LENGTHS.len() {
            let pattern = if random.coin() { from(0, 4) } else { from(abi::ANY_SOURCE, abi::ANY_TAG) };
            let messages: Vec<Message> = (0..3)
                .map(|n| Message::new(round * 3 + n, 4, LENGTHS[(round + n) % LENGTHS.len()]))
                .collect();
            let sends: Vec<_> = messages.iter().map(|message| world.start(message)).collect();
            let (first, status) = world.until(|world| {
                let (layer, btl) = world.end(1);
                layer.improbe(btl, &pattern).expect("names of messages are left")
            });
            assert_eq!(status.bytes(), messages[0].len as u64);
            let second = world.post(1, &pattern, 100_002);
            world.got(second, &messages[1]);
            let (third, _) = world.until(|world| {
                let (layer, btl) = world.end(1);
                layer.improbe(btl, &pattern).expect("names of messages are left")
            });
            assert_eq!(world.iprobe(1, &pattern), None, "all messages are taken or claimed");
            for (name, message) in [(third, &messages[2]), (first, &messages[0])] {
                let buffer = world.buffer(100_002);
                let view = world.view(buffer);
                let (layer, btl) = world.end(1);
                let id = layer.imrecv(btl, name, OWNER, Data::Contiguous(view)).expect("a claimed message");
                let again = layer.imrecv(btl, name, OWNER, Data::Contiguous(view));
                assert_eq!(
                    again.map_err(|error| error.class),
                    Err(abi::ERR_REQUEST),
                    "it is received already"
                );
                let done = world.over(1, id);
                world.check(&done, buffer, message);
            }
            for (message, send) in messages.iter().zip(sends) {
                world.sent(message, send);
            }
        }
        world.finish();
    }
}

/// While notices are wanted there is one for each message that had no receive, in order, and none for the others; where
/// the layer sees such messages.
pub fn notices_tell_of_messages_without_receive<L: FastMessages<B>, B: Btl>(
    make: fn(u32, u64) -> Processes<L, B>,
) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        if world.layer(1).matches_below() {
            return;
        }
        let exchange = |world: &mut Processes<L, B>, posted: bool| {
            let message = Message::new(1, 8, 1000);
            let early = posted.then(|| world.post(1, &from(0, 8), 1001));
            let send = world.start(&message);
            world.settle();
            let receive = early.unwrap_or_else(|| world.post(1, &from(0, 8), 1001));
            world.got(receive, &message);
            world.sent(&message, send);
        };
        exchange(&mut world, false);
        assert!(!world.layer(1).has_notices(), "the process has not asked for them");
        world.layer(1).note_unexpected(true);
        exchange(&mut world, true);
        assert!(!world.layer(1).has_notices(), "the message had a receive");
        exchange(&mut world, false);
        assert!(world.layer(1).has_notices());
        let notice = world.layer(1).next_notice().expect("a notice");
        assert_eq!((notice.envelope.context, notice.envelope.source, notice.envelope.tag), (0, 0, 8));
        assert_eq!(notice.bytes, 1000);
        assert_eq!(world.layer(1).next_notice(), None);
        world.finish();
    }
}
