//! Copy kernels: the loops that move bytes between a user buffer and a packed stream.
//!
//! All are written once for both directions: `PACK` copies from memory to the stream, otherwise the other way. Every
//! kernel here moves a *grid*: rows of blocks of one length, at a constant step in memory and another in the stream.
//! Lengths and steps that programs use most are compile-time constants, so that each has its own unrolled loop.
//!
//! All functions are unsafe for the same reason: every block must be valid memory on both sides (readable where it is
//! copied from, writable where to), and the blocks in memory must not overlap those in the stream.

/// Blocks of one length to move.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    /// First block in the user buffer, and the step in bytes to the next one.
    pub mem: *mut u8,
    pub mem_step: isize,
    /// First block in the stream, and the step in bytes to the next one.
    pub stream: *mut u8,
    pub stream_step: usize,
    /// Number of blocks in a row.
    pub count: usize,
    /// Bytes in each.
    pub len: usize,
    /// Number of rows, and the step in bytes from one to the next in memory; in the stream they follow each other.
    pub rows: usize,
    pub row_step: isize,
    /// Bytes of memory in lines that the whole message touches, of which the grid may be a small part.
    pub touched: u64,
    /// Whether the message ends with the part that the grid belongs to.
    pub is_last: bool,
}

/// From this step on no two blocks share a line or the line that is fetched along with it. A processor's prefetcher
/// follows the accesses of one load instruction then only if the loop is not unrolled: each copy of the instruction
/// would make steps too wide for it. Measured: 2.4 times faster on 32-byte blocks 2 KiB apart.
const FAR_STEP: usize = 128;
/// Steps at which lines are asked for ahead: from the first on, a processor's own prefetchers lose the track of a long
/// row, or fetch neighbours of its lines that are not needed; from the second on every block has a page of its own, and
/// asking ahead only makes address translation wait.
const ASKED_STEPS: std::ops::Range<usize> = 96..4096;

/// How far ahead blocks far apart are asked for, by the memory that the message touches.
///
/// ```text
///   up to 512 KiB   not at all
///   up to 6 MiB     32 blocks when writing, at steps up to 256
///   more            96 blocks into the second-level cache, 24 into the first
/// ```
///
/// What is asked for into the second-level cache alone takes no neighbouring line along, of which there are as many
/// again. Measured on 8-byte blocks on a Zen 4 server, ns for one block written / read:
///
/// ```text
///   blocks   step   not asked    96 into the first   96 and 24
///    32768    128   1.1  1.1     1.1  1.2            1.2  1.2
///   131072    120   2.4  2.6     1.7  1.8            1.8  1.9
///   131072    128   4.4  4.7     3.4  4.0            3.1  3.6
///   524288    120   10.7 9.3     8.0  9.5            6.0  5.7
///   524288    192   9.9  9.8     8.7  10.4           4.5  4.6
/// ```
const SMALL: u64 = 512 << 10;
const CACHED: u64 = 6 << 20;
const CACHED_STEP: usize = 256;
const CACHED_AHEAD: usize = 32;
const FAR_AHEAD: usize = 96;
const NEAR_AHEAD: usize = 24;
/// Limit of the latter: half of what a first-level cache of 8 ways has lines for where the step is a power of two.
const NEAR_BYTES: usize = 16 << 10;

/// What is asked for while one block is moved.
#[derive(Clone, Copy)]
struct Ahead {
    /// Blocks from it to one that is asked for into the first-level cache, and into the second-level cache only; 0: none.
    near: usize,
    far: usize,
}

impl Grid {
    fn ahead<const PACK: bool>(&self) -> Ahead {
        let step = self.mem_step.unsigned_abs();
        let (near, far) = match self.touched {
            _ if self.touched <= SMALL || !ASKED_STEPS.contains(&step) => (0, 0),
            ..=CACHED if !PACK && (FAR_STEP..=CACHED_STEP).contains(&step) => (CACHED_AHEAD, 0),
            ..=CACHED => (0, 0),
            _ => (NEAR_AHEAD.min(NEAR_BYTES / step), FAR_AHEAD),
        };
        Ahead { near, far }
    }

    /// How far in memory the block lies that comes `ahead` blocks later: in this row, or where rows are shorter than
    /// that, at the same place in a later one.
    fn distance(&self, ahead: usize) -> isize {
        if self.rows == 1 || self.count >= 2 * ahead {
            self.mem_step * ahead as isize
        } else {
            self.row_step * ahead.div_ceil(self.count.max(1)) as isize
        }
    }
}

/// Moves one block.
///
/// # Safety
///
/// See the module.
#[inline(always)]
pub(crate) unsafe fn copy<const PACK: bool>(mem: *mut u8, stream: *mut u8, len: usize) {
    // SAFETY: the caller's promise; each arm moves exactly `len` bytes.
    unsafe {
        match len {
            0 => {}
            1 => fixed::<PACK, 1>(mem, stream),
            2..4 => ends::<PACK, 2>(mem, stream, len),
            4..8 => ends::<PACK, 4>(mem, stream, len),
            8..16 => ends::<PACK, 8>(mem, stream, len),
            16..32 => ends::<PACK, 16>(mem, stream, len),
            32..=64 => ends::<PACK, 32>(mem, stream, len),
            _ => long::<PACK>(mem, stream, len),
        }
    }
}

/// From this length on the system's copy is as fast as any. Measured on a Zen 4 server, rows of 1 to 4 KiB out of the
/// first-level cache: the loop below takes 0.75 of its time, a `rep movs` 1.0 to 1.5.
#[cfg(target_arch = "x86_64")]
const SYSTEM_COPY: usize = 16 << 10;

/// Moves one block of more than 64 bytes.
#[inline]
unsafe fn long<const PACK: bool>(mem: *mut u8, stream: *mut u8, len: usize) {
    // SAFETY: the caller's promise, and the processor has what the wide version needs.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if len < SYSTEM_COPY && is_x86_feature_detected!("avx2") {
            return long_wide::<PACK>(mem, stream, len);
        }
        if PACK {
            stream.copy_from_nonoverlapping(mem, len);
        } else {
            mem.copy_from_nonoverlapping(stream, len);
        }
    }
}

/// As [`long`], by 32-byte vectors, the last ones of which may overlap.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn long_wide<const PACK: bool>(mem: *mut u8, stream: *mut u8, len: usize) {
    const STEP: usize = 128;
    // SAFETY: the caller's promise; all moves lie within the `len` bytes.
    unsafe {
        if len < STEP {
            return ends::<PACK, { STEP / 2 }>(mem, stream, len);
        }
        let last = len - STEP;
        let mut at = 0;
        while at < last {
            fixed::<PACK, STEP>(mem.add(at), stream.add(at));
            at += STEP;
        }
        fixed::<PACK, STEP>(mem.add(last), stream.add(last));
    }
}

/// Moves the blocks of a grid, in any order.
///
/// # Safety
///
/// See the module.
pub(crate) unsafe fn grid<const PACK: bool>(grid: Grid) {
    let step = if grid.stream_step == grid.len { grid.mem_step } else { 0 };
    // SAFETY: the caller's promise; the constants of each arm are the grid's.
    unsafe {
        match (grid.len, step) {
            (4, 8) => stepped::<PACK, 4, 8>(grid),
            (4, 16) => stepped::<PACK, 4, 16>(grid),
            (8, 16) => stepped::<PACK, 8, 16>(grid),
            (8, 24) => stepped::<PACK, 8, 24>(grid),
            (8, 32) => stepped::<PACK, 8, 32>(grid),
            (12, 16) => stepped::<PACK, 12, 16>(grid),
            (1, _) => blocks::<PACK>(grid, |mem, stream| fixed::<PACK, 1>(mem, stream)),
            (2, _) => blocks::<PACK>(grid, |mem, stream| fixed::<PACK, 2>(mem, stream)),
            (4, _) => blocks::<PACK>(grid, |mem, stream| fixed::<PACK, 4>(mem, stream)),
            (8, _) => blocks::<PACK>(grid, |mem, stream| fixed::<PACK, 8>(mem, stream)),
            (12, _) => blocks::<PACK>(grid, |mem, stream| fixed::<PACK, 12>(mem, stream)),
            (16, _) => blocks::<PACK>(grid, |mem, stream| fixed::<PACK, 16>(mem, stream)),
            (24, _) => blocks::<PACK>(grid, |mem, stream| fixed::<PACK, 24>(mem, stream)),
            (32, _) => blocks::<PACK>(grid, |mem, stream| fixed::<PACK, 32>(mem, stream)),
            (64, _) => blocks::<PACK>(grid, |mem, stream| fixed::<PACK, 64>(mem, stream)),
            (3, _) => blocks::<PACK>(grid, |mem, stream| ends::<PACK, 2>(mem, stream, 3)),
            (5..8, _) => blocks::<PACK>(grid, |mem, stream| ends::<PACK, 4>(mem, stream, grid.len)),
            (9..16, _) => blocks::<PACK>(grid, |mem, stream| ends::<PACK, 8>(mem, stream, grid.len)),
            (17..32, _) => blocks::<PACK>(grid, |mem, stream| ends::<PACK, 16>(mem, stream, grid.len)),
            (33..64, _) => blocks::<PACK>(grid, |mem, stream| ends::<PACK, 32>(mem, stream, grid.len)),
            _ => blocks::<PACK>(grid, |mem, stream| copy::<PACK>(mem, stream, grid.len)),
        }
    }
}

/// Moves a grid of pairs: each block is followed in the stream by one of `second_len` bytes, which lies `second_at` bytes
/// from it in memory. False if the lengths are not among those it knows; nothing is moved then.
///
/// # Safety
///
/// See the module.
pub(crate) unsafe fn pairs<const PACK: bool>(grid: Grid, second_at: isize, second_len: usize) -> bool {
    // SAFETY: the caller's promise; the constant of each arm is the grid's.
    unsafe {
        match grid.len {
            1 => pairs_after::<PACK, 1>(grid, second_at, second_len),
            2 => pairs_after::<PACK, 2>(grid, second_at, second_len),
            4 => pairs_after::<PACK, 4>(grid, second_at, second_len),
            8 => pairs_after::<PACK, 8>(grid, second_at, second_len),
            12 => pairs_after::<PACK, 12>(grid, second_at, second_len),
            16 => pairs_after::<PACK, 16>(grid, second_at, second_len),
            _ => false,
        }
    }
}

unsafe fn pairs_after<const PACK: bool, const A: usize>(
    grid: Grid,
    second_at: isize,
    second_len: usize,
) -> bool {
    // SAFETY: the caller's promise; the constant of each arm is the second length.
    unsafe {
        match second_len {
            1 => pairs_fixed::<PACK, A, 1>(grid, second_at),
            2 => pairs_fixed::<PACK, A, 2>(grid, second_at),
            4 => pairs_fixed::<PACK, A, 4>(grid, second_at),
            8 => pairs_fixed::<PACK, A, 8>(grid, second_at),
            12 => pairs_fixed::<PACK, A, 12>(grid, second_at),
            16 => pairs_fixed::<PACK, A, 16>(grid, second_at),
            _ => return false,
        }
    }
    true
}

#[inline(always)]
unsafe fn pairs_fixed<const PACK: bool, const A: usize, const B: usize>(grid: Grid, second_at: isize) {
    blocks::<PACK>(grid, |mem, stream| {
        // SAFETY: the caller's promise: both blocks of the pair are valid.
        unsafe {
            fixed::<PACK, A>(mem, stream);
            fixed::<PACK, B>(mem.wrapping_offset(second_at), stream.add(A));
        }
    });
}

/// Block lengths that [`transposed`] knows.
pub(crate) fn transposes(len: u64) -> bool {
    matches!(len, 4 | 8 | 16)
}

/// Moves `columns` grids like `column`, each `mem_step` bytes from the one before in memory and `stream_step` in the
/// stream. Several at a time, so that neighbouring columns share the cache lines of a row.
///
/// ```text
///   memory   a0 b0 c0 … a1 b1 c1 …      stream   a0 a1 a2 … b0 b1 b2 … c0 c1 c2 …
/// ```
///
/// # Safety
///
/// See the module. The column's block length must be one that [`transposes`].
pub(crate) unsafe fn transposed<const PACK: bool>(
    column: Grid,
    columns: usize,
    mem_step: isize,
    stream_step: usize,
) {
    // SAFETY: the caller's promise; the constant of each arm is the column's length.
    unsafe {
        match column.len {
            4 => transposed_fixed::<PACK, 4>(column, columns, mem_step, stream_step),
            8 => transposed_fixed::<PACK, 8>(column, columns, mem_step, stream_step),
            _ => transposed_fixed::<PACK, 16>(column, columns, mem_step, stream_step),
        }
    }
}

unsafe fn transposed_fixed<const PACK: bool, const LEN: usize>(
    column: Grid,
    columns: usize,
    mem_step: isize,
    stream_step: usize,
) {
    const TOGETHER: usize = 8;
    let nth = |k: usize| Grid {
        mem: column.mem.wrapping_offset(mem_step * k as isize),
        stream: column.stream.wrapping_add(stream_step * k),
        ..column
    };
    let full = columns / TOGETHER * TOGETHER;
    for first in (0..full).step_by(TOGETHER) {
        blocks::<PACK>(nth(first), |mem, stream| {
            for k in 0..TOGETHER {
                let mem = mem.wrapping_offset(mem_step * k as isize);
                // SAFETY: the caller's promise, for column `first + k`.
                unsafe { fixed::<PACK, LEN>(mem, stream.wrapping_add(stream_step * k)) };
            }
        });
    }
    for k in full..columns {
        // SAFETY: the caller's promise, for column `k`.
        unsafe { grid::<PACK>(nth(k)) };
    }
}

/// Moves `LEN` bytes.
#[inline(always)]
pub(crate) unsafe fn fixed<const PACK: bool, const LEN: usize>(mem: *mut u8, stream: *mut u8) {
    let (mem, stream) = (mem.cast::<[u8; LEN]>(), stream.cast::<[u8; LEN]>());
    // SAFETY: the caller's promise; byte arrays need no alignment.
    unsafe {
        if PACK {
            stream.write(mem.read());
        } else {
            mem.write(stream.read());
        }
    }
}

/// Moves `len` bytes, from `HALF` to twice that, as two blocks that may overlap.
#[inline(always)]
unsafe fn ends<const PACK: bool, const HALF: usize>(mem: *mut u8, stream: *mut u8, len: usize) {
    // SAFETY: the caller's promise; both blocks lie within the `len` bytes.
    unsafe {
        fixed::<PACK, HALF>(mem, stream);
        fixed::<PACK, HALF>(mem.add(len - HALF), stream.add(len - HALF));
    }
}

/// Calls `one` with the two places of each block.
#[inline(always)]
fn blocks<const PACK: bool>(grid: Grid, one: impl Fn(*mut u8, *mut u8)) {
    let Ahead { near, far } = grid.ahead::<PACK>();
    let (near_by, far_off) = (grid.distance(near), grid.distance(far));
    // Behind the last row of a message there is nothing to ask for.
    let unasked = if near == 0 {
        usize::MAX
    } else if grid.rows == 1 && grid.is_last {
        CACHED_AHEAD
    } else {
        0
    };
    let Grid { mem_step, mut stream, stream_step, .. } = grid;
    for row in 0..grid.rows {
        let mut mem = grid.mem.wrapping_offset(grid.row_step * row as isize);
        let mut left = grid.count;
        while left > unasked {
            if far != 0 {
                ask_for_later(mem.wrapping_offset(far_off));
            }
            ask_for::<PACK>(mem.wrapping_offset(near_by));
            one(mem, stream);
            mem = mem.wrapping_offset(mem_step);
            stream = stream.wrapping_add(stream_step);
            left -= 1;
            keep_rolled(&mut left);
        }
        if mem_step.unsigned_abs() < FAR_STEP {
            while left >= 4 {
                one(mem, stream);
                one(mem.wrapping_offset(mem_step), stream.wrapping_add(stream_step));
                one(mem.wrapping_offset(2 * mem_step), stream.wrapping_add(2 * stream_step));
                one(mem.wrapping_offset(3 * mem_step), stream.wrapping_add(3 * stream_step));
                mem = mem.wrapping_offset(4 * mem_step);
                stream = stream.wrapping_add(4 * stream_step);
                left -= 4;
            }
        }
        while left != 0 {
            keep_rolled(&mut left);
            one(mem, stream);
            mem = mem.wrapping_offset(mem_step);
            stream = stream.wrapping_add(stream_step);
            left -= 1;
        }
    }
}

/// Keeps the compiler from seeing how often a loop runs, hence from unrolling it; see [`FAR_STEP`].
#[inline(always)]
fn keep_rolled(left: &mut usize) {
    // SAFETY: the instruction is a comment.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) * left, options(pure, nomem, nostack, preserves_flags))
    };
}

/// Has the line at `mem` fetched, for reading or for writing. An address that is not mapped does no harm.
#[inline(always)]
fn ask_for<const PACK: bool>(mem: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching is a hint that neither faults nor changes anything.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch};
        if PACK {
            _mm_prefetch::<_MM_HINT_T0>(mem.cast());
        } else {
            _mm_prefetch::<_MM_HINT_ET0>(mem.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = mem;
}

/// Has the line at `mem` fetched into the second-level cache only. An address that is not mapped does no harm.
#[inline(always)]
fn ask_for_later(mem: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching is a hint that neither faults nor changes anything.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T2 }>(mem.cast())
    };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = mem;
}

/// Moves a grid whose steps are constants: `STEP` in memory, `LEN` in the stream.
unsafe fn stepped<const PACK: bool, const LEN: usize, const STEP: usize>(grid: Grid) {
    // SAFETY: the caller's promise, and the processor has what the wide version needs.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return stepped_wide::<PACK, LEN, STEP>(grid);
        }
        stepped_any::<PACK, LEN, STEP>(grid);
    }
}

/// As [`stepped`], compiled for 32-byte vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn stepped_wide<const PACK: bool, const LEN: usize, const STEP: usize>(grid: Grid) {
    // SAFETY: the caller's promise.
    unsafe { stepped_any::<PACK, LEN, STEP>(grid) }
}

#[inline(always)]
unsafe fn stepped_any<const PACK: bool, const LEN: usize, const STEP: usize>(grid: Grid) {
    let mut stream = grid.stream;
    for row in 0..grid.rows {
        let mem = grid.mem.wrapping_offset(grid.row_step * row as isize);
        for i in 0..grid.count {
            // SAFETY: the caller's promise, for block `i` of the row.
            unsafe { fixed::<PACK, LEN>(mem.add(i * STEP), stream.add(i * LEN)) };
        }
        stream = stream.wrapping_add(grid.count * LEN);
    }
}
