//! Active messages over the transport: order, bounds, answers, and sleep on both sides.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use active::{Active, Brought, Head, MAX_WORDS, Message, Refused, WINDOW};
use btl::{Btl, Class, Full, Peer};
use mem::PeerBytes;

use crate::waiting::sleep_on;
use crate::world::{self, Endpoints, calls};
use crate::{fill, verify};

/// Kinds of the messages here.
const ECHO: u8 = 3;
const QUIET: u8 = 30;

/// One process: its active messages, and what it has seen.
#[derive(Default)]
struct Process {
    active: Active,
    /// Requests from each process that were handled, and answers that came.
    handled: Vec<u64>,
    answers: Vec<Vec<u64>>,
    /// Answers are held back and given later.
    later: Option<VecDeque<(Peer, u64)>>,
}

impl Process {
    fn new(count: usize) -> Process {
        Process { handled: vec![0; count], answers: vec![Vec::new(); count], ..Process::default() }
    }

    /// Sends request `number`, whose length and words follow from it.
    fn request<B: Btl>(&mut self, btl: &mut B, to: Peer, number: u64, kind: u8) -> Result<(), Refused> {
        let payload = fill(number, length(number, Active::most(btl, to)));
        let words: Vec<u64> = (0..=number % MAX_WORDS as u64).map(|word| number << 8 | word).collect();
        let head = Head { class: Class::Test, kind, words: &words };
        self.active.request(btl, to, head, &mut PeerBytes::of(&payload))
    }

    fn answer<B: Btl>(&mut self, btl: &mut B, to: Peer, number: u64) {
        let payload = fill(!number, length(number / 3, Active::most(btl, to)));
        let head = Head { class: Class::Test, kind: ECHO, words: &[number] };
        self.active.answer(btl, to, head, &mut PeerBytes::of(&payload));
    }

    fn handle<B: Btl>(&mut self, btl: &mut B, message: &Message<'_>) {
        let (from, index) = (message.from, message.from.0 as usize);
        let payload = message.payload.to_vec();
        if message.is_answer {
            assert_eq!(message.kind, ECHO);
            let &[number] = message.words() else { panic!("an answer with other words") };
            verify(!number, 0, &payload);
            self.answers[index].push(number);
            return;
        }
        let number = self.handled[index];
        assert_eq!(payload.len(), length(number, Active::most(btl, from)));
        verify(number, 0, &payload);
        let words = (0..=number % MAX_WORDS as u64).map(|word| number << 8 | word);
        assert!(
            message.words().iter().copied().eq(words),
            "request {number} has other words, or came out of turn"
        );
        self.handled[index] += 1;
        match &mut self.later {
            _ if message.kind == QUIET => {}
            Some(later) => later.push_back((from, number)),
            None => self.answer(btl, from, number),
        }
    }

    /// Takes one arrival and goes on with what waits; whether anything happened.
    fn turn<B: Btl>(&mut self, btl: &mut B) -> bool {
        let Some(arrival) = btl.next_arrival() else {
            assert_eq!(btl.next_event(), None);
            return self.active.advance(btl) != 0;
        };
        let class = Class::of(arrival.header).expect("a class");
        assert_eq!(class, Class::Test);
        if let Brought::Message(message) = self.active.accept(class, &arrival) {
            let (from, is_answer) = (message.from, message.is_answer);
            self.handle(btl, &message);
            let mut next = self.active.handled(class, from, is_answer);
            while let Some(early) = next {
                self.handle(btl, &early.message());
                next = self.active.handled(class, from, false);
            }
        }
        btl.release(arrival);
        self.active.advance(btl);
        true
    }
}

/// Of the payload of request `number`.
fn length(number: u64, most: usize) -> usize {
    let bound = [1, 60, 5000, most + 1][number as usize % 4].min(most + 1);
    if number % 64 == 63 { most } else { (number as usize * 7919) % bound }
}

fn processes<B: Btl>(world: &Endpoints<B>) -> Vec<Process> {
    world.ends.iter().map(|_| Process::new(world.ends.len())).collect()
}

/// Every process sends requests to every process, itself included: each is handled once, in order, and answered once.
pub fn active_messages_are_ordered_and_answered<B: Btl>(mut world: Endpoints<B>) {
    const REQUESTS: u64 = 400;
    let mut processes = processes(&world);
    let reached: Vec<Vec<usize>> = world
        .ends
        .iter()
        .map(|end| (0..processes.len()).filter(|&to| end.reaches(Peer(to as u32))).collect())
        .collect();
    let mut sent: Vec<Vec<u64>> = reached.iter().map(|_| vec![0; processes.len()]).collect();
    let expected = |at: usize, from: usize| if reached[at].contains(&from) { REQUESTS } else { 0 };
    for _ in calls() {
        for (at, (process, end)) in processes.iter_mut().zip(&mut world.ends).enumerate() {
            for &to in &reached[at] {
                let number = &mut sent[at][to];
                while *number < REQUESTS && process.request(end, Peer(to as u32), *number, ECHO).is_ok() {
                    *number += 1;
                }
                assert!(process.active.outstanding(Class::Test, Peer(to as u32)) <= WINDOW);
            }
            while process.turn(end) {}
        }
        let over = processes.iter().enumerate().all(|(at, process)| {
            let all = |from| {
                process.handled[from] == expected(at, from)
                    && process.answers[from].len() as u64 == expected(at, from)
            };
            (0..reached.len()).all(all) && process.active.idle()
        });
        if over {
            break;
        }
    }
    for (at, process) in processes.iter_mut().enumerate() {
        for from in 0..reached.len() {
            assert_eq!(process.handled[from], expected(at, from), "requests from {from} at {at}");
            process.answers[from].sort_unstable();
            assert!(
                process.answers[from].iter().copied().eq(0..expected(at, from)),
                "answers from {from} at {at}"
            );
        }
        assert_eq!(process.active.bad_frames(), 0);
    }
}

/// A process that handles nothing is sent no more than a window; one that handles and answers nothing, neither; afterwards
/// all go on. A class that was refused is called again.
pub fn active_messages_are_bounded<B: Btl>(mut world: Endpoints<B>) {
    let at = world.receiver();
    let (mut processes, to) = (processes(&world), Peer(at as u32));
    let mut sent = 0;
    for round in 0..5 {
        let before = sent;
        processes[at].later = (round % 2 == 0).then(VecDeque::new);
        for _ in 0..10 * WINDOW {
            match processes[0].request(&mut world.ends[0], to, sent, ECHO) {
                Ok(()) => sent += 1,
                Err(refused) => assert_eq!(refused, Refused::Busy),
            }
        }
        let refused: Vec<Class> = processes[0].active.take_refused().collect();
        assert_eq!(refused, [Class::Test]);
        assert_eq!(processes[0].active.take_refused().next(), None);
        assert!(sent > before && sent - before <= u64::from(WINDOW), "{} were sent", sent - before);
        for _ in calls() {
            for (process, end) in processes.iter_mut().zip(&mut world.ends) {
                while process.turn(end) {}
            }
            let mut later = processes[at].later.take();
            while let Some((from, number)) = later.as_mut().and_then(VecDeque::pop_front) {
                processes[at].answer(&mut world.ends[at], from, number);
            }
            processes[at].later = later;
            if processes[0].answers[at].len() as u64 == sent {
                break;
            }
        }
        assert_eq!(processes[0].answers[at].len() as u64, sent, "all are answered");
    }
}

/// Answers that wait for a peer that takes nothing hold up none for others, where the transport reports that the want
/// of room is that peer's.
pub fn answers_wait_for_their_own_peer<B: Btl>(mut world: Endpoints<B>) {
    const MOST: u64 = 20_000;
    let (slow, other) = (world.receiver(), world.receiver() / 2);
    if other == 0 {
        return;
    }
    let (mut active, mut got) = (Active::new(), [0; 2]);
    let answer = |active: &mut Active, end: &mut B, to: usize, number: u64| {
        let head = Head { class: Class::Test, kind: ECHO, words: &[number] };
        active.answer(end, Peer(to as u32), head, &mut PeerBytes::of(&[1; 40]));
    };
    // The first of them waits before all that are for the other.
    let mut sent = [0; 2];
    for (to, sent) in [slow, other].into_iter().zip(&mut sent) {
        while *sent < MOST && world.ends[0].full(Peer(to as u32)).is_none() {
            answer(&mut active, &mut world.ends[0], to, *sent);
            *sent += 1;
        }
        answer(&mut active, &mut world.ends[0], to, *sent);
        *sent += 1;
    }
    if world.ends[0].full(Peer(slow as u32)) != Some(Full::Peer) {
        return;
    }
    let take = |world: &mut Endpoints<B>, active: &mut Active, at: usize, got: &mut u64, wanted: u64| {
        let all_came = calls().any(|_| {
            if let Some(message) = world::take(&mut world.ends[at]) {
                assert_eq!(message.from, Peer(0));
                *got += 1;
            }
            (0..slow).for_each(|end| world.no_event(end));
            active.advance(&mut world.ends[0]);
            *got == wanted
        });
        assert!(all_came, "{got} of {wanted} answers came");
    };
    take(&mut world, &mut active, other, &mut got[1], sent[1]);
    take(&mut world, &mut active, slow, &mut got[0], sent[0]);
}

/// Two threads that send requests without answers and sleep whenever nothing can be done: neither a message, nor a credit,
/// nor room is missed.
pub fn active_messages_end_a_sleep<B: Btl + Send>(mut world: Endpoints<B>) {
    if world.ends.len() < 2 {
        return;
    }
    const REQUESTS: u64 = 1500;
    let (count, last) = (world.ends.len(), world.receiver());
    let (left, right) = world.ends.split_at_mut(last);
    let done = &AtomicUsize::new(0);
    let run = move |end: &mut B, peer: Peer| {
        let (mut process, mut sent) = (Process::new(count), 0);
        let step = |process: &mut Process, end: &mut B, sent: &mut u64| {
            let before = *sent;
            while *sent < REQUESTS && process.request(end, peer, *sent, QUIET).is_ok() {
                *sent += 1;
            }
            process.turn(end) || *sent != before
        };
        while sent < REQUESTS || process.handled[peer.0 as usize] < REQUESTS {
            if step(&mut process, end, &mut sent) {
                continue;
            }
            let Some(sleep) = end.arm() else {
                platform::waiter::give_way();
                continue;
            };
            if !step(&mut process, end, &mut sent) && !end.must_arm_again() {
                sleep_on(sleep);
            }
            end.disarm();
        }
        // What a transport has taken may still need its sender's turns to leave, and the peer its credits.
        done.fetch_add(1, Ordering::Release);
        while done.load(Ordering::Acquire) < 2 {
            process.turn(end);
            platform::waiter::give_way();
        }
        assert_eq!(process.active.bad_frames(), 0);
    };
    std::thread::scope(|scope| {
        let (one, other) = (&mut left[0], &mut right[0]);
        scope.spawn(move || run(other, Peer(0)));
        run(one, Peer(last as u32));
    });
}
