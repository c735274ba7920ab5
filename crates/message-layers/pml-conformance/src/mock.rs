//! A network that matches, between virtual ranks of one process, as unpleasant as the contract of `mtl` allows.
//!
//! Messages of different pairs overtake each other; calls are refused; events come late and in any order; long messages
//! leave their memory only when they are matched. Everything follows from a seed. The network also checks its user: it
//! panics on a call that the contract forbids.
//!
//! For tests only: ranks run by turns in one thread and share one `RefCell`.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use chance::Rng;
use mem::{PeerBytes, UserMem};
use mtl::{Busy, Claim, Event, Limits, Loss, Message, Mtl, Peer, Posted, Want};

/// How the network behaves. Chances are in percent.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of ranks.
    pub ranks: u32,
    /// Where everything random comes from.
    pub seed: u64,
    /// The same for all.
    pub limits: Limits,
    /// Longest payload in bytes that leaves its memory before it is matched.
    pub eager: usize,
    /// Messages under way that a pair holds.
    pub slots: usize,
    /// Chance that a call is `Busy` although there is room.
    pub busy: u32,
    /// Chance that something which has arrived or ended cannot be seen yet.
    pub late: u32,
}

impl Options {
    /// A well-behaved network with data beside the bits.
    pub const fn new(ranks: u32) -> Options {
        let limits =
            Limits { match_bits: 64, data_bits: 64, directed: true, inject: 64, max_message: 1 << 30 };
        Options { ranks, seed: 1, limits, eager: 4096, slots: 1 << 12, busy: 0, late: 0 }
    }
}

/// The network; ranks hold [`Port`]s of it.
pub struct Net {
    state: Rc<RefCell<State>>,
}

impl Net {
    /// A network without messages.
    pub fn new(options: Options) -> Net {
        let ranks = options.ranks as usize;
        let state = State {
            options,
            random: Rng::new(options.seed),
            flights: (0..ranks * ranks).map(|_| VecDeque::new()).collect(),
            ranks: (0..ranks).map(|_| Rank::default()).collect(),
        };
        Net { state: Rc::new(RefCell::new(state)) }
    }

    /// The interface of `rank`.
    pub fn port(&self, rank: u32) -> Port {
        let limits = self.state.borrow().options.limits;
        Port { me: rank as usize, limits, state: Rc::clone(&self.state) }
    }
}

struct State {
    options: Options,
    random: Rng,
    /// By sender and receiver.
    flights: Vec<VecDeque<Flight>>,
    ranks: Vec<Rank>,
}

#[derive(Default)]
struct Rank {
    posted: Vec<Receive>,
    unexpected: VecDeque<Flight>,
    claimed: HashMap<u32, Flight>,
    events: VecDeque<Event>,
    /// Last name given out.
    names: u32,
}

struct Receive {
    name: u32,
    want: Want,
    into: UserMem,
    cookie: u64,
}

struct Flight {
    message: Message,
    payload: Payload,
}

enum Payload {
    Copied(Vec<u8>),
    /// In the sender's memory, with its cookie.
    InPlace(UserMem, u64),
}

impl State {
    fn below(&mut self, bound: usize) -> usize {
        self.random.index(bound)
    }

    fn happens(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    fn refuse(&mut self) -> Result<(), Busy> {
        if self.happens(self.options.busy) { Err(Busy) } else { Ok(()) }
    }

    fn launch(&mut self, from: usize, to: Peer, bits: u64, data: u64, payload: Payload) -> Result<(), Busy> {
        let Limits { match_bits, data_bits, max_message, .. } = self.options.limits;
        assert_eq!(bits & !low(match_bits), 0, "bits that the user does not have");
        let len = match &payload {
            Payload::Copied(bytes) => bytes.len(),
            Payload::InPlace(memory, _) => memory.len(),
        } as u64;
        assert!(len <= max_message, "a message of {len} bytes");
        let pair = from * self.ranks.len() + to.0 as usize;
        if self.flights[pair].len() >= self.options.slots {
            return Err(Busy);
        }
        self.refuse()?;
        let message = Message { from: Peer(from as u32), bits, data: data & low(data_bits), len };
        self.flights[pair].push_back(Flight { message, payload });
        Ok(())
    }

    /// Brings `rank` what is under way to it.
    fn deliver(&mut self, rank: usize) {
        let ranks = self.ranks.len();
        let first = self.below(ranks);
        for from in (0..ranks).map(|n| (first + n) % ranks) {
            while !self.happens(self.options.late)
                && let Some(flight) = self.flights[from * ranks + rank].pop_front()
            {
                let Message { from, bits, .. } = flight.message;
                let posted = &mut self.ranks[rank].posted;
                let takes = |receive: &Receive| receive.want.takes(from, bits);
                let asks = |receive: &Receive| takes(receive) && receive.want.from.is_some();
                let first = posted.iter().position(asks).filter(|_| !self.options.limits.directed);
                match first.or_else(|| posted.iter().position(takes)) {
                    Some(place) => {
                        let receive = posted.remove(place);
                        self.store(rank, flight, receive.into, receive.cookie);
                    }
                    None => self.ranks[rank].unexpected.push_back(flight),
                }
            }
        }
    }

    fn store(&mut self, rank: usize, flight: Flight, into: UserMem, cookie: u64) {
        let stored = match &flight.payload {
            Payload::Copied(bytes) => into.write(PeerBytes::of(bytes)),
            Payload::InPlace(memory, _) => memory.copy_to(into),
        } as u64;
        self.ranks[rank].events.push_back(Event::Received { cookie, message: flight.message, stored });
        self.leave(flight);
    }

    /// The sender's memory is free.
    fn leave(&mut self, flight: Flight) {
        if let Payload::InPlace(_, cookie) = flight.payload {
            self.ranks[flight.message.from.0 as usize].events.push_back(Event::Sent(cookie));
        }
    }

    fn find(&self, rank: usize, want: &Want) -> Option<usize> {
        let takes = |flight: &Flight| want.takes(flight.message.from, flight.message.bits);
        self.ranks[rank].unexpected.iter().position(takes)
    }
}

/// As many bits, from the lowest.
fn low(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
}

/// The interface of one rank.
pub struct Port {
    me: usize,
    limits: Limits,
    state: Rc<RefCell<State>>,
}

impl Mtl for Port {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn send(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem, cookie: u64) -> Result<(), Busy> {
        let mut state = self.state.borrow_mut();
        if payload.len() > state.options.eager {
            return state.launch(self.me, to, bits, data, Payload::InPlace(payload, cookie));
        }
        let copied = Payload::Copied(payload.as_bytes().to_vec());
        state.launch(self.me, to, bits, data, copied)?;
        state.ranks[self.me].events.push_back(Event::Sent(cookie));
        Ok(())
    }

    fn inject(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem) -> Result<(), Busy> {
        assert!(payload.len() <= self.limits.inject, "{} bytes are too long to inject", payload.len());
        let copied = Payload::Copied(payload.as_bytes().to_vec());
        self.state.borrow_mut().launch(self.me, to, bits, data, copied)
    }

    fn recv(&mut self, want: &Want, into: UserMem, cookie: u64) -> Result<Posted, Busy> {
        let mut state = self.state.borrow_mut();
        state.refuse()?;
        let rank = &mut state.ranks[self.me];
        rank.names = rank.names.wrapping_add(1);
        let name = rank.names;
        match state.find(self.me, want) {
            Some(place) => {
                let flight = state.ranks[self.me].unexpected.remove(place).expect("it was found");
                state.store(self.me, flight, into, cookie);
            }
            None => state.ranks[self.me].posted.push(Receive { name, want: *want, into, cookie }),
        }
        Ok(Posted(name))
    }

    fn peek(&mut self, want: &Want) -> Result<Option<Message>, Busy> {
        let mut state = self.state.borrow_mut();
        state.refuse()?;
        let place = state.find(self.me, want);
        Ok(place.map(|place| state.ranks[self.me].unexpected[place].message))
    }

    fn claim(&mut self, want: &Want) -> Result<Option<(Claim, Message)>, Busy> {
        let mut state = self.state.borrow_mut();
        state.refuse()?;
        let Some(place) = state.find(self.me, want) else { return Ok(None) };
        let rank = &mut state.ranks[self.me];
        let flight = rank.unexpected.remove(place).expect("it was found");
        let message = flight.message;
        rank.names = rank.names.wrapping_add(1);
        rank.claimed.insert(rank.names, flight);
        Ok(Some((Claim(rank.names), message)))
    }

    fn recv_claimed(&mut self, claim: Claim, into: UserMem, cookie: u64) -> Result<(), Busy> {
        let mut state = self.state.borrow_mut();
        state.refuse()?;
        let flight = state.ranks[self.me].claimed.remove(&claim.0).expect("a claimed message");
        state.store(self.me, flight, into, cookie);
        Ok(())
    }

    fn discard(&mut self, claim: Claim) -> Result<(), Busy> {
        let mut state = self.state.borrow_mut();
        state.refuse()?;
        let flight = state.ranks[self.me].claimed.remove(&claim.0).expect("a claimed message");
        state.leave(flight);
        Ok(())
    }

    fn cancel(&mut self, receive: Posted) {
        let rank = &mut self.state.borrow_mut().ranks[self.me];
        if let Some(place) = rank.posted.iter().position(|posted| posted.name == receive.0) {
            let over = rank.posted.remove(place);
            rank.events.push_back(Event::Cancelled(over.cookie));
        }
    }

    fn give_up(&mut self, peer: Peer) {
        let state = &mut *self.state.borrow_mut();
        let me = Peer(self.me as u32);
        let pair = self.me * state.ranks.len() + peer.0 as usize;
        let under_way = state.flights[pair].drain(..);
        let theirs = &mut state.ranks[peer.0 as usize].unexpected;
        let (ours, others) = theirs.drain(..).partition::<Vec<_>, _>(|flight| flight.message.from == me);
        theirs.extend(others);
        let gone: Vec<Flight> = under_way.chain(ours).collect();
        let rank = &mut state.ranks[self.me];
        for flight in gone {
            if let Payload::InPlace(_, cookie) = flight.payload {
                rank.events.push_back(Event::Failed(cookie));
            }
        }
        let posted = std::mem::take(&mut rank.posted);
        for receive in posted {
            if receive.want.from == Some(peer) {
                rank.events.push_back(Event::Cancelled(receive.cookie));
            } else {
                rank.posted.push(receive);
            }
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        let state = &mut *self.state.borrow_mut();
        state.deliver(self.me);
        let count = state.ranks[self.me].events.len();
        if count == 0 || state.happens(state.options.late) {
            return None;
        }
        let chosen = state.below(count);
        state.ranks[self.me].events.remove(chosen)
    }

    fn loss(&self, peer: Peer) -> Loss {
        Loss { seen: format!("virtual rank {} is gone", peer.0), advice: String::from("run the seed again") }
    }

    fn arm(&mut self) -> bool {
        false
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
