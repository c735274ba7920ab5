//! The contract's calls, each handed to the file it belongs to.

use std::os::fd::{AsRawFd, BorrowedFd};

use btl::{
    Access, Arrival, Btl, Busy, Event, FastPath, Full, Limits, Loss, Pace, Peer, Refusal, RemoteKey, Sleep,
};
use mem::{Source, UserMem};

use crate::state::Ofi;

impl Btl for Ofi {
    fn reaches(&self, peer: Peer) -> bool {
        self.peers.has(peer)
    }

    #[inline(always)]
    fn limits(&self, _peer: Peer) -> &Limits {
        &self.plan.limits
    }

    fn pace(&self, _peer: Peer) -> Pace {
        self.plan.pace
    }

    #[inline(never)]
    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        self.send_message(peer, header, payload).or_else(|Busy| {
            // A completion may have given room back.
            self.advance();
            self.send_message(peer, header, payload)
        })
    }

    #[inline(never)]
    fn next_arrival(&mut self) -> Option<Arrival> {
        self.next_arrived().or_else(|| {
            self.advance();
            self.next_arrived()
        })
    }

    #[inline(never)]
    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        if self.receives.arrived.is_empty() {
            self.advance();
        }
        let is_first = self.receives.arrived.front().is_some_and(|arrived| arrived.peer == peer);
        if is_first { self.next_arrived() } else { None }
    }

    #[inline(never)]
    fn release(&mut self, arrival: Arrival) {
        self.release_arrival(arrival.peer, arrival.token);
    }

    #[inline(never)]
    fn next_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            self.advance();
        }
        self.events.pop_front()
    }

    fn loss(&self, peer: Peer) -> Loss {
        let lost = self.peers.of(peer).and_then(|connection| self.peers.get(connection).lost.as_deref());
        let words = lost.unwrap_or("no operation reaches it");
        Loss {
            seen: format!("libfabric's provider {} reports: {words}", self.facts().provider),
            advice: self.endpoint.advice(words).to_owned(),
        }
    }

    #[inline(never)]
    fn expose(&mut self, _peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        self.memory.expose(&mut self.endpoint, memory, access)
    }

    #[inline(never)]
    fn conceal(&mut self, _peer: Peer, key: RemoteKey) {
        self.memory.conceal(&mut self.endpoint, &key);
    }

    #[inline(never)]
    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.begin_above(peer, local, (key, offset), Some(cookie), false)
    }

    #[inline(never)]
    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.begin_above(peer, local, (key, offset), Some(cookie), true)
    }

    fn congested(&self, _peer: Peer) -> bool {
        false
    }

    fn full(&self, peer: Peer) -> Option<Full> {
        if self.messages_out >= self.plan.sends[2] as usize {
            return Some(Full::All);
        }
        let connection = self.peers.get(self.peers.of(peer)?);
        (!connection.credits.may_send()).then_some(Full::Peer)
    }

    fn is_flushed(&self) -> bool {
        self.messages_out == 0
            && self.waiting.is_empty()
            && self.transfers.is_empty()
            && self.eager.is_idle()
            && self.events.is_empty()
    }

    fn must_look_for_losses(&self) -> bool {
        self.silence.is_some()
    }

    /// What is suspected is the launcher's to find out.
    fn look_for_losses(&mut self, _awaited: &[Peer]) -> bool {
        if let Some(silence) = &mut self.silence {
            silence.look();
        }
        !self.events.is_empty()
    }

    /// A provider reports an end late, or only to those that send.
    fn has_ended(&mut self, peer: Peer) {
        if let Some(connection) = self.connection_to(peer) {
            self.lose(connection, "its process has ended".into());
        }
    }

    fn would_miss(&self, peer: Peer) -> bool {
        self.peers.of(peer).is_some_and(|connection| self.peers.get(connection).lost.is_none())
    }

    fn advertise_congestion(&mut self, _on: bool) -> bool {
        false
    }

    /// What waits for the provider is work that no peer announces. A report of room is announced once: the sender that
    /// was refused tries again in the poll before the next call.
    #[inline(never)]
    fn arm(&mut self) -> Option<Sleep> {
        if std::mem::take(&mut self.has_room_again) || self.must_arm_again() || !self.endpoint.may_sleep() {
            return None;
        }
        self.endpoint.descriptor().map(|descriptor| Sleep::Descriptor(descriptor.as_raw_fd()))
    }

    fn must_arm_again(&self) -> bool {
        let is_idle = self.receives.arrived.is_empty()
            && self.events.is_empty()
            && self.waiting.is_empty()
            && !self.transfers.wait()
            && self.receives.all_posted()
            && !self.has_room_again
            && self.eager.is_quiet();
        !is_idle
    }

    fn disarm(&mut self) {}

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.endpoint.descriptor()
    }
}

impl FastPath for Ofi {}
impl btl::Rails for Ofi {}
