//! Leaving: goodbyes, and what arrives of a process that has ended.

use btl::{Arrival, Btl, Class, Event, Farewells, Peer};

use crate::fill;
use crate::verify;
use crate::waiting::has_rung;
use crate::world::{Endpoints, calls, next_event};

/// What an endpoint has received, for [`Heard::take`].
#[derive(Default)]
struct Heard {
    messages: Vec<bool>,
    farewells: Farewells,
}

impl Heard {
    fn accept(&mut self, arrival: &Arrival) {
        if Class::of(arrival.header) == Some(Class::Farewell) {
            return self.farewells.accept(arrival);
        }
        let number = arrival.header.word(0) >> 8;
        verify(number, 0, &arrival.payload.to_vec());
        let place = &mut self.messages[number as usize];
        assert!(!core::mem::replace(place, true), "message {number} arrived twice");
    }

    /// Takes one message, if there is one.
    fn take<B: Btl>(&mut self, end: &mut B) {
        if let Some(arrival) = end.next_arrival() {
            self.accept(&arrival);
            end.release(arrival);
        }
    }

    fn is_complete(&self) -> bool {
        self.messages.iter().all(|&is_here| is_here)
    }
}

/// Header of message `number`, of the class of tests.
fn header(number: u64) -> u64 {
    u64::from(Class::Test.byte(0)) | number << 8
}

/// A process that has sent its goodbye and may end has sent all: it arrives once, also when the process is gone. The
/// end of its connections is no event but the loss of a peer that had left, and that comes last.
pub fn who_says_goodbye_has_sent_all<B: Btl>(mut world: Endpoints<B>) {
    const MESSAGES: usize = 200;
    let (at, count) = (world.receiver(), world.ends.len() as u32);
    if at == 0 {
        return;
    }
    let leaver = Peer(0);
    let max = world.ends[0].limits(Peer(at as u32)).max_send;
    let mut heard = Heard { messages: vec![false; MESSAGES], ..Heard::default() };
    for number in 0..MESSAGES as u64 {
        let len = [8, 300, 5000, max][number as usize % 4].min(max);
        let payload = fill(number, len);
        let sent = calls().any(|_| {
            let sent = world.try_send(0, at, &[header(number)], &payload);
            if !sent {
                heard.take(&mut world.ends[at]);
                world.no_event(0);
            }
            sent
        });
        assert!(sent, "a send stays busy although the receiver takes every message");
    }
    let mut own = Farewells::default();
    assert!(own.advance(&mut world.ends[0], count), "nothing is to be said before a process leaves");
    own.leave();
    let may_end = calls().any(|call| {
        // The receiver comes by rarely.
        if call % 8 == 7 {
            heard.take(&mut world.ends[at]);
        }
        (0..at).for_each(|end| world.no_event(end));
        world.ends[0].is_flushed() && own.may_end(&mut world.ends[0], count)
    });
    assert!(may_end, "a process that has said goodbye still may not end");
    let would_miss = world.ends[0].would_miss(Peer(at as u32));
    drop(world.ends.remove(0));
    let (others, receiver) = world.ends.split_at_mut(at - 1);
    let (mut is_lost, mut after) = (false, 0);
    for _ in calls() {
        heard.take(&mut receiver[0]);
        match next_event(&mut receiver[0]) {
            None => {}
            Some(Event::PeerLost(peer)) if peer == leaver => {
                assert!(
                    heard.is_complete() && heard.farewells.has_left(leaver),
                    "a peer that left is lost early"
                );
                is_lost = true;
            }
            Some(event) => panic!("{event:?} after a goodbye"),
        }
        for end in others.iter_mut() {
            let _ = next_event(end);
        }
        after += usize::from(heard.is_complete() && (!would_miss || heard.farewells.has_left(leaver)));
        if is_lost || after > 1000 {
            break;
        }
    }
    assert!(heard.is_complete(), "messages of a process that had said goodbye are missing");
    assert_eq!(
        heard.farewells.has_left(leaver),
        would_miss,
        "a goodbye comes to those who would miss a process"
    );
}

/// A process that ends without a word is lost to those that look for losses while they wait, once: first what it had sent
/// whole arrives.
pub fn an_end_without_a_word_is_noticed<B: Btl>(mut world: Endpoints<B>) {
    const MESSAGES: usize = 20;
    let at = world.receiver();
    if at == 0 {
        return;
    }
    let mut heard = Heard { messages: vec![false; MESSAGES], ..Heard::default() };
    for number in 0..MESSAGES as u64 {
        let sent = calls().any(|_| {
            let sent = world.try_send(0, at, &[header(number)], &fill(number, 100));
            if !sent {
                heard.take(&mut world.ends[at]);
                world.no_event(0);
            }
            sent
        });
        assert!(sent, "a send stays busy although the receiver takes every message");
    }
    let has_left = calls().any(|call| {
        if call % 8 == 7 {
            heard.take(&mut world.ends[at]);
        }
        (0..=at).for_each(|end| world.no_event(end));
        world.ends[0].is_flushed() && !world.ends[0].owes(Peer(at as u32))
    });
    assert!(has_left, "what was sent does not leave");
    drop(world.ends.remove(0));
    let (others, receiver) = world.ends.split_at_mut(at - 1);
    let receiver = &mut receiver[0];
    let must_look = receiver.must_look_for_losses();
    let (mut losses, mut after) = (0, 0);
    for call in calls() {
        heard.take(receiver);
        match next_event(receiver) {
            None => {}
            Some(Event::PeerLost(peer)) => {
                assert!(peer == Peer(0) && heard.is_complete(), "{peer:?} is lost early");
                losses += 1;
            }
            Some(event) => panic!("{event:?} at the end of a process"),
        }
        if must_look && call % 100 == 99 {
            receiver.look_for_losses(&[]);
        }
        for end in others.iter_mut() {
            let _ = next_event(end);
        }
        after += usize::from(losses > 0);
        if after > 1000 {
            break;
        }
    }
    assert!(heard.is_complete(), "messages that had left are missing");
    assert_eq!(losses, 1, "losses for one end of a process");
}

/// Has the first process send one message to the one at `at`, so that each may miss the other; what that has received.
fn meet<B: Btl>(world: &mut Endpoints<B>, at: usize) -> Heard {
    let mut heard = Heard { messages: vec![false], ..Heard::default() };
    world.send(0, at, &[header(0)], &fill(0, 8), &mut |_| panic!("nothing else was sent"));
    let arrived = calls().any(|_| {
        heard.take(&mut world.ends[at]);
        (0..at).for_each(|end| world.no_event(end));
        heard.is_complete()
    });
    assert!(arrived);
    heard
}

/// A process that comes back announces it: later goodbyes and returns count, in whatever order the words arrive.
pub fn who_comes_back_has_not_left<B: Btl>(mut world: Endpoints<B>) {
    let (at, count) = (world.receiver(), world.ends.len() as u32);
    if at == 0 {
        return;
    }
    let (mut own, mut heard) = (Farewells::default(), meet(&mut world, at));
    if !world.ends[0].would_miss(Peer(at as u32)) {
        return;
    }
    for round in 0..6 {
        if round % 2 == 0 {
            own.leave()
        } else {
            own.come_back()
        }
        let told = calls().any(|_| {
            heard.take(&mut world.ends[at]);
            world.no_event(0);
            own.advance(&mut world.ends[0], count) && heard.farewells.has_left(Peer(0)) == own.is_away()
        });
        assert!(told, "round {round} of goodbyes and returns is not heard");
    }
}

/// Two processes that leave at once, and come back at once, know of each other that they are back.
pub fn who_comes_back_learns_who_is_back<B: Btl>(mut world: Endpoints<B>) {
    let (at, count) = (world.receiver(), world.ends.len() as u32);
    if at == 0 {
        return;
    }
    meet(&mut world, at);
    let both = [(0, at), (at, 0)];
    if !both.iter().all(|&(end, peer)| world.ends[end].would_miss(Peer(peer as u32))) {
        return;
    }
    let mut farewells = both.map(|_| Farewells::default());
    for is_away in [true, false, true, false] {
        for own in &mut farewells {
            if is_away { own.leave() } else { own.come_back() }
        }
        // Both have sent their words before either takes the other's.
        let told = calls().any(|_| {
            (0..=at).for_each(|end| world.no_event(end));
            let mut all_told = true;
            for (&(end, _), own) in both.iter().zip(&mut farewells) {
                all_told &= own.advance(&mut world.ends[end], count);
            }
            all_told
        });
        assert!(told);
        let known = calls().any(|_| {
            for (&(end, peer), own) in both.iter().zip(&mut farewells) {
                if let Some(arrival) = world.ends[end].next_arrival() {
                    assert_eq!(
                        (Class::of(arrival.header), arrival.peer.0),
                        (Some(Class::Farewell), peer as u32)
                    );
                    own.accept(&arrival);
                    world.ends[end].release(arrival);
                }
            }
            (0..=at).for_each(|end| world.no_event(end));
            both.iter().zip(&farewells).all(|(&(_, peer), own)| own.has_left(Peer(peer as u32)) == is_away)
        });
        assert!(known, "away: {is_away}");
    }
}

/// The end of a process that was never talked to is noticed by those that await something of it.
pub fn an_awaited_end_is_noticed<B: Btl>(mut world: Endpoints<B>) {
    let at = world.receiver();
    if at == 0 || !world.ends[at].must_look_for_losses() {
        return;
    }
    drop(world.ends.remove(0));
    let others = at - 1;
    let mut losses = 0;
    for call in calls() {
        for end in &mut world.ends[..others] {
            let _ = next_event(end);
        }
        let receiver = &mut world.ends[others];
        assert!(receiver.next_arrival().is_none());
        match next_event(receiver) {
            None => {}
            Some(Event::PeerLost(Peer(0))) => losses += 1,
            Some(event) => panic!("{event:?} at the end of a process"),
        }
        if losses > 0 && call % 1000 == 0 {
            break;
        }
        if call % 100 == 99 {
            receiver.look_for_losses(&[Peer(0)]);
        }
    }
    if losses == 0 {
        // No transport hears of it, but the node shows it.
        let receiver = &mut world.ends[others];
        receiver.has_ended(Peer(0));
        let seen = calls().find_map(|_| {
            assert!(receiver.next_arrival().is_none());
            next_event(receiver)
        });
        assert_eq!(seen, Some(Event::PeerLost(Peer(0))));
    } else {
        assert_eq!(losses, 1, "losses for one end of a process");
    }
}

/// A thread that sleeps polls only after a ring, or after a look that has found something. So a look that begins a question whose
/// answer rings for no thread, and one after the owner has learned of an end from elsewhere, must ask for a poll.
pub fn a_sleeper_notices_an_end<B: Btl>(mut world: Endpoints<B>) {
    let at = world.receiver();
    if at == 0 {
        return;
    }
    meet(&mut world, at);
    // Nothing is left to poll for.
    for _ in 0..1000 {
        assert!(world.ends[at].next_arrival().is_none());
        (0..=at).for_each(|end| world.no_event(end));
    }
    drop(world.ends.remove(0));
    let (others, receiver) = world.ends.split_at_mut(at - 1);
    let receiver = &mut receiver[0];
    let mut lost = false;
    for look in 0..LOOKS {
        if look == LOOKS / 2 {
            receiver.has_ended(Peer(0));
        }
        let armed = receiver.arm();
        let must_poll = receiver.look_for_losses(&[Peer(0)]) || armed.is_none_or(has_rung);
        receiver.disarm();
        for _ in 0..if must_poll { POLLS } else { 0 } {
            assert!(receiver.next_arrival().is_none());
            lost |= next_event(receiver) == Some(Event::PeerLost(Peer(0)));
        }
        if lost {
            return;
        }
        for end in others.iter_mut() {
            let _ = next_event(end);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("a process that sleeps does not learn of the end of a peer");
}

/// Looks of a sleeper at most, and its polls after one that has found something.
const LOOKS: u32 = 400;
const POLLS: u32 = 100;
