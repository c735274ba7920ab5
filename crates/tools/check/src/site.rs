//! Places of calls.

use interpose::Call;

/// Where a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    pub function: usize,
    pub address: usize,
}

impl Site {
    /// The one of a call.
    pub fn of(call: &Call<'_>) -> Site {
        Site { function: call.number(), address: call.site() }
    }
}
