//! Conversion of single basic types between the native and the external32 representation.

use crate::basic::{Basic, Kind};
use abi::{Error, Result};

/// How one type is converted; both directions follow from it.
#[derive(Clone, Copy)]
enum Codec {
    /// Bytes that stay as they are.
    Copy,
    /// Units of this many bytes, reversed.
    Swap(u64),
    /// Eight-byte signed integers, four bytes outside.
    NarrowSigned,
    /// Eight-byte unsigned integers, four bytes outside.
    NarrowUnsigned,
    /// Four-byte code points, two bytes outside.
    NarrowWide,
    /// x87 extended precision, IEEE binary128 outside.
    Extended,
}

fn codec(basic: Basic) -> Codec {
    let (size, external) = (basic.size(), basic.external_size());
    match basic.kind() {
        Kind::Bytes | Kind::Character => Codec::Copy,
        Kind::Extended | Kind::ExtendedComplex => Codec::Extended,
        Kind::Wide => Codec::NarrowWide,
        Kind::Signed if external < size => Codec::NarrowSigned,
        Kind::Unsigned if external < size => Codec::NarrowUnsigned,
        Kind::Complex => Codec::Swap(size / 2),
        Kind::Signed | Kind::Unsigned | Kind::Float | Kind::Logical => Codec::Swap(size),
    }
}

/// Converts whole elements of one type to external32. Errors: `MPI_ERR_CONVERSION` if a value does not fit.
pub(crate) fn encode(basic: Basic, native: &[u8], external: &mut [u8]) -> Result<()> {
    match codec(basic) {
        Codec::Copy => external.copy_from_slice(native),
        Codec::Swap(unit) => swap(unit, native, external),
        Codec::NarrowSigned => {
            return each(native, external, |v| {
                let value = i32::try_from(i64::from_ne_bytes(v)).map_err(|_| TOO_LARGE)?;
                Ok(value.to_be_bytes())
            });
        }
        Codec::NarrowUnsigned => {
            return each(native, external, |v| {
                let value = u32::try_from(u64::from_ne_bytes(v)).map_err(|_| TOO_LARGE)?;
                Ok(value.to_be_bytes())
            });
        }
        Codec::NarrowWide => {
            return each(native, external, |v| {
                let value = u16::try_from(u32::from_ne_bytes(v)).map_err(|_| TOO_LARGE)?;
                Ok(value.to_be_bytes())
            });
        }
        Codec::Extended => return each(native, external, |v| Ok(quad_of_extended(v).to_be_bytes())),
    }
    Ok(())
}

/// Converts whole elements of one type from external32.
pub(crate) fn decode(basic: Basic, external: &[u8], native: &mut [u8]) {
    let widened = match codec(basic) {
        Codec::Copy => {
            native.copy_from_slice(external);
            Ok(())
        }
        Codec::Swap(unit) => {
            swap(unit, external, native);
            Ok(())
        }
        Codec::NarrowSigned => each(external, native, |v| Ok(i64::from(i32::from_be_bytes(v)).to_ne_bytes())),
        Codec::NarrowUnsigned => {
            each(external, native, |v| Ok(u64::from(u32::from_be_bytes(v)).to_ne_bytes()))
        }
        Codec::NarrowWide => each(external, native, |v| Ok(u32::from(u16::from_be_bytes(v)).to_ne_bytes())),
        Codec::Extended => each(external, native, |v| Ok(extended_of_quad(u128::from_be_bytes(v)))),
    };
    debug_assert_eq!(widened, Ok(()), "widening cannot fail");
}

/// Converts units of `A` bytes to units of `B`.
fn each<const A: usize, const B: usize>(
    from: &[u8],
    to: &mut [u8],
    one: impl Fn([u8; A]) -> Result<[u8; B]>,
) -> Result<()> {
    let (from, to) = (from.as_chunks::<A>().0, to.as_chunks_mut::<B>().0);
    for (from, to) in from.iter().zip(to) {
        *to = one(*from)?;
    }
    Ok(())
}

/// Reverses the bytes of each unit; native order is little-endian or the copy is exact.
fn swap(unit: u64, from: &[u8], to: &mut [u8]) {
    match unit {
        2 => swapped(from, to, |v| u16::from_ne_bytes(v).to_be_bytes()),
        4 => swapped(from, to, |v| u32::from_ne_bytes(v).to_be_bytes()),
        8 => swapped(from, to, |v| u64::from_ne_bytes(v).to_be_bytes()),
        16 => swapped(from, to, |v| u128::from_ne_bytes(v).to_be_bytes()),
        _ => to.copy_from_slice(from),
    }
}

fn swapped<const N: usize>(from: &[u8], to: &mut [u8], one: impl Fn([u8; N]) -> [u8; N]) {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    from.iter().zip(to).for_each(|(from, to)| *to = one(*from));
}

/// Fraction bits that binary128 has more than x87 extended precision (whose leading one is explicit).
const EXTRA: u32 = 112 - 63;
const EXPONENT: u16 = 0x7fff;
const LEADING: u64 = 1 << 63;
const QUIET: u64 = 1 << 62;

/// x87 extended precision (64-bit significand with explicit leading one) as binary128: exact.
///
/// ```text
///   x87        sign 1 | exponent 15 | 1 | fraction 63
///   binary128  sign 1 | exponent 15 |     fraction 112
/// ```
fn quad_of_extended(native: [u8; 16]) -> u128 {
    let bits = u128::from_le_bytes(native);
    let significand = bits as u64;
    let head = (bits >> 64) as u16;
    let (sign, exponent) = (head & !EXPONENT, head & EXPONENT);
    let (exponent, fraction) = match exponent {
        // A denormal with the leading one set has the same value with exponent 1.
        0 => (u16::from(significand >= LEADING), significand & !LEADING),
        EXPONENT => (EXPONENT, significand & !LEADING),
        // Without the leading one the processor takes it for an invalid operand.
        _ if significand < LEADING => (EXPONENT, QUIET),
        _ => (exponent, significand & !LEADING),
    };
    u128::from(sign | exponent) << 112 | u128::from(fraction) << EXTRA
}

/// Binary128 as x87 extended precision, rounded to nearest, ties to even.
fn extended_of_quad(quad: u128) -> [u8; 16] {
    let head = (quad >> 112) as u16;
    let (sign, exponent) = (head & !EXPONENT, head & EXPONENT);
    let fraction = quad & ((1 << 112) - 1);
    let kept = (fraction >> EXTRA) as u64;
    let (exponent, significand) = if exponent == EXPONENT {
        let nan = if fraction == 0 { 0 } else { kept | QUIET };
        (exponent, LEADING | nan)
    } else {
        let lost = fraction & ((1 << EXTRA) - 1);
        let half = 1 << (EXTRA - 1);
        let up = lost > half || (lost == half && kept & 1 == 1);
        let leading = if exponent == 0 { 0 } else { LEADING };
        match (leading | kept).overflowing_add(u64::from(up)) {
            (_, true) => (exponent + 1, LEADING),
            (rounded, _) if exponent == 0 && rounded >= LEADING => (1, rounded),
            (rounded, _) => (exponent, rounded),
        }
    };
    (u128::from(sign | exponent) << 64 | u128::from(significand)).to_le_bytes()
}

const TOO_LARGE: Error = Error::new(abi::ERR_CONVERSION, "a value does not fit its external32 type");
