//! Handles as addresses of objects.
//!
//! ```text
//!  predefined   address of an object, in the library or copied into the executable; its first word is our value
//!  dynamic      bit 63 | our value: no address of a program has that bit
//! ```

/// An object of `WORDS` words, as large as the one that an executable may have a copy of.
#[repr(C, align(16))]
pub struct Object<const WORDS: usize>([usize; WORDS]);

impl<const WORDS: usize> Object<WORDS> {
    /// The object of a predefined handle.
    pub const fn of(value: usize) -> Self {
        let mut words = [0; WORDS];
        words[0] = value;
        Object(words)
    }
}

/// The address of an object, where the program has it.
#[repr(transparent)]
pub struct Place(*const ());

// SAFETY: an address, never written.
unsafe impl Sync for Place {}

impl Place {
    /// Of this object.
    pub const fn of<const WORDS: usize>(object: *const Object<WORDS>) -> Place {
        Place(object.cast())
    }
}

/// Statuses to ignore are NULL.
#[unsafe(no_mangle)]
#[used]
#[allow(non_upper_case_globals)]
static ompi_mpi_status_ignore_addr: Place = Place(core::ptr::null());
#[unsafe(no_mangle)]
#[used]
#[allow(non_upper_case_globals)]
static ompi_mpi_statuses_ignore_addr: Place = Place(core::ptr::null());

const DYNAMIC: usize = 1 << 63;

/// No address of a program has more bits.
const ADDRESS_BITS: u32 = 57;
/// No object is at a smaller address.
const FIRST: usize = 4096;
const ALIGNMENT: usize = align_of::<usize>();
/// Places at which objects may be.
const PLACES: usize = ((1 << ADDRESS_BITS) - FIRST) / ALIGNMENT;

/// Our value of a handle. NULL, small numbers and odd addresses are no objects, and have none.
#[inline(always)]
pub fn value(handle: usize) -> usize {
    // One comparison for all three: what is small wraps, and the bits of what is odd go to the top.
    let place = handle.wrapping_sub(FIRST).rotate_right(ALIGNMENT.trailing_zeros());
    if place < PLACES {
        // SAFETY: a handle is the address of one of the objects, as the program has it.
        return unsafe { *core::ptr::with_exposed_provenance::<usize>(handle) };
    }
    if handle & DYNAMIC != 0 { handle & !DYNAMIC } else { 0 }
}

/// The handle of an object that the program made.
#[inline(always)]
pub fn dynamic(value: usize) -> usize {
    value | DYNAMIC
}
