//! IEEE 754 binary128 (`REAL*16`) in integer arithmetic: no processor at hand has it, and the compiler's
//! own routines are not reachable from Rust without its unstable type. Rounds to nearest, ties to even.

use crate::number::{Negate, Number, Ordered};

/// A quadruple-precision number as its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Quad(pub(crate) u128);

const FRACTION: u32 = 112;
const EXPONENT_MAX: i32 = 0x7FFF;
const SIGN: u128 = 1 << 127;
const INFINITY: u128 = 0x7FFF << FRACTION;
const QUIET_NAN: u128 = INFINITY | 1 << (FRACTION - 1);
/// Bits kept below the last one while computing: guard, round and sticky.
const EXTRA: u32 = 3;
/// Position of the leading bit of a normal significand while computing.
const LEAD: u32 = FRACTION + EXTRA;

impl Quad {
    fn is_nan(self) -> bool {
        self.0 & !SIGN > INFINITY
    }

    fn is_infinite(self) -> bool {
        self.0 & !SIGN == INFINITY
    }

    fn is_zero(self) -> bool {
        self.0 & !SIGN == 0
    }

    fn sign(self) -> u128 {
        self.0 & SIGN
    }

    /// Biased exponent (1 for subnormals) and significand with its leading bit at `FRACTION`.
    fn parts(self) -> (i32, u128) {
        let exponent = (self.0 >> FRACTION) as i32 & EXPONENT_MAX;
        let fraction = self.0 & ((1 << FRACTION) - 1);
        if exponent == 0 { (1, fraction) } else { (exponent, fraction | 1 << FRACTION) }
    }

    fn quiet(self) -> Quad {
        Quad(self.0 | 1 << (FRACTION - 1))
    }
}

/// Shifts right; bits that fall out stay visible in the last one.
fn shift_sticky(x: u128, by: u32) -> u128 {
    match by {
        0 => x,
        1..128 => x >> by | u128::from(x << (128 - by) != 0),
        _ => u128::from(x != 0),
    }
}

/// Rounds a significand with its leading bit at `LEAD` or, for subnormals, below, and puts the number
/// together.
fn round(sign: u128, mut exponent: i32, mut significand: u128) -> Quad {
    if exponent < 1 {
        significand = shift_sticky(significand, (1 - exponent) as u32);
        exponent = 1;
    }
    let rest = significand & 0b111;
    significand >>= EXTRA;
    significand += u128::from(rest > 4 || (rest == 4 && significand & 1 == 1));
    // The leading bit adds one to the exponent field, so a carry moves into it by itself.
    if significand >> FRACTION == 0 {
        return Quad(sign | significand);
    }
    let bits = ((exponent as u128 - 1) << FRACTION) + significand;
    Quad(sign | if bits >= INFINITY { INFINITY } else { bits })
}

impl Number for Quad {
    fn add(self, other: Quad) -> Quad {
        if self.is_nan() || other.is_nan() {
            return if self.is_nan() { self.quiet() } else { other.quiet() };
        }
        match (self.is_infinite(), other.is_infinite()) {
            (true, true) if self.sign() != other.sign() => return Quad(QUIET_NAN),
            (true, _) => return self,
            (_, true) => return other,
            _ => {}
        }
        let (large, small) = if self.0 & !SIGN >= other.0 & !SIGN { (self, other) } else { (other, self) };
        let ((exponent, a), (lower, b)) = (large.parts(), small.parts());
        let (a, b) = (a << EXTRA, shift_sticky(b << EXTRA, (exponent - lower) as u32));
        if self.sign() == other.sign() {
            let sum = a + b;
            return if sum >> (LEAD + 1) != 0 {
                round(large.sign(), exponent + 1, shift_sticky(sum, 1))
            } else {
                round(large.sign(), exponent, sum)
            };
        }
        let difference = a - b;
        if difference == 0 {
            return Quad(0);
        }
        let shift = (difference.leading_zeros() - (127 - LEAD)).min(exponent as u32 - 1);
        round(large.sign(), exponent - shift as i32, difference << shift)
    }

    fn mul(self, other: Quad) -> Quad {
        let sign = self.sign() ^ other.sign();
        if self.is_nan() || other.is_nan() {
            return if self.is_nan() { self.quiet() } else { other.quiet() };
        }
        if self.is_infinite() || other.is_infinite() {
            let undefined = self.is_zero() || other.is_zero();
            return Quad(if undefined { QUIET_NAN } else { sign | INFINITY });
        }
        if self.is_zero() || other.is_zero() {
            return Quad(sign);
        }
        let ((ea, a), (eb, b)) = (normalised(self), normalised(other));
        // 113 × 113 bits: the leading bit of the product is number 224 or 225.
        let (high, low) = widening_mul(a, b);
        let drop = 2 * FRACTION - LEAD;
        let product = high << (128 - drop) | shift_sticky(low, drop);
        let exponent = ea + eb - 0x3FFF;
        if product >> (LEAD + 1) != 0 {
            round(sign, exponent + 1, shift_sticky(product, 1))
        } else {
            round(sign, exponent, product)
        }
    }
}

/// Exponent and significand with its leading bit at `FRACTION`, also for subnormals.
fn normalised(x: Quad) -> (i32, u128) {
    let (exponent, significand) = x.parts();
    let shift = significand.leading_zeros() - (127 - FRACTION);
    (exponent - shift as i32, significand << shift)
}

fn widening_mul(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let (low, middle1, middle2, high) = (a0 * b0, a1 * b0, a0 * b1, a1 * b1);
    let carry = (low >> 64) + (middle1 & HALF) + (middle2 & HALF);
    (high + (middle1 >> 64) + (middle2 >> 64) + (carry >> 64), carry << 64 | low & HALF)
}

impl Ordered for Quad {
    fn less(self, other: Quad) -> bool {
        if self.is_nan() || other.is_nan() || (self.is_zero() && other.is_zero()) {
            return false;
        }
        match (self.sign() != 0, other.sign() != 0) {
            (false, false) => self.0 < other.0,
            (true, true) => self.0 > other.0,
            (negative, _) => negative,
        }
    }
}

impl Negate for Quad {
    fn negate(self) -> Quad {
        Quad(self.0 ^ SIGN)
    }
}
