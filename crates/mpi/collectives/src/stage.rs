//! Where a persistent collective stands, whichever way its rounds go.

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
}
