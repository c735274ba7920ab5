//! By what a process is reached, and why it is not.

use std::fmt;

use mem::hex;

use crate::endpoint::Endpoint;

/// By this a process is reached: provider and address. Travels as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    /// The provider, the same on all processes.
    pub provider: String,
    /// The endpoint's address.
    pub address: Vec<u8>,
}

impl Card {
    /// That of an endpoint.
    pub fn of(endpoint: &Endpoint) -> Card {
        Card { provider: endpoint.facts().provider.clone(), address: endpoint.name().to_vec() }
    }

    /// Whether an endpoint of the provider `ours` can reach it.
    ///
    /// # Errors
    /// [`Obstacle::Provider`]
    pub fn check(&self, ours: &str) -> Result<(), Obstacle> {
        let same = self.provider == ours;
        let (theirs, ours) = (self.provider.clone(), ours.to_owned());
        if same { Ok(()) } else { Err(Obstacle::Provider { theirs, ours }) }
    }

    /// As text of hexadecimal digits, a blank between the two.
    pub fn encode(&self) -> String {
        format!("{} {}", hex::text(self.provider.as_bytes()), hex::text(&self.address))
    }

    /// What [`Card::encode`] made.
    pub fn parse(text: &str) -> Option<Card> {
        let (provider, address) = text.split_once(' ')?;
        Some(Card { provider: String::from_utf8(hex::bytes(provider)?).ok()?, address: hex::bytes(address)? })
    }
}

/// Why a peer cannot be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Obstacle {
    /// It has another provider.
    Provider {
        /// Its provider.
        theirs: String,
        /// This process's provider.
        ours: String,
    },
    /// Its address was refused, as libfabric put it.
    Address(String),
}

/// A peer that cannot be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreached {
    /// Its rank.
    pub peer: usize,
    /// Why it cannot be reached.
    pub why: Obstacle,
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = self.peer;
        match &self.why {
            Obstacle::Provider { theirs, ours } => write!(
                f,
                "reaching rank {peer} by libfabric failed\nits provider is {theirs}, and here it is {ours}\nname one that all hosts \
                 have: --mca ofi_provider NAME"
            ),
            Obstacle::Address(seen) => write!(
                f,
                "reaching rank {peer} by libfabric failed\nits address is refused: {seen}\nname a network that all hosts share: \
                 --mca ofi_domain NAME"
            ),
        }
    }
}

impl std::error::Error for Unreached {}
