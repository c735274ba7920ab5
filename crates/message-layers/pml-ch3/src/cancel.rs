//! Cancelling.

use crate::Ch3;
use crate::lanes::Out;
use crate::packet::{self, Kind, Packet};
use crate::request::{Phase, Request, State};
use btl::{Btl, Peer};
use pml::{Done, Envelope, MessageLayer, ReqId};

impl<B: Btl> MessageLayer<B> for Ch3 {
    fn cancel(&mut self, btl: &mut B, id: ReqId) {
        let Some(Request { owner, state, .. }) = self.requests.get_mut(id.0) else { return };
        let owner = *owner;
        match state {
            State::Posted { .. } => {
                self.posted.retain(|&posted| posted != id);
                self.finish(id, Done::cancelled(owner));
            }
            State::Send(send) if send.phase == Phase::Waiting => {
                self.lanes.withdraw(send.peer, id);
                self.finish(id, Done::cancelled(owner));
            }
            State::Send(send) => {
                let (peer, nowhere) = (send.peer, Envelope { context: 0, source: 0, tag: 0 });
                let packet = Packet::message(Kind::Cancel, &nowhere, id.0, 0, false);
                self.lanes.push(peer, Out::Packet(packet));
                self.send_waiting(btl);
            }
            State::Receive(_) | State::Done(_) => {}
        }
    }
}

impl Ch3 {
    /// The sender wants the message of its request `sender` back.
    pub(crate) fn drop_cancelled<B: Btl>(&mut self, btl: &mut B, peer: Peer, sender: u32) {
        let dropped = self.unexpected.take_if(|kept| kept.peer == peer && kept.sender == sender).is_some();
        let mut packet = Packet::about(Kind::Cancelled, sender, 0, 0, 0);
        packet.sync = dropped;
        self.send_packet(btl, peer, packet);
    }

    /// The receiver's answer. If it has matched the message, the send goes on as if it had not been cancelled.
    pub(crate) fn accept_cancelled<B: Btl>(&mut self, btl: &mut B, peer: Peer, packet: &Packet) {
        let id = ReqId(packet::high(packet.words[0]));
        let Some(Request { owner, state: State::Send(send), .. }) = self.requests.get_mut(id.0) else {
            return;
        };
        if !packet.sync || send.peer != peer || send.puts > 0 {
            return;
        }
        send.key.take().into_iter().for_each(|key| btl.conceal(peer, key));
        let done = Done::cancelled(*owner);
        self.finish(id, done);
    }
}
