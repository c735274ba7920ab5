//! Both mailboxes of a connected endpoint: which slot is next, and how many credits each side owes the other.

use crate::mailbox::{self, SLOT_HEADER, Shape, SlotHeader};
use gni::{MemHandle, SmsgType};
use mem::{PeerBytes, PeerSpace, Source};

/// Both mailboxes of a connected endpoint.
pub(super) struct Mailboxes {
    pub(super) kind: SmsgType,
    pub(super) max_size: u32,
    /// Where the peer's messages for us are.
    pub(super) local: Shape,
    pub(super) local_handle: MemHandle,
    /// Where our messages for the peer go.
    pub(super) remote: Shape,
    pub(super) remote_handle: MemHandle,
    /// Messages begun.
    pub(super) sent: u64,
    /// Of these, released by the peer as far as known.
    pub(super) acked: u64,
    /// Where the next one goes.
    pub(super) send_slot: u64,
    /// Messages released here.
    pub(super) received: u64,
    /// Where the next one to be released is.
    pub(super) receive_slot: u64,
    /// Of these, reported to the peer.
    pub(super) returned: u64,
    /// Where the last message is that the peer can send by what was reported to it.
    pub(super) last_slot: u64,
    /// The message `received` has been shown and not yet released.
    pub(super) current: bool,
    /// Credit returns in a row that the network lost.
    pub(super) lost_returns: u16,
    /// Whether the endpoint is on the list of those that may owe credits.
    pub(super) watched: bool,
}

impl Mailboxes {
    /// Takes note of the peer's count of released messages, if it makes sense.
    pub(super) fn note_returned(&mut self, returned: u32) {
        let news = u64::from(returned.wrapping_sub(self.acked as u32));
        if news <= self.sent - self.acked {
            self.acked += news;
        }
    }

    /// Looks at the word in which the peer returns credits.
    pub(super) fn refresh(&mut self) {
        // SAFETY: the local mailbox was checked to lie in registered memory of ours, which cannot be
        // deregistered while this endpoint uses it; its base is a multiple of 64.
        let returned = unsafe { mailbox::load(self.local.base) };
        self.note_returned(returned);
    }

    #[inline]
    pub(super) fn has_credit(&mut self) -> bool {
        if self.sent - self.acked < self.remote.credits().into() {
            return true;
        }
        self.refresh();
        self.sent - self.acked < self.remote.credits().into()
    }

    /// The header of message `received`, once it is there.
    #[inline]
    pub(super) fn head(&self) -> Option<SlotHeader> {
        let slot = self.receive_slot;
        let expected = (self.received + 1) as u32;
        // SAFETY: as in `refresh`; slots are multiples of 64 within the mailbox.
        if unsafe { mailbox::load(slot) } != expected {
            return None;
        }
        // SAFETY: the slot's header lies within the mailbox.
        let rest = unsafe { [mailbox::load(slot + 4), mailbox::load(slot + 8)] };
        Some(SlotHeader::of_words(expected, rest))
    }

    /// Whether credits should be returned without waiting for a message to carry them: half the mailbox is
    /// owed, or the sender has used all it knows of.
    pub(super) fn should_return(&self) -> bool {
        let owed = self.received - self.returned;
        let credits = u64::from(self.local.credits());
        let last = self.returned + credits - 1;
        // SAFETY: as in `head`.
        owed * 2 >= credits || unsafe { mailbox::load(self.last_slot) } == (last + 1) as u32
    }

    /// Takes note that the peer knows of all that was released.
    #[inline]
    pub(super) fn note_told(&mut self) {
        self.returned = self.received;
        self.last_slot = self.local.before(self.receive_slot);
    }

    /// Takes note of a message begun.
    #[inline]
    pub(super) fn note_sent(&mut self) {
        self.sent += 1;
        self.send_slot = self.remote.after(self.send_slot);
    }

    /// The header for the next message; credits owed travel with it.
    #[inline]
    pub(super) fn next_header(&mut self, len: usize, tag: u8) -> SlotHeader {
        self.note_told();
        SlotHeader { sequence: (self.sent + 1) as u32, len: len as u16, tag, returned: self.received as u32 }
    }
}

/// Writes one slot: everything but the sequence, then the sequence.
#[inline]
pub(super) fn fill_slot<S: Source>(slot: &PeerSpace<'_>, head: SlotHeader, header: &[u8], data: &mut S) {
    let base = slot.as_mut_ptr();
    let rest = data.remaining();
    let [sizes, returned] = head.rest();
    // SAFETY: the window has room for the slot header, `header` and all that remains in `data`; slots are multiples of 64.
    unsafe {
        mailbox::store_early(base as u64 + 4, sizes);
        mailbox::store_early(base as u64 + 8, returned);
        PeerSpace::new(base.add(SLOT_HEADER), header.len()).write(PeerBytes::of(header));
        data.fill(PeerSpace::new(base.add(SLOT_HEADER + header.len()), rest));
        // Release order: pairs with the acquire load in `Mailboxes::head` at the receiver.
        mailbox::store(base as u64, head.sequence);
    }
}
