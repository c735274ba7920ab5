//! The set-up phase: coarse levels are chosen, and interpolated to and from.
//!
//! ```text
//!   each level   allreduce twice, strengths, boundaries twice, allreduce
//!                rounds of coarsening:  boundary three times, allreduce
//!                agree (MPI_Scan and two MPI_Bcast number the coarse points)
//!                boundary twice, the neighbours' rows and points, two lists
//!                interpolation, boundary, coarse points, two lists
//!                boundary, the neighbours' rows of it, product, what was multiplied, two lists
//!   a list       asks neighbours, which answer; agree that no rank asks any more
//! ```
//!
//! From the same live run as the iteration. Its rounds of coarsening end when no rank has points left; how many more there are in a
//! larger job is not known, so there are as many. The live run finds by `MPI_Iprobe` and `MPI_Testall` that a list is whole, in a
//! tree of its own. Computing is in the iteration's microseconds: the recording of the set-up, in which ranks shared two cores, took
//! twice as long for an iteration, and all its times are less by that.

use super::plan::{Action, Messages};

/// A level of the live run.
struct Level {
    /// Rounds of coarsening.
    rounds: u32,
    /// Four bytes for each point at the boundary.
    boundary: Messages,
    /// The neighbours' rows of the matrix.
    rows: Messages,
    /// Their points, and what is a coarse one.
    points: Messages,
    coarse: Messages,
    /// The neighbours' rows of the interpolation, and what was multiplied with them.
    product: [Messages; 2],
    /// Microseconds of computing: strengths, all rounds of coarsening, interpolation, the product of three matrices.
    computing: [f64; 4],
}

const LEVELS: [Level; 7] = [
    Level {
        rounds: 4,
        boundary: [6_400, 0, 0],
        rows: [72_716, 0, 0],
        points: [18_616, 0, 0],
        coarse: [3_170, 125, 0],
        product: [[6_400, 0, 0], [48_711, 0, 0]],
        computing: [9_112.0, 367.0, 3_632.0, 11_336.0],
    },
    Level {
        rounds: 7,
        boundary: [5_910, 152, 0],
        rows: [104_163, 6_370, 0],
        points: [11_290, 340, 0],
        coarse: [1_224, 396, 18],
        product: [[63_526, 1_670, 0], [86_894, 1_594, 0]],
        computing: [6_355.0, 897.0, 12_755.0, 12_865.0],
    },
    Level {
        rounds: 7,
        boundary: [2_464, 198, 13],
        rows: [128_480, 18_537, 1_795],
        points: [6_351, 508, 40],
        coarse: [706, 548, 94],
        product: [[27_213, 2_064, 141], [32_259, 1_752, 51]],
        computing: [3_056.0, 298.0, 14_849.0, 5_953.0],
    },
    Level {
        rounds: 6,
        boundary: [836, 152, 19],
        rows: [74_249, 20_520, 3_658],
        points: [2_372, 424, 48],
        coarse: [414, 448, 188],
        product: [[9_052, 1_591, 158], [11_154, 1_338, 44]],
        computing: [442.0, 74.0, 3_268.0, 1_330.0],
    },
    Level {
        rounds: 6,
        boundary: [321, 118, 28],
        rows: [37_945, 20_306, 7_558],
        points: [857, 324, 80],
        coarse: [172, 301, 282],
        product: [[2_452, 672, 0], [3_486, 1_300, 309]],
        computing: [89.0, 24.0, 862.0, 325.0],
    },
    Level {
        rounds: 5,
        boundary: [72, 57, 30],
        rows: [8_104, 7_126, 4_657],
        points: [124, 106, 64],
        coarse: [3, 18, 46],
        product: [[156, 110, 110], [771, 612, 304]],
        computing: [12.0, 9.0, 126.0, 63.0],
    },
    Level {
        rounds: 3,
        boundary: [10, 9, 9],
        rows: [376, 347, 348],
        points: [16, 15, 14],
        coarse: [5, 6, 6],
        product: [[15, 14, 14], [38, 37, 36]],
        computing: [5.0, 5.0, 15.0, 10.0],
    },
];
/// A question to each neighbour, and its answer.
const QUESTION: Messages = [28; 3];

/// The actions of all levels, each with the distance of the ranks that have points of it.
pub(super) fn actions(strides: &[(usize, u32)]) -> Vec<Action> {
    strides.iter().flat_map(|&(level, stride)| of(&LEVELS[level], stride)).collect()
}

fn of(level: &Level, stride: u32) -> Vec<Action> {
    let exchange = |messages| Action::Exchange { messages, stride };
    let [strengths, coarsening, interpolation, product] = level.computing;
    let boundary = exchange(level.boundary);
    let both = exchange(level.boundary.map(|bytes| 2 * bytes));
    let lists = |asked| [exchange(QUESTION), Action::Agree, exchange(asked), Action::Agree];
    let mut actions =
        vec![Action::Reduce, Action::Reduce, Action::Compute(strengths), both, both, Action::Reduce];
    for _ in 0..level.rounds {
        let round = Action::Compute(coarsening / f64::from(level.rounds));
        actions.extend([boundary, boundary, round, boundary, Action::Reduce]);
    }
    actions.extend([Action::Agree, boundary, boundary, exchange(level.rows), exchange(level.points)]);
    actions.extend(lists(level.coarse));
    actions.extend([Action::Compute(interpolation), boundary, exchange(level.coarse)]);
    actions.extend(lists(level.coarse));
    actions.extend([boundary, exchange(level.product[0])]);
    actions.extend([Action::Compute(product), exchange(level.product[1])]);
    actions.extend(lists(level.coarse));
    actions
}
