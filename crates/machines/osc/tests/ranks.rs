//! Random programs of epochs on virtual ranks of one node, which take turns as chance has it: locks exclude, what an epoch
//! wrote is there when the next one reads it, and a rank that sleeps is rung in time, or all would sleep.
//!
//! ```text
//!   passive round   an exclusive lock of one target, shared ones of several, or one of all
//!   groups          post and start with groups that overlap, complete, wait
//!   fence           puts to all that were drawn
//! ```
//! Ranks go through the same rounds, but need not be in the same one.
#![cfg(not(loom))]

use osc::{Acquire, Announced, Epochs, Exposure, Passive, Shape, View, Wish, release};
use proptest::prelude::*;
use shm::sync::AtomicU64;

const MOST_RANKS: usize = 8;

#[derive(Clone, Debug)]
enum Step {
    Lock(u32, bool),
    LockAll,
    /// Under an exclusive lock: changes the first word of a target, and then the second.
    ChangeFirst(u32),
    ChangeSecond(u32),
    /// Under any lock: reads the two, which no exclusive lock has let any rank see apart.
    ReadFirst(u32),
    ReadSecond(u32),
    Unlock(u32),
    UnlockAll,
    Post(Vec<u32>),
    Start(Vec<u32>),
    /// Into the place that this rank has at a target.
    Put(u32, u64),
    Complete,
    Wait,
    Fence,
    /// What others have put is here.
    Expect(u32, u64),
}

struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The program of each rank, and how often each target's words are changed.
fn programs(draws: &mut Draws, ranks: usize, rounds: usize) -> (Vec<Vec<Step>>, Vec<u64>) {
    let (mut all, mut changes) = (vec![Vec::new(); ranks], vec![0; ranks]);
    for round in 0..rounds as u64 {
        match draws.below(4) {
            0 => groups(draws, &mut all, round + 1),
            1 => fences(draws, &mut all, round + 1),
            _ => all.iter_mut().for_each(|steps| passive(draws, steps, &mut changes)),
        }
    }
    (all, changes)
}

fn passive(draws: &mut Draws, steps: &mut Vec<Step>, changes: &mut [u64]) {
    let (ranks, first) = (changes.len(), draws.below(changes.len()) as u32);
    match draws.below(3) {
        0 => {
            let words = [Step::ChangeFirst(first), Step::ChangeSecond(first)];
            steps.extend([Step::Lock(first, true)].into_iter().chain(words).chain([Step::Unlock(first)]));
            changes[first as usize] += 1;
        }
        1 => {
            // In any order: shared locks that two ranks take crosswise.
            let second = draws.below(ranks) as u32;
            let targets = if second == first { vec![first] } else { vec![first, second] };
            steps.extend(targets.iter().map(|&target| Step::Lock(target, false)));
            steps.extend(
                targets.iter().flat_map(|&target| [Step::ReadFirst(target), Step::ReadSecond(target)]),
            );
            steps.extend(targets.iter().rev().map(|&target| Step::Unlock(target)));
        }
        _ => {
            steps.push(Step::LockAll);
            steps.extend([Step::ReadFirst(first), Step::ReadSecond(first), Step::UnlockAll]);
        }
    }
}

fn groups(draws: &mut Draws, all: &mut [Vec<Step>], value: u64) {
    let ranks = all.len();
    let reaches: Vec<Vec<bool>> =
        (0..ranks).map(|_| (0..ranks).map(|_| draws.below(3) == 0).collect()).collect();
    for (rank, steps) in all.iter_mut().enumerate() {
        let targets = (0..ranks as u32).filter(|&target| reaches[rank][target as usize]);
        let origins = (0..ranks as u32).filter(|&origin| reaches[origin as usize][rank]);
        let (targets, origins): (Vec<u32>, Vec<u32>) = (targets.collect(), origins.collect());
        steps.push(Step::Post(origins.clone()));
        steps.push(Step::Start(targets.clone()));
        steps.extend(targets.into_iter().map(|target| Step::Put(target, value)));
        steps.extend([Step::Complete, Step::Wait]);
        steps.extend(origins.into_iter().map(|origin| Step::Expect(origin, value)));
    }
}

fn fences(draws: &mut Draws, all: &mut [Vec<Step>], value: u64) {
    all.iter_mut().for_each(|steps| steps.push(Step::Fence));
    for rank in 0..all.len() {
        let target = draws.below(all.len());
        all[rank].push(Step::Put(target as u32, value));
        // Behind the fence that follows the puts of all.
        let origin = rank as u32;
        all[target].push(Step::Expect(origin, value));
    }
    for steps in all.iter_mut() {
        let begin = steps.iter().rposition(|step| matches!(step, Step::Fence)).unwrap_or(0);
        let (puts, expected): (Vec<Step>, Vec<Step>) =
            steps.drain(begin + 1..).partition(|step| matches!(step, Step::Put(..)));
        steps.extend(puts.into_iter().chain([Step::Fence]).chain(expected));
        // What is expected must not be overwritten by the next round.
        steps.push(Step::Fence);
    }
}

#[derive(Default)]
struct Rank {
    epochs: Epochs,
    announced: Announced,
    exposure: Option<Exposure>,
    /// The ranks that it has posted for last.
    exposed_to: Vec<u32>,
    /// What the step waits for.
    acquire: Option<Acquire>,
    goal: Option<u64>,
    started: Option<Vec<u32>>,
    held: usize,
    seen: u64,
    at: usize,
    asleep: bool,
}

struct Window {
    words: Vec<AtomicU64>,
    shape: Shape,
    /// Two words of each rank.
    pairs: Vec<[u64; 2]>,
    /// By target and origin.
    places: Vec<Vec<u64>>,
    rung: Vec<u32>,
}

impl Window {
    fn new(ranks: usize) -> Window {
        let shape = Shape::all(ranks);
        Window {
            words: (0..shape.words()).map(|_| AtomicU64::new(0)).collect(),
            shape,
            pairs: vec![[0; 2]; ranks],
            places: vec![vec![0; ranks]; ranks],
            rung: Vec::new(),
        }
    }

    /// One turn of a rank; `false`: it has to wait.
    fn turn(&mut self, me: u32, rank: &mut Rank, step: &Step) -> bool {
        let Window { words, shape, pairs, places, rung } = self;
        let view = View::new(words, *shape);
        let mut ring = |other: u32| rung.push(other);
        let wish = |rank: &mut Rank| match *step {
            Step::Lock(target, exclusive) => {
                rank.epochs.may_lock(target).expect("a lock");
                if exclusive { Wish::Exclusive(target) } else { Wish::Shared(target) }
            }
            _ => {
                rank.epochs.may_lock_all().expect("a lock of all");
                Wish::All
            }
        };
        match step {
            Step::Lock(..) | Step::LockAll => {
                let mut acquire = rank.acquire.take().unwrap_or_else(|| {
                    let wish = wish(rank);
                    Acquire::new(wish, me, rank.held > 0)
                });
                if !acquire.poll(view, me, &mut rank.announced, ring) {
                    rank.acquire = Some(acquire);
                    return false;
                }
                match *step {
                    Step::Lock(target, exclusive) => {
                        rank.epochs.lock(Passive { target, exclusive, checked: true });
                    }
                    _ => rank.epochs.lock_all(true),
                }
                rank.held += 1;
            }
            Step::ChangeFirst(target) => {
                rank.epochs.access(*target).expect("an epoch");
                pairs[*target as usize][0] += 1;
            }
            Step::ChangeSecond(target) => pairs[*target as usize][1] += 1,
            Step::ReadFirst(target) => {
                rank.epochs.access(*target).expect("an epoch");
                rank.seen = pairs[*target as usize][0];
            }
            Step::ReadSecond(target) => {
                assert_eq!(pairs[*target as usize], [rank.seen; 2], "a writer beside a reader of {target}");
            }
            Step::Unlock(target) => {
                let lock = rank.epochs.unlock(*target).expect("a lock that is held");
                release(view, lock.wish(*target).expect("a checked lock"), ring);
                rank.held -= 1;
            }
            Step::UnlockAll => {
                let wish = rank.epochs.unlock_all().expect("a lock of all");
                release(view, wish.expect("a checked lock"), ring);
                rank.held -= 1;
            }
            Step::Post(origins) => {
                rank.epochs.post().expect("an exposure");
                rank.exposed_to.clone_from(origins);
                for &origin in origins {
                    rank.exposure.as_mut().expect("an exposure").post(view, origin, me);
                    ring(origin);
                }
            }
            Step::Start(targets) => {
                let exposure = rank.exposure.as_mut().expect("an exposure");
                if rank.started.is_none() {
                    rank.epochs.may_start().expect("an access");
                    exposure.start(targets);
                    rank.started = Some(targets.clone());
                }
                if !exposure.is_posted(targets, |target| Exposure::posted(view, me, target)) {
                    return false;
                }
                rank.started = None;
                rank.epochs.start(targets.clone());
            }
            Step::Put(target, value) => {
                rank.epochs.access(*target).expect("an epoch");
                places[*target as usize][me as usize] = *value;
            }
            Step::Complete => {
                for &target in &rank.epochs.complete().expect("an access") {
                    Exposure::complete(view, me, target);
                    ring(target);
                }
            }
            Step::Wait => {
                rank.epochs.may_wait().expect("an exposure");
                let exposure = rank.exposure.as_ref().expect("an exposure");
                if !rank.exposed_to.iter().all(|&origin| exposure.has_completed(view, origin, me)) {
                    return false;
                }
                rank.epochs.waited();
            }
            Step::Fence => {
                if rank.goal.is_none() {
                    rank.epochs.fence(true).expect("a fence");
                    let (goal, last) = view.arrive();
                    rank.goal = Some(goal);
                    if last {
                        (0..view.ranks() as u32).for_each(ring);
                    }
                }
                if !rank.goal.is_some_and(|goal| view.is_open(goal)) {
                    return false;
                }
                rank.goal = None;
            }
            Step::Expect(origin, value) => {
                assert_eq!(places[me as usize][*origin as usize], *value, "put by {origin} at {me}");
            }
        }
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn epochs_hold_what_they_promise_in_any_order_of_turns(
        seed in any::<u64>(), ranks in 1..=MOST_RANKS, rounds in 1..30usize
    ) {
        let mut draws = Draws(seed);
        let (programs, changes) = programs(&mut draws, ranks, rounds);
        let mut window = Window::new(ranks);
        let mut all: Vec<Rank> = (0..ranks)
            .map(|_| Rank { exposure: Some(Exposure::new(ranks)), ..Rank::default() })
            .collect();
        loop {
            let awake = (0..ranks).filter(|&rank| !all[rank].asleep && all[rank].at < programs[rank].len());
            let awake: Vec<usize> = awake.collect();
            if awake.is_empty() {
                break;
            }
            let me = awake[draws.below(awake.len())];
            let rank = &mut all[me];
            // Some run on, others stop after each step.
            for _ in 0..=draws.below(4) {
                let Some(step) = programs[me].get(rank.at) else { break };
                if !window.turn(me as u32, rank, step) {
                    rank.asleep = true;
                    break;
                }
                rank.at += 1;
            }
            for other in window.rung.drain(..) {
                all[other as usize].asleep = false;
            }
        }
        for (rank, program) in all.iter().zip(&programs) {
            prop_assert_eq!(rank.at, program.len(), "all that are left sleep");
        }
        let expected: Vec<[u64; 2]> = changes.into_iter().map(|count| [count; 2]).collect();
        prop_assert_eq!(&window.pairs, &expected);
        prop_assert!(View::new(&window.words, window.shape).is_unlocked());
    }
}
