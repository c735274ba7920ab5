//! What an operation was, in the highest byte of its cookie; the rest names it.

pub(crate) const KIND: u64 = 0xff << 56;
/// A message from a send buffer, whose number is the rest.
pub(crate) const SEND: u64 = 1 << 56;
/// A message that the provider copied.
pub(crate) const INJECT: u64 = 2 << 56;
/// A receive, whose buffer's number is the rest.
pub(crate) const RECEIVE: u64 = 3 << 56;
/// A read or write, whose name is the rest.
pub(crate) const TRANSFER: u64 = 4 << 56;
