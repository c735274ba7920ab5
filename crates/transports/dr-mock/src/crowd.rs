//! Many processes in rounds over a network that loses frames, on virtual time: under data reliability, or over a network that itself
//! sends again what it loses.
//!
//! In round `r` of a pass each process sends to the one 2^r places after it, and goes on when it has what the one 2^r places before it has
//! sent: the pattern of a barrier or a short allreduce, in which one late frame holds up all.

use std::collections::BTreeMap;

use chance::Rng;
use dr::{Config, Full, Names, Pair, PathConfig, Port, Taken, Time};

/// What is done, and over which network.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Processes.
    pub ranks: u32,
    /// Passes through all rounds.
    pub passes: u32,
    /// Bytes that a process sends in a round.
    pub bytes: usize,
    /// Longest frame.
    pub frame: usize,
    /// Time from the end of a frame at its sender to its arrival.
    pub latency: Time,
    /// Bytes that leave in a microsecond.
    pub bandwidth: u64,
    /// Probability with which a frame is lost.
    pub loss: f64,
    /// Seed of what is lost.
    pub seed: u64,
}

/// How lost frames arrive after all.
#[derive(Clone, Copy, Debug)]
pub enum Repair {
    /// By data reliability, over paths of this kind.
    Pairs(PathConfig),
    /// The network notices each loss by itself, after a time, and sends the frame again.
    Network(Time),
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// When the last process had finished.
    pub time: Time,
    /// Frames of data that left, each time they did.
    pub frames: u64,
    /// Of these, those that had left before.
    pub resent: u64,
}

enum What {
    /// A frame from a process.
    Frame(u32, Vec<u64>, Vec<u8>),
    /// One that the network itself looks after: its round.
    Plain(usize),
    /// A pair wants a turn: its peer.
    Turn(u32),
}

#[derive(Default)]
struct Rank {
    pairs: BTreeMap<u32, Pair>,
    round: usize,
    /// Frames of this round that are still to be sent.
    to_send: usize,
    /// By round: frames that have arrived.
    got: Vec<usize>,
    /// When the wire is free again.
    free: Time,
}

struct Run {
    crowd: Crowd,
    repair: Repair,
    ranks: Vec<Rank>,
    /// What happens to which process, by time and in the order in which it was noted.
    events: BTreeMap<(Time, u64), (u32, What)>,
    rng: Rng,
    now: Time,
    number: u64,
    plain: Outcome,
    /// Processes that have gone through all rounds.
    finished: u32,
}

/// Keeps what leaves in one turn.
#[derive(Default)]
struct Kept(Vec<(Vec<u64>, Vec<u8>)>);

impl Port for Kept {
    fn transmit(&mut self, _path: u8, header: &[u64], body: &[u8]) -> Result<(), Full> {
        self.0.push((header.to_vec(), body.to_vec()));
        Ok(())
    }
}

impl Crowd {
    /// Runs it to its end.
    pub fn run(self, repair: Repair) -> Outcome {
        let mut ranks: Vec<Rank> = (0..self.ranks).map(|_| Rank::default()).collect();
        let rounds = self.rounds();
        ranks.iter_mut().for_each(|rank| rank.got = vec![0; rounds]);
        let plain = Outcome { time: 0, frames: 0, resent: 0 };
        let (events, rng) = (BTreeMap::new(), Rng::new(self.seed));
        let mut run = Run { crowd: self, repair, ranks, events, rng, now: 0, number: 0, plain, finished: 0 };
        for rank in 0..self.ranks {
            run.begin_round(rank);
        }
        while run.finished < self.ranks {
            let Some(((at, _), (rank, what))) = run.events.pop_first() else {
                panic!("nothing happens any more")
            };
            run.now = at;
            run.happen(rank, what);
        }
        let counts = run.ranks.iter().flat_map(|rank| rank.pairs.values()).map(Pair::counts);
        let (frames, resent) = counts.fold((run.plain.frames, run.plain.resent), |(frames, resent), one| {
            (frames + one.sent, resent + one.resent)
        });
        Outcome { time: run.now, frames, resent }
    }

    fn steps(&self) -> usize {
        (u32::BITS - (self.ranks.max(2) - 1).leading_zeros()) as usize
    }

    fn rounds(&self) -> usize {
        self.steps() * self.passes as usize
    }

    fn frames(&self) -> usize {
        self.bytes.div_ceil(self.frame).max(1)
    }
}

impl Run {
    fn begin_round(&mut self, rank: u32) {
        let one = &mut self.ranks[rank as usize];
        if one.round < self.crowd.rounds() {
            one.to_send = self.crowd.frames();
            self.send(rank);
        }
    }

    fn partner(&self, rank: u32) -> u32 {
        let distance = 1 << (self.ranks[rank as usize].round % self.crowd.steps());
        (rank + distance) % self.crowd.ranks
    }

    /// Sends what is left of a round, as far as there is room.
    fn send(&mut self, rank: u32) {
        let (peer, len) = (self.partner(rank), self.crowd.bytes.min(self.crowd.frame));
        let round = self.ranks[rank as usize].round;
        if let Repair::Network(again) = self.repair {
            for _ in 0..core::mem::take(&mut self.ranks[rank as usize].to_send) {
                let mut times = 0;
                while self.rng.chance(self.crowd.loss) {
                    times += 1;
                }
                self.plain.frames += 1 + times;
                self.plain.resent += times;
                let at = self.leave(rank, len) + self.crowd.latency + times * (again + self.crowd.latency);
                self.add(at, peer, What::Plain(round));
            }
            return;
        }
        while self.ranks[rank as usize].to_send > 0 {
            let pair = self.pair(rank, peer);
            if pair.send(&[round as u64], len, |to| to.fill(1)).is_err() {
                break;
            }
            self.ranks[rank as usize].to_send -= 1;
        }
        self.turn(rank, peer);
    }

    fn pair(&mut self, me: u32, peer: u32) -> &mut Pair {
        let path = match self.repair {
            Repair::Pairs(path) => path,
            Repair::Network(_) => unreachable!("the network has no pairs"),
        };
        let names = Names { me, peer, job: 1 };
        self.ranks[me as usize]
            .pairs
            .entry(peer)
            .or_insert_with(|| Pair::new(Config::default(), names, &[path]))
    }

    /// Lets a pair do what is due, and notes when it wants its next turn.
    fn turn(&mut self, rank: u32, peer: u32) {
        let (now, mut kept) = (self.now, Kept::default());
        self.pair(rank, peer).pump(now, &mut kept);
        for (header, body) in kept.0 {
            let at = self.leave(rank, header.len() * 8 + body.len()) + self.crowd.latency;
            if !self.rng.chance(self.crowd.loss) {
                self.add(at, peer, What::Frame(rank, header, body));
            }
        }
        if let Some(due) = self.pair(rank, peer).deadline() {
            self.add(due.max(now + 1), rank, What::Turn(peer));
        }
    }

    /// When the last byte of so many has left.
    fn leave(&mut self, rank: u32, bytes: usize) -> Time {
        let free = &mut self.ranks[rank as usize].free;
        *free = (*free).max(self.now) + (bytes as u64 + 64) * 1000 / self.crowd.bandwidth.max(1);
        *free
    }

    fn add(&mut self, at: Time, rank: u32, what: What) {
        self.number += 1;
        self.events.insert((at, self.number), (rank, what));
    }

    fn happen(&mut self, rank: u32, what: What) {
        let now = self.now;
        match what {
            What::Plain(round) => self.ranks[rank as usize].got[round] += 1,
            What::Frame(from, header, body) => {
                if let Taken::New { .. } = self.pair(rank, from).take(now, 0, &header, &body) {
                    let round = body.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word)) as usize;
                    self.ranks[rank as usize].got[round] += 1;
                }
                self.turn(rank, from);
            }
            What::Turn(peer) => {
                // An earlier one may have done it.
                if self.pair(rank, peer).deadline().is_some_and(|due| due <= now) {
                    self.turn(rank, peer);
                }
            }
        }
        if self.ranks[rank as usize].to_send > 0 {
            self.send(rank);
        }
        self.go_on(rank);
    }

    /// Begins the next round of a process that has all of this one.
    fn go_on(&mut self, rank: u32) {
        let frames = self.crowd.frames();
        loop {
            let one = &mut self.ranks[rank as usize];
            if one.to_send > 0 || one.got.get(one.round).is_none_or(|&got| got < frames) {
                return;
            }
            one.round += 1;
            self.finished += u32::from(one.round == one.got.len());
            self.begin_round(rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEMINI: Crowd = Crowd {
        ranks: 12,
        passes: 3,
        bytes: 8192,
        frame: 4000,
        latency: 1500,
        bandwidth: 5000,
        loss: 0.0,
        seed: 1,
    };

    #[test]
    fn all_end_and_losses_cost_time() {
        let path = PathConfig::of_network(4000);
        let frames = 12 * 4 * 3 * 3;
        for repair in [Repair::Pairs(path), Repair::Network(2000)] {
            let good = GEMINI.run(repair);
            assert_eq!((good.frames, good.resent), (frames, 0), "{repair:?}");
            let bad = Crowd { loss: 0.05, ..GEMINI }.run(repair);
            assert!(bad.time > good.time && bad.resent > 0 && bad.frames == frames + bad.resent, "{bad:?}");
        }
    }
}
