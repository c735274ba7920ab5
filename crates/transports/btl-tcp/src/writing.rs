//! Writing to peers: what waits for room in a socket, and what is sent from where it lies.

use crate::conversation::Conversation;
use crate::frame::{HEAD, OVERHEAD, message_head};
use crate::network::{Network, Socket};
use crate::numbers::peer_of;
use crate::output::{MOST_PIECES, Output, write_message};
use crate::pair::State;
use crate::transport::Tcp;
use btl::{Peer, Refusal, RemoteKey};
use mem::{Source, UserMem};
use platform::tcp::Piece;
use std::time::Instant;

impl Tcp {
    /// The socket of the connection with a peer, if there is one.
    pub(crate) fn socket_of<'a>(
        conversation: &Conversation,
        network: &'a mut Network,
    ) -> Option<(u32, &'a mut Socket)> {
        let State::Open(wire) = conversation.pair.state() else { return None };
        network.links.get_mut(wire).map(|link| (wire, &mut link.socket))
    }

    /// Writes what waits for a peer, as far as there is room.
    #[allow(unsafe_code, reason = "memory of users, which the kernel reads")]
    pub(crate) fn flush(&mut self, at: u32) {
        let Some(conversation) = &mut self.peers[at] else { return };
        let Some((wire, socket)) = Tcp::socket_of(conversation, &mut self.network) else { return };
        let output = match &mut conversation.closing {
            Some(closing) => &mut closing.output,
            None => &mut conversation.output,
        };
        if socket.flush_unsent().is_err() {
            *output = Output::default();
        }
        while !output.is_empty() {
            let mut pieces = [Piece::default(); MOST_PIECES];
            let count = output.pieces(&mut pieces);
            // SAFETY: copied pieces live in the output; lent ones are readable until their get or put is over or they are
            // concealed, and then they leave the output.
            match unsafe { socket.send_pieces(&pieces[..count]) } {
                Ok(0) => break,
                Ok(written) => output.sent(written),
                // The end of the connection, which reading reports after all that came before it.
                Err(_) => *output = Output::default(),
            }
        }
        let awaits_room = !output.is_empty() || socket.has_unsent();
        if awaits_room != conversation.awaits_room {
            conversation.awaits_room = awaits_room;
            socket.report(wire.into(), awaits_room);
        }
        if conversation.closing.is_some() {
            self.close_if_over(at);
        }
        self.watch(at);
    }

    /// Keeps a short message for its burst, where the socket has taken all before it; whether it does.
    pub(crate) fn keep<S: Source>(&mut self, at: u32, header: &[u64], payload: &mut S) -> bool {
        let conversation = self.peers[at].as_mut().expect("spoken to");
        if !conversation.output.is_empty() || conversation.closing.is_some() {
            return false;
        }
        let Some((_, socket)) = Tcp::socket_of(conversation, &mut self.network) else { return false };
        let Some(stream) = socket.plain() else { return false };
        let kept = self.burst.keep(stream, |bytes| write_message(bytes, header, payload));
        let Some(are_enough) = kept else { return false };
        if are_enough {
            self.send_kept();
        }
        self.watch(at);
        true
    }

    /// The process does something else than to send short messages to the same peer: those that are kept leave.
    #[inline]
    pub(crate) fn end_burst(&mut self) {
        self.burst.end();
        if self.burst.keeps(None) {
            self.send_kept();
        }
    }

    fn send_kept(&mut self) {
        let (at, bytes) = self.burst.take();
        // What a connection has not taken, and that may begin within a message, is lost with it.
        if let Some(conversation) = &mut self.peers[at]
            && matches!(conversation.pair.state(), State::Open(_))
            && !bytes.is_empty()
        {
            conversation.output.add_written(bytes);
            self.flush(at);
        }
    }

    /// As [`Tcp::make_room`]; where the set reports room, there is none yet.
    pub(crate) fn make_room_unless_full(&mut self, at: u32) {
        self.recent = Some(peer_of(at));
        if !self.conversation(at).awaits_room {
            self.make_room(at);
        }
    }

    /// The name in a peer's key of which `local` is a part from `offset` on.
    pub(crate) fn part_of(
        &mut self,
        peer: Peer,
        key: &RemoteKey,
        offset: u64,
        local: UserMem,
    ) -> Result<u32, Refusal> {
        let [name, len, _] = key.0;
        let len_wanted = local.len() as u64;
        let fits = offset.checked_add(len_wanted).is_some_and(|end| end <= len);
        let is_lost = self.conversation(peer.0).loss.is_some();
        if !fits || local.len() > self.limits.max_get || is_lost {
            return Err(Refusal::Unfit);
        }
        u32::try_from(name).map_err(|_| Refusal::Unfit)
    }

    /// Writes what waits for a peer or, without a connection, works on having one.
    pub(crate) fn make_room(&mut self, at: u32) {
        if let State::Open(_) = self.conversation(at).pair.state() {
            return self.flush(at);
        }
        let now = Instant::now();
        self.with_pair(at, |pair, network, _| pair.want(now, network));
        self.poll();
    }

    /// Sends a message from where it lies, if nothing waits before it; whether it was sent or what is left of it waits.
    #[allow(unsafe_code, reason = "memory of users, which the kernel reads")]
    pub(crate) fn send_straight(&mut self, at: u32, header: &[u64], payload: UserMem) -> bool {
        let conversation = self.peers[at].as_mut().expect("spoken to");
        if !conversation.output.is_empty() || conversation.closing.is_some() {
            return false;
        }
        let Some((_, socket)) = Tcp::socket_of(conversation, &mut self.network) else { return false };
        let mut start = [0; OVERHEAD];
        start[..HEAD].copy_from_slice(&message_head(payload.len(), header.len()));
        for (space, word) in start[HEAD..].chunks_exact_mut(8).zip(header) {
            space.copy_from_slice(&word.to_ne_bytes());
        }
        let start = &start[..HEAD + 8 * header.len()];
        let pieces =
            [Piece::new(start.as_ptr() as usize, start.len()), Piece::new(payload.address(), payload.len())];
        // SAFETY: the start is on the stack; the view's constructor vouches for the payload.
        let sent = unsafe { socket.send_pieces(&pieces) };
        // An error is the end of the connection, which reading reports after all that came before it.
        if let Ok(sent) = sent
            && (sent < start.len() + payload.len() || socket.has_unsent())
        {
            conversation.output.add_rest(start, payload, sent);
            self.flush(at);
        }
        self.watch(at);
        true
    }
}
