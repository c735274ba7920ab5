//! Lengths of arrays that the library knows by itself. What cannot be asked has no elements; the call reports why.

use crate::P;
use crate::call;
use crate::engine::row;

macro_rules! ask {
    ($row:ident($($given:expr => $kind:ty),*)) => {{
        let mut answer = 0_i32;
        // SAFETY: the answer has a place of its own.
        let code = unsafe { call!(row::$row, ($($kind,)* P) -> i32)($($given,)* &raw mut answer as P) };
        if code == abi::SUCCESS { i64::from(answer) } else { 0 }
    }};
}

/// The processes that a collective call exchanges data with.
pub fn peers(comm: usize) -> i64 {
    if ask!(Comm_test_inter(comm => usize)) != 0 {
        return ask!(Comm_remote_size(comm => usize));
    }
    ask!(Comm_size(comm => usize))
}

/// The neighbours that data comes from and goes to.
pub fn neighbours(comm: usize) -> (i64, i64) {
    match ask!(Topo_test(comm => usize)) as i32 {
        abi::CART => {
            let dimensions = ask!(Cartdim_get(comm => usize));
            (2 * dimensions, 2 * dimensions)
        }
        abi::GRAPH => {
            let rank = ask!(Comm_rank(comm => usize)) as i32;
            let count = ask!(Graph_neighbors_count(comm => usize, rank => i32));
            (count, count)
        }
        abi::DIST_GRAPH => {
            let (mut sources, mut destinations, mut weighted) = (0_i32, 0_i32, 0_i32);
            // SAFETY: the answers have places of their own.
            unsafe {
                call!(row::Dist_graph_neighbors_count, (usize, P, P, P) -> i32)(
                    comm,
                    &raw mut sources as P,
                    &raw mut destinations as P,
                    &raw mut weighted as P,
                );
            }
            (i64::from(sources), i64::from(destinations))
        }
        _ => (0, 0),
    }
}

/// The commands to start, which the root alone knows.
pub fn commands(count: i32, root: i32, comm: usize) -> i64 {
    if ask!(Comm_rank(comm => usize)) == i64::from(root) { i64::from(count) } else { 0 }
}

/// As many elements as the program states.
///
/// # Safety
/// Null or the program's.
pub unsafe fn given(count: P) -> i64 {
    // SAFETY: the caller's promise.
    if count.is_null() { 0 } else { i64::from(unsafe { *count.cast::<i32>() }) }
}

/// All numbers of an array together, without those below zero.
///
/// # Safety
/// Null, or the program's with as many numbers.
pub unsafe fn sum(numbers: P, length: i64) -> i64 {
    let length = crate::list::length(numbers, length);
    // SAFETY: the caller's promise.
    (0..length).map(|at| i64::from(unsafe { *numbers.cast::<i32>().add(at) }.max(0))).sum()
}
