//! Which frame is the next of its sender, and whose it is: the one rule that all fast receives follow.
//!
//! A message that waits at the transport may go straight to its receive if
//! 1. none of its sender's frames is parked: taking the next one would have to resume those ([`PeerState::turn`]);
//! 2. it is an eager frame, and the next in its sender's order;
//! 3. no older receive matches it, and the one at hand does (a [`Claim`]).
//!
//! [`Turn::take`] applies the rule, and counts the frame as taken. What does not follow the rule is treated by
//! [`Receiver::accept`](btl::Receiver::accept).

use btl::Route;
use pml::{Envelope, Pattern};

use crate::frame::{self, SequencePlace};
use crate::peers::PeerState;
use crate::posted::Posted;

/// A sender whose next frame may be taken where it lies.
pub(crate) struct Turn<'a> {
    /// Where the sender's frames are found.
    pub route: Route,
    expected: &'a mut SequencePlace,
}

impl PeerState {
    /// The peer as a sender whose next frame may be taken; `None` while later frames are parked.
    #[inline(always)]
    pub fn turn(&mut self) -> Option<Turn<'_>> {
        if self.has_parked { None } else { Some(Turn { route: self.route, expected: &mut self.expected }) }
    }
}

impl Turn<'_> {
    /// Whose the frame with the header of an eager message `words` is, if it is the next in order and claimed; it counts
    /// as taken then.
    #[inline(always)]
    pub fn take<C: Claim>(&mut self, words: [u64; 2], claim: C) -> Option<C::Receive> {
        let receive = claim.of_next(*self.expected, words)?;
        self.expected.advance();
        Some(receive)
    }

    /// The same turn, for one of several frames.
    #[inline(always)]
    pub fn again(&mut self) -> Turn<'_> {
        Turn { route: self.route, expected: self.expected }
    }
}

/// A receive, or several, that may get the next frame.
pub(crate) trait Claim {
    /// Which receive it is, and what it was matched by.
    type Receive;

    /// The receive that the frame belongs to if it is the one at `next`.
    fn of_next(self, next: SequencePlace, words: [u64; 2]) -> Option<Self::Receive>;
}

/// A receive without wildcards, while no other receive waits: two comparisons.
pub(crate) struct Exact<'a>(pub &'a Pattern);

impl Claim for Exact<'_> {
    type Receive = ();

    #[inline(always)]
    fn of_next(self, next: SequencePlace, words: [u64; 2]) -> Option<()> {
        let Pattern { context, source, tag, .. } = *self.0;
        let asked = [next.match_word(context), frame::envelope_word(source as u32, tag)];
        (words[0] == asked[0] && words[1] == asked[1]).then_some(())
    }
}

/// The posted receives.
impl Claim for &mut Posted {
    type Receive = (u32, Envelope);

    #[inline(always)]
    fn of_next(self, next: SequencePlace, words: [u64; 2]) -> Option<(u32, Envelope)> {
        let envelope = next.envelope_here(words)?;
        self.take(&envelope).map(|key| (key, envelope))
    }
}

/// A receive with any pattern, behind the posted ones.
pub(crate) struct Behind<'a>(pub &'a Posted, pub &'a Pattern);

impl Claim for Behind<'_> {
    type Receive = Envelope;

    #[inline(always)]
    fn of_next(self, next: SequencePlace, words: [u64; 2]) -> Option<Envelope> {
        let Behind(posted, pattern) = self;
        let envelope = next.envelope_here(words).filter(|envelope| pattern.matches(envelope))?;
        (posted.len() == 0 || posted.find(&envelope).is_none()).then_some(envelope)
    }
}
