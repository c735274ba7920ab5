//! Verbs for messages so short that finding out where they go would take longer than the copy.
//!
//! Everything here is optional: each method has a body that does nothing, and the caller then goes the usual way through
//! [`Btl::send`] and [`Btl::next_arrival`]. A transport that has nothing faster writes `impl FastPath for X {}`.
//!
//! These methods see frames of every [`Class`](crate::Class). A [`Take`] leaves frames that are not its own where they
//! are; the next [`poll`](crate::poll) hands them to their handlers.

use crate::{Btl, Busy, Peer};
use mem::{PeerBytes, Source};

/// Most payload bytes of a message that [`FastPath::send_on`] takes, where the eager limit is not lower still: what two
/// cache lines hold beside a word of the transport and a header of two words.
pub const SHORT: usize = 104;

/// Where a transport reaches a peer, found out once ([`FastPath::route`]) and kept by the owner, so that the fast path of
/// a short message does not find it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route(pub u32);

impl Route {
    /// Leads nowhere: [`FastPath::send_on`] is [`Busy`], [`FastPath::receive_if`] finds nothing.
    pub const NONE: Route = Route(u32::MAX);
}

/// Whether the peer of a [`FastPath::send_on`] seems to sleep, so that the caller must [`FastPath::wake`] it.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asleep(pub bool);

/// What is done with a message that [`FastPath::receive_if`] shows. A trait of one method and not a closure, because
/// methods can be inlined by attribute.
pub trait Take {
    /// The result.
    type Taken;
    /// Whether the message after this one is likely to be wanted, too.
    const MORE: bool = false;

    /// Takes the message, or leaves it where it is.
    fn take(self, header: PeerBytes<'_>, payload: PeerBytes<'_>) -> Option<Self::Taken>;
}

/// The fast verbs of a transport; see the module's documentation.
pub trait FastPath: Btl {
    /// Where `peer` is reached; constant while the peer lives.
    fn route(&self, _peer: Peer) -> Route {
        Route::NONE
    }

    /// As [`Btl::send`], to the peer that `route` leads to, for messages so short that it takes a few stores: at
    /// most [`SHORT`] bytes of payload. Waking the peer is left to the caller, which by then has nothing to remember.
    ///
    /// # Errors
    /// [`Busy`]; nothing was taken from `payload`. `send` may succeed all the same.
    #[inline(always)]
    fn send_on<S: Source>(
        &mut self,
        _route: Route,
        _header: &[u64],
        _payload: &mut S,
    ) -> Result<Asleep, Busy> {
        Err(Busy)
    }

    /// Whether a [`FastPath::send_on`] that was [`Busy`] for want of room, as far as was known, would now succeed.
    fn finds_room(&mut self, _route: Route) -> bool {
        false
    }

    /// Wakes the peer that `route` leads to, after a [`FastPath::send_on`] that found it asleep.
    fn wake(&mut self, _route: Route) {}

    /// As [`Btl::send`], to the peer that `route` leads to, of up to [`Limits::eager`](crate::Limits::eager) bytes, if it
    /// can be written straight to where the peer polls.
    ///
    /// # Errors
    /// [`Busy`]; nothing was taken from `payload`. `send` may succeed all the same.
    fn send_eager_on<S: Source>(
        &mut self,
        _route: Route,
        _header: &[u64],
        _payload: &mut S,
    ) -> Result<(), Busy> {
        Err(Busy)
    }

    /// Shows the next message on `route`, if it can be seen at once and is short, to `take`, and gives its memory
    /// back if that takes it; if not, the message stays the next one. No arrival may be out. May find nothing
    /// although [`Btl::next_arrival_from`] would.
    #[inline(always)]
    fn receive_if<T: Take>(&mut self, _route: Route, _take: T) -> Option<T::Taken> {
        None
    }

    /// As [`FastPath::receive_if`], with up to `polls` polls in a row, without yielding. Whatever can be done before the
    /// message comes is done then.
    #[inline(always)]
    fn receive_within<T: Take>(&mut self, route: Route, _polls: u32, take: T) -> Option<T::Taken> {
        self.receive_if(route, take)
    }

    /// Polls for the next message on `route`, short or not, up to `polls` times in a row, without yielding; whether it is
    /// there.
    #[inline(always)]
    fn poll_route(&mut self, _route: Route, _polls: u32) -> bool {
        false
    }

    /// As [`FastPath::receive_if`], for messages that are not short.
    fn receive_longer_if<T: Take>(&mut self, _route: Route, _take: T) -> Option<T::Taken> {
        None
    }
}
