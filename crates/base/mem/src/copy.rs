//! One copy routine that is inlined for short messages and calls `memcpy` for the rest.

use core::ptr;

/// Longest copy that is made without a call.
const CALL_ABOVE: usize = 128;

/// Copies `len` bytes.
///
/// One word is moved at once; other lengths up to 32 bytes go through two overlapping fixed-size moves, up to 128
/// through a few of them, which the compiler turns into loads and stores: a short message must not pay for `memcpy`'s
/// dispatch, nor for a call.
///
/// # Safety
/// `src` must be readable and `dst` writable for `len` bytes, and the two ranges must not overlap. Either may
/// be shared with another process: a racing writer makes the bytes unspecified, nothing else.
#[inline(always)]
pub unsafe fn copy_bytes(src: *const u8, dst: *mut u8, len: usize) {
    // SAFETY: each arm moves `len` bytes within the ranges that the caller vouches for; the second move of an
    // arm starts at `len - width`, which is non-negative by the arm's lower bound.
    unsafe {
        if len == 8 {
            one::<u64>(src, dst);
            return;
        }
        // Out of the line of what calls this; it is one jump more.
        core::hint::cold_path();
        if len.wrapping_sub(8) <= 8 {
            ends::<u64>(src, dst, len);
        } else if len > 16 {
            if len > CALL_ABOVE {
                ptr::copy_nonoverlapping(src, dst, len);
            } else if len > 32 {
                // From both ends: no loop, whose counters would take registers from the caller.
                let last = len - 32;
                if len > 64 {
                    one::<[u64; 4]>(src.add(32), dst.add(32));
                    one::<[u64; 4]>(src.add(last - 32), dst.add(last - 32));
                }
                one::<[u64; 4]>(src, dst);
                one::<[u64; 4]>(src.add(last), dst.add(last));
            } else {
                // Not `ends`, which would keep a piece on the stack, and have the caller make a frame for it.
                one::<[u64; 2]>(src, dst);
                one::<[u64; 2]>(src.add(len - 16), dst.add(len - 16));
            }
        } else if len >= 4 {
            ends::<u32>(src, dst, len);
        } else if len >= 2 {
            ends::<u16>(src, dst, len);
        } else if len == 1 {
            dst.write(src.read());
        }
    }
}

/// Moves `size_of::<T>()` bytes.
///
/// # Safety
/// As [`copy_bytes`] with that length.
#[inline(always)]
unsafe fn one<T: Copy>(src: *const u8, dst: *mut u8) {
    // SAFETY: unaligned accesses within the ranges that the caller vouches for.
    unsafe { dst.cast::<T>().write_unaligned(src.cast::<T>().read_unaligned()) };
}

/// Moves the first and the last `size_of::<T>()` bytes of a range that is at most twice as long.
///
/// # Safety
/// As [`copy_bytes`], and `size_of::<T>() <= len <= 2 * size_of::<T>()`.
#[inline(always)]
unsafe fn ends<T: Copy>(src: *const u8, dst: *mut u8, len: usize) {
    let tail = len - size_of::<T>();
    // SAFETY: both moves lie within `len` bytes; unaligned accesses are used.
    unsafe {
        let first = src.cast::<T>().read_unaligned();
        let last = src.add(tail).cast::<T>().read_unaligned();
        dst.cast::<T>().write_unaligned(first);
        dst.add(tail).cast::<T>().write_unaligned(last);
    }
}

#[cfg(test)]
mod tests {
    use super::copy_bytes;

    #[test]
    fn every_short_length_is_copied_exactly() {
        let src: Vec<u8> = (1..=150).collect();
        for len in 0..=src.len() {
            let mut dst = vec![0u8; 152];
            // SAFETY: both vectors hold at least `len` bytes (from index 1 in `dst`).
            unsafe { copy_bytes(src.as_ptr(), dst.as_mut_ptr().add(1), len) };
            assert_eq!(dst[0], 0);
            assert_eq!(&dst[1..=len], &src[..len]);
            assert!(dst[len + 1..].iter().all(|&b| b == 0), "wrote past {len}");
        }
    }
}
