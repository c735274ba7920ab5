//! Kernels against the plainest loop, in both directions, for every length and step they distinguish.

use crate::kernel::{Grid, copy, grid, pairs, transposed};

const MEMORY: usize = 1 << 16;
const STREAM: usize = 1 << 14;

/// A user buffer with its origin in the middle, and a stream.
struct Sides {
    memory: Vec<u8>,
    stream: Vec<u8>,
}

impl Sides {
    fn new() -> Sides {
        let filled = |len: usize, seed: usize| (0..len).map(|i| (i * seed + i / 251) as u8).collect();
        Sides { memory: filled(MEMORY, 7), stream: filled(STREAM, 11) }
    }

    /// What the two sides are after moving the bytes of these `(memory, stream)` positions from the origins.
    fn moved<const PACK: bool>(mut self, bytes: impl Iterator<Item = (isize, usize)>) -> (Vec<u8>, Vec<u8>) {
        for (m, s) in bytes {
            let m = (MEMORY / 2).wrapping_add_signed(m);
            if PACK {
                self.stream[s] = self.memory[m];
            } else {
                self.memory[m] = self.stream[s];
            }
        }
        (self.memory, self.stream)
    }

    fn origins(&mut self) -> (*mut u8, *mut u8) {
        (self.memory.as_mut_ptr().wrapping_add(MEMORY / 2), self.stream.as_mut_ptr())
    }

    fn into_both(self) -> (Vec<u8>, Vec<u8>) {
        (self.memory, self.stream)
    }
}

fn bytes_of(grid: Grid, mem: isize, stream: usize) -> impl Iterator<Item = (isize, usize)> {
    (0..grid.rows * grid.count).flat_map(move |i| {
        let (row, column) = ((i / grid.count) as isize, (i % grid.count) as isize);
        let (m, s) = (mem + row * grid.row_step + column * grid.mem_step, stream + i * grid.stream_step);
        (0..grid.len).map(move |b| (m + b as isize, s + b))
    })
}

/// One row of blocks that follow each other in the stream, from the origins of both sides.
fn row(sides: &mut Sides, mem_step: isize, count: usize, len: usize) -> Grid {
    let (mem, stream) = sides.origins();
    Grid {
        mem,
        mem_step,
        stream,
        stream_step: len,
        count,
        len,
        rows: 1,
        row_step: 0,
        touched: 0,
        is_last: true,
    }
}

fn grids<const PACK: bool>() {
    for len in (1..=34).chain([48, 63, 64, 65, 96, 300]) {
        for mem_step in [len as isize, -(len as isize), 8, 16, 24, 32, 511, -512, 777] {
            for stream_step in [len, len + 3] {
                let overlaps = mem_step.unsigned_abs() < len;
                if overlaps && !PACK {
                    continue; // a receive into overlapping blocks is erroneous
                }
                for (rows, row_step) in [(1, 0), (3, 10_000), (3, -10_000)] {
                    let mut sides = Sides::new();
                    let blocks = row(&mut sides, mem_step, 13, len);
                    let blocks = Grid { stream_step, rows, row_step, ..blocks };
                    // SAFETY: 3 rows of 13 blocks at most 777 bytes apart lie within both sides.
                    unsafe { grid::<PACK>(blocks) };
                    let expected = Sides::new().moved::<PACK>(bytes_of(blocks, 0, 0));
                    assert!(
                        sides.into_both() == expected,
                        "{rows} of {len} every {mem_step} to {stream_step}"
                    );
                }
            }
        }
    }
}

#[test]
fn grids_are_packed_and_unpacked() {
    grids::<true>();
    grids::<false>();
}

fn grids_asked_for<const PACK: bool>() {
    for (len, mem_step) in [(4, 128), (8, 100), (8, 200), (32, -256), (100, 300)] {
        for (touched, is_last) in [(0, true), (1 << 20, true), (1 << 30, true), (1 << 30, false)] {
            for (rows, count, row_step) in [(1, 40, 0), (2, 40, 12_100), (7, 4, 3000)] {
                let mut sides = Sides::new();
                let blocks = row(&mut sides, mem_step, count, len);
                let blocks = Grid { rows, row_step, touched, is_last, ..blocks };
                // SAFETY: these rows of blocks at most 300 bytes apart lie within both sides.
                unsafe { grid::<PACK>(blocks) };
                let expected = Sides::new().moved::<PACK>(bytes_of(blocks, 0, 0));
                assert!(sides.into_both() == expected, "{rows} of {len} every {mem_step} of {touched}");
            }
        }
    }
}

#[test]
fn grids_of_long_messages_are_packed_and_unpacked() {
    grids_asked_for::<true>();
    grids_asked_for::<false>();
}

fn single_blocks<const PACK: bool>() {
    for len in 0..300 {
        let mut sides = Sides::new();
        let (mem, stream) = sides.origins();
        // SAFETY: both sides are longer.
        unsafe { copy::<PACK>(mem, stream, len) };
        let expected = Sides::new().moved::<PACK>((0..len).map(|b| (b as isize, b)));
        assert!(sides.into_both() == expected, "{len}");
    }
}

#[test]
fn blocks_of_any_length_are_moved() {
    single_blocks::<true>();
    single_blocks::<false>();
}

fn all_pairs<const PACK: bool>() {
    for (a, b) in (1..=17).flat_map(|a| (1..=17).map(move |b| (a, b))) {
        for (mem_step, second_at) in [(64, 24), (64, -30), (-600, 20)] {
            let mut sides = Sides::new();
            let first = Grid { stream_step: a + b, ..row(&mut sides, mem_step, 11, a) };
            // SAFETY: 11 pairs at most 600 bytes apart lie within both sides.
            let known = unsafe { pairs::<PACK>(first, second_at, b) };
            let lengths = [1, 2, 4, 8, 12, 16];
            assert_eq!(known, lengths.contains(&a) && lengths.contains(&b));
            let second = Grid { len: b, ..first };
            let bytes = bytes_of(first, 0, 0).chain(bytes_of(second, second_at, a));
            let expected = Sides::new().moved::<PACK>(bytes.take(if known { usize::MAX } else { 0 }));
            assert!(sides.into_both() == expected, "{a} {b}");
        }
    }
}

#[test]
fn pairs_are_moved_or_left_alone() {
    all_pairs::<true>();
    all_pairs::<false>();
}

fn transpositions<const PACK: bool>() {
    for len in [4, 8, 16] {
        for columns in [1, 7, 8, 20] {
            let mut sides = Sides::new();
            let column = row(&mut sides, 1000, 30, len);
            let (across, apart) = (len as isize + 1, 30 * len);
            // SAFETY: 30 rows 1000 bytes apart lie within the memory, 20 columns of 480 bytes within the stream.
            unsafe { transposed::<PACK>(column, columns, across, apart) };
            let bytes = (0..columns).flat_map(|k| bytes_of(column, k as isize * across, k * apart));
            assert!(sides.into_both() == Sides::new().moved::<PACK>(bytes), "{columns} columns of {len}");
        }
    }
}

#[test]
fn columns_are_transposed() {
    transpositions::<true>();
    transpositions::<false>();
}
