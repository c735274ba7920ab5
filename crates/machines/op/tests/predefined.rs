//! Every predefined operation on every predefined type against a naive one-element definition, and the
//! table of allowed pairs.

use abi::{Datatype, Op};
use chance::Rng;

/// How a test reads an element: independent of the library's own classification.
#[derive(Clone, Copy, PartialEq, Debug)]
enum As {
    Signed,
    Unsigned,
    Half,
    Single,
    Double,
    ComplexSingle,
    ComplexDouble,
    Bool,
    Logical,
    Byte,
    Character,
    /// Value read as the first, index as the second, index at the offset.
    Pair(&'static As, &'static As, usize),
}

use As::*;

/// The types that the naive definition can compute with: handle, representation, extent. (`wide.rs` has the
/// others.)
const TYPES: &[(Datatype, As, usize)] = &[
    (abi::AINT, Signed, 8),
    (abi::COUNT, Signed, 8),
    (abi::OFFSET, Signed, 8),
    (abi::SHORT, Signed, 2),
    (abi::INT, Signed, 4),
    (abi::LONG, Signed, 8),
    (abi::LONG_LONG, Signed, 8),
    (abi::UNSIGNED_SHORT, Unsigned, 2),
    (abi::UNSIGNED, Unsigned, 4),
    (abi::UNSIGNED_LONG, Unsigned, 8),
    (abi::UNSIGNED_LONG_LONG, Unsigned, 8),
    (abi::SIGNED_CHAR, Signed, 1),
    (abi::UNSIGNED_CHAR, Unsigned, 1),
    (abi::INT8_T, Signed, 1),
    (abi::INT16_T, Signed, 2),
    (abi::INT32_T, Signed, 4),
    (abi::INT64_T, Signed, 8),
    (abi::UINT8_T, Unsigned, 1),
    (abi::UINT16_T, Unsigned, 2),
    (abi::UINT32_T, Unsigned, 4),
    (abi::UINT64_T, Unsigned, 8),
    (abi::INTEGER, Signed, 4),
    (abi::INTEGER1, Signed, 1),
    (abi::INTEGER2, Signed, 2),
    (abi::INTEGER4, Signed, 4),
    (abi::INTEGER8, Signed, 8),
    (abi::INTEGER16, Signed, 16),
    (abi::FLOAT, Single, 4),
    (abi::DOUBLE, Double, 8),
    (abi::REAL, Single, 4),
    (abi::DOUBLE_PRECISION, Double, 8),
    (abi::REAL2, Half, 2),
    (abi::REAL4, Single, 4),
    (abi::REAL8, Double, 8),
    (abi::COMPLEX, ComplexSingle, 8),
    (abi::C_FLOAT_COMPLEX, ComplexSingle, 8),
    (abi::CXX_FLOAT_COMPLEX, ComplexSingle, 8),
    (abi::COMPLEX8, ComplexSingle, 8),
    (abi::C_DOUBLE_COMPLEX, ComplexDouble, 16),
    (abi::CXX_DOUBLE_COMPLEX, ComplexDouble, 16),
    (abi::DOUBLE_COMPLEX, ComplexDouble, 16),
    (abi::COMPLEX16, ComplexDouble, 16),
    (abi::C_BOOL, Bool, 1),
    (abi::CXX_BOOL, Bool, 1),
    (abi::LOGICAL, Logical, 4),
    (abi::LOGICAL1, Logical, 1),
    (abi::LOGICAL2, Logical, 2),
    (abi::LOGICAL4, Logical, 4),
    (abi::LOGICAL8, Logical, 8),
    (abi::LOGICAL16, Logical, 16),
    (abi::BYTE, Byte, 1),
    (abi::CHAR, Signed, 1),
    (abi::CHARACTER, Character, 1),
    (abi::WCHAR, Character, 4),
    (abi::PACKED, Character, 1),
    (abi::FLOAT_INT, Pair(&Single, &Signed, 4), 8),
    (abi::DOUBLE_INT, Pair(&Double, &Signed, 8), 16),
    (abi::LONG_INT, Pair(&Signed, &Signed, 8), 16),
    (abi::TWOINT, Pair(&Signed, &Signed, 4), 8),
    (abi::SHORT_INT, Pair(&Signed, &Signed, 4), 8),
    (abi::TWOREAL, Pair(&Single, &Single, 4), 8),
    (abi::TWODOUBLE_PRECISION, Pair(&Double, &Double, 8), 16),
    (abi::TWOINTEGER, Pair(&Signed, &Signed, 4), 8),
];

const OPS: [Op; 14] = [
    abi::SUM,
    abi::MIN,
    abi::MAX,
    abi::PROD,
    abi::BAND,
    abi::BOR,
    abi::BXOR,
    abi::LAND,
    abi::LOR,
    abi::LXOR,
    abi::MINLOC,
    abi::MAXLOC,
    abi::REPLACE,
    abi::NO_OP,
];

/// The table of MPI-5.0 section 6.9.2, written down a second time, with what programs expect beyond it: `MPI_CHAR` as
/// a number, logical operations on every integer.
fn permitted(op: Op, read_as: As) -> bool {
    let integer = matches!(read_as, Signed | Unsigned);
    let float = matches!(read_as, Half | Single | Double);
    let complex = matches!(read_as, ComplexSingle | ComplexDouble);
    match op {
        abi::SUM | abi::PROD => integer || float || complex,
        abi::MIN | abi::MAX => integer || float,
        abi::BAND | abi::BOR | abi::BXOR => integer || read_as == Byte,
        abi::LAND | abi::LOR | abi::LXOR => integer || matches!(read_as, Bool | Logical),
        abi::MINLOC | abi::MAXLOC => matches!(read_as, Pair(..)),
        _ => false,
    }
}

fn signed(x: &[u8]) -> i128 {
    let fill = if x[x.len() - 1] & 0x80 != 0 { 0xFF } else { 0 };
    let mut bytes = [fill; 16];
    bytes[..x.len()].copy_from_slice(x);
    i128::from_le_bytes(bytes)
}

fn unsigned(x: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..x.len()].copy_from_slice(x);
    u128::from_le_bytes(bytes)
}

fn single(x: &[u8]) -> f32 {
    f32::from_le_bytes(x.try_into().unwrap())
}

fn double(x: &[u8]) -> f64 {
    f64::from_le_bytes(x.try_into().unwrap())
}

/// By the definition of the format.
fn half(x: &[u8]) -> f64 {
    let bits = u16::from_le_bytes(x.try_into().unwrap());
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 != 0 { -magnitude } else { magnitude }
}

/// `left op right` on one element, straight from the standard's words.
fn naive(op: Op, read_as: As, left: &[u8], right: &[u8]) -> Vec<u8> {
    let n = left.len();
    match (op, read_as) {
        (abi::REPLACE, _) => left.to_vec(),
        (abi::NO_OP, _) => right.to_vec(),
        (abi::BAND, _) => left.iter().zip(right).map(|(a, b)| a & b).collect(),
        (abi::BOR, _) => left.iter().zip(right).map(|(a, b)| a | b).collect(),
        (abi::BXOR, _) => left.iter().zip(right).map(|(a, b)| a ^ b).collect(),
        (abi::LAND | abi::LOR | abi::LXOR, _) => {
            let (a, b) = (unsigned(left) != 0, unsigned(right) != 0);
            let truth = match op {
                abi::LAND => a && b,
                abi::LOR => a || b,
                _ => a != b,
            };
            u128::from(truth).to_le_bytes()[..n].to_vec()
        }
        (abi::MINLOC | abi::MAXLOC, Pair(value, index, _)) => {
            let first = if takes_left(op, value, index, left, right) { left } else { right };
            first.to_vec()
        }
        (_, Signed) => {
            let (a, b) = (signed(left), signed(right));
            pick(op, a < b, [a.wrapping_add(b), a.wrapping_mul(b), a, b]).to_le_bytes()[..n].to_vec()
        }
        (_, Unsigned) => {
            let (a, b) = (unsigned(left), unsigned(right));
            pick(op, a < b, [a.wrapping_add(b), a.wrapping_mul(b), a, b]).to_le_bytes()[..n].to_vec()
        }
        (_, Single) => {
            let (a, b) = (single(left), single(right));
            pick(op, a < b, [a + b, a * b, a, b]).to_le_bytes().to_vec()
        }
        (_, Double) => {
            let (a, b) = (double(left), double(right));
            pick(op, a < b, [a + b, a * b, a, b]).to_le_bytes().to_vec()
        }
        (_, ComplexSingle) => {
            let part = |x: &[u8], i: usize| single(&x[4 * i..4 * i + 4]);
            let (a, b, c, d) = (part(left, 0), part(left, 1), part(right, 0), part(right, 1));
            let result = if op == abi::SUM { [a + c, b + d] } else { [a * c - b * d, a * d + b * c] };
            result.iter().flat_map(|x| x.to_le_bytes()).collect()
        }
        (_, ComplexDouble) => {
            let part = |x: &[u8], i: usize| double(&x[8 * i..8 * i + 8]);
            let (a, b, c, d) = (part(left, 0), part(left, 1), part(right, 0), part(right, 1));
            let result = if op == abi::SUM { [a + c, b + d] } else { [a * c - b * d, a * d + b * c] };
            result.iter().flat_map(|x| x.to_le_bytes()).collect()
        }
        _ => panic!("{op:?} on {read_as:?}"),
    }
}

/// Sum, product, and the smaller or larger operand.
fn pick<T: Copy>(op: Op, less: bool, [sum, product, left, right]: [T; 4]) -> T {
    match op {
        abi::SUM => sum,
        abi::PROD => product,
        abi::MIN => {
            if less {
                left
            } else {
                right
            }
        }
        _ => {
            if less {
                right
            } else {
                left
            }
        }
    }
}

fn takes_left(op: Op, value: &As, index: &As, left: &[u8], right: &[u8]) -> bool {
    let Some(split) = TYPES.iter().find_map(|(_, a, extent)| match a {
        Pair(v, i, at) if *v == value && *i == index && *extent == left.len() => Some(*at),
        _ => None,
    }) else {
        panic!("a pair of known layout");
    };
    let order = |a: &As, x: &[u8], y: &[u8]| match a {
        Single => single(&x[..4]).partial_cmp(&single(&y[..4])),
        Double => double(&x[..8]).partial_cmp(&double(&y[..8])),
        _ => Some(signed(x).cmp(&signed(y))),
    };
    let index_size = if *index == Double { 8 } else { 4 };
    let by_index = order(index, &left[split..split + index_size], &right[split..split + index_size]).unwrap();
    match order(value, &left[..split], &right[..split]).unwrap() {
        std::cmp::Ordering::Equal => by_index.is_lt(),
        by_value => (op == abi::MINLOC) == by_value.is_lt(),
    }
}

/// A random element; floats are finite and far from overflow, logical values are those a compiler makes.
fn element(read_as: As, extent: usize, random: &mut Rng) -> Vec<u8> {
    let float = |random: &mut Rng| (random.next() % 4001) as f64 / 16.0 - 125.0;
    match read_as {
        Half => {
            ((random.next() as u16 & 0x83FF) | ((12 + random.next() % 6) << 10) as u16).to_le_bytes().to_vec()
        }
        Single => (float(random) as f32).to_le_bytes().to_vec(),
        Double => float(random).to_le_bytes().to_vec(),
        ComplexSingle => (0..2).flat_map(|_| (float(random) as f32).to_le_bytes()).collect(),
        ComplexDouble => (0..2).flat_map(|_| float(random).to_le_bytes()).collect(),
        Bool | Logical => u128::from(random.next() % 2).to_le_bytes()[..extent].to_vec(),
        Pair(value, index, at) => {
            let value_size = if at == 4 && extent == 8 && *value == Signed { 4 } else { at };
            // Few different values, so that indices decide often.
            let mut bytes = match value {
                Single => ((random.next() % 3) as f32).to_le_bytes().to_vec(),
                Double => ((random.next() % 3) as f64).to_le_bytes().to_vec(),
                _ => (random.next() % 3).to_le_bytes()[..value_size.min(8)].to_vec(),
            };
            bytes.resize(at, 0);
            bytes.extend(match index {
                Single => ((random.next() % 100) as f32).to_le_bytes().to_vec(),
                Double => ((random.next() % 100) as f64).to_le_bytes().to_vec(),
                _ => ((random.next() % 100) as u32).to_le_bytes().to_vec(),
            });
            bytes.resize(extent, 0);
            bytes
        }
        _ => (0..extent).map(|_| random.next() as u8).collect(),
    }
}

/// The half nearest to `x` among those at hand; compared by value, since the naive definition computes in
/// `f64`.
fn same(op: Op, read_as: As, got: &[u8], left: &[u8], right: &[u8]) -> bool {
    if read_as != Half || !matches!(op, abi::SUM | abi::PROD | abi::MIN | abi::MAX) {
        return got == naive(op, read_as, left, right);
    }
    let (a, b) = (half(left), half(right));
    let exact = pick(op, a < b, [a + b, a * b, a, b]);
    let got_bits = u16::from_le_bytes(got.try_into().unwrap());
    let error = |bits: u16| (half(&bits.to_le_bytes()) - exact).abs();
    // Neighbours on either side are no nearer.
    let (down, up) = (got_bits.saturating_sub(1), got_bits + 1);
    error(got_bits) <= error(down) && error(got_bits) <= error(up)
}

#[test]
fn every_operation_on_every_type() {
    let mut random = Rng::new(0x0905);
    for &(ty, read_as, extent) in TYPES {
        for op in OPS {
            let moves = matches!(op, abi::REPLACE | abi::NO_OP);
            assert_eq!(op::allowed(op, ty), permitted(op, read_as), "{op:?} {ty:?} {read_as:?}");
            assert_eq!(op::allowed_in_accumulate(op, ty), moves || permitted(op, read_as));
            if !op::allowed_in_accumulate(op, ty) {
                assert_eq!(op::kernel(op, ty).unwrap_err().class, abi::ERR_OP);
                continue;
            }
            for count in [0, 1, 2, 3, 7, 16, 31, 67] {
                check(op, ty, read_as, extent, count, &mut random);
            }
        }
    }
}

/// All ways the operands may coincide, at an odd address, with guard bytes around.
fn check(op: Op, ty: Datatype, read_as: As, extent: usize, count: usize, random: &mut Rng) {
    let mut fill = || -> Vec<u8> {
        let mut bytes = vec![0x77];
        (0..count).for_each(|_| bytes.extend(element(read_as, extent, random)));
        bytes.push(0x77);
        bytes
    };
    let (left, right, other) = (fill(), fill(), fill());
    let verify = |out: &[u8], left: &[u8], right: &[u8], case: &str| {
        for i in 0..count {
            let at = |x: &[u8]| x[1 + i * extent..1 + (i + 1) * extent].to_vec();
            let (o, l, r) = (at(out), at(left), at(right));
            assert!(
                same(op, read_as, &o, &l, &r),
                "{case}: {op:?} {ty:?} {read_as:?} element {i} of {count}: {l:?} {r:?} -> {o:?}"
            );
        }
        assert!(out[0] == 0x77 && out[out.len() - 1] == 0x77, "{case}: bytes around the result changed");
    };
    let kernel = op::kernel(op, ty).unwrap();
    let mut out = right.clone();
    // SAFETY: every buffer holds `count` elements from byte 1 on; the result is one of the operands or
    // apart from them.
    unsafe {
        op::reduce(op, ty, left[1..].as_ptr(), out[1..].as_mut_ptr(), count).unwrap();
        verify(&out, &left, &right, "into right");
        out = left.clone();
        let at = out[1..].as_mut_ptr();
        kernel(at, right[1..].as_ptr(), at, count);
        verify(&out, &left, &right, "into left");
        out = other;
        kernel(left[1..].as_ptr(), right[1..].as_ptr(), out[1..].as_mut_ptr(), count);
        verify(&out, &left, &right, "apart");
        out = left.clone();
        let at = out[1..].as_mut_ptr();
        kernel(at, at, at, count);
        verify(&out, &left, &left, "all the same");
    }
}

#[test]
fn bytes_between_and_behind_a_pairs_fields_are_kept() {
    let mut inout = [0x11u8; 16];
    inout[..8].copy_from_slice(&1.0f64.to_le_bytes());
    let left = [0x22u8; 16];
    let mut left_pair = left;
    left_pair[..8].copy_from_slice(&5.0f64.to_le_bytes());
    // SAFETY: one element of 16 bytes each.
    unsafe { op::reduce(abi::MAXLOC, abi::DOUBLE_INT, left_pair.as_ptr(), inout.as_mut_ptr(), 1) }.unwrap();
    assert_eq!(&inout[..12], &left_pair[..12]);
    assert_eq!(&inout[12..], &[0x11; 4], "padding");
}

#[test]
fn true_of_a_fortran_compiler_stays_as_it_is() {
    for truth in [1u32, u32::MAX] {
        for (op, left, right, expected) in [
            (abi::LAND, truth, truth, truth),
            (abi::LAND, truth, 0, 0),
            (abi::LOR, 0, truth, truth),
            (abi::LXOR, truth, 0, truth),
            (abi::LXOR, truth, truth, 0),
        ] {
            let mut inout = right.to_le_bytes();
            // SAFETY: one element of four bytes each.
            unsafe { op::reduce(op, abi::LOGICAL, left.to_le_bytes().as_ptr(), inout.as_mut_ptr(), 1) }
                .unwrap();
            assert_eq!(u32::from_le_bytes(inout), expected);
        }
    }
}

#[test]
fn types_and_operations_that_are_not_predefined() {
    for ty in [abi::DATATYPE_NULL, Datatype(0x1000)] {
        assert_eq!(op::kernel(abi::SUM, ty).unwrap_err().class, abi::ERR_TYPE);
        assert!(!op::allowed(abi::SUM, ty) && !op::allowed_in_accumulate(abi::REPLACE, ty));
    }
    assert_eq!(op::kernel(Op(0x1000), abi::INT).unwrap_err().class, abi::ERR_OP);
    assert!(OPS.iter().all(|&op| op::is_predefined(op)) && !op::is_predefined(abi::OP_NULL));
}
