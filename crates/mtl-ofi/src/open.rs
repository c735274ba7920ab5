//! Opening: an endpoint and its card, then the cards of the others.

use std::fmt;

use ofi::abi::{ORDER_SAS, flag};
use ofi::{Card, Endpoint, Library, NotLoaded, Obstacle, OfiParams, OpenError, Unreached, Wishes};

use crate::Ofi;

/// Why there is no network.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// libfabric is missing.
    NotLoaded(NotLoaded),
    /// It has nothing that fits.
    NotOpened(OpenError),
    /// A peer cannot be reached.
    Unreached(Unreached),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotLoaded(error) => error.fmt(f),
            Error::NotOpened(error) => error.fmt(f),
            Error::Unreached(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// Providers that are used only where they are named: the library's deprecated ones; shared memory, which does not
/// sleep; and the native ones for TCP without a layer for datagrams, which read no message behind a long one that has
/// no receive.
const ONLY_BY_NAME: [&str; 6] = ["sockets", "udp", "shm", "sm2", "net", "tcp"];

/// An endpoint that waits for the cards of its peers.
pub struct Opening(Endpoint);

impl Opening {
    /// Loads libfabric and opens an endpoint for tagged messages between `peers` processes.
    ///
    /// # Errors
    /// [`Error`]
    pub fn new(params: &OfiParams, peers: usize, one_host: bool) -> Result<Opening, Error> {
        let library = Library::load(&params.library).map_err(Error::NotLoaded)?;
        Opening::of(library, params, peers, one_host)
    }

    /// As [`Opening::new`], with a library that is loaded.
    ///
    /// # Errors
    /// [`Error`]
    pub fn of(library: Library, params: &OfiParams, peers: usize, one_host: bool) -> Result<Opening, Error> {
        let wishes = |data| Wishes {
            caps: flag::TAGGED | flag::SOURCE | flag::DIRECTED_RECV,
            flags: 0,
            order: ORDER_SAS,
            data,
            one_host,
            provider: params.provider.clone(),
            domain: params.domain.clone(),
            only_by_name: &ONLY_BY_NAME,
        };
        // As much data as there is: without it a tag has to hold the source, too.
        let open = |data| Endpoint::open(library, &wishes(data), peers);
        open(8).or_else(|_| open(4)).or_else(|_| open(0)).map(Opening).map_err(Error::NotOpened)
    }

    /// This process's card.
    pub fn card(&self) -> Card {
        Card::of(&self.0)
    }

    /// The network, given the cards of all peers.
    ///
    /// # Errors
    /// [`Error`]
    pub fn open(mut self, cards: &[Card]) -> Result<Ofi, Error> {
        let ours = self.0.facts().provider.clone();
        let mut addresses = Vec::with_capacity(cards.len());
        for (peer, card) in cards.iter().enumerate() {
            card.check(&ours).map_err(|why| Error::Unreached(Unreached { peer, why }))?;
            let address = self.0.insert(&card.address);
            let refused = |seen| Error::Unreached(Unreached { peer, why: Obstacle::Address(seen) });
            let address = address.map_err(refused)?;
            addresses.push(address);
        }
        Ok(Ofi::new(self.0, addresses))
    }
}
