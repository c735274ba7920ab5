//! Many operations at once, layouts, names.

use btl::Btl;
use pml::{Data, FastMessages, Mode, Pattern};

use crate::strided::Strided;
use crate::world::{Message, OWNER, Processes, content, from};
use crate::{LENGTHS, SEEDS};
use chance::Rng;

const RANKS: usize = 3;

/// Hundreds of messages between all processes, to themselves, too, sent and received in any order: each context has
/// receives of one shape, and each receive gets the next message that its shape allows.
pub fn many_messages_are_outstanding<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let (mut world, mut random) = (make(RANKS as u32, seed), Rng::new(seed));
        let messages: Vec<Message> = (0..400)
            .map(|number| Message {
                from: random.index(RANKS),
                to: random.index(RANKS),
                context: random.index(4) as u32,
                mode: random.pick(&[Mode::Standard, Mode::Standard, Mode::Synchronous]),
                ..Message::new(number, random.index(3) as i32, random.pick(&LENGTHS))
            })
            .collect();
        let mut to_post: Vec<usize> = (0..messages.len()).collect();
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        while sends.len() < messages.len() || !to_post.is_empty() {
            match random.index(4) {
                0 | 1 if sends.len() < messages.len() => sends.push(world.start(&messages[sends.len()])),
                2 if !to_post.is_empty() => {
                    let message = &messages[to_post.swap_remove(random.index(to_post.len()))];
                    let pattern = shaped(message);
                    receives.push((pattern, world.post(message.to, &pattern, 100_002)));
                }
                _ => {
                    world.step();
                }
            }
        }
        let mut taken = vec![false; messages.len()];
        for (pattern, receive) in receives {
            let done = world.over(receive.at, receive.id);
            let source = done.status.source as usize;
            let next = messages.iter().position(|m| {
                !taken[m.number]
                    && m.to == receive.at
                    && m.from == source
                    && pattern.matches(&m.target().envelope())
            });
            let next = next.expect("a message that was sent and not received");
            world.check(&done, receive.buffer, &messages[next]);
            taken[next] = true;
        }
        for (message, send) in messages.iter().zip(sends) {
            world.sent(message, send);
        }
        world.finish();
    }
}

/// The pattern of a receive for such a message, with the wildcards of the message's context.
fn shaped(message: &Message) -> Pattern {
    let source = if message.context & 1 == 0 { message.from as i32 } else { abi::ANY_SOURCE };
    let tag = if message.context & 2 == 0 { message.tag } else { abi::ANY_TAG };
    Pattern { context: message.context, ..from(source, tag) }
}

/// Sender and receiver lay the same bytes out differently; what lies between the receiver's blocks stays as it is.
pub fn layouts_may_differ<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let (mut world, mut random) = (make(2, seed), Rng::new(seed));
        for (number, len) in LENGTHS.into_iter().enumerate() {
            for (ours, theirs) in [(0, 0), (24, 0), (0, 24), (24, 1000)] {
                let bytes = content(number, len);
                let message = Message {
                    mode: random.pick(&[Mode::Standard, Mode::Synchronous]),
                    ..Message::new(number, 2, len)
                };
                let data = |world: &mut Processes<L, B>, bytes: Vec<u8>, block: usize| {
                    let buffer =
                        world.filled(if block == 0 { bytes } else { Strided::laid_out(&bytes, block) });
                    let view = world.view(buffer);
                    let data =
                        if block == 0 { Data::Contiguous(view) } else { Strided::data(view, block, len) };
                    (buffer, data)
                };
                let (_, from_here) = data(&mut world, bytes.clone(), ours);
                let (buffer, to_there) = data(&mut world, vec![0; len], theirs);
                let send = world.isend(0, &message.target(), from_here, message.mode);
                if random.coin() {
                    world.settle();
                }
                let receive = world.irecv(1, &from(0, 2), to_there);
                let done = world.over(1, receive);
                assert_eq!((done.error, done.owner, done.status.bytes()), (abi::SUCCESS, OWNER, len as u64));
                let expected = if theirs == 0 { bytes } else { Strided::laid_out(&bytes, theirs) };
                assert!(world.bytes(buffer) == expected, "{len} bytes in blocks of {ours} and {theirs}");
                world.sent(&message, send);
            }
        }
        world.finish();
    }
}

/// An operation that its owner gave up takes place all the same, and leaves nothing behind.
pub fn detached_operations_take_place<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let (mut world, mut random) = (make(2, seed), Rng::new(seed));
        for (number, len) in LENGTHS.into_iter().enumerate() {
            let message = Message { mode: Mode::Synchronous, ..Message::new(number, 2, len) };
            let id = world.start(&message).expect("a synchronous send waits for its receive");
            if random.coin() {
                world.settle();
            }
            world.layer(0).detach(id);
            let receive = world.post(1, &from(0, 2), len + 1);
            if random.coin() {
                world.got(receive, &message);
            } else {
                world.layer(1).detach(receive.id);
                world.until(|world| {
                    (world.bytes(receive.buffer)[..len] == content(number, len)).then_some(())
                });
                world.settle();
                assert_eq!(world.layer(1).is_complete(receive.id), None, "its name is free");
            }
            world.settle();
            assert_eq!(world.layer(0).is_complete(id), None, "its name is free");
        }
        world.finish();
    }
}

/// The name of an operation that was taken names nothing, though its slot serves others.
pub fn names_go_stale<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    let mut world = make(2, 0);
    let mut stale = Vec::new();
    for round in 0..20 {
        let receive = world.post(1, &from(0, 2), 8);
        assert!(!stale.contains(&receive.id), "a name comes back after many others only");
        assert!(u64::from(receive.id.0) < 1 << (pml::INDEX_BITS + pml::GENERATION_BITS));
        let message = Message::new(round, 2, 8);
        let send = world.start(&message);
        world.got(receive, &message);
        world.sent(&message, send);
        stale.push(receive.id);
        for &id in &stale {
            let layer = world.layer(1);
            assert_eq!((layer.poll(id), layer.is_complete(id)), (None, None));
            assert_eq!(layer.take(id), None);
        }
    }
    world.finish();
}
