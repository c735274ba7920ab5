//! How handles are made of slab keys.
//!
//! ```text
//! bit 30   29           28                    0
//!     1   composite?    generation 6 | index 23     request
//!     0   kind (4 bits, 29..26)  generation 6 | index 20     everything else
//! ```
//!
//! Every handle is at least `1 << 26`, hence above the ABI's predefined values, and fits 31 bits, so that
//! `MPI_Comm_toint` is a cast. A predefined handle has the value that the ABI gives it.

/// What a handle that is not a request names.
///
/// MPICH's null handles have a kind at the same place: 1 for communicators, 2 for groups, 3 for datatypes, 5 for error
/// handlers, 6 for operations, 7, 8, 11 and 14 for infos, windows, messages and sessions. No kind here has the number that it
/// has there, so a handle of this library is never one of MPICH's, and crosses to programs of that ABI as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Kind {
    Comm = 2,
    Group = 3,
    Datatype = 4,
    Op = 5,
    Info = 6,
    Errhandler = 7,
    Session = 8,
    Message = 9,
    /// Its key is the context id of the window's own communicator.
    Win = 10,
    File = 11,
}

/// Index bits of every slab of objects other than requests.
pub(crate) const INDEX_BITS: u32 = 20;
/// Generation bits of every slab.
pub(crate) const GENERATION_BITS: u32 = 6;
const KEY_BITS: u32 = INDEX_BITS + GENERATION_BITS;
const KEY_MASK: usize = (1 << KEY_BITS) - 1;

/// A slab of objects that have handles.
pub type Objects<T> = mem::Slab<T, INDEX_BITS, GENERATION_BITS>;

/// The handle value of an object.
pub const fn make(kind: Kind, key: u32) -> usize {
    (kind as usize) << KEY_BITS | key as usize
}

/// The slab key, if the value is a dynamic handle of this kind.
#[inline(always)]
pub const fn key(kind: Kind, value: usize) -> Option<u32> {
    if value >> KEY_BITS == kind as usize { Some((value & KEY_MASK) as u32) } else { None }
}

const REQUEST: usize = 1 << 30;
const OPERATION: usize = 1 << 29;

/// Where a request lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKey {
    /// A point-to-point operation, held by the PML.
    Pml(u32),
    /// Anything else: persistent, generalized, collective, partitioned.
    Operation(u32),
}

impl RequestKey {
    #[inline(always)]
    pub const fn handle(self) -> abi::Request {
        abi::Request(match self {
            RequestKey::Pml(key) => REQUEST | key as usize,
            RequestKey::Operation(key) => REQUEST | OPERATION | key as usize,
        })
    }

    #[inline(always)]
    pub const fn of(handle: abi::Request) -> Option<RequestKey> {
        if handle.0 >> 30 != 1 {
            return None;
        }
        let key = (handle.0 & (OPERATION - 1)) as u32;
        Some(if handle.0 & OPERATION == 0 { RequestKey::Pml(key) } else { RequestKey::Operation(key) })
    }
}
