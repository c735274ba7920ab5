//! The loops, once per instruction set.
//!
//! One generic loop is compiled three times: for the SSE2 baseline, AVX2 and AVX-512; the compiler
//! vectorises each. Elements are read and written as packed structures, since MPI buffers need not be
//! aligned for their type's vector instructions.

use crate::number::Apply;

/// `out[i] = left[i] op right[i]` for `count` elements.
///
/// # Safety
/// `left` and `right` are readable and `out` is writable for `count` elements of the kernel's type, extents
/// apart, aligned or not. `out` may be `left` or `right`; otherwise it overlaps neither. `left` and `right`
/// may overlap.
pub type Kernel = unsafe fn(left: *const u8, right: *const u8, out: *mut u8, count: usize);

/// An element at any address.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Unaligned<T>(T);

/// The instruction sets that kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Baseline,
}

impl Level {
    /// The best one this processor has; the standard library asks the processor once and remembers.
    fn of_this_processor() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                return Level::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Level::Avx2;
            }
        }
        Level::Baseline
    }
}

/// The kernel of `O` on `T` for this processor.
pub(crate) fn vectorised<T: Copy, O: Apply<T>>() -> Kernel {
    at_level::<T, O>(Level::of_this_processor())
}

fn at_level<T: Copy, O: Apply<T>>(level: Level) -> Kernel {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::<T, O>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<T, O>,
        Level::Baseline => baseline::<T, O>,
    }
}

/// The kernel of `O` on `T` for types that no vector instruction computes with.
pub(crate) fn scalar<T: Copy, O: Apply<T>>() -> Kernel {
    baseline::<T, O>
}

/// See [`Kernel`].
unsafe fn baseline<T: Copy, O: Apply<T>>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the same contract.
    unsafe { run::<T, O>(left, right, out, count) }
}

/// See [`Kernel`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<T: Copy, O: Apply<T>>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the same contract.
    unsafe {
        if count * size_of::<T>() >= STREAM_FROM {
            return baseline::<T, O>(left, right, out, count);
        }
        run::<T, O>(left, right, out, count)
    }
}

/// See [`Kernel`]; the processor has AVX-512 F, BW, DQ and VL.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<T: Copy, O: Apply<T>>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    // SAFETY: the same contract.
    unsafe {
        if count * size_of::<T>() >= STREAM_FROM {
            return baseline::<T, O>(left, right, out, count);
        }
        run::<T, O>(left, right, out, count)
    }
}

/// From this many bytes on, operands come from memory, and the 16-byte loop draws more from it than the
/// wider ones: 37 against 33 (AVX2) and 28 GB/s (AVX-512) on a Zen 4 server; below, the wider ones are up
/// to twice as fast.
#[cfg(target_arch = "x86_64")]
const STREAM_FROM: usize = 8 << 20;
/// Bytes of the widest vector, and of a cache line.
const LINE: usize = 64;
/// Below this many bytes aligning costs more than it saves.
const ALIGN_FROM: usize = 4096;

/// Computes elements one by one up to a cache line boundary of the result, so that the vector loop's stores
/// do not straddle lines.
#[inline(always)]
unsafe fn run<T: Copy, O: Apply<T>>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    let to_line = out.align_offset(LINE);
    let head = if count * size_of::<T>() >= ALIGN_FROM && to_line.is_multiple_of(size_of::<T>()) {
        to_line / size_of::<T>()
    } else {
        0
    };
    let skip = head * size_of::<T>();
    // SAFETY: the caller's contract for the first `head` elements, fewer than `count`, and for the rest.
    unsafe {
        span::<T, O>(left, right, out, head);
        span::<T, O>(left.add(skip), right.add(skip), out.add(skip), count - head);
    }
}

/// Shows the compiler which operands are the same, so that no case falls back to a scalar loop.
#[inline(always)]
unsafe fn span<T: Copy, O: Apply<T>>(left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    let (left, right, out) =
        (left.cast::<Unaligned<T>>(), right.cast::<Unaligned<T>>(), out.cast::<Unaligned<T>>());
    if out.cast_const() == right && left == right {
        // SAFETY: `out` is valid for `count` elements and the only name of them here.
        let out = unsafe { core::slice::from_raw_parts_mut(out, count) };
        out.iter_mut().for_each(|o| *o = Unaligned(O::apply(o.0, o.0)));
    } else if out.cast_const() == right {
        // SAFETY: both are valid for `count` elements, and the result overlaps the left operand nowhere.
        let (left, out) = unsafe {
            (core::slice::from_raw_parts(left, count), core::slice::from_raw_parts_mut(out, count))
        };
        out.iter_mut().zip(left).for_each(|(o, l)| *o = Unaligned(O::apply(l.0, o.0)));
    } else if out.cast_const() == left {
        // SAFETY: both are valid for `count` elements, and the result overlaps the right operand nowhere.
        let (right, out) = unsafe {
            (core::slice::from_raw_parts(right, count), core::slice::from_raw_parts_mut(out, count))
        };
        out.iter_mut().zip(right).for_each(|(o, r)| *o = Unaligned(O::apply(o.0, r.0)));
    } else {
        // SAFETY: all are valid for `count` elements, and the result overlaps no operand.
        let (left, right, out) = unsafe {
            (
                core::slice::from_raw_parts(left, count),
                core::slice::from_raw_parts(right, count),
                core::slice::from_raw_parts_mut(out, count),
            )
        };
        let operands = left.iter().zip(right);
        out.iter_mut().zip(operands).for_each(|(o, (l, r))| *o = Unaligned(O::apply(l.0, r.0)));
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::half::Half;
    use crate::number::{Max, Prod, Sum};

    /// Levels that this processor cannot run are left out.
    fn levels() -> impl Iterator<Item = Level> {
        let best = Level::of_this_processor();
        [Level::Avx512, Level::Avx2, Level::Baseline].into_iter().skip_while(move |&l| l != best)
    }

    fn agree<T: Copy, O: Apply<T>>() {
        let bytes: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let (left, right) = bytes.split_at(2048);
        let count = 2048 / size_of::<T>() - 1;
        let results: Vec<Vec<u8>> = levels()
            .map(|level| {
                let mut out = vec![0u8; 2048];
                // SAFETY: all three hold more than `count` elements; the processor has the level.
                unsafe { at_level::<T, O>(level)(left.as_ptr(), right.as_ptr(), out.as_mut_ptr(), count) };
                out
            })
            .collect();
        assert!(results.windows(2).all(|w| w[0] == w[1]), "{}", std::any::type_name::<(T, O)>());
    }

    #[test]
    fn all_instruction_sets_compute_the_same() {
        agree::<i8, Sum>();
        agree::<u16, Max>();
        agree::<i32, Prod>();
        agree::<u64, Prod>();
        agree::<f32, Max>();
        agree::<f64, Max>();
        agree::<Half, Max>();
    }
}
