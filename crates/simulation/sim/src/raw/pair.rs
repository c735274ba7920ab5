//! Two sides on virtual time, in turns.

use crate::error::Error;

/// Two sides, 0 and 1, that exchange messages by the calls of their NICs.
pub(crate) trait Pair {
    /// A side's clock.
    fn now(&self, side: usize) -> u64;

    /// Whether a side is over.
    fn is_done(&self, side: usize) -> bool;

    /// A side goes on; whether anything happened.
    ///
    /// # Errors
    /// The NIC's error.
    fn turn(&mut self, side: usize) -> Result<bool, Error>;

    /// The side that finds something new first is idle until then; `false`: neither does.
    fn idle(&mut self) -> bool;

    /// The virtual time in nanoseconds.
    fn nanoseconds(&self) -> u64;
}

/// Runs until both sides are over. The side whose clock is earlier has its turn first.
///
/// # Errors
/// The NIC's, and [`Error::Stuck`].
pub(crate) fn run(pair: &mut impl Pair) -> Result<(), Error> {
    while !(pair.is_done(0) && pair.is_done(1)) {
        let first = usize::from(pair.now(0) > pair.now(1));
        if !pair.turn(first)? && !pair.turn(1 - first)? && !pair.idle() {
            return Err(Error::Stuck { unfinished: 2, first: 0, at: pair.nanoseconds() });
        }
    }
    Ok(())
}
