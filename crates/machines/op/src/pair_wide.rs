//! `MPI_MINLOC` and `MPI_MAXLOC` on the pairs that fill a 64-byte vector, without branches.
//!
//! ```text
//!   lanes               v0   i0   v1   i1   …        a value in the even lanes, its index in the odd ones
//!   values less          x    .    x    .            two comparisons of all lanes;
//!   indices less         .    x    .    x            the bits of the indices move one place down
//!   left is chosen       x         x                 a better value, or no worse one and the lower index
//!   lanes from left      x    x    x    x            the choice, for both lanes of the pair
//! ```
//!
//! Bytes between value and index and behind the index are masked off: neither read nor written.

use crate::kernel::Kernel;
use crate::pair::{Choose, Pair, select};
use core::arch::x86_64::*;

/// Bytes of a vector.
const VECTOR: usize = 64;

/// Pairs that fill a vector: two lanes each, of half a pair's size.
///
/// # Safety
/// A vector's bytes outside `DATA` belong to no value and no index.
pub(crate) unsafe trait Wide {
    /// The bytes of a vector that belong to values and indices, one bit each.
    const DATA: u64;

    /// Bits at the even lanes: where the value in `a` is less than that in `b`. Others mean nothing.
    ///
    /// # Safety
    /// The processor has AVX-512 F, BW, DQ and VL.
    unsafe fn values_less(a: __m512i, b: __m512i) -> u16;

    /// Bits at the odd lanes: where the index in `a` is less than that in `b`. Others mean nothing.
    ///
    /// # Safety
    /// The processor has AVX-512 F, BW, DQ and VL.
    unsafe fn indices_less(a: __m512i, b: __m512i) -> u16;
}

/// The kernel that looks for the lesser value if `LEAST`, for the greater one otherwise; `None` if this processor
/// lacks what it needs. `C` must choose by the same rule.
pub(crate) fn kernel<V: Copy, I: Copy, C: Choose<V, I>, const LEAST: bool>() -> Option<Kernel>
where
    Pair<V, I>: Wide,
{
    let possible = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    possible.then_some(wide::<V, I, C, LEAST>)
}

/// See [`Kernel`]; the processor has AVX-512 F, BW, DQ and VL.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn wide<V: Copy, I: Copy, C: Choose<V, I>, const LEAST: bool>(
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    count: usize,
) where
    Pair<V, I>: Wide,
{
    let size = size_of::<Pair<V, I>>();
    let whole = count * size / VECTOR * VECTOR;
    for at in (0..whole).step_by(VECTOR) {
        // SAFETY: the caller vouches for the data of all pairs in these 64 bytes, and nothing else is touched. Both
        // operands are read before the result is written.
        unsafe {
            let l = _mm512_maskz_loadu_epi8(Pair::DATA, left.add(at).cast());
            let r = _mm512_maskz_loadu_epi8(Pair::DATA, right.add(at).cast());
            let (less, greater) = (Pair::values_less(l, r), Pair::values_less(r, l));
            let (better, worse) = if LEAST { (less, greater) } else { (greater, less) };
            let chosen = (better | (!worse & (Pair::indices_less(l, r) >> 1))) & 0x5555;
            let lanes = chosen | chosen << 1;
            let result = match size {
                8 => _mm512_mask_blend_epi32(lanes, r, l),
                _ => _mm512_mask_blend_epi64(lanes as u8, r, l),
            };
            _mm512_mask_storeu_epi8(out.add(at).cast(), Pair::DATA, result);
        }
    }
    // SAFETY: the caller's contract, for the pairs that are left.
    unsafe { select::<V, I, C>(left.add(whole), right.add(whole), out.add(whole), count - whole / size) }
}

/// States how the pairs of two types lie in a vector and compare.
macro_rules! wide {
    ($(($value:ty, $index:ty) $data:literal |$a:ident, $b:ident| values $values:expr, indices $indices:expr;)*) => {$(
        // SAFETY: the bits are those of C's structure of the two, repeated.
        unsafe impl Wide for Pair<$value, $index> {
            const DATA: u64 = $data;

            #[inline(always)]
            unsafe fn values_less($a: __m512i, $b: __m512i) -> u16 {
                // SAFETY: the caller's promise about the processor.
                u16::from(unsafe { $values })
            }

            #[inline(always)]
            unsafe fn indices_less($a: __m512i, $b: __m512i) -> u16 {
                // SAFETY: the caller's promise about the processor.
                u16::from(unsafe { $indices })
            }
        }
    )*};
}

wide! {
    (i32, i32) 0xffff_ffff_ffff_ffff |a, b|
        values _mm512_cmplt_epi32_mask(a, b), indices _mm512_cmplt_epi32_mask(a, b);
    (f32, i32) 0xffff_ffff_ffff_ffff |a, b|
        values singles_less(a, b), indices _mm512_cmplt_epi32_mask(a, b);
    (f32, f32) 0xffff_ffff_ffff_ffff |a, b|
        values singles_less(a, b), indices singles_less(a, b);
    (f64, f64) 0xffff_ffff_ffff_ffff |a, b|
        values doubles_less(a, b), indices doubles_less(a, b);
    // Where a number is narrower than its lane, it is compared at the lane's upper end.
    (i16, i32) 0xf3f3_f3f3_f3f3_f3f3 |a, b|
        values _mm512_cmplt_epi32_mask(_mm512_slli_epi32::<16>(a), _mm512_slli_epi32::<16>(b)),
        indices _mm512_cmplt_epi32_mask(a, b);
    (i64, i32) 0x0fff_0fff_0fff_0fff |a, b|
        values _mm512_cmplt_epi64_mask(a, b),
        indices _mm512_cmplt_epi64_mask(_mm512_slli_epi64::<32>(a), _mm512_slli_epi64::<32>(b));
    (f64, i32) 0x0fff_0fff_0fff_0fff |a, b|
        values doubles_less(a, b),
        indices _mm512_cmplt_epi64_mask(_mm512_slli_epi64::<32>(a), _mm512_slli_epi64::<32>(b));
}

#[inline(always)]
unsafe fn singles_less(a: __m512i, b: __m512i) -> u16 {
    // SAFETY: the caller's promise about the processor.
    unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)) }
}

#[inline(always)]
unsafe fn doubles_less(a: __m512i, b: __m512i) -> u8 {
    // SAFETY: the caller's promise about the processor.
    unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Ordered;
    use crate::pair::{Maximum, Minimum};

    /// Compares with the loop over single pairs: on few different values, so that many are equal, and on every bit
    /// pattern of floating-point numbers; at every length, in a buffer of its own and in place.
    fn agree<V: Ordered, I: Ordered, C: Choose<V, I>, const LEAST: bool>()
    where
        Pair<V, I>: Wide,
    {
        let Some(kernel) = kernel::<V, I, C, LEAST>() else { return };
        let bytes = |seed: u32, mask: u8| -> Vec<u8> {
            (0..1024u32).map(|i| ((i ^ seed).wrapping_mul(2_654_435_761) >> 13) as u8 & mask).collect()
        };
        for (mask, count) in [1, 0xff].into_iter().flat_map(|mask| (0..40).map(move |count| (mask, count))) {
            let (left, right) = (bytes(1, mask), bytes(977, mask));
            let (mut expected, mut seen) = (bytes(5, 0xff), bytes(5, 0xff));
            let mut in_place = right.clone();
            // SAFETY: all buffers hold more than 40 pairs, and the processor has what the kernel needs.
            unsafe {
                select::<V, I, C>(left.as_ptr(), right.as_ptr(), expected.as_mut_ptr(), count);
                kernel(left.as_ptr(), right.as_ptr(), seen.as_mut_ptr(), count);
                let out = in_place.as_mut_ptr();
                kernel(left.as_ptr(), out, out, count);
                assert!(expected == seen, "{} {count}", std::any::type_name::<C>());
                select::<V, I, C>(left.as_ptr(), right.as_ptr(), expected.as_mut_ptr(), count);
            }
            let mut expected_in_place = right.clone();
            let out = expected_in_place.as_mut_ptr();
            // SAFETY: as above.
            unsafe { select::<V, I, C>(left.as_ptr(), out, out, count) };
            assert!(expected_in_place == in_place);
        }
    }

    fn both<V: Ordered, I: Ordered>()
    where
        Pair<V, I>: Wide,
    {
        agree::<V, I, Minimum, true>();
        agree::<V, I, Maximum, false>();
    }

    #[test]
    fn vectors_and_single_pairs_give_the_same() {
        both::<i32, i32>();
        both::<f32, i32>();
        both::<f32, f32>();
        both::<f64, f64>();
        both::<i16, i32>();
        both::<i64, i32>();
        both::<f64, i32>();
    }
}
