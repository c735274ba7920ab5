//! What the engine calls.

use abi::{Result, Status};
use btl::{Arrival, Btl, Peer, Receiver};
use mem::UserMem;

use crate::{
    Awaited, Counters, Data, Done, MessageId, Mode, Notice, Open, Pattern, Progress, ReqId, Requests, SendTo,
};

/// A message layer over the transport `B`; see the module's documentation for the promises.
///
/// The contract is cut into parts, so that a layer can keep each part where it belongs. The engine holds layers in an enum
/// and calls these very methods; the conformance suite runs on the trait.
pub trait MessageLayer<B: Btl>: Receiver<B> + Sends<B> + Receives<B> + LayerState {
    /// Asks for the end of an operation. It completes in any case: with the cancelled mark, or as if this had not been
    /// called. For a send that was offered the receiver decides, so the request may stay active for a while. No effect on
    /// a request that is complete.
    fn cancel(&mut self, btl: &mut B, id: ReqId);
}

/// The sends of a [`MessageLayer`].
pub trait Sends<B: Btl> {
    /// Starts a send. `None`: it is complete already, and the buffer is free.
    ///
    /// # Errors
    /// `ERR_NO_MEM` when all request names are in use; nothing was begun.
    fn isend(&mut self, btl: &mut B, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>>;

    /// As [`Sends::isend`], for a caller that has tried [`crate::FastMessages::send_now`].
    ///
    /// # Errors
    /// As those of [`Sends::isend`].
    fn begin_send(&mut self, btl: &mut B, to: &SendTo, data: Data, mode: Mode) -> Result<Option<ReqId>>;
}

/// The receives and probes of a [`MessageLayer`].
pub trait Receives<B: Btl> {
    /// Starts a receive: takes the oldest message that matches, if one is kept, else waits for one behind all receives
    /// posted before.
    ///
    /// # Errors
    /// `ERR_NO_MEM` when all request names are in use; nothing was begun.
    fn irecv(&mut self, btl: &mut B, pattern: &Pattern, into: Data) -> Result<ReqId>;

    /// Receives a message that is kept with its payload, without a request. `None`: nothing was stored. The message may
    /// have come as an offer, which only [`Receives::irecv`] can accept: a caller that tries again in a loop stops
    /// as soon as [`Receives::iprobe`] finds something.
    fn recv_now(&mut self, btl: &mut B, pattern: &Pattern, into: UserMem) -> Option<Done>;

    /// As [`Receiver::accept`] of a frame of the layer, while a receive without a request wants a message that matches
    /// `pattern`. If that is here with its payload after this, it is received, with one copy if it is this very frame.
    fn accept_for(
        &mut self,
        btl: &mut B,
        arrival: &Arrival,
        pattern: &Pattern,
        into: UserMem,
    ) -> Option<Done>;

    /// The status of the message that a receive with this pattern would get. Knows what was taken from the transport so
    /// far; the engine polls first.
    fn iprobe(&mut self, btl: &mut B, pattern: &Pattern) -> Option<Status>;

    /// As [`Receives::iprobe`], and claims the message for [`Receives::imrecv`].
    ///
    /// # Errors
    /// `ERR_NO_MEM` when all message names are in use; nothing was claimed.
    fn improbe(&mut self, btl: &mut B, pattern: &Pattern) -> Result<Option<(MessageId, Status)>>;

    /// Receives a claimed message, whose name is free from then on.
    ///
    /// # Errors
    /// `ERR_REQUEST` when there is no such message; `ERR_NO_MEM` when all request names are in use. The message is still
    /// there then.
    fn imrecv(&mut self, btl: &mut B, message: MessageId, owner: u32, into: Data) -> Result<ReqId>;

    /// As [`LayerState::take`], for a caller that waits: where the operation waits for a known process, its messages are
    /// polled for up to `polls` times.
    fn take_awaited(&mut self, btl: &mut B, id: ReqId, polls: u32) -> Option<Done>;
}

/// What a [`MessageLayer`] knows without its transport: requests, what it waits for, counts.
pub trait LayerState {
    /// What the layer keeps of an operation.
    type State: Progress;

    /// Its operations.
    fn requests(&self) -> &Requests<Self::State>;

    /// As [`LayerState::requests`].
    fn requests_mut(&mut self) -> &mut Requests<Self::State>;

    /// The result of a complete request; `None` while it is active, or if there is no such request.
    #[inline]
    fn poll(&self, id: ReqId) -> Option<&Done> {
        self.requests().get(id.0)?.state.done()
    }

    /// Whether the request is complete; `None` if there is no such request.
    #[inline]
    fn is_complete(&self, id: ReqId) -> Option<bool> {
        self.requests().get(id.0).map(|request| request.state.done().is_some())
    }

    /// As [`LayerState::poll`]; frees the name of a complete request.
    #[inline]
    fn take(&mut self, id: ReqId) -> Option<Done> {
        let done = *self.poll(id)?;
        self.requests_mut().discard(id.0);
        Some(done)
    }

    /// The engine gives the request up (`MPI_Request_free`): it runs to its end and disappears. Its name is free from
    /// then on as far as the caller is concerned.
    fn detach(&mut self, id: ReqId) {
        if self.take(id).is_none()
            && let Some(request) = self.requests_mut().get_mut(id.0)
        {
            request.detached = true;
        }
    }

    /// A lost peer, each once, for the engine to act on.
    fn next_lost(&mut self) -> Option<Peer>;

    /// Whether nothing is under way that a peer may still depend on: sends, transfers, answers. Receives without a
    /// message do not count.
    fn idle(&self) -> bool;

    /// Whether only an arrival can change anything: nothing is under way, no receive waits, no message is kept. A
    /// caller that waits for one message then need not advance anything else for a while.
    fn is_quiet(&self) -> bool;

    /// Whether something waits for room at the transport. The engine calls [`Receiver::advance`] again when there is
    /// room; it may sleep until then where the transport announces that.
    fn waits_for_room(&self) -> bool;

    /// Whether a transfer yielded so that others have their turn: the engine calls [`Receiver::advance`] again before it
    /// sleeps.
    fn needs_turn(&self) -> bool;

    /// Whether the engine should poll before it starts this send. A layer that is not polled sends all the same, but the
    /// receiver's memory is bounded only if its owner polls now and then.
    /// `copied`: by [`crate::FastMessages::send_copied_now`].
    fn needs_poll(&mut self, to: Peer, data: &Data, copied: bool) -> bool;

    /// A thread is going to wait for a message that matches, which others may poll for: its arrival counts in
    /// [`LayerState::changes`], once. Asked again after each failed probe; for layers that do not see arrivals.
    fn seek(&mut self, _pattern: &Pattern) {}

    /// How often something happened that another thread may wait for, or must poll for although it sleeps: an arrival, an
    /// event, the begin of a transfer, the end of a request, want of room. Wraps.
    fn changes(&self) -> u32;

    /// Contexts that it distinguishes: those of all messages and receives are below this.
    fn contexts(&self) -> u32 {
        u32::MAX
    }

    /// Calls `seen` with the context of each receive that has no message yet, and with the process that it names, if it
    /// does; with one often, or with those of receives whose message is on its way, as it suits the layer. For what is rare:
    /// it may look at all requests.
    fn each_awaited(&self, seen: &mut dyn FnMut(u32, Option<Peer>));

    /// Calls `seen` with each operation that is not complete, and with each message without a receive that the layer sees. For
    /// what is rare: it looks at all of them. A layer that no other process looks at, on virtual time, shows none.
    fn each_open(&self, _seen: &mut dyn FnMut(Open)) {}

    /// What a request that is not complete waits for; `None`: for what is under way already, or the layer cannot tell.
    fn awaited(&self, _id: ReqId) -> Option<Awaited> {
        None
    }

    /// Whether the network below matches. Then a receive is posted at once rather than awaited without a request, and
    /// the layer does not see messages without a receive: it has no notices of them.
    fn matches_below(&self) -> bool {
        false
    }

    /// Whether a send can be cancelled whose message has left. If not, it goes on as if it had not been cancelled.
    fn cancels_begun_sends(&self) -> bool {
        true
    }

    /// The engine is going to sleep, and polls once more before it does; as [`Btl::arm`] for what the layer has beside the
    /// transport. `false`: there is something to do that would not end the sleep.
    fn arm(&mut self) -> bool {
        true
    }

    /// Counts since the start, and the present lengths of queues.
    fn counters(&self) -> Counters;

    /// Begins the record of [`Counters::unexpected_bytes_peak`] anew, at what is kept now.
    fn restart_peak(&mut self);

    /// Sets whether notices of messages without a receive are wanted.
    fn note_unexpected(&mut self, wanted: bool);

    /// Whether [`LayerState::next_notice`] has something to give.
    fn has_notices(&self) -> bool;

    /// Takes the oldest notice.
    fn next_notice(&mut self) -> Option<Notice>;
}
