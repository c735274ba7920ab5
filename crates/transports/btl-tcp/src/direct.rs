//! Users' memory that peers read and write without an arrival, and that of this process's own gets and puts.

use btl::{Access, Event, RemoteKey};
use mem::{PeerBytes, Slab, UserMem};
use std::time::Instant;

/// Memory that a peer may use, until it is concealed.
#[derive(Debug)]
pub(crate) struct Exposed {
    peer: u32,
    memory: UserMem,
    access: Access,
}

/// A get or put of this process, until the peer has reported that all parts of it are over.
#[derive(Debug)]
struct Pending {
    cookie: u64,
    /// Parts that are not over.
    parts: usize,
    failed: bool,
    /// There are several.
    division: Option<Division>,
}

/// How a get or put in several parts goes.
#[derive(Debug)]
struct Division {
    began: Instant,
    /// A part had to begin again on another connection.
    is_disturbed: bool,
    /// What the parts that are over went at: conversation, bytes a second.
    rates: Vec<(u32, f64)>,
}

/// A part of a get or put, which goes over one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The conversation.
    pub(crate) at: u32,
    /// What it is a part of.
    pub(crate) pending: u32,
    /// The name of the peer's memory, and where in that.
    pub(crate) place: (u32, u64),
    /// This side's memory.
    pub(crate) memory: UserMem,
    /// It is of a put.
    pub(crate) stores: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Direct {
    exposed: Slab<Exposed, 20, 12>,
    pending: Slab<Pending, 20, 12>,
    parts: Slab<Part, 24, 8>,
    /// Pending ones in several parts.
    divided: usize,
}

/// Payload on its way from a connection into memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pouring {
    /// The rest of it; `None`: the payload is thrown away.
    pub(crate) into: Option<UserMem>,
    pub(crate) left: usize,
    pub(crate) end: End,
}

/// What to do when all payload has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// This get is over.
    Fetched(u32),
    /// The peer's put is over, into the memory exposed under this name.
    Stored { put: u32, name: u32 },
}

impl Pouring {
    /// The next `bytes` have come.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if let Some(memory) = self.into {
            memory.write(PeerBytes::of(bytes));
        }
        self.filled(bytes.len());
    }

    /// The next `count` bytes are in the memory.
    pub(crate) fn filled(&mut self, count: usize) {
        self.left -= count.min(self.left);
        self.into = self.into.map(|memory| memory.part(count, usize::MAX));
    }
}

impl Direct {
    /// # Errors
    /// The memory, if all names are taken.
    pub(crate) fn expose(&mut self, peer: u32, memory: UserMem, access: Access) -> Option<RemoteKey> {
        let name = self.exposed.insert(Exposed { peer, memory, access }).ok()?;
        Some(RemoteKey([name.into(), memory.len() as u64, 0]))
    }

    /// The name in a key of this process's own.
    pub(crate) fn conceal(&mut self, peer: u32, key: RemoteKey) -> Option<u32> {
        let name = u32::try_from(key.0[0]).ok()?;
        self.exposed.get(name).filter(|exposed| exposed.peer == peer)?;
        self.exposed.remove(name).map(|_| name)
    }

    /// The part of exposed memory that a peer names, if it may.
    pub(crate) fn named(
        &self,
        peer: u32,
        name: u32,
        access: Access,
        (offset, len): (u64, u64),
    ) -> Option<UserMem> {
        let exposed = self.exposed.get(name)?;
        let all = exposed.memory.len() as u64;
        let fits = offset.checked_add(len).is_some_and(|end| end <= all);
        let may = exposed.peer == peer && exposed.access == access && fits;
        may.then(|| exposed.memory.part(offset as usize, len as usize))
    }

    /// Notes a get or put in so many parts; its name.
    pub(crate) fn begin(&mut self, cookie: u64, parts: usize) -> Option<u32> {
        let division = || Division { began: Instant::now(), is_disturbed: false, rates: Vec::new() };
        let pending = Pending { cookie, parts, failed: false, division: (parts > 1).then(division) };
        let name = self.pending.insert(pending).ok()?;
        self.divided += usize::from(parts > 1);
        Some(name)
    }

    /// Notes a part; its name.
    pub(crate) fn add(&mut self, part: Part) -> u32 {
        self.parts.insert(part).expect("more names than gets and puts have parts")
    }

    /// Where the payload of a get goes, if the peer was asked for just that.
    pub(crate) fn fetched(&self, at: u32, get: u32, len: usize) -> Option<UserMem> {
        let part = self.parts.get(get).filter(|part| part.at == at && !part.stores)?;
        Some(part.memory).filter(|into| into.len() == len)
    }

    /// A part is over, and its name with it.
    pub(crate) fn end(&mut self, at: u32, what: u32) -> Option<Part> {
        self.parts.get(what).filter(|part| part.at == at)?;
        self.parts.remove(what)
    }

    /// All parts on a connection that is over.
    pub(crate) fn end_all(&mut self, at: u32) -> Vec<Part> {
        let there = self.parts.iter().filter(|(_, part)| part.at == at);
        let names: Vec<u32> = there.map(|(name, _)| name).collect();
        names.into_iter().filter_map(|name| self.parts.remove(name)).collect()
    }

    /// Counts a part that is over. If it was the last: what to report, and what rates the parts of one that was
    /// divided had.
    pub(crate) fn over(&mut self, part: &Part, succeeded: bool) -> Option<(Event, Vec<(u32, f64)>)> {
        let pending = self.pending.get_mut(part.pending)?;
        pending.failed |= !succeeded;
        pending.parts -= 1;
        if let Some(Division { began, rates, .. }) = &mut pending.division {
            let seconds = began.elapsed().as_secs_f64().max(1e-6);
            rates.push((part.at, part.memory.len() as f64 / seconds));
        }
        if pending.parts > 0 {
            return None;
        }
        let Pending { cookie, failed, division, .. } = self.pending.remove(part.pending)?;
        self.divided -= usize::from(division.is_some());
        let event = if failed { Event::Failed(cookie) } else { Event::Done(cookie) };
        let rates = division.filter(|division| !failed && !division.is_disturbed);
        Some((event, rates.map_or_else(Vec::new, |division| division.rates)))
    }

    /// A part begins again on another connection: the rates of the whole say nothing.
    pub(crate) fn disturb(&mut self, part: &Part) {
        if let Some(Pending { division: Some(division), .. }) = self.pending.get_mut(part.pending) {
            division.is_disturbed = true;
        }
    }

    /// Whether a get or put in several parts is under way.
    pub(crate) fn is_divided(&self) -> bool {
        self.divided > 0
    }

    /// Whether a get or put goes over this connection.
    pub(crate) fn is_pending(&self, at: u32) -> bool {
        self.parts.iter().any(|(_, part)| part.at == at)
    }
}
