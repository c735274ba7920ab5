//! Recursive halving: the reduce-scatter half of Rabenseifner's algorithms and of `MPI_Reduce_scatter`.

use super::fold::Fold;
use crate::builder::{Builder, Group};
use crate::schedule::{Buf, Ref};

/// A vector in as many runs as there are core indices of a [`Fold`]; `runs(lo, hi)` are those of indices
/// `lo..hi`.
pub(crate) struct Vector<'a> {
    pub(crate) runs: &'a dyn Fn(Buf, u32, u32) -> Ref,
}

impl Vector<'_> {
    fn at(&self, buf: Buf, (lo, hi): (u32, u32)) -> Ref {
        (self.runs)(buf, lo, hi)
    }
}

/// Each round halves the part a core works on: it sends one half to its partner and combines the other. At
/// the end run `index` of `work` is complete. The operation must commute. `have` is where the contribution
/// is; it may be `work`.
///
/// ```text
///  size 4    0: abcd   1: abcd   2: abcd   3: abcd
///  mask 2    0 ↔ 2: 0 keeps ab, 2 keeps cd     1 ↔ 3 alike
///  mask 1    0 ↔ 1: 0 keeps a,  1 keeps b      2 ↔ 3 alike
/// ```
pub(crate) fn emit(
    b: &mut Builder,
    g: Group,
    fold: Fold,
    index: u32,
    vector: &Vector,
    mut have: Buf,
    work: Buf,
) {
    let arrival = b.typed();
    let (mut lo, mut hi) = (0, fold.power);
    for mask in fold.masks().rev() {
        let middle = lo + mask;
        let (keep, give) =
            if index & mask == 0 { ((lo, middle), (middle, hi)) } else { ((middle, hi), (lo, middle)) };
        let partner = fold.rank(index ^ mask);
        let kept = vector.at(work, keep);
        let new = kept.at_start_of(arrival);
        b.exchange(g.peer(partner), vector.at(have, give), g.peer(partner), new);
        let own = kept.within(have);
        if partner < g.me {
            b.reduce(kept, new, own)
        } else {
            b.reduce(kept, own, new)
        }
        (lo, hi) = keep;
        have = work;
    }
    b.copy(vector.at(work, (lo, hi)), vector.at(have, (lo, hi)));
}

/// The counterpart: runs of `buf` double until every core has all of them.
///
/// ```text
///  mask 1    0 ↔ 1, 2 ↔ 3 (one run)      mask 2    0 ↔ 2, 1 ↔ 3 (two runs)
/// ```
pub(crate) fn emit_allgather(b: &mut Builder, g: Group, fold: Fold, index: u32, vector: &Vector, buf: Buf) {
    for mask in fold.masks() {
        let (own, theirs) = (index & !(mask - 1), (index ^ mask) & !(mask - 1));
        let peer = g.peer(fold.rank(index ^ mask));
        b.exchange(peer, vector.at(buf, (own, own + mask)), peer, vector.at(buf, (theirs, theirs + mask)));
    }
}

/// Runs are gathered at core `top`: in each round those on the far side of the bit hand over what they have.
///
/// ```text
///  top 0     mask 1    1 → 0, 3 → 2 (one run)      mask 2    2 → 0 (two runs)
/// ```
pub(crate) fn emit_gather(
    b: &mut Builder,
    g: Group,
    fold: Fold,
    index: u32,
    top: u32,
    vector: &Vector,
    buf: Buf,
) {
    for mask in fold.masks() {
        let (own, theirs) = (index & !(mask - 1), (index ^ mask) & !(mask - 1));
        let peer = g.peer(fold.rank(index ^ mask));
        if (index ^ top) & mask != 0 {
            return b.send_now(peer, vector.at(buf, (own, own + mask)));
        }
        b.recv_now(peer, vector.at(buf, (theirs, theirs + mask)));
    }
}
