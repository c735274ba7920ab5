//! The one loop that takes arrivals and events from a transport.

use crate::{Arrival, Btl, Event};

/// Takes what a transport brings: a message layer, for one. No method blocks.
pub trait Receiver<B: Btl> {
    /// Takes one arrival, whose views are valid during the call; the caller releases it afterwards. May send; must not ask
    /// for arrivals.
    fn accept(&mut self, btl: &mut B, arrival: &Arrival);

    /// Takes one event.
    fn on_event(&mut self, btl: &mut B, event: Event);

    /// Whether it waits for something that an arrival may bring. If it does at first and then does not, [`poll`] leaves
    /// the next arrivals with the transport: they would have to be kept.
    fn awaits(&self) -> bool;

    /// Goes on with what waits for room or for another turn, a bounded amount; how many things happened.
    fn advance(&mut self, btl: &mut B) -> usize;
}

/// Has a transport and the receivers of what it brings: the owner of several, which sorts frames and events by their
/// [`Class`](crate::Class), or a transport that one [`Receiver`] has for itself ([`Alone`]).
pub trait Hub {
    /// The transport.
    type Btl: Btl;

    /// The transport itself.
    fn btl(&mut self) -> &mut Self::Btl;

    /// As [`Receiver::accept`].
    fn accept(&mut self, arrival: &Arrival);

    /// As [`Receiver::on_event`].
    fn on_event(&mut self, event: Event);

    /// As [`Receiver::awaits`].
    fn awaits(&self) -> bool;

    /// As [`Receiver::advance`].
    fn advance(&mut self) -> usize;
}

/// A transport that one receiver has for itself.
#[derive(Debug)]
pub struct Alone<'a, B, R>(pub &'a mut B, pub &'a mut R);

impl<B: Btl, R: Receiver<B>> Hub for Alone<'_, B, R> {
    type Btl = B;

    fn btl(&mut self) -> &mut B {
        self.0
    }

    fn accept(&mut self, arrival: &Arrival) {
        self.1.accept(self.0, arrival);
    }

    fn on_event(&mut self, event: Event) {
        self.1.on_event(self.0, event);
    }

    fn awaits(&self) -> bool {
        self.1.awaits()
    }

    fn advance(&mut self) -> usize {
        self.1.advance(self.0)
    }
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
    /// So much that the way here does not count, and so little that no caller waits for long.
    pub const USUAL: Bounds = Bounds { arrivals: 32, events: 32 };
}

/// Hands arrivals and events to their handlers and lets those go on: a bounded amount of each. Returns how many things
/// happened; 0 means that calling again at once is of no use.
#[inline]
pub fn poll<H: Hub>(hub: &mut H, bounds: Bounds) -> usize {
    let mut happened = 0;
    let awaited = hub.awaits();
    for _ in 0..bounds.arrivals {
        let Some(arrival) = hub.btl().next_arrival() else { break };
        hub.accept(&arrival);
        hub.btl().release(arrival);
        happened += 1;
        if awaited && !hub.awaits() {
            break;
        }
    }
    for _ in 0..bounds.events {
        let Some(event) = hub.btl().next_event() else { break };
        hub.on_event(event);
        happened += 1;
    }
    happened + hub.advance()
}
