//! Several ways to one peer, each of which can be named: what a layer stands on that chooses among them, frame by frame.

use crate::{Access, Arrival, Btl, Busy, Event, Limits, Loss, Peer, Refusal, RemoteKey};
use mem::{Source, UserMem};

/// A way, by the place of its transport among all of a process and by its rail; the same number names the same way on all of
/// them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Way(pub u8);

impl Way {
    /// A rail of the transport in this place.
    pub fn new(transport: u8, rail: u8) -> Way {
        Way(transport * MOST_RAILS + rail)
    }

    /// The place of its transport.
    pub fn transport(self) -> u8 {
        self.0 / MOST_RAILS
    }

    /// Its rail.
    pub fn rail(self) -> u8 {
        self.0 % MOST_RAILS
    }
}

/// What became of a rail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Nothing that was sent on it and has not arrived arrives any more.
    Lost,
    /// It leads to the peer again, by a new address perhaps.
    Returned,
}

/// A transport under a layer that sends again what is lost. It may have several rails to a peer, one over each network that both
/// hosts have; [`Btl::send`] takes the first.
pub trait Rails: Btl {
    /// Rails to a peer, at most [`MOST_RAILS`]: as many on both sides, and numbered alike.
    fn rails(&self, _peer: Peer) -> u8 {
        1
    }

    /// As [`Btl::send`], over one of them.
    ///
    /// # Errors
    /// [`Busy`]; nothing was taken from `payload`.
    fn send_over<S: Source>(
        &mut self,
        _rail: u8,
        peer: Peer,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        self.send(peer, header, payload)
    }

    /// The rail by which an arrival has come.
    fn rail_of(&self, _arrival: &Arrival) -> u8 {
        0
    }

    /// Device and addresses of a rail, for people: `eth1 (10.0.0.1) to 10.0.0.2`; "": there is nothing to tell.
    fn place_of(&self, _rail: u8, _peer: Peer) -> String {
        String::new()
    }

    /// Whether frames are datagrams, which the network may lose, and for whose share of it the layer above cares.
    fn is_of_datagrams(&self) -> bool {
        false
    }

    /// As [`Btl::loss`], of one rail.
    fn loss_over(&self, _rail: u8, peer: Peer) -> Loss {
        self.loss(peer)
    }

    /// Whether something that was sent to `peer` over a rail may not reach it if this process ends now.
    fn owes_over(&self, _rail: u8, peer: Peer) -> bool {
        self.owes(peer)
    }

    /// Lets leave what was kept to leave together: a burst of frames is over.
    fn depart(&mut self) {}

    /// A rail is to be tried again after it has been silent: what may be stuck on it is given up, and what it stands on made anew.
    fn renew(&mut self, _rail: u8, _peer: Peer) {}

    /// The next rail of a peer that was lost, or has returned. With the loss of the last one the peer is.
    fn next_turn(&mut self) -> Option<(Peer, u8, Turn)> {
        None
    }
}

/// Most rails to a peer.
pub const MOST_RAILS: u8 = 4;

/// Transports behind one table, each of which is there by itself. Their calls of the same meaning in [`Btl`] concern the way
/// that the table has chosen for a peer; an owner of this trait takes arrivals and events by these calls alone.
pub trait Ways: Btl {
    /// The ways to `peer`, the fastest first, in the same order on both sides.
    fn ways(&self, peer: Peer) -> Vec<Way>;

    /// The name of a way's transport.
    fn name_of(&self, way: Way) -> &'static str;

    /// As [`Rails::place_of`].
    fn place_of(&self, way: Way, peer: Peer) -> String;

    /// Whether a way stays within this host.
    fn is_of_host(&self, way: Way) -> bool;

    /// As [`Rails::is_of_datagrams`].
    fn is_of_datagrams(&self, way: Way) -> bool;

    /// As [`Btl::limits`].
    fn limits_by(&self, way: Way, peer: Peer) -> &Limits;

    /// As [`Btl::send`].
    ///
    /// # Errors
    /// [`Busy`]; nothing was taken from `payload`.
    fn send_by<S: Source>(
        &mut self,
        way: Way,
        peer: Peer,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy>;

    /// As [`Rails::depart`], of all ways.
    fn depart(&mut self);

    /// As [`Btl::expose`], for the transport of this way.
    ///
    /// # Errors
    /// [`Refusal`]
    fn expose_by(
        &mut self,
        way: Way,
        peer: Peer,
        memory: UserMem,
        access: Access,
    ) -> Result<RemoteKey, Refusal>;

    /// As [`Btl::conceal`].
    fn conceal_by(&mut self, way: Way, peer: Peer, key: RemoteKey);

    /// As [`Btl::get`], and where `local` is to be stored as [`Btl::put`].
    ///
    /// # Errors
    /// [`Refusal`]; nothing was begun.
    fn copy_by(
        &mut self,
        way: Way,
        peer: Peer,
        local: (UserMem, bool),
        remote: (&RemoteKey, u64),
        cookie: u64,
    ) -> Result<(), Refusal>;

    /// As [`Rails::renew`].
    fn renew_by(&mut self, way: Way, peer: Peer);

    /// As [`Rails::loss_over`].
    fn loss_by(&self, way: Way, peer: Peer) -> Loss;

    /// As [`Btl::next_arrival`], of all ways in turn.
    fn next_arrival_by(&mut self) -> Option<(Way, Arrival)>;

    /// As [`Btl::release`].
    fn release_by(&mut self, way: Way, arrival: Arrival);

    /// As [`Btl::next_event`], of all ways: the loss of a peer is that of this way to it, and of all rails of its transport.
    fn next_event_by(&mut self) -> Option<(Way, Event)>;

    /// As [`Rails::next_turn`], of all ways.
    fn next_turn_by(&mut self) -> Option<(Way, Peer, Turn)>;

    /// As [`Rails::owes_over`].
    fn owes_by(&self, way: Way, peer: Peer) -> bool;
}
