//! Memory in several runs, on either side of a direct copy.
//!
//! The owner writes a table of its runs into memory of its own and names the table instead of the memory; a process
//! that wants the bytes reads the table first. So a copy between two buffers full of holes still moves every byte once:
//!
//! ```text
//!   exposed runs      |aaaa|   |bb|      |cccccc|          table: 3, (at, 4), (at, 2), (at, 6)
//!                       process_vm_readv, any number of runs on both sides
//!   local runs        |....|....|....|                     a chunk may begin and end within runs
//! ```

use btl::Refusal;
use mem::UserMem;
use platform::cma::{self, Piece};

/// All runs together are shorter than this.
const TOO_LONG: u64 = 1 << 63;
/// Most runs of one buffer; beyond, packing is as good.
pub const MOST_RUNS: usize = 1 << 16;

/// Runs of memory, ours or a peer's, in the order of the message.
#[derive(Debug)]
pub struct Runs {
    /// Address of each run.
    starts: Vec<u64>,
    /// Where each run ends, in bytes from the beginning of the message.
    ends: Vec<u64>,
}

impl Runs {
    /// The runs of a buffer of ours.
    pub fn of(buffer: &[UserMem]) -> Runs {
        Runs::collect(buffer.iter().map(|run| (run.address() as u64, run.len() as u64)))
            .expect("a buffer is shorter than 2^63 bytes")
    }

    /// One run of `len` bytes.
    pub fn one(address: u64, len: u64) -> Runs {
        Runs { starts: vec![address], ends: vec![len] }
    }

    fn collect(runs: impl Iterator<Item = (u64, u64)>) -> Option<Runs> {
        let (mut starts, mut ends, mut end) = (Vec::new(), Vec::new(), 0u64);
        for (start, len) in runs {
            end = end.checked_add(len).filter(|&end| end < TOO_LONG)?;
            starts.push(start);
            ends.push(end);
        }
        Some(Runs { starts, ends })
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The table that a peer reads by [`Node::fetch_runs`](crate::Node::fetch_runs). It must stay where it is as long
    /// as a key names it.
    pub fn table(&self) -> Box<[u64]> {
        let runs = (0..self.starts.len()).flat_map(|i| [self.starts[i], self.ends[i] - self.begin(i)]);
        std::iter::once(self.starts.len() as u64).chain(runs).collect()
    }

    /// Reads the table at `address` of process `pid`.
    ///
    /// # Errors
    /// [`Refusal::Unfit`] when it cannot be read or is no table.
    pub(crate) fn fetch(pid: i32, address: u64) -> Result<Runs, Refusal> {
        let mut count = [0u64];
        read_words(pid, address, &mut count)?;
        let count = usize::try_from(count[0]).ok().filter(|count| (1..=MOST_RUNS).contains(count));
        let mut words = vec![0u64; 2 * count.ok_or(Refusal::Unfit)?];
        read_words(pid, address.wrapping_add(8), &mut words)?;
        Runs::collect(words.chunks(2).map(|run| (run[0], run[1]))).ok_or(Refusal::Unfit)
    }

    /// Where run `i` begins, in bytes from the beginning of the message.
    fn begin(&self, i: usize) -> u64 {
        if i == 0 { 0 } else { self.ends[i - 1] }
    }

    /// The pieces of `start..start + len`, as far as there are runs.
    fn pieces(&self, start: u64, len: u64) -> impl Iterator<Item = Piece> + '_ {
        let end = start.saturating_add(len).min(self.len());
        let first = self.ends.partition_point(|&end| end <= start);
        let touched = (first..self.starts.len()).take_while(move |&i| self.begin(i) < end);
        touched.map(move |i| {
            let begin = self.begin(i);
            let from = start.max(begin);
            Piece::new(self.starts[i].wrapping_add(from - begin), self.ends[i].min(end) - from)
        })
    }
}

fn read_words(pid: i32, address: u64, into: &mut [u64]) -> Result<(), Refusal> {
    // SAFETY: the words are ours and writable.
    let read = unsafe { cma::read(pid, address, into.as_mut_ptr().cast(), size_of_val(into)) };
    read.map_err(|_| Refusal::Unfit)
}

/// Which way a copy goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyDirection {
    /// From the peer's memory to ours.
    Pull,
    /// From ours to the peer's.
    Push,
}

/// Copies `len` bytes from `at` of the one to `other_at` of the other.
///
/// # Safety
/// The runs of `ours` must be memory of this process that may be read, and written to pull.
///
/// # Errors
/// As `cma::read`.
pub(crate) unsafe fn copy(
    pid: i32,
    way: CopyDirection,
    (ours, at): (&Runs, u64),
    (theirs, other_at): (&Runs, u64),
    len: u64,
) -> Result<(), cma::Failure> {
    let local: Vec<Piece> = ours.pieces(at, len).collect();
    let remote: Vec<Piece> = theirs.pieces(other_at, len).collect();
    // SAFETY: the caller's promise, for pieces that lie within the runs.
    unsafe {
        match way {
            CopyDirection::Pull => cma::read_pieces(pid, &remote, &local),
            CopyDirection::Push => cma::write_pieces(pid, &remote, &local),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Runs {
        Runs::collect([(1000, 4), (2000, 2), (3000, 6)].into_iter()).unwrap()
    }

    fn cut(start: u64, len: u64) -> Vec<(u64, u64)> {
        runs().pieces(start, len).map(|piece| (piece.address(), piece.len())).collect()
    }

    #[test]
    fn chunks_cut_runs() {
        assert_eq!(cut(0, 12), [(1000, 4), (2000, 2), (3000, 6)]);
        assert_eq!(cut(1, 2), [(1001, 2)]);
        assert_eq!(cut(3, 4), [(1003, 1), (2000, 2), (3000, 1)]);
        assert_eq!(cut(4, 2), [(2000, 2)]);
        assert_eq!(cut(11, 5), [(3005, 1)]);
    }

    #[test]
    fn a_table_reads_back() {
        let table = runs().table();
        assert_eq!(&*table, [3, 1000, 4, 2000, 2, 3000, 6]);
        let pid = std::process::id() as i32;
        let Ok(read) = Runs::fetch(pid, table.as_ptr() as u64) else { return };
        assert_eq!((read.starts, read.ends), (runs().starts, runs().ends));
        let wrong = [u64::MAX, 0, 0];
        assert!(Runs::fetch(pid, wrong.as_ptr() as u64).is_err(), "a count that cannot be");
        let endless = [1, 0, u64::MAX];
        assert!(Runs::fetch(pid, endless.as_ptr() as u64).is_err(), "a length that cannot be");
    }

    #[test]
    fn holes_on_both_sides_are_kept() {
        let pid = std::process::id() as i32;
        let from: Vec<u8> = (0..100).collect();
        let mut to = [255u8; 100];
        let (base, into) = (from.as_ptr() as u64, to.as_mut_ptr() as u64);
        let theirs = Runs::collect([(base, 10), (base + 20, 10)].into_iter()).unwrap();
        let ours = Runs::collect([(into + 5, 3), (into + 50, 17)].into_iter()).unwrap();
        // SAFETY: both arrays are ours, and longer than what the runs name.
        let copied = unsafe { copy(pid, CopyDirection::Pull, (&ours, 0), (&theirs, 0), 20) };
        if copied.is_err() {
            return;
        }
        assert_eq!(to[5..8], from[0..3]);
        assert_eq!(to[50..57], from[3..10]);
        assert_eq!(to[57..67], from[20..30]);
        assert!(to[..5].iter().chain(&to[8..50]).chain(&to[67..]).all(|&byte| byte == 255));
    }
}
