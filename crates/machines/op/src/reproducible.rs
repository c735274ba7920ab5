//! Sums that depend only on the multiset of their terms.
//!
//! A [`Sum`] is a fixed-point number wide enough for every finite value of its format and 2^64 terms
//! (Kulisch's long accumulator), so adding a term and merging two sums are exact, associative and
//! commutative; rounding happens once, at the end. Infinities and NaNs are remembered beside it. A
//! reduction sends sums instead of numbers: [`begin`] turns elements into sums, [`merge`] is the operation,
//! [`finish`] rounds.
//!
//! ```text
//!   ┌───────────────────────────────────────────────┬───────────┐
//!   │ N words of two's complement, low words first  │ flags     │   8·(N+1) bytes in all
//!   └───────────────────────────────────────────────┴───────────┘
//!   bit 0 is worth the format's smallest number: 2^-1074 (f64, N = 34), 2^-149 (f32, N = 6)
//! ```

use abi::{Datatype, Error, Result};
use core::marker::PhantomData;

use crate::kernel::Kernel;

/// A floating-point format that can be summed exactly.
pub trait Format: Copy + Sealed {
    /// Bits of the significand, the leading one included.
    const PRECISION: u32;
    /// Words of the accumulator.
    const WORDS: usize;
    /// Sign, significand and the accumulator bit of its last place; `Err` for infinities and NaNs.
    fn split(self) -> core::result::Result<(bool, u64, u32), Special>;
    /// The number with that sign, a significand below 2^PRECISION, and that position of its last place;
    /// infinite if too large.
    fn join(negative: bool, significand: u64, position: u32) -> Self;
    /// A special value.
    fn special(special: Special) -> Self;
}

/// What has no place in an accumulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// +∞
    Infinity,
    /// -∞
    NegativeInfinity,
    /// Not a number.
    Nan,
}

mod sealed {
    /// Only the two formats below are supported.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
use sealed::Sealed;

macro_rules! exact_format {
    ($t:ty, $precision:literal, $words:literal, $exponent_max:literal) => {
        impl Format for $t {
            const PRECISION: u32 = $precision;
            const WORDS: usize = $words;

            fn split(self) -> core::result::Result<(bool, u64, u32), Special> {
                let bits = self.to_bits();
                let fraction = u64::from(bits & ((1 << ($precision - 1)) - 1));
                let exponent = (bits >> ($precision - 1)) as u32 & $exponent_max;
                match exponent {
                    $exponent_max if fraction != 0 => Err(Special::Nan),
                    $exponent_max if self < 0.0 => Err(Special::NegativeInfinity),
                    $exponent_max => Err(Special::Infinity),
                    0 => Ok((self.is_sign_negative(), fraction, 0)),
                    _ => Ok((self.is_sign_negative(), fraction | 1 << ($precision - 1), exponent - 1)),
                }
            }

            fn join(negative: bool, significand: u64, position: u32) -> $t {
                // The leading bit adds one to the exponent field.
                let field = if significand >> ($precision - 1) == 0 { 0 } else { position };
                let value = if field >= $exponent_max - 1 {
                    <$t>::INFINITY
                } else {
                    <$t>::from_bits(((field as u64) << ($precision - 1)).wrapping_add(significand) as _)
                };
                if negative { -value } else { value }
            }

            fn special(special: Special) -> $t {
                match special {
                    Special::Infinity => <$t>::INFINITY,
                    Special::NegativeInfinity => <$t>::NEG_INFINITY,
                    Special::Nan => <$t>::NAN,
                }
            }
        }
    };
}

// Highest bit of a term + 64 bits of carries + sign: 2098 + 65 → 34 words; 276 + 65 → 6 words.
exact_format!(f64, 53, 34, 0x7FF);
exact_format!(f32, 24, 6, 0xFF);

const SEEN_INFINITY: u64 = 1;
const SEEN_NEGATIVE_INFINITY: u64 = 2;
const SEEN_NAN: u64 = 4;
/// A term other than -0 was added: an empty or all-negative-zero sum is -0, the neutral element.
const SEEN_OTHER: u64 = 8;

/// An exact sum of numbers of format `T`, over `T::WORDS` words and one of flags that lie in memory given
/// by the caller, so that a vector of sums is sent as it is. The words of a new sum are all zero.
pub struct Sum<'a, T> {
    words: &'a mut [u64],
    format: PhantomData<T>,
}

impl<'a, T: Format> Sum<'a, T> {
    /// Words of a sum, the flags included.
    pub const LEN: usize = T::WORDS + 1;

    /// The sum held by `words`; `None` unless there are [`Sum::LEN`] of them.
    pub fn new(words: &'a mut [u64]) -> Option<Sum<'a, T>> {
        (words.len() == Self::LEN).then_some(Sum { words, format: PhantomData })
    }

    /// Adds a number, exactly.
    pub fn add(&mut self, term: T) {
        let (negative, significand, position) = match term.split() {
            Ok(parts) => parts,
            Err(special) => {
                self.words[T::WORDS] |= SEEN_OTHER
                    | match special {
                        Special::Infinity => SEEN_INFINITY,
                        Special::NegativeInfinity => SEEN_NEGATIVE_INFINITY,
                        Special::Nan => SEEN_NAN,
                    };
                return;
            }
        };
        if significand != 0 || !negative {
            self.words[T::WORDS] |= SEEN_OTHER;
        }
        let (at, shift) = (position as usize / 64, position % 64);
        let (low, high) = (significand << shift, (u128::from(significand) << shift >> 64) as u64);
        if negative { self.subtract_at(at, low, high) } else { self.add_at(at, low, high) }
    }

    fn add_at(&mut self, at: usize, low: u64, high: u64) {
        let (sum, carry) = self.words[at].overflowing_add(low);
        self.words[at] = sum;
        // `high` has at most 52 bits, so adding the carry to it cannot overflow.
        let mut rest = high + u64::from(carry);
        for word in &mut self.words[at + 1..T::WORDS] {
            if rest == 0 {
                break;
            }
            let (sum, carry) = word.overflowing_add(rest);
            (*word, rest) = (sum, u64::from(carry));
        }
    }

    fn subtract_at(&mut self, at: usize, low: u64, high: u64) {
        let (difference, borrow) = self.words[at].overflowing_sub(low);
        self.words[at] = difference;
        let mut rest = high + u64::from(borrow);
        for word in &mut self.words[at + 1..T::WORDS] {
            if rest == 0 {
                break;
            }
            let (difference, borrow) = word.overflowing_sub(rest);
            (*word, rest) = (difference, u64::from(borrow));
        }
    }

    /// Adds the words of another sum, exactly. Words beyond [`Sum::LEN`] are ignored, missing ones are zero.
    pub fn merge(&mut self, other: impl IntoIterator<Item = u64>) {
        let mut carry = false;
        for (i, (word, other)) in self.words.iter_mut().zip(other).enumerate() {
            if i == T::WORDS {
                *word |= other;
            } else {
                let (sum, first) = word.overflowing_add(other);
                let (sum, second) = sum.overflowing_add(u64::from(carry));
                (*word, carry) = (sum, first | second);
            }
        }
    }

    /// The sum rounded to nearest, ties to even.
    pub fn value(&self) -> T {
        value_of(self.words)
    }
}

/// The sum in `words` ([`Sum::LEN`] of them), rounded.
fn value_of<T: Format>(words: &[u64]) -> T {
    let flags = words[T::WORDS];
    let infinities = flags & (SEEN_INFINITY | SEEN_NEGATIVE_INFINITY);
    if flags & SEEN_NAN != 0 || infinities == SEEN_INFINITY | SEEN_NEGATIVE_INFINITY {
        return T::special(Special::Nan);
    }
    match infinities {
        SEEN_INFINITY => T::special(Special::Infinity),
        SEEN_NEGATIVE_INFINITY => T::special(Special::NegativeInfinity),
        _ => rounded(&words[..T::WORDS], flags & SEEN_OTHER == 0),
    }
}

fn rounded<T: Format>(words: &[u64], negative_zero: bool) -> T {
    let negative = words[T::WORDS - 1] >> 63 == 1;
    let magnitude = Magnitude { words, negative };
    let Some(top) = magnitude.highest_bit() else { return T::join(negative_zero, 0, 0) };
    let position = (top + 1).saturating_sub(T::PRECISION);
    let mut significand = magnitude.bits_from(position);
    if position > 0 {
        let half = magnitude.bits_from(position - 1) & 1 == 1;
        let above_half = magnitude.any_below(position - 1);
        significand += u64::from(half && (above_half || significand & 1 == 1));
    }
    // Rounding up to the next power of two leaves a significand that is even.
    if significand >> T::PRECISION != 0 {
        T::join(negative, significand >> 1, position + 1)
    } else {
        T::join(negative, significand, position)
    }
}

/// The absolute value of a two's complement number.
struct Magnitude<'a> {
    words: &'a [u64],
    negative: bool,
}

impl Magnitude<'_> {
    /// Word `i`: negating inverts every word above the lowest that is not zero.
    fn word(&self, i: usize) -> u64 {
        let word = self.words.get(i).copied().unwrap_or(if self.negative { u64::MAX } else { 0 });
        if !self.negative {
            word
        } else if self.words[..i.min(self.words.len())].iter().all(|&w| w == 0) {
            word.wrapping_neg()
        } else {
            !word
        }
    }

    fn highest_bit(&self) -> Option<u32> {
        let i = (0..self.words.len()).rev().find(|&i| self.word(i) != 0)?;
        Some(i as u32 * 64 + self.word(i).ilog2())
    }

    /// The 64 bits from `position` up.
    fn bits_from(&self, position: u32) -> u64 {
        let (i, shift) = (position as usize / 64, position % 64);
        let pair = u128::from(self.word(i)) | u128::from(self.word(i + 1)) << 64;
        (pair >> shift) as u64
    }

    fn any_below(&self, position: u32) -> bool {
        let (i, shift) = (position as usize / 64, position % 64);
        self.words[..i].iter().any(|&w| w != 0) || self.word(i) & ((1 << shift) - 1) != 0
    }
}

/// The representation behind a datatype that can be summed reproducibly.
#[derive(Clone, Copy)]
enum Elements {
    F32(usize),
    F64(usize),
}

/// Numbers per element: complex types are two.
fn elements(ty: Datatype) -> Result<Elements> {
    use crate::kind::Kind;
    match crate::kind::of(ty) {
        Some((Kind::F32, _)) => Ok(Elements::F32(1)),
        Some((Kind::F64, _)) => Ok(Elements::F64(1)),
        Some((Kind::ComplexF32, _)) => Ok(Elements::F32(2)),
        Some((Kind::ComplexF64, _)) => Ok(Elements::F64(2)),
        _ => Err(NOT_SUMMABLE),
    }
}

/// Bytes that the sum for one element of `ty` takes; 8-byte aligned. `MPI_ERR_TYPE` unless the type is made
/// of `f32` or `f64` (integer sums are reproducible anyway; wider and narrower formats have no exact sum
/// here).
pub fn size(ty: Datatype) -> Result<usize> {
    Ok(match elements(ty)? {
        Elements::F32(n) => n * Sum::<f32>::LEN * 8,
        Elements::F64(n) => n * Sum::<f64>::LEN * 8,
    })
}

/// One of the loops below over `n` numbers.
type Each = unsafe fn(*const u8, *mut u8, usize);

/// Turns `count` elements of `ty` into sums of one term each. `sums` holds `count` × [`size`] bytes.
///
/// # Safety
/// `input` is readable for `count` elements, extents apart; `sums` is writable for `count` × [`size`] bytes
/// and aligned to 8.
pub unsafe fn begin(ty: Datatype, input: *const u8, sums: *mut u8, count: usize) -> Result<()> {
    unsafe fn each<T: Format>(input: *const u8, sums: *mut u8, n: usize) {
        // SAFETY: `n` sums of `LEN` words each, aligned to 8, as the caller promised.
        let words = unsafe {
            sums.write_bytes(0, n * Sum::<T>::LEN * 8);
            core::slice::from_raw_parts_mut(sums.cast::<u64>(), n * Sum::<T>::LEN)
        };
        for (i, words) in words.chunks_exact_mut(Sum::<T>::LEN).enumerate() {
            // SAFETY: `i` is below the number of terms in the input.
            let term = unsafe { input.cast::<T>().add(i).read_unaligned() };
            Sum { words, format: PhantomData }.add(term);
        }
    }
    let (each, n): (Each, usize) = match elements(ty)? {
        Elements::F32(n) => (each::<f32>, n),
        Elements::F64(n) => (each::<f64>, n),
    };
    // SAFETY: the caller's promise; a complex element is two numbers and two sums.
    unsafe { each(input, sums, n * count) };
    Ok(())
}

/// Merges sums: `inout[i] += sums[i]`, exact, in any order.
///
/// # Safety
/// `sums` is readable and `inout` writable for `count` × [`size`] bytes; `inout` is aligned to 8; they do
/// not overlap.
pub unsafe fn merge(ty: Datatype, sums: *const u8, inout: *mut u8, count: usize) -> Result<()> {
    let (each, n): (Each, usize) = match elements(ty)? {
        Elements::F32(n) => (merge_each::<f32>, n),
        Elements::F64(n) => (merge_each::<f64>, n),
    };
    // SAFETY: the caller's promise; a complex element is two numbers and two sums.
    unsafe { each(sums, inout, n * count) };
    Ok(())
}

unsafe fn merge_each<T: Format>(sums: *const u8, inout: *mut u8, n: usize) {
    // SAFETY: `n` sums of `LEN` words each, aligned to 8, as the caller promised.
    let words = unsafe { core::slice::from_raw_parts_mut(inout.cast::<u64>(), n * Sum::<T>::LEN) };
    for (i, words) in words.chunks_exact_mut(Sum::<T>::LEN).enumerate() {
        let first = i * Sum::<T>::LEN;
        // SAFETY: sum `i` is inside of the input.
        let word = |j: usize| unsafe { sums.cast::<u64>().add(first + j).read_unaligned() };
        Sum::<T> { words, format: PhantomData }.merge((0..Sum::<T>::LEN).map(word));
    }
}

/// [`merge`] as an operation on elements of [`size`] bytes: `out[i] = left[i] + right[i]`, where `out` is aligned
/// to 8.
pub fn kernel(ty: Datatype) -> Result<Kernel> {
    unsafe fn each<T: Format, const N: usize>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
        let n = N * count;
        // SAFETY: the promise of [`Kernel`]: `out` is one of the operands or overlaps neither.
        unsafe {
            if out.cast_const() == left {
                return merge_each::<T>(right, out, n);
            }
            if out.cast_const() != right {
                core::ptr::copy_nonoverlapping(right, out, n * Sum::<T>::LEN * 8);
            }
            merge_each::<T>(left, out, n);
        }
    }
    Ok(match elements(ty)? {
        Elements::F32(1) => each::<f32, 1>,
        Elements::F32(_) => each::<f32, 2>,
        Elements::F64(1) => each::<f64, 1>,
        Elements::F64(_) => each::<f64, 2>,
    })
}

/// Rounds `count` sums to elements of `ty`.
///
/// # Safety
/// `sums` is readable for `count` × [`size`] bytes and aligned to 8; `output` is writable for `count`
/// elements, extents apart.
pub unsafe fn finish(ty: Datatype, sums: *const u8, output: *mut u8, count: usize) -> Result<()> {
    unsafe fn each<T: Format>(sums: *const u8, output: *mut u8, n: usize) {
        // SAFETY: `n` sums of `LEN` words each, aligned to 8, as the caller promised.
        let words = unsafe { core::slice::from_raw_parts(sums.cast::<u64>(), n * Sum::<T>::LEN) };
        for (i, words) in words.chunks_exact(Sum::<T>::LEN).enumerate() {
            // SAFETY: `i` is below the number of results.
            unsafe { output.cast::<T>().add(i).write_unaligned(value_of(words)) };
        }
    }
    let (each, n): (Each, usize) = match elements(ty)? {
        Elements::F32(n) => (each::<f32>, n),
        Elements::F64(n) => (each::<f64>, n),
    };
    // SAFETY: the caller's promise; a complex element is two numbers and two sums.
    unsafe { each(sums, output, n * count) };
    Ok(())
}

const NOT_SUMMABLE: Error = Error::new(abi::ERR_TYPE, "no exact sum for this datatype");
