//! Random programs of windows on virtual ranks, against an oracle that applies their operations one after the other: the
//! cuts of puts and gets, the network's atomic operations and flushes, whatever the order in which ranks and packets run.
//!
//! ```text
//!   memory of a rank   keys | tokens | words: some of each owner, some that all add to | bytes of each owner | origins and results
//! ```
//! A round is an epoch. In one that ends by a fence, only operations on the same bytes are kept apart by a flush; in one
//! under a lock each is flushed. Every rank owns a part of each other's memory, so the oracle knows what each operation
//! must find; and all ranks, the owner of the memory by its processor, add to words that they share.

use btl::Atomic;
use gni::Time;
use mem::{PeerBytes, UserMem};
use pml::ReqId;
use proptest::prelude::*;
use sim::paper::{FITTED, setup};
use sim::{Access, Cluster, DataDirection, Endpoint, Interface, Program, Remote, Setup, Speaks, Step};

const MOST_RANKS: usize = 8;
/// Operations of a rank in a round, at most.
const MOST: usize = 12;
/// Words of one owner, and those of all.
const OWNED: usize = 4;
const SUMS: usize = 4;
/// Bytes of one owner: beyond the limits of all protocols.
const BYTES: usize = 12 << 10;

const KEY: usize = Remote::BYTES;
const TOKENS: usize = (MOST_RANKS + 1) * KEY;
const WORDS: usize = 1024;
const DATA: usize = 2048;
const SCRATCH: usize = DATA + MOST_RANKS * BYTES;
/// Of one operation: its data, at any alignment.
const PLACE: usize = BYTES + 16;

#[derive(Clone, Debug)]
enum Action {
    Access {
        way: DataDirection,
        target: u32,
        at: usize,
        local: usize,
        data: Vec<u8>,
    },
    /// The rank itself is a target, too: `before` is what must be found, and where it is put.
    Change {
        target: u32,
        at: usize,
        change: Atomic,
        before: Option<(usize, Option<u64>)>,
    },
    Flush(u32),
    Meet,
    Compute(u64),
    /// Words and bytes of the rank must be these.
    Compare(Vec<u64>, Vec<u8>),
}

/// Numbers by chance.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn word(&mut self) -> u64 {
        (self.below(1 << 30) as u64) << 32 | self.below(1 << 30) as u64
    }
}

/// The memory of all ranks as it must be.
struct Oracle {
    words: Vec<Vec<u64>>,
    bytes: Vec<Vec<u8>>,
}

/// What each rank does, and what it must find.
fn programs(seed: u64, ranks: usize, rounds: usize) -> Vec<Vec<Action>> {
    let mut draws = Draws(seed);
    let mut all = vec![Vec::new(); ranks];
    let words = MOST_RANKS * OWNED + SUMS;
    let mut oracle =
        Oracle { words: vec![vec![0; words]; ranks], bytes: vec![vec![0; MOST_RANKS * BYTES]; ranks] };
    for _ in 0..rounds {
        let by_fence = draws.below(2) == 0;
        for (rank, actions) in all.iter_mut().enumerate() {
            let count = draws.below(MOST + 1);
            let mut moved = vec![false; ranks];
            for number in 0..count {
                operation(&mut draws, &mut oracle, (rank, number), by_fence, &mut moved, actions);
            }
            let targets = (0..ranks as u32).filter(|&target| target != rank as u32);
            actions.extend(targets.map(Action::Flush));
            actions.push(Action::Meet);
        }
        for (rank, actions) in all.iter_mut().enumerate() {
            actions.push(Action::Compare(oracle.words[rank].clone(), oracle.bytes[rank].clone()));
            actions.push(Action::Meet);
        }
    }
    all
}

fn operation(
    draws: &mut Draws,
    oracle: &mut Oracle,
    (rank, number): (usize, usize),
    by_fence: bool,
    moved: &mut [bool],
    actions: &mut Vec<Action>,
) {
    let target = draws.below(moved.len());
    let own = target == rank;
    let local = SCRATCH + number * PLACE + draws.below(8);
    if draws.below(3) == 0 {
        actions.push(Action::Compute(draws.below(20_000) as u64));
    }
    match draws.below(5) {
        kind @ 0..=2 if !own => {
            let len = match draws.below(4) {
                0 => 1 + draws.below(BYTES),
                1 => 8,
                _ => 1 + draws.below(200),
            };
            let at = rank * BYTES + draws.below(BYTES - len + 1);
            let theirs = &mut oracle.bytes[target][at..at + len];
            let way = if kind == 2 { DataDirection::Get } else { DataDirection::Put };
            let data = if way == DataDirection::Get {
                theirs.to_vec()
            } else {
                let data: Vec<u8> = (0..len).map(|_| draws.below(256) as u8).collect();
                theirs.copy_from_slice(&data);
                data
            };
            if std::mem::replace(&mut moved[target], true) && by_fence {
                actions.push(Action::Flush(target as u32));
            }
            actions.push(Action::Access { way, target: target as u32, at: DATA + at, local, data });
        }
        3 if !own => {
            let at = rank * OWNED + draws.below(OWNED);
            let word = &mut oracle.words[target][at];
            let operand = draws.word();
            let change = match draws.below(7) {
                0 => Atomic::Swap(operand),
                1 => Atomic::And(operand),
                2 => Atomic::Or(operand),
                3 => Atomic::Xor(operand),
                4 => Atomic::CompareSwap { expected: *word, new: operand },
                5 => Atomic::CompareSwap { expected: operand, new: 1 },
                _ => Atomic::Add(operand),
            };
            let local = SCRATCH + number * PLACE;
            let before = (draws.below(2) == 0).then_some((local, Some(*word)));
            *word = change.apply(*word);
            actions.push(Action::Change { target: target as u32, at: WORDS + 8 * at, change, before });
        }
        _ => {
            let at = MOST_RANKS * OWNED + draws.below(SUMS);
            let change = Atomic::Add(draws.word());
            oracle.words[target][at] = change.apply(oracle.words[target][at]);
            let local = SCRATCH + number * PLACE;
            let before = (draws.below(2) == 0).then_some((local, None));
            actions.push(Action::Change { target: target as u32, at: WORDS + 8 * at, change, before });
        }
    }
    if !by_fence && !own {
        actions.push(Action::Flush(target as u32));
    }
}

struct Rank {
    ranks: u32,
    actions: std::vec::IntoIter<Action>,
    now: Option<Action>,
    remotes: Vec<Option<Remote>>,
    access: Option<Access>,
    open: Option<Vec<ReqId>>,
    /// Where results are, and what must be found there.
    expected: Vec<(usize, Vec<u8>)>,
}

impl Rank {
    fn new(ranks: u32, actions: Vec<Action>) -> Rank {
        Rank {
            ranks,
            actions: actions.into_iter(),
            now: None,
            remotes: Vec::new(),
            access: None,
            open: None,
            expected: Vec::new(),
        }
    }

    fn others(&self, end: &Endpoint) -> impl Iterator<Item = u32> + use<> {
        let me = end.rank();
        (0..self.ranks).filter(move |&other| other != me)
    }

    /// Sends all others `say` and waits for what they send, of as many bytes, behind `into`.
    fn exchange(&mut self, end: &mut Endpoint, tag: i32, say: UserMem, into: usize) -> abi::Result<bool> {
        if self.open.is_none() {
            let mut open = Vec::new();
            for other in self.others(end) {
                let place = end.memory().part(into + other as usize * say.len(), say.len());
                open.push(end.irecv(other, tag, place)?);
                open.extend(end.isend(other, tag, say)?);
            }
            self.open = Some(open);
        }
        let open = self.open.get_or_insert_default();
        open.retain(|&id| !end.take(id));
        let over = open.is_empty();
        if over {
            self.open = None;
        }
        Ok(over)
    }

    fn meet_first(&mut self, end: &mut Endpoint) -> abi::Result<bool> {
        let say = end.memory().part(MOST_RANKS * KEY, KEY);
        if self.open.is_none()
            && let Some(other) = self.others(end).next()
        {
            say.write(PeerBytes::of(&end.expose(other)?));
        }
        if !self.exchange(end, 1, say, 0)? {
            return Ok(false);
        }
        let memory = end.memory();
        let remote = |other: u32| {
            let said = memory.part(other as usize * KEY, KEY);
            (other != end.rank()).then(|| end.remote(other, said))
        };
        self.remotes = (0..self.ranks).map(remote).collect();
        Ok(true)
    }

    fn remote(&self, of: u32) -> Remote {
        self.remotes[of as usize].expect("another rank")
    }

    /// Goes on with an action; whether it is over.
    fn act(&mut self, end: &mut Endpoint, action: &Action) -> abi::Result<bool> {
        match action {
            Action::Access { way, target, at, local, data } => {
                let local_memory = end.memory().part(*local, data.len());
                if self.access.is_none() {
                    if *way == DataDirection::Put {
                        local_memory.write(PeerBytes::of(data));
                    }
                    let remote = self.remote(*target);
                    self.access = Some(end.access((Interface::Mpi, *way), remote, local_memory, *at));
                }
                let Some(access) = &mut self.access else { return Ok(true) };
                if !end.begin(access)? {
                    return Ok(false);
                }
                self.access = None;
                if *way == DataDirection::Get {
                    self.expected.push((*local, data.clone()));
                }
            }
            Action::Change { target, at, change, .. } if *target == end.rank() => {
                let word = end.memory().part(*at, 8);
                let changed = change.apply(word.as_bytes().word(0));
                word.write(PeerBytes::of(&changed.to_ne_bytes()));
            }
            Action::Change { target, at, change, before } => {
                let into = before.map(|(local, _)| end.memory().part(local, 8));
                if !end.change(&self.remote(*target), *change, into, *at)? {
                    return Ok(false);
                }
                if let Some((local, Some(word))) = before {
                    self.expected.push((*local, word.to_ne_bytes().to_vec()));
                }
            }
            Action::Flush(target) => return end.is_flushed(&self.remote(*target)),
            Action::Meet => {
                let say = end.memory().part(TOKENS, 8);
                return self.exchange(end, 2, say, TOKENS + 8);
            }
            Action::Compute(time) => end.compute(Time(*time)),
            Action::Compare(words, bytes) => {
                let memory = end.memory();
                for (at, data) in self.expected.drain(..) {
                    assert_eq!(
                        memory.part(at, data.len()).as_bytes().to_vec(),
                        data,
                        "fetched by {}",
                        end.rank()
                    );
                }
                let found = memory.part(WORDS, 8 * words.len());
                let found: Vec<u64> = (0..words.len()).map(|index| found.as_bytes().word(index)).collect();
                assert_eq!(&found, words, "words of {}", end.rank());
                let found = memory.part(DATA, bytes.len()).as_bytes().to_vec();
                let wrong = found.iter().zip(bytes).position(|(found, expected)| found != expected);
                assert_eq!(wrong, None, "bytes of {}", end.rank());
            }
        }
        Ok(true)
    }
}

impl Program for Rank {
    fn memory(&self) -> usize {
        SCRATCH + MOST * PLACE
    }

    fn speaks(&self) -> Speaks {
        Speaks { within: true, between: true, meets: false }
    }

    fn step(&mut self, end: &mut Endpoint) -> abi::Result<Step> {
        if self.remotes.is_empty() && !self.meet_first(end)? {
            return Ok(Step::Waiting);
        }
        loop {
            let Some(action) = self.now.take().or_else(|| self.actions.next()) else { return Ok(Step::Done) };
            if !self.act(end, &action)? {
                self.now = Some(action);
                return Ok(Step::Waiting);
            }
            if let Action::Compute(_) = action {
                return Ok(Step::Computing);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn windows_hold_what_one_after_the_other_gives(
        seed in any::<u64>(), ranks in 2..=MOST_RANKS, rounds in 1..6usize, ranks_per_node in 1..4u32, adaptive in any::<bool>()
    ) {
        let machine = Setup { ranks_per_node, adaptive, vader: None, ..setup(FITTED) };
        let mut programs = programs(seed, ranks, rounds).into_iter();
        let make = |_| Rank::new(ranks as u32, programs.next().expect("one for each rank"));
        let mut cluster = Cluster::new(&machine, ranks as u32, make).expect("a cluster");
        cluster.run().expect("all ranks come to their ends");
        for rank in 0..ranks as u32 {
            let rank = cluster.program(rank).expect("a rank");
            prop_assert!(rank.actions.as_slice().is_empty() && rank.now.is_none());
        }
    }
}
