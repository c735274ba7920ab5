//! Writing a recording.

use crate::{CALL, COMM, MAGIC, NAME};

/// Bytes of a recording that have not been stored yet.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// The recording of `rank` in a job of `size`.
    pub fn new(rank: u32, size: u32) -> Writer {
        let mut writer = Writer { bytes: MAGIC.to_vec() };
        writer.number(rank.into());
        writer.number(size.into());
        writer
    }

    /// A function gets its number.
    pub fn name(&mut self, number: u64, name: &str) {
        self.number(NAME);
        self.number(number);
        self.number(name.len() as u64);
        self.bytes.extend_from_slice(name.as_bytes());
    }

    /// A communicator is there; its ranks are these of the world.
    pub fn comm(&mut self, handle: i64, ranks: &[u32]) {
        self.number(COMM);
        self.signed(handle);
        self.number(ranks.len() as u64);
        ranks.iter().for_each(|&rank| self.number(rank.into()));
    }

    /// A call; times in nanoseconds. `computed` is the thread's processor time within `gap`.
    pub fn call(&mut self, number: u64, gap: u64, computed: u64, duration: u64, values: &[i64]) {
        self.number(CALL + number);
        self.number(gap);
        self.number(computed);
        self.number(duration);
        self.number(values.len() as u64);
        values.iter().for_each(|&value| self.signed(value));
    }

    /// Bytes that are here.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes them, to be stored behind those taken before.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63) as u64);
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}
