//! What the ranks of one node have put, in few bytes: the ranks of a node have the same addresses, so a value is
//! written as what it does not share with the one before it, at its front and at its end.
//!
//! ```text
//!   keys: count, then length and bytes of each
//!   entries, by key and place: key, place, bytes shared in front, bytes shared at the end, length, bytes
//! ```
//!
//! All numbers are of few bytes (`number`).

use std::collections::BTreeMap;

use super::number::{put, put_bytes, take, take_bytes};

/// Most keys of one node: a job has a handful.
const MOST_KEYS: usize = 256;

/// What the ranks of a node have put.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// By key, then by place.
    entries: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
}

impl Record {
    /// The rank at `place` of the node, counted from 0, has put `value` under `key`. `false`: there are too many keys.
    pub fn put(&mut self, place: u32, key: &str, value: &[u8]) -> bool {
        if self.entries.len() == MOST_KEYS && !self.entries.contains_key(key) {
            return false;
        }
        self.entries.entry(key.to_owned()).or_default().insert(place, value.to_vec());
        true
    }

    /// The bytes for the other nodes; none where nothing was put.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.entries.is_empty() {
            return out;
        }
        put(&mut out, self.entries.len() as u32);
        for key in self.entries.keys() {
            put_bytes(&mut out, key.as_bytes());
        }
        for (number, values) in self.entries.values().enumerate() {
            let mut before: &[u8] = &[];
            for (&place, value) in values {
                let most = value.len().min(before.len());
                let front = (0..most).take_while(|&at| value[at] == before[at]).count();
                let from_end = |bytes: &[u8], at: usize| bytes[bytes.len() - 1 - at];
                let end =
                    (0..most - front).take_while(|&at| from_end(value, at) == from_end(before, at)).count();
                let middle = &value[front..value.len() - end];
                for number in [number, place as usize, front, end] {
                    put(&mut out, number as u32);
                }
                put_bytes(&mut out, middle);
                before = value;
            }
        }
        out
    }
}

/// The value that the rank at `place` has put under `key`, by a node's `record`; `None`: none, or the bytes make no sense.
pub fn find(mut record: &[u8], place: u32, key: &str) -> Option<Vec<u8>> {
    let record = &mut record;
    let mut wanted = None;
    for number in 0..take(record)? {
        if take_bytes(record)? == key.as_bytes() {
            wanted = Some(number);
        }
    }
    let wanted = wanted?;
    let mut value: Vec<u8> = Vec::new();
    let mut key_before = None;
    while !record.is_empty() {
        let (number, at) = (take(record)?, take(record)?);
        let (front, end) = (take(record)? as usize, take(record)? as usize);
        let middle = take_bytes(record)?;
        if key_before.replace(number) != Some(number) {
            value.clear();
        }
        let kept = value.get(..front)?.len();
        let back = value.len().checked_sub(end).filter(|&back| back >= kept)?;
        let back = value.split_off(back);
        value.truncate(front);
        value.extend_from_slice(middle);
        value.extend_from_slice(&back);
        if number == wanted && at == place {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_ranks_share_is_written_once() {
        let mut record = Record::default();
        for place in 0..48u32 {
            let value = format!("{} 10.1.2.3 192.168.7.3 fd00:213::17", 40_000 + 7 * place);
            assert!(record.put(place, "alhena-tcp", value.as_bytes()));
        }
        let bytes = record.encode();
        assert!(bytes.len() < 48 * 10, "{} bytes", bytes.len());
        let found = find(&bytes, 47, "alhena-tcp").unwrap();
        assert_eq!(String::from_utf8(found).unwrap(), "40329 10.1.2.3 192.168.7.3 fd00:213::17");
        assert_eq!(find(&bytes, 48, "alhena-tcp"), None);
        assert_eq!(find(&bytes, 0, "alhena"), None);
        assert_eq!(Record::default().encode(), []);
    }

    proptest! {
        #[test]
        fn everything_is_found_again(puts in proptest::collection::vec((0u32..9, "[ab]{0,2}", proptest::collection::vec(0u8..3, 0..9)), 0..40)) {
            let mut record = Record::default();
            let mut known = BTreeMap::new();
            for (place, key, value) in puts {
                record.put(place, &key, &value);
                known.insert((place, key), value);
            }
            let bytes = record.encode();
            for ((place, key), value) in known {
                prop_assert_eq!(find(&bytes, place, &key), Some(value));
            }
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), place in 0u32..5) {
            let _ = find(&bytes, place, "");
        }

        #[test]
        fn no_changed_byte_panics(at in 0usize..200, byte in any::<u8>()) {
            let mut record = Record::default();
            for place in 0..9 {
                record.put(place, "key", format!("value {place} of some length").as_bytes());
            }
            let mut bytes = record.encode();
            let at = at % bytes.len();
            bytes[at] = byte;
            for place in 0..9 {
                let _ = find(&bytes, place, "key");
            }
        }
    }
}
