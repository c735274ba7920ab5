//! The transport's state, its set-up, and the contract's calls.

use crate::blocks::{Blocks, FRAMES, reject};
use crate::memory::shown;
use crate::params::BtlPortalsParams;
use crate::rdma::{EXPOSED, Exposed, Report, TRANSFER, Transfer};
use crate::slots::{Frame, Slots};
use btl::{
    Access, Arrival, Btl, Busy, Event, FastPath, Full, Limits, Loss, MAX_HEADER_WORDS, Peer, Refusal,
    RemoteKey, Sleep,
};
use core::fmt;
use mem::{PeerBytes, Slab, Source, UserMem};
use portals::{Ack, Armed, Eq, EventKind, Me, Options, Portals as Nic, ProcessId, SetupError, Target};
use rdma::Silent;
use std::collections::{HashMap, VecDeque};

/// The transport over a NIC. See the crate's documentation.
pub struct Portals<N: Nic> {
    pub(crate) nic: N,
    /// Process by peer.
    pub(crate) ids: Vec<ProcessId>,
    peers: HashMap<ProcessId, Peer>,
    limits: Limits,
    recv_eq: Eq,
    pub(crate) send_eq: Eq,
    blocks: Blocks,
    slots: Slots,
    /// Buffers whose frame has to be sent again.
    again: VecDeque<u32>,
    pub(crate) most_operations: usize,
    pub(crate) rdma_reject: Me,
    pub(crate) next_key: u64,
    pub(crate) exposed: Exposed,
    /// Concealed memory that was in use.
    pub(crate) concealed: Vec<Me>,
    pub(crate) transfers: Slab<Transfer, 20, 12>,
    /// Writes into registered memory, by peer.
    pub(crate) writes: Vec<Silent>,
    pub(crate) events: VecDeque<Event>,
    lost: Vec<bool>,
    /// Peers whose NIC is gone, while frames of theirs may be in the queue of arrivals.
    gone: Vec<Peer>,
    /// The queue of arrivals has lost events.
    overrun: bool,
    /// The header of the arrival that is out.
    header: UserMem,
    is_lent: bool,
    pub(crate) stats: Stats,
}

/// What the transport has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Payload sent in frames.
    pub sent_bytes: u64,
    /// Payload of gets and puts.
    pub moved_bytes: u64,
    /// Frames sent again, since the target had no room.
    pub retransmissions: u64,
}

impl<N: Nic> Portals<N> {
    /// Sets the transport up on an attached NIC; `Peer(i)` is the process `ids[i]`.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(mut nic: N, ids: Vec<ProcessId>, params: &BtlPortalsParams) -> Result<Portals<N>, SetupError> {
        let at = |step| {
            move |error| SetupError { what: "the Portals transport", parameters: "btl_portals_", step, error }
        };
        let max_send = params.max_send_size.max(params.eager_limit);
        let most_operations = params.max_pending_ops as usize;
        let events = params.eq_recv_size as u32;
        let recv_eq = nic.eq_alloc(events, None).map_err(at("making the queue for arrivals"))?;
        // Each operation has two events: it has left, and the answer.
        let send_eq =
            nic.eq_alloc(2 * most_operations as u32, None).map_err(at("making the queue for operations"))?;
        let shape = (params.recv_mds_num as usize, params.recv_mds_size);
        let longest = max_send + 8 * MAX_HEADER_WORDS;
        let blocks = Blocks::new(&mut nic, shape, (recv_eq, events), longest)
            .map_err(at("posting blocks for frames"))?;
        let swaps = Options::OP_PUT | Options::OP_GET | Options::MANAGE_REMOTE;
        let rdma_reject =
            reject(&mut nic, EXPOSED, swaps).map_err(at("posting the end of the list of exposed memory"))?;
        Ok(Portals {
            peers: ids.iter().zip(0..).map(|(&id, peer)| (id, Peer(peer))).collect(),
            lost: vec![false; ids.len()],
            writes: ids.iter().map(|_| Silent::default()).collect(),
            ids,
            limits: limits(params.eager_limit, max_send),
            recv_eq,
            send_eq,
            blocks,
            slots: Slots::new((params.free_list_max as usize).min(most_operations / 2), max_send, send_eq),
            again: VecDeque::new(),
            most_operations,
            rdma_reject,
            next_key: 0,
            exposed: HashMap::new(),
            concealed: Vec::new(),
            transfers: Slab::new(),
            events: VecDeque::new(),
            gone: Vec::new(),
            overrun: false,
            header: portals::lasting(8 * MAX_HEADER_WORDS),
            is_lent: false,
            stats: Stats::default(),
            nic,
        })
    }

    /// The NIC below.
    pub fn nic(&self) -> &N {
        &self.nic
    }

    /// The NIC below, for a driver that gives it turns of its own, as interrupts do.
    pub fn nic_mut(&mut self) -> &mut N {
        &mut self.nic
    }

    /// The processes by their peer.
    pub fn ids(&self) -> &[ProcessId] {
        &self.ids
    }

    /// What the transport has done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Frames, gets and puts under way.
    pub(crate) fn operations(&self) -> usize {
        self.slots.busy + self.transfers.len()
    }

    pub(crate) fn is_lost(&self, peer: Peer) -> bool {
        self.lost[peer.0 as usize]
    }

    /// Puts the frame in a buffer, again if it was refused before.
    fn put_frame(&mut self, slot: u32) {
        let Some(place) = self.slots.get_mut(slot) else { return };
        let (md, Some(frame)) = (place.md, &mut place.frame) else { return };
        (frame.left, frame.taken) = (false, None);
        let Frame { peer, len, match_bits, hdr_data, .. } = *frame;
        let id = self.ids[peer.0 as usize];
        let target = Target { id, index: FRAMES, access: 0, match_bits, offset: 0 };
        if self.nic.put_region(md, 0, len, Ack::Wanted, &target, hdr_data).is_err() {
            self.again.push_back(slot);
        }
    }

    /// Sends again what was refused.
    fn put_again(&mut self) {
        for _ in 0..self.again.len() {
            let Some(slot) = self.again.pop_front() else { return };
            self.put_frame(slot);
        }
    }

    /// Takes the events of operations.
    fn take_ends(&mut self) {
        while let Ok(taken) = self.nic.eq_get(self.send_eq) {
            self.overrun |= taken.dropped;
            let user = taken.event.descriptor.user;
            if user & TRANSFER != 0 {
                self.on_transfer(user as u32, &taken.event);
            } else {
                self.on_frame(user as u32, &taken.event);
            }
        }
        while let Some(id) = self.nic.lost() {
            self.gone.extend(self.peers.get(&id));
        }
        if self.overrun {
            (0..self.ids.len() as u32).for_each(|peer| self.lose(Peer(peer)));
        }
        if !self.again.is_empty() {
            self.put_again();
        }
        if !self.concealed.is_empty() {
            self.retire_concealed();
        }
    }

    fn on_frame(&mut self, slot: u32, event: &portals::Event) {
        let Some(frame) = self.slots.get_mut(slot).and_then(|place| place.frame.as_mut()) else { return };
        match event.kind {
            EventKind::SendEnd => frame.left = true,
            EventKind::Ack => frame.taken = Some(event.mlength == event.rlength),
            _ => {}
        }
        if event.failure.is_some() {
            // It has not left: once more, unless the peer is gone, which is reported, too.
            self.again.push_back(slot);
            return;
        }
        match (frame.left, frame.taken) {
            (true, Some(true)) => self.slots.give(slot),
            (true, Some(false)) => {
                self.stats.retransmissions += 1;
                self.again.push_back(slot);
            }
            _ => {}
        }
    }

    fn lose(&mut self, peer: Peer) {
        if core::mem::replace(&mut self.lost[peer.0 as usize], true) {
            return;
        }
        for slot in self.slots.of_peer(peer) {
            self.again.retain(|&other| other != slot);
            self.slots.give(slot);
        }
        self.fail_transfers(peer);
        self.events.push_back(Event::PeerLost(peer));
    }

    /// What a frame is that an event of the queue of arrivals is about.
    fn show(&mut self, event: &portals::Event) -> Option<Arrival> {
        let peer = *self.peers.get(&event.initiator)?;
        let frame = self.blocks.frame(event.descriptor.user, event.offset, event.mlength);
        let words = (event.hdr_data as usize).min(MAX_HEADER_WORDS);
        let here = 8 * words.max(2) - 8;
        if frame.len() < here || self.is_lost(peer) {
            return None;
        }
        let (rest, payload) = (frame.part(0, here), frame.part(here, frame.len()));
        self.header.part(0, 8).write(PeerBytes::of(&event.match_bits.to_ne_bytes()));
        if words > 1 {
            self.header.part(8, here).write(rest.as_bytes());
        }
        let header = shown(self.header.part(0, 8 * words));
        Some(Arrival { peer, header, payload: shown(payload), token: 0 })
    }
}

impl<N: Nic> fmt::Debug for Portals<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Portals")
            .field("me", &self.nic.id())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

fn limits(eager: usize, max_send: usize) -> Limits {
    Limits {
        eager,
        max_send,
        get: true,
        put: true,
        min_rdma: eager + 1,
        min_rdma_answer: eager + 1,
        max_get: i32::MAX as usize,
        max_put: i32::MAX as usize,
        get_align: 1,
    }
}

impl<N: Nic> Btl for Portals<N> {
    fn reaches(&self, peer: Peer) -> bool {
        (peer.0 as usize) < self.ids.len()
    }

    fn limits(&self, _peer: Peer) -> &Limits {
        &self.limits
    }

    #[inline(never)]
    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        let len = payload.remaining();
        if !self.slots.has_room(len) || self.operations() >= self.most_operations {
            self.take_ends();
            if self.operations() >= self.most_operations {
                return Err(Busy);
            }
        }
        let slot = self.slots.take(&mut self.nic, len).ok_or(Busy)?;
        let Some(place) = self.slots.get_mut(slot) else { return Err(Busy) };
        // A frame has at least one byte, so that one that was taken differs from one that was cut to nothing.
        let match_bits = header.first().copied().unwrap_or(0);
        let mut at = 0;
        for word in if header.len() > 1 { &header[1..] } else { &[0][..] } {
            place.memory.part(at, 8).write(PeerBytes::of(&word.to_ne_bytes()));
            at += 8;
        }
        payload.fill(place.memory.part(at, len).as_space());
        let hdr_data = header.len() as u64;
        place.frame = Some(Frame { peer, len: at + len, match_bits, hdr_data, left: false, taken: None });
        self.slots.busy += 1;
        self.stats.sent_bytes += len as u64;
        if self.is_lost(peer) || self.gone.contains(&peer) {
            self.slots.give(slot);
        } else {
            self.put_frame(slot);
        }
        Ok(())
    }

    #[inline(never)]
    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.is_lent {
            return None;
        }
        loop {
            let Ok(taken) = self.nic.eq_get(self.recv_eq) else {
                // Their last frame was taken.
                for peer in core::mem::take(&mut self.gone) {
                    self.lose(peer);
                }
                // Frames that were refused go again also where the owner does not ask for events.
                if self.operations() > 0 {
                    self.take_ends();
                }
                return None;
            };
            self.overrun |= taken.dropped;
            match taken.event.kind {
                EventKind::PutEnd => {
                    let arrival = self.show(&taken.event);
                    self.is_lent = arrival.is_some();
                    if arrival.is_some() {
                        return arrival;
                    }
                }
                // Its frames came before and have been taken.
                EventKind::Unlink => {
                    let armed = self.blocks.arm(&mut self.nic, taken.event.descriptor.user as usize);
                    self.overrun |= armed.is_err();
                }
                _ => {}
            }
        }
    }

    fn next_arrival_from(&mut self, _peer: Peer) -> Option<Arrival> {
        None
    }

    fn release(&mut self, _arrival: Arrival) {
        self.is_lent = false;
    }

    #[inline(never)]
    fn next_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            self.take_ends();
        }
        self.events.pop_front()
    }

    fn loss(&self, _peer: Peer) -> Loss {
        if self.overrun {
            return Loss {
                seen: "the event queue of this process's Portals NIC overran, so that messages were lost"
                    .into(),
                advice: "and give the queue more room: --mca btl_portals_eq_recv_size".into(),
            };
        }
        Loss {
            seen: "its Portals NIC is gone; its process has ended, or the network between the two is cut"
                .into(),
            advice: "and at the network".into(),
        }
    }

    #[inline(never)]
    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        self.expose_memory(peer, memory, access)
    }

    #[inline(never)]
    fn conceal(&mut self, _peer: Peer, key: RemoteKey) {
        self.conceal_memory(&key);
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
        self.transfer(peer, local, key, offset, (Report::Event(cookie), false))
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
        self.transfer(peer, local, key, offset, (Report::Event(cookie), true))
    }

    fn congested(&self, _peer: Peer) -> bool {
        false
    }

    fn full(&self, _peer: Peer) -> Option<Full> {
        let is_full = !self.slots.has_room(0) || self.operations() >= self.most_operations;
        is_full.then_some(Full::All)
    }

    /// A frame that has left needs this process again only if the target has no room, and a target that ends misses
    /// nothing: to wait for its acknowledgements would be to wait for one that has gone.
    fn is_flushed(&self) -> bool {
        self.again.is_empty() && self.transfers.is_empty() && self.slots.all_left() && self.nic.is_quiet()
    }

    /// A frame that its target refuses is sent again, so each has to be acknowledged.
    fn owes(&self, peer: Peer) -> bool {
        !self.is_flushed() || self.slots.of_peer(peer).into_iter().next().is_some()
    }

    fn must_look_for_losses(&self) -> bool {
        self.nic.must_look_for_losses()
    }

    fn look_for_losses(&mut self, awaited: &[Peer]) -> bool {
        let awaited: Vec<ProcessId> = awaited.iter().map(|peer| self.ids[peer.0 as usize]).collect();
        self.nic.look_for_losses(&awaited) || !self.gone.is_empty()
    }

    /// It is lost once its last frame was taken.
    fn has_ended(&mut self, peer: Peer) {
        if !self.is_lost(peer) && !self.gone.contains(&peer) {
            self.gone.push(peer);
        }
    }

    fn would_miss(&self, peer: Peer) -> bool {
        !self.is_lost(peer) && self.nic.would_miss(self.ids[peer.0 as usize])
    }

    fn advertise_congestion(&mut self, _on: bool) -> bool {
        false
    }

    /// Room comes with an acknowledgement, which is an arrival of the NIC. A frame that is to be sent again is work.
    #[inline(never)]
    fn arm(&mut self) -> Option<Sleep> {
        if !self.again.is_empty()
            || !self.events.is_empty()
            || !self.concealed.is_empty()
            || !self.gone.is_empty()
        {
            return None;
        }
        self.nic.arm().map(|armed| match armed {
            Armed::Word(address, expected) => Sleep::Word { address, expected },
            Armed::Descriptor(descriptor) => Sleep::Descriptor(descriptor),
        })
    }

    fn must_arm_again(&self) -> bool {
        !self.gone.is_empty() || self.nic.must_arm_again()
    }

    fn disarm(&mut self) {
        self.nic.disarm();
    }
}

impl<N: Nic> FastPath for Portals<N> {}
impl<N: Nic> btl::Rails for Portals<N> {}
