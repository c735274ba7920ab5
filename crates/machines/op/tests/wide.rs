//! `REAL*16` and `long double` against results of a C compiler (GCC's `__float128` and x87 arithmetic) on
//! random operands that include subnormals, overflow, infinities, ties and cancellation.

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

/// A whole number in binary128.
fn quad(n: i32) -> [u8; 16] {
    let sign = u128::from(n < 0) << 127;
    let magnitude = u128::from(n.unsigned_abs());
    if magnitude == 0 {
        return sign.to_le_bytes();
    }
    let top = magnitude.ilog2();
    let fraction = (magnitude << (112 - top)) & ((1 << 112) - 1);
    (sign | u128::from(16383 + top) << 112 | fraction).to_le_bytes()
}

/// A whole number in the x87 format.
#[cfg(target_arch = "x86_64")]
fn long_double(n: i32) -> [u8; 16] {
    let sign = u128::from(n < 0) << 79;
    let magnitude = u128::from(n.unsigned_abs());
    if magnitude == 0 {
        return sign.to_le_bytes();
    }
    let top = magnitude.ilog2();
    (sign | u128::from(16383 + top) << 64 | magnitude << (63 - top)).to_le_bytes()
}

#[cfg(not(target_arch = "x86_64"))]
fn long_double(n: i32) -> [u8; 16] {
    quad(n)
}

/// The significant bytes of `long double`.
const LONG_DOUBLE_BYTES: usize = if cfg!(target_arch = "x86_64") { 10 } else { 16 };

fn reduced<const N: usize>(op: abi::Op, ty: abi::Datatype, left: [u8; N], mut right: [u8; N]) -> [u8; N] {
    // SAFETY: one element of `N` bytes each.
    unsafe { op::reduce(op, ty, left.as_ptr(), right.as_mut_ptr(), 1) }.unwrap();
    right
}

#[test]
fn minimum_and_maximum() {
    for (a, b) in [(3, 5), (5, 3), (-3, 5), (5, -3), (-3, -5), (0, 7), (-7, 0), (4, 4), (1 << 20, 3)] {
        let (low, high) = (a.min(b), a.max(b));
        assert_eq!(reduced(abi::MIN, abi::REAL16, quad(a), quad(b)), quad(low));
        assert_eq!(reduced(abi::MAX, abi::REAL16, quad(a), quad(b)), quad(high));
        let kept = |x: [u8; 16]| x[..LONG_DOUBLE_BYTES].to_vec();
        let (x, y) = (long_double(a), long_double(b));
        assert_eq!(kept(reduced(abi::MIN, abi::LONG_DOUBLE, x, y)), kept(long_double(low)));
        assert_eq!(kept(reduced(abi::MAX, abi::LONG_DOUBLE, x, y)), kept(long_double(high)));
    }
}

#[test]
fn complex_numbers() {
    let join = |re: [u8; 16], im: [u8; 16]| -> [u8; 32] { [re, im].concat().try_into().unwrap() };
    // (3 + 2i) + (5 - 7i) = 8 - 5i and (3 + 2i)(5 - 7i) = 29 - 11i
    for (op, re, im) in [(abi::SUM, 8, -5), (abi::PROD, 29, -11)] {
        let got = reduced(op, abi::COMPLEX32, join(quad(3), quad(2)), join(quad(5), quad(-7)));
        assert_eq!(got, join(quad(re), quad(im)));
        for ty in [abi::C_LONG_DOUBLE_COMPLEX, abi::CXX_LONG_DOUBLE_COMPLEX] {
            let (x, y) = (join(long_double(3), long_double(2)), join(long_double(5), long_double(-7)));
            let got = reduced(op, ty, x, y);
            assert_eq!(got[..LONG_DOUBLE_BYTES], long_double(re)[..LONG_DOUBLE_BYTES]);
            assert_eq!(got[16..][..LONG_DOUBLE_BYTES], long_double(im)[..LONG_DOUBLE_BYTES]);
        }
    }
    // In halves: 3 = 0x4200, 2 = 0x4000, 5 = 0x4500, -7 = 0xC700, 8 = 0x4800, -5 = 0xC500, 29 = 0x4F40, -11
    // = 0xC980
    let halves =
        |re: u16, im: u16| -> [u8; 4] { [re.to_le_bytes(), im.to_le_bytes()].concat().try_into().unwrap() };
    let (x, y) = (halves(0x4200, 0x4000), halves(0x4500, 0xC700));
    assert_eq!(reduced(abi::SUM, abi::COMPLEX4, x, y), halves(0x4800, 0xC500));
    assert_eq!(reduced(abi::PROD, abi::COMPLEX4, x, y), halves(0x4F40, 0xC980));
}

#[test]
fn long_double_and_index() {
    let pair = |value: i32, index: i32| -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&long_double(value));
        bytes[16..20].copy_from_slice(&index.to_le_bytes());
        bytes
    };
    let meaning = |x: [u8; 32]| (x[..LONG_DOUBLE_BYTES].to_vec(), x[16..20].to_vec());
    for (op, left, right, expected) in [
        (abi::MAXLOC, (7, 3), (9, 1), (9, 1)),
        (abi::MAXLOC, (9, 3), (9, 1), (9, 1)),
        (abi::MAXLOC, (9, 0), (9, 1), (9, 0)),
        (abi::MINLOC, (-7, 3), (9, 1), (-7, 3)),
    ] {
        let got = reduced(op, abi::LONG_DOUBLE_INT, pair(left.0, left.1), pair(right.0, right.1));
        assert_eq!(meaning(got), meaning(pair(expected.0, expected.1)));
    }
}
