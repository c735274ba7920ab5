//! The fast paths: they keep the order, and do nothing where they refuse.

use abi::Status;
use btl::Btl;
use pml::{Data, Done, FastMessages, Mode, Origin, ReqId, Sent};
use std::collections::VecDeque;

use crate::world::{Buffer, MOST_POLLS, Message, OWNER, Processes, from};
use crate::{LENGTHS, SEEDS};
use chance::Rng;

/// Messages sent and received by every way there is, in turn: those of a pair match in the order of their sends, and
/// receives that are posted come before those that take their message at once.
pub fn fast_paths_keep_the_order<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    const COUNT: usize = 200;
    for seed in 0..SEEDS * 2 {
        let (mut world, mut random) = (make(2, seed), Rng::new(seed));
        let mut sends: Vec<(Message, Option<ReqId>)> = Vec::new();
        let mut posted = VecDeque::new();
        let mut taken = 0;
        // The fewer messages are under way, the more of them are taken from the transport, and not kept before.
        let mut ahead = 1;
        let mut rounds = 0;
        while taken < COUNT || !posted.is_empty() {
            rounds += 1;
            assert!(rounds < MOST_POLLS, "messages are stuck: {taken} are taken or posted for");
            match random.index(4) {
                0 if sends.len() < COUNT.min(taken + ahead) => {
                    let message = Message {
                        mode: random.pick(&[Mode::Standard, Mode::Standard, Mode::Synchronous]),
                        ..Message::new(sends.len(), 2, random.pick(&LENGTHS))
                    };
                    let id = send_somehow(&mut world, &mut random, &message);
                    sends.push((message, id));
                }
                1 if taken < sends.len() => {
                    if let Some((done, buffer)) = receive_somehow(&mut world, &mut random) {
                        world.check(&done, buffer, &sends[taken].0);
                        taken += 1;
                    }
                }
                2 if taken < sends.len() && random.index(4) == 0 => {
                    let (id, buffer) = post_somehow(&mut world, &mut random);
                    posted.push_back((id, buffer, taken));
                    taken += 1;
                }
                _ => {
                    ahead = 1 + random.index(6);
                    world.progress(0);
                    if random.index(3) == 0 {
                        world.progress(1);
                    }
                    while let Some(&(id, buffer, number)) = posted.front() {
                        let (layer, btl) = world.end(1);
                        let Some(done) = layer.take_awaited(btl, id, 3) else { break };
                        world.check(&done, buffer, &sends[number].0);
                        posted.pop_front();
                    }
                }
            }
        }
        for (message, send) in sends {
            world.sent(&message, send);
        }
        world.finish();
    }
}

fn send_somehow<L: FastMessages<B>, B: Btl>(
    world: &mut Processes<L, B>,
    random: &mut Rng,
    message: &Message,
) -> Option<ReqId> {
    let buffer = world.filled(crate::world::content(message.number, message.len));
    let data = world.view(buffer);
    let to = message.target();
    let (layer, btl) = world.end(message.from);
    if message.mode == Mode::Standard {
        if message.len <= btl::SHORT && random.coin() {
            let origin = Origin::new(to.context, to.source);
            match layer.send_short(btl, to.peer, origin, to.tag, data) {
                Sent::Awake | Sent::Asleep(_) => return None,
                Sent::Full(_) | Sent::Refused => {}
            }
        } else if random.coin() && layer.send_now(btl, &to, data) {
            return None;
        }
    }
    world.isend(message.from, &to, Data::Contiguous(data), message.mode)
}

fn receive_somehow<L: FastMessages<B>, B: Btl>(
    world: &mut Processes<L, B>,
    random: &mut Rng,
) -> Option<(Done, Buffer)> {
    let buffer = world.buffer(100_002);
    let into = world.view(buffer);
    let exact = from(0, 2);
    let mut status = Status::EMPTY;
    let way = random.index(5);
    if way == 0 {
        // The message may have come as an offer, which this cannot take.
        let pattern = random.pick(&[exact, from(abi::ANY_SOURCE, abi::ANY_TAG)]);
        return world.recv_now(1, &pattern, into).map(|done| (done, buffer));
    }
    let (layer, btl) = world.end(1);
    let taken = match way {
        1 => layer.recv_short(btl, &exact, into, Some(&mut status)),
        2 => layer.recv_within(btl, &exact, into, Some(&mut status), 3),
        3 => layer.recv_kept(btl, &exact, into, Some(&mut status)),
        _ => layer.recv_longer(btl, &exact, into, Some(&mut status)),
    };
    let len = taken?;
    assert_eq!(status.bytes(), len as u64, "the length and the status agree");
    Some((Done { status, error: abi::SUCCESS, owner: OWNER }, buffer))
}

fn post_somehow<L: FastMessages<B>, B: Btl>(
    world: &mut Processes<L, B>,
    random: &mut Rng,
) -> (ReqId, Buffer) {
    let buffer = world.buffer(100_002);
    let into = world.view(buffer);
    let (layer, btl) = world.end(1);
    let fast = if random.coin() { layer.irecv_now(btl, &from(0, 2), into) } else { None };
    let id = fast.unwrap_or_else(|| world.irecv(1, &from(0, 2), Data::Contiguous(into)));
    (id, buffer)
}

/// Where nothing can be received, the receiving fast paths report that and write nothing.
pub fn refused_fast_paths_do_nothing<L: FastMessages<B>, B: Btl>(make: fn(u32, u64) -> Processes<L, B>) {
    for seed in 0..SEEDS {
        let (mut world, mut random) = (make(2, seed), Rng::new(seed));
        let wrong = Message::new(1, 3, random.pick(&LENGTHS));
        let send = world.start(&wrong);
        for _ in 0..200 {
            let buffer = world.buffer(100_002);
            let into = world.view(buffer);
            let pattern = from(0, 2);
            let way = random.index(6);
            if way == 0 {
                assert_eq!(world.recv_now(1, &pattern, into), None);
            }
            let (layer, btl) = world.end(1);
            match way {
                0 => {}
                1 => assert_eq!(layer.recv_short(btl, &pattern, into, None), None),
                2 => assert_eq!(layer.recv_within(btl, &pattern, into, None, 3), None),
                3 => assert_eq!(layer.recv_kept(btl, &pattern, into, None), None),
                4 => assert_eq!(layer.recv_longer(btl, &pattern, into, None), None),
                _ => {
                    world.step();
                }
            }
            world.untouched(world.bytes(buffer));
        }
        let receive = world.post(1, &from(0, 3), 100_002);
        world.got(receive, &wrong);
        world.sent(&wrong, send);
        world.finish();
    }
}
