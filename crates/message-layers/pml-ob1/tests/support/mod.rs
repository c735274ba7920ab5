//! Virtual ranks with a machine each, and buffers for them.
#![allow(dead_code, unused_imports, reason = "each test program uses a part")]

use abi::Status;
use btl::{Alone, Bounds, Btl, Peer};
use btl_mock::{Net, Options, Port};
use mem::UserMem;
use pml::{Data, Done, MessageId, Mode, Pattern, ReqId, SendTo};
pub use pml::{FastMessages, LayerState, MessageLayer, Receives, Sends};
pub use pml_conformance::Strided;
use pml_ob1::{Config, Ob1};

/// A machine and its transport.
pub struct Rank {
    pub ob1: Ob1,
    pub port: Port,
    pub number: u32,
    /// What one poll takes.
    pub bounds: Bounds,
}

pub struct World {
    pub net: Net,
    pub ranks: Vec<Rank>,
}

impl World {
    pub fn new(options: Options, config: Config) -> World {
        let net = Net::new(options);
        let ranks = (0..options.ranks)
            .map(|number| Rank {
                ob1: Ob1::new(config),
                port: net.port(number),
                number,
                bounds: Bounds::USUAL,
            })
            .collect();
        World { net, ranks }
    }

    /// A world with default settings.
    pub fn plain(options: Options) -> World {
        World::new(options, Config::new(options.ranks))
    }

    /// Lets all processes make progress until nothing happens any more.
    pub fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 20 {
            let happened: usize = self.ranks.iter_mut().map(Rank::progress).sum();
            quiet = if happened == 0 { quiet + 1 } else { 0 };
        }
    }

    pub fn bad_frames(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.ob1.counters().bad_frames).sum()
    }

    /// Nothing may be left when all requests are complete.
    pub fn assert_clean(&self) {
        for rank in &self.ranks {
            let counters = rank.ob1.counters();
            assert!(rank.ob1.idle(), "rank {} is not idle", rank.number);
            assert_eq!(counters.bad_frames, 0, "rank {}", rank.number);
            assert_eq!(counters.unexpected_length, 0, "rank {}", rank.number);
            assert_eq!(counters.unexpected_bytes, 0, "rank {}", rank.number);
            assert_eq!(counters.posted_length, 0, "rank {}", rank.number);
        }
        assert_eq!(self.net.exposures(), 0);
        assert_eq!(self.net.trespasses(), 0);
        assert_eq!(self.net.under_way(), 0);
    }
}

impl Rank {
    pub fn progress(&mut self) -> usize {
        btl::poll(&mut Alone(&mut self.port, &mut self.ob1), self.bounds)
    }

    pub fn isend(&mut self, to: &SendTo, data: Data, mode: Mode) -> Option<ReqId> {
        if self.ob1.needs_poll(to.peer, &data, false) {
            self.progress();
        }
        self.ob1.isend(&mut self.port, to, data, mode).unwrap()
    }

    pub fn irecv(&mut self, pattern: &Pattern, into: Data) -> ReqId {
        self.ob1.irecv(&mut self.port, pattern, into).unwrap()
    }

    /// As a blocking receive looks for its message: first among those that are kept.
    pub fn recv_now(&mut self, pattern: &Pattern, into: UserMem) -> Option<Done> {
        let mut status = Status::EMPTY;
        if pattern.source >= 0
            && pattern.tag >= 0
            && self.ob1.recv_kept(&mut self.port, pattern, into, Some(&mut status)).is_some()
        {
            return Some(Done { status, error: abi::SUCCESS, owner: pattern.owner });
        }
        if let Some(done) = self.ob1.recv_now(&mut self.port, pattern, into) {
            return Some(done);
        }
        let arrival = match pattern.peer {
            Some(peer) => self.port.next_arrival_from(peer)?,
            None => self.port.next_arrival()?,
        };
        let done = self.ob1.accept_for(&mut self.port, &arrival, pattern, into);
        self.port.release(arrival);
        done
    }

    pub fn iprobe(&mut self, pattern: &Pattern) -> Option<Status> {
        self.ob1.iprobe(&mut self.port, pattern)
    }

    pub fn improbe(&mut self, pattern: &Pattern) -> abi::Result<Option<(MessageId, Status)>> {
        self.ob1.improbe(&mut self.port, pattern)
    }

    pub fn irecv_now(&mut self, pattern: &Pattern, into: UserMem) -> Option<ReqId> {
        self.ob1.irecv_now(&mut self.port, pattern, into)
    }

    pub fn take_awaited(&mut self, id: ReqId) -> Option<Done> {
        self.ob1.take_awaited(&mut self.port, id, 2)
    }

    pub fn cancel(&mut self, id: ReqId) {
        self.ob1.cancel(&mut self.port, id);
    }
}

/// To `peer` in context 0, from rank `source`.
pub fn to(peer: u32, source: u32, tag: i32) -> SendTo {
    SendTo { peer: Peer(peer), context: 0, source, tag, owner: 0 }
}

/// From `source`, which may be the wildcard, in context 0.
pub fn from(source: i32, tag: i32) -> Pattern {
    let peer = u32::try_from(source).ok().map(Peer);
    Pattern { context: 0, source, tag, peer, owner: 0 }
}

/// The view of a buffer that outlives its use: the tests keep every buffer until the end.
pub fn view(buffer: &mut [u8]) -> UserMem {
    // SAFETY: by the rule above; ranks run by turns in one thread.
    unsafe { UserMem::of(buffer) }
}

pub fn contiguous(buffer: &mut [u8]) -> Data {
    Data::Contiguous(view(buffer))
}

/// The bytes of message number `message`.
pub fn content(message: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (message * 31 + i * 7 + i / 251) as u8).collect()
}
