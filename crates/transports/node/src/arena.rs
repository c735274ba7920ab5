//! Memory out of the room that the node's file has behind the segment: parts that processes share without a descriptor of
//! each other.
//!
//! ```text
//!   the node's file   | segment | part | hole: given back | part | room …
//!   a part            | nonce, users | memory |
//! ```
//! Each process has had the file since it joined the node, so a part is shared by processes of any user, in any namespace,
//! whatever they let others see in `/proc`. A part is taken at a place that was never taken before. The last of its
//! users gives its pages back; those of a process that was killed stay until the job ends.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use platform::memory_file::MemoryFile;
use shm::{Layout, Segment};

/// Parts begin at multiples of this, and no two are on one huge page.
const GRAIN: u64 = 2 << 20;
/// Places that are tried: what was written to, and not given back, a process has that does not keep to the rules.
const TRIES: usize = 64;

/// The room behind the segment.
pub(crate) fn room(file: &MemoryFile, layout: &Layout) -> Range<u64> {
    (layout.bytes() as u64).next_multiple_of(GRAIN)..file.bytes
}

/// Takes a free part of so many bytes, and allocates its pages.
///
/// # Errors
/// The system's: no memory. `Ok(None)`: the room does not have the part.
pub(crate) fn take(file: &MemoryFile, segment: &Segment, bytes: u64) -> io::Result<Option<Range<u64>>> {
    let room = room(file, segment.layout());
    let place = |taken: u64| {
        let start = room.start.checked_add(taken)?.checked_next_multiple_of(GRAIN)?;
        Some(start..start.checked_add(bytes)?).filter(|part| part.end <= room.end)
    };
    for _ in 0..TRIES {
        let after = |taken| Some(place(taken)?.end.checked_next_multiple_of(GRAIN)? - room.start);
        let taken = segment.taken().fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        let Some(part) = taken.ok().and_then(place) else { return Ok(None) };
        if file.is_hole(part.clone()) != Some(false) {
            return file.allocate_part(part.clone()).map(|()| Some(part));
        }
    }
    Ok(None)
}

/// Counts one more user of a part; `false`: the last one has left, and the part is no more.
pub(crate) fn join(users: &AtomicU64) -> bool {
    // Acquire: what the maker wrote is seen. Pairs with the Release in `leave`.
    let more = |count: u64| if count == 0 { None } else { count.checked_add(1) };
    users.fetch_update(Ordering::Acquire, Ordering::Relaxed, more).is_ok()
}

/// Counts one user less; whether it was the last.
pub(crate) fn leave(users: &AtomicU64) -> bool {
    users.fetch_sub(1, Ordering::AcqRel) == 1
}
