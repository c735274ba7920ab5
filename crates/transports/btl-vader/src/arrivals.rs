//! Receiving: fastboxes in turn, then the receive queue.
//!
//! The fast path is the next message of one fastbox, whole in its slot. All else is behind calls that say
//! only whether they found something and leave it in `Vader::found`: an [`Arrival`] returned through memory by
//! several paths would cost the fast one a dozen stores and a stalled load.

use btl::{Arrival, Event, Peer, Take};
use mem::PeerBytes;
use platform::futex;
use shm::doorbell::Doorbell;
use shm::fastbox::{self, Arrived, Item, Views};

use crate::link::{BORROWED, Entry, Link};
use crate::transport::Vader;

/// Messages that one fastbox, or the queue, delivers before the next one is looked at. Going on with the same
/// one saves a walk over the idle ones; the bound keeps it fair.
const BURST: u32 = 16;

/// An arrival before it is handed out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    peer: Peer,
    views: Views<'static>,
    /// The sender's place on the node, for a message in its fastbox; with [`BOUNCE`], the bounce buffer that it is in.
    token: u64,
}

/// Marks a message in a bounce buffer: `BOUNCE | owner << 32 | bounce`.
const BOUNCE: u64 = 1 << 63;

/// A bounce buffer, by its owner's place on the node.
#[derive(Clone, Copy)]
struct BounceBuffer {
    owner: u32,
    bounce: u32,
}

impl BounceBuffer {
    fn token(self) -> u64 {
        BOUNCE | u64::from(self.owner) << 32 | u64::from(self.bounce)
    }

    fn of(token: u64) -> BounceBuffer {
        BounceBuffer { owner: (token >> 32) as u32 & 0xFFFF, bounce: token as u32 }
    }
}

impl Found {
    /// What is found before the first message.
    pub const NOTHING: Found = Found {
        peer: Peer(u32::MAX),
        views: Views { header: PeerBytes::of(&[]), payload: PeerBytes::of(&[]) },
        token: 0,
    };

    #[inline(always)]
    fn arrival(self) -> Arrival {
        let Found { peer, views: Views { header, payload }, token } = self;
        Arrival { peer, header, payload, token }
    }
}

impl Vader {
    #[inline(always)]
    pub(crate) fn next_of_all(&mut self) -> Option<Arrival> {
        if self.burst > 0
            && let Some(&local) = self.active.get(self.cursor)
            && let Some(found) = self.next_of_fastbox(local as usize)
        {
            self.burst -= 1;
            return Some(found.arrival());
        }
        if self.look_everywhere() { Some(self.found.arrival()) } else { None }
    }

    #[inline(always)]
    pub(crate) fn next_of_one(&mut self, peer: Peer) -> Option<Arrival> {
        let local = self.local_of[peer.0 as usize] as usize;
        self.next_of_fastbox(local).map(Found::arrival)
    }

    /// Shows the next message of the peer at `local` to `take`, if it is whole in a slot of its fastbox.
    #[inline(always)]
    pub(crate) fn next_of_one_if<T: Take>(&mut self, local: u32, take: T) -> Option<T::Taken> {
        let link = self.links.get_mut(local as usize)?;
        let inbound = &mut link.inbound;
        let (header, payload) = inbound.peek_short()?;
        if T::MORE {
            inbound.expect_more();
        }
        let taken = take.take(header, payload)?;
        inbound.advance_short();
        Some(taken)
    }

    /// As [`Vader::next_of_one_if`], polling for the message up to `polls` times.
    #[inline(always)]
    pub(crate) fn next_of_one_within<T: Take>(
        &mut self,
        local: u32,
        polls: u32,
        take: T,
    ) -> Option<T::Taken> {
        let link = self.links.get_mut(local as usize)?;
        use_idle_time(link);
        let inbound = &mut link.inbound;
        let (header, payload) = inbound.await_short(polls)?;
        let taken = take.take(header, payload)?;
        inbound.advance_short();
        Some(taken)
    }

    /// Polls for a message of the peer at `local` up to `polls` times.
    #[inline(always)]
    pub(crate) fn poll_one(&mut self, local: u32, polls: u32) -> bool {
        let Some(link) = self.links.get_mut(local as usize) else { return false };
        use_idle_time(link);
        link.inbound.poll_slot(polls)
    }

    /// As [`Vader::next_of_one_if`], for what is not whole in a slot, but in the data of the fastbox or in a bounce buffer.
    #[inline(always)]
    pub(crate) fn longer_of_one_if<T: Take>(&mut self, local: u32, take: T) -> Option<T::Taken> {
        let link = self.links.get_mut(local as usize)?;
        let word = link.inbound.poll()?;
        self.longer_if(local, word, take)
    }

    #[inline(never)]
    fn longer_if<T: Take>(&mut self, local: u32, word: Arrived, take: T) -> Option<T::Taken> {
        let (views, bounce) = match self.links[local as usize].inbound.open(word) {
            Item::Message(views) => (views, None),
            Item::Note(note) => {
                let place = self.place(local, note);
                (self.bounce(local, place)?, Some(place))
            }
            Item::Corrupt => return None,
        };
        let taken = take.take(views.header, views.payload)?;
        let link = &mut self.links[local as usize];
        if link.inbound.advance() {
            room(link.doorbell);
        }
        if let Some(place) = bounce {
            self.give_back_bounce(place);
        }
        Some(taken)
    }

    /// The next message of the peer at `local`, if it sends by fastbox.
    #[inline(always)]
    fn next_of_fastbox(&mut self, local: usize) -> Option<Found> {
        let link = &mut self.links[local];
        let inbound = &link.inbound;
        let word = inbound.poll()?;
        if let Some(views) = inbound.open_short(word) {
            return Some(Found { peer: link.peer, views, token: local as u64 });
        }
        if self.open_other(local, word) { Some(self.found) } else { None }
    }

    /// Opens what is not whole in its slot; whether a message was found.
    #[inline(never)]
    fn open_other(&mut self, local: usize, word: Arrived) -> bool {
        let link = &mut self.links[local];
        let inbound = &mut link.inbound;
        match inbound.open(word) {
            Item::Message(views) => {
                self.found = Found { peer: link.peer, views, token: local as u64 };
                true
            }
            Item::Note(note) => {
                if inbound.advance() {
                    room(link.doorbell);
                }
                let place = self.place(local as u32, note);
                self.open_bounce(local as u32, place)
            }
            Item::Corrupt => {
                // Nothing more can be understood from that peer.
                link.inbound = fastbox::Receiver::closed();
                let lost = Event::PeerLost(link.peer);
                self.active.retain(|&active| active as usize != local);
                self.report(lost);
                false
            }
        }
    }

    /// Looks at all fastboxes and the queue, the one last served first while its burst lasts; whether a message
    /// was found.
    #[inline(never)]
    fn look_everywhere(&mut self) -> bool {
        if self.burst > 0 && self.find_at_cursor() {
            self.burst -= 1;
            return true;
        }
        for _ in 0..=self.active.len() {
            self.cursor = if self.cursor >= self.active.len() { 0 } else { self.cursor + 1 };
            if self.find_at_cursor() {
                self.burst = BURST;
                return true;
            }
        }
        false
    }

    fn find_at_cursor(&mut self) -> bool {
        match self.active.get(self.cursor) {
            Some(&local) => self.find_in_fastbox(local),
            None => self.look_into_queue(),
        }
    }

    fn find_in_fastbox(&mut self, local: u32) -> bool {
        if let Some(found) = self.next_of_fastbox(local as usize) {
            self.found = found;
            return true;
        }
        let link = &mut self.links[local as usize];
        if link.inbound.is_open() && link.inbound.idle() {
            room(link.doorbell);
        }
        false
    }

    fn look_into_queue(&mut self) -> bool {
        while let Some(entry) = self.inbox.take() {
            let found = match Entry::decode(entry) {
                Some(Entry::Bounce { owner, bounce }) => {
                    self.open_bounce(owner, BounceBuffer { owner, bounce })
                }
                Some(Entry::Fastbox { sender, number }) => self.admit(sender, number),
                None => false,
            };
            if found {
                return true;
            }
        }
        false
    }

    /// Opens a message in a bounce buffer; not when the reference or the content is not one that a sender makes.
    fn open_bounce(&mut self, sender: u32, place: BounceBuffer) -> bool {
        let Some(link) = self.links.get(sender as usize) else { return false };
        let peer = link.peer;
        let Some(views) = self.bounce(sender, place) else {
            self.report(Event::PeerLost(peer));
            return false;
        };
        self.found = Found { peer, views, token: place.token() };
        true
    }

    /// Which bounce buffer a note of the peer at `sender` means.
    fn place(&self, sender: u32, note: u64) -> BounceBuffer {
        let owner = if note & BORROWED != 0 { self.me } else { sender };
        BounceBuffer { owner, bounce: note as u32 }
    }

    /// What the peer at `sender` has put into a bounce buffer.
    fn bounce(&self, sender: u32, place: BounceBuffer) -> Option<Views<'static>> {
        let BounceBuffer { owner, bounce } = place;
        let head = self.segment.bounce_heads(owner as usize).get(bounce as usize)?;
        if owner != sender && !head.is_borrowed() {
            return None;
        }
        let (at, room) = self.segment.bounce(owner as usize, bounce as usize);
        let (header, len) = head.read(room)?;
        // SAFETY: `read` has checked the length against the bounce buffer's room; the segment stays mapped.
        Some(Views { header, payload: unsafe { PeerBytes::new(at, len) } })
    }

    /// Begins to read our fastbox `number`, which `sender` has claimed; ignores announcements that cannot be.
    /// Whether a message was found in it: the walk over the fastboxes may be over, and must not miss one.
    fn admit(&mut self, sender: u32, number: u32) -> bool {
        let Some(admitted) = self.admitted.get_mut(number as usize) else { return false };
        let Some(link) = self.links.get_mut(sender as usize) else { return false };
        if *admitted || sender == self.me || link.inbound.is_open() {
            return false;
        }
        *admitted = true;
        let memory = self.segment.fastbox(self.me as usize, number as usize);
        link.inbound = fastbox::Receiver::new(memory);
        self.active.push(sender);
        self.find_in_fastbox(sender)
    }

    #[inline(always)]
    pub(crate) fn give_back(&mut self, arrival: Arrival) {
        let token = arrival.token;
        if token & BOUNCE != 0 {
            self.give_back_bounce(BounceBuffer::of(token));
            return;
        }
        let link = &mut self.links[token as usize];
        if link.inbound.is_open() && link.inbound.advance() {
            room(link.doorbell);
        }
    }

    /// Frees a bounce buffer. If it is a peer's, it may carry our next message to that peer.
    #[inline(never)]
    fn give_back_bounce(&mut self, BounceBuffer { owner, bounce }: BounceBuffer) {
        self.segment.bounce_heads(owner as usize)[bounce as usize].free();
        if owner == self.me {
            return;
        }
        let link = &mut self.links[owner as usize];
        room(link.doorbell);
        if link.outbound.is_open() {
            let [small, large] = self.segment.layout().shape().bounce_buffers;
            let [of_small, of_large] = &mut **link.borrowable.get_or_insert_default();
            let (borrowable, most) = match (bounce as usize) < small {
                true => (of_small, small),
                false => (of_large, large),
            };
            if borrowable.len() == most {
                borrowable.pop_front();
            }
            borrowable.push_back(bounce);
        }
    }
}

/// Does what is best done while there is no message of the peer, if there is none.
#[inline(always)]
fn use_idle_time(link: &mut Link) {
    if link.inbound.poll().is_some() {
        return;
    }
    link.outbound.idle();
    if link.inbound.is_open() && link.inbound.idle() {
        room(link.doorbell);
    }
}

/// There is room at us, or a bounce buffer is back: its owner may sleep for want of it.
#[inline(never)]
fn room(doorbell: &Doorbell) {
    doorbell.ring_for_room(|word| futex::wake(word, i32::MAX));
}
