//! The route table: which transport reaches which peer.
//!
//! A record rather than a layer. Each peer has a route of one byte, found out when it is added; afterwards a send is one
//! predictable `match` on it and the transport's own code, inlined. To add a transport: a line in [`transports!`], a field
//! of [`Bml`], an argument of [`Bml::new`].
#![forbid(unsafe_code)]

#[macro_use]
mod each;
mod contract;
mod error;
mod selection;
mod sleep;
mod slot;
mod traffic;
mod variables;

use std::os::fd::BorrowedFd;
use std::sync::LazyLock;

pub use error::{SetupError, Unreachable};
pub use selection::{BtlParams, Selection};
pub use sleep::AtNode;
pub use traffic::Traffic;
pub use variables::VARIABLES;

use btl::{Btl, Peer, Route};
use btl_ofi::Ofi;
use btl_portals::Portals;
use btl_self::Loopback;
use btl_tcp::Tcp;
pub use btl_tcp::connects;
use btl_ugni::Ugni;
use btl_vader::Vader;
use gni::Time;
use gni_soft::SoftNic;
use gni_soft::host::HostNic;
use node::wakeup::Bell;
use portals_wire::Wire;
use slot::Slot;

macro_rules! declare {
    (() $($name:ident $field:ident,)*) => {
        /// How a peer is reached.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum Reached {
            $($name),*
        }

        impl Reached {
            const ALL: &[Reached] = &[$(Reached::$name),*];
        }
    };
}
transports!(declare());

/// The transports that reach `$peer`, with how long each declares that a typical message takes.
macro_rules! all_that_reach {
    (($bml:ident, $peer:expr) $($name:ident $field:ident,)*) => {
        [$($bml.$field.there().filter(|btl| btl.reaches($peer)).map(|btl| {
            (Reached::$name, btl.pace($peer).time(TYPICAL))
        })),*]
    };
}

/// Payload in bytes of the message by which ways are compared: between those where latency counts alone, and bandwidth.
const TYPICAL: u64 = 16 << 10;

/// The route of a process to itself. No other transport has such a place.
const TO_ITSELF: Route = Route(u32::MAX - 1);

/// The transport over Gemini as processes use it: over the NIC of their host, told the time by the host's clock.
pub type Gemini = Ugni<SoftNic<HostNic>, fn() -> Time>;

/// The transport over Portals as processes use it: over a NIC whose wire is a table of transports of its own.
pub type OverPortals = Portals<portals::Shared<SoftPortals>>;

/// A Portals NIC of a process.
pub type SoftPortals = portals_soft::SoftNic<Wire<Bml>>;

/// The transports that a table is made of, beside that of a process to itself.
#[derive(Debug, Default)]
pub struct Transports<'n> {
    /// Through shared memory.
    pub vader: Option<Vader>,
    /// Over Gemini.
    pub gemini: Option<Gemini>,
    /// Over Portals.
    pub portals: Option<OverPortals>,
    /// Over libfabric.
    pub ofi: Option<Ofi>,
    /// Over TCP.
    pub tcp: Option<Tcp>,
    /// A descriptor that is slept on beside theirs: that of a network that matches.
    pub network: Option<BorrowedFd<'n>>,
}

/// All transports of a process behind one table.
#[derive(Debug)]
pub struct Bml {
    /// By peer; grows with them.
    routes: Vec<Reached>,
    loopback: Loopback,
    bell: Bell,
    /// In place, so that the fast path finds its links at a fixed address.
    vader: Option<Vader>,
    gemini: Option<Box<Gemini>>,
    portals: Option<Box<OverPortals>>,
    ofi: Option<Box<Ofi>>,
    tcp: Option<Box<Tcp>>,
    /// Whether there are transports beside the loopback and vader.
    is_mixed: bool,
    /// Counts turns: the transports take turns in being asked first.
    turn: usize,
}

impl Bml {
    /// The table of a process that is alone: [`Peer`] 0 is itself.
    pub fn solo() -> Bml {
        // One for all of them, which the process keeps: such a table is often only there until another one is.
        static ALONE: LazyLock<Bell> = LazyLock::new(|| Bell::of(sleep::own_doorbell()));
        let bell = *ALONE;
        let loopback = Loopback::new(Peer(0), bell);
        let routes = vec![Reached::Itself];
        let (vader, gemini, portals, ofi, tcp) = (None, None, None, None, None);
        Bml { routes, loopback, bell, vader, gemini, portals, ofi, tcp, is_mixed: false, turn: 0 }
    }

    /// The table of process `me` of `size` processes. Each is reached by the fastest transport that reaches it, as they
    /// declare. There is one doorbell: that of the node, which areas ring without any transport, or a transport's, or else
    /// one of its own. Beside it the descriptors of transports end a sleep, and those of the message layer's `network`.
    ///
    /// # Errors
    /// [`SetupError`]; [`Unreachable`] names the first peer that nothing reaches.
    pub fn new(
        me: Peer,
        size: usize,
        node: Option<AtNode>,
        transports: Transports<'_>,
    ) -> Result<Bml, SetupError> {
        let Transports { vader, gemini, portals, ofi, tcp, network } = transports;
        let bell = match &portals {
            // Its wire sleeps on what there is, `network` included.
            Some(portals) => portals.nic().with(|nic| nic.fabric().transport().bell()),
            None => {
                sleep::bell(node, &vader, &gemini, (&ofi, &tcp), network).map_err(SetupError::Sleeping)?
            }
        };
        let loopback = Loopback::new(me, bell);
        let (gemini, portals) = (gemini.map(Box::new), portals.map(Box::new));
        let (ofi, tcp) = (ofi.map(Box::new), tcp.map(Box::new));
        let routes = Vec::with_capacity(size);
        let mut bml =
            Bml { routes, loopback, bell, vader, gemini, portals, ofi, tcp, is_mixed: false, turn: 0 };
        let fast = 1 + usize::from(bml.vader.is_some());
        let mut all = 0;
        on_each!(bml.there(), _btl => all += 1);
        bml.is_mixed = all > fast;
        for _ in 0..size {
            bml.add_peer()?;
        }
        Ok(bml)
    }

    /// Adds the next peer, which a transport reaches: one of this process's job, or one that was met later and that the
    /// transport has learned of.
    ///
    /// # Errors
    /// [`Unreachable`]; nothing was added.
    pub fn add_peer(&mut self) -> Result<Peer, Unreachable> {
        let peer = Peer(self.routes.len() as u32);
        let route = self.ways(peer).min_by_key(|&(_, time)| time);
        self.routes.push(route.ok_or(Unreachable(peer))?.0);
        Ok(peer)
    }

    /// The transports that reach a peer, with how long each declares that a typical message takes, in nanoseconds. Of
    /// those that declare the same, the first is the route.
    fn ways(&self, peer: Peer) -> impl Iterator<Item = (Reached, u64)> + use<> {
        let ways: [Option<(Reached, u64)>; Reached::ALL.len()] = transports!(all_that_reach(self, peer));
        ways.into_iter().flatten()
    }

    /// The transports that reach a peer beside the one that is its route, by name.
    pub fn slower_ways(&self, peer: Peer) -> Vec<&'static str> {
        let route = self.reached(peer);
        self.ways(peer).filter(|&(way, _)| way != route).map(|(way, _)| way.name()).collect()
    }

    /// Whether the fast verbs lead anywhere: they are vader's.
    pub fn has_fast_verbs(&self) -> bool {
        self.vader.is_some()
    }

    /// The transport over Gemini, for what it counts.
    pub fn gemini(&self) -> Option<&Gemini> {
        self.gemini.as_deref()
    }

    /// The transport over Gemini, to keep memory registered with it.
    pub fn gemini_mut(&mut self) -> Option<&mut Gemini> {
        self.gemini.as_deref_mut()
    }

    /// The transport over libfabric, for what it runs on.
    pub fn ofi(&self) -> Option<&Ofi> {
        self.ofi.as_deref()
    }

    /// The transport over TCP, for the networks that lead to a peer.
    pub fn tcp(&self) -> Option<&Tcp> {
        self.tcp.as_deref()
    }

    /// Whether processes must stay until all of them have sent what they had: one that is gone answers nothing.
    pub fn ends_together(&self) -> bool {
        [self.gemini.is_some(), self.portals.is_some(), self.ofi.is_some(), self.tcp.is_some()]
            .contains(&true)
    }

    /// The transports in use, each with the peers that it reaches.
    pub fn table(&self) -> Vec<(&'static str, Vec<Peer>)> {
        let reached_by = |one: Reached| {
            let peers = self.routes.iter().enumerate().filter(move |(_, route)| **route == one);
            peers.map(|(index, _)| Peer(index as u32)).collect()
        };
        let all = Reached::ALL.iter().map(|&one| (one.name(), reached_by(one)));
        all.filter(|(_, peers): &(_, Vec<Peer>)| !peers.is_empty()).collect()
    }

    /// What the threads of this process sleep on, whatever transports there are.
    pub fn bell(&self) -> Bell {
        self.bell
    }

    #[inline(always)]
    fn reached(&self, peer: Peer) -> Reached {
        self.routes[peer.0 as usize]
    }
}

impl Reached {
    /// The name that the parameter `btl` has for it.
    fn name(self) -> &'static str {
        match self {
            Reached::Itself => "self",
            Reached::Vader => "vader",
            Reached::Gemini => "ugni",
            Reached::Portals => "portals",
            Reached::Ofi => "ofi",
            Reached::Tcp => "tcp",
        }
    }
}
