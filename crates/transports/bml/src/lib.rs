//! The route table: which transport reaches which peer.
//!
//! A record rather than a layer. Each peer has a route of one byte, found out when it is added; afterwards a send is one
//! predictable `match` on it and the transport's own code, inlined. To add a transport: a line in [`networks!`], which
//! makes its place here, its name in the parameter `btl`, its parameters, counters and opening ([`btl::Join`]).
//!
//! # Choice
//!
//! Where several transports reach a peer, the one that declares the least time for 16 KiB is its route (`btl::Pace`:
//! latency and bandwidth, for TCP and libfabric parameters of theirs). `mpiexec -report` prints the route and what it
//! was preferred to; the performance variables `btl_*_bytes` count what each carried.
//!
//! A refusal shows whether one peer lacks room or the transport does (`btl::Full`), so what waits for a peer that takes
//! nothing holds up no message to another.
//!
//! `selection` alone knows networks by name, for rules that concern two of them. A network that stands on other
//! transports gets them when it opens (`btl::Join::Below`): the software Portals NIC takes the table of those above it
//! as its wire, and data reliability (`btl_dr`) and verification (`btl_verify`) take that of all others, whose ways to a peer they
//! see one by one (`btl::Ways`).
#![forbid(unsafe_code)]

#[macro_use]
mod each;
mod contract;
mod error;
mod introduction;
mod join;
mod meeting;
mod selection;
mod sleep;
mod slot;
mod variables;
mod ways;

use std::os::fd::BorrowedFd;
use std::sync::LazyLock;

pub use btl_tcp::connects;
pub use btl_ugni::join::Gemini;
pub use error::{SetupError, Unreachable};
pub use join::{Joining, NodeMemory};
pub use meeting::Contact;
pub use selection::{BtlParams, Selection, Wants};
pub use sleep::AtNode;
pub use variables::{Count, PARAMS, TRANSPORTS, counts};

use btl::{Btl, Join, Peer, Route};
use btl_portals::join::OverWire;
use btl_self::Loopback;
use btl_vader::Vader;
use node::wakeup::Bell;
use portals_wire::Wire;
use slot::Slot;

macro_rules! name_ways {
    (() $($variant:ident $field:ident $name:literal,)*) => {
        /// How a peer is reached.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum Reached {
            $($variant),*
        }

        impl Reached {
            const ALL: &[Reached] = &[$(Reached::$variant),*];

            /// The name that the parameter `btl` has for it.
            fn name(self) -> &'static str {
                match self {
                    $(Reached::$variant => $name),*
                }
            }
        }
    };
}
transports!(name_ways());

macro_rules! declare {
    (() $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        /// The transports that a table is made of, beside that of a process to itself.
        #[derive(Debug, Default)]
        pub struct Transports<'n> {
            /// Through shared memory.
            pub vader: Option<Vader>,
            $(
                #[doc = concat!("The network ", $name, ".")]
                pub $field: Option<<$join as Join>::Opened>,
            )*
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
            $($field: Option<Box<<$join as Join>::Opened>>,)*
            /// The job has networks: all its processes open the same ones when they join.
            job_has_networks: bool,
            /// What processes of other jobs must know to call this one.
            introduction: Option<introduction::Introduction>,
            /// Whether there are transports beside the loopback and vader.
            is_mixed: bool,
            /// Counts turns: the transports take turns in being asked first.
            turn: usize,
        }

        impl Bml {
            /// A table without peers.
            fn empty(me: Peer, bell: Bell, size: usize, transports: Transports<'_>) -> Bml {
                let has_networks = [$(transports.$field.is_some()),*].contains(&true);
                Bml {
                    routes: Vec::with_capacity(size),
                    loopback: Loopback::new(me, bell),
                    bell,
                    vader: transports.vader,
                    job_has_networks: has_networks,
                    introduction: None,
                    is_mixed: has_networks,
                    $($field: transports.$field.map(Box::new),)*
                    turn: 0,
                }
            }

            /// How the network that is the route of `peer` reaches it, beside its name; "" where none is.
            pub fn detail(&self, peer: Peer) -> String {
                match self.reached(peer) {
                    $(Reached::$variant => <$join as Join>::detail(self.$field.routed(), peer),)*
                    Reached::Itself | Reached::Vader => String::new(),
                }
            }
        }
    };
}
networks!(declare());

/// The transports that reach `$peer`, with how long each declares that a typical message takes.
macro_rules! all_that_reach {
    (($bml:ident, $peer:expr) $($variant:ident $field:ident $name:literal,)*) => {
        [$($bml.$field.there().filter(|btl| btl.reaches($peer)).map(|btl| {
            (Reached::$variant, btl.pace($peer).time(TYPICAL))
        })),*]
    };
}

/// Payload in bytes of the message by which ways are compared: between those where latency counts alone, and bandwidth.
const TYPICAL: u64 = 16 << 10;

/// The route of a process to itself. No other transport has such a place.
const TO_ITSELF: Route = Route(u32::MAX - 1);

/// The transport over Portals as processes use it: over a NIC whose wire is a table of transports of its own.
pub type OverPortals = OverWire<Bml>;

/// A Portals NIC of a process.
pub type SoftPortals = portals_soft::SoftNic<Wire<Bml>>;

impl Bml {
    /// The table of a process that is alone: [`Peer`] 0 is itself.
    pub fn solo() -> Bml {
        // One for all of them, which the process keeps: such a table is often only there until another one is.
        static ALONE: LazyLock<Bell> = LazyLock::new(|| Bell::of(sleep::own_doorbell()));
        let mut bml = Bml::empty(Peer(0), *ALONE, 1, Transports::default());
        bml.routes.push(Reached::Itself);
        bml
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
        let bell = match (&transports.portals, &transports.dr, &transports.verify) {
            // What is below it sleeps on what there is, `network` included.
            (Some(portals), ..) => portals.nic().with(|nic| nic.fabric().transport().bell()),
            (None, Some(dr), _) => {
                dr.below().bell().add(dr.timer()).map_err(SetupError::Sleeping)?;
                dr.below().bell()
            }
            (None, None, Some(verify)) => verify.below().bell(),
            (None, None, None) => sleep::bell(node, &transports).map_err(SetupError::Sleeping)?,
        };
        let mut bml = Bml::empty(me, bell, size, transports);
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

    /// Has frames of the message layer described by `describe`, where they are verified.
    pub fn describe_by(&mut self, describe: btl_verify::Describe) {
        if let Some(verify) = &mut self.verify {
            verify.describe_by(describe);
        }
    }

    /// The transport over Gemini, to keep memory registered with it.
    pub fn gemini_mut(&mut self) -> Option<&mut Gemini> {
        self.gemini.as_deref_mut()
    }

    /// The transport over Portals, whose NIC may match messages, too.
    pub fn portals(&self) -> Option<&OverPortals> {
        self.portals.as_deref()
    }

    /// Whether the processes of the job must stay until all of them have sent what they had: one that is gone answers nothing. The
    /// same for all of them, though some may have opened a network for processes of other jobs since.
    pub fn ends_together(&self) -> bool {
        self.job_has_networks
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
