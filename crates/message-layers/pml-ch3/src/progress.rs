//! What the transport brings.

use crate::Ch3;
use crate::packet::{self, Kind, Packet};
use crate::request::{Phase, Request, Send, State, Transfer};
use btl::{Arrival, Btl, Class, Event, Peer, Receiver};
use pml::{Done, ReqId};

impl<B: Btl> Receiver<B> for Ch3 {
    fn accept(&mut self, btl: &mut B, arrival: &Arrival) {
        self.changes = self.changes.wrapping_add(1);
        let peer = arrival.peer;
        if self.lanes.is_lost(peer) {
            return;
        }
        let Some(packet) = Packet::decode(arrival.header) else {
            self.counts.bad_frames += 1;
            return;
        };
        match packet.kind {
            Kind::Eager | Kind::Staged | Kind::Offer | Kind::Cancel => {
                self.accept_ordered(btl, peer, packet, arrival.payload);
            }
            Kind::Fetched => self.accept_fetched(btl, peer, &packet),
            Kind::Unfetched => self.accept_unfetched(btl, peer, &packet),
            Kind::Piece => self.accept_piece(btl, peer, &packet, arrival.payload),
            Kind::Cts => self.accept_cts(btl, peer, &packet),
            Kind::Data => self.accept_part(btl, peer, &packet, Some(arrival.payload)),
            Kind::Fin => self.accept_part(btl, peer, &packet, None),
            Kind::Matched => self.end_send(btl, peer, &packet, Phase::Eager),
            Kind::Done => self.end_send(btl, peer, &packet, Phase::Offered),
            Kind::Cancelled => self.accept_cancelled(btl, peer, &packet),
        }
    }

    fn on_event(&mut self, btl: &mut B, event: Event) {
        self.changes = self.changes.wrapping_add(1);
        match event {
            Event::Done(cookie) => self.transferred(btl, Class::Pml.own(cookie) as u32, true),
            Event::Failed(cookie) => self.transferred(btl, Class::Pml.own(cookie) as u32, false),
            Event::PeerLost(peer) => self.lose(btl, peer),
            Event::Flushed(_) => {}
        }
    }

    fn awaits(&self) -> bool {
        self.unfinished > 0 || !self.posted.is_empty()
    }

    fn advance(&mut self, btl: &mut B) -> usize {
        let sent = if self.lanes.anyone_waits() { self.send_waiting(btl) } else { 0 };
        sent + if self.retries.is_empty() { 0 } else { self.try_again(btl) }
    }
}

impl Ch3 {
    /// The receiver reports the end of a send that is in `phase`.
    fn end_send<B: Btl>(&mut self, btl: &mut B, peer: Peer, packet: &Packet, phase: Phase) {
        let id = ReqId(packet::high(packet.words[0]));
        let Some(Request { owner, state: State::Send(send), .. }) = self.requests.get_mut(id.0) else {
            self.counts.bad_frames += 1;
            return;
        };
        if send.peer != peer || send.phase != phase || send.puts > 0 {
            self.counts.bad_frames += 1;
            return;
        }
        send.key.take().into_iter().for_each(|key| btl.conceal(peer, key));
        let done = Done::sent(*owner);
        self.finish(id, done);
    }

    /// A peer is gone.
    fn lose<B: Btl>(&mut self, btl: &mut B, peer: Peer) {
        let lane = self.lanes.of(peer);
        if std::mem::replace(&mut lane.lost, true) {
            return;
        }
        lane.early.clear();
        self.lanes.clear(peer);
        self.lost_news.push(peer);
        while self
            .unexpected
            .take_if(|kept| kept.peer == peer && matches!(kept.body, crate::matching::Body::Offered(_)))
            .is_some()
        {}
        let staged: Vec<u32> =
            self.staged.iter().filter(|(_, staged)| staged.peer == peer).map(|(name, _)| name).collect();
        staged.into_iter().for_each(|name| self.free_staged(btl, name));
        self.fetches
            .iter_mut()
            .filter(|(_, fetch)| fetch.peer == peer)
            .for_each(|(_, fetch)| fetch.dead = true);
        let fetching: Vec<u32> = self
            .transfers
            .iter()
            .filter_map(|(_, transfer)| if let Transfer::Fetch(name) = *transfer { Some(name) } else { None })
            .collect();
        let dead: Vec<u32> =
            self.fetches.iter().filter(|(_, fetch)| fetch.dead).map(|(name, _)| name).collect();
        dead.into_iter().filter(|name| !fetching.contains(name)).for_each(|name| self.bury(name));
        let concerned: Vec<ReqId> = self
            .requests
            .iter()
            .filter(|(_, request)| match &request.state {
                State::Send(send) => send.peer == peer,
                State::Receive(receive) => receive.peer == peer,
                State::Posted { pattern, .. } => pattern.peer == Some(peer),
                State::Done(_) => false,
            })
            .map(|(name, _)| ReqId(name))
            .collect();
        concerned.into_iter().for_each(|id| self.lose_request(btl, id));
    }

    /// Ends a request whose peer is gone, unless a get or put still uses its memory.
    pub(crate) fn lose_request<B: Btl>(&mut self, btl: &mut B, id: ReqId) {
        let Some(Request { owner, state, .. }) = self.requests.get_mut(id.0) else { return };
        match state {
            State::Send(Send { puts: 1.., .. }) => return,
            State::Send(send) => {
                send.key.take().into_iter().for_each(|key| btl.conceal(send.peer, key));
            }
            State::Receive(receive) if receive.gets > 0 => return,
            State::Receive(receive) => {
                let peer = receive.peer;
                receive.open.drain(..).for_each(|piece| btl.conceal(peer, piece.key));
            }
            State::Posted { .. } => self.posted.retain(|&posted| posted != id),
            State::Done(_) => return,
        }
        let done = Done::lost(*owner);
        self.finish(id, done);
    }
}
