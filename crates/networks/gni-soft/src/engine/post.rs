//! A post: what a descriptor must hold to, what of it is under way, and its next piece.

use crate::access::Want;
use crate::fabric::{Action, Source};
use crate::fault::Mishap;
use gni::{
    Cq, CqEntry, CqMode, Error, EventType, HwStatus, MemFlags, MemHandle, Modes, PostDescriptor, PostKind,
    Result, limits,
};
use mem::UserMem;

/// A post that has not been collected.
pub(super) struct Post {
    pub(super) ep: u32,
    pub(super) descriptor: PostDescriptor,
    pub(super) queue: Option<Cq>,
    /// The bytes of an FMA PUT that was held back: its source may change as soon as the post has returned.
    pub(super) copy: Option<Box<[u8]>>,
    pub(super) mishap: Mishap,
    /// First byte not begun yet.
    pub(super) next: u64,
    /// Transactions under way.
    pub(super) pieces: u32,
    pub(super) status: HwStatus,
    /// Local entries not collected yet; meaningful once `shown`.
    pub(super) entries: u32,
    pub(super) shown: bool,
}

impl Post {
    pub(super) fn is_bte(&self) -> bool {
        matches!(self.descriptor.kind, PostKind::RdmaPut | PostKind::RdmaGet)
    }

    /// Whether there is more to begin. A failed transfer begins no further piece.
    pub(super) fn has_more(&self) -> bool {
        self.next < self.descriptor.length() && self.status == HwStatus::Ok
    }

    /// The descriptor for the next entry, and whether it was the last one.
    pub(super) fn collect(&mut self) -> Option<(PostDescriptor, bool)> {
        if !self.shown || self.entries == 0 {
            return None;
        }
        let events = self.descriptor.events;
        let local_first = self.entries as usize == 2 || !events.has(CqMode::GLOBAL);
        let which = if local_first { CqMode::LOCAL } else { CqMode::GLOBAL };
        self.entries -= 1;
        Some((self.descriptor.returned(self.status, which), self.entries == 0))
    }

    pub(super) fn remote_event(&self, last: bool, word: u32) -> Option<u64> {
        let data = match self.descriptor.kind {
            PostKind::CqWrite { value } => value,
            _ if last && self.descriptor.events.has(CqMode::REMOTE) => word.into(),
            _ => return None,
        };
        Some(CqEntry::new(EventType::Post, HwStatus::Ok, data, 0).raw())
    }

    /// What the fabric is to do for `len` bytes from `offset`.
    pub(super) fn action(&self, offset: u64, len: u64) -> Action<'_> {
        let d = &self.descriptor;
        let local = d.local.part(offset as usize, len as usize);
        let addr = d.remote_addr + offset;
        match d.kind {
            PostKind::RdmaPut => {
                Action::Write { from: Source::Registered(local, d.local_handle), addr, flag: None }
            }
            PostKind::FmaPut => Action::Write { from: self.source(), addr, flag: None },
            PostKind::FmaPutFlag { flag_addr, flag } => {
                Action::Write { from: self.source(), addr, flag: Some((flag_addr, flag)) }
            }
            PostKind::RdmaGet | PostKind::FmaGet => Action::Read { into: local, local: d.local_handle, addr },
            PostKind::Amo { command, first, second } => {
                Action::Atomic { command, first, second, addr, into: self.fetch_target(command.fetches()) }
            }
            PostKind::CqWrite { .. } | PostKind::Collective => Action::Event,
        }
    }

    fn source(&self) -> Source<'_> {
        match &self.copy {
            Some(copy) => Source::Bytes(copy),
            None => Source::Window(self.descriptor.local),
        }
    }

    fn fetch_target(&self, fetches: bool) -> Option<(UserMem, MemHandle)> {
        fetches.then_some((self.descriptor.local, self.descriptor.local_handle))
    }
}

/// The checks that need nothing but the descriptor.
pub(super) fn check_descriptor(d: &PostDescriptor, modes: Modes) -> Result<()> {
    if d.events.0 & !7 != 0 || d.events.local_events() == 2 && !modes.has(Modes::DUAL_EVENTS) {
        return Err(Error::InvalidParam);
    }
    let remote = d.remote_handle.unpack().ok_or(Error::InvalidParam)?;
    let (local, length) = (d.local.address() as u64, d.length());
    let writes = match d.kind {
        PostKind::RdmaGet | PostKind::FmaGet => {
            if length == 0 {
                return Err(Error::InvalidParam);
            }
            if !(local | d.remote_addr | length).is_multiple_of(limits::GET_ALIGN) {
                return Err(Error::Alignment);
            }
            false
        }
        PostKind::RdmaPut if length == 0 => return Err(Error::InvalidParam),
        PostKind::RdmaPut | PostKind::FmaPut => true,
        PostKind::FmaPutFlag { flag_addr, .. } => {
            if !flag_addr.is_multiple_of(8) {
                return Err(Error::Alignment);
            }
            true
        }
        PostKind::Amo { command, .. } => {
            let align = if command.is_pair() { limits::AMO_PAIR_ALIGN } else { limits::AMO_ALIGN };
            if !command.on_gemini() {
                return Err(Error::IllegalOp);
            }
            if !d.remote_addr.is_multiple_of(align) || command.fetches() && !local.is_multiple_of(8) {
                return Err(Error::Alignment);
            }
            if command.fetches() && length != 8 {
                return Err(Error::InvalidParam);
            }
            true
        }
        PostKind::CqWrite { .. } => false,
        PostKind::Collective => return Err(Error::IllegalOp),
    };
    if length > limits::RDMA_MAX_LENGTH {
        return Err(Error::InvalidParam);
    }
    if writes && remote.flags.has(MemFlags::READ_ONLY) { Err(Error::Permission) } else { Ok(()) }
}

/// What the NIC does with the local buffer, if it must be registered.
pub(super) fn local_use(kind: PostKind) -> Option<Want> {
    match kind {
        PostKind::RdmaPut => Some(Want::Read),
        PostKind::RdmaGet | PostKind::FmaGet => Some(Want::Write),
        PostKind::Amo { command, .. } if command.fetches() => Some(Want::Write),
        _ => None,
    }
}
