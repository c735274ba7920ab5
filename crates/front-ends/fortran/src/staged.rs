//! Sections given to collectives that go on after the call: copies, which Alhena's C library fills at each start of a persistent
//! call and gives back when the call ends (`ffi::copies`). Another C library cannot be told, so there such a call is an error.

use ffi::copies::Functions;

use crate::place::P;
use crate::section::{Section, whole};
use crate::{library, origin};

static FUNCTIONS: Functions = Functions { fill, give_back, free };

struct Copy {
    of: Section,
    /// What the call works on.
    bytes: Vec<u8>,
    /// What was in the section when the call began.
    before: Vec<u8>,
    /// Whether the call writes.
    written: bool,
}

/// The buffers of one call.
#[derive(Default)]
pub struct Buffers {
    copies: Vec<Copy>,
}

unsafe fn copies<'a>(state: usize) -> &'a mut Vec<Copy> {
    // SAFETY: made by `Buffers::given`; the C library uses it in one thread at a time.
    unsafe { &mut *(state as *mut Vec<Copy>) }
}

unsafe extern "C" fn fill(state: usize) {
    // SAFETY: the C library hands on what it was given, here and below.
    for copy in unsafe { copies(state) } {
        copy.of.copy_to(&mut copy.bytes);
        copy.before.clone_from(&copy.bytes);
    }
}

unsafe extern "C" fn give_back(state: usize) {
    // SAFETY: as above.
    for copy in unsafe { copies(state) } {
        // The program may use elements that the call leaves alone.
        if copy.written {
            copy.of.take_changes(&copy.bytes, &copy.before);
        }
    }
}

unsafe extern "C" fn free(state: usize) {
    // SAFETY: as above; this is the last use.
    drop(unsafe { Box::from_raw(state as *mut Vec<Copy>) });
}

impl Buffers {
    /// What C gets for a buffer: itself, or a copy of a section; nothing over C libraries that cannot be told.
    ///
    /// # Safety
    /// A descriptor.
    pub unsafe fn add(&mut self, buffer: P, written: bool) -> Option<P> {
        // SAFETY: the caller's promise.
        if let Some(address) = unsafe { whole(buffer) } {
            return Some(address);
        }
        if !origin::is_kept() {
            return None;
        }
        // SAFETY: as above.
        let of = unsafe { Section::of(buffer) };
        let mut bytes = Vec::new();
        of.copy_to(&mut bytes);
        self.copies.push(Copy { of, before: bytes.clone(), bytes, written });
        self.copies.last_mut().map(|copy| copy.bytes.as_mut_ptr() as P)
    }

    /// Gives them to the call that has `place` among its arguments.
    pub fn given(self, place: P) -> Given {
        if self.copies.is_empty() {
            return Given(0);
        }
        let state = Box::into_raw(Box::new(self.copies)).expose_provenance();
        origin::state_copies(place, state, &FUNCTIONS);
        Given(state)
    }
}

/// Buffers that the C library was told of.
pub struct Given(usize);

impl Given {
    /// The call has returned.
    pub fn over(self, code: i32) {
        // A call that took them frees them; one that did not is over, or has failed.
        if self.0 == 0 || !origin::take_back_copies() {
            return;
        }
        // SAFETY: they are this call's still.
        unsafe {
            if code == library::SUCCESS {
                give_back(self.0);
            }
            free(self.0);
        }
    }
}
