//! Slots of this process that others have filled.

use crate::lists::{Body, Receive, pour};
use crate::network::ShmemMtl;
use crate::outbound::OF_NOTHING;
use crate::ring::{HEAD_BYTES, Head, Kind, write_words};
use crate::shmem::{Destination, Pe, WINDOWS};
use mem::UserMem;
use mtl::{Event, Message, Peer};
use portals::Portals;

/// What a process knows of a peer's ring.
#[derive(Default)]
pub(crate) struct Inbound {
    /// Slots read so far.
    taken: u64,
    /// Short messages with payload that were received.
    shorts: u32,
    /// `taken` and `shorts` as last put to the peer.
    told: (u32, u32),
}

/// A long message that was matched.
pub(crate) struct Pull {
    pub(crate) message: Message,
    /// Its number at the sender.
    send: u32,
    into: UserMem,
    pub(crate) cookie: u64,
}

/// No window.
const NOTHING: u32 = 0xff;

impl<N: Portals> ShmemMtl<N> {
    /// One turn.
    pub(crate) fn advance(&mut self) {
        self.room.progress();
        while let Some(pe) = self.room.lost() {
            self.lost[pe.0 as usize] = true;
            self.events.push_back(Event::PeerLost(Peer(pe.0)));
            self.end_all_with(Peer(pe.0));
        }
        while let Some(end) = self.room.next_end() {
            self.on_end(end);
        }
        self.take_arrivals();
        self.flush();
        self.use_windows();
    }

    /// Reads the slots that are filled.
    pub(crate) fn take_arrivals(&mut self) {
        for peer in 0..self.inbound.len() as u32 {
            let mut slot = self.plan.slot(Pe(peer), self.inbound[peer as usize].taken);
            while self.room.word(slot) == self.inbound[peer as usize].taken + 1 {
                let words = [1, 2, 3, 4].map(|word| self.room.word(slot.plus(8 * word)));
                let payload = self.room.own(slot.plus(HEAD_BYTES as u64), self.plan.payload);
                if let Some(head) = Head::parse(words) {
                    self.take(Peer(peer), &head, payload);
                }
                self.inbound[peer as usize].taken += 1;
                slot = self.plan.slot(Pe(peer), self.inbound[peer as usize].taken);
            }
            self.tell(peer);
        }
    }

    fn take(&mut self, from: Peer, head: &Head, payload: UserMem) {
        let Head { kind, bits, data, len } = *head;
        let message = Message { from, bits, data, len };
        match kind {
            Kind::Short if len > payload.len() as u64 => {}
            Kind::Short => {
                let bytes = payload.part(0, len as usize).as_bytes().to_vec();
                match self.lists.match_message(from, bits) {
                    Some(Receive { into, cookie, .. }) => {
                        self.received(&message, &bytes, Some((into, cookie)));
                    }
                    None => self.lists.keep(message, Body::Here(bytes)),
                }
            }
            Kind::Offer { send } => match self.lists.match_message(from, bits) {
                Some(Receive { into, cookie, .. }) => self.pull(message, send, Some((into, cookie))),
                None => self.lists.keep(message, Body::There(send)),
            },
            Kind::Grant { send, window } => self.on_grant(from, send, window, len),
            Kind::Placed { window } => self.on_placed(from, window as usize),
        }
    }

    /// A short message goes to its receive, or nowhere.
    pub(crate) fn received(&mut self, message: &Message, bytes: &[u8], goal: Option<(UserMem, u64)>) {
        if let Some((into, cookie)) = goal {
            let stored = pour(bytes, into);
            self.events.push_back(Event::Received { cookie, message: *message, stored });
        }
        let inbound = &mut self.inbound[message.from.0 as usize];
        inbound.shorts = inbound.shorts.wrapping_add(u32::from(!bytes.is_empty()));
        self.tell(message.from.0);
    }

    /// A long message was matched, or no receive wants it.
    pub(crate) fn pull(&mut self, message: Message, send: u32, goal: Option<(UserMem, u64)>) {
        let into = goal.map_or(UserMem::EMPTY, |(into, _)| into.part(0, message.len as usize));
        if into.is_empty() {
            self.control(message.from, Kind::Grant { send, window: NOTHING }, 0);
            let received = goal.map(|(_, cookie)| Event::Received { cookie, message, stored: 0 });
            self.events.extend(received);
            return;
        }
        let cookie = goal.map_or(0, |(_, cookie)| cookie);
        self.pulls.push_back(Pull { message, send, into, cookie });
        self.use_windows();
    }

    /// Closes windows that are done with, and opens them for what waits.
    fn use_windows(&mut self) {
        for window in 0..WINDOWS {
            if self.closing[window] {
                self.closing[window] = self.room.close_window(window).is_err();
            }
            if self.closing[window] || self.windows[window].is_some() {
                continue;
            }
            let Some(pull) = self.pulls.front() else { continue };
            if self.room.open_window(window, pull.into).is_err() {
                continue;
            }
            let Some(pull) = self.pulls.pop_front() else { continue };
            let (from, len) = (pull.message.from, pull.into.len() as u64);
            let grant = Kind::Grant { send: pull.send, window: window as u32 };
            self.windows[window] = Some(pull);
            self.control(from, grant, len);
        }
    }

    fn on_placed(&mut self, from: Peer, window: usize) {
        let open =
            self.windows.get_mut(window).and_then(|open| open.take_if(|pull| pull.message.from == from));
        let Some(Pull { message, into, cookie, .. }) = open else { return };
        self.closing[window] = true;
        self.events.push_back(Event::Received { cookie, message, stored: into.len() as u64 });
        self.use_windows();
    }

    /// Grants a sender empty slots and received messages, once it is worth a put.
    fn tell(&mut self, peer: u32) {
        let inbound = &self.inbound[peer as usize];
        let now = (inbound.taken as u32, inbound.shorts);
        let (slots, shorts) = (now.0.wrapping_sub(inbound.told.0), now.1.wrapping_sub(inbound.told.1));
        let is_due = u64::from(slots) >= self.plan.slots / 2 || shorts > 0 && shorts >= self.early / 2;
        if !is_due || self.has_lost(Peer(peer)) {
            return;
        }
        let memory = self.room.own(self.plan.granted_to(Pe(peer)), 8);
        write_words(memory, &[u64::from(now.0) | u64::from(now.1) << 32]);
        let place = Destination::Symmetric(self.plan.credits_of(self.me));
        if self.room.put(Pe(peer), place, memory, OF_NOTHING).is_ok() {
            self.inbound[peer as usize].told = now;
        }
    }
}
