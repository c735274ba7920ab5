//! Peers: where they are, and what is known of those that this process has talked to.

use std::collections::{HashMap, VecDeque};

use btl::{Credits, Peer};
use ofi::{Address, Card, Endpoint};
use rdma::{Control, Silent};

/// A peer that this process has talked to.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    pub(crate) address: Address,
    /// What the provider had no room for, oldest first.
    pub(crate) waiting: VecDeque<Waiting>,
    /// Messages under way to it and from it that count against [`crate::OfiPlan::window`].
    pub(crate) credits: Credits,
    /// A message to it was refused for want of credits since the last report.
    pub(crate) refused: bool,
    /// Writes under way in its windows.
    pub(crate) silent: Silent,
    /// Why nothing leads there any more.
    pub(crate) lost: Option<String>,
}

/// Something that was accepted and has not left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiting {
    /// A frame of so many bytes in this send buffer.
    Frame { buffer: u32, len: usize },
    /// A control message, which gets its buffer when it leaves.
    Control(Control),
    /// How many of its messages were acknowledged; the count is read when it leaves.
    Report,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Peers {
    /// The endpoints' addresses by peer, all of the same length.
    names: Vec<u8>,
    name_len: usize,
    window: u32,
    /// The connection by peer, or [`NONE`].
    places: Vec<u32>,
    list: Vec<Connection>,
    by_address: HashMap<Address, u32>,
}

const NONE: u32 = u32::MAX;

impl Peers {
    /// The peers with these cards, whose addresses are `name_len` bytes long; `window`: [`crate::OfiPlan::window`].
    pub(crate) fn new(cards: impl Iterator<Item = Card>, name_len: usize, window: u32) -> Peers {
        let mut names = Vec::new();
        let mut count = 0;
        for mut card in cards {
            card.address.resize(name_len, 0);
            names.append(&mut card.address);
            count += 1;
        }
        let places = vec![NONE; count];
        Peers { names, name_len, window, places, list: Vec::new(), by_address: HashMap::new() }
    }

    /// Whether there is such a peer.
    pub(crate) fn has(&self, peer: Peer) -> bool {
        (peer.0 as usize) < self.places.len()
    }

    /// The endpoint's address of a peer.
    pub(crate) fn name(&self, peer: Peer) -> &[u8] {
        &self.names[peer.0 as usize * self.name_len..][..self.name_len]
    }

    /// The connection to a peer that this process has talked to.
    #[inline]
    pub(crate) fn of(&self, peer: Peer) -> Option<u32> {
        self.places.get(peer.0 as usize).copied().filter(|&place| place != NONE)
    }

    /// The connection to a peer, which the provider learns of if need be; a peer whose address it refuses is lost from
    /// the beginning.
    pub(crate) fn connect(&mut self, peer: Peer, endpoint: &mut Endpoint) -> u32 {
        if let Some(place) = self.of(peer) {
            return place;
        }
        let inserted = endpoint.insert(self.name(peer));
        let (address, lost) = match inserted {
            Ok(address) => (address, None),
            Err(seen) => (Address(ofi::abi::ADDR_UNSPEC), Some(seen)),
        };
        let place = self.list.len() as u32;
        self.places[peer.0 as usize] = place;
        self.by_address.insert(address, place);
        self.list.push(Connection {
            peer,
            address,
            waiting: VecDeque::new(),
            credits: Credits::new(self.window),
            refused: false,
            silent: Silent::default(),
            lost,
        });
        place
    }

    #[inline]
    pub(crate) fn get(&self, place: u32) -> &Connection {
        &self.list[place as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> &mut Connection {
        &mut self.list[place as usize]
    }

    /// Whose address this is.
    pub(crate) fn at(&self, address: Address) -> Option<u32> {
        self.by_address.get(&address).copied()
    }
}
