//! Inter-communicators (MPI-5.0 section 6.2.3): what one group contributes ends up in the other.
//!
//! The groups are bridged by their ranks 0, the *leaders*; within a group data climbs and descends binomial
//! trees. Peers of the own group are local ([`Peer::local`]), all others remote. Calls whose blocks differ
//! in size or type go straight from process to process.
//!
//! ```text
//!   group A                        group B
//!   a1 ─┐                          ┌─ b1
//!   a2 ─┼─→ a0 (leader) ═══ b0 (leader) ─┼─→ b2
//!   a3 ─┘                          └─ b3
//! ```

use super::reduce_scatter::{BY_COUNTS, Cut, EQUAL};
use super::{
    barrier as intra_barrier, bcast as intra_bcast, gather as intra_gather, reduce as intra_reduce,
    scatter as intra_scatter,
};
use crate::builder::{Builder, Group};
use crate::params::{Params, Root};
use crate::schedule::{Buf, Peer, Ref, Schedule};
use crate::tree::{self, Node};

const LEADER: Peer = Peer::rank(0);

fn remote_size(p: &Params) -> u32 {
    p.remote.unwrap_or(0)
}

fn local_tree(g: &Group) -> Node {
    tree::knomial(g.me, g.size, 0, 2)
}

/// The leader's data goes to its group.
fn spread(b: &mut Builder, g: Group, data: Ref) {
    intra_bcast::emit_tree(b, g, &local_tree(&g), |_| data, 1);
}

/// Reports to the leader, the leaders meet, release.
///
/// ```text
///  a* → a0 ⇄ b0 ← b*, then a0 → a*, b0 → b*
/// ```
pub fn barrier(p: &Params) -> Schedule {
    let g = Group::own(p);
    let node = local_tree(&g);
    let mut b = Builder::new();
    intra_barrier::emit_report(&mut b, g, &node);
    if g.me == 0 {
        b.exchange(LEADER, Ref::SIGNAL, LEADER, Ref::SIGNAL);
    }
    intra_barrier::emit_release(&mut b, g, &node);
    b.finish()
}

/// The root sends to the other group's leader, which broadcasts.
///
/// ```text
///  a(root) → b0 → b*
/// ```
pub fn bcast(p: &Params) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    let data = Ref::all(Buf::Recv);
    match p.root {
        Root::Me => b.send_now(LEADER, data),
        Root::Elsewhere => {}
        Root::Rank(root) => {
            if g.me == 0 {
                b.recv_now(Peer::rank(root), data);
            }
            spread(&mut b, g, data);
        }
    }
    b.finish()
}

/// The contributing group gathers at its leader, which sends all blocks to the root.
///
/// ```text
///  b* → b0 → a(root)
/// ```
pub fn gather(p: &Params) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    match p.root {
        Root::Me => b.recv_now(LEADER, Ref::blocks(Buf::Recv, 0, remote_size(p))),
        Root::Elsewhere => {}
        Root::Rank(root) => {
            let run = intra_gather::emit_collect(&mut b, g, Ref::all(Buf::Send));
            let to = local_tree(&g).parent.map_or(Peer::rank(root), |parent| g.peer(parent));
            b.send_now(to, run);
        }
    }
    b.finish()
}

/// Every rank sends straight to the root.
pub fn gather_v(p: &Params) -> Schedule {
    let mut b = Builder::new();
    match p.root {
        Root::Me => {
            let each = 0..remote_size(p);
            let reqs: Vec<_> = each.map(|i| b.recv(Peer::rank(i), Ref::block(Buf::RecvBlock, i))).collect();
            b.wait_all(reqs);
        }
        Root::Elsewhere => {}
        Root::Rank(root) => b.send_now(Peer::rank(root), Ref::all(Buf::Send)),
    }
    b.finish()
}

/// The root sends all blocks to the other group's leader, which scatters them.
///
/// ```text
///  a(root) → b0 → b*
/// ```
pub fn scatter(p: &Params) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    match p.root {
        Root::Me => b.send_now(LEADER, Ref::blocks(Buf::Send, 0, remote_size(p))),
        Root::Elsewhere => {}
        Root::Rank(root) => {
            let from = local_tree(&g).parent.map_or(Peer::rank(root), |parent| g.peer(parent));
            let len = tree::subtree(g.me, g.size);
            if len == 1 {
                b.recv_now(from, Ref::all(Buf::Recv));
            } else {
                let packed = b.packed();
                b.recv_now(from, Ref::blocks(packed, 0, len));
                intra_scatter::emit_distribute(&mut b, g, packed);
            }
        }
    }
    b.finish()
}

/// The root sends straight to every rank.
pub fn scatter_v(p: &Params) -> Schedule {
    let mut b = Builder::new();
    match p.root {
        Root::Me => {
            let each = 0..remote_size(p);
            let reqs: Vec<_> = each.map(|i| b.send(Peer::rank(i), Ref::block(Buf::SendBlock, i))).collect();
            b.wait_all(reqs);
        }
        Root::Elsewhere => {}
        Root::Rank(root) => b.recv_now(Peer::rank(root), Ref::all(Buf::Recv)),
    }
    b.finish()
}

/// Each group gathers at its leader; the leaders exchange; each broadcasts what it got.
///
/// ```text
///  a* → a0 ⇄ b0 ← b*, then a0 → a*, b0 → b*
/// ```
pub fn allgather(p: &Params) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    let run = intra_gather::emit_collect(&mut b, g, Ref::all(Buf::Send));
    let all = Ref::blocks(Buf::Recv, 0, remote_size(p));
    match local_tree(&g).parent {
        Some(parent) => b.send_now(g.peer(parent), run),
        None => b.exchange(LEADER, run, LEADER, all),
    }
    spread(&mut b, g, all);
    b.finish()
}

/// Every rank sends its block to every rank of the other group.
pub fn allgather_v(p: &Params) -> Schedule {
    each_to_each(p, |_| Ref::all(Buf::Send), |i| Ref::block(Buf::RecvBlock, i))
}

/// Every rank sends block `i` to rank `i` of the other group.
pub fn alltoall(p: &Params) -> Schedule {
    each_to_each(p, |i| Ref::blocks(Buf::Send, i, i + 1), |i| Ref::blocks(Buf::Recv, i, i + 1))
}

/// [`alltoall`] for blocks of different sizes or types.
pub fn alltoall_v(p: &Params) -> Schedule {
    each_to_each(p, |i| Ref::block(Buf::SendBlock, i), |i| Ref::block(Buf::RecvBlock, i))
}

fn each_to_each(p: &Params, send: impl Fn(u32) -> Ref, recv: impl Fn(u32) -> Ref) -> Schedule {
    let n = remote_size(p);
    let mut b = Builder::new();
    // Starting at the own rank spreads the load.
    let order = |i: u32| ((u64::from(i) + u64::from(p.rank)) % u64::from(n)) as u32;
    let mut reqs: Vec<_> = (0..n).map(order).map(|i| b.recv(Peer::rank(i), recv(i))).collect();
    reqs.extend((0..n).map(order).map(|i| b.send(Peer::rank(i), send(i))));
    b.wait_all(reqs);
    b.finish()
}

/// Reduces the own group's vectors at the leader; returns where they are there.
fn reduce_to_leader(b: &mut Builder, g: Group, p: &Params, vector: impl Fn(Buf) -> Ref) -> Option<Ref> {
    let result = (g.me == 0).then(|| b.typed());
    let io = intra_reduce::Io { mine: vector(Buf::Send), result };
    intra_reduce::emit_tree(b, g, &local_tree(&g), &io, 1, p.commutative);
    result.map(vector)
}

/// The contributing group reduces at its leader, which sends to the root.
///
/// ```text
///  b* → b0 → a(root)
/// ```
pub fn reduce(p: &Params) -> Schedule {
    let mut b = Builder::new();
    match p.root {
        Root::Me => b.recv_now(LEADER, Ref::all(Buf::Recv)),
        Root::Elsewhere => {}
        Root::Rank(root) => {
            if let Some(sum) = reduce_to_leader(&mut b, Group::own(p), p, Ref::all) {
                b.send_now(Peer::rank(root), sum);
            }
        }
    }
    b.finish()
}

/// Each group reduces at its leader; the leaders exchange; each broadcasts the other group's result.
///
/// ```text
///  a* → a0 ⇄ b0 ← b*, then a0 → a*, b0 → b*
/// ```
pub fn allreduce(p: &Params) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    let result = Ref::all(Buf::Recv);
    if let Some(sum) = reduce_to_leader(&mut b, g, p, Ref::all) {
        b.exchange(LEADER, sum, LEADER, result);
    }
    spread(&mut b, g, result);
    b.finish()
}

/// As [`allreduce`], but each leader scatters by the receive counts of its group.
pub fn reduce_scatter(p: &Params) -> Schedule {
    reduce_and_scatter(p, BY_COUNTS)
}

/// As [`reduce_scatter`], with equal blocks.
pub fn reduce_scatter_block(p: &Params) -> Schedule {
    reduce_and_scatter(p, EQUAL)
}

fn reduce_and_scatter(p: &Params, cut: Cut) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    let block = |buf, i| cut.run(buf, i, i + 1);
    let own = block(Buf::Recv, g.me).at_start_of(Buf::Recv);
    match reduce_to_leader(&mut b, g, p, |buf| cut.run(buf, 0, g.size)) {
        Some(sum) => {
            // Both vectors are equally long, however the groups cut them.
            let arrived = b.typed();
            b.exchange(LEADER, sum, LEADER, sum.within(arrived));
            let sends: Vec<_> = (1..g.size).map(|i| b.send(g.peer(i), block(arrived, i))).collect();
            b.copy(own, block(arrived, 0));
            b.wait_all(sends);
        }
        None => b.recv_now(g.peer(0), own),
    }
    b.finish()
}
