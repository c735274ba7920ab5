//! The domain of the library's state: the one static behind which everything stands.

pub use engine::{Attempt, Mode};

use crate::state::State;

/// Proof that the calling thread is inside MPI and holds nothing locked.
pub type Token = engine::Token<State>;

/// The state and its lock.
pub static DOMAIN: engine::Domain<State> = engine::Domain::new();

/// Enters MPI where it must be initialised and not finalized.
///
/// # Errors
/// `MPI_ERR_OTHER` before initialisation and after finalization.
#[inline(always)]
pub fn enter() -> abi::Result<Token> {
    engine::enter()
}

/// Enters MPI at any time, by any thread (MPI-5.0 section 11.4.1 lists the functions that may).
pub fn enter_any() -> Token {
    engine::enter_any()
}

/// Enters MPI and locks the state by the plain way; see [`engine::enter_plain`].
#[inline(always)]
pub fn enter_plain() -> Option<engine::PlainGuard<State>> {
    engine::enter_plain()
}

/// Where the library stands.
pub fn mode() -> Mode {
    DOMAIN.mode()
}
