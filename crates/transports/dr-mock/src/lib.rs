//! Two processes under data reliability and the paths between them, on virtual time: events in order of time, faults that follow from
//! a seed, and an oracle of what was sent. For tests of `dr` and for `alhena sim dr`.
//!
//! What arrives twice, damaged or not at all is a panic: the machine has broken its promise.
#![forbid(unsafe_code)]

mod crowd;

pub use crowd::{Crowd, Outcome, Repair};

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use chance::Rng;
use dr::{Config, Full, Names, Pair, PathConfig, Port, Taken, Time};

/// One microsecond.
pub const MICROSECOND: Time = 1_000;
/// One millisecond.
pub const MILLISECOND: Time = 1_000_000;
/// One second.
pub const SECOND: Time = 1_000_000_000;

const JOB: u64 = 77;
/// Time that a frame takes.
const WAY: Time = 10 * MICROSECOND;

/// A path is cut from a time to another; whether from process 0 to 1, and back.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The path.
    pub path: u8,
    /// Its first moment.
    pub from: Time,
    /// The moment at which it is over.
    pub to: Time,
    /// From process 0 to 1, and back.
    pub directions: [bool; 2],
}

/// What happens to frames.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Probability with which a frame is lost.
    pub loss: f64,
    /// It arrives twice.
    pub twice: f64,
    /// One bit of the frame changes.
    pub damage: f64,
    /// It takes up to thirty times as long as others.
    pub late: f64,
    /// This bit of the first departure of each frame of data or acknowledgement changes, if it has so many.
    pub damaged_bit: Option<u64>,
    /// When paths carry nothing.
    pub cuts: Vec<Cut>,
}

/// A process.
pub struct End {
    /// Its side of the traffic.
    pub pair: Pair,
    /// Numbers of messages that were sent and are to be.
    sent: u64,
    to_send: u64,
    next_send: Time,
    got: Vec<bool>,
    /// It does nothing from a time to another.
    pub busy: Option<(Time, Time)>,
}

/// A frame under way.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    at: Time,
    number: u64,
    path: u8,
    header: Vec<u64>,
    body: Vec<u8>,
}

/// All of it.
pub struct World {
    /// The virtual time.
    pub now: Time,
    /// The two processes.
    pub ends: Vec<End>,
    /// Between two messages of a process.
    pub pause: Time,
    network: Network,
    most: usize,
}

struct Network {
    rng: Rng,
    faults: Faults,
    /// By receiver.
    frames: [BinaryHeap<Reverse<Frame>>; 2],
    count: u64,
    /// The time at which the path is free again, by direction and path.
    free: [[Time; 4]; 2],
    damaged: u64,
}

struct Wire<'a> {
    network: &'a mut Network,
    from: usize,
    now: Time,
}

impl Port for Wire<'_> {
    fn transmit(&mut self, path: u8, header: &[u64], body: &[u8]) -> Result<(), Full> {
        self.network.carry(self.from, path, header, body, self.now);
        Ok(())
    }
}

impl Network {
    fn carry(&mut self, from: usize, path: u8, header: &[u64], body: &[u8], now: Time) {
        let is_cut = self
            .faults
            .cuts
            .iter()
            .any(|cut| cut.path == path && (cut.from..cut.to).contains(&now) && cut.directions[from]);
        let free = &mut self.free[from][usize::from(path)];
        *free = (*free).max(now) + 100 + body.len() as u64 / 4;
        let leaves = *free;
        if is_cut || self.rng.chance(self.faults.loss) {
            return;
        }
        let copies = if self.rng.chance(self.faults.twice) { 2 } else { 1 };
        for _ in 0..copies {
            let mut header = header.to_vec();
            let mut body = body.to_vec();
            let bits = (header.len() * 64 + body.len() * 8) as u64;
            if self.rng.chance(self.faults.damage) {
                flip(&mut header, &mut body, self.rng.below(bits));
            }
            // Often enough that all kinds of frames have it, and not always: it ends.
            self.damaged += 1;
            if let Some(bit) = self.faults.damaged_bit
                && bit < bits
                && self.damaged.is_multiple_of(3)
            {
                flip(&mut header, &mut body, bit);
            }
            let late = if self.rng.chance(self.faults.late) { self.rng.below(30 * WAY) } else { 0 };
            self.count += 1;
            let (at, number) = (leaves + WAY + late, self.count);
            self.frames[1 - from].push(Reverse(Frame { at, number, path, header, body }));
        }
    }
}

fn flip(header: &mut [u64], body: &mut [u8], bit: u64) {
    let at = bit as usize;
    if at < header.len() * 64 {
        header[at / 64] ^= 1 << (at % 64);
    } else {
        body[(at - header.len() * 64) / 8] ^= 1 << (at % 8);
    }
}

/// Header and payload of a message.
fn message(from: usize, number: u64, most: usize) -> (Vec<u64>, Vec<u8>) {
    let words = (number % 9) as usize;
    let len = (number as usize * 7919) % (most - 64).max(1);
    let byte = |at: usize| (at as u64 * 31 + number * 7 + from as u64) as u8;
    ((0..words as u64).map(|word| word << 32 | number).collect(), (0..len).map(byte).collect())
}

impl World {
    /// Two processes that have sent nothing.
    ///
    /// # Panics
    /// There is no path.
    pub fn new(seed: u64, config: Config, paths: &[PathConfig], faults: Faults) -> World {
        let end = |me: u32| End {
            pair: Pair::new(config, Names { me, peer: 1 - me, job: JOB }, paths),
            sent: 0,
            to_send: 0,
            next_send: 0,
            got: Vec::new(),
            busy: None,
        };
        let network = Network {
            rng: Rng::new(seed),
            faults,
            frames: Default::default(),
            count: 0,
            free: [[0; 4]; 2],
            damaged: 0,
        };
        let most = paths.iter().map(|path| path.max).min().expect("a path");
        World { now: 0, ends: vec![end(0), end(1)], pause: 0, network, most }
    }

    /// Each process sends so many messages, and all have arrived before the time.
    ///
    /// # Panics
    /// They have not.
    pub fn run(&mut self, messages: u64, until: Time) {
        self.begin(messages);
        self.finish(until);
    }

    /// Each process is to send so many messages.
    pub fn begin(&mut self, messages: u64) {
        for end in &mut self.ends {
            end.to_send = messages;
            end.got = vec![false; messages as usize];
        }
    }

    /// Whether all that is to be sent has arrived; acknowledgements may be missing.
    pub fn all_is_there(&self) -> bool {
        self.ends.iter().all(|end| end.sent == end.to_send && end.got.iter().all(|&got| got))
    }

    /// From now on a path carries nothing from one process to the other for a time.
    pub fn cut(&mut self, path: u8, time: Time, directions: [bool; 2]) {
        let (from, to) = (self.now, self.now + time);
        self.network.faults.cuts.push(Cut { path, from, to, directions });
        // What is on its way is lost, too.
        for (direction, &is_cut) in directions.iter().enumerate() {
            self.network.frames[1 - direction].retain(|Reverse(frame)| !is_cut || frame.path != path);
        }
    }

    /// Lets time pass.
    pub fn go_on_until(&mut self, time: Time) {
        while self.now < time {
            self.turns();
            self.pass(time);
        }
    }

    /// Lets time pass until all has arrived and is acknowledged.
    ///
    /// # Panics
    /// That takes longer than until a time.
    pub fn finish(&mut self, until: Time) {
        loop {
            self.turns();
            if self.is_over() {
                return;
            }
            assert!(
                self.now < until,
                "it does not end: {:?}",
                self.ends.iter().map(|end| &end.pair).collect::<Vec<_>>()
            );
            self.pass(until);
        }
    }

    fn is_over(&self) -> bool {
        let over = |end: &End| end.sent == end.to_send && end.pair.is_flushed();
        self.ends.iter().all(|end| over(end) && end.got.iter().all(|&got| got))
    }

    /// Lets both processes do what they can.
    fn turns(&mut self) {
        for at in 0..2 {
            self.turn(at);
        }
    }

    /// Goes to the next time at which something happens.
    fn pass(&mut self, until: Time) {
        let mut next = until;
        for end in &self.ends {
            let mut wake = end.pair.deadline().unwrap_or(until);
            if end.sent < end.to_send && end.next_send > self.now {
                wake = wake.min(end.next_send);
            }
            if let Some((from, to)) = end.busy
                && (from..to).contains(&self.now)
            {
                wake = to;
            }
            next = next.min(wake);
        }
        for (end, frames) in self.ends.iter().zip(&self.network.frames) {
            let due = frames.peek().map(|Reverse(frame)| frame.at);
            let free = end.busy.filter(|(from, to)| (*from..*to).contains(&self.now)).map_or(0, |(_, to)| to);
            next = next.min(due.map_or(until, |due| due.max(free)));
        }
        self.now = next.max(self.now + 1);
    }

    fn turn(&mut self, at: usize) {
        let World { now, ends, pause, network, most } = self;
        let (now, end) = (*now, &mut ends[at]);
        let is_busy = end.busy.is_some_and(|(from, to)| (from..to).contains(&now));
        if is_busy {
            return;
        }
        while network.frames[at].peek().is_some_and(|Reverse(frame)| frame.at <= now) {
            let Some(Reverse(frame)) = network.frames[at].pop() else { break };
            if let Taken::New { words } = end.pair.take(now, frame.path, &frame.header, &frame.body) {
                end.check(1 - at, words, &frame.body, *most);
            }
            end.pair.pump(now, &mut Wire { network, from: at, now });
        }
        while end.sent < end.to_send && end.next_send <= now {
            let (header, payload) = message(at, end.sent, *most);
            let fill = |to: &mut [u8]| to.copy_from_slice(&payload);
            // Every other one without a look at the clock, where that can be.
            let sent = match end.sent % 2 {
                0 => end.pair.send(&header, payload.len(), fill),
                _ => {
                    let mut wire = Wire { network, from: at, now };
                    end.pair.send_at_once(&header, payload.len(), fill, &mut wire).map(drop)
                }
            };
            if sent.is_err() {
                break;
            }
            end.sent += 1;
            end.next_send = now + *pause;
            end.pair.pump(now, &mut Wire { network, from: at, now });
        }
        end.pair.pump(now, &mut Wire { network, from: at, now });
    }
}

impl End {
    /// The frame is one that was sent, whole, and for the first time.
    fn check(&mut self, from: usize, words: usize, body: &[u8], most: usize) {
        let (head, payload) = body.split_at(words * 8);
        // A header without words does not name its number: its payload's length does, among those that are missing.
        let number = match head.first_chunk::<8>() {
            Some(word) => u64::from_ne_bytes(*word) & 0xffff_ffff,
            None => {
                let fits = |&number: &u64| {
                    !self.got[number as usize] && number % 9 == 0 && message(from, number, most).1 == payload
                };
                (0..self.got.len() as u64)
                    .find(fits)
                    .expect("a message without a header was never sent, or twice")
            }
        };
        let (header, expected) = message(from, number, most);
        let header: Vec<u8> = header.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert!(head == header && payload == expected, "message {number} is damaged");
        let got = &mut self.got[number as usize];
        assert!(!std::mem::replace(got, true), "message {number} was handed up twice");
    }
}

/// What process 0 of another pair sends to process 1: data, and acknowledgements of what that never sent.
pub fn frames_of(config: Config, job: u64, count: u64) -> Vec<(Vec<u64>, Vec<u8>)> {
    struct Keep(Vec<(Vec<u64>, Vec<u8>)>);
    impl Port for Keep {
        fn transmit(&mut self, _path: u8, header: &[u64], body: &[u8]) -> Result<(), Full> {
            self.0.push((header.to_vec(), body.to_vec()));
            Ok(())
        }
    }
    let path = [PathConfig::of_network(4000)];
    let mut pair = Pair::new(config, Names { me: 0, peer: 1, job }, &path);
    let mut kept = Keep(Vec::new());
    for number in 0..count {
        let _ = pair.send(&[number], 100, |to| to.fill(1));
    }
    pair.pump(1, &mut kept);
    kept.0
}
