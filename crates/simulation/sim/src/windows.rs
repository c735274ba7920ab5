//! A virtual rank's part of a window whose ranks the network reaches: what `windows` asks of the transport, and
//! nothing of its handles, datatypes and epochs.
//!
//! ```text
//!   put, get   reads and writes of registered memory (btl::RemoteMemory), cut by osc; their ends are events
//!   change     atomic operations of the network, which fetch or do not
//!   notice     an active message (crate active), as of alhena_rput
//! ```

use crate::charged::Charged;
use crate::layer::Layer;
use active::{Active, Brought, Head, Refused};
use btl::{Arrival, Atomic, Class, Event, Flushed, Peer, Receiver, Refusal, RemoteKey, RemoteMemory};
use mem::{PeerBytes, UserMem};

/// Whose call begins an access: they cost differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interface {
    /// `alhena.h`.
    Light,
    /// MPI.
    Mpi,
}

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataDirection {
    /// To the other rank.
    Put,
    /// From the other rank.
    Get,
}

/// The registered memory of another rank.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    pub(crate) peer: Peer,
    pub(crate) key: RemoteKey,
    /// Its address, for the alignment.
    pub(crate) base: usize,
}

impl Remote {
    /// Bytes in which a rank announces its memory.
    pub const BYTES: usize = 32;

    /// What a rank announces of its memory.
    pub(crate) fn words(key: RemoteKey, memory: UserMem) -> Vec<u8> {
        let words = key.0.into_iter().chain([memory.address() as u64]);
        words.flat_map(u64::to_ne_bytes).collect()
    }

    /// What the peer has announced.
    pub(crate) fn read(peer: Peer, said: UserMem) -> Remote {
        let said = said.as_bytes();
        let key = RemoteKey([said.word(0), said.word(1), said.word(2)]);
        Remote { peer, key, base: said.word(3) as usize }
    }
}

/// What a rank keeps of it.
#[derive(Default)]
pub(crate) struct Windows {
    active: Active,
    /// Reads whose data is not there yet.
    reading: u32,
    /// Notices that have come.
    pub notices: u64,
    failed: bool,
}

/// The kind of a notice.
const NOTICE: u8 = 8;
/// The cookie of every read; they are only counted.
const READ: u64 = Class::Osc.cookie(1);

const FAILED: abi::Error = abi::Error::new(abi::ERR_INTERN, "an access to another rank's memory has failed");

/// A put or get of which some pieces may not have begun.
#[derive(Debug)]
pub struct Access {
    way: DataDirection,
    remote: Remote,
    local: UserMem,
    offset: u64,
    /// Where the pieces begin that have not, and their lengths, the last first.
    left: Vec<(usize, usize)>,
}

impl Access {
    /// Between `local` and what lies at `offset` of another rank's memory.
    pub(crate) fn new(
        btl: &Charged,
        way: DataDirection,
        remote: Remote,
        local: UserMem,
        offset: usize,
    ) -> Access {
        let mut left = Vec::new();
        if let Some(limits) = btl.remote(remote.peer) {
            let mut piece = |at, len| left.push((at, len));
            let (here, there) = (local.address(), remote.base + offset);
            match way {
                DataDirection::Get => osc::cut_read(&limits, here, there, local.len(), &mut piece),
                DataDirection::Put => (0..local.len())
                    .step_by(limits.max)
                    .for_each(|at| piece(at, limits.max.min(local.len() - at))),
            }
        }
        left.reverse();
        Access { way, remote, local, offset: offset as u64, left }
    }

    /// Begins as many pieces as there is room for; whether those were all.
    pub(crate) fn begin(&mut self, btl: &mut Charged, windows: &mut Windows) -> abi::Result<bool> {
        let Remote { peer, key, .. } = self.remote;
        while let Some(&(at, len)) = self.left.last() {
            let (piece, offset) = (self.local.part(at, len), self.offset + at as u64);
            let begun = match self.way {
                DataDirection::Put => btl.write(peer, piece, &key, offset),
                DataDirection::Get => btl.read(peer, piece, &key, offset, READ),
            };
            match begun {
                Ok(()) => windows.reading += u32::from(self.way == DataDirection::Get),
                Err(Refusal::Busy) => return Ok(false),
                Err(Refusal::Unfit) => return Err(FAILED),
            }
            self.left.pop();
        }
        Ok(true)
    }
}

impl Windows {
    /// Begins an atomic operation on the word at `offset`; `before`: where to put what it was. `false`: there is no room.
    pub fn change(
        &mut self,
        btl: &mut Charged,
        remote: &Remote,
        change: Atomic,
        before: Option<UserMem>,
        offset: usize,
    ) -> abi::Result<bool> {
        let begun = match before {
            Some(before) => btl.fetch(remote.peer, change, before, &remote.key, offset as u64, READ),
            None => btl.update(remote.peer, change, &remote.key, offset as u64),
        };
        match begun {
            Ok(()) => self.reading += u32::from(before.is_some()),
            Err(Refusal::Busy) => return Ok(false),
            Err(Refusal::Unfit) => return Err(FAILED),
        }
        Ok(true)
    }

    /// Whether all accesses of this rank to `peer` are over.
    pub fn is_flushed(&mut self, btl: &mut Charged, peer: Peer) -> abi::Result<bool> {
        let written = btl.flush(peer);
        if written == Flushed::Failed || self.failed {
            return Err(FAILED);
        }
        Ok(written == Flushed::Done && self.reading == 0)
    }

    /// Sends `peer` a notice; `false`: there is no room.
    pub fn notify(&mut self, btl: &mut Charged, peer: Peer) -> abi::Result<bool> {
        let head = Head { class: Class::Osc, kind: NOTICE, words: &[0, 0, 0] };
        match self.active.request(btl, peer, head, &mut PeerBytes::of(&[])) {
            Ok(()) => Ok(true),
            Err(Refused::Busy) => Ok(false),
            Err(Refused::Lost) => Err(FAILED),
        }
    }

    fn accept(&mut self, arrival: &Arrival) {
        let Brought::Message(message) = self.active.accept(Class::Osc, arrival) else { return };
        let (from, was_answer) = (message.from, message.is_answer);
        self.notices += 1;
        let mut early = self.active.handled(Class::Osc, from, was_answer);
        while let Some(next) = early {
            self.notices += 1;
            early = self.active.handled(Class::Osc, next.message().from, false);
        }
    }
}

/// The receivers of what a rank's transport brings.
pub(crate) struct Takers<'a> {
    pub layer: &'a mut Layer,
    pub windows: &'a mut Option<Box<Windows>>,
}

impl Receiver<Charged> for Takers<'_> {
    fn accept(&mut self, btl: &mut Charged, arrival: &Arrival) {
        match Class::of(arrival.header) {
            Some(Class::Osc) => self.windows.get_or_insert_default().accept(arrival),
            _ => self.layer.accept(btl, arrival),
        }
    }

    fn on_event(&mut self, btl: &mut Charged, event: Event) {
        let (Event::Done(cookie) | Event::Failed(cookie)) = event else {
            return self.layer.on_event(btl, event);
        };
        match self.windows {
            Some(windows) if Class::of_cookie(cookie) == Some(Class::Osc) => {
                windows.reading -= 1;
                windows.failed |= event == Event::Failed(cookie);
            }
            _ => self.layer.on_event(btl, event),
        }
    }

    fn awaits(&self) -> bool {
        Receiver::<Charged>::awaits(self.layer)
    }

    fn advance(&mut self, btl: &mut Charged) -> usize {
        let sent = self.windows.as_mut().map_or(0, |windows| windows.active.advance(btl));
        sent + self.layer.advance(btl)
    }
}
