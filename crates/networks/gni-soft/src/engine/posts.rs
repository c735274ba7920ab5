//! Posts: checking a descriptor, beginning it, moving block transfers piece by piece, showing the end.

use super::SoftNic;
use super::flight::Flight;
use super::post::{Post, check_descriptor, local_use};
use crate::fabric::{Class, Fabric, LOST_EVENT, Submit, Ticket, Tx};
use crate::fault::Mishap;
use gni::{
    Cq, CqEntry, CqMode, Ep, Error, EventType, HwStatus, Modes, PostDescriptor, PostKind, Result, limits,
};

/// Pieces of one block transfer that may be under way together.
const PIECES: u32 = 4;

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
