//! Values as bytes, for what mpiexec and its daemons send each other. Numbers are little-endian, lengths are 32 bits,
//! and whatever does not fit is `None`: a reader of another process's bytes trusts none of them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use hardware::{CpuSet, Unit};

/// A value that can be sent to another process.
pub trait Wire: Sized {
    /// Appends the value.
    fn put(&self, to: &mut Vec<u8>);
    /// Takes a value off the front.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

/// A value as bytes.
pub fn encode(value: &impl Wire) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.put(&mut bytes);
    bytes
}

/// The value that all of `bytes` are.
pub fn decode<T: Wire>(mut bytes: &[u8]) -> Option<T> {
    let value = T::take(&mut bytes)?;
    bytes.is_empty().then_some(value)
}

/// Structs, field by field.
#[macro_export]
macro_rules! wire_struct {
    ($($name:ty { $($field:ident),* $(,)? })*) => {$(
        impl $crate::wire::Wire for $name {
            fn put(&self, to: &mut Vec<u8>) {
                $($crate::wire::Wire::put(&self.$field, to);)*
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                $(let $field = $crate::wire::Wire::take(from)?;)*
                Some(Self { $($field),* })
            }
        }
    )*};
}

/// Enums, with a number for each variant.
#[macro_export]
macro_rules! wire_enum {
    ($name:ty { $($number:literal $variant:ident $(($($field:ident),*))? $({ $($named:ident),* })?,)* }) => {
        impl $crate::wire::Wire for $name {
            fn put(&self, to: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($field),*))? $({ $($named),* })? => {
                        to.push($number);
                        $($($crate::wire::Wire::put($field, to);)*)?
                        $($($crate::wire::Wire::put($named, to);)*)?
                    })*
                }
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                match <u8 as $crate::wire::Wire>::take(from)? {
                    $($number => {
                        $($(let $field = $crate::wire::Wire::take(from)?;)*)?
                        $($(let $named = $crate::wire::Wire::take(from)?;)*)?
                        Some(Self::$variant $(($($field),*))? $({ $($named),* })?)
                    })*
                    _ => None,
                }
            }
        }
    };
}

pub use {wire_enum, wire_struct};

macro_rules! wire_number {
    ($($name:ty)*) => {$(
        impl Wire for $name {
            fn put(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )*};
}

wire_number! { u8 u16 u32 u64 i32 }

impl Wire for usize {
    fn put(&self, to: &mut Vec<u8>) {
        (*self as u64).put(to);
    }
    fn take(from: &mut &[u8]) -> Option<usize> {
        u64::take(from)?.try_into().ok()
    }
}

impl Wire for Duration {
    fn put(&self, to: &mut Vec<u8>) {
        (self.as_millis() as u64).put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Duration> {
        u64::take(from).map(Duration::from_millis)
    }
}

impl Wire for bool {
    fn put(&self, to: &mut Vec<u8>) {
        to.push((*self).into());
    }
    fn take(from: &mut &[u8]) -> Option<bool> {
        match u8::take(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// Text of the system, which need not be UTF-8.
macro_rules! wire_bytes {
    ($($name:ty, $value:ident => $bytes:expr, $taken:ident => $made:expr;)*) => {$(
        impl Wire for $name {
            fn put(&self, to: &mut Vec<u8>) {
                let $value = self;
                let bytes: &[u8] = $bytes;
                (bytes.len() as u32).put(to);
                to.extend_from_slice(bytes);
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                let length = u32::take(from)? as usize;
                let (bytes, rest) = from.split_at_checked(length)?;
                *from = rest;
                let $taken = bytes.to_vec();
                $made
            }
        }
    )*};
}

wire_bytes! {
    String, text => text.as_bytes(), bytes => String::from_utf8(bytes).ok();
    OsString, text => text.as_bytes(), bytes => Some(OsString::from_vec(bytes));
    PathBuf, path => path.as_os_str().as_bytes(), bytes => Some(PathBuf::from(OsString::from_vec(bytes)));
}

/// Bytes as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

wire_bytes! { Bytes, bytes => &bytes.0, bytes => Some(Bytes(bytes)); }

impl<T: Wire> Wire for Box<T> {
    fn put(&self, to: &mut Vec<u8>) {
        (**self).put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Box<T>> {
        T::take(from).map(Box::new)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }
    fn take(from: &mut &[u8]) -> Option<Option<T>> {
        Some(if bool::take(from)? { Some(T::take(from)?) } else { None })
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u32).put(to);
        self.iter().for_each(|value| value.put(to));
    }
    fn take(from: &mut &[u8]) -> Option<Vec<T>> {
        let length = u32::take(from)? as usize;
        // A length that lies costs no memory: each value takes a byte at least.
        let mut values = Vec::with_capacity(length.min(from.len()));
        for _ in 0..length {
            values.push(T::take(from)?);
        }
        Some(values)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }
    fn take(from: &mut &[u8]) -> Option<(A, B)> {
        Some((A::take(from)?, B::take(from)?))
    }
}

impl Wire for CpuSet {
    fn put(&self, to: &mut Vec<u8>) {
        self.to_string().put(to);
    }
    fn take(from: &mut &[u8]) -> Option<CpuSet> {
        CpuSet::parse(&String::take(from)?)
    }
}

impl Wire for Unit {
    fn put(&self, to: &mut Vec<u8>) {
        self.name().to_owned().put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Unit> {
        Unit::parse(&String::take(from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_that_lie_are_refused() {
        assert_eq!(decode::<Vec<u64>>(&[255, 255, 255, 255, 1]), None);
        assert_eq!(decode::<String>(&[2, 0, 0, 0, b'a']), None);
        assert_eq!(decode::<String>(&[1, 0, 0, 0, b'a', b'b']), None);
        assert_eq!(decode::<bool>(&[2]), None);
    }

    proptest! {
        #[test]
        fn values_are_read_as_they_were_written(
            text in ".*", pairs in any::<Vec<(u32, Option<String>)>>(), flag in any::<bool>(),
        ) {
            prop_assert_eq!(decode(&encode(&text)), Some(text));
            prop_assert_eq!(decode(&encode(&pairs)), Some(pairs));
            prop_assert_eq!(decode(&encode(&flag)), Some(flag));
        }
    }
}
