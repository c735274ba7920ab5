//! Classes of frames: the owner of an arrival.
//!
//! ```text
//!   byte 0 of a frame's first header word, and the highest byte of a cookie
//!     7   5 4      0
//!   ┌──────┬────────┐
//!   │class │ kind   │     the kind belongs to the class alone
//!   └──────┴────────┘
//! ```
//! One process polls its transports at one place ([`poll`](crate::poll)). What arrives there belongs to a message
//! layer, to windows, to files, to the making of connections. The class names which, so a message layer needs to know
//! nothing of the others, and they work under every message layer. Ends of gets and puts show their class in the same
//! way. Bytes of class 6 are those of transports over transports, which keep such frames to themselves (`copies`).

use core::fmt;

use crate::{Arrival, Peer};
use mem::PeerBytes;

/// The owner of a frame, or of the end of a get or put.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// The message layer. There is one in a process.
    Pml = 0,
    /// One-sided communication: windows.
    Osc = 1,
    /// Files of MPI-IO.
    Io = 2,
    /// Connections between jobs.
    Connect = 3,
    /// Goodbyes ([`Farewells`](crate::Farewells)).
    Farewell = 4,
    /// Failures of processes: revoked communicators, agreements.
    Failure = 5,
    /// Tests of transports.
    Test = 7,
}

/// Bits of the kind.
const KIND_BITS: u32 = 5;

impl Class {
    /// Kinds that a class has.
    pub const KINDS: u8 = 1 << KIND_BITS;

    /// The first byte of this class's frames of kind `kind`, which is below [`Class::KINDS`].
    pub const fn byte(self, kind: u8) -> u8 {
        assert!(kind < Class::KINDS, "a class has 32 kinds");
        (self as u8) << KIND_BITS | kind
    }

    /// The class that a first byte names, if there is one.
    #[inline(always)]
    pub const fn of_byte(byte: u8) -> Option<Class> {
        match byte >> KIND_BITS {
            0 => Some(Class::Pml),
            1 => Some(Class::Osc),
            2 => Some(Class::Io),
            3 => Some(Class::Connect),
            4 => Some(Class::Farewell),
            5 => Some(Class::Failure),
            7 => Some(Class::Test),
            _ => None,
        }
    }

    /// As many as a byte can name.
    pub const COUNT: usize = 1 << (u8::BITS - KIND_BITS);

    /// The class of a frame with this header; `None` also for a frame without a header.
    #[inline(always)]
    pub fn of(header: PeerBytes<'_>) -> Option<Class> {
        Class::of_byte(first_byte(header)?)
    }

    /// The cookie that is `cookie` to this class, of which the highest 8 bits are not used.
    #[inline(always)]
    pub const fn cookie(self, cookie: u64) -> u64 {
        (self.byte(0) as u64) << COOKIE | cookie & ((1 << COOKIE) - 1)
    }

    /// What a cookie of this class is to it.
    #[inline(always)]
    pub const fn own(self, cookie: u64) -> u64 {
        cookie & ((1 << COOKIE) - 1)
    }

    /// The class that a cookie names.
    #[inline(always)]
    pub const fn of_cookie(cookie: u64) -> Option<Class> {
        Class::of_byte((cookie >> COOKIE) as u8)
    }
}

/// Bits of a cookie that are its class's own.
const COOKIE: u32 = 56;

#[inline(always)]
fn first_byte(header: PeerBytes<'_>) -> Option<u8> {
    if header.len() < 8 { None } else { Some(header.word(0) as u8) }
}

/// Counts frames without a handler, for the owner that polls: it drops none without a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strays {
    count: u64,
    /// A bit for each first byte that was reported.
    reported: [u64; 4],
    reported_empty: bool,
}

/// A frame without a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unclaimed {
    /// Its sender.
    pub peer: Peer,
    /// Its first byte; `None`: it has no header.
    pub byte: Option<u8>,
}

impl Strays {
    /// Counts `arrival`. Returns it for a report if it is the first with such a first byte.
    #[cold]
    pub fn count(&mut self, arrival: &Arrival) -> Option<Unclaimed> {
        self.count += 1;
        let stray = Unclaimed { peer: arrival.peer, byte: first_byte(arrival.header) };
        let known = match stray.byte {
            None => core::mem::replace(&mut self.reported_empty, true),
            Some(byte) => {
                let (word, bit) = (&mut self.reported[byte as usize / 64], 1 << (byte % 64));
                let known = *word & bit != 0;
                *word |= bit;
                known
            }
        };
        (!known).then_some(stray)
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.count
    }
}

impl fmt::Display for Unclaimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "taking a frame from rank {} failed\nits ", self.peer.0)?;
        match self.byte {
            Some(byte) => {
                write!(f, "first byte is {byte:#04x}, and nothing in this process takes such frames")?
            }
            None => f.write_str("header is empty")?,
        }
        f.write_str("; it was dropped\nstart all ranks with the same version of the library")
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Strays};
    use crate::{Arrival, Peer};
    use mem::PeerBytes;

    const CLASSES: [Class; 7] =
        [Class::Pml, Class::Osc, Class::Io, Class::Connect, Class::Farewell, Class::Failure, Class::Test];

    #[test]
    fn bytes_and_cookies_name_their_class() {
        for class in CLASSES {
            for kind in 0..Class::KINDS {
                assert_eq!(Class::of_byte(class.byte(kind)), Some(class));
            }
            assert_eq!(Class::of_cookie(class.cookie(u64::MAX)), Some(class));
            assert_eq!(class.own(class.cookie(77)), 77);
        }
        let known = (0..=u8::MAX).filter(|&byte| Class::of_byte(byte).is_some()).count();
        assert_eq!(known, CLASSES.len() * Class::KINDS as usize);
    }

    #[test]
    fn strays_are_counted_and_reported_once_per_first_byte() {
        let mut strays = Strays::default();
        let headers: [&'static [u8]; 3] = [&[0xc0, 1, 2, 3, 4, 5, 6, 7], &[0xdf; 16], &[]];
        for round in 0..3 {
            for header in headers {
                let header = PeerBytes::of(header);
                let arrival = Arrival { peer: Peer(4), header, payload: PeerBytes::of(&[]), token: 0 };
                assert_eq!(Class::of(header), None);
                let stray = strays.count(&arrival);
                assert_eq!(stray.is_some(), round == 0);
                assert!(stray.is_none_or(|stray| stray.to_string().lines().count() == 3));
            }
        }
        assert_eq!(strays.total(), 9);
    }
}
