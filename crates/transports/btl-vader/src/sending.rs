//! Sending: the fast path for short messages, and everything else.

use btl::{Asleep, Busy, Peer};
use mem::{PeerSpace, Source};
use node::ring;
use shm::fastbox;

use crate::link::{BORROWED, Entry};
use crate::transport::Vader;

const _: () = assert!(btl::SHORT + 16 <= fastbox::BODY_BYTES, "a slot holds a short message");

/// Bounce buffers of a peer that are tried in turn: it may have taken them again.
const LOOKS: usize = 4;

impl Vader {
    /// Sends to the process at place `local` on the node, if the message fits in a slot of its fastbox, there is
    /// one, and it is not full.
    #[inline(always)]
    pub(crate) fn send_at_once<S: Source>(
        &mut self,
        local: u32,
        header: &[u64],
        payload: &mut S,
    ) -> Result<Asleep, Busy> {
        let link = self.links.get_mut(local as usize).ok_or(Busy)?;
        let len = payload.remaining();
        if !link.outbound.send_at_once(header, payload) {
            return Err(Busy);
        }
        link.sent += len as u64;
        Ok(Asleep(link.doorbell.wants_ring()))
    }

    /// Sends to the process at place `local` on the node, if that reads a fastbox of ours.
    #[inline]
    pub(crate) fn send_longer_at_once<S: Source>(
        &mut self,
        local: u32,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let link = self.links.get_mut(local as usize).ok_or(Busy)?;
        let len = payload.remaining();
        if len <= link.outbound.largest() {
            link.outbound.send(header, payload).map_err(|_| Busy)?;
        } else if link.outbound.is_open() {
            self.send_by_bounce(local as usize, header, payload)?;
        } else {
            return Err(Busy);
        }
        let link = &mut self.links[local as usize];
        link.sent += len as u64;
        ring(link.doorbell);
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn send_message<S: Source>(
        &mut self,
        peer: Peer,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let local = self.local_of[peer.0 as usize];
        match self.send_at_once(local, header, payload) {
            Ok(Asleep(asleep)) => {
                if asleep {
                    ring(self.links[local as usize].doorbell);
                }
                Ok(())
            }
            Err(Busy) => self.send_otherwise(local as usize, header, payload),
        }
    }

    /// What does not fit in a line, or has no fastbox.
    #[inline(never)]
    fn send_otherwise<S: Source>(
        &mut self,
        local: usize,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let link = &mut self.links[local];
        if !link.outbound.is_open() {
            if link.until_fastbox > 0 {
                link.until_fastbox -= 1;
            } else {
                self.open_fastbox(local);
            }
        }
        let len = payload.remaining();
        let outbound = &mut self.links[local].outbound;
        let sent = if outbound.is_open() && len <= outbound.largest() {
            outbound.send(header, payload).map_err(|_| Busy)
        } else {
            self.send_by_bounce(local, header, payload)
        };
        match sent {
            Ok(()) => {
                let link = &mut self.links[local];
                link.sent += len as u64;
                ring(link.doorbell);
            }
            Err(Busy) => self.room_was_missing = true,
        }
        sent
    }

    /// Claims one of the peer's fastboxes and announces it behind what was sent before. Without success the
    /// next message tries again, or none does when all are taken.
    fn open_fastbox(&mut self, local: usize) {
        let exist = self.segment.layout().shape().fastboxes as u32;
        let link = &mut self.links[local];
        let Some(number) = link.claimed.or_else(|| link.doorbell.claim_fastbox(exist)) else {
            link.until_fastbox = u32::MAX;
            return;
        };
        link.claimed = Some(number);
        if let Ok(place) = link.queue.claim() {
            link.queue.publish(place, Entry::Fastbox { sender: self.me, number }.encode());
            let memory = self.segment.fastbox(local, number as usize);
            link.outbound = fastbox::Sender::new(memory);
        }
    }

    /// Sends in a bounce buffer: through a fastbox in one that the peer has lent us before, if there is one, else in
    /// one of ours.
    fn send_by_bounce<S: Source>(
        &mut self,
        local: usize,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let len = payload.remaining();
        // Room for the reference comes first: what is taken from the payload must be sent.
        if !self.links[local].outbound.is_open() {
            return self.send_by_queue(local, header, payload);
        }
        if self.links[local].outbound.is_full() {
            return Err(Busy);
        }
        let note = match self.borrow_bounce(local, len) {
            Some(bounce) => {
                self.fill_bounce(local, bounce, header, payload);
                BORROWED | u64::from(bounce)
            }
            None => {
                let (_, bounce) = self.take_bounce(len).ok_or(Busy)?;
                self.fill_bounce(self.me as usize, bounce, header, payload);
                u64::from(bounce)
            }
        };
        self.links[local].outbound.send_note(note).map_err(|_| Busy)
    }

    /// The same with a reference in the peer's receive queue, as long as it reads no fastbox of ours.
    fn send_by_queue<S: Source>(
        &mut self,
        local: usize,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let (pool, bounce) = self.take_bounce(payload.remaining()).ok_or(Busy)?;
        let Ok(place) = self.links[local].queue.claim() else {
            self.queue_was_full = true;
            self.bounce_buffers[pool].untake();
            return Err(Busy);
        };
        let owner = self.me;
        self.fill_bounce(owner as usize, bounce, header, payload);
        self.links[local].queue.publish(place, Entry::Bounce { owner, bounce }.encode());
        Ok(())
    }

    fn fill_bounce<S: Source>(&mut self, owner: usize, bounce: u32, header: &[u64], payload: &mut S) {
        let len = payload.remaining();
        self.segment.bounce_heads(owner)[bounce as usize].fill(header, len);
        let (at, room) = self.segment.bounce(owner, bounce as usize);
        assert!(len <= room, "a message longer than `max_send`");
        // SAFETY: the bounce buffer is ours until its reference is published, and holds `room` bytes.
        payload.fill(unsafe { PeerSpace::new(at, len) });
    }

    /// A bounce buffer of the peer's for `len` bytes.
    fn borrow_bounce(&mut self, local: usize, len: usize) -> Option<u32> {
        let size = usize::from(len > self.segment.layout().shape().bounce_bytes[0]);
        let heads = self.segment.bounce_heads(local);
        let borrowable = &mut self.links[local].borrowable.as_deref_mut()?[size];
        for _ in 0..LOOKS {
            let bounce = borrowable.pop_front()?;
            if heads[bounce as usize].borrow() {
                return Some(bounce);
            }
        }
        None
    }

    /// A free bounce buffer for `len` bytes, and the pool it is from; a small one if it suffices and there is one.
    fn take_bounce(&mut self, len: usize) -> Option<(usize, u32)> {
        let shape = self.segment.layout().shape();
        let [small, large] = &mut self.bounce_buffers;
        if len <= shape.bounce_bytes[0] {
            if let Some(bounce) = small.take() {
                return Some((0, bounce));
            }
            self.bounce_was_missing[0] = true;
        }
        let bounce = large.take();
        self.bounce_was_missing[1] |= bounce.is_none();
        bounce.map(|bounce| (1, shape.bounce_buffers[0] as u32 + bounce))
    }

    /// Whether a bounce buffer that a send since the last call lacked is free after all. To be called after arming: a
    /// bounce buffer that is given back later rings.
    pub(crate) fn finds_missed_bounce(&mut self) -> bool {
        let found = self.lacks_free_bounce();
        self.bounce_was_missing = [false; 2];
        found
    }

    /// Whether a bounce buffer that a send since the last [`Vader::finds_missed_bounce`] lacked is free.
    pub(crate) fn lacks_free_bounce(&self) -> bool {
        self.bounce_was_missing
            .iter()
            .zip(&self.bounce_buffers)
            .any(|(&missing, pool)| missing && pool.has_free())
    }
}
