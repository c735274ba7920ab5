//! Lengths of arrays that C functions know by themselves. What cannot be asked has no elements; the call reports why.

use crate::library;
use crate::place::P;

unsafe extern "C" {
    fn PMPI_Comm_test_inter(comm: usize, flag: P) -> i32;
    fn PMPI_Comm_remote_size(comm: usize, size: P) -> i32;
    fn PMPI_Comm_size(comm: usize, size: P) -> i32;
    fn PMPI_Comm_rank(comm: usize, rank: P) -> i32;
    fn PMPI_Topo_test(comm: usize, status: P) -> i32;
    fn PMPI_Cartdim_get(comm: usize, dimensions: P) -> i32;
    fn PMPI_Graph_neighbors_count(comm: usize, rank: i32, count: P) -> i32;
    fn PMPI_Dist_graph_neighbors_count(comm: usize, sources: P, destinations: P, weighted: P) -> i32;
}

fn ask(question: impl FnOnce(P) -> i32) -> i64 {
    let mut answer = 0_i32;
    match question(&raw mut answer as P) {
        library::SUCCESS => i64::from(answer),
        _ => 0,
    }
}

/// The processes that a collective call exchanges data with.
pub fn peers(comm: usize) -> i64 {
    // SAFETY: the answer has a place of its own, here and below.
    let inter = ask(|answer| unsafe { PMPI_Comm_test_inter(comm, answer) }) != 0;
    // SAFETY: as above.
    ask(|answer| unsafe {
        if inter { PMPI_Comm_remote_size(comm, answer) } else { PMPI_Comm_size(comm, answer) }
    })
}

/// The neighbours that data comes from and goes to.
pub fn neighbours(comm: usize) -> (i64, i64) {
    // SAFETY: as above.
    let topology = ask(|answer| unsafe { PMPI_Topo_test(comm, answer) }) as i32;
    match topology {
        library::CART => (2 * dimensions(comm), 2 * dimensions(comm)),
        library::GRAPH => {
            // SAFETY: as above.
            let rank = ask(|answer| unsafe { PMPI_Comm_rank(comm, answer) }) as i32;
            // SAFETY: as above.
            let count = ask(|answer| unsafe { PMPI_Graph_neighbors_count(comm, rank, answer) });
            (count, count)
        }
        library::DIST_GRAPH => {
            let (mut sources, mut destinations, mut weighted) = (0_i32, 0_i32, 0_i32);
            // SAFETY: as above.
            unsafe {
                PMPI_Dist_graph_neighbors_count(
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

/// The dimensions of a Cartesian topology.
pub fn dimensions(comm: usize) -> i64 {
    // SAFETY: as above.
    ask(|answer| unsafe { PMPI_Cartdim_get(comm, answer) })
}

/// The commands to start, which the root alone knows.
pub fn commands(count: i32, root: i32, comm: usize) -> i64 {
    // SAFETY: as above.
    let rank = ask(|answer| unsafe { PMPI_Comm_rank(comm, answer) });
    if rank == i64::from(root) { i64::from(count) } else { 0 }
}
