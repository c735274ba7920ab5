//! `MPI_Alltoall`, `MPI_Alltoallv` and `MPI_Alltoallw` (MPI-5.0 section 6.8): block `i` of `send` goes to
//! rank `i`, block `i` of `recv` comes from there. In place, `recv` holds both.

use crate::builder::{Builder, Group, Window};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};

/// Where the blocks for and from a rank are.
#[derive(Clone, Copy)]
struct Blocks {
    send: fn(u32) -> Ref,
    recv: fn(u32) -> Ref,
}

const REGULAR: Blocks =
    Blocks { send: |i| Ref::blocks(Buf::Send, i, i + 1), recv: |i| Ref::blocks(Buf::Recv, i, i + 1) };
const IRREGULAR: Blocks =
    Blocks { send: |i| Ref::block(Buf::SendBlock, i), recv: |i| Ref::block(Buf::RecvBlock, i) };

/// All sends and receives at once.
///
/// ```text
///  r → r+1, r+2, … r-1     all posted, then all waited for
/// ```
pub fn linear(p: &Params) -> Schedule {
    in_flight(p, REGULAR, p.size)
}

/// [`linear`] for blocks of different sizes or types.
pub fn linear_v(p: &Params) -> Schedule {
    in_flight(p, IRREGULAR, p.size)
}

/// As [`linear`], but with at most `fanout` (4 if unset) exchanges under way: when the oldest is done the
/// next one starts.
///
/// ```text
///  fanout 2   r ↔ r±1  r ↔ r±2 │ r ↔ r±3 │ r ↔ r±4 │ …
/// ```
pub fn linear_sync(p: &Params) -> Schedule {
    in_flight(p, REGULAR, p.fanout_or(4, 1))
}

fn in_flight(p: &Params, blocks: Blocks, limit: u32) -> Schedule {
    if p.in_place {
        return in_place(p, blocks);
    }
    let g = Group::own(p);
    let mut b = Builder::new();
    let mut coming = Window::new(limit as usize);
    let mut going = Window::new(limit as usize);
    for d in 1..g.size {
        let (to, from) = (g.after(d), g.before(d));
        let req = b.recv(g.peer(from), (blocks.recv)(from));
        coming.push(&mut b, req);
        let req = b.send(g.peer(to), (blocks.send)(to));
        going.push(&mut b, req);
    }
    b.copy((blocks.recv)(g.me), (blocks.send)(g.me));
    coming.finish(&mut b);
    going.finish(&mut b);
    b.finish()
}

/// Batches of `fanout` (32 if unset) exchanges; a batch starts when the one before is complete.
///
/// ```text
///  fanout 2   r ↔ r±1  r ↔ r±2 ║ r ↔ r±3  r ↔ r±4 ║ …
/// ```
pub fn scattered(p: &Params) -> Schedule {
    in_batches(p, REGULAR, p.fanout_or(32, 1))
}

/// [`scattered`] for blocks of different sizes or types.
pub fn scattered_v(p: &Params) -> Schedule {
    in_batches(p, IRREGULAR, p.fanout_or(32, 1))
}

/// n-1 steps; in step `s` rank `r` sends to `r + s` and receives from `r - s`.
///
/// ```text
///  step 1   0→1→2→3→0        step 2   0↔2  1↔3        step 3   0→3→2→1→0
/// ```
pub fn pairwise(p: &Params) -> Schedule {
    in_batches(p, REGULAR, 1)
}

/// [`pairwise`] for blocks of different sizes or types.
pub fn pairwise_v(p: &Params) -> Schedule {
    in_batches(p, IRREGULAR, 1)
}

fn in_batches(p: &Params, blocks: Blocks, batch: u32) -> Schedule {
    if p.in_place {
        return in_place(p, blocks);
    }
    let g = Group::own(p);
    let mut b = Builder::new();
    b.copy((blocks.recv)(g.me), (blocks.send)(g.me));
    for first in (1..g.size).step_by(batch as usize) {
        let steps = first..g.size.min(first.saturating_add(batch));
        let mut reqs: Vec<_> =
            steps.clone().map(|d| g.before(d)).map(|i| b.recv(g.peer(i), (blocks.recv)(i))).collect();
        reqs.extend(steps.map(|d| g.after(d)).map(|i| b.send(g.peer(i), (blocks.send)(i))));
        b.wait_all(reqs);
    }
    b.finish()
}

/// The pairs of each of n steps swap their blocks; the outgoing one is set aside first.
///
/// ```text
///  step s: r ↔ s - r (mod n), so that both sides name each other
/// ```
fn in_place(p: &Params, blocks: Blocks) -> Schedule {
    let mut b = Builder::new();
    emit_swaps(&mut b, Group::own(p), blocks.recv, |b, _, swap| swap(b));
    b.finish()
}

/// The swaps of [`in_place`]; `each` emits the one of a block, if it likes.
pub(crate) fn emit_swaps(
    b: &mut Builder,
    g: Group,
    place: impl Fn(u32) -> Ref,
    each: impl Fn(&mut Builder, Ref, &dyn Fn(&mut Builder)),
) {
    let aside = b.packed();
    for step in 0..g.size {
        let partner = (step + g.size - g.me) % g.size;
        if partner != g.me {
            let place = place(partner);
            let out = place.packed_at_start_of(aside);
            each(b, place, &|b| {
                b.copy(out, place);
                b.exchange(g.peer(partner), out, g.peer(partner), place);
            });
        }
    }
}

/// Bruck with radix `fanout` (2 if unset): ⌈log_k n⌉ rounds of k-1 exchanges; every block travels by the
/// digits of its distance.
///
/// ```text
///  1  rotate   scratch i = block for rank r+i
///  2  for each digit place w = 1, k, k², … and digit j = 1 … k-1:
///     the blocks whose distance has digit j at w go to rank r + j·w, their like come from r - j·w
///  3  rotate back   block from rank r-i = scratch i
/// ```
pub fn bruck(p: &Params) -> Schedule {
    let g = Group::own(p);
    let n = g.size;
    let k = p.fanout_or(2, 2);
    let source = if p.in_place { Buf::Recv } else { Buf::Send };
    let mut b = Builder::new();
    let (held, out, arrived) = (b.packed(), b.packed(), b.packed());
    let tail = n - g.me;
    b.copy(Ref::blocks(held, 0, tail), Ref::blocks(source, g.me, n));
    if g.me > 0 {
        b.copy(Ref::blocks(held, tail, n), Ref::blocks(source, 0, g.me));
    }
    let mut place = 1;
    while place < n {
        let (mut reqs, mut moves, mut at) = (vec![], vec![], 0);
        for digit in (1..k).take_while(|&j| u64::from(j) * u64::from(place) < u64::from(n)) {
            let first = at;
            // Runs of `place` distances that share this digit.
            let stride = u64::from(place) * u64::from(k);
            for start in (u64::from(digit) * u64::from(place)..u64::from(n)).step_by(stride as usize) {
                let (lo, hi) = (start as u32, (start + u64::from(place)).min(n.into()) as u32);
                b.copy(Ref::blocks(out, at, at + hi - lo), Ref::blocks(held, lo, hi));
                moves.push((Ref::blocks(held, lo, hi), Ref::blocks(arrived, at, at + hi - lo)));
                at += hi - lo;
            }
            let distance = digit * place;
            reqs.push(b.recv(g.peer(g.before(distance)), Ref::blocks(arrived, first, at)));
            reqs.push(b.send(g.peer(g.after(distance)), Ref::blocks(out, first, at)));
        }
        b.wait_all(reqs);
        for (into, from) in moves {
            b.copy(into, from);
        }
        place = place.saturating_mul(k);
    }
    for distance in 0..n {
        let from = g.before(distance);
        b.copy(Ref::blocks(Buf::Recv, from, from + 1), Ref::blocks(held, distance, distance + 1));
    }
    b.finish()
}
