//! As [`super::calls`], for blocks of different sizes. Those that a slot holds parts for go this way if all that this
//! process has or wants are short ([`coll::shared::part_limit`]); where others have longer ones, those take the way
//! through a schedule, which does the same with the short ones. Persistent calls whose processes all have data for all are planned
//! here, too.

use abi::{Address, Comm, Count, Datatype, Op, Result};
use coll::Coll;
use coll::algorithms::node::parts::alltoall_rounds;
use coll::exchange::{Meeting, Operands, Places};
use coll::shared::{PAYLOAD, part_limit};
use ffi::{Array, CountArray};

use super::super::arguments::IN_PLACE;
use super::super::mode::Mode;
use super::blocks::Blocks;
use super::calls::{apart, beside, kernel, memory, same};
use super::ways::run_as;
use super::{NodePlan, Site, rounds, run};
use objects::domain::Token;

/// `MPI_Gatherv`
pub(crate) fn gatherv(
    t: &mut Token,
    send: (Address, Count, Datatype),
    (recvbuf, recvtype): (Address, Datatype),
    counts: (CountArray<'_>, CountArray<'_>),
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    let slot = &mut None;
    run(t, Coll::Gatherv, comm, root, move |_, site| {
        if !site.is(root) {
            let own = memory(send.0, send.1, send.2)?;
            let plan =
                if own.is_empty() { site.place.idle(1) } else { site.place.give_to(root as usize, own) };
            return Some((0, plan));
        }
        let (blocks, _) = Blocks::new(recvbuf, counts, recvtype, site.up_to(PAYLOAD as u64))?;
        let place = blocks.of(site.place.me);
        let own = beside(send, place)?;
        Some((0, site.place.gather_each(own.unwrap_or(place), &*slot.insert(blocks), own.is_none())))
    })
}

/// `MPI_Allgatherv`
pub(crate) fn allgatherv(
    t: &mut Token,
    send: (Address, Count, Datatype),
    recv: (Address, Datatype),
    counts: (CountArray<'_>, CountArray<'_>),
    comm: Comm,
) -> Option<Result<()>> {
    let slot = &mut None;
    run(t, Coll::Allgatherv, comm, 0, move |_, site| gathered(site, send, recv, counts, slot))
}

/// `MPI_Allgatherv_init`
pub(crate) fn allgatherv_rounds(
    t: &mut Token,
    send: (Address, Count, Datatype),
    recv: (Address, Datatype),
    counts: (CountArray<'_>, CountArray<'_>),
    comm: Comm,
) {
    let slot = &mut None;
    rounds::prepare(t, Coll::Allgatherv, comm, 0, |_, site| gathered(site, send, recv, counts, slot));
}

/// Meets all and takes what each has; `slot`: where the blocks are kept.
#[inline(always)]
fn gathered<'s, 'a: 's>(
    site: &Site,
    send: (Address, Count, Datatype),
    (recvbuf, recvtype): (Address, Datatype),
    counts: (CountArray<'a>, CountArray<'a>),
    slot: &'s mut Option<Blocks<'a>>,
) -> Option<(u64, NodePlan<'s>)> {
    let (blocks, longest) = Blocks::new(recvbuf, counts, recvtype, site.up_to(PAYLOAD as u64))?;
    let place = blocks.of(site.place.me);
    let own = beside(send, place)?;
    let blocks = &*slot.insert(blocks);
    Some((longest, site.place.allgather_each(own.unwrap_or(place), blocks, own.is_none())))
}

/// `MPI_Scatterv`
pub(crate) fn scatterv(
    t: &mut Token,
    (sendbuf, sendtype): (Address, Datatype),
    counts: (CountArray<'_>, CountArray<'_>),
    recv: (Address, Count, Datatype),
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    let slot = &mut None;
    run(t, Coll::Scatterv, comm, root, move |_, site| {
        let limit = site.part_limit();
        if !site.is(root) {
            let into = memory(recv.0, recv.1, recv.2).filter(|into| into.len() as u64 <= limit)?;
            let plan =
                if into.is_empty() { site.place.idle(1) } else { site.place.take_part(root as usize, into) };
            return Some((0, plan));
        }
        let (blocks, longest) = Blocks::new(sendbuf, counts, sendtype, site.up_to(limit))?;
        let own = blocks.of(site.place.me);
        let into = beside(recv, own)?;
        if longest == 0 {
            return Some((0, site.place.idle(1)));
        }
        Some((0, site.place.scatter_parts(own, &*slot.insert(blocks), into)))
    })
}

/// `MPI_Alltoallv`
pub(crate) fn alltoallv(
    t: &mut Token,
    (sendbuf, sendtype): (Address, Datatype),
    sendcounts: (CountArray<'_>, CountArray<'_>),
    (recvbuf, recvtype): (Address, Datatype),
    recvcounts: (CountArray<'_>, CountArray<'_>),
    comm: Comm,
) -> Option<Result<()>> {
    let send = |short| Blocks::new(sendbuf, sendcounts, sendtype, short);
    let recv = |short| Blocks::new(recvbuf, recvcounts, recvtype, short);
    swap(t, Coll::Alltoallv, comm, (sendbuf != IN_PLACE).then_some(send), recv)
}

/// `MPI_Alltoallv_init`
pub(crate) fn alltoallv_rounds(
    t: &mut Token,
    (sendbuf, sendtype): (Address, Datatype),
    sendcounts: (CountArray<'_>, CountArray<'_>),
    (recvbuf, recvtype): (Address, Datatype),
    recvcounts: (CountArray<'_>, CountArray<'_>),
    comm: Comm,
) {
    let send = |short| Blocks::new(sendbuf, sendcounts, sendtype, short);
    let recv = |short| Blocks::new(recvbuf, recvcounts, recvtype, short);
    swap_rounds(t, Coll::Alltoallv, comm, (sendbuf != IN_PLACE).then_some(send), recv);
}

/// `MPI_Alltoallw`
pub(crate) fn alltoallw<'a>(
    t: &mut Token,
    (sendbuf, sendtypes): (Address, Array<'a, Datatype>),
    sendcounts: (CountArray<'a>, CountArray<'a>),
    (recvbuf, recvtypes): (Address, Array<'a, Datatype>),
    recvcounts: (CountArray<'a>, CountArray<'a>),
    comm: Comm,
) -> Option<Result<()>> {
    let send = |short| Blocks::typed(sendbuf, sendcounts, sendtypes, short);
    let recv = |short| Blocks::typed(recvbuf, recvcounts, recvtypes, short);
    swap(t, Coll::Alltoallw, comm, (sendbuf != IN_PLACE).then_some(send), recv)
}

/// `MPI_Alltoallw_init`
pub(crate) fn alltoallw_rounds<'a>(
    t: &mut Token,
    (sendbuf, sendtypes): (Address, Array<'a, Datatype>),
    sendcounts: (CountArray<'a>, CountArray<'a>),
    (recvbuf, recvtypes): (Address, Array<'a, Datatype>),
    recvcounts: (CountArray<'a>, CountArray<'a>),
    comm: Comm,
) {
    let send = |short| Blocks::typed(sendbuf, sendcounts, sendtypes, short);
    let recv = |short| Blocks::typed(recvbuf, recvcounts, recvtypes, short);
    swap_rounds(t, Coll::Alltoallw, comm, (sendbuf != IN_PLACE).then_some(send), recv);
}

/// Meets all and takes what they have for this process; `send` is what it has for them, `None` if that is in place. Both
/// are asked for so many blocks of at most so many bytes.
#[inline(always)]
fn swap<'a>(
    t: &mut Token,
    coll: Coll,
    comm: Comm,
    send: Option<impl FnOnce((usize, u64)) -> Option<(Blocks<'a>, u64)>>,
    recv: impl FnOnce((usize, u64)) -> Option<(Blocks<'a>, u64)>,
) -> Option<Result<()>> {
    let slot = &mut None;
    run(t, coll, comm, 0, move |_, site| swapped(site, send, recv, slot))
}

/// As [`swap`], the rounds of a persistent call.
fn swap_rounds<'a>(
    t: &mut Token,
    coll: Coll,
    comm: Comm,
    send: Option<impl FnOnce((usize, u64)) -> Option<(Blocks<'a>, u64)>>,
    recv: impl FnOnce((usize, u64)) -> Option<(Blocks<'a>, u64)>,
) {
    let slot = &mut None;
    rounds::prepare(t, coll, comm, 0, |_, site| swapped(site, send, recv, slot));
}

/// What a process has for all, unless that is in place, and what it wants of them.
type Swapped<'a> = (Option<Blocks<'a>>, Blocks<'a>);

/// The plan of [`swap`]; `slot`: where the blocks are kept.
#[inline(always)]
fn swapped<'s, 'a: 's>(
    site: &Site,
    send: Option<impl FnOnce((usize, u64)) -> Option<(Blocks<'a>, u64)>>,
    recv: impl FnOnce((usize, u64)) -> Option<(Blocks<'a>, u64)>,
    slot: &'s mut Option<Swapped<'a>>,
) -> Option<(u64, NodePlan<'s>)> {
    let short = site.up_to(site.part_limit());
    let in_place = send.is_none();
    let epochs = alltoall_rounds(site.place.members as u32, in_place).into();
    let (recv, mut longest) = recv(short)?;
    let send = match send {
        None => None,
        Some(send) => {
            let (send, longest_sent) = send(short)?;
            longest = longest.max(longest_sent);
            Some(send)
        }
    };
    if longest == 0 && site.place.meeting == Meeting::Slots {
        return Some((0, site.place.idle(epochs)));
    }
    let (send, recv) = &*slot.insert((send, recv));
    let (me, given) = (site.place.me, send.as_ref().unwrap_or(recv));
    let (own, place) = (given.of(me), recv.of(me));
    if !in_place {
        apart(own, place)?;
    }
    same(own, place)?;
    Some((0, site.place.alltoall_parts(own, (given, recv), epochs, in_place)))
}

/// `MPI_Reduce_scatter`
pub(crate) fn reduce_scatter(
    t: &mut Token,
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: CountArray<'_>,
    (datatype, op): (Datatype, Op),
    comm: Comm,
    mode: &mut Mode<'_>,
) -> Option<Result<()>> {
    run_as(t, mode, Coll::ReduceScatter, comm, 0, |state, site| {
        let kernel = kernel(state, site, op, datatype)?;
        let counts = recvcounts.first(site.place.members).ok()?;
        let (mut before, mut total) = (0, 0);
        for (rank, count) in counts.iter().enumerate() {
            if rank == site.place.me {
                before = total;
            }
            total = i64::checked_add(total, count).filter(|_| count >= 0)?;
        }
        let count = counts.get(site.place.me);
        let into = memory(recvbuf, count, datatype)?;
        let in_place = sendbuf == IN_PLACE;
        let own = memory(if in_place { recvbuf } else { sendbuf }, total, datatype)?;
        let own = if in_place { own } else { apart(own, into)? };
        let offset = memory(Address(own.address()), before, datatype)?.len();
        let operands = Operands { kernel, count: count as u64, own, into, in_place };
        Some((own.len() as u64, site.place.reduce_scatter(operands, offset)))
    })
}

impl Site {
    /// The number of processes, and the most bytes of each of their blocks.
    #[inline(always)]
    fn up_to(&self, most: u64) -> (usize, u64) {
        (self.place.members, most)
    }

    /// The most bytes of a block that is a part of a slot.
    #[inline(always)]
    fn part_limit(&self) -> u64 {
        part_limit(self.place.members as u32).into()
    }
}
