//! Reading a recording.

use crate::{CALL, COMM, MAGIC, NAME};
use core::fmt;

/// Something in a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry<'a> {
    /// A function has this number from here on.
    Name {
        /// Its number.
        number: u64,
        /// Its name.
        name: &'a str,
    },
    /// A communicator.
    Comm {
        /// Its handle.
        handle: i64,
        /// Its ranks, as ranks of the world.
        ranks: Vec<u32>,
    },
    /// A call.
    Call {
        /// Number of the function.
        number: u64,
        /// Nanoseconds since the last call ended.
        gap: u64,
        /// Nanoseconds of processor time meanwhile.
        computed: u64,
        /// Nanoseconds that it took.
        duration: u64,
        /// See the crate's documentation.
        values: Vec<i64>,
    },
}

/// The file is no recording, or ends or goes on in a way that none does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damaged {
    /// Where, in bytes from the start.
    pub at: usize,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} is not what a recording has there", self.at)
    }
}

impl std::error::Error for Damaged {}

/// Reads a recording, entry by entry.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    rank: u32,
    size: u32,
}

impl<'a> Reader<'a> {
    /// A reader of a file's bytes.
    ///
    /// # Errors
    /// [`Damaged`], if they do not begin as a recording.
    pub fn new(bytes: &'a [u8]) -> Result<Reader<'a>, Damaged> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Damaged { at: 0 });
        }
        let mut reader = Reader { bytes, at: MAGIC.len(), rank: 0, size: 0 };
        reader.rank = reader.small()?;
        reader.size = reader.small()?;
        if reader.rank < reader.size { Ok(reader) } else { Err(reader.damaged()) }
    }

    /// The rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Ranks of the job.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// [`Damaged`].
    #[allow(clippy::should_implement_trait, reason = "an iterator would hide that it can fail")]
    pub fn next(&mut self) -> Result<Option<Entry<'a>>, Damaged> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let entry = match self.number()? {
            NAME => {
                let (number, length) = (self.number()?, self.length()?);
                let bytes = &self.bytes[self.at..self.at + length];
                let name = str::from_utf8(bytes).map_err(|_| self.damaged())?;
                self.at += length;
                Entry::Name { number, name }
            }
            COMM => {
                let (handle, length) = (self.signed()?, self.length()?);
                let ranks = (0..length).map(|_| self.small()).collect::<Result<_, _>>()?;
                Entry::Comm { handle, ranks }
            }
            call => {
                let (gap, computed, duration) = (self.number()?, self.number()?, self.number()?);
                let length = self.length()?;
                let values = (0..length).map(|_| self.signed()).collect::<Result<_, _>>()?;
                Entry::Call { number: call - CALL, gap, computed, duration, values }
            }
        };
        Ok(Some(entry))
    }

    fn damaged(&self) -> Damaged {
        Damaged { at: self.at }
    }

    /// A length: no more than there are bytes left.
    fn length(&mut self) -> Result<usize, Damaged> {
        let length = self.number()?;
        let left = self.bytes.len() - self.at;
        usize::try_from(length).ok().filter(|&length| length <= left).ok_or(self.damaged())
    }

    fn small(&mut self) -> Result<u32, Damaged> {
        self.number()?.try_into().map_err(|_| self.damaged())
    }

    fn signed(&mut self) -> Result<i64, Damaged> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn number(&mut self) -> Result<u64, Damaged> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(self.damaged())?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damaged())
    }
}
