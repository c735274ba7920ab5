//! The memory of an access, as `io` wants it.

use io::Memory;
use mem::{PeerBytes, PeerSpace, UserMem};
use pml::Data;

/// Where the bytes of an access come from or go to.
pub enum Buffer {
    /// The program's memory.
    User(Data),
    /// Bytes as they are in the file, where that is another representation.
    Staged(Vec<u8>),
}

impl Memory for Buffer {
    fn total(&self) -> u64 {
        match self {
            Buffer::User(data) => data.total(),
            Buffer::Staged(bytes) => bytes.len() as u64,
        }
    }

    fn contiguous(&self) -> Option<UserMem> {
        match self {
            Buffer::User(data) => data.contiguous(),
            Buffer::Staged(_) => None,
        }
    }

    fn pack(&mut self, position: u64, into: PeerSpace<'_>) {
        match self {
            Buffer::User(Data::Contiguous(memory)) => {
                into.write(memory.part(position as usize, into.len()).as_bytes());
            }
            Buffer::User(Data::Typed(stream)) => {
                stream.seek(position);
                stream.fill(into);
            }
            Buffer::Staged(bytes) => {
                into.write(PeerBytes::of(bytes).part(position as usize, into.len()));
            }
        }
    }

    fn unpack(&mut self, position: u64, from: PeerBytes<'_>) {
        match self {
            Buffer::User(data) => {
                data.pour(position, from);
            }
            Buffer::Staged(bytes) => {
                PeerSpace::of(bytes).part(position as usize, from.len()).write(from);
            }
        }
    }
}
