//! Blocks of different sizes, of which a rank knows only its own. The rank that has a block and the one that wants it
//! both know its length and choose alike for it: short ones go through the slots, as in [`super::blocks`], long ones in
//! messages.
//!
//! ```text
//!  slot of r    table │ for 0 │ for 1 │ … │ for n-1      the short ones; the table gives where each ends
//!  slots        for r+1 ║ for r+2 ║ …                    alltoall: those of up to PIECES slots, one after the other
//!  messages     r → i, r → j, …                          the others, at the same time
//! ```
//!
//! What a slot holds for one rank alone, as in a gather, needs no table. A block of no bytes is neither published nor awaited.

use super::Area;
use super::bounce::{Exchange, exchange};
use super::slots::schedule;
use crate::algorithms::alltoall::emit_swaps;
use crate::builder::{Builder, Group};
use crate::params::Params;
use crate::port::Side;
use crate::schedule::{Buf, Ref, Schedule, Slot, Wake};
use crate::shared::{PAYLOAD, PIECES, part_limit};

fn send_block(i: u32) -> Ref {
    Ref::block(Buf::SendBlock, i)
}

fn recv_block(i: u32) -> Ref {
    Ref::block(Buf::RecvBlock, i)
}

/// Gather: all publish their blocks, the root reads them.
///
/// ```text
///  r → own slot, or message → root
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
                if_short(b, recv_block(i), LIMIT, |b| b.await_slot(round, Slot::Of(i), recv_block(i)));
            }
            b.wait_all(long);
        } else {
            let own = Ref::all(Buf::Send);
            if_short(b, own, LIMIT, |b| b.publish(round, area.own(), own, Wake::One(root)));
            b.if_longer(own, LIMIT, |b| b.send_now(g.peer(root), own));
        }
        area.round += 1;
    })
}

/// Scatter: the root publishes all blocks, every rank takes its own.
///
/// ```text
///  root → slot, parts for 0 … n-1 → r takes its part;   root → message → r
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
            if_short(b, own, limit, |b| b.await_part(round, root, own));
            b.if_longer(own, limit, |b| b.recv_now(g.peer(root), own));
        }
        area.round += 1;
    })
}

/// Alltoall: every rank publishes its blocks and takes its own part of all slots.
///
/// ```text
///  round 0              r → own slot, parts for 0 … n-1; part for r of slots 0 … n-1 → r
///  rounds of distance d r → own slot, pieces of the block for r+d; slot of r-d → r
///  at the same time     r → message → i
/// ```
pub fn alltoall_all(p: &Params) -> Schedule {
    alltoall(p, false)
}

/// [`alltoall_all`], but no rank looks at a slot before the last one is there.
pub fn alltoall_flag(p: &Params) -> Schedule {
    alltoall(p, true)
}

fn alltoall(p: &Params, flag: bool) -> Schedule {
    schedule(p, |b, area| {
        let (g, round, limit) = (Group::own(p), area.round, part_limit(area.size));
        let mut long = vec![];
        if !p.in_place {
            for i in area.others() {
                b.if_longer(recv_block(i), LONGEST, |b| long.push(b.recv(g.peer(i), recv_block(i))));
            }
            for i in area.others() {
                b.if_longer(send_block(i), LONGEST, |b| long.push(b.send(g.peer(i), send_block(i))));
            }
        }
        let side = if p.in_place { Side::Recv } else { Side::Send };
        b.publish_parts(round, side, limit, if flag { Wake::None } else { Wake::All });
        if !p.in_place {
            b.copy(recv_block(area.me), send_block(area.me));
        }
        if flag {
            area.emit_flag(b);
        }
        for i in area.others() {
            if_short(b, recv_block(i), limit, |b| b.await_part(round, i, recv_block(i)));
        }
        if p.in_place {
            // What arrives would be written over what has not left yet.
            emit_swaps(b, g, recv_block, |b, place, swap| b.if_longer(place, limit, swap));
        } else {
            b.retire(round);
            emit_pieces(b, area, limit);
        }
        b.wait_all(long);
        area.round = alltoall_rounds(area.size, p.in_place);
    })
}

/// If a block has bytes, and no more than fit a slot's part. One without is waited for by no rank: its sender may have left at once.
fn if_short(b: &mut Builder, block: Ref, limit: u32, emit: impl Fn(&mut Builder)) {
    b.if_longer(block, 0, |b| b.unless_longer(block, limit, &emit));
}

/// Bytes up to which a block goes in pieces.
const LONGEST: u32 = PIECES * PAYLOAD as u32;

/// Rounds that an alltoall of so many ranks takes.
pub const fn alltoall_rounds(ranks: u32, in_place: bool) -> u16 {
    if in_place { 1 } else { 1 + (PIECES * (ranks - 1)) as u16 }
}

/// Blocks too long for parts and not too long for pieces.
fn emit_pieces(b: &mut Builder, area: &Area, limit: u32) {
    let (me, n, first) = (area.me, area.size, area.round + 1);
    let of_round = |round: u32| (round / PIECES + 1, round % PIECES);
    let if_there = |b: &mut Builder, block: Ref, piece: u32, emit: &dyn Fn(&mut Builder)| {
        b.if_longer(block, limit.max(piece * PAYLOAD as u32), |b| b.unless_longer(block, LONGEST, emit));
    };
    exchange(b, first, PIECES * (n - 1), |b, step| match step {
        Exchange::Fill(round) => {
            let (distance, piece) = of_round(round);
            let to = (me + distance) % n;
            let from = Ref::block(Buf::SendPiece(piece as u16), to);
            if_there(b, send_block(to), piece, &|b| {
                b.publish(first + round as u16, area.own(), from, Wake::One(to));
            });
        }
        Exchange::Empty(round) => {
            let (distance, piece) = of_round(round);
            let from = (me + n - distance) % n;
            let into = Ref::block(Buf::RecvPiece(piece as u16), from);
            if_there(b, recv_block(from), piece, &|b| {
                b.await_slot(first + round as u16, Slot::Of(from), into);
            });
        }
    });
}

/// Allgather, whose counts all know: every rank streams its block through its slots, all copy from all.
///
/// ```text
///  round s   piece s of block r → slot of r; slots 0 … n-1 of round s - AHEAD → that piece of all blocks
/// ```
pub fn allgather(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let area = Area::whole(p);
    let piece = |i: u32, s: u32| Ref::block(Buf::RecvPiece(s as u16), i);
    if !p.in_place {
        b.copy(recv_block(area.me), Ref::all(Buf::Send));
    }
    exchange(&mut b, 0, p.segments, |b, step| match step {
        Exchange::Fill(s) => b.publish(s as u16, area.own(), piece(area.me, s), Wake::All),
        Exchange::Empty(s) => {
            area.others().for_each(|i| b.await_slot(s as u16, Slot::Of(i), piece(i, s)));
        }
    });
    b.finish()
}
