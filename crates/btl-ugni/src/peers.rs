//! Addresses of peers, and the table from a peer to its connection.

use btl::Peer;
use core::fmt;
use gni::{InstId, PeAddr};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a peer's NIC is; exchanged by the launcher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerAddress {
    /// Its node.
    pub pe: PeAddr,
    /// Its instance.
    pub inst: InstId,
    /// What its NIC says about how to be reached (see [`gni::Gni::locator`]); empty: its address is enough.
    pub locator: Box<[u8]>,
}

/// Bytes that are no [`PeerAddress`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadAddress;

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "reading a peer's Gemini address failed\nit is shorter than 8 bytes\nstart all ranks with the same \
             version of the library",
        )
    }
}

impl std::error::Error for BadAddress {}

impl PeerAddress {
    /// The address of the NIC at hand.
    pub fn of<N: gni::Gni>(nic: &N) -> PeerAddress {
        PeerAddress { pe: nic.local_pe(), inst: nic.local_inst(), locator: nic.locator().into() }
    }

    /// The address as bytes, for the exchange.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.pe.0.to_be_bytes()[..], &self.inst.0.to_be_bytes(), &self.locator].concat()
    }

    /// The address that `bytes` are.
    ///
    /// # Errors
    /// [`BadAddress`].
    pub fn from_bytes(bytes: &[u8]) -> Result<PeerAddress, BadAddress> {
        let (pe, rest) = bytes.split_first_chunk().ok_or(BadAddress)?;
        let (inst, locator) = rest.split_first_chunk().ok_or(BadAddress)?;
        Ok(PeerAddress {
            pe: PeAddr(u32::from_be_bytes(*pe)),
            inst: InstId(u32::from_be_bytes(*inst)),
            locator: locator.into(),
        })
    }
}

/// The addresses of all peers that are known: those of the job, which processes of one memory may share, and behind them
/// those that were met later.
#[derive(Debug)]
pub(crate) struct Directory {
    job: Arc<[PeerAddress]>,
    met: Vec<PeerAddress>,
    /// The peers met later, by node and instance.
    by_address: BTreeMap<(u32, u32), Peer>,
}

impl Directory {
    pub(crate) fn new(job: Arc<[PeerAddress]>) -> Directory {
        Directory { job, met: Vec::new(), by_address: BTreeMap::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.job.len() + self.met.len()
    }

    pub(crate) fn get(&self, peer: Peer) -> Option<&PeerAddress> {
        let index = peer.0 as usize;
        self.job.get(index).or_else(|| self.met.get(index.checked_sub(self.job.len())?))
    }

    /// Adds a peer behind all others, unless it is known.
    pub(crate) fn add(&mut self, address: PeerAddress) -> Peer {
        let next = Peer(self.len() as u32);
        let key = (address.pe.0, address.inst.0);
        let peer = *self.by_address.entry(key).or_insert(next);
        if peer == next {
            self.met.push(address);
        }
        peer
    }

    /// The peer with this address, which its own job calls `claimed`.
    pub(crate) fn who(&self, claimed: Peer, pe: PeAddr, inst: InstId) -> Option<Peer> {
        match self.job.get(claimed.0 as usize) {
            Some(address) if (address.pe, address.inst) == (pe, inst) => Some(claimed),
            _ => self.by_address.get(&(pe.0, inst.0)).copied(),
        }
    }
}

/// Peers of one page of the table.
const PAGE: usize = 256;
const NONE: u32 = u32::MAX;

/// From peer to connection: two loads, and memory only for the neighbourhoods that are talked to.
#[derive(Debug)]
pub(crate) struct PeerTable {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

impl PeerTable {
    pub(crate) fn new(peers: usize) -> PeerTable {
        PeerTable { pages: vec![None; peers.div_ceil(PAGE)] }
    }

    #[inline(always)]
    pub(crate) fn get(&self, peer: Peer) -> Option<u32> {
        let page = self.pages.get(peer.0 as usize / PAGE)?.as_ref()?;
        let index = page[peer.0 as usize % PAGE];
        (index != NONE).then_some(index)
    }

    /// The peer is known.
    pub(crate) fn set(&mut self, peer: Peer, connection: u32) {
        let page = peer.0 as usize / PAGE;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([NONE; PAGE]))[peer.0 as usize % PAGE] = connection;
    }
}

#[cfg(test)]
mod tests {
    use super::{BadAddress, PeerAddress, PeerTable};
    use btl::Peer;
    use gni::{InstId, PeAddr};

    #[test]
    fn addresses_survive_the_exchange() {
        let address = PeerAddress { pe: PeAddr(7), inst: InstId(u32::MAX), locator: Box::new([1, 2, 3]) };
        assert_eq!(PeerAddress::from_bytes(&address.to_bytes()), Ok(address));
        assert_eq!(PeerAddress::from_bytes(&[0; 7]), Err(BadAddress));
    }

    #[test]
    fn the_table_finds_what_was_set() {
        let mut table = PeerTable::new(1000);
        table.set(Peer(999), 3);
        table.set(Peer(0), 4);
        let found = [999, 0, 1, 998, 1023, 5000].map(|peer| table.get(Peer(peer)));
        assert_eq!(found, [Some(3), Some(4), None, None, None, None]);
        table.set(Peer(5000), 5);
        assert_eq!([999, 5000].map(|peer| table.get(Peer(peer))), [Some(3), Some(5)]);
    }
}
