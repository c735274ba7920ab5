//! Exact sums: order and grouping do not matter, zeros change nothing, and the one rounding is the right one.

use chance::Rng;
use op::reproducible::{Format, Sum, begin, finish, merge, size};

fn finite(random: &mut Rng) -> f64 {
    loop {
        let x = f64::from_bits(random.next());
        if x.is_finite() {
            return x;
        }
    }
}

fn sum<T: Format>(terms: &[T]) -> T {
    let mut words = vec![0; Sum::<T>::LEN];
    let mut sum = Sum::new(&mut words).unwrap();
    terms.iter().for_each(|&t| sum.add(t));
    sum.value()
}

#[test]
fn one_term_is_itself() {
    let mut random = Rng::new(0x51);
    for _ in 0..20_000 {
        let x = finite(&mut random);
        assert_eq!(sum(&[x]).to_bits(), x.to_bits());
        let y = f32::from_bits(random.next() as u32);
        if y.is_finite() {
            assert_eq!(sum(&[y]).to_bits(), y.to_bits());
        }
    }
    for x in [0.0, -0.0, f64::MIN_POSITIVE, f64::MAX, f64::MIN, 5e-324, -5e-324] {
        assert_eq!(sum(&[x]).to_bits(), x.to_bits());
    }
}

#[test]
fn two_terms_are_rounded_as_the_processor_rounds() {
    let mut random = Rng::new(0x52);
    for i in 0..40_000 {
        let a = finite(&mut random);
        let b = match i % 4 {
            0 => finite(&mut random),
            1 => -a,
            // Close exponents, so that rounding and cancellation matter.
            2 => f64::from_bits(a.to_bits() ^ (random.next() & 0x803F_FFFF_FFFF_FFFF)),
            _ => a * f64::from_bits((0x3FF - 54 + random.next() % 4) << 52),
        };
        if !b.is_finite() {
            continue;
        }
        assert_eq!(sum(&[a, b]).to_bits(), (a + b).to_bits(), "{a:e} + {b:e}");
        let (c, d) = (a as f32, b as f32);
        if c.is_finite() && d.is_finite() {
            assert_eq!(sum(&[c, d]).to_bits(), (c + d).to_bits(), "{c:e} + {d:e}");
        }
    }
}

#[test]
fn cancellation_loses_nothing() {
    assert_eq!(sum(&[1e300, 1.0, -1e300]), 1.0);
    assert_eq!(sum(&[1e300, -1e-300, -1e300]), -1e-300);
    assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX, 5e-324]), 5e-324);
    assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
    assert_eq!(sum(&[-f32::MAX, -f32::MAX]), f32::NEG_INFINITY);
    assert_eq!(sum(&[f32::MAX, f32::MAX, -f32::MAX]), f32::MAX);
}

#[test]
fn special_values() {
    assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    assert!(sum(&[1.0, f64::NAN]).is_nan());
    assert_eq!(sum(&[f64::INFINITY, -1e308, -1e308]), f64::INFINITY);
    assert_eq!(sum(&[-0.0f64, -0.0]).to_bits(), (-0.0f64).to_bits());
    assert_eq!(sum(&[-0.0f64, 0.0]).to_bits(), 0);
    assert_eq!(sum(&[1.5f64, -1.5]).to_bits(), 0);
}

/// Integers below 2^53 scaled by one power of two: `i128` arithmetic is the oracle.
#[test]
fn many_terms_against_integers() {
    let mut random = Rng::new(0x53);
    for round in 0..200 {
        let n = 1 + random.next() as usize % 300;
        let exponent = round * 9 - 1000;
        let integers: Vec<i128> = (0..n).map(|_| i128::from(random.next() as i64 >> 11)).collect();
        let scale = |x: f64| x * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
        let terms: Vec<f64> = integers.iter().map(|&i| scale(i as f64)).collect();
        let exact: i128 = integers.iter().sum();
        assert_eq!(sum(&terms), scale(exact as f64), "round {round}");
    }
}

/// The bytes of a reduction over ranks: values permuted, grouped differently, and zeros added.
#[test]
fn order_grouping_and_zeros_do_not_matter() {
    let mut random = Rng::new(0x54);
    for ty in [abi::DOUBLE, abi::C_DOUBLE_COMPLEX] {
        let (count, ranks) = (6, 9);
        let numbers = if ty == abi::DOUBLE { count } else { 2 * count };
        let data: Vec<Vec<f64>> =
            (0..ranks).map(|_| (0..numbers).map(|_| finite(&mut random) / 16.0).collect()).collect();
        let expected = reduce(ty, count, &data, |sums| {
            let first = sums.remove(0);
            sums.drain(..).fold(first, |acc, s| merged(ty, count, s, acc))
        });
        for zeros in 0..3 {
            let mut permuted = data.clone();
            permuted.extend(vec![vec![0.0; numbers]; zeros]);
            for i in (1..permuted.len()).rev() {
                permuted.swap(i, random.next() as usize % (i + 1));
            }
            let got = reduce(ty, count, &permuted, |sums| {
                while sums.len() > 1 {
                    let (a, b) = (sums.remove(0), sums.swap_remove(random.next() as usize % sums.len()));
                    sums.push(merged(ty, count, a, b));
                }
                sums.remove(0)
            });
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&got), bits(&expected));
        }
    }
}

fn reduce(
    ty: abi::Datatype,
    count: usize,
    data: &[Vec<f64>],
    combine: impl FnOnce(&mut Vec<Vec<u64>>) -> Vec<u64>,
) -> Vec<f64> {
    let words = size(ty).unwrap() / 8 * count;
    let mut sums: Vec<Vec<u64>> = data.iter().map(|_| vec![!0; words]).collect();
    for (values, sums) in data.iter().zip(&mut sums) {
        // SAFETY: `count` elements in, `count` sums out.
        unsafe { begin(ty, values.as_ptr().cast(), sums.as_mut_ptr().cast(), count) }.unwrap();
    }
    let total = combine(&mut sums);
    let mut out = data[0].clone();
    // SAFETY: `count` sums in, `count` elements out.
    unsafe { finish(ty, total.as_ptr().cast(), out.as_mut_ptr().cast(), count) }.unwrap();
    out
}

fn merged(ty: abi::Datatype, count: usize, sums: Vec<u64>, mut inout: Vec<u64>) -> Vec<u64> {
    // SAFETY: both are `count` sums.
    unsafe { merge(ty, sums.as_ptr().cast(), inout.as_mut_ptr().cast(), count) }.unwrap();
    inout
}

#[test]
fn types_without_exact_sum() {
    for ty in [abi::INT, abi::LONG_DOUBLE, abi::REAL16, abi::PACKED, abi::FLOAT_INT] {
        assert_eq!(size(ty).unwrap_err().class, abi::ERR_TYPE);
    }
    assert_eq!(size(abi::FLOAT).unwrap(), 56, "fits a shared line");
}
