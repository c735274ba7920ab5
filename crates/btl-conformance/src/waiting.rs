//! Waiting: congestion, arming, and sleep in earnest.

use btl::{Btl, Peer};
use platform::futex;

use crate::world::{World, take, view};
use crate::{fill, verify};

/// Where a transport has a word for congestion, peers see it.
pub fn congestion_is_seen_by_peers<B: Btl>(mut world: World<B>) {
    let at = world.receiver();
    if at == 0 || !world.ends[at].advertise_congestion(true) {
        return;
    }
    assert!(world.ends[0].congested(Peer(at as u32)));
    world.ends[at].advertise_congestion(false);
    assert!(!world.ends[0].congested(Peer(at as u32)));
}

/// A message sent before arming is found by the look after it, or arming is refused.
pub fn arm_notices_what_is_there<B: Btl>(mut world: World<B>) {
    let at = world.receiver();
    world.send(0, at, &[1], b"early", &mut |_| {});
    world.ends[at].arm();
    assert_eq!(world.receive(at).payload, b"early");
    world.ends[at].disarm();
}

/// A message sent after arming changes the word, so that a sleep on it ends; repeatedly.
pub fn a_message_after_arm_wakes<B: Btl>(mut world: World<B>) {
    let at = world.receiver();
    for round in 0..50 {
        while take(&mut world.ends[at]).is_some() {}
        if let Some(sleep) = world.ends[at].arm() {
            assert!(take(&mut world.ends[at]).is_none());
            world.send(0, at, &[round], b"wake up", &mut |_| {});
            // Were the word unchanged, nobody would ever end this.
            futex::wait(sleep.word, sleep.expected);
        } else {
            world.send(0, at, &[round], b"wake up", &mut |_| {});
        }
        world.ends[at].disarm();
        assert_eq!(world.receive(at).header, [round]);
    }
}

/// For transports that promise it: who found no room and sleeps is woken when there is some again.
pub fn room_ends_a_sleep<B: Btl>(mut world: World<B>) {
    let at = world.receiver();
    let max = world.ends[0].limits(Peer(at as u32)).max_send;
    for len in [8, 1000, max] {
        let payload = fill(1, len);
        while world.try_send(0, at, &[7], &payload) {}
        let sleep = world.ends[0].arm();
        // The look after arming, which finds nothing new.
        assert!(!world.try_send(0, at, &[7], &payload));
        while take(&mut world.ends[at]).is_some() {}
        if let Some(sleep) = sleep {
            // Were the word unchanged, nobody would ever end this.
            futex::wait(sleep.word, sleep.expected);
        }
        world.ends[0].disarm();
        assert!(world.try_send(0, at, &[7], &payload), "no room for {len} bytes after a sleep for room");
        world.receive(at);
    }
}

/// Two threads exchange messages and sleep whenever there is nothing to do: no wake-up is lost.
pub fn a_sleeping_pair_talks<B: Btl + Send>(mut world: World<B>) {
    if world.ends.len() < 2 {
        return;
    }
    let last = world.receiver();
    let (left, right) = world.ends.split_at_mut(last);
    std::thread::scope(|scope| {
        let (one, other) = (&mut left[0], &mut right[0]);
        scope.spawn(move || talk(other, Peer(0), false));
        talk(one, Peer(last as u32), true);
    });
}

/// Sends and receives in turns, in bursts of changing length.
fn talk<B: Btl>(end: &mut B, peer: Peer, first: bool) {
    const TURNS: u64 = 3000;
    let max = end.limits(peer).max_send;
    for turn in 0..TURNS {
        let burst = 1 + turn % 5;
        let mine = (turn % 2 == 0) == first;
        for number in 0..burst {
            let seed = turn * 8 + number;
            let len = (seed as usize * 31) % [9, 200, max.min(20_000)][seed as usize % 3];
            if mine {
                let mut bytes = fill(seed, len);
                while end.send(peer, &[seed], &mut view(&mut bytes)).is_err() {
                    end.next_event();
                    std::thread::yield_now();
                }
            } else {
                receive_asleep(end, |number, payload| verify(number, 0, payload));
            }
        }
    }
}

/// Takes one message, asleep until it is there.
fn receive_asleep<B: Btl>(end: &mut B, check: impl Fn(u64, &[u8])) {
    loop {
        let sleep = end.arm();
        let got = take(end);
        if let (None, Some(sleep)) = (&got, sleep) {
            futex::wait(sleep.word, sleep.expected);
        }
        end.disarm();
        if let Some(message) = got {
            return check(message.header[0], &message.payload);
        }
    }
}
