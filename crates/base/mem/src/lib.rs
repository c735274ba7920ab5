//! Views of memory that the compiler cannot vouch for: buffers of the MPI caller and bytes shared with peers.
//!
//! A view is made once, by an `unsafe` constructor that states the promise (the MPI caller's, or the mapping's),
//! and copied from and to safely afterwards. Nothing here is ever a Rust reference to that memory, since another
//! thread or process may change it at any time; every access is a raw copy of bounds-checked length.
//!
//! [`Slab`] names objects by small integers; [`hex`] writes bytes as text.

mod copy;
pub mod hex;
mod peer;
mod register;
mod slab;
mod user;

pub use copy::copy_bytes;
pub use peer::{PeerBytes, PeerSpace};
pub use register::in_register;
pub use slab::Slab;
pub use user::UserMem;

/// Something a transport can take message payload from, once, in order.
///
/// A contiguous buffer ([`UserMem`]) and a datatype convertor are sources; a transport streams them straight
/// into its bounce buffers without an intermediate buffer.
pub trait Source {
    /// Bytes not yet taken.
    fn remaining(&self) -> usize;

    /// Writes the next `space.len()` bytes; the caller never asks for more than [`Source::remaining`].
    fn fill(&mut self, space: PeerSpace<'_>);

    /// The whole remaining payload as one run of memory, when it is one.
    fn contiguous(&self) -> Option<UserMem>;

    /// As [`Source::contiguous`], and takes it: nothing remains. A source that is never one run need not have this.
    fn take_contiguous(&mut self) -> Option<UserMem> {
        None
    }
}

/// Something message payload can be poured into, once, in order.
pub trait Sink {
    /// Bytes that still fit.
    fn remaining(&self) -> usize;

    /// Takes `bytes`; the caller never gives more than [`Sink::remaining`].
    fn drain(&mut self, bytes: PeerBytes<'_>);
}
