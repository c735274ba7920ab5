//! R0 and R1, fragments in their place, and the fetching of E1.

use crate::Ch3;
use crate::lanes::Out;
use crate::packet::{self, Kind, Packet};
use crate::request::{Piece, Receive, Request, Send, State, Transfer, TransferKind};
use crate::staging::{Fetch, Staged, WORD};
use btl::{Access, Btl, Class, Peer, Refusal, RemoteKey};
use mem::PeerBytes;
use pml::{Done, ReqId};

/// What the transport refused for the moment.
#[derive(Clone, Copy)]
pub(crate) enum Retry {
    Receive(ReqId),
    Fetch(u32),
    Put { send: u32, receive: u32, offset: u64, len: u64, key: RemoteKey },
}

/// Gets or pieces of one receive that are under way at a time.
const WINDOW: usize = 2;

impl Ch3 {
    /// Begins to move an offered message.
    pub(crate) fn begin_receive<B: Btl>(&mut self, btl: &mut B, id: ReqId) {
        let ndreg_max = self.config.ndreg_max as u64;
        let Some(receive) = self.receive(id) else { return };
        let limits = btl.limits(receive.peer);
        let memory = receive.into.contiguous().filter(|_| receive.key.is_some());
        let is_aligned = memory.is_some_and(|memory| {
            memory.address().is_multiple_of(limits.get_align)
                && receive.wanted.is_multiple_of(limits.get_align as u64)
        });
        receive.way = match memory {
            Some(_) if limits.get && is_aligned && receive.wanted <= ndreg_max => TransferKind::Get,
            Some(_) if limits.put => TransferKind::Put,
            _ => TransferKind::Fragments,
        };
        self.go_on(btl, id);
    }

    fn receive(&mut self, id: ReqId) -> Option<&mut Receive> {
        match self.requests.get_mut(id.0) {
            Some(Request { state: State::Receive(receive), .. }) => Some(receive),
            _ => None,
        }
    }

    /// Asks for the next part of a message, or ends its receive.
    pub(crate) fn go_on<B: Btl>(&mut self, btl: &mut B, id: ReqId) {
        let Some(receive) = self.receive(id) else { return };
        if receive.failed {
            if receive.gets == 0 {
                // What has arrived does not count: the sender puts all of it.
                (receive.failed, receive.asked, receive.arrived) = (false, 0, 0);
                receive.way =
                    if btl.limits(receive.peer).put { TransferKind::Put } else { TransferKind::Fragments };
                self.counts.fallbacks += 1;
                self.go_on(btl, id);
            }
            return;
        }
        if receive.arrived >= receive.wanted {
            return self.end_receive(btl, id);
        }
        match receive.way {
            TransferKind::Get => self.get_on(btl, id),
            TransferKind::Put => self.put_on(btl, id),
            TransferKind::Fragments => self.ask_for_fragments(btl, id),
        }
    }

    /// R0, in as many gets as the transport needs.
    fn get_on<B: Btl>(&mut self, btl: &mut B, id: ReqId) {
        loop {
            let Some(receive) = self.receive(id) else { return };
            let (Some(memory), Some(key)) = (receive.into.contiguous(), receive.key) else { return };
            let limits = btl.limits(receive.peer);
            let most = (limits.max_get / limits.get_align * limits.get_align).max(limits.get_align);
            let (offset, len) = (receive.asked, (receive.wanted - receive.asked).min(most as u64));
            if len == 0 || receive.gets as usize >= WINDOW {
                return;
            }
            let peer = receive.peer;
            let Ok(name) = self.transfers.insert(Transfer::Get { receive: id.0, len }) else {
                return self.retries.push_back(Retry::Receive(id));
            };
            let local = memory.part(offset as usize, len as usize);
            let begun = btl.get(peer, local, &key, offset, Class::Pml.cookie(name.into()));
            if begun.is_err() {
                self.transfers.remove(name);
            }
            let Some(receive) = self.receive(id) else { return };
            match begun {
                Ok(()) => {
                    receive.asked += len;
                    receive.gets += 1;
                }
                Err(Refusal::Busy) => return self.retries.push_back(Retry::Receive(id)),
                Err(Refusal::Unfit) => {
                    receive.failed = true;
                    return self.go_on(btl, id);
                }
            }
        }
    }

    /// R1: exposes the next pieces.
    fn put_on<B: Btl>(&mut self, btl: &mut B, id: ReqId) {
        let chunk = self.config.chunk as u64;
        loop {
            let Some(receive) = self.receive(id) else { return };
            let Some(memory) = receive.into.contiguous() else { return };
            let most = chunk.min(btl.limits(receive.peer).max_put as u64).max(1);
            let (offset, len) = (receive.asked, (receive.wanted - receive.asked).min(most));
            if len == 0 || receive.open.len() >= WINDOW {
                return;
            }
            let (peer, sender) = (receive.peer, receive.sender);
            match btl.expose(peer, memory.part(offset as usize, len as usize), Access::Write) {
                Ok(key) => {
                    receive.open.push(Piece { offset, len, left: len, key });
                    receive.asked += len;
                    let packet = Packet::about(Kind::Cts, sender, id.0, offset, len).with_key(Some(key));
                    self.send_packet(btl, peer, packet);
                }
                Err(Refusal::Busy) => return self.retries.push_back(Retry::Receive(id)),
                Err(Refusal::Unfit) => {
                    receive.way = TransferKind::Fragments;
                    return self.ask_for_fragments(btl, id);
                }
            }
        }
    }

    fn ask_for_fragments<B: Btl>(&mut self, btl: &mut B, id: ReqId) {
        let Some(receive) = self.receive(id) else { return };
        let (peer, sender, offset) = (receive.peer, receive.sender, receive.asked);
        let len = receive.wanted - offset;
        receive.asked = receive.wanted;
        if len > 0 {
            receive.into.announce(btl, peer);
            self.send_packet(btl, peer, Packet::about(Kind::Cts, sender, id.0, offset, len));
        }
    }

    /// The whole message is here.
    fn end_receive<B: Btl>(&mut self, btl: &mut B, id: ReqId) {
        let Some(Request { owner, state: State::Receive(receive), .. }) = self.requests.get_mut(id.0) else {
            return;
        };
        let owner = *owner;
        let (peer, sender) = (receive.peer, receive.sender);
        receive.open.drain(..).for_each(|piece| btl.conceal(peer, piece.key));
        let done = Done::received(&receive.envelope, receive.wanted, receive.total, owner);
        self.finish(id, done);
        self.send_packet(btl, peer, Packet::about(Kind::Done, sender, 0, 0, 0));
    }

    /// The receiver wants a piece.
    pub(crate) fn accept_cts<B: Btl>(&mut self, btl: &mut B, peer: Peer, packet: &Packet) {
        let (send, receive) = (packet::high(packet.words[0]), packet::low(packet.words[0]));
        let (offset, len) = (packet.words[1], packet.words[2]);
        let total = self.send_to(send, peer).map(|send| send.data.total());
        let end = offset.checked_add(len);
        if total.is_none() || end.is_none() || end > total {
            return self.counts.bad_frames += 1;
        }
        match packet.key() {
            Some(key) => self.put(btl, peer, Retry::Put { send, receive, offset, len, key }),
            None => self.send_fragments_of(btl, peer, send, receive, offset, len),
        }
    }

    /// A send that is under way to `peer`.
    pub(crate) fn send_to(&mut self, name: u32, peer: Peer) -> Option<&mut Send> {
        match self.requests.get_mut(name) {
            Some(Request { state: State::Send(send), .. }) if send.peer == peer => Some(send),
            _ => None,
        }
    }

    fn put<B: Btl>(&mut self, btl: &mut B, peer: Peer, retry: Retry) {
        let Retry::Put { send, receive, offset, len, key } = retry else { return };
        let max_put = btl.limits(peer).max_put as u64;
        let Some(request) = self.send_to(send, peer) else { return };
        let memory = request.data.contiguous().filter(|_| len <= max_put);
        let Some(memory) = memory else {
            return self.send_fragments_of(btl, peer, send, receive, offset, len);
        };
        let Ok(name) = self.transfers.insert(Transfer::Put { send, receive, offset, len }) else {
            return self.retries.push_back(retry);
        };
        let local = memory.part(offset as usize, len as usize);
        let begun = btl.put(peer, local, &key, 0, Class::Pml.cookie(name.into()));
        if begun.is_err() {
            self.transfers.remove(name);
        }
        match begun {
            Ok(()) => self.send_to(send, peer).into_iter().for_each(|send| send.puts += 1),
            Err(Refusal::Busy) => self.retries.push_back(retry),
            Err(Refusal::Unfit) => self.send_fragments_of(btl, peer, send, receive, offset, len),
        }
    }

    fn send_fragments_of<B: Btl>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        send: u32,
        receive: u32,
        offset: u64,
        len: u64,
    ) {
        if let Some(request) = self.send_to(send, peer) {
            request.data.announce(btl, peer);
        }
        self.send_fragments(btl, peer, Out::Fragments { send, receive, offset, len });
    }

    /// A part of a receive's message is stored: by a put, or from a fragment.
    pub(crate) fn accept_part<B: Btl>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        packet: &Packet,
        payload: Option<PeerBytes<'_>>,
    ) {
        let (id, offset, len) = (ReqId(packet::high(packet.words[0])), packet.words[1], packet.words[2]);
        let honest = |receive: &&mut Receive| {
            receive.peer == peer
                && offset.checked_add(len).is_some_and(|end| end <= receive.asked)
                && payload.is_none_or(|payload| payload.len() as u64 == len)
        };
        let Some(receive) = self.receive(id).filter(honest) else {
            return self.counts.bad_frames += 1;
        };
        if let Some(payload) = payload {
            receive.into.pour(offset, payload);
        }
        receive.arrived += len;
        let of = |piece: &Piece| offset >= piece.offset && offset - piece.offset < piece.len;
        if let Some(index) = receive.open.iter().position(of) {
            receive.open[index].left = receive.open[index].left.saturating_sub(len);
            if receive.open[index].left == 0 {
                btl.conceal(peer, receive.open.swap_remove(index).key);
            }
        }
        self.go_on(btl, id);
    }

    /// Begins to fetch a message of E1; its name.
    pub(crate) fn fetch<B: Btl>(&mut self, btl: &mut B, peer: Peer, packet: &Packet) -> Option<u32> {
        let (staged, len) = (packet::high(packet.words[2]), packet::low(packet.words[2]) as usize);
        let key = packet.key().filter(|_| (1..=self.config.eager).contains(&len))?;
        let fetch = Fetch { peer, seq: packet.seq, staged, key, len, buffer: None, left: len, dead: false };
        let name = self.fetches.insert(fetch).ok()?;
        self.fetch_on(btl, name);
        Some(name)
    }

    fn fetch_on<B: Btl>(&mut self, btl: &mut B, name: u32) {
        let Some(&fetch) = self.fetches.get(name) else { return };
        // The packet whose turn it is must not wait for a buffer that those behind it have.
        let urgent = self.lanes.of(fetch.peer).next_in == fetch.seq;
        let Some(buffer) = fetch.buffer.or_else(|| self.incoming.take(urgent)) else {
            return self.retries.push_back(Retry::Fetch(name));
        };
        self.fetches.get_mut(name).into_iter().for_each(|fetch| fetch.buffer = Some(buffer));
        let local = self.incoming.memory(buffer, fetch.len.next_multiple_of(WORD));
        let Ok(transfer) = self.transfers.insert(Transfer::Fetch(name)) else {
            return self.retries.push_back(Retry::Fetch(name));
        };
        let begun = btl.get(fetch.peer, local, &fetch.key, 0, Class::Pml.cookie(transfer.into()));
        if begun.is_err() {
            self.transfers.remove(transfer);
        }
        match begun {
            Ok(()) => {}
            Err(Refusal::Busy) => self.retries.push_back(Retry::Fetch(name)),
            Err(Refusal::Unfit) => self.unfetched(btl, name),
        }
    }

    /// The buffer cannot be fetched: its sender sends fragments.
    fn unfetched<B: Btl>(&mut self, btl: &mut B, name: u32) {
        let Some(&Fetch { peer, staged, .. }) = self.fetches.get(name) else { return };
        self.counts.fallbacks += 1;
        self.send_packet(btl, peer, Packet::about(Kind::Unfetched, staged, name, 0, 0));
    }

    /// The receiver wants a message of E1 in fragments.
    pub(crate) fn accept_unfetched<B: Btl>(&mut self, btl: &mut B, peer: Peer, packet: &Packet) {
        let (staged, fetch) = (packet::high(packet.words[0]), packet::low(packet.words[0]));
        if self.staged.get(staged).is_some_and(|staged| staged.peer == peer) {
            self.send_fragments(btl, peer, Out::Pieces { staged, fetch, offset: 0 });
        } else {
            self.counts.bad_frames += 1;
        }
    }

    /// A fragment of a message of E1.
    pub(crate) fn accept_piece<B: Btl>(
        &mut self,
        btl: &mut B,
        peer: Peer,
        packet: &Packet,
        payload: PeerBytes<'_>,
    ) {
        let (name, offset) = (packet::high(packet.words[0]), packet.words[1]);
        let fits = |fetch: &&mut Fetch| {
            let end = offset.checked_add(payload.len() as u64);
            fetch.peer == peer
                && payload.len() <= fetch.left
                && end.is_some_and(|end| end <= fetch.len as u64)
        };
        let Some(fetch) = self.fetches.get_mut(name).filter(fits) else {
            return self.counts.bad_frames += 1;
        };
        let Some(buffer) = fetch.buffer else { return self.counts.bad_frames += 1 };
        let len = fetch.len;
        self.incoming.memory(buffer, len).part(offset as usize, payload.len()).write(payload);
        if fetch.left == payload.len() {
            self.fetched(btl, name);
        } else {
            fetch.left -= payload.len();
        }
    }

    /// A message of E1 is here.
    fn fetched<B: Btl>(&mut self, btl: &mut B, name: u32) {
        let Some(fetch) = self.fetches.get_mut(name) else { return };
        fetch.left = 0;
        let (peer, staged) = (fetch.peer, fetch.staged);
        self.send_packet(btl, peer, Packet::about(Kind::Fetched, staged, 0, 0, 0));
        self.handle_early(btl, peer);
    }

    /// The receiver has a message of E1.
    pub(crate) fn accept_fetched<B: Btl>(&mut self, btl: &mut B, peer: Peer, packet: &Packet) {
        let name = packet::high(packet.words[0]);
        match self.staged.get(name) {
            Some(staged) if staged.peer == peer => self.free_staged(btl, name),
            _ => self.counts.bad_frames += 1,
        }
    }

    pub(crate) fn free_staged<B: Btl>(&mut self, btl: &mut B, name: u32) {
        if let Some(Staged { peer, buffer, key, .. }) = self.staged.remove(name) {
            btl.conceal(peer, key);
            self.outgoing.give(buffer);
        }
    }

    /// Tries once more what the transport refused; how much was tried with success.
    pub(crate) fn try_again<B: Btl>(&mut self, btl: &mut B) -> usize {
        let waiting = self.retries.len();
        for _ in 0..waiting {
            match self.retries.pop_front() {
                None => break,
                Some(Retry::Receive(id)) => self.go_on(btl, id),
                Some(Retry::Fetch(name)) => self.fetch_on(btl, name),
                Some(retry @ Retry::Put { send, .. }) => {
                    let Some(Request { state: State::Send(request), .. }) = self.requests.get(send) else {
                        continue;
                    };
                    let peer = request.peer;
                    self.put(btl, peer, retry);
                }
            }
        }
        waiting.saturating_sub(self.retries.len())
    }

    /// A get or put is over.
    pub(crate) fn transferred<B: Btl>(&mut self, btl: &mut B, name: u32, worked: bool) {
        match self.transfers.remove(name) {
            None => {}
            Some(Transfer::Fetch(name)) => match self.fetches.get(name).map(|fetch| fetch.dead) {
                Some(true) => self.bury(name),
                Some(false) if worked => self.fetched(btl, name),
                Some(false) => self.unfetched(btl, name),
                None => {}
            },
            Some(Transfer::Get { receive, len }) => {
                let id = ReqId(receive);
                let Some(receive) = self.receive(id) else { return };
                receive.gets -= 1;
                receive.failed |= !worked;
                receive.arrived += len;
                let (peer, last) = (receive.peer, receive.gets == 0);
                self.counts.gets += u64::from(worked && last);
                if self.lanes.is_lost(peer) {
                    return self.lose_request(btl, id);
                }
                self.go_on(btl, id);
            }
            Some(Transfer::Put { send, receive, offset, len }) => {
                let Some(Request { state: State::Send(request), .. }) = self.requests.get_mut(send) else {
                    return;
                };
                request.puts -= 1;
                let peer = request.peer;
                if self.lanes.is_lost(peer) {
                    return self.lose_request(btl, ReqId(send));
                }
                if worked {
                    self.counts.puts += 1;
                    self.send_packet(btl, peer, Packet::about(Kind::Fin, receive, 0, offset, len));
                } else {
                    self.counts.fallbacks += 1;
                    self.send_fragments_of(btl, peer, send, receive, offset, len);
                }
            }
        }
    }

    /// Ends a fetch whose sender is gone.
    pub(crate) fn bury(&mut self, name: u32) {
        if let Some(Fetch { buffer: Some(buffer), .. }) = self.fetches.remove(name) {
            self.incoming.give(buffer);
        }
    }
}
