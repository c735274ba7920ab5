//! `REAL*16` and `long double` against results of a C compiler (GCC's `__float128` and x87 arithmetic) on random operands that
//! include subnormals, overflow, infinities, ties and cancellation.

/// Left, right, sum, product, as the little-endian integers of their bytes.
type Vector = (u128, u128, u128, u128);

const QUAD: &[Vector] = &include!("vectors/quad.in");
const LONG_DOUBLE: &[Vector] = &include!("vectors/long_double.in");

fn check(name: &str, ty: abi::Datatype, vectors: &[Vector], bytes: usize) {
    for &(left, right, sum, product) in vectors {
        for (op, expected) in [(abi::SUM, sum), (abi::PROD, product)] {
            let mut inout = right.to_le_bytes();
            // SAFETY: both arguments are one 16-byte element.
            unsafe { op::reduce(op, ty, left.to_le_bytes().as_ptr(), inout.as_mut_ptr(), 1) }.unwrap();
            let expected = &expected.to_le_bytes()[..bytes];
            let nan = |x: &[u8]| is_nan(x, bytes);
            assert!(
                inout[..bytes] == *expected || (nan(&inout[..bytes]) && nan(expected)),
                "{name}: {op:?} of {left:#x} and {right:#x} is {:#x}, not {expected:x?}",
                u128::from_le_bytes(inout)
            );
        }
    }
}

fn is_nan(x: &[u8], bytes: usize) -> bool {
    let exponent = u16::from_le_bytes([x[bytes - 2], x[bytes - 1]]) & 0x7FFF;
    // x87 stores the leading one of the significand; it is set in infinities too.
    let leading = if bytes == 10 { 0x80 } else { 0 };
    let (top, rest) = x[..bytes - 2].split_last().unwrap();
    exponent == 0x7FFF && (top & !leading != 0 || rest.iter().any(|&b| b != 0))
}

#[test]
fn quadruple_precision() {
    check("REAL*16", abi::REAL16, QUAD, 16);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn x87() {
    check("long double", abi::LONG_DOUBLE, LONG_DOUBLE, 10);
}
