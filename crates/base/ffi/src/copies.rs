//! Copies that a front-end has made of a program's buffers for a collective call that goes on after its return.
//!
//! A section of a Fortran array is no buffer of C. The front-end gives the call a copy, and states beside the call what to do
//! with it ([`state`]), for the call that has a certain place of memory among its arguments, as for its [origin](crate::origin):
//!
//! ```text
//!   front-end  fills the copies ── states them ── MPI_Iallreduce ── they are taken, or the call is over
//!   library    (each start of a persistent call: fill) … the call ends: give_back … free
//! ```

use core::cell::Cell;

/// What can be done with copies; the argument is what the front-end has stated.
#[derive(Debug)]
#[repr(C)]
pub struct Functions {
    /// Copies the program's buffers.
    pub fill: unsafe extern "C" fn(usize),
    /// Copies back what the call has written.
    pub give_back: unsafe extern "C" fn(usize),
    /// Frees the copies.
    pub free: unsafe extern "C" fn(usize),
}

/// Copies that a call has taken.
#[derive(Debug)]
pub struct Copies {
    state: usize,
    functions: &'static Functions,
}

impl Copies {
    /// Copies the program's buffers anew.
    pub fn fill(&self) {
        // SAFETY: the front-end's own state, which is not freed yet; here and below.
        unsafe { (self.functions.fill)(self.state) };
    }

    /// Copies back what the call has written.
    pub fn give_back(&self) {
        // SAFETY: as above.
        unsafe { (self.functions.give_back)(self.state) };
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // SAFETY: as above; this is the last use.
        unsafe { (self.functions.free)(self.state) };
    }
}

thread_local! {
    static STATED: Cell<Option<(usize, usize, &'static Functions)>> = const { Cell::new(None) };
}

/// States the copies of the next call of this thread that has `place` among its arguments.
pub fn state(place: usize, state: usize, functions: &'static Functions) {
    STATED.set(Some((place, state, functions)));
}

/// The copies that were stated for the call with `from` among its arguments become those of the call with `to`.
pub fn hand_on(from: usize, to: usize) {
    if let Some((place, state, functions)) = STATED.get()
        && place == from
    {
        STATED.set(Some((to, state, functions)));
    }
}

/// Takes that back; whether no call had taken the copies.
pub fn take_back() -> bool {
    STATED.take().is_some()
}

/// The copies that were stated for the call with `place` among its arguments.
pub fn take<T>(place: *const T) -> Option<Copies> {
    let (stated, state, functions) = STATED.get()?;
    if stated != place.addr() {
        return None;
    }
    STATED.set(None);
    Some(Copies { state, functions })
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn nothing(_: usize) {}

    #[test]
    fn copies_are_taken_by_the_call_that_they_are_handed_to() {
        static FUNCTIONS: Functions = Functions { fill: nothing, give_back: nothing, free: nothing };
        let (mine, other) = (0_u64, 0_u64);
        let [from, to] = [&raw const mine, &raw const other];
        state(from.addr(), 7, &FUNCTIONS);
        hand_on(to.addr(), from.addr());
        assert!(take(to).is_none());
        hand_on(from.addr(), to.addr());
        assert!(take(from).is_none());
        assert_eq!(take(to).map(|copies| copies.state), Some(7));
        hand_on(to.addr(), from.addr());
        assert!(!take_back());
    }
}
