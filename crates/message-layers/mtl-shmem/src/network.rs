//! The network's state, its set-up, and the contract's calls.

use crate::arrivals::{Inbound, Pull};
use crate::lists::{Body, Lists, Unexpected};
use crate::outbound::{Announcement, Outbound, Send, Staging};
use crate::params::MtlShmemParams;
use crate::ring::RingLayout;
use crate::shmem::{Pe, Room, Shape, WINDOWS};
use mem::{Slab, UserMem};
use mtl::{Busy, Claim, Event, Limits, Loss, Message, Mtl, Peer, Posted, Want};
use portals::{Memory, Portals, ProcessId, SetupError};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

/// Matching over symmetric memory. See the crate's documentation.
pub struct ShmemMtl<N: Portals> {
    pub(crate) room: Room<N>,
    pub(crate) me: Pe,
    pub(crate) plan: RingLayout,
    limits: Limits,
    /// Short messages that may wait at a receiver.
    pub(crate) early: u32,
    /// Longest piece of a long message.
    pub(crate) piece: usize,
    pub(crate) lists: Lists,
    /// By peer.
    pub(crate) outbound: Vec<Outbound>,
    /// By peer.
    pub(crate) inbound: Vec<Inbound>,
    /// Long messages under way from here.
    pub(crate) sends: Slab<Send, 20, 12>,
    /// Long messages that were matched and wait for a window.
    pub(crate) pulls: VecDeque<Pull>,
    pub(crate) windows: [Option<Pull>; WINDOWS],
    /// Windows whose message is there and that could not be closed yet.
    pub(crate) closing: [bool; WINDOWS],
    /// Buffers that slots are filled from.
    pub(crate) staging: Staging,
    /// Filled slots whose word waits for room.
    pub(crate) announcements: VecDeque<Announcement>,
    /// Sends that have a window and wait for room.
    pub(crate) granted: VecDeque<u32>,
    /// Peers whose grants or ends wait for a slot.
    pub(crate) blocked: VecDeque<Peer>,
    claimed: Slab<Unexpected, 20, 12>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) lost: Vec<bool>,
    /// Whether the owner sleeps on this very NIC.
    is_rung: bool,
}

impl<N: Portals> ShmemMtl<N> {
    /// Sets matching up on an attached NIC; `Peer(i)` is the process `ids[i]`.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(nic: N, ids: Vec<ProcessId>, params: &MtlShmemParams) -> Result<ShmemMtl<N>, SetupError> {
        let (count, operations) = (ids.len(), params.operations as u32);
        let plan = RingLayout {
            processes: count as u32,
            slots: params.slots as u64,
            payload: params.short_limit,
            // A filled slot takes two puts.
            staging: (operations as usize / 2).clamp(2, 256),
        };
        let me = ids.iter().position(|&id| id == nic.id()).unwrap_or(0);
        let heap = portals::lasting(plan.heap_bytes());
        let room = Room::new(nic, ids, Shape { heap, statics: Memory::EMPTY, operations })?;
        Ok(ShmemMtl {
            room,
            me: Pe(me as u32),
            limits: Limits {
                match_bits: 64,
                data_bits: 64,
                directed: true,
                // What has no credit must stay with its owner.
                inject: 0,
                max_message: i32::MAX as u64,
            },
            early: params.early as u32,
            piece: params.piece,
            lists: Lists::default(),
            outbound: (0..count).map(|_| Outbound::default()).collect(),
            inbound: (0..count).map(|_| Inbound::default()).collect(),
            sends: Slab::new(),
            pulls: VecDeque::new(),
            windows: [const { None }; WINDOWS],
            closing: [false; WINDOWS],
            staging: Staging::new(plan.staging),
            announcements: VecDeque::new(),
            granted: VecDeque::new(),
            blocked: VecDeque::new(),
            claimed: Slab::new(),
            events: VecDeque::new(),
            lost: vec![false; count],
            is_rung: false,
            plan,
        })
    }

    /// As it is, for an owner that sleeps on this very NIC, through a transport that has it, too.
    pub fn rung(self) -> ShmemMtl<N> {
        ShmemMtl { is_rung: true, ..self }
    }

    /// The NIC below.
    pub fn nic(&self) -> &N {
        self.room.nic()
    }

    /// The NIC below, for a driver that gives it turns of its own, as interrupts do.
    pub fn nic_mut(&mut self) -> &mut N {
        self.room.nic_mut()
    }

    /// Whether `peer` was given up.
    pub fn has_lost(&self, peer: Peer) -> bool {
        self.lost.get(peer.0 as usize).copied().unwrap_or(true)
    }

    /// A peer is gone: ends what is under way with it.
    pub(crate) fn end_all_with(&mut self, peer: Peer) {
        let sends: Vec<u32> =
            self.sends.iter().filter(|(_, send)| send.to == peer).map(|(number, _)| number).collect();
        for number in sends {
            let cookie = self.sends.remove(number).map(|send| send.cookie);
            self.events.extend(cookie.map(Event::Failed));
        }
        let gone = self.lists.withdraw_from(peer);
        self.events.extend(gone.iter().map(|receive| Event::Cancelled(receive.cookie)));
        let (gone, stays): (VecDeque<Pull>, _) =
            self.pulls.drain(..).partition(|pull| pull.message.from == peer);
        self.pulls = stays;
        let of_windows: Vec<usize> = (0..WINDOWS)
            .filter(|&window| self.windows[window].as_ref().is_some_and(|pull| pull.message.from == peer))
            .collect();
        for window in of_windows {
            let pull = self.windows[window].take();
            self.closing[window] = true;
            self.events.extend(pull.map(|pull| Event::Failed(pull.cookie)));
        }
        self.events.extend(gone.iter().map(|pull| Event::Failed(pull.cookie)));
    }

    /// Receives a message that has come, or drops it.
    fn consume(&mut self, unexpected: Unexpected, goal: Option<(UserMem, u64)>) {
        let Unexpected { message, body } = unexpected;
        match body {
            Body::Here(bytes) => self.received(&message, &bytes, goal),
            Body::There(send) => self.pull(message, send, goal),
        }
    }
}

impl<N: Portals> Mtl for ShmemMtl<N> {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn send(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem, cookie: u64) -> Result<(), Busy> {
        if self.has_lost(to) {
            self.events.push_back(Event::Failed(cookie));
            return Ok(());
        }
        self.begin_send(to, bits, data, payload, cookie)
    }

    fn inject(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem) -> Result<(), Busy> {
        if self.has_lost(to) { Ok(()) } else { self.fill_short(to, bits, data, payload) }
    }

    fn recv(&mut self, want: &Want, into: UserMem, cookie: u64) -> Result<Posted, Busy> {
        self.take_arrivals();
        match self.lists.find(want).and_then(|place| self.lists.take(place)) {
            Some(unexpected) => {
                self.consume(unexpected, Some((into, cookie)));
                // A name of no receive: this one has its message.
                Ok(Posted(0))
            }
            None => Ok(self.lists.post(want, into, cookie)),
        }
    }

    fn peek(&mut self, want: &Want) -> Result<Option<Message>, Busy> {
        self.take_arrivals();
        Ok(self.lists.find(want).and_then(|place| self.lists.message(place).copied()))
    }

    fn claim(&mut self, want: &Want) -> Result<Option<(Claim, Message)>, Busy> {
        self.take_arrivals();
        if self.claimed.is_full() {
            return Err(Busy);
        }
        let Some(unexpected) = self.lists.find(want).and_then(|place| self.lists.take(place)) else {
            return Ok(None);
        };
        let message = unexpected.message;
        self.claimed.insert(unexpected).map(|name| Some((Claim(name), message))).map_err(|_| Busy)
    }

    fn recv_claimed(&mut self, claim: Claim, into: UserMem, cookie: u64) -> Result<(), Busy> {
        if let Some(unexpected) = self.claimed.remove(claim.0) {
            self.consume(unexpected, Some((into, cookie)));
        }
        Ok(())
    }

    fn discard(&mut self, claim: Claim) -> Result<(), Busy> {
        if let Some(unexpected) = self.claimed.remove(claim.0) {
            self.consume(unexpected, None);
        }
        Ok(())
    }

    fn cancel(&mut self, receive: Posted) {
        let withdrawn = self.lists.withdraw(receive);
        self.events.extend(withdrawn.map(|receive| Event::Cancelled(receive.cookie)));
    }

    fn give_up(&mut self, peer: Peer) {
        if let Some(lost) = self.lost.get_mut(peer.0 as usize) {
            *lost = true;
            self.end_all_with(peer);
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            self.advance();
        }
        self.events.pop_front()
    }

    fn loss(&self, _peer: Peer) -> Loss {
        Loss {
            seen: "its Portals NIC is gone; its process has ended, or the network between the two is cut"
                .into(),
            advice: "and at the network".into(),
        }
    }

    /// Slots are filled in turns of the NIC: unless the owner sleeps on that, it keeps polling.
    fn arm(&mut self) -> bool {
        self.is_rung
            && self.events.is_empty()
            && self.announcements.is_empty()
            && self.granted.is_empty()
            && self.blocked.is_empty()
            && !self.closing.contains(&true)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
