//! Slots of others that this process fills: messages, grants, ends.

use crate::network::ShmemMtl;
use crate::ring::{HEAD_BYTES, Head, Kind, write_words};
use crate::shmem::{Address, Destination, End, Pe};
use mem::UserMem;
use mtl::{Busy, Event, Peer};
use portals::Portals;
use std::collections::VecDeque;

/// What a process knows of its ring at a peer.
#[derive(Default)]
pub(crate) struct Outbound {
    /// Slots filled so far.
    filled: u64,
    /// Short messages with payload sent so far.
    shorts: u32,
    /// Grants and ends that wait for a slot.
    waiting: VecDeque<Head>,
}

/// A long message under way.
pub(crate) struct Send {
    pub(crate) to: Peer,
    memory: UserMem,
    pub(crate) cookie: u64,
    /// The receiver's window and the bytes that go there, once that is known.
    granted: Option<(u32, usize)>,
    /// Bytes that were put so far.
    put: usize,
    /// Pieces that have not left.
    leaving: u32,
}

/// Pieces of a long message that are under way together: the next one waits while one leaves, and no more.
const TOGETHER: u32 = 2;

/// Puts that a staging buffer is the memory of.
#[derive(Default)]
pub(crate) struct Staging {
    free: Vec<u32>,
    /// By number: puts that have not left.
    left: Vec<u32>,
}

impl Staging {
    pub(crate) fn new(count: usize) -> Staging {
        Staging { free: (0..count as u32).collect(), left: vec![0; count] }
    }

    fn ended(&mut self, number: u32) {
        let Some(left) = self.left.get_mut(number as usize) else { return };
        *left -= 1;
        if *left == 0 {
            self.free.push(number);
        }
    }
}

/// The word behind a slot's contents that has not been put yet.
pub(crate) struct Announcement {
    to: Pe,
    slot: Address,
    memory: UserMem,
    staged: u32,
}

/// What an end of a put is about, by its cookie.
const OF_STAGING: u64 = 1 << 32;
const OF_SEND: u64 = 2 << 32;
/// An end that no operation waits for.
pub(crate) const OF_NOTHING: u64 = 0;

impl<N: Portals> ShmemMtl<N> {
    /// What a receiver has granted of its slots and of short messages.
    fn credits(&self, to: Peer) -> (u32, u32) {
        let word = self.room.word(self.plan.credits_of(Pe(to.0)));
        (word as u32, (word >> 32) as u32)
    }

    /// Empty slots at a receiver. A count that no honest receiver puts gives none.
    fn empty_slots(&self, to: Peer) -> u64 {
        let full = (self.outbound[to.0 as usize].filled as u32).wrapping_sub(self.credits(to).0);
        self.plan.slots.saturating_sub(full.into())
    }

    fn may_be_early(&self, to: Peer) -> bool {
        let waiting = self.outbound[to.0 as usize].shorts.wrapping_sub(self.credits(to).1);
        waiting < self.early
    }

    /// Fills the next slot of a receiver.
    ///
    /// # Errors
    /// [`Busy`]; nothing was begun.
    fn fill(&mut self, to: Peer, head: &Head, payload: UserMem) -> Result<(), Busy> {
        if self.empty_slots(to) == 0 {
            return Err(Busy);
        }
        let staged = self.staging.free.pop().ok_or(Busy)?;
        let outbound = &mut self.outbound[to.0 as usize];
        let slot = self.plan.slot(self.me, outbound.filled);
        let memory = self.room.own(self.plan.staging(staged as usize), HEAD_BYTES + payload.len());
        let [kind, bits, data, len] = head.words();
        write_words(memory, &[outbound.filled + 1, kind, bits, data, len]);
        payload.copy_to(memory.part(HEAD_BYTES, payload.len()));
        let body = memory.part(8, HEAD_BYTES - 8 + payload.len());
        let to = Pe(to.0);
        let cookie = OF_STAGING | u64::from(staged);
        if self.room.put(to, Destination::Symmetric(slot.plus(8)), body, cookie).is_err() {
            self.staging.free.push(staged);
            return Err(Busy);
        }
        outbound.filled += 1;
        self.staging.left[staged as usize] = 2;
        self.announcements.push_back(Announcement { to, slot, memory: memory.part(0, 8), staged });
        self.announce();
        Ok(())
    }

    /// Announces filled slots, as far as there is room: the word goes behind what is in the slot.
    fn announce(&mut self) {
        while let Some(next) = self.announcements.front() {
            let cookie = OF_STAGING | u64::from(next.staged);
            if self.room.put(next.to, Destination::Symmetric(next.slot), next.memory, cookie).is_err() {
                return;
            }
            self.announcements.pop_front();
        }
    }

    /// Sends a message with its payload. No credit is asked for where there is no payload to keep.
    pub(crate) fn fill_short(
        &mut self,
        to: Peer,
        bits: u64,
        data: u64,
        payload: UserMem,
    ) -> Result<(), Busy> {
        if !self.outbound[to.0 as usize].waiting.is_empty() {
            return Err(Busy);
        }
        let head = Head { kind: Kind::Short, bits, data, len: payload.len() as u64 };
        self.fill(to, &head, payload)?;
        self.outbound[to.0 as usize].shorts += u32::from(!payload.is_empty());
        Ok(())
    }

    pub(crate) fn begin_send(
        &mut self,
        to: Peer,
        bits: u64,
        data: u64,
        memory: UserMem,
        cookie: u64,
    ) -> Result<(), Busy> {
        if memory.is_empty() || memory.len() <= self.plan.payload && self.may_be_early(to) {
            self.fill_short(to, bits, data, memory)?;
            self.events.push_back(Event::Sent(cookie));
            return Ok(());
        }
        if !self.outbound[to.0 as usize].waiting.is_empty() {
            return Err(Busy);
        }
        let send = Send { to, memory, cookie, granted: None, put: 0, leaving: 0 };
        let send = self.sends.insert(send).map_err(|_| Busy)?;
        let head = Head { kind: Kind::Offer { send }, bits, data, len: memory.len() as u64 };
        self.fill(to, &head, UserMem::EMPTY).inspect_err(|_| self.sends.discard(send))
    }

    /// Sends a grant or an end, now or when there is a slot.
    pub(crate) fn control(&mut self, to: Peer, kind: Kind, len: u64) {
        let head = Head { kind, bits: 0, data: 0, len };
        let is_first = self.outbound[to.0 as usize].waiting.is_empty();
        if self.has_lost(to) || is_first && self.fill(to, &head, UserMem::EMPTY).is_ok() {
            return;
        }
        self.outbound[to.0 as usize].waiting.push_back(head);
        if is_first {
            self.blocked.push_back(to);
        }
    }

    /// A receiver has opened a window for a send, or wants nothing of it. One that was granted before stays as it is.
    pub(crate) fn on_grant(&mut self, from: Peer, send: u32, window: u32, len: u64) {
        let found = self.sends.get_mut(send).filter(|send| send.to == from && send.granted.is_none());
        let Some(found) = found else { return };
        let len = found.memory.len().min(usize::try_from(len).unwrap_or(usize::MAX));
        found.granted = Some((window, len));
        if len == 0 {
            let cookie = found.cookie;
            self.sends.discard(send);
            self.events.push_back(Event::Sent(cookie));
            return;
        }
        self.granted.push_back(send);
        self.place();
    }

    /// Puts pieces of what has a window, as far as there is room. A NIC sends one put after the other: between the pieces
    /// there is room for grants of this process, without which its peers' data could not come meanwhile.
    fn place(&mut self) {
        while let Some(&number) = self.granted.front() {
            if let Some(send) = self.sends.get_mut(number)
                && let Some((window, len)) = send.granted
            {
                while send.put < len && send.leaving < TOGETHER {
                    let place = Destination::Window(window, send.put as u64);
                    let piece = send.memory.part(send.put, self.piece.min(len - send.put));
                    let cookie = OF_SEND | u64::from(number);
                    if self.room.put(Pe(send.to.0), place, piece, cookie).is_err() {
                        return;
                    }
                    send.put += piece.len();
                    send.leaving += 1;
                }
                if send.put == len {
                    let to = send.to;
                    self.control(to, Kind::Placed { window }, len as u64);
                }
            }
            self.granted.pop_front();
        }
    }

    /// A piece of a long message has left.
    fn on_piece(&mut self, number: u32, fine: bool) {
        let Some(send) = self.sends.get_mut(number) else { return };
        send.leaving -= 1;
        let is_whole = send.granted.is_some_and(|(_, len)| send.put == len);
        if fine && !is_whole {
            // One that still waits for room is in the list already.
            if !self.granted.contains(&number) {
                self.granted.push_back(number);
            }
            self.place();
        } else if !fine || send.leaving == 0 {
            let cookie = send.cookie;
            self.sends.discard(number);
            self.events.push_back(if fine { Event::Sent(cookie) } else { Event::Failed(cookie) });
        }
    }

    /// Goes on with what waits for room.
    pub(crate) fn flush(&mut self) {
        self.announce();
        self.place();
        for _ in 0..self.blocked.len() {
            let Some(to) = self.blocked.pop_front() else { return };
            while let Some(head) = self.outbound[to.0 as usize].waiting.front().copied() {
                if !self.has_lost(to) && self.fill(to, &head, UserMem::EMPTY).is_err() {
                    self.blocked.push_back(to);
                    break;
                }
                self.outbound[to.0 as usize].waiting.pop_front();
            }
        }
    }

    /// A put has left.
    pub(crate) fn on_end(&mut self, End { cookie, fine }: End) {
        let number = cookie as u32;
        match cookie & !u64::from(u32::MAX) {
            OF_STAGING => self.staging.ended(number),
            OF_SEND => self.on_piece(number, fine),
            _ => {}
        }
    }
}
