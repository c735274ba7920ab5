//! Members that die at each message, each step, alone and several at once: those that live decide the same, and do decide.

use std::collections::VecDeque;

use chance::Rng;
use consensus::{Consensus, Decision, Message, Value};

#[derive(Clone, PartialEq, Eq, Debug)]
struct Bits(u64);

impl Value for Bits {
    fn combine(&mut self, other: &Bits) {
        self.0 &= other.0;
    }
}

/// All members, and what is on its way between them: messages of a pair stay in order, all else comes in any order.
struct World {
    members: Vec<Consensus<Bits>>,
    alive: Vec<bool>,
    /// By sender and receiver.
    ways: Vec<Vec<VecDeque<Message<Bits>>>>,
    /// Deaths of which a member does not know yet, in the order in which they were announced.
    news: Vec<VecDeque<u32>>,
    waiting: Vec<u32>,
    /// What a member has returned with, also one that died later.
    returned: Vec<Option<Decision<Bits>>>,
    sent: usize,
}

impl World {
    fn new(count: u32) -> World {
        let empty = || (0..count).map(|_| VecDeque::new()).collect();
        World {
            members: (0..count).map(|me| Consensus::new(count, me, [])).collect(),
            alive: vec![true; count as usize],
            ways: (0..count).map(|_| empty()).collect(),
            news: (0..count).map(|_| VecDeque::new()).collect(),
            waiting: (0..count).collect(),
            returned: vec![None; count as usize],
            sent: 0,
        }
    }

    /// Sends what `rank` has to send; it dies after `most` messages.
    fn flush(&mut self, rank: u32, most: &mut Option<usize>) {
        for (to, message) in self.members[rank as usize].take_messages() {
            if *most == Some(0) {
                return self.kill(rank);
            }
            *most = most.map(|left| left - 1);
            self.ways[rank as usize][to as usize].push_back(message);
            self.sent += 1;
        }
        if let Some(decision) = self.members[rank as usize].decision() {
            self.returned[rank as usize].get_or_insert_with(|| decision.clone());
        }
    }

    /// The launcher announces a death once nothing of the dead arrives any more.
    fn kill(&mut self, rank: u32) {
        if !std::mem::replace(&mut self.alive[rank as usize], false) {
            return;
        }
        self.news.iter_mut().for_each(|news| news.push_back(rank));
    }

    /// Everything that can happen next: a member begins, a message arrives, a death is heard of.
    fn events(&self) -> Vec<(u8, u32, u32)> {
        let lives = |rank: &u32| self.alive[*rank as usize];
        let begins = self.waiting.iter().filter(|rank| lives(rank)).map(|&rank| (0, rank, 0));
        let all = 0..self.members.len() as u32;
        let live: Vec<u32> = all.clone().filter(lives).collect();
        let arrivals = live.iter().flat_map(|&to| {
            let from = all.clone().filter(move |&from| !self.ways[from as usize][to as usize].is_empty());
            from.map(move |from| (1, to, from))
        });
        let news = live.iter().filter(|&&to| !self.news[to as usize].is_empty()).map(|&to| (2, to, 0));
        begins.chain(arrivals).chain(news).collect()
    }

    /// One event; the member that acts dies after `most` messages.
    fn act(&mut self, (what, rank, from): (u8, u32, u32), most: &mut Option<usize>) {
        let member = &mut self.members[rank as usize];
        match what {
            0 => {
                self.waiting.retain(|&waiting| waiting != rank);
                member.contribute(value(rank));
            }
            1 => {
                let message = self.ways[from as usize][rank as usize].pop_front().unwrap();
                // What a process has received of one that died then counts: it was sent before.
                member.hear(from, message);
            }
            _ => {
                let dead = self.news[rank as usize].pop_front().unwrap();
                self.ways[dead as usize][rank as usize].clear();
                member.has_died(dead);
            }
        }
        self.flush(rank, most);
    }

    fn check(&self, what: &str) {
        let live: Vec<usize> = (0..self.members.len()).filter(|&rank| self.alive[rank]).collect();
        let decisions: Vec<_> = live.iter().map(|&rank| self.members[rank].decision()).collect();
        assert!(decisions.iter().all(Option::is_some), "{what}: {decisions:?}, alive {live:?}");
        assert!(decisions.windows(2).all(|two| two[0] == two[1]), "{what}: {decisions:?}");
        let Some(Some(Decision { value: Bits(bits), dead })) = decisions.first() else { return };
        let given = (0..self.members.len() as u32).filter(|rank| !dead.contains(rank));
        assert_eq!(*bits, given.fold(u64::MAX, |all, rank| all & value(rank).0), "{what}");
        assert!(dead.iter().all(|&rank| !self.alive[rank as usize]), "{what}: {dead:?} live");
        for &rank in &live {
            assert_eq!(
                self.returned[rank].as_ref(),
                decisions[0].as_ref().map(|d| *d),
                "{what}: a result has changed"
            );
        }
    }
}

fn value(rank: u32) -> Bits {
    Bits(!(1 << (rank % 64)))
}

/// Runs to the end in an order that `random` chooses; at each of `kills` (numbers of events) the member that acts dies after a
/// few messages of that event.
fn run(count: u32, random: &mut Rng, kills: &[(usize, usize)]) -> World {
    let mut world = World::new(count);
    for step in 0.. {
        let events = world.events();
        if events.is_empty() {
            break;
        }
        let event = events[random.index(events.len())];
        let mut most = kills.iter().find(|kill| kill.0 == step).map(|kill| kill.1);
        let lives = world.alive.iter().filter(|&&alive| alive).count();
        let dies = most.is_some() && lives > 1;
        world.act(event, &mut most);
        if dies {
            world.kill(event.1);
        }
    }
    world
}

#[test]
fn without_deaths_all_decide_on_the_value_of_all() {
    for count in [1, 2, 3, 4, 5, 6, 21, 64, 200] {
        for seed in 0..20 {
            let world = run(count, &mut Rng::new(seed), &[]);
            world.check("no death");
            assert_eq!(world.sent, 2 * (count as usize - 1));
        }
    }
}

#[test]
fn a_death_at_each_event_and_each_message() {
    for count in 2..=7 {
        for seed in 0..6 {
            for step in 0..4 * count as usize {
                for most in 0..4 {
                    let world = run(count, &mut Rng::new(seed), &[(step, most)]);
                    world.check(&format!("{count} members, seed {seed}, death at {step} after {most}"));
                }
            }
        }
    }
}

#[test]
fn pairs_of_deaths() {
    for count in 3..=6 {
        for seed in 0..3 {
            for first in 0..3 * count as usize {
                for second in first + 1..5 * count as usize {
                    let most = (first + second) % 3;
                    let world = run(count, &mut Rng::new(seed), &[(first, most), (second, (most + 1) % 3)]);
                    world.check(&format!("{count} members, seed {seed}, deaths at {first} and {second}"));
                }
            }
        }
    }
}

#[test]
fn many_deaths_at_random() {
    for seed in 0..4000 {
        let mut random = Rng::new(seed);
        let count = 2 + random.index(30) as u32;
        let deaths = random.index(count as usize);
        let kills: Vec<_> =
            (0..deaths).map(|_| (random.index(8 * count as usize), random.index(4))).collect();
        let world = run(count, &mut random, &kills);
        world.check(&format!("seed {seed}"));
    }
}

/// 49,152 members in rounds: in each all that was sent in the one before arrives.
#[test]
fn a_large_job_decides_in_a_logarithmic_number_of_rounds() {
    const COUNT: u32 = 49_152;
    let dead = [0, 1, 2, 3, 700, 49_151];
    let live = |rank: &u32| !dead.contains(rank);
    let mut members: Vec<Consensus<Bits>> = (0..COUNT).map(|me| Consensus::new(COUNT, me, dead)).collect();
    let (mut rounds, mut sent, mut on_the_way) = (0, 0, Vec::new());
    for rank in (0..COUNT).filter(live) {
        members[rank as usize].contribute(value(rank));
        on_the_way.extend(
            members[rank as usize].take_messages().into_iter().map(|(to, message)| (rank, to, message)),
        );
    }
    while !on_the_way.is_empty() {
        (rounds, sent) = (rounds + 1, sent + on_the_way.len());
        let mut next = Vec::new();
        for (from, to, message) in on_the_way {
            let member = &mut members[to as usize];
            member.hear(from, message);
            next.extend(member.take_messages().into_iter().map(|(further, message)| (to, further, message)));
        }
        on_the_way = next;
    }
    let first = members[4].decision();
    assert!(
        first.is_some() && (0..COUNT).filter(live).all(|rank| members[rank as usize].decision() == first)
    );
    assert_eq!(sent, 2 * (COUNT as usize - dead.len() - 1));
    assert_eq!(rounds, 2 * 8);
}
