//! All nodes' records, one behind the other, with an index in front. A look-up reads the index entry of a node and its
//! record, nothing else; so the table may be a file in memory that all processes of a node share.
//!
//! ```text
//!   0      4           8              4 (nodes + 2)
//!   nodes  end of the  end of the …   records
//!          1st record  2nd record
//! ```
//!
//! Ends are counted from the beginning of the records; all numbers have four bytes, little-endian.

/// Bytes of the table's head, which holds the number of nodes.
pub const HEAD: usize = 4;

/// The table of these records, by node.
pub fn build(records: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD + records.iter().map(|record| record.len() + 4).sum::<usize>());
    out.extend_from_slice(&(records.len() as u32).to_le_bytes());
    let mut end = 0u32;
    for record in records {
        end += record.len() as u32;
        out.extend_from_slice(&end.to_le_bytes());
    }
    records.iter().for_each(|record| out.extend_from_slice(record));
    out
}

/// A table behind whatever can be read at a position.
#[derive(Debug)]
pub struct WireupTable<R> {
    read: R,
    nodes: u32,
    /// Bytes of the whole table.
    length: u64,
}

impl<R: Fn(u64, &mut [u8]) -> bool> WireupTable<R> {
    /// A table of `length` bytes. `read` fills a buffer with the bytes from a position on, and returns whether it did.
    pub fn new(read: R, length: u64) -> Option<WireupTable<R>> {
        let mut head = [0; HEAD];
        if !read(0, &mut head) {
            return None;
        }
        Some(WireupTable { read, nodes: u32::from_le_bytes(head), length })
    }

    /// What the rank at `place` of `node` has put under `key`.
    pub fn get(&self, node: u32, place: u32, key: &str) -> Option<Vec<u8>> {
        if node >= self.nodes {
            return None;
        }
        let start = if node == 0 { 0 } else { self.end_of(node - 1)? };
        let size = self.end_of(node)?.checked_sub(start)?;
        let records = HEAD as u64 + 4 * u64::from(self.nodes);
        if records.checked_add(u64::from(start) + u64::from(size))? > self.length {
            return None;
        }
        let mut record = vec![0; size as usize];
        (self.read)(records + u64::from(start), &mut record).then_some(())?;
        super::find(&record, place, key)
    }

    fn end_of(&self, node: u32) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.read)(HEAD as u64 + 4 * u64::from(node), &mut bytes).then(|| u32::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Record;
    use super::*;
    use proptest::prelude::*;

    fn over(bytes: &[u8]) -> Option<WireupTable<impl Fn(u64, &mut [u8]) -> bool + '_>> {
        let read = |at: u64, into: &mut [u8]| {
            let Some(part) =
                usize::try_from(at).ok().and_then(|at| bytes.get(at..at.checked_add(into.len())?))
            else {
                return false;
            };
            into.copy_from_slice(part);
            true
        };
        WireupTable::new(read, bytes.len() as u64)
    }

    #[test]
    fn each_node_has_its_record() {
        let record = |text: &str| {
            let mut record = Record::default();
            record.put(1, "key", text.as_bytes());
            record.encode()
        };
        let bytes = build(&[record("a"), Vec::new(), record("ccc")]);
        let table = over(&bytes).unwrap();
        assert_eq!(table.get(0, 1, "key"), Some(b"a".to_vec()));
        assert_eq!(table.get(1, 1, "key"), None);
        assert_eq!(table.get(2, 1, "key"), Some(b"ccc".to_vec()));
        assert_eq!(table.get(2, 0, "key"), None);
        assert_eq!(table.get(3, 1, "key"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), small in any::<bool>(), node in 0u32..4) {
            let mut bytes = bytes;
            if small && bytes.len() > 3 {
                bytes[1..4].fill(0);
            }
            if let Some(table) = over(&bytes) {
                let _ = table.get(node, 0, "");
            }
        }
    }
}
