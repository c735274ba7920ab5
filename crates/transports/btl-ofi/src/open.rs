//! Opening: an endpoint and its card, then the cards of the others.

use btl::Peer;
use ofi::abi::flag;
use ofi::{Card, Endpoint, Library, OfiParams, Unreached, Wishes};

use crate::error::Error;
use crate::params::BtlOfiParams;
use crate::plan::OfiPlan;
use crate::state::Ofi;

/// Providers that are used only where they are named: the library's deprecated ones; and shared memory, which does
/// not sleep.
const ONLY_BY_NAME: [&str; 4] = ["sockets", "udp", "shm", "sm2"];

/// An endpoint that waits for the cards of its peers.
pub struct Opening {
    endpoint: Endpoint,
    plan: OfiPlan,
}

impl Opening {
    /// Loads libfabric and opens an endpoint for messages between `peers` processes.
    ///
    /// # Errors
    /// [`Error`]
    pub fn new(
        ofi: &OfiParams,
        params: &BtlOfiParams,
        peers: usize,
        one_host: bool,
    ) -> Result<Opening, Error> {
        let library = Library::load(&ofi.library).map_err(Error::NotLoaded)?;
        Opening::of(library, ofi, params, peers, one_host)
    }

    /// As [`Opening::new`], with a library that is loaded.
    ///
    /// # Errors
    /// [`Error`]
    pub fn of(
        library: Library,
        ofi: &OfiParams,
        params: &BtlOfiParams,
        peers: usize,
        one_host: bool,
    ) -> Result<Opening, Error> {
        let open = |caps, flags| {
            let wishes = Wishes {
                caps: flag::MSG | caps,
                flags,
                order: 0,
                data: 0,
                one_host,
                provider: ofi.provider.clone(),
                domain: ofi.domain.clone(),
                only_by_name: &ONLY_BY_NAME,
            };
            Endpoint::open(library, &wishes, peers)
        };
        // The most that can be had: without the flag no write is known to be in place, without RMA all goes in messages.
        const RMA: u64 = flag::RMA | flag::READ | flag::WRITE | flag::REMOTE_READ | flag::REMOTE_WRITE;
        let endpoint = open(RMA | flag::SOURCE, flag::DELIVERY_COMPLETE)
            .or_else(|_| open(RMA, flag::DELIVERY_COMPLETE))
            .or_else(|_| open(RMA, 0))
            .or_else(|_| open(0, 0))
            .map_err(Error::NotOpened)?;
        let plan = OfiPlan::new(params, endpoint.facts()).map_err(Error::TooShort)?;
        Ok(Opening { endpoint, plan })
    }

    /// This process's card.
    pub fn card(&self) -> Card {
        Card::of(&self.endpoint)
    }

    /// The transport of process `me`, given the cards of all; `job` is the same number on all of them, and another in
    /// other jobs.
    ///
    /// # Errors
    /// [`Error`]
    pub fn open(self, me: Peer, job: u64, cards: Vec<Card>, params: &BtlOfiParams) -> Result<Ofi, Error> {
        let ours = self.endpoint.facts().provider.clone();
        for (peer, card) in cards.iter().enumerate() {
            card.check(&ours).map_err(|why| Error::Unreached(Unreached { peer, why }))?;
        }
        Ofi::new(self.endpoint, self.plan, (me, job), cards, params).map_err(Error::NoRoom)
    }
}
