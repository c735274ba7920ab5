//! Blocks of different sizes, of which a rank knows only its own. Whoever has a block and whoever wants it, who both know
//! its length, choose alike for it: short ones go through the lines, as in [`super::blocks`], long ones in messages.
//!
//! ```text
//!  line of r    table │ for 0 │ for 1 │ … │ for n-1      the short ones; the table tells where each ends
//!  messages                r → i, r → j, …               the others, at the same time
//! ```
//!
//! What a line holds for one rank alone, as in a gather, needs no table.

use super::lines::schedule;
use crate::algorithms::alltoall::emit_swaps;
use crate::builder::Group;
use crate::params::Params;
use crate::port::Side;
use crate::schedule::{Buf, Line, Ref, Schedule, Wake};
use crate::shared::{PAYLOAD, part_limit};

fn send_block(i: u32) -> Ref {
    Ref::block(Buf::SendBlock, i)
}

fn recv_block(i: u32) -> Ref {
    Ref::block(Buf::RecvBlock, i)
}

/// Gather: all publish their blocks, the root reads them.
///
/// ```text
///  r → own line, or message → root
/// ```
pub fn gather_flat(p: &Params) -> Schedule {
    const LIMIT: u32 = PAYLOAD as u32;
    schedule(p, |b, area| {
        let (g, root, round) = (Group::own(p), p.root_rank(), area.round);
        if area.me == root {
            let mut long = vec![];
            for i in area.others() {
                b.if_longer(recv_block(i), LIMIT, |b| long.push(b.recv(g.peer(i), recv_block(i))));
            }
            if !p.in_place {
                b.copy(recv_block(root), Ref::all(Buf::Send));
            }
            for i in area.others() {
                b.unless_longer(recv_block(i), LIMIT, |b| b.await_line(round, Line::Of(i), recv_block(i)));
            }
            b.wait_all(long);
        } else {
            let own = Ref::all(Buf::Send);
            b.unless_longer(own, LIMIT, |b| b.publish(round, area.own(), own, Wake::One(root)));
            b.if_longer(own, LIMIT, |b| b.send_now(g.peer(root), own));
        }
        area.round += 1;
    })
}

/// Scatter: the root publishes all blocks, everybody takes its own.
///
/// ```text
///  root → line, parts for 0 … n-1 → r takes its part;   root → message → r
/// ```
pub fn scatter_flat(p: &Params) -> Schedule {
    schedule(p, |b, area| {
        let (g, root, round, limit) = (Group::own(p), p.root_rank(), area.round, part_limit(area.size));
        if area.me == root {
            let mut long = vec![];
            for i in area.others() {
                b.if_longer(send_block(i), limit, |b| long.push(b.send(g.peer(i), send_block(i))));
            }
            b.publish_parts(round, Side::Send, limit, Wake::All);
            if !p.in_place {
                b.copy(Ref::all(Buf::Recv), send_block(root));
            }
            b.wait_all(long);
        } else {
            let own = Ref::all(Buf::Recv);
            b.unless_longer(own, limit, |b| b.await_part(round, root, own));
            b.if_longer(own, limit, |b| b.recv_now(g.peer(root), own));
        }
        area.round += 1;
    })
}

/// Alltoall: everybody publishes its blocks and takes its own part of all lines.
///
/// ```text
///  r → own line, parts for 0 … n-1; part for r of lines 0 … n-1 → r;   r → message → i
/// ```
pub fn alltoall_all(p: &Params) -> Schedule {
    alltoall(p, false)
}

/// [`alltoall_all`], but nobody looks at a line before the last one is there.
pub fn alltoall_gate(p: &Params) -> Schedule {
    alltoall(p, true)
}

fn alltoall(p: &Params, gate: bool) -> Schedule {
    schedule(p, |b, area| {
        let (g, round, limit) = (Group::own(p), area.round, part_limit(area.size));
        let mut long = vec![];
        if !p.in_place {
            for i in area.others() {
                b.if_longer(recv_block(i), limit, |b| long.push(b.recv(g.peer(i), recv_block(i))));
            }
            for i in area.others() {
                b.if_longer(send_block(i), limit, |b| long.push(b.send(g.peer(i), send_block(i))));
            }
        }
        let side = if p.in_place { Side::Recv } else { Side::Send };
        b.publish_parts(round, side, limit, if gate { Wake::Nobody } else { Wake::All });
        if !p.in_place {
            b.copy(recv_block(area.me), send_block(area.me));
        }
        if gate {
            area.emit_gate(b);
        }
        for i in area.others() {
            b.unless_longer(recv_block(i), limit, |b| b.await_part(round, i, recv_block(i)));
        }
        b.wait_all(long);
        if p.in_place {
            emit_swaps(b, g, recv_block, |b, place, swap| b.if_longer(place, limit, swap));
        }
        area.round += 1;
    })
}
