//! IEEE 754 binary16 (`REAL*2`), computed in `f32`: the sum or product of two halves is exact enough there
//! (24 ≥ 2·11 + 2 bits) that rounding once more gives the correctly rounded half.

use crate::number::{Negate, Number, Ordered};

/// A half-precision number as its bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Half(pub(crate) u16);

impl Half {
    /// The same number, exactly.
    #[inline(always)]
    pub(crate) fn to_f32(self) -> f32 {
        let sign = u32::from(self.0 & 0x8000) << 16;
        let rest = u32::from(self.0 & 0x7FFF) << 13;
        let magnitude = if rest >= 0x7C00 << 13 {
            // Infinity and NaN: the exponent field is all ones here too.
            f32::from_bits(rest | 0x7F80_0000)
        } else {
            // Multiplying by 2^112 moves the exponent from bias 15 to bias 127, subnormals included.
            f32::from_bits(rest) * f32::from_bits((112 + 127) << 23)
        };
        f32::from_bits(magnitude.to_bits() | sign)
    }

    /// Rounds to nearest, ties to even.
    #[inline(always)]
    pub(crate) fn from_f32(x: f32) -> Half {
        let bits = x.to_bits();
        let sign = (bits >> 16 & 0x8000) as u16;
        let magnitude = bits & 0x7FFF_FFFF;
        let half = if magnitude > 0x7F80_0000 {
            // A NaN keeps its upper payload and becomes quiet.
            0x7E00 | (magnitude >> 13 & 0x03FF) as u16
        } else if magnitude >= 0x4780_0000 {
            // 65536 and above
            0x7C00
        } else if magnitude < 0x3880_0000 {
            // Below 2^-14: adding 0.5 aligns the result's last bit with that of the sum, whose rounding is
            // the wanted one.
            let aligned = f32::from_bits(magnitude) + 0.5;
            (aligned.to_bits() - 0.5f32.to_bits()) as u16
        } else {
            let odd = magnitude >> 13 & 1;
            ((magnitude - (112 << 23) + 0x0FFF + odd) >> 13) as u16
        };
        Half(sign | half)
    }
}

impl Number for Half {
    #[inline(always)]
    fn add(self, other: Half) -> Half {
        Half::from_f32(self.to_f32() + other.to_f32())
    }
    #[inline(always)]
    fn mul(self, other: Half) -> Half {
        Half::from_f32(self.to_f32() * other.to_f32())
    }
}

impl Ordered for Half {
    #[inline(always)]
    fn less(self, other: Half) -> bool {
        self.to_f32() < other.to_f32()
    }
}

impl Negate for Half {
    #[inline(always)]
    fn negate(self) -> Half {
        Half(self.0 ^ 0x8000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let half = Half(bits);
            let back = Half::from_f32(half.to_f32());
            if half.to_f32().is_nan() {
                assert!(back.to_f32().is_nan());
            } else {
                assert_eq!(back, half, "{bits:#x} is {}", half.to_f32());
            }
        }
    }

    #[test]
    fn known_values() {
        for (bits, value) in [(0x3C00, 1.0), (0xC000, -2.0), (0x7BFF, 65504.0), (0x0001, 5.960_464_5e-8)] {
            assert_eq!(Half(bits).to_f32(), value);
        }
        assert_eq!(Half::from_f32(65519.9), Half(0x7BFF), "the largest value that rounds down");
        assert_eq!(Half::from_f32(65520.0), Half(0x7C00), "the smallest that rounds to infinity");
    }

    #[test]
    fn rounds_to_nearest_even() {
        // Against the definition: the nearest of the two neighbours.
        for bits in 0..0x7BFFu16 {
            let (low, high) = (Half(bits).to_f32(), Half(bits + 1).to_f32());
            let middle = (low + high) / 2.0;
            let even = Half(bits + (bits & 1));
            assert_eq!(Half::from_f32(middle), even, "{bits:#x}");
            assert_eq!(Half::from_f32(f32::from_bits(middle.to_bits() - 1)), Half(bits));
            assert_eq!(Half::from_f32(f32::from_bits(middle.to_bits() + 1)), Half(bits + 1));
        }
    }
}
