//! Sums of memory that others may see, in pieces.

use mem::{PeerBytes, UserMem};

/// Bytes that one sum is of: short enough to show where damage is, long enough that sums cost no room.
pub const PIECE: usize = 64 << 10;

/// Bytes that are copied, then summed: the sum is one of bytes that no other process changes meanwhile, and the copy stays in the
/// first cache.
const STEP: usize = 4096;

/// The sum that goes on from `sum` with `bytes`.
pub fn of_bytes(sum: u32, bytes: PeerBytes<'_>) -> u32 {
    let mut copy = [0; STEP];
    (0..bytes.len()).step_by(STEP).fold(sum, |sum, at| {
        let taken = bytes.part(at, STEP).copy_to(&mut copy);
        crc32c::crc32c_append(sum, &copy[..taken])
    })
}

/// As [`of_bytes`], of words, the lowest byte of each first. For headers, in one instruction a word where the processor has it.
#[inline]
pub fn of_words(sum: u32, words: &[u64]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        #[allow(unsafe_code, reason = "an instruction that not every processor has")]
        // SAFETY: this one has it.
        return unsafe { of_words_at_once(sum, words) };
    }
    words.iter().fold(sum, |sum, word| crc32c::crc32c_append(sum, &word.to_le_bytes()))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn of_words_at_once(sum: u32, words: &[u64]) -> u32 {
    let next = |sum, &word| core::arch::x86_64::_mm_crc32_u64(sum, word);
    !(words.iter().fold(u64::from(!sum), next) as u32)
}

/// The sums of the pieces of `len` bytes from `offset` on of what `runs` are together; of fewer bytes where they end before.
pub fn of_runs(runs: &[UserMem], offset: u64, len: u64) -> Vec<u32> {
    let (mut skipped, mut left) = (offset, len);
    let mut sums = Vec::with_capacity(len.div_ceil(PIECE as u64).min(1 << 16) as usize);
    let (mut sum, mut room) = (0, PIECE);
    for run in runs {
        let mut rest = run.part(usize::try_from(skipped).unwrap_or(usize::MAX), run.len());
        skipped = skipped.saturating_sub(run.len() as u64);
        rest = rest.part(0, usize::try_from(left).unwrap_or(usize::MAX));
        left -= rest.len() as u64;
        while !rest.is_empty() {
            let part = rest.part(0, room);
            sum = of_bytes(sum, part.as_bytes());
            room -= part.len();
            rest = rest.part(part.len(), rest.len());
            if room == 0 {
                sums.push(core::mem::take(&mut sum));
                room = PIECE;
            }
        }
    }
    if room < PIECE {
        sums.push(sum);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(bytes: &mut [u8], cuts: &[usize]) -> Vec<UserMem> {
        #[allow(unsafe_code, reason = "the tests keep the bytes")]
        // SAFETY: `bytes` outlives the views in each test.
        let whole = unsafe { UserMem::of(bytes) };
        let ends = cuts.iter().copied().chain([whole.len()]);
        let begins = [0].into_iter().chain(cuts.iter().copied());
        begins.zip(ends).map(|(begin, end)| whole.part(begin, end - begin)).collect()
    }

    #[test]
    fn runs_have_the_sums_of_their_bytes() {
        let mut bytes: Vec<u8> = (0..3 * PIECE + 77).map(|at| (at * 7 % 251) as u8).collect();
        let (offset, len) = (1000, 2 * PIECE + 500);
        let of_slice: Vec<u32> = bytes[offset..offset + len].chunks(PIECE).map(crc32c::crc32c).collect();
        for cuts in [&[][..], &[1, 999, 1000, 1001, PIECE, 2 * PIECE + 3], &[2 * PIECE], &[5, 5, 5]] {
            assert_eq!(of_runs(&runs(&mut bytes, cuts), offset as u64, len as u64), of_slice, "{cuts:?}");
        }
    }

    #[test]
    fn words_have_the_sum_of_their_bytes() {
        let words = [1, u64::MAX, 0x0123_4567_89ab_cdef, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for (sum, most) in [(0, 4), (u32::MAX, 4), (77, 1), (5, 0)] {
            let of_bytes = crc32c::crc32c_append(sum, &bytes[..most * 8]);
            assert_eq!(of_words(sum, &words[..most]), of_bytes);
        }
    }

    #[test]
    fn there_are_no_sums_behind_the_end() {
        let mut bytes = [1; 100];
        let runs = runs(&mut bytes, &[40]);
        assert_eq!(of_runs(&runs, 0, u64::MAX), [crc32c::crc32c(&[1; 100])]);
        assert_eq!(of_runs(&runs, 90, 50), [crc32c::crc32c(&[1; 10])]);
        assert!(of_runs(&runs, u64::MAX, 1).is_empty());
        assert!(of_runs(&runs, 7, 0).is_empty());
    }

    #[test]
    fn a_changed_bit_changes_the_sum_of_its_piece_alone() {
        let mut bytes = vec![0; 3 * PIECE];
        let before = of_runs(&runs(&mut bytes, &[]), 0, u64::MAX);
        bytes[PIECE + 5] ^= 0x10;
        let after = of_runs(&runs(&mut bytes, &[]), 0, u64::MAX);
        assert!(before[0] == after[0] && before[1] != after[1] && before[2] == after[2]);
    }
}
