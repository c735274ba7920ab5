//! Reading from peers: messages, payload on its way to its place, and what a peer's transport asks for.

use crate::direct::{End, Pouring};
use crate::frame::{Broken, Control, First, Message};
use crate::hello::LANES;
use crate::lanes::MOST_ASKED;
use crate::network::{Socket, in_words};
use crate::numbers::{is_lane, lane_to, peer_of};
use crate::output::Lender;
use crate::transport::Tcp;
use btl::{Access, Arrival, Peer};
use mem::PeerBytes;
use std::io;

/// Payload that is read from one peer before others have their turn, where it goes straight to its place.
const READ_AT_A_TIME: usize = 1 << 20;

impl Tcp {
    /// Reads from a peer's socket, unless a message of it is still to be taken.
    pub(crate) fn read(&mut self, at: u32) {
        let Some(conversation) = &mut self.peers[at] else { return };
        let is_lent = self.lent.is_some_and(|(peer, _)| peer == at);
        if conversation.is_ready || is_lent {
            return;
        }
        let Some((_, socket)) = Tcp::socket_of(conversation, &mut self.network) else { return };
        let most = self.limits.max_send;
        let read = match &mut conversation.pouring {
            Some(pouring @ Pouring { into: Some(_), .. }) if socket.is_plain() => {
                Tcp::read_straight(socket, pouring)
            }
            _ => match bytes_read(socket.read(conversation.input.room(most, socket.least_space()))) {
                Ok(None) => return,
                Ok(Some(bytes)) => {
                    conversation.input.filled(bytes);
                    Ok(())
                }
                Err(why) => Err(why),
            },
        };
        match read {
            Ok(()) => {
                conversation.was_used = true;
                self.recent = Some(peer_of(at));
            }
            Err(why) => conversation.ending = Some(why),
        }
        self.settle(at);
    }

    /// Reads payload to its place; nothing of it is in the input.
    fn read_straight(socket: &Socket, pouring: &mut Pouring) -> Result<(), String> {
        let mut budget = READ_AT_A_TIME;
        while let Some(memory) = pouring.into
            && pouring.left > 0
            && budget > 0
        {
            let Some(bytes) = bytes_read(socket.receive_into(memory.part(0, pouring.left)))? else { break };
            pouring.filled(bytes);
            budget = budget.saturating_sub(bytes);
        }
        Ok(())
    }

    /// Takes what has come from a peer up to the next message, and sees whether that is there, or nothing more will come.
    pub(crate) fn settle(&mut self, at: u32) {
        let most = self.limits.max_send;
        let mut answered = false;
        let broken = loop {
            let Some(conversation) = &mut self.peers[at] else { return };
            if let Some(pouring) = &mut conversation.pouring {
                let bytes = conversation.input.take(pouring.left);
                pouring.take(bytes);
                let Pouring { left, end, into } = *pouring;
                if left == 0 {
                    conversation.pouring = None;
                    answered |= self.poured(at, end, into.is_some());
                    continue;
                }
                break conversation.ending.take();
            }
            match conversation.input.first(most) {
                Ok(Some(First::Message(_))) if is_lane(at) && self.rails.is_none() => {
                    break Some("it sent a message on a lane".into());
                }
                Ok(Some(First::Message(_))) => {
                    if !conversation.is_ready {
                        conversation.is_ready = true;
                        self.ready.push_back(at);
                    }
                    break None;
                }
                Ok(Some(First::Control(control))) => {
                    conversation.input.consume_control(control);
                    match self.take_control(at, control) {
                        Ok(answers) => answered |= answers,
                        Err(Broken) => break Some("it sent what this process did not ask for".into()),
                    }
                }
                Ok(None) => break conversation.ending.take(),
                Err(Broken) => break Some("it sent what is no message".into()),
            }
        };
        if answered && self.peers[at].as_ref().is_some_and(|conversation| !conversation.awaits_room) {
            self.flush(at);
        }
        if let Some(why) = broken {
            self.end(at, &why);
        }
    }

    /// All payload has come. Whether there is an answer to be sent.
    fn poured(&mut self, at: u32, end: End, in_place: bool) -> bool {
        match end {
            End::Fetched(get) => {
                self.part_over(at, get, true);
                false
            }
            End::Stored { put, .. } => {
                let output = &mut self.conversation(at).output;
                output.add_control(Control::Over { what: put, succeeded: in_place });
                output.is_answer();
                true
            }
        }
    }

    /// Does what a peer's transport asks for. Whether there is an answer to be sent.
    ///
    /// # Errors
    /// The peer does not keep to the protocol.
    fn take_control(&mut self, at: u32, control: Control) -> Result<bool, Broken> {
        let peer = peer_of(at);
        let asks = matches!(control, Control::Fetch { .. } | Control::Store { .. });
        if asks && self.answers(at) >= MOST_ASKED {
            return Err(Broken);
        }
        match control {
            Control::Fetch { name, offset, len, get } => {
                self.hear_of_transfer(at, len as usize);
                let memory = self.direct.named(peer, name, Access::Read, (offset, len));
                let memory = memory.filter(|memory| memory.len() <= u32::MAX as usize);
                let output = &mut self.conversation(at).output;
                match memory {
                    Some(memory) => {
                        output.add_control(Control::Fetched { get, len: memory.len() });
                        output.lend(memory, Lender::Exposed(name));
                    }
                    None => output.add_control(Control::Over { what: get, succeeded: false }),
                }
                output.is_answer();
                Ok(true)
            }
            Control::Fetched { get, len } => {
                let into = self.direct.fetched(at, get, len).ok_or(Broken)?;
                self.conversation(at).pouring =
                    Some(Pouring { into: Some(into), left: len, end: End::Fetched(get) });
                Ok(false)
            }
            Control::Store { name, offset, put, len } => {
                self.hear_of_transfer(at, len);
                let into = self.direct.named(peer, name, Access::Write, (offset, len as u64));
                self.conversation(at).pouring =
                    Some(Pouring { into, left: len, end: End::Stored { put, name } });
                Ok(false)
            }
            Control::Over { what, succeeded } => {
                self.part_over(at, what, succeeded);
                Ok(false)
            }
            // What else there is goes over the first connection.
            _ if peer != at && self.rails.is_none() => Err(Broken),
            Control::Rest => {
                self.peer_rests(at);
                Ok(false)
            }
            Control::LaneLost { lane } if (1..LANES).contains(&lane) && self.rails.is_none() => {
                self.end_lane(lane_to(at, lane), "the peer has lost it");
                Ok(false)
            }
            Control::LaneLost { .. } => Err(Broken),
            Control::Apart { meetings } if self.network.acquaintance(at).is_some() => {
                self.conversation(at).peer_parted_at = Some(meetings);
                Ok(false)
            }
            Control::Apart { .. } => Err(Broken),
        }
    }

    /// Answers that wait for a peer on a connection, on the one that is being closed, too.
    fn answers(&mut self, at: u32) -> usize {
        let conversation = self.conversation(at);
        let closing = conversation.closing.as_ref();
        conversation.output.answers() + closing.map_or(0, |closing| closing.output.answers())
    }

    /// Hands out the first message of a peer, if it is whole.
    #[allow(unsafe_code, reason = "views of bytes that stay where they are until they are given back")]
    pub(crate) fn lend(&mut self, at: u32) -> Option<Arrival> {
        let most = self.limits.max_send;
        let conversation = self.peers[at].as_ref().filter(|conversation| conversation.pouring.is_none())?;
        let First::Message(Message { header, payload }) = conversation.input.first(most).ok()?? else {
            return None;
        };
        self.lent = Some((at, header.len() + payload.len()));
        // SAFETY: the input of a peer whose message is out is neither read into nor moved (`read`, `lose` after `settle`).
        let (header, payload) = unsafe {
            (PeerBytes::new(header.as_ptr(), header.len()), PeerBytes::new(payload.as_ptr(), payload.len()))
        };
        Some(Arrival { peer: Peer(peer_of(at)), header, payload, token: 0 })
    }
}

/// What a read gave: bytes, nothing for now, or why the connection is over.
fn bytes_read(read: io::Result<Option<usize>>) -> Result<Option<usize>, String> {
    match read {
        Ok(Some(0)) => Err("it closed the connection".into()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(format!("the connection broke: {}", in_words(&error))),
    }
}
