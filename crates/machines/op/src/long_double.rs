//! The C type `long double`: x87's 80-bit format in 16 bytes on x86-64, binary128 elsewhere.

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use crate::quad::Quad as LongDouble;
#[cfg(target_arch = "x86_64")]
pub(crate) use x87::LongDouble;

#[cfg(target_arch = "x86_64")]
mod x87 {
    use crate::number::{Negate, Number, Ordered};
    use core::arch::asm;

    /// Ten significant bytes, little-endian (64-bit significand with its leading one, 15-bit exponent,
    /// sign), and six of padding.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    pub(crate) struct LongDouble(pub(crate) [u8; 16]);

    /// The two-operand x87 instruction on `left` and `right`, in round-to-nearest with 64-bit precision as
    /// the ABI sets it for every process.
    macro_rules! x87 {
        ($instruction:literal, $left:expr, $right:expr) => {{
            let (left, right, mut result) = ($left.0, $right.0, [0u8; 16]);
            // SAFETY: the operands are 16 readable bytes each and the result is 16 writable ones, of which
            // ten are touched; the register stack is empty before (as the ABI demands) and after, and all
            // of it is declared clobbered.
            unsafe {
                asm!(
                    "fld tbyte ptr [{left}]",
                    "fld tbyte ptr [{right}]",
                    $instruction,
                    "fstp tbyte ptr [{result}]",
                    left = in(reg) left.as_ptr(),
                    right = in(reg) right.as_ptr(),
                    result = in(reg) result.as_mut_ptr(),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack)
                );
            }
            LongDouble(result)
        }};
    }

    impl Number for LongDouble {
        fn add(self, other: LongDouble) -> LongDouble {
            x87!("faddp st(1), st", self, other)
        }
        fn mul(self, other: LongDouble) -> LongDouble {
            x87!("fmulp st(1), st", self, other)
        }
    }

    impl LongDouble {
        /// Sign, and exponent and significand as one integer that orders magnitudes.
        fn parts(self) -> (bool, u128) {
            let bits = u128::from_le_bytes(self.0);
            (bits >> 79 & 1 == 1, bits & ((1 << 79) - 1))
        }

        fn is_nan(magnitude: u128) -> bool {
            magnitude >> 64 == 0x7FFF && magnitude << 65 != 0
        }
    }

    impl Ordered for LongDouble {
        fn less(self, other: LongDouble) -> bool {
            let ((negative, a), (other_negative, b)) = (self.parts(), other.parts());
            if Self::is_nan(a) || Self::is_nan(b) || (a == 0 && b == 0) {
                return false;
            }
            match (negative, other_negative) {
                (false, false) => a < b,
                (true, true) => a > b,
                (negative, _) => negative,
            }
        }
    }

    impl Negate for LongDouble {
        fn negate(mut self) -> LongDouble {
            self.0[9] ^= 0x80;
            self
        }
    }
}
