//! The blocking calls, as loops over [`Portals::eq_get`] with the caller's clock.

use crate::{Eq, Error, Portals, Result, Taken};
use core::time::Duration;

/// `PtlEQWait`: waits for an event. `pause` is called between two attempts and may sleep.
///
/// # Errors
/// `EQ_INVALID`.
pub fn eq_wait<N: Portals>(nic: &mut N, eq: Eq, mut pause: impl FnMut()) -> Result<Taken> {
    loop {
        match nic.eq_get(eq) {
            Err(Error::EqEmpty) => pause(),
            other => return other,
        }
    }
}

/// `PtlEQPoll`: waits for an event of any of `queues`, at most `limit` (for ever without one); which queue it came from.
/// `clock` is asked once a round and may sleep.
///
/// # Errors
/// `EQ_EMPTY` when the time is over, `EQ_INVALID`.
pub fn eq_poll<N: Portals>(
    nic: &mut N,
    queues: &[Eq],
    limit: Option<Duration>,
    mut clock: impl FnMut() -> Duration,
) -> Result<(usize, Taken)> {
    let begun = clock();
    loop {
        for (which, &eq) in queues.iter().enumerate() {
            match nic.eq_get(eq) {
                Err(Error::EqEmpty) => {}
                other => return other.map(|taken| (which, taken)),
            }
        }
        if limit.is_some_and(|limit| clock().saturating_sub(begun) >= limit) {
            return Err(Error::EqEmpty);
        }
    }
}
