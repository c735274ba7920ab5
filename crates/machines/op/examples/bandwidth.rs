//! Prints how close large reductions come to the memory's bandwidth on this machine.
//!
//! The reference is a plain triad `a[i] = b[i] + s * a[i]` over the same arrays, which moves the same bytes
//! (two reads, one write) and hardly computes, as STREAM does it. `cargo run --release -p alhena-op
//! --example bandwidth [MiB]`

use std::time::Instant;

const ROUNDS: usize = 15;

fn main() {
    let mib: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(64);
    let n = mib << 17;
    let mut inout = vec![1.0f64; n];
    let input: Vec<f64> = (0..n).map(|i| 1.0 + i as f64 * 1e-9).collect();
    println!("{mib} MiB per array, best of {ROUNDS}, each in turn with the triad");
    for (name, op, ty) in [
        ("sum of double", abi::SUM, abi::DOUBLE),
        ("sum of float", abi::SUM, abi::FLOAT),
        ("sum of int", abi::SUM, abi::INT),
        ("max of double", abi::MAX, abi::DOUBLE),
        ("product of dcomplex", abi::PROD, abi::C_DOUBLE_COMPLEX),
        ("maxloc of double, int", abi::MAXLOC, abi::DOUBLE_INT),
    ] {
        let count = n * 8 / extent(ty);
        let kernel = op::kernel(op, ty).expect("an allowed pair");
        let (mut rate, mut reference) = (0f64, 0f64);
        for _ in 0..ROUNDS {
            reference = reference.max(measure(n, || triad(&input, &mut inout)));
            // SAFETY: both vectors hold `count` elements and are different ones.
            let sum = || unsafe {
                kernel(input.as_ptr().cast(), inout.as_ptr().cast(), inout.as_mut_ptr().cast(), count)
            };
            rate = rate.max(measure(n, sum));
        }
        println!("{name:24} {rate:6.2} GB/s   {:.2} of the triad's {reference:.2}", rate / reference);
    }
}

fn extent(ty: abi::Datatype) -> usize {
    match ty {
        abi::FLOAT | abi::INT => 4,
        abi::C_DOUBLE_COMPLEX | abi::DOUBLE_INT => 16,
        _ => 8,
    }
}

/// Bytes read and written per second by one run over `n` doubles, in GB/s.
fn measure(n: usize, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    (24 * n) as f64 / start.elapsed().as_secs_f64() / 1e9
}

#[inline(never)]
fn triad(b: &[f64], a: &mut [f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a = b + 1e-3 * *a);
}
