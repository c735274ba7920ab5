//! Recordings: what one rank called, with the time that it computed in between.
//!
//! ```text
//!   file      "ALHREC01"  rank  size  entry …
//!   entry     0  number  length  name             a function, before its first call
//!             1  handle  length  world rank …     a communicator, when it is made
//!             2 + number  gap  computed  duration  length  value …
//!                                                 a call: nanoseconds since the last one ended, processor time meanwhile,
//!                                                 nanoseconds it took
//! ```
//!
//! All numbers are LEB128; values are signed (zigzag). A call's values follow from its function: first the arguments
//! that are numbers or handles of communicators, in their order (a datatype stands as its size in bytes, a request that
//! goes in as its handle, an array as its length and elements), then what it gave back in the same way. Buffers, statuses
//! and text are left out.
#![forbid(unsafe_code)]

mod reader;
mod writer;

pub use reader::{Damaged, Entry, Reader};
pub use writer::Writer;

/// The first bytes of a file.
pub const MAGIC: [u8; 8] = *b"ALHREC01";
/// Kinds of entries; calls are the numbers from [`CALL`] on.
const NAME: u64 = 0;
const COMM: u64 = 1;
const CALL: u64 = 2;

/// Name of a rank's file in a recording's folder.
pub fn file_name(rank: u32) -> String {
    format!("rank.{rank}.rec")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::new(3, 8);
        writer.name(5, "MPI_Send");
        writer.comm(-7, &[1, 3]);
        writer.call(5, 1_000_000_007, 999, 12, &[0, -1, i64::MIN, i64::MAX]);
        let bytes = writer.take();
        let mut reader = Reader::new(&bytes).expect("a recording");
        assert_eq!((reader.rank(), reader.size()), (3, 8));
        assert_eq!(reader.next(), Ok(Some(Entry::Name { number: 5, name: "MPI_Send" })));
        assert_eq!(reader.next(), Ok(Some(Entry::Comm { handle: -7, ranks: vec![1, 3] })));
        let values = vec![0, -1, i64::MIN, i64::MAX];
        assert_eq!(
            reader.next(),
            Ok(Some(Entry::Call { number: 5, gap: 1_000_000_007, computed: 999, duration: 12, values }))
        );
        assert_eq!(reader.next(), Ok(None));
    }

    #[test]
    fn a_file_that_ends_early_says_so() {
        let mut writer = Writer::new(0, 1);
        writer.call(9, 1, 1, 1, &[4, 5, 6]);
        let bytes = writer.take();
        for length in 0..bytes.len() {
            let read = Reader::new(&bytes[..length]).and_then(|mut reader| reader.next());
            assert!(matches!(read, Err(_) | Ok(None)), "{length}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_the_reader_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let whole = [&MAGIC[..], &bytes].concat();
            if let Ok(mut reader) = Reader::new(&whole) {
                while let Ok(Some(_)) = reader.next() {}
            }
        }
    }
}
