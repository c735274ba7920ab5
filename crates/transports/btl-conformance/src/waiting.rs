//! Waiting: congestion, arming, and sleep in earnest.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use btl::{Access, Btl, Event, Peer, Sleep};
use platform::{descriptor, futex};

use crate::world::{Endpoints, take, view};
use crate::{fill, verify};

/// Sleeps as the owner of `end` does after arming it. Without a wake-up this never ends.
pub(crate) fn sleep_on(sleep: Sleep) {
    match sleep {
        Sleep::Word { address, expected } => futex::wait(address, expected),
        Sleep::Descriptor(fd) => while !descriptor::wait_readable(fd, None) {},
    }
}

/// Whether something has ended the sleep already.
#[allow(unsafe_code)]
pub(crate) fn has_rung(sleep: Sleep) -> bool {
    match sleep {
        Sleep::Word { address, expected } => {
            // SAFETY: the contract of `Sleep`: the word stays mapped as long as the transport lives.
            let word = unsafe { AtomicU32::from_ptr(address as *mut u32) };
            word.load(Ordering::Acquire) != expected
        }
        Sleep::Descriptor(fd) => descriptor::wait_readable(fd, Some(Duration::ZERO)),
    }
}

/// Where a transport has a word for congestion, peers see it.
pub fn congestion_is_seen_by_peers<B: Btl>(mut world: Endpoints<B>) {
    let at = world.receiver();
    if at == 0 || !world.ends[at].advertise_congestion(true) {
        return;
    }
    assert!(world.ends[0].congested(Peer(at as u32)));
    world.ends[at].advertise_congestion(false);
    assert!(!world.ends[0].congested(Peer(at as u32)));
}

/// A message sent before arming is found by the poll after it, or arming is refused.
pub fn arm_notices_what_is_there<B: Btl>(mut world: Endpoints<B>) {
    let at = world.receiver();
    world.send(0, at, &[1], b"early", &mut |_| {});
    let armed = world.ends[at].arm().is_some();
    assert_eq!(world.receive(at).payload, b"early");
    if armed {
        world.ends[at].disarm();
    }
}

/// A message sent after arming changes the word, so that a sleep on it ends; repeatedly.
pub fn a_message_after_arm_wakes<B: Btl>(mut world: Endpoints<B>) {
    let at = world.receiver();
    for round in 0..50 {
        while take(&mut world.ends[at]).is_some() {}
        let sleep = world.ends[at].arm();
        if sleep.is_some() {
            assert!(take(&mut world.ends[at]).is_none());
        }
        world.send(0, at, &[round], b"wake up", &mut |_| {});
        if let Some(sleep) = sleep {
            sleep_on(sleep);
            world.ends[at].disarm();
        }
        assert_eq!(world.receive(at).header, [round]);
    }
}

/// A sender that found no room, and sleeps, is woken when there is some again, for messages of all sizes.
pub fn room_ends_a_sleep<B: Btl>(mut world: Endpoints<B>) {
    let at = world.receiver();
    let max = world.ends[0].limits(Peer(at as u32)).max_send;
    for len in [8, 1000, max].map(|len| len.min(max)) {
        let payload = fill(1, len);
        while world.try_send(0, at, &[7], &payload) {}
        let sleep = world.ends[0].arm();
        // The poll after arming, which finds nothing new.
        let refused = !world.try_send(0, at, &[7], &payload);
        while take(&mut world.ends[at]).is_some() {}
        if let Some(sleep) = sleep {
            if refused && !world.ends[0].must_arm_again() {
                sleep_on(sleep);
            }
            world.ends[0].disarm();
        }
        send_at_last(&mut world, at, &payload);
    }
}

/// Room that came back before the sender armed does not keep it asleep, also where a receiver that takes nothing holds a
/// part of what the sender sends with.
pub fn room_before_a_sleep_is_not_missed<B: Btl>(mut world: Endpoints<B>) {
    let (slow, fast) = (world.receiver(), world.receiver() / 2);
    if fast == 0 {
        return;
    }
    let max = world.ends[0].limits(Peer(fast as u32)).max_send;
    for payload in [9, 5000, max].map(|len| fill(3, len.min(max))) {
        let all = fill_and_drain(&mut world, fast, &payload);
        for wanted in [1, 4, 8, 12] {
            // A part only, so that room for the other receiver is left.
            let to_slow = wanted.min(all / 3);
            let held = (0..to_slow).take_while(|_| world.try_send(0, slow, &[3], &payload)).count();
            fill_and_drain(&mut world, fast, &payload);
            sleep_before_a_send(&mut world, fast, &payload);
            (0..held).for_each(|_| drop(world.receive(slow)));
        }
    }
}

/// Sends one message, for which there is room. Refused perhaps, since the sender need not see all room at once; then it arms and
/// tries once more.
fn sleep_before_a_send<B: Btl>(world: &mut Endpoints<B>, to: usize, payload: &[u8]) {
    let mut sent = world.try_send(0, to, &[7], payload);
    if !sent && let Some(sleep) = world.ends[0].arm() {
        sent = world.try_send(0, to, &[7], payload);
        if !sent && !world.ends[0].must_arm_again() {
            sleep_on(sleep);
        }
        world.ends[0].disarm();
    }
    if sent {
        world.receive(to);
    } else {
        send_at_last(world, to, payload);
    }
}

/// Sends to `at` until there is no room, then takes everything there; how many messages that was.
fn fill_and_drain<B: Btl>(world: &mut Endpoints<B>, at: usize, payload: &[u8]) -> usize {
    let mut sent = 0;
    while sent < 100_000 && world.try_send(0, at, &[7], payload) {
        sent += 1;
    }
    (0..sent).for_each(|_| drop(world.receive(at)));
    sent
}

/// Sends what was refused, now that the receiver has taken everything, and takes it there.
fn send_at_last<B: Btl>(world: &mut Endpoints<B>, at: usize, payload: &[u8]) {
    let mut others = 0;
    world.send(0, at, &[8], payload, &mut |_| others += 1);
    while world.receive(at).header != [8] {}
}

/// Two threads: a sender that sleeps whenever it finds no room, and a receiver that sleeps whenever it finds nothing. No
/// wake-up for room is lost.
pub fn a_blocked_sender_sleeps<B: Btl + Send>(mut world: Endpoints<B>) {
    const MESSAGES: u64 = 4000;
    let last = world.receiver();
    if last == 0 {
        return;
    }
    let (left, right) = world.ends.split_at_mut(last);
    let received = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = (&mut left[0], &mut right[0]);
        scope.spawn(move || {
            for number in 0..MESSAGES {
                // The receiver falls behind now and then.
                if number % 700 == 0 {
                    platform::waiter::give_way();
                }
                receive_asleep(receiver, |seed, payload| verify(seed, 0, payload));
            }
            received.store(true, Ordering::Release);
        });
        let max = sender.limits(Peer(last as u32)).max_send;
        for number in 0..MESSAGES {
            let len = (number as usize * 7919)
                % [40, 300, 5000, max].map(|bound| bound.min(max))[number as usize / 8 % 4];
            send_asleep(sender, Peer(last as u32), number, &mut fill(number, len));
        }
        // What a transport has taken may still need its sender's turns to leave.
        while !received.load(Ordering::Acquire) {
            assert_eq!(sender.next_event(), None);
            if let Some(arrival) = sender.next_arrival() {
                sender.release(arrival);
            }
            platform::waiter::give_way();
        }
    });
}

/// Sends one message, asleep while there is no room.
fn send_asleep<B: Btl>(end: &mut B, peer: Peer, number: u64, payload: &mut [u8]) {
    let mut send = |end: &mut B| end.send(peer, &[number], &mut view(payload)).is_ok();
    while !send(end) {
        assert_eq!(end.next_event(), None);
        let Some(sleep) = end.arm() else {
            platform::waiter::give_way();
            continue;
        };
        let sent = send(end);
        if !sent && !poll(end) && !end.must_arm_again() {
            sleep_on(sleep);
        }
        end.disarm();
        if sent {
            return;
        }
    }
}

/// Memory is read whose owner has polled and arms: what the owner does for the reader in the poll after that does not
/// keep it from sleeping only if the rest ends the sleep, room for the rest of the data for one.
pub fn a_get_in_the_last_poll_is_answered<B: Btl + Send>(mut world: Endpoints<B>) {
    const LEN: usize = 6 << 20;
    let at = world.receiver();
    let (name, reader_name) = (Peer(0), Peer(at as u32));
    let limits = *world.ends[at].limits(name);
    if at == 0 || !limits.get {
        return;
    }
    let len = LEN.min(limits.max_get);
    let (mut exposed, mut local) = (fill(4, len), vec![0; len]);
    let memory = view(&mut exposed);
    let (left, right) = world.ends.split_at_mut(at);
    let (owner, reader) = (&mut left[0], &mut right[0]);
    for round in 0..20 {
        local.fill(0);
        while poll(owner) {}
        let key = owner.expose(reader_name, memory, Access::Read).expect("memory can be exposed");
        let (read, seen) = (AtomicBool::new(false), AtomicBool::new(false));
        reader.get(name, view(&mut local), &key, 0, round).expect("a get begins");
        let armed = owner.arm();
        std::thread::scope(|scope| {
            let (reader, owner) = (&mut *reader, &mut *owner);
            let (read, seen) = (&read, &seen);
            scope.spawn(move || {
                let mut armed = armed;
                while !read.load(Ordering::Acquire) {
                    let happened = poll(owner);
                    seen.store(true, Ordering::Release);
                    if let Some(sleep) = armed {
                        if !happened && !owner.must_arm_again() {
                            sleep_on(sleep);
                        }
                        owner.disarm();
                    }
                    armed = owner.arm();
                }
                if armed.is_some() {
                    owner.disarm();
                }
            });
            // Takes nothing before the owner has found that there is no room.
            while !seen.load(Ordering::Acquire) {
                platform::waiter::give_way();
            }
            loop {
                match reader.next_event() {
                    Some(Event::Done(cookie)) if cookie == round => break,
                    Some(event) => panic!("{event:?} instead of the end of a get"),
                    None => platform::waiter::give_way(),
                }
            }
            read.store(true, Ordering::Release);
            // Ends the sleep.
            while reader.send(name, &[round], &mut view(&mut [])).is_err() {
                reader.next_event();
            }
        });
        owner.conceal(reader_name, key);
        verify(4, 0, &local);
    }
}

/// Takes what there is; whether that was anything.
fn poll<B: Btl>(end: &mut B) -> bool {
    let event = end.next_event().is_some();
    event | take(end).is_some()
}

/// Two threads exchange messages and sleep whenever there is nothing to do: no wake-up is lost.
pub fn a_sleeping_pair_talks<B: Btl + Send>(mut world: Endpoints<B>) {
    if world.ends.len() < 2 {
        return;
    }
    let last = world.receiver();
    let (left, right) = world.ends.split_at_mut(last);
    let done = &AtomicUsize::new(0);
    let run = move |end: &mut B, peer: Peer, first: bool| {
        talk(end, peer, first);
        poll_until_all_are_done(end, done, 2);
    };
    std::thread::scope(|scope| {
        let (one, other) = (&mut left[0], &mut right[0]);
        scope.spawn(move || run(other, Peer(0), false));
        run(one, Peer(last as u32), true);
    });
}

/// What a transport has taken may still need its sender's turns to leave, also a second time.
fn poll_until_all_are_done<B: Btl>(end: &mut B, done: &AtomicUsize, all: usize) {
    done.fetch_add(1, Ordering::Release);
    while done.load(Ordering::Acquire) < all {
        poll(end);
        platform::waiter::give_way();
    }
}

/// A thread for each endpoint sends to all others, and sleeps whenever there is nothing to do at the moment: all arrives once,
/// whatever the endpoints do by timers of their own.
pub fn sleeping_ranks_talk_to_all<B: Btl + Send>(mut world: Endpoints<B>) {
    let size = world.ends.len();
    let done = &AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (me, end) in world.ends.iter_mut().enumerate() {
            scope.spawn(move || {
                talk_to_all(end, me, size);
                poll_until_all_are_done(end, done, size);
            });
        }
    });
}

/// Sends to all others in turns, and takes what they send, asleep meanwhile.
fn talk_to_all<B: Btl>(end: &mut B, me: usize, size: usize) {
    const ROUNDS: u64 = 40;
    let others: Vec<usize> = (1..size).map(|step| (me + step) % size).collect();
    let each = || (0..ROUNDS).flat_map(|round| others.iter().map(move |&other| (round, other)));
    let (mut left, mut awaited) = (each(), each().collect::<HashSet<_>>());
    let mut next = left.next();
    let mut turn = |end: &mut B| {
        let sent = next.is_some_and(|(round, to)| {
            let len = if to < 4 { 5000 } else { 5 }.min(end.limits(Peer(to as u32)).max_send);
            end.send(Peer(to as u32), &[round], &mut view(&mut fill(round, len))).is_ok()
        });
        if sent {
            next = left.next();
        }
        assert_eq!(end.next_event(), None);
        let message = take(end);
        let came = message.is_some();
        if let Some(message) = message {
            let (round, from) = (message.header[0], message.from.0 as usize);
            assert!(awaited.remove(&(round, from)), "{round} from {from} at {me}");
            verify(round, 0, &message.payload);
        }
        (sent || came, next.is_none() && awaited.is_empty())
    };
    while !turn(end).1 {
        let Some(sleep) = end.arm() else {
            platform::waiter::give_way();
            continue;
        };
        let (happened, is_over) = turn(end);
        if !happened && !is_over && !end.must_arm_again() {
            sleep_on(sleep);
        }
        end.disarm();
    }
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
                    platform::waiter::give_way();
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
        if let Some(sleep) = sleep {
            if got.is_none() && !end.must_arm_again() {
                sleep_on(sleep);
            }
            end.disarm();
        }
        if let Some(message) = got {
            return check(message.header[0], &message.payload);
        }
    }
}
