//! Vectors with a block for each rank, of some bounce buffers: all put theirs into their bounce buffers and meet at
//! the release flag, so that with more ranks than cores each is scheduled once for as many bounce buffers as it has.
//!
//! ```text
//!  r    blocks, all but its own, → own buffers      flag      block r of all ranks' buffers → result
//!       ┌ buffer 0 ┬ buffer 1 ┬ …                      ║
//!       │ 0 1 2  │ 3 4 5  │    several blocks a buffer, or several buffers a block
//! ```

use std::ops::Range;

use super::Area;
use crate::builder::Builder;
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};
use crate::shared::BOUNCE_BUFFERS;

/// How the blocks of a vector are spread over bounce buffers, of which each is that of a round.
#[derive(Clone, Copy)]
struct Cut {
    me: u32,
    /// Ranks, each of which has a block.
    n: u32,
    /// Pieces of a block.
    pieces: u32,
    /// Pieces of a bounce buffer: several only where each is a block.
    run: u32,
}

impl Cut {
    /// Of a vector that fills at least `bounce_buffers` bounce buffers.
    fn of_vector(p: &Params, bounce_buffers: u32) -> Cut {
        let run = (p.size / bounce_buffers).max(1);
        Cut { me: p.rank, n: p.size, pieces: bounce_buffers.div_ceil(p.size), run }
    }

    /// Of blocks that fill `bounce_buffers` bounce buffers each.
    fn of_blocks(p: &Params, bounce_buffers: u32) -> Cut {
        Cut { me: p.rank, n: p.size, pieces: bounce_buffers, run: 1 }
    }

    fn rounds(&self) -> u32 {
        (self.n * self.pieces).div_ceil(self.run)
    }

    /// The pieces of the own block.
    fn own(&self) -> Range<u32> {
        self.me * self.pieces..(self.me + 1) * self.pieces
    }

    /// The pieces of a round.
    fn of_round(&self, round: u32) -> Range<u32> {
        round * self.run..((round + 1) * self.run).min(self.n * self.pieces)
    }

    fn pieces(&self, buf: Buf, pieces: Range<u32>) -> Ref {
        Ref::part(buf, pieces.start, pieces.end, self.pieces)
    }

    /// Where some pieces of a round are in a bounce buffer of it.
    fn in_bounce(&self, bounce: Buf, round: u32, pieces: Range<u32>) -> Ref {
        Ref { org: round * self.run, ..self.pieces(bounce, pieces) }
    }

    /// Puts `source` into the own bounce buffers, made by `bounce(owner, round)`, and lets `take` have what all
    /// others' bounce buffers hold of the own block, round by round; as many rounds at once as a rank has bounce
    /// buffers.
    fn meet(
        &self,
        b: &mut Builder,
        source: Buf,
        bounce: impl Fn(u32, u32) -> Buf,
        mut take: impl FnMut(&mut Builder, u32, Range<u32>),
    ) {
        let mut area = Area { me: self.me, size: self.n, round: 0 };
        let own = self.own();
        for first in (0..self.rounds()).step_by(BOUNCE_BUFFERS) {
            let rounds = first..(first + BOUNCE_BUFFERS as u32).min(self.rounds());
            for round in rounds.clone() {
                let Range { start, end } = self.of_round(round);
                b.claim(round as u16);
                let others = [start..end.min(own.start), start.max(own.end)..end];
                for pieces in others.into_iter().filter(|pieces| !pieces.is_empty()) {
                    b.copy(
                        self.in_bounce(bounce(self.me, round), round, pieces.clone()),
                        self.pieces(source, pieces),
                    );
                }
            }
            area.round = rounds.end as u16 - 1;
            area.emit_flag(b);
            area.round += 1;
            for round in rounds {
                let Range { start, end } = self.of_round(round);
                let pieces = start.max(own.start)..end.min(own.end);
                if !pieces.is_empty() {
                    take(b, round, pieces);
                }
            }
            area.retire(b);
        }
    }
}

/// Reduce-scatter with equal blocks: each rank combines its block of all bounce buffers, in rank order. Elements must
/// be without holes; `segments` is the number of bounce buffers that a vector fills.
///
/// ```text
///  r → own buffers; flag; block r of the buffers of 0 … n-1 → result
/// ```
pub fn reduce_scatter_block(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let cut = Cut::of_vector(p, p.segments);
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    // In place, the result would lie where later rounds still take from.
    let result = if p.in_place { b.typed() } else { Buf::Recv };
    let bounce = |owner: u32, round: u32| Buf::Bounce { owner: owner as u16, round: round as u16 };
    cut.meet(&mut b, mine, bounce, |b, round, pieces| {
        let own = cut.pieces(mine, pieces.clone());
        let operand = |i: u32| match i == cut.me {
            true => own,
            false => cut.in_bounce(bounce(i, round), round, pieces.clone()),
        };
        let into = Ref { org: cut.own().start, ..own.within(result) };
        let mut acc = operand(cut.n - 1);
        for i in (0..cut.n - 1).rev() {
            b.reduce(into, operand(i), acc);
            acc = into;
        }
        b.copy(into, acc);
    });
    b.copy(Ref::all(Buf::Recv), Ref::all(result));
    b.finish()
}

/// Alltoall: each rank takes its block of all bounce buffers; `segments` is the number of bounce buffers that a block fills.
///
/// ```text
///  r → own buffers; flag; block r of the buffers of i → block i
/// ```
pub fn alltoall(p: &Params) -> Schedule {
    let mut b = Builder::new();
    let cut = Cut::of_blocks(p, p.segments);
    let given = p.contiguous && !p.in_place;
    let source = if given { Buf::SendBytes } else { b.packed() };
    let data = if p.contiguous { Buf::RecvBytes } else { b.packed() };
    if !given {
        let buffer = if p.in_place { Buf::Recv } else { Buf::Send };
        b.copy(Ref::blocks(source, 0, cut.n), Ref::blocks(buffer, 0, cut.n));
    }
    let bounce = |owner: u32, round: u32| Buf::BounceBytes { owner: owner as u16, round: round as u16 };
    cut.meet(&mut b, source, bounce, |b, round, pieces| {
        for i in Area::whole(p).others() {
            let at = i * cut.pieces + pieces.start - cut.own().start;
            let into = cut.pieces(data, at..at + pieces.len() as u32);
            b.copy(into, cut.in_bounce(bounce(i, round), round, pieces.clone()));
        }
    });
    b.copy(cut.pieces(data, cut.own()), cut.pieces(source, cut.own()));
    if !p.contiguous {
        b.copy(Ref::blocks(Buf::Recv, 0, cut.n), Ref::blocks(data, 0, cut.n));
    }
    b.finish()
}
