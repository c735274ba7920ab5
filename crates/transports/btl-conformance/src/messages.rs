//! Messages: delivery, order, back-pressure, fairness.

use std::collections::VecDeque;

use btl::{Btl, Full, MAX_HEADER_WORDS, Peer};

use crate::world::{Endpoints, Got, calls, take};
use crate::{fill, verify};

/// The limits of every pair make sense together.
pub fn limits_are_consistent<B: Btl>(world: Endpoints<B>) {
    for end in &world.ends {
        let limits = end.limits(Peer(world.receiver() as u32));
        assert!(limits.eager <= limits.max_send && limits.max_send > 0);
        assert!(limits.get_align.is_power_of_two());
        assert!(!limits.get || limits.max_get > 0);
        assert!(!limits.put || limits.max_put > 0);
    }
}

/// Payload of every size from nothing to `max_send` arrives whole.
pub fn every_size_arrives<B: Btl>(mut world: Endpoints<B>) {
    let to = world.receiver();
    let max = world.ends[0].limits(Peer(to as u32)).max_send;
    let sizes =
        (0..=200).chain((0..).map(|k| 200 + k * 97).take_while(|&size| size < max)).chain([max - 1, max]);
    for len in sizes.filter(|&len| len <= max) {
        let payload = fill(len as u64, len);
        world.send(0, to, &[len as u64, !0], &payload, &mut |_| panic!("nothing else was sent"));
        let expected = Got { from: Peer(0), header: vec![len as u64, !0], payload };
        assert_eq!(world.receive(to), expected);
    }
}

/// Headers of every allowed length arrive, with and without payload.
pub fn headers_of_every_length_arrive<B: Btl>(mut world: Endpoints<B>) {
    let to = world.receiver();
    for round in 0..64 {
        for words in 0..=MAX_HEADER_WORDS {
            let header: Vec<u64> = (0..words as u64).map(|word| word << 56 | round).collect();
            let len = [0, 1, 7, 8, 33, 64, 129, 1000][round as usize % 8];
            let payload = fill(round, len);
            world.send(0, to, &header, &payload, &mut |_| panic!("nothing else was sent"));
            assert_eq!(world.receive(to), Got { from: Peer(0), header, payload });
        }
    }
}

/// Short and long messages in one stream arrive once each.
///
/// The contract lets paths overtake each other, so this checks the set; each payload has its number.
pub fn a_stream_of_mixed_sizes_arrives_once<B: Btl>(mut world: Endpoints<B>) {
    const COUNT: u64 = 3000;
    let to = world.receiver();
    let max = world.ends[0].limits(Peer(to as u32)).max_send;
    let mut got = VecDeque::new();
    for number in 0..COUNT {
        let len =
            (number as usize * 7919) % [40, 300, 5000, max].map(|bound| bound.min(max))[number as usize % 4];
        world.send(0, to, &[number], &fill(number, len), &mut |message| got.push_back(message));
    }
    while got.len() < COUNT as usize {
        let next = world.receive(to);
        got.push_back(next);
    }
    let mut seen = vec![false; COUNT as usize];
    for message in got {
        let number = message.header[0];
        verify(number, 0, &message.payload);
        assert!(!core::mem::replace(&mut seen[number as usize], true), "message {number} arrived twice");
    }
    assert!(take(&mut world.ends[to]).is_none(), "more arrived than was sent");
}

/// A sender that finds no room can go on once the receiver has taken something, for all sizes.
pub fn back_pressure_is_temporary<B: Btl>(mut world: Endpoints<B>) {
    let to = world.receiver();
    let max = world.ends[0].limits(Peer(to as u32)).max_send;
    for len in [8, 100, 2000, 9000, max].map(|len| len.min(max)) {
        let mut sent = 0u64;
        while sent < 100_000 && world.try_send(0, to, &[sent], &fill(sent, len)) {
            sent += 1;
        }
        assert!(sent > 0, "an idle pair has no room for {len} bytes");
        for number in 0..sent {
            let message = world.receive(to);
            verify(message.header[0], 0, &message.payload);
            assert!(message.header[0] < sent, "message {number} of {sent}");
        }
        assert!(world.try_send(0, to, &[sent], &fill(sent, len)), "room did not come back for {len} bytes");
        world.receive(to);
    }
}

/// Where a sender is refused for want of what one peer has to give, messages to others leave; where they leave, the want is
/// that peer's.
pub fn a_full_peer_stops_no_other<B: Btl>(mut world: Endpoints<B>) {
    let (slow, other) = (world.receiver(), world.receiver() / 2);
    if other == 0 {
        return;
    }
    let max = world.ends[0].limits(Peer(slow as u32)).max_send;
    for len in [8, 1000, max].map(|len| len.min(max)) {
        let payload = fill(1, len);
        let mut sent = 0u64;
        while sent < 100_000 && world.try_send(0, slow, &[sent], &payload) {
            sent += 1;
        }
        let mut left = 0;
        for number in 0..10 {
            match world.ends[0].full(Peer(slow as u32)) {
                Some(Full::Peer) => {
                    world.send(0, other, &[number], &payload, &mut |_| panic!("nothing else was sent"));
                    assert_eq!(world.receive_beside(other, slow).header, [number]);
                }
                // Room may come between the question and the send, but not each time.
                Some(Full::All) if world.try_send(0, other, &[number], &payload) => {
                    assert_eq!(world.receive_beside(other, slow).header, [number]);
                    left += 1;
                }
                Some(Full::All) | None => break,
            }
        }
        assert!(left < 10, "{len} bytes: no peer is said to have room, and messages to others leave");
        (0..sent).for_each(|_| drop(world.receive(slow)));
        let has_room = calls().any(|_| {
            (0..=slow).for_each(|end| world.no_event(end));
            world.ends[0].full(Peer(slow as u32)).is_none()
        });
        assert!(has_room, "all was taken, and there is no room");
    }
}

/// Arrivals of one peer are that peer's alone, and those of the others stay for [`Btl::next_arrival`].
pub fn arrivals_of_one_peer_are_its_own<B: Btl>(mut world: Endpoints<B>) {
    const ROUNDS: usize = 20;
    let (to, other) = (world.receiver(), world.receiver() / 2);
    if other == 0 {
        return;
    }
    let mut got = 0;
    for _ in 0..ROUNDS {
        for from in [other, 0] {
            world.send(from, to, &[from as u64], &[0; 8], &mut |_| got += 1);
        }
    }
    for _ in calls() {
        for from in [0, other].map(|from| Peer(from as u32)) {
            while let Some(arrival) = world.ends[to].next_arrival_from(from) {
                assert_eq!((arrival.peer, arrival.header.word(0)), (from, u64::from(from.0)));
                world.ends[to].release(arrival);
                got += 1;
            }
        }
        got += usize::from(take(&mut world.ends[to]).is_some());
        if got == 2 * ROUNDS {
            return;
        }
        (0..world.ends.len()).for_each(|end| world.no_event(end));
    }
    panic!("{got} of {} messages arrive", 2 * ROUNDS);
}

/// Eager senders, and a receiver that is slower than all of them together.
struct Crowd<B: Btl> {
    world: Endpoints<B>,
    to: usize,
    senders: Vec<usize>,
    heard: Vec<usize>,
}

/// Rounds in which each sender may send two messages.
const ROUNDS: usize = 2000;

impl<B: Btl> Crowd<B> {
    fn new(world: Endpoints<B>) -> Crowd<B> {
        let to = world.receiver();
        let senders = (0..world.ends.len()).filter(|&end| end != to || end == 0).collect();
        let heard = vec![0; world.ends.len()];
        Crowd { world, to, senders, heard }
    }

    fn round(&mut self) {
        for &from in &self.senders {
            self.world.try_send(from, self.to, &[1], &[0; 8]);
            self.world.try_send(from, self.to, &[2], &[0; 8]);
            self.world.no_event(from);
        }
        for _ in &self.senders {
            if let Some(message) = take(&mut self.world.ends[self.to]) {
                self.heard[message.from.0 as usize] += 1;
            }
        }
    }

    /// Until many messages of each sender are there. A transport may get to know a sender better after some messages, and until
    /// then be deaf to it for a while.
    fn hear_all(&mut self) -> bool {
        calls().any(|_| {
            self.round();
            self.senders.iter().all(|&from| self.heard[from] >= ROUNDS / 4)
        })
    }
}

/// A receiver with several eager senders receives from all of them, from none much more than from another one.
pub fn many_senders_are_served_fairly<B: Btl>(world: Endpoints<B>) {
    let mut crowd = Crowd::new(world);
    crowd.hear_all();
    crowd.heard.fill(0);
    (0..ROUNDS).for_each(|_| crowd.round());
    let Crowd { senders, heard, .. } = &crowd;
    let all: usize = heard.iter().sum();
    for &from in senders {
        assert!(heard[from] * senders.len() * 2 > all, "sender {from} of {senders:?}: {heard:?}");
    }
}

/// A receiver with several eager senders receives from all of them in the end: what a transport promises where what is lost waits for
/// its repetition, by the clock, while others go on.
pub fn many_senders_are_all_served<B: Btl>(world: Endpoints<B>) {
    let mut crowd = Crowd::new(world);
    assert!(crowd.hear_all(), "of {:?}: {:?}", crowd.senders, crowd.heard);
}
