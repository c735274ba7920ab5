//! Opening: an endpoint and its card, then the cards of the others.

use std::fmt;

use ofi::abi::flag;
use ofi::{Endpoint, Library, NotLoaded, OfiParams, OpenError, Wishes};

use crate::Ofi;

/// By this a process is reached: provider and address. Travels as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    /// The provider, the same on all processes.
    pub provider: String,
    /// The endpoint's address.
    pub address: Vec<u8>,
}

impl Card {
    /// As text of hexadecimal digits, a blank between the two.
    pub fn encode(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        format!("{} {}", hex(self.provider.as_bytes()), hex(&self.address))
    }

    /// What [`Card::encode`] made.
    pub fn parse(text: &str) -> Option<Card> {
        let (provider, address) = text.split_once(' ')?;
        let bytes = |text: &str| -> Option<Vec<u8>> {
            let (pairs, rest) = text.as_bytes().as_chunks::<2>();
            let byte = |pair: &[u8; 2]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
            rest.is_empty().then(|| pairs.iter().map(byte).collect())?
        };
        Some(Card { provider: String::from_utf8(bytes(provider)?).ok()?, address: bytes(address)? })
    }
}

/// Why there is no network.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// libfabric is missing.
    NotLoaded(NotLoaded),
    /// It has nothing that fits.
    NotOpened(OpenError),
    /// A peer has another provider.
    Others {
        /// Whose.
        peer: usize,
        /// Its provider.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// A peer's address was refused.
    Address {
        /// Whose.
        peer: usize,
        /// What libfabric said.
        seen: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotLoaded(error) => error.fmt(f),
            Error::NotOpened(error) => error.fmt(f),
            Error::Others { peer, theirs, ours } => write!(
                f,
                "reaching rank {peer} by libfabric failed\nits provider is {theirs}, and here it is {ours}\nname one that all hosts \
                 have: --mca ofi_provider NAME"
            ),
            Error::Address { peer, seen } => write!(
                f,
                "reaching rank {peer} by libfabric failed\nits address is refused: {seen}\nname a network that all hosts share: \
                 --mca ofi_domain NAME"
            ),
        }
    }
}

impl std::error::Error for Error {}

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
            data,
            one_host,
            provider: params.provider.clone(),
            domain: params.domain.clone(),
        };
        // As much data as there is: without it a tag has to hold the source, too.
        let open = |data| Endpoint::open(library, &wishes(data), peers);
        open(8).or_else(|_| open(4)).or_else(|_| open(0)).map(Opening).map_err(Error::NotOpened)
    }

    /// This process's card.
    pub fn card(&self) -> Card {
        Card { provider: self.0.facts().provider.clone(), address: self.0.name().to_vec() }
    }

    /// The network, given the cards of all peers.
    ///
    /// # Errors
    /// [`Error`]
    pub fn open(mut self, cards: &[Card]) -> Result<Ofi, Error> {
        let ours = self.0.facts().provider.clone();
        let mut addresses = Vec::with_capacity(cards.len());
        for (peer, card) in cards.iter().enumerate() {
            if card.provider != ours {
                return Err(Error::Others { peer, theirs: card.provider.clone(), ours });
            }
            let address = self.0.insert(&card.address).map_err(|seen| Error::Address { peer, seen })?;
            addresses.push(address);
        }
        Ok(Ofi::new(self.0, addresses))
    }
}
