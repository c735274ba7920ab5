//! Sending: the fast path for short messages, and everything else.

use btl::{Asleep, Busy, Peer};
use mem::{PeerSpace, Source};
use node::ring;
use shm::fastbox;

use crate::link::{BORROWED, Entry};
use crate::transport::Vader;

const _: () = assert!(btl::SHORT + 16 <= fastbox::BODY_BYTES, "a slot holds a short message");

/// Cells of a peer that are tried in turn: it may have taken them again.
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
            self.send_by_cell(local as usize, header, payload)?;
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
            self.send_by_cell(local, header, payload)
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

    /// Sends in a cell: through a fastbox in one that the peer has lent us before, if there is one, else in one of ours.
    fn send_by_cell<S: Source>(&mut self, local: usize, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        let len = payload.remaining();
        // Room for the reference comes first: what is taken from the payload must be sent.
        if !self.links[local].outbound.is_open() {
            return self.send_by_queue(local, header, payload);
        }
        if self.links[local].outbound.is_full() {
            return Err(Busy);
        }
        let note = match self.borrow_cell(local, len) {
            Some(cell) => {
                self.fill_cell(local, cell, header, payload);
                BORROWED | u64::from(cell)
            }
            None => {
                let (_, cell) = self.take_cell(len).ok_or(Busy)?;
                self.fill_cell(self.me as usize, cell, header, payload);
                u64::from(cell)
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
        let (pool, cell) = self.take_cell(payload.remaining()).ok_or(Busy)?;
        let Ok(place) = self.links[local].queue.claim() else {
            self.queue_was_full = true;
            self.cells[pool].untake();
            return Err(Busy);
        };
        let owner = self.me;
        self.fill_cell(owner as usize, cell, header, payload);
        self.links[local].queue.publish(place, Entry::Cell { owner, cell }.encode());
        Ok(())
    }

    fn fill_cell<S: Source>(&mut self, owner: usize, cell: u32, header: &[u64], payload: &mut S) {
        let len = payload.remaining();
        self.segment.cell_heads(owner)[cell as usize].fill(header, len);
        let (at, room) = self.segment.cell(owner, cell as usize);
        assert!(len <= room, "a message longer than `max_send`");
        // SAFETY: the cell is ours until its reference is published, and holds `room` bytes.
        payload.fill(unsafe { PeerSpace::new(at, len) });
    }

    /// A cell of the peer's for `len` bytes.
    fn borrow_cell(&mut self, local: usize, len: usize) -> Option<u32> {
        let size = usize::from(len > self.segment.layout().shape().cell_bytes[0]);
        let heads = self.segment.cell_heads(local);
        let borrowable = &mut self.links[local].borrowable.as_deref_mut()?[size];
        for _ in 0..LOOKS {
            let cell = borrowable.pop_front()?;
            if heads[cell as usize].borrow() {
                return Some(cell);
            }
        }
        None
    }

    /// A free cell for `len` bytes, and the pool it is from; a small one if it suffices and there is one.
    fn take_cell(&mut self, len: usize) -> Option<(usize, u32)> {
        let shape = self.segment.layout().shape();
        let [small, large] = &mut self.cells;
        if len <= shape.cell_bytes[0] {
            if let Some(cell) = small.take() {
                return Some((0, cell));
            }
            self.cell_was_missing[0] = true;
        }
        let cell = large.take();
        self.cell_was_missing[1] |= cell.is_none();
        cell.map(|cell| (1, shape.cells[0] as u32 + cell))
    }

    /// Whether a cell that a send since the last call lacked is free after all. To be called after arming: a cell that is
    /// given back later rings.
    pub(crate) fn finds_missed_cell(&mut self) -> bool {
        let found = self.lacks_free_cell();
        self.cell_was_missing = [false; 2];
        found
    }

    /// Whether a cell that a send since the last [`Vader::finds_missed_cell`] lacked is free.
    pub(crate) fn lacks_free_cell(&self) -> bool {
        self.cell_was_missing.iter().zip(&self.cells).any(|(&missing, pool)| missing && pool.has_free())
    }
}
