//! Neighbourhood collectives (MPI-5.0 section 8.6): everything to and from the neighbours at once. Blocks
//! of missing neighbours (`MPI_PROC_NULL`) are left alone.
//!
//! Between two processes that are neighbours several times, messages match in the order of the neighbour
//! lists. In a Cartesian topology what a process sends in one direction is received from the opposite one,
//! which matters when both lead to the same process; there the two sends of a dimension are started in
//! reverse.
//!
//! ```text
//!  ring of 2   0 ⇄ 1   0 sends "up" first, which 1 receives from "down", its first source
//! ```

use crate::builder::{Builder, Req};
use crate::params::Params;
use crate::schedule::{Buf, Peer, Ref, Schedule};

/// `MPI_Neighbor_allgather`.
pub fn allgather(p: &Params) -> Schedule {
    exchange(p, |_| Ref::all(Buf::Send), |i| Ref::blocks(Buf::Recv, i, i + 1))
}

/// `MPI_Neighbor_allgatherv`.
pub fn allgather_v(p: &Params) -> Schedule {
    exchange(p, |_| Ref::all(Buf::Send), |i| Ref::block(Buf::RecvBlock, i))
}

/// `MPI_Neighbor_alltoall`.
pub fn alltoall(p: &Params) -> Schedule {
    exchange(p, |i| Ref::blocks(Buf::Send, i, i + 1), |i| Ref::blocks(Buf::Recv, i, i + 1))
}

/// `MPI_Neighbor_alltoallv` and `MPI_Neighbor_alltoallw`.
pub fn alltoall_v(p: &Params) -> Schedule {
    exchange(p, |i| Ref::block(Buf::SendBlock, i), |i| Ref::block(Buf::RecvBlock, i))
}

fn exchange(p: &Params, send: impl Fn(u32) -> Ref, recv: impl Fn(u32) -> Ref) -> Schedule {
    let mut b = Builder::new();
    let mut reqs: Vec<Req> = vec![];
    for (i, &source) in p.neighbours.sources.iter().enumerate() {
        reqs.extend(source.map(|rank| b.recv(Peer::rank(rank), recv(i as u32))));
    }
    let count = p.neighbours.destinations.len();
    for i in 0..count {
        let i = if p.neighbours.cartesian { i ^ 1 } else { i };
        let destination = p.neighbours.destinations.get(i).copied().flatten();
        reqs.extend(destination.map(|rank| b.send(Peer::rank(rank), send(i as u32))));
    }
    b.wait_all(reqs);
    b.finish()
}
