//! NICs of processes: the frames of a transport carry headers and data.
//!
//! ```text
//!   sender                                         target
//!   put ── header, first bytes ───────────────────▶ walks the list: accepted, or not
//!          piece ─────────────────────────────────▶ goes to its place, or is thrown away
//!          piece ─────────────────────────────────▶
//!   SEND_END when the last piece has left
//! ```
//! Data goes with its header, wanted or not, as on the machine. A transport may let frames overtake each other; they are
//! numbered, and one that is early is kept until those before it are there.
//!
//! The other side is another process. What its frames say is checked here (kinds, lengths) and by the engine (indices,
//! offsets, descriptors); a process whose frames make no sense is given up.

#![forbid(unsafe_code)]

mod frame;
mod inbound;
mod outbound;

use btl::{Btl, Event, Peer, Sleep};
use frame::Frame;
use inbound::{Current, Inbound};
use mem::UserMem;
use outbound::Outbound;
use portals::{Armed, Error, Nid, ProcessId, Result};
use portals_soft::{Arrival, Data, End, Fabric, Header, Identity, Sent};
use std::collections::{BTreeMap, VecDeque};

/// The fabric of one process, over a transport that reaches all of its peers, itself included.
pub struct Wire<B: Btl> {
    btl: B,
    who: Identity,
    /// `Peer(i)` is `ids[i]`.
    ids: Vec<ProcessId>,
    peers: BTreeMap<ProcessId, Peer>,
    /// What is to be sent, by peer.
    outbound: Vec<Outbound>,
    /// What comes, by peer.
    inbound: Vec<Inbound>,
    /// Peers whose outbound queue is not empty.
    busy: VecDeque<Peer>,
    /// Headers and data that wait in those queues.
    waiting: usize,
    /// Peers whose next frame was early.
    ready: VecDeque<Peer>,
    current: Option<Current>,
    ends: VecDeque<End>,
    /// Peers that are gone and not reported yet.
    lost: VecDeque<Peer>,
}

impl<B: Btl> Wire<B> {
    /// The fabric of `who` among the processes `ids`, which `btl` knows as `Peer(0)` and so on.
    pub fn new(btl: B, who: Identity, ids: Vec<ProcessId>) -> Wire<B> {
        let peers = ids.iter().zip(0..).map(|(&id, peer)| (id, Peer(peer))).collect();
        Wire {
            btl,
            who,
            peers,
            outbound: ids.iter().map(|_| Outbound::default()).collect(),
            inbound: ids.iter().map(|_| Inbound::default()).collect(),
            ids,
            busy: VecDeque::new(),
            waiting: 0,
            ready: VecDeque::new(),
            current: None,
            ends: VecDeque::new(),
            lost: VecDeque::new(),
        }
    }

    /// The transport below.
    pub fn transport(&self) -> &B {
        &self.btl
    }

    /// Which peer of the transport a process is.
    pub fn peer_of(&self, id: ProcessId) -> Option<Peer> {
        self.peers.get(&id).copied()
    }

    /// Sends what waits, as far as the transport takes it.
    fn flush(&mut self) {
        for _ in 0..self.busy.len() {
            let Some(peer) = self.busy.pop_front() else { return };
            let queue = &mut self.outbound[peer.0 as usize];
            let before = queue.len();
            queue.flush(&mut self.btl, peer, &mut self.ends);
            self.waiting -= before - queue.len();
            if queue.len() > 0 {
                self.busy.push_back(peer);
            }
        }
    }

    /// Nothing comes from or reaches `peer` any more.
    fn lose(&mut self, peer: Peer) {
        let Some(outbound) = self.outbound.get_mut(peer.0 as usize) else { return };
        if outbound.is_lost() {
            return;
        }
        self.waiting -= outbound.len();
        outbound.lose(&mut self.ends);
        self.inbound[peer.0 as usize].lose(&mut self.ends);
        self.busy.retain(|&other| other != peer);
        self.lost.push_back(peer);
    }

    /// Ends the use of the last arrival's data.
    fn release(&mut self) {
        if let Some(Current { live: Some(arrival), .. }) = self.current.take() {
            self.btl.release(arrival);
        }
    }

    /// Takes a frame that is the next one of its sender; a header's arrival.
    fn take(&mut self, peer: Peer, current: Current) -> Option<Arrival> {
        let inbound = &mut self.inbound[peer.0 as usize];
        let good = match frame::decode(current.header()) {
            Some(Frame::Piece) => inbound.take_piece(current.payload(), &mut self.ends),
            Some(Frame::Header(header)) if inbound.begin(&header, current.payload().len()) => {
                self.current = Some(current);
                let from = Identity { id: self.ids[peer.0 as usize], ..self.who };
                return Some(Arrival { from, header });
            }
            _ => false,
        };
        self.current = Some(current);
        self.release();
        if !good {
            self.lose(peer);
        }
        None
    }

    /// The next frame in its sender's order, from the transport or from those that were early.
    fn next_frame(&mut self) -> Option<(Peer, Current)> {
        while let Some(peer) = self.ready.pop_front() {
            if let Some(current) = self.inbound[peer.0 as usize].next_early(peer) {
                self.note_early(peer);
                return Some((peer, current));
            }
        }
        loop {
            let arrival = self.btl.next_arrival()?;
            let peer = arrival.peer;
            let current = Current::new(peer, arrival);
            let number = frame::number(current.header());
            let Some(inbound) = self.inbound.get_mut(peer.0 as usize).filter(|inbound| !inbound.is_lost())
            else {
                self.current = Some(current);
                self.release();
                continue;
            };
            if inbound.expects(number) {
                self.note_early(peer);
                return Some((peer, current));
            }
            let kept = inbound.keep(&current);
            self.current = Some(current);
            self.release();
            if !kept {
                self.lose(peer);
            }
        }
    }

    /// Remembers a peer whose next frame was early.
    fn note_early(&mut self, peer: Peer) {
        if self.inbound[peer.0 as usize].has_early() {
            self.ready.push_back(peer);
        }
    }
}

impl<B: Btl> Fabric for Wire<B> {
    fn identity(&self) -> Identity {
        self.who
    }

    /// Every other node is one link away.
    fn distance(&self, nid: Nid) -> Result<u32> {
        let known = self.ids.iter().any(|id| id.nid == nid);
        if known { Ok(u32::from(nid != self.who.id.nid)) } else { Err(Error::ProcessInvalid) }
    }

    fn knows(&self, id: ProcessId) -> bool {
        self.peers.contains_key(&id)
    }

    fn send(&mut self, to: ProcessId, header: &Header, data: Data<'_>, ticket: u32) -> Sent {
        let Some(peer) = self.peer_of(to) else { return Sent::Unreachable };
        let queue = &mut self.outbound[peer.0 as usize];
        if queue.is_lost() {
            return Sent::Unreachable;
        }
        let was_empty = queue.len() == 0;
        let max_send = self.btl.limits(peer).max_send;
        queue.add(frame::encode(header), data, ticket, max_send);
        if was_empty && queue.flush_now(&mut self.btl, peer) {
            return Sent::Done;
        }
        self.waiting += 1;
        if was_empty {
            self.busy.push_back(peer);
        }
        Sent::Pending
    }

    fn waiting(&self) -> usize {
        self.waiting
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        self.release();
        self.flush();
        loop {
            let (peer, current) = self.next_frame()?;
            if let Some(arrival) = self.take(peer, current) {
                return Some(arrival);
            }
        }
    }

    fn deliver(&mut self, into: &[UserMem], _walked: u32, ticket: u32) -> bool {
        let Some(current) = &self.current else { return true };
        let done = self.inbound[current.peer.0 as usize].deliver(into, current.payload(), ticket);
        self.release();
        done
    }

    fn bytes(&mut self, _walked: u32) -> Vec<u8> {
        let bytes = self.current.as_ref().map(|current| current.payload().to_vec()).unwrap_or_default();
        self.release();
        bytes
    }

    fn discard(&mut self, _walked: u32) {
        self.release();
    }

    fn next_end(&mut self) -> Option<End> {
        while let Some(event) = self.btl.next_event() {
            if let Event::PeerLost(peer) = event {
                self.lose(peer);
            }
        }
        self.ends.pop_front()
    }

    fn lost(&mut self) -> Option<ProcessId> {
        self.lost.pop_front().map(|peer| self.ids[peer.0 as usize])
    }

    fn must_look_for_losses(&self) -> bool {
        self.btl.must_look_for_losses()
    }

    fn look_for_losses(&mut self, awaited: &[ProcessId]) -> bool {
        let awaited: Vec<Peer> = awaited.iter().filter_map(|&id| self.peer_of(id)).collect();
        self.btl.look_for_losses(&awaited)
    }

    fn would_miss(&self, id: ProcessId) -> bool {
        self.peer_of(id).is_some_and(|peer| self.btl.reaches(peer) && self.btl.would_miss(peer))
    }

    fn is_quiet(&self) -> bool {
        self.waiting == 0 && self.btl.is_flushed()
    }

    fn arm(&mut self) -> Option<Armed> {
        if !self.ends.is_empty() || !self.lost.is_empty() || !self.ready.is_empty() {
            return None;
        }
        self.btl.arm().map(|sleep| match sleep {
            Sleep::Word { address, expected } => Armed::Word(address, expected),
            Sleep::Descriptor(descriptor) => Armed::Descriptor(descriptor),
        })
    }

    fn must_arm_again(&self) -> bool {
        self.btl.must_arm_again()
    }

    fn disarm(&mut self) {
        self.btl.disarm();
    }
}
