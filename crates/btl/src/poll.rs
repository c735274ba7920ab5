//! The one loop that takes arrivals and events from a transport.

use crate::{Arrival, Btl, Event};

/// Takes what a transport brings: a message layer, or the owner of several takers, which tells frames and events apart by
/// their [`Class`](crate::Class). No method blocks.
pub trait Receiver<B: Btl> {
    /// Takes one arrival, whose views are valid during the call; [`poll`] releases it afterwards. May send; must not ask
    /// for arrivals.
    fn accept(&mut self, btl: &mut B, arrival: &Arrival);

    /// Takes one event.
    fn on_event(&mut self, btl: &mut B, event: Event);

    /// Whether it waits for something that an arrival may bring. If it does at first and then does not, [`poll`] leaves the
    /// next arrivals with the transport: they would have to be kept.
    fn awaits(&self) -> bool;

    /// Goes on with what waits for room or for another turn, a bounded amount; how many things happened.
    fn advance(&mut self, btl: &mut B) -> usize;
}

/// How much one [`poll`] takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Most arrivals.
    pub arrivals: u32,
    /// Most events.
    pub events: u32,
}

impl Bounds {
    /// So much that the way here does not count, and so little that nobody waits for long.
    pub const USUAL: Bounds = Bounds { arrivals: 32, events: 32 };
}

/// Hands arrivals and events of `btl` to `receiver` and lets that go on: a bounded amount of each. Returns how many things
/// happened; 0 means that calling again at once is of no use.
#[inline]
pub fn poll<B: Btl, R: Receiver<B>>(btl: &mut B, receiver: &mut R, bounds: Bounds) -> usize {
    let mut happened = 0;
    let awaited = receiver.awaits();
    for _ in 0..bounds.arrivals {
        let Some(arrival) = btl.next_arrival() else { break };
        receiver.accept(btl, &arrival);
        btl.release(arrival);
        happened += 1;
        if awaited && !receiver.awaits() {
            break;
        }
    }
    for _ in 0..bounds.events {
        let Some(event) = btl.next_event() else { break };
        receiver.on_event(btl, event);
        happened += 1;
    }
    happened + receiver.advance(btl)
}
