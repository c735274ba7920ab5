//! Names of symmetric memory.

use mem::UserMem;
use portals::Memory;
use std::ops::Range;

/// Kinds of symmetric memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Region {
    /// What [`super::Heap`] hands out.
    Heap,
    /// Globals and statics of the program.
    Statics,
}

/// A place that all processes have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Address {
    /// Where it lies.
    pub region: Region,
    /// Bytes from the region's start.
    pub offset: u64,
}

impl Address {
    /// A place of the heap.
    pub const fn heap(offset: u64) -> Address {
        Address { region: Region::Heap, offset }
    }

    /// A place so many bytes further.
    pub const fn plus(self, bytes: u64) -> Address {
        Address { offset: self.offset + bytes, ..self }
    }
}

/// Where an operation goes at its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// Symmetric memory.
    Symmetric(Address),
    /// A window that the target has opened, by its number, and bytes from its start.
    Window(u32, u64),
}

/// The program's globals and statics, as the ranges of its writable segments: equal lengths in all processes that run
/// the same file.
pub fn statics() -> Memory {
    let runs: Vec<UserMem> = platform::image::writable().into_iter().map(memory).collect();
    Memory::Runs(runs.into())
}

#[allow(unsafe_code)]
fn memory(range: Range<usize>) -> UserMem {
    // SAFETY: writable segments of the program stay mapped as long as it runs. What is written there is the program's
    // own doing: it asks for puts to its statics.
    unsafe { UserMem::new(range.start, range.len()) }
}

/// How far `address` lies behind the start of the first run, counted along the runs.
pub(crate) fn offset_in(memory: &Memory, address: usize) -> Option<u64> {
    let mut before = 0;
    for run in memory.runs() {
        if (run.address()..run.address() + run.len()).contains(&address) {
            return Some((before + address - run.address()) as u64);
        }
        before += run.len();
    }
    None
}
