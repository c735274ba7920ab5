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
    /// How its NIC is reached (see [`gni::Gni::locator`]); empty: its address is enough.
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

const NONE: u32 = u32::MAX;
/// Entries of the first table.
const FIRST: usize = 16;

/// From peer to connection: an open hash table of those that are talked to, in general one load, and no memory for the
/// others, however many the job has.
#[derive(Debug)]
pub(crate) struct PeerTable {
    /// Peer and connection; at most half of them are in use, the others have [`NONE`] for a connection.
    entries: Box<[(u32, u32)]>,
    used: usize,
}

impl PeerTable {
    pub(crate) fn new() -> PeerTable {
        PeerTable { entries: vec![(0, NONE); FIRST].into(), used: 0 }
    }

    /// Multiplicative hashing: peers that follow one another lie apart by the golden section.
    #[inline(always)]
    fn first_place(&self, peer: u32) -> usize {
        let product = u64::from(peer.wrapping_mul(0x9e37_79b9));
        ((product * self.entries.len() as u64) >> u32::BITS) as usize
    }

    #[inline(always)]
    pub(crate) fn get(&self, peer: Peer) -> Option<u32> {
        let mask = self.entries.len() - 1;
        let mut place = self.first_place(peer.0);
        loop {
            let (who, connection) = self.entries[place & mask];
            if connection == NONE {
                return None;
            }
            if who == peer.0 {
                return Some(connection);
            }
            place += 1;
        }
    }

    /// Notes the connection of a peer that has none.
    pub(crate) fn set(&mut self, peer: Peer, connection: u32) {
        if (self.used + 1) * 2 > self.entries.len() {
            let larger = vec![(0, NONE); self.entries.len() * 2].into();
            let before = std::mem::replace(&mut self.entries, larger);
            before.iter().filter(|entry| entry.1 != NONE).for_each(|&entry| self.place(entry));
        }
        self.place((peer.0, connection));
        self.used += 1;
    }

    fn place(&mut self, entry: (u32, u32)) {
        let mask = self.entries.len() - 1;
        let mut place = self.first_place(entry.0) & mask;
        while self.entries[place].1 != NONE {
            place = (place + 1) & mask;
        }
        self.entries[place] = entry;
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
        let mut table = PeerTable::new();
        let peers = || (0..1000u32).map(|index| (index * index) << 4);
        for (peer, connection) in peers().zip(0..).step_by(2) {
            table.set(Peer(peer | 1), connection);
        }
        for (peer, connection) in peers().zip(0..) {
            let expected = (connection % 2 == 0).then_some(connection);
            assert_eq!(table.get(Peer(peer | 1)), expected, "{peer}");
            assert_eq!(table.get(Peer(peer)), None);
        }
    }
}
