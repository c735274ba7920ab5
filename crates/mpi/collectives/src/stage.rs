//! Where a persistent collective stands, whichever way its rounds go.

use engine::Fate;
use pml::Done;

use objects::immediate::EMPTY;

/// Where a persistent request stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Inactive,
    Started,
    /// The result was not taken yet.
    Complete(Done),
}

impl Stage {
    /// The result, for its request.
    pub fn outcome(self) -> Done {
        match self {
            Stage::Complete(done) => done,
            Stage::Inactive | Stage::Started => EMPTY,
        }
    }

    /// As [`Stage::conclude`], of a round that has succeeded.
    pub fn take_success(&mut self) -> Option<Done> {
        match *self {
            Stage::Complete(done) if done.error == abi::SUCCESS => Some(self.conclude().0),
            _ => None,
        }
    }

    /// The program takes the result; the request can be started again.
    pub fn conclude(&mut self) -> (Done, Fate) {
        (std::mem::replace(self, Stage::Inactive).outcome(), Fate::Inactive)
    }
}
