//! Several ways to one peer, each of which can be named: what a layer stands on that chooses among them, frame by frame.

use crate::{Arrival, Btl, Busy, Event, Limits, Peer};
use mem::Source;

/// A way, by its place among all transports of a process; the same number names the same transport on all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Way(pub u8);

/// Transports behind one table, each of which is there by itself. Their calls of the same meaning in [`Btl`] concern the way
/// that the table has chosen for a peer; an owner of this trait takes arrivals and events by these calls alone.
pub trait Ways: Btl {
    /// The ways to `peer`, the fastest first, in the same order on both sides.
    fn ways(&self, peer: Peer) -> Vec<Way>;

    /// The name of a way.
    fn name_of(&self, way: Way) -> &'static str;

    /// Whether a way stays within this host.
    fn is_of_host(&self, way: Way) -> bool;

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

    /// As [`Btl::next_arrival`], of all ways in turn.
    fn next_arrival_by(&mut self) -> Option<(Way, Arrival)>;

    /// As [`Btl::release`].
    fn release_by(&mut self, way: Way, arrival: Arrival);

    /// As [`Btl::next_event`], of all ways: the loss of a peer is that of this way to it.
    fn next_event_by(&mut self) -> Option<(Way, Event)>;

    /// As [`Btl::owes`].
    fn owes_by(&self, way: Way, peer: Peer) -> bool;
}
