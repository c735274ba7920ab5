//! Receiving: fastboxes in turn, then the receive queue.

use btl::{Arrival, Event, Peer};
use mem::PeerBytes;
use shm::fastbox::{self, Item};

use crate::link::{Entry, Inbound, NONE};
use crate::transport::Vader;

/// Messages that one fastbox, or the queue, delivers before the next one is looked at. Going on with the same one saves a walk
/// over the idle ones; the bound keeps it fair.
const BURST: u32 = 16;

/// What a token says: an inbound fastbox by its place in the list, or, with this bit, a cell and its owner.
const CELL: u64 = 1 << 63;

impl Vader {
    #[inline(always)]
    pub(crate) fn next_of_all(&mut self) -> Option<Arrival> {
        if self.burst > 0 {
            self.burst -= 1;
            if let Some(arrival) = self.look_into(self.cursor) {
                return Some(arrival);
            }
        }
        self.look_everywhere()
    }

    #[inline(always)]
    pub(crate) fn next_of_one(&mut self, peer: Peer) -> Option<Arrival> {
        let inbound = self.link(peer).inbound;
        if inbound == NONE {
            return None;
        }
        self.look_into(inbound as usize)
    }

    /// The next message from the process at place `local` on the node, if it is in a fastbox and `take` wants it.
    #[inline(always)]
    pub(crate) fn next_of_one_if<R>(
        &mut self,
        local: u32,
        take: impl FnOnce(PeerBytes<'_>, PeerBytes<'_>) -> Option<R>,
    ) -> Option<R> {
        let inbound = self.links.get(local as usize)?.inbound;
        let receiver = &mut self.inbound.get_mut(inbound as usize)?.receiver;
        let Some(Item::Message { header, payload }) = receiver.look() else { return None };
        let taken = take(header, payload)?;
        receiver.advance();
        Some(taken)
    }

    /// The next message of the inbound fastbox at `index`, or of the queue, whose place is after the last of them.
    #[inline(always)]
    fn look_into(&mut self, index: usize) -> Option<Arrival> {
        let Some(inbound) = self.inbound.get_mut(index) else {
            return self.look_into_queue();
        };
        match inbound.receiver.look()? {
            Item::Message { header, payload } => {
                Some(Arrival { peer: inbound.peer, header, payload, token: index as u64 })
            }
            other => self.unusual(index, other),
        }
    }

    #[cold]
    fn unusual(&mut self, index: usize, item: Item<'static>) -> Option<Arrival> {
        let inbound = &mut self.inbound[index];
        let owner = inbound.local;
        match item {
            Item::Note(cell) => {
                inbound.receiver.advance();
                self.open_cell(owner, cell)
            }
            _ => {
                self.drop_inbound(index);
                None
            }
        }
    }

    /// All fastboxes and the queue once, from the one after the last served.
    #[inline(never)]
    fn look_everywhere(&mut self) -> Option<Arrival> {
        for _ in 0..=self.inbound.len() {
            self.cursor = if self.cursor >= self.inbound.len() { 0 } else { self.cursor + 1 };
            let found = self.look_into(self.cursor);
            if found.is_some() {
                self.burst = BURST;
                return found;
            }
        }
        None
    }

    #[inline(never)]
    fn look_into_queue(&mut self) -> Option<Arrival> {
        while let Some(entry) = self.inbox.take() {
            match Entry::decode(entry) {
                Some(Entry::Cell { owner, cell }) => {
                    if let Some(arrival) = self.open_cell(owner, u64::from(cell)) {
                        return Some(arrival);
                    }
                }
                Some(Entry::Fastbox { sender, number }) => self.admit(sender, number),
                None => {}
            }
        }
        None
    }

    /// A message in a cell; `None` when the reference or the cell's content is not one a sender makes.
    fn open_cell(&mut self, owner: u32, cell: u64) -> Option<Arrival> {
        let shape = self.segment.layout().shape();
        let peer = self.links.get(owner as usize)?.peer;
        if cell >= shape.cells_per_rank() as u64 {
            self.report(Event::PeerLost(peer));
            return None;
        }
        let (at, room) = self.segment.cell(owner as usize, cell as usize);
        let head = &self.segment.cell_heads(owner as usize)[cell as usize];
        let Some((header, len)) = head.read(room) else {
            self.report(Event::PeerLost(peer));
            return None;
        };
        // SAFETY: `read` has checked the length against the cell's room; the segment stays mapped.
        let payload = unsafe { PeerBytes::new(at, len) };
        let token = CELL | u64::from(owner) << 32 | cell;
        Some(Arrival { peer, header, payload, token })
    }

    /// Begins to read fastbox `number`, which `sender` has claimed; ignores announcements that cannot be.
    fn admit(&mut self, sender: u32, number: u32) {
        let shape = self.segment.layout().shape();
        let known = |inbound: &Inbound| inbound.local == sender || inbound.number == number;
        if number as usize >= shape.fastboxes || sender == self.me || self.inbound.iter().any(known) {
            return;
        }
        let Some(link) = self.links.get_mut(sender as usize) else { return };
        link.inbound = self.inbound.len() as u32;
        let memory = self.segment.fastbox(self.me as usize, number as usize);
        let receiver = fastbox::Receiver::new(memory);
        self.inbound.push(Inbound { receiver, peer: link.peer, local: sender, number });
    }

    /// Stops reading a fastbox whose sender writes garbage: nothing more comes from that peer.
    fn drop_inbound(&mut self, index: usize) {
        let lost = self.inbound.swap_remove(index);
        self.links[lost.local as usize].inbound = NONE;
        if let Some(moved) = self.inbound.get(index) {
            self.links[moved.local as usize].inbound = index as u32;
        }
        self.report(Event::PeerLost(lost.peer));
    }

    #[inline(always)]
    pub(crate) fn give_back(&mut self, arrival: Arrival) {
        let token = arrival.token;
        match self.inbound.get_mut(token as usize) {
            Some(inbound) => inbound.receiver.advance(),
            None => self.give_back_cell(token),
        }
    }

    #[inline(never)]
    fn give_back_cell(&self, token: u64) {
        let (owner, cell) = ((token >> 32) as u32 & 0xFFFF, token as u32);
        self.segment.cell_heads(owner as usize)[cell as usize].give_back();
    }
}
