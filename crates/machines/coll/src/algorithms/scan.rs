//! `MPI_Scan` and `MPI_Exscan` (MPI-5.0 section 6.11): `send` (or `recv` in place) in; in `recv` the
//! combination of ranks 0 to r, or 0 to r-1 (nothing on rank 0).

use crate::builder::{Builder, Group, Window};
use crate::params::Params;
use crate::schedule::{Buf, Ref, Schedule};

/// Chain, pipelined over the segments.
///
/// ```text
///  0 → 1 → 2 → 3      each puts what it receives before its own part and passes it on
/// ```
pub fn linear(p: &Params) -> Schedule {
    along_chain(p, true)
}

/// [`linear`] for `MPI_Exscan`: what a rank receives is its result.
pub fn linear_exclusive(p: &Params) -> Schedule {
    along_chain(p, false)
}

fn along_chain(p: &Params, inclusive: bool) -> Schedule {
    let g = Group::own(p);
    let mut b = Builder::new();
    let mine = if p.in_place { Buf::Recv } else { Buf::Send };
    let (arrivals, sums) = ([b.typed(), b.typed()], [b.typed(), b.typed()]);
    let (first, last) = (g.me == 0, g.me + 1 == g.size);
    let mut going = Window::new(1);
    for s in 0..p.segments {
        let own = Ref::part(mine, s, s + 1, p.segments);
        let result = own.within(Buf::Recv);
        let sum = if inclusive { result } else { own.at_start_of(sums[s as usize % 2]) };
        let mut out = own;
        if !first {
            let arrival = own.at_start_of(arrivals[s as usize % 2]);
            b.recv_now(g.peer(g.me - 1), arrival);
            if inclusive || !last {
                b.reduce(sum, arrival, own);
                out = sum;
            }
            if !inclusive {
                b.copy(result, arrival);
            }
        } else if inclusive {
            b.copy(result, own);
        }
        if !last {
            let req = b.send(g.peer(g.me + 1), out);
            going.push(&mut b, req);
        }
    }
    going.finish(&mut b);
    b.finish()
}

/// Recursive doubling: partners exchange the total of their aligned group; lower groups go into the result.
///
/// ```text
///  mask 1   0 ↔ 1   2 ↔ 3   4          total of 2
///  mask 2   0 ↔ 2   1 ↔ 3   4          total of 4
///  mask 4   0 ↔ 4                      rank 4 has 0..3 before its own
/// ```
pub fn recursive_doubling(p: &Params) -> Schedule {
    doubling(p, true)
}

/// [`recursive_doubling`] for `MPI_Exscan`.
pub fn recursive_doubling_exclusive(p: &Params) -> Schedule {
    doubling(p, false)
}

fn doubling(p: &Params, inclusive: bool) -> Schedule {
    let mut b = Builder::new();
    let own = Ref::all(if p.in_place { Buf::Recv } else { Buf::Send });
    emit_doubling(&mut b, Group::own(p), own, Ref::all(Buf::Recv), inclusive);
    b.finish()
}

/// `result` may be `own`; an exclusive result is left as it is on index 0.
pub(crate) fn emit_doubling(b: &mut Builder, g: Group, own: Ref, result: Ref, inclusive: bool) {
    let (mut total, mut arrival) = (own.at_start_of(b.typed()), own.at_start_of(b.typed()));
    b.copy(total, own);
    if inclusive {
        b.copy(result, own);
    }
    let mut has_result = inclusive;
    let mut mask = 1;
    while mask < g.size {
        let partner = g.me ^ mask;
        if partner < g.size {
            let peer = g.peer(partner);
            b.exchange(peer, total, peer, arrival);
            if partner < g.me {
                if has_result {
                    b.reduce(result, arrival, result)
                } else {
                    b.copy(result, arrival)
                }
                has_result = true;
                b.reduce(total, arrival, total);
            } else {
                b.reduce(arrival, total, arrival);
                std::mem::swap(&mut total, &mut arrival);
            }
        }
        mask *= 2;
    }
}
