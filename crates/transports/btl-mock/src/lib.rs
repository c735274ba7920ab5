//! A transport between virtual ranks of one process, as unpleasant as the contract of `btl` allows.
//!
//! Messages take one of several paths and overtake each other; rings are small and full; gets and puts are
//! refused, fail, and complete late and in any order; peers die. Everything follows from a seed, so a failing
//! test can be run again. The transport also checks its user: it panics on a call that the contract forbids.
//!
//! ```text
//!   Net ── port(0) ─┐                       ┌─ port(1)
//!                   │  path 0: ▢▢▢▢ ───►    │
//!                   └─ path 1: ▢▢▢▢ ───►  ──┘      at most `slots` messages each
//! ```
//!
//! For tests only: ranks run by turns in one thread and share one `RefCell`.

mod port;
mod rails;

use chance::Rng;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use btl::{Access, Event, Limits, Peer};
use mem::{PeerBytes, UserMem};

pub use port::Port;

/// How the network behaves. Chances are in percent.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of ranks.
    pub ranks: u32,
    /// Where everything random comes from.
    pub seed: u64,
    /// The same for every pair.
    pub limits: Limits,
    /// Independent paths per pair and direction.
    pub paths: usize,
    /// Messages that a path holds.
    pub slots: usize,
    /// Chance that a send, get, put or exposure is `Busy` although there is room.
    pub busy: u32,
    /// Chance that a get, put or exposure is `Unfit`.
    pub unfit: u32,
    /// Chance that a get or put fails later.
    pub failing: u32,
    /// Chance that a put which failed is stored later, with one bit changed, if its memory is still exposed.
    pub ghosts: u32,
    /// Chance that a put goes astray: is stored elsewhere in what one rank has exposed for puts of another, and reported as done. No
    /// contract allows that but [`btl::Ways`].
    pub astray: u32,
    /// Chance that something which has arrived or ended cannot be seen yet.
    pub late: u32,
    /// Whether there is a congestion word; without, `advertise_congestion` answers `false`.
    pub congestion_word: bool,
}

impl Options {
    /// A well-behaved network: one path, ample room, get and put.
    pub const fn new(ranks: u32) -> Options {
        let limits = Limits {
            eager: 4096,
            max_send: 32768,
            get: true,
            put: true,
            min_rdma: 4097,
            min_rdma_answer: 4097,
            max_get: usize::MAX,
            max_put: usize::MAX,
            get_align: 1,
        };
        Options {
            ranks,
            seed: 1,
            limits,
            paths: 1,
            slots: 1 << 12,
            busy: 0,
            unfit: 0,
            failing: 0,
            ghosts: 0,
            astray: 0,
            late: 0,
            congestion_word: true,
        }
    }
}

/// The network; ranks hold [`Port`]s of it.
pub struct Net {
    state: Rc<RefCell<State>>,
}

impl Net {
    /// A network without messages.
    pub fn new(options: Options) -> Net {
        let pairs = (options.ranks * options.ranks) as usize;
        let state = State {
            random: Rng::new(options.seed),
            paths: (0..pairs * options.paths).map(|_| VecDeque::new()).collect(),
            exposed: HashMap::new(),
            transfers: Vec::new(),
            ghosts: Vec::new(),
            events: (0..options.ranks).map(|_| VecDeque::new()).collect(),
            congested: vec![false; options.ranks as usize],
            dead: vec![false; options.ranks as usize],
            keys: 0,
            trespasses: 0,
            options,
        };
        Net { state: Rc::new(RefCell::new(state)) }
    }

    /// The transport of `rank`.
    pub fn port(&self, rank: u32) -> Port {
        Port::new(rank, Rc::clone(&self.state))
    }

    /// Ends a rank: its messages and transfers vanish, the others get an event.
    pub fn kill(&self, rank: u32) {
        self.state.borrow_mut().kill(rank);
    }

    /// Messages and transfers under way.
    pub fn under_way(&self) -> usize {
        let state = self.state.borrow();
        state.paths.iter().map(VecDeque::len).sum::<usize>() + state.transfers.len()
    }

    /// Gets and puts with a key that was not given to that rank for that use, was concealed meanwhile, or beyond
    /// the exposed memory. They fail. Honest ranks cause none.
    pub fn trespasses(&self) -> usize {
        self.state.borrow().trespasses
    }

    /// Exposures that were not concealed.
    pub fn exposures(&self) -> usize {
        self.state.borrow().exposed.len()
    }
}

struct State {
    options: Options,
    random: Rng,
    /// By sender, receiver and path.
    paths: Vec<VecDeque<Packet>>,
    exposed: HashMap<u64, Exposure>,
    transfers: Vec<Transfer>,
    ghosts: Vec<Ghost>,
    events: Vec<VecDeque<Event>>,
    congested: Vec<bool>,
    dead: Vec<bool>,
    /// Last key given out.
    keys: u64,
    trespasses: usize,
}

struct Packet {
    header: Vec<u8>,
    payload: Vec<u8>,
}

struct Exposure {
    owner: u32,
    peer: Peer,
    memory: UserMem,
    access: Access,
}

/// A get or put under way.
struct Transfer {
    rank: u32,
    peer: Peer,
    local: UserMem,
    key: u64,
    offset: u64,
    access: Access,
    cookie: u64,
}

/// A put that has failed and is under way all the same.
struct Ghost {
    key: u64,
    offset: u64,
    bytes: Vec<u8>,
}

impl State {
    fn chance(&mut self, percent: u32) -> bool {
        percent != 0 && self.random.below(100) < percent as u64
    }

    fn path(&mut self, from: u32, to: u32, path: usize) -> &mut VecDeque<Packet> {
        let pair = (from * self.options.ranks + to) as usize;
        &mut self.paths[pair * self.options.paths + path]
    }

    fn kill(&mut self, rank: u32) {
        self.dead[rank as usize] = true;
        for other in 0..self.options.ranks {
            for path in 0..self.options.paths {
                self.path(rank, other, path).clear();
                self.path(other, rank, path).clear();
            }
            self.events[other as usize].push_back(Event::PeerLost(Peer(rank)));
        }
        self.transfers.retain(|transfer| transfer.rank != rank && transfer.peer.0 != rank);
        self.exposed.retain(|_, exposure| exposure.owner != rank);
    }

    /// Lets one transfer of `rank` happen, if there is any.
    fn run_transfer(&mut self, rank: u32) {
        self.run_ghost();
        let mine: Vec<usize> =
            (0..self.transfers.len()).filter(|&i| self.transfers[i].rank == rank).collect();
        if mine.is_empty() {
            return;
        }
        let chosen = mine[self.random.below(mine.len() as u64) as usize];
        let transfer = self.transfers.swap_remove(chosen);
        let Options { failing, astray, .. } = self.options;
        let event = if self.chance(failing) {
            self.haunt(&transfer);
            Event::Failed(transfer.cookie)
        } else if transfer.access == Access::Write && self.chance(astray) {
            self.stray(&transfer);
            Event::Done(transfer.cookie)
        } else if self.transfer(&transfer) {
            Event::Done(transfer.cookie)
        } else {
            Event::Failed(transfer.cookie)
        };
        self.events[rank as usize].push_back(event);
    }

    /// A put that fails becomes a ghost, perhaps.
    fn haunt(&mut self, transfer: &Transfer) {
        let Transfer { local, key, offset, access, .. } = *transfer;
        let ghosts = self.options.ghosts;
        if access == Access::Write && self.chance(ghosts) {
            let mut bytes = local.as_bytes().to_vec();
            let at = self.random.index(bytes.len());
            bytes[at] ^= 1;
            self.ghosts.push(Ghost { key, offset, bytes });
        }
    }

    /// Lets a ghost arrive now and then.
    fn run_ghost(&mut self) {
        if !self.ghosts.is_empty() && self.chance(20) {
            let ghost = self.random.index(self.ghosts.len());
            let Ghost { key, offset, bytes } = self.ghosts.swap_remove(ghost);
            if let Some(exposure) = self.exposed.get(&key) {
                exposure.memory.part(offset as usize, bytes.len()).write(PeerBytes::of(&bytes));
            }
        }
    }

    /// Stores a put somewhere in what is exposed to the same rank.
    fn stray(&mut self, transfer: &Transfer) {
        let Transfer { rank, peer, local, .. } = *transfer;
        let may = |exposure: &&Exposure| {
            exposure.owner == peer.0 && exposure.peer.0 == rank && exposure.access == Access::Write
        };
        let mut hit: Vec<(u64, UserMem)> = Vec::new();
        hit.extend(self.exposed.iter().filter(|(_, it)| may(it)).map(|(&key, it)| (key, it.memory)));
        hit.sort_by_key(|&(key, _)| key);
        if hit.is_empty() {
            return;
        }
        let (_, memory) = hit[self.random.index(hit.len())];
        let offset = self.random.index(memory.len());
        local.part(0, memory.len() - offset).copy_to(memory.part(offset, local.len()));
    }

    /// Moves the bytes, if the peer allowed it.
    fn transfer(&mut self, transfer: &Transfer) -> bool {
        let Transfer { rank, peer, local, key, offset, access, .. } = *transfer;
        let remote = self
            .exposed
            .get(&key)
            .filter(|exposure| {
                exposure.owner == peer.0 && exposure.peer.0 == rank && exposure.access == access
            })
            .map(|exposure| exposure.memory.part(offset as usize, local.len()))
            .filter(|remote| remote.len() == local.len());
        let Some(remote) = remote else {
            self.trespasses += 1;
            return false;
        };
        match access {
            Access::Read => remote.copy_to(local),
            Access::Write => local.copy_to(remote),
        };
        true
    }
}
