//! Order and wildcards (MPI-5.0 section 3.5).

use btl::Btl;
use pml::{FastMessages, Mode, Pattern};

use crate::world::{Message, Processes, from};
use crate::{LENGTHS, SEEDS};
use chance::Rng;

const MODES: [Mode; 3] = [Mode::Standard, Mode::Synchronous, Mode::Blocking];

/// Messages of all lengths and modes, one receive each, some of them posted before the messages leave, some after they
/// have arrived: the order of the sends is that of the receives.
pub fn messages_of_a_pair_match_in_order<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let (mut world, mut random) = (make(2, seed), Rng::new(seed));
        let messages: Vec<Message> = (0..60)
            .map(|number| Message {
                mode: random.pick(&MODES),
                ..Message::new(number, 3, random.pick(&LENGTHS))
            })
            .collect();
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        while sends.len() < messages.len() || receives.len() < messages.len() {
            match random.index(3) {
                0 if sends.len() < messages.len() => sends.push(world.start(&messages[sends.len()])),
                1 if receives.len() < messages.len() => receives.push(world.post(1, &from(0, 3), 100_002)),
                _ => {
                    world.step();
                }
            }
        }
        for ((message, send), receive) in messages.iter().zip(sends).zip(receives) {
            world.got(receive, message);
            world.sent(message, send);
        }
        world.finish();
    }
}

/// Equal source and tag in different contexts: each receive gets the message of its own.
pub fn contexts_do_not_mix<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        let last = world.layer(0).contexts() - 1;
        let messages: Vec<Message> = (0..12)
            .map(|number| Message {
                context: [0, 1, last][number % 3],
                ..Message::new(number, 3, LENGTHS[number / 3 * 2])
            })
            .collect();
        let in_context = |context| Pattern { context, ..from(abi::ANY_SOURCE, abi::ANY_TAG) };
        let posted: Vec<_> =
            messages[..6].iter().map(|m| world.post(1, &in_context(m.context), 100_002)).collect();
        let sends: Vec<_> = messages.iter().map(|message| world.start(message)).collect();
        world.settle();
        assert_eq!(world.iprobe(1, &in_context(2)), None, "nothing was sent in this context");
        // Context by context, not in the order of the sends.
        let mut late: Vec<&Message> = messages[6..].iter().collect();
        late.sort_by_key(|message| std::cmp::Reverse(message.context));
        for message in late {
            let receive = world.post(1, &in_context(message.context), 100_002);
            world.got(receive, message);
        }
        for (receive, message) in posted.into_iter().zip(&messages) {
            world.got(receive, message);
        }
        for (message, send) in messages.iter().zip(sends) {
            world.sent(message, send);
        }
        world.finish();
    }
}

/// Which contexts receives wait in is known until each has its message, is cancelled or given up.
pub fn receives_without_a_message_are_known<L: FastMessages<B>, B: Btl>(
    make: fn(u32, u64) -> Processes<L, B>,
) {
    let awaited = |world: &mut Processes<L, B>, rank| {
        let mut contexts = std::collections::BTreeSet::new();
        world.layer(rank).each_awaited(&mut |context, _| {
            contexts.insert(context);
        });
        contexts.into_iter().collect::<Vec<u32>>()
    };
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        let last = world.layer(0).contexts() - 1;
        for (number, len) in LENGTHS.into_iter().enumerate() {
            let message = Message { context: last, ..Message::new(number, 3, len) };
            let posted = [
                Pattern { context: 1, ..from(abi::ANY_SOURCE, abi::ANY_TAG) },
                Pattern { context: 4, ..from(0, 3) },
                Pattern { context: last, ..from(0, abi::ANY_TAG) },
            ]
            .map(|pattern| world.post(1, &pattern, 100_002));
            world.settle();
            assert_eq!((awaited(&mut world, 1), awaited(&mut world, 0)), (vec![1, 4, last], vec![]));
            world.cancel(1, posted[0].id);
            world.over(1, posted[0].id);
            let send = world.start(&message);
            world.got(posted[2], &message);
            world.sent(&message, send);
            assert_eq!(awaited(&mut world, 1), [4]);
            world.cancel(1, posted[1].id);
            world.over(1, posted[1].id);
            assert_eq!(awaited(&mut world, 1), []);
        }
        world.finish();
    }
}

/// Equal rank, tag and context, and other highest bits of the source: each receive gets the message of its own.
pub fn classes_of_sources_do_not_mix<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let mut world = make(2, seed);
        let messages: Vec<Message> = (0..16)
            .map(|number| Message {
                class: [1 << 30, 0, 1 << 29, 3 << 29][number % 4],
                ..Message::new(number, 3, LENGTHS[number / 4 * 2])
            })
            .collect();
        let of_class = |m: &Message| Pattern { peer: Some(btl::Peer(0)), ..from(m.source() as i32, m.tag) };
        let posted: Vec<_> =
            messages[..8].iter().rev().map(|m| (m.class, world.post(1, &of_class(m), 100_002))).collect();
        let sends: Vec<_> = messages.iter().map(|message| world.start(message)).collect();
        world.settle();
        // Class by class, not in the order of the sends.
        let mut late: Vec<&Message> = messages[8..].iter().collect();
        late.sort_by_key(|message| message.class);
        for message in late {
            let receive = world.post(1, &of_class(message), 100_002);
            world.got(receive, message);
        }
        for class in [1 << 30, 0, 1 << 29, 3 << 29] {
            let of_it = messages[..8].iter().filter(|message| message.class == class);
            let receives = posted.iter().filter(|(posted, _)| *posted == class);
            of_it.zip(receives).for_each(|(message, &(_, receive))| world.got(receive, message));
        }
        for (message, send) in messages.iter().zip(sends) {
            world.sent(message, send);
        }
        world.finish();
    }
}

/// Receives from any source get what each sender sent in its order, and nothing twice.
pub fn any_source_takes_the_messages_of_a_pair_in_order<L: FastMessages<B>, B: Btl>(
    make: fn(u32, u64) -> Processes<L, B>,
) {
    const EACH: usize = 20;
    for seed in 0..SEEDS {
        let (mut world, mut random) = (make(4, seed), Rng::new(seed));
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        let mut sent = [0; 3];
        while sends.len() < 3 * EACH {
            let sender = random.index(3);
            if sent[sender] < EACH {
                let number = sender * EACH + sent[sender];
                let to_last =
                    Message { from: sender, to: 3, ..Message::new(number, 9, random.pick(&LENGTHS)) };
                sends.push((to_last, world.start(&to_last)));
                sent[sender] += 1;
            }
            if random.coin() {
                receives.push(world.post(3, &from(abi::ANY_SOURCE, 9), 100_002));
            }
            if random.coin() {
                world.step();
            }
        }
        while receives.len() < sends.len() {
            receives.push(world.post(3, &from(abi::ANY_SOURCE, 9), 100_002));
        }
        let mut next = [0; 3];
        for receive in receives {
            let done = world.over(3, receive.id);
            let sender = done.status.source as usize;
            let number = sender * EACH + next[sender];
            let message = sends.iter().map(|(message, _)| *message).find(|m| m.number == number);
            world.check(&done, receive.buffer, &message.expect("no more messages than were sent"));
            next[sender] += 1;
        }
        assert_eq!(next, [EACH; 3]);
        for (message, send) in sends {
            world.sent(&message, send);
        }
        world.finish();
    }
}

/// Receives of any tag get the tags in the order of the sends.
pub fn any_tag_takes_tags_in_order<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let (mut world, mut random) = (make(2, seed), Rng::new(seed));
        let tags = [0, 1, 7, i32::MAX];
        let messages: Vec<Message> =
            (0..40).map(|number| Message::new(number, random.pick(&tags), random.pick(&LENGTHS))).collect();
        let early: Vec<_> = (0..20).map(|_| world.post(1, &from(0, abi::ANY_TAG), 100_002)).collect();
        let sends: Vec<_> = messages.iter().map(|message| world.start(message)).collect();
        if random.coin() {
            world.settle();
        }
        let late: Vec<_> = (0..20).map(|_| world.post(1, &from(0, abi::ANY_TAG), 100_002)).collect();
        for (message, receive) in messages.iter().zip(early.into_iter().chain(late)) {
            world.got(receive, message);
        }
        for (message, send) in messages.iter().zip(sends) {
            world.sent(message, send);
        }
        world.finish();
    }
}

/// Of several receives that match a message the first posted gets it, whatever wildcards each has.
pub fn receives_match_in_the_order_of_posting<L: FastMessages<B>, B: Btl>(
    make: fn(u32, u64) -> Processes<L, B>,
) {
    const ANY: i32 = abi::ANY_SOURCE;
    const ANY_TAG: i32 = abi::ANY_TAG;
    let shapes = [(0, 5), (ANY, 5), (0, ANY_TAG), (ANY, ANY_TAG)];
    for seed in 0..SEEDS * 3 {
        let (mut world, mut random) = (make(2, seed), Rng::new(seed));
        // Another tag first: only the wildcard takes it.
        let wild = world.post(1, &from(0, ANY_TAG), 100_002);
        let receives: Vec<_> = (0..12)
            .map(|_| {
                let (source, tag) = random.pick(&shapes);
                world.post(1, &from(source, tag), 100_002)
            })
            .collect();
        let first = Message::new(99, 6, random.pick(&LENGTHS));
        let send = world.start(&first);
        world.got(wild, &first);
        world.sent(&first, send);
        for (number, receive) in receives.into_iter().enumerate() {
            let message = Message::new(number, 5, random.pick(&LENGTHS));
            let send = world.start(&message);
            world.got(receive, &message);
            world.sent(&message, send);
        }
        world.finish();
    }
}
