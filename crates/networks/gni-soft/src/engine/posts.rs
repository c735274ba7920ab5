//! Posts: checking a descriptor, beginning it, moving block transfers piece by piece, showing the end.

use super::{Flight, SoftNic};
use crate::access::Want;
use crate::fabric::{Action, Class, Fabric, LOST_EVENT, Source, Submit, Ticket, Tx};
use crate::fault::Mishap;
use gni::{
    Cq, CqEntry, CqMode, Ep, Error, EventType, HwStatus, MemFlags, MemHandle, Modes, PostDescriptor,
    PostKind, Result, limits,
};
use mem::UserMem;

/// Pieces of one block transfer that may be under way together.
const PIECES: u32 = 4;

/// A post that has not been collected.
pub(super) struct Post {
    ep: u32,
    descriptor: PostDescriptor,
    pub(super) queue: Option<Cq>,
    /// The bytes of an FMA PUT that was held back: its source may change as soon as the post has returned.
    copy: Option<Box<[u8]>>,
    mishap: Mishap,
    /// First byte not begun yet.
    next: u64,
    /// Transactions under way.
    pieces: u32,
    status: HwStatus,
    /// Local entries not collected yet; meaningful once `shown`.
    entries: u32,
    shown: bool,
}

impl Post {
    fn is_bte(&self) -> bool {
        matches!(self.descriptor.kind, PostKind::RdmaPut | PostKind::RdmaGet)
    }

    /// Whether there is more to begin. A failed transfer begins no further piece.
    fn has_more(&self) -> bool {
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
}

/// The checks that need nothing but the descriptor.
fn check_descriptor(d: &PostDescriptor, modes: Modes) -> Result<()> {
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
fn local_use(kind: PostKind) -> Option<Want> {
    match kind {
        PostKind::RdmaPut => Some(Want::Read),
        PostKind::RdmaGet | PostKind::FmaGet => Some(Want::Write),
        PostKind::Amo { command, .. } if command.fetches() => Some(Want::Write),
        _ => None,
    }
}

impl<F: Fabric> SoftNic<F> {
    pub(super) fn post(&mut self, ep: Ep, descriptor: &PostDescriptor, bte: bool) -> Result<()> {
        let is_bte = matches!(descriptor.kind, PostKind::RdmaPut | PostKind::RdmaGet);
        if is_bte != bte {
            return Err(Error::InvalidParam);
        }
        check_descriptor(descriptor, self.modes)?;
        let endpoint = self.ep_mut(ep)?;
        if endpoint.bound.is_none() {
            return Err(Error::InvalidState);
        }
        let queue = if bte { descriptor.src_cq } else { endpoint.source };
        let full = endpoint.requests >= endpoint.request_limit;
        self.check_queue(queue, descriptor, bte)?;
        let want = local_use(descriptor.kind);
        if let Some(want) = want {
            self.check_local(descriptor.local_handle, Some(descriptor.local), want)?;
        }
        if full || !bte && self.fma_in_flight >= limits::FMA_DESCRIPTORS && self.modes.has(Modes::FMA_SHARED)
        {
            return Err(Error::Resource);
        }
        self.begin_post(ep.0, descriptor, queue, want.is_some())
    }

    fn check_queue(&mut self, queue: Option<Cq>, descriptor: &PostDescriptor, bte: bool) -> Result<()> {
        match queue {
            Some(cq) if bte => self.name_local_cq(cq),
            None if descriptor.events.local_events() > 0 => Err(Error::InvalidParam),
            _ => Ok(()),
        }
    }

    fn begin_post(
        &mut self,
        ep: u32,
        descriptor: &PostDescriptor,
        queue: Option<Cq>,
        registered: bool,
    ) -> Result<()> {
        let repeatable = !matches!(descriptor.kind, PostKind::Amo { .. });
        let mishap = self.faults.draw(repeatable);
        let held = if descriptor.delivery.is_ordered() { 0 } else { self.faults.hold_back() };
        let bte = matches!(descriptor.kind, PostKind::RdmaPut | PostKind::RdmaGet);
        let copy = (held > 0 && !bte && !registered).then(|| descriptor.local.as_bytes().to_vec().into());
        let post = Post {
            ep,
            descriptor: *descriptor,
            queue,
            copy,
            mishap,
            next: 0,
            pieces: 0,
            status: HwStatus::Ok,
            entries: 0,
            shown: false,
        };
        let key = self.insert_flight(Flight::Post(Box::new(post)))?;
        if let Some(endpoint) = self.eps.get_mut(ep) {
            endpoint.requests += 1;
        }
        if registered {
            self.use_memory(descriptor.local_handle);
        }
        self.count_post(descriptor, bte);
        match held {
            0 if bte => self.bte.push_back(key),
            0 => self.launch_fma(key),
            turns => self.later.push((self.turn + u64::from(turns), key)),
        }
        Ok(())
    }

    fn count_post(&mut self, descriptor: &PostDescriptor, bte: bool) {
        if bte {
            self.stats.bte_posts += 1;
            self.stats.bte_bytes += descriptor.length();
        } else {
            self.fma_in_flight += 1;
            self.stats.fma_posts += 1;
            self.stats.fma_bytes += descriptor.length();
        }
    }

    /// Begins a post that was held back, or that the fabric had no room for.
    pub(super) fn resume_post(&mut self, key: u32) {
        match self.flights.get(key) {
            Some(Flight::Post(post)) if post.is_bte() => self.bte.push_back(key),
            Some(Flight::Post(_)) => self.launch_fma(key),
            _ => {}
        }
    }

    fn launch_fma(&mut self, key: u32) {
        match self.submit_piece(key) {
            Submit::Busy => self.later.push((self.turn + 1, key)),
            Submit::Pending => {}
            Submit::Done(status) => self.piece_landed(key, status),
        }
    }

    /// Moves up to one piece for each block transfer that has a channel.
    pub(super) fn advance_bte(&mut self) {
        let channels =
            if self.modes.has(Modes::BTE_SINGLE_CHANNEL) { 1 } else { limits::BTE_CHANNELS as usize };
        for _ in 0..channels.min(self.bte.len()) {
            let Some(key) = self.bte.pop_front() else { return };
            let Some(Flight::Post(post)) = self.flights.get(key) else { continue };
            if post.pieces >= PIECES {
                self.bte.push_back(key);
                continue;
            }
            match self.submit_piece(key) {
                Submit::Busy => self.bte.push_back(key),
                answer => {
                    let Some(Flight::Post(post)) = self.flights.get(key) else { continue };
                    if post.has_more() && !matches!(answer, Submit::Done(status) if status != HwStatus::Ok) {
                        self.bte.push_back(key);
                    }
                    if let Submit::Done(status) = answer {
                        self.piece_landed(key, status);
                    }
                }
            }
        }
    }

    /// Hands the next piece of a post to the fabric, all of it for FMA, and counts it as under way.
    fn submit_piece(&mut self, key: u32) -> Submit {
        let Some(Flight::Post(post)) = self.flights.get(key) else {
            return Submit::Done(HwStatus::InvalidCommand);
        };
        let (ep, offset, bte) = (post.ep, post.next, post.is_bte());
        let (rest, events) = (post.descriptor.length() - offset, post.descriptor.events);
        let Some(peer) = self.peer_of(ep) else {
            return self.piece_begun(key, rest, Submit::Done(HwStatus::RequestTimeout));
        };
        let len = if bte { rest.min(self.fabric.rdma_piece(peer)) } else { rest };
        let last = len == rest;
        let loses = last && events.has(CqMode::REMOTE) && self.faults.loses_entry();
        let own = self.fabric.inst();
        let remote_word = self.eps.get(ep).map_or(own.0, |endpoint| endpoint.remote_word(own));
        let Some(Flight::Post(post)) = self.flights.get(key) else {
            return Submit::Done(HwStatus::InvalidCommand);
        };
        let answer = match post.mishap {
            Mishap::Drop => Submit::Done(HwStatus::RequestTimeout),
            Mishap::Fatal => Submit::Done(HwStatus::HostData),
            Mishap::None | Mishap::LostAck => {
                let event =
                    post.remote_event(last, remote_word).map(|event| if loses { LOST_EVENT } else { event });
                let tx = Tx {
                    peer,
                    ticket: Ticket(key),
                    class: if post.is_bte() { Class::Bte } else { Class::Fma },
                    ordered: post.descriptor.delivery.is_ordered(),
                    handle: post.descriptor.remote_handle,
                    action: post.action(offset, len),
                    event,
                };
                self.fabric.submit(self.now, &tx)
            }
        };
        self.piece_begun(key, len, answer)
    }

    fn piece_begun(&mut self, key: u32, len: u64, answer: Submit) -> Submit {
        if let (Some(Flight::Post(post)), true) = (self.flights.get_mut(key), answer != Submit::Busy) {
            post.next += len;
            post.pieces += 1;
        }
        answer
    }

    /// A piece has come to its end; with the last one the post has.
    pub(super) fn piece_landed(&mut self, key: u32, status: HwStatus) {
        let Some(Flight::Post(post)) = self.flights.get_mut(key) else { return };
        post.pieces -= 1;
        if post.status == HwStatus::Ok {
            post.status = status;
        }
        if post.pieces > 0 || post.has_more() {
            return;
        }
        if post.mishap == Mishap::LostAck && post.status == HwStatus::Ok {
            post.status = HwStatus::RequestTimeout;
        }
        let (bte, failed) = (post.is_bte(), post.status != HwStatus::Ok);
        self.stats.failures += u64::from(failed);
        match if bte { self.faults.late() } else { 0 } {
            0 => self.show_post(key),
            turns => self.late.push((self.turn + u64::from(turns), key)),
        }
    }

    /// Makes the local entries of a post that is over, or retires it when there are none.
    pub(super) fn show_post(&mut self, key: u32) {
        let Some(Flight::Post(post)) = self.flights.get_mut(key) else { return };
        post.shown = true;
        post.entries = match post.status {
            HwStatus::Ok => post.descriptor.events.local_events(),
            _ => u32::from(post.queue.is_some()),
        };
        let (entries, queue, status, ep) = (post.entries, post.queue, post.status, post.ep);
        if entries == 0 {
            return self.retire_post(key);
        }
        let word = self.eps.get(ep).map_or(0, |endpoint| endpoint.local_word());
        for _ in 0..entries {
            self.push_local(queue, CqEntry::new(EventType::Post, status, word.into(), key), None);
        }
    }

    /// Forgets a post: its request slot, window and memory are free.
    pub(super) fn retire_post(&mut self, key: u32) {
        let Some(Flight::Post(post)) = self.flights.remove(key) else { return };
        self.free_request(post.ep);
        if !post.is_bte() {
            self.fma_in_flight -= 1;
        }
        if local_use(post.descriptor.kind).is_some() {
            self.unuse_memory(post.descriptor.local_handle);
        }
    }
}

impl Post {
    fn remote_event(&self, last: bool, word: u32) -> Option<u64> {
        let data = match self.descriptor.kind {
            PostKind::CqWrite { value } => value,
            _ if last && self.descriptor.events.has(CqMode::REMOTE) => word.into(),
            _ => return None,
        };
        Some(CqEntry::new(EventType::Post, HwStatus::Ok, data, 0).raw())
    }

    /// What the fabric is to do for `len` bytes from `offset`.
    fn action(&self, offset: u64, len: u64) -> Action<'_> {
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
