//! Opening: an endpoint and its card, then the cards of the others.

use std::fmt;

use ofi::abi::{ORDER_SAS, flag};
use ofi::{
    Card, Endpoint, Facts, Library, NotLoaded, Obstacle, OfiParams, OpenError, Unreached, Wishes, abi,
};

use crate::Ofi;

/// Why there is no network.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// libfabric is missing.
    NotLoaded(NotLoaded),
    /// It has nothing that fits.
    NotOpened(OpenError),
    /// A program may hang over what it has.
    Stalling(Stalling),
    /// A peer cannot be reached.
    Unreached(Unreached),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotLoaded(error) => error.fmt(f),
            Error::NotOpened(error) => error.fmt(f),
            Error::Stalling(error) => error.fmt(f),
            Error::Unreached(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// The provider stands still behind messages that have no receive, and a program that receives in another order hangs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stalling {
    /// The provider.
    pub provider: String,
    /// What it does.
    pub seen: &'static str,
    /// What the user can do about it.
    pub remedy: &'static str,
}

impl fmt::Display for Stalling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "using libfabric's provider {} for pml cm failed\n{}, so a program that receives in another order would hang\n{}use --mca \
             ofi_provider \"tcp;ofi_rxm\" or --mca pml ob1; or take it as it is: --mca ofi_allow_stalls true",
            self.provider, self.seen, self.remedy
        )
    }
}

impl std::error::Error for Stalling {}

/// What `tcp` of libfabric 2 reads from the environment: how many messages of a sender it keeps.
const MAX_SAVED: &str = "FI_TCP_MAX_SAVED";

/// Whether a provider stands still behind messages that have no receive. `keeps_more`: [`MAX_SAVED`] is set.
fn stalling(facts: &Facts, keeps_more: bool) -> Option<Stalling> {
    let is_two = facts.version >= abi::version(2, 0);
    let (seen, remedy) = match facts.provider.as_str() {
        "net" | "tcp" if !is_two => {
            ("it reads nothing behind a message of more than 128 bytes that has no receive yet", "")
        }
        "tcp" if !keeps_more => (
            "it reads nothing behind 64 messages of a sender that have no receive yet",
            "have it keep more: mpiexec -x FI_TCP_MAX_SAVED=1000000; or ",
        ),
        "shm" if !is_two => ("it takes about a thousand messages that have no receive yet and no more", ""),
        _ => return None,
    };
    Some(Stalling { provider: facts.provider.clone(), seen, remedy })
}

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
        let endpoint = open(8).or_else(|_| open(4)).or_else(|_| open(0)).map_err(Error::NotOpened)?;
        match stalling(endpoint.facts(), std::env::var_os(MAX_SAVED).is_some()) {
            Some(stalling) if !params.allow_stalls => Err(Error::Stalling(stalling)),
            _ => Ok(Opening(endpoint)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(provider: &str, version: u32) -> Facts {
        Facts {
            provider: provider.to_owned(),
            domain: String::new(),
            version,
            inject: 0,
            max_message: 0,
            tag_bits: 64,
            data_bytes: 8,
            mr_mode: 0,
            max_key: 0,
            caps: 0,
            flags: 0,
            depth: (0, 0),
            runs: 1,
        }
    }

    #[test]
    fn providers_that_keep_few_messages_are_named_with_what_to_do() {
        let (old, new) = (abi::version(1, 17), abi::version(2, 5));
        for (provider, version, keeps_more) in
            [("net", old, true), ("tcp", abi::version(1, 20), true), ("shm", old, false), ("tcp", new, false)]
        {
            let stalling = stalling(&facts(provider, version), keeps_more).expect("it keeps few");
            let text = stalling.to_string();
            assert!(text.lines().count() == 3 && text.contains("ofi_allow_stalls"), "{text}");
            assert_eq!(text.contains(MAX_SAVED), version == new, "{text}");
        }
        for (provider, version, keeps_more) in [
            ("tcp", new, true),
            ("shm", new, false),
            ("tcp;ofi_rxm", old, false),
            ("verbs;ofi_rxm", old, false),
        ] {
            assert_eq!(stalling(&facts(provider, version), keeps_more), None, "{provider}");
        }
    }
}
