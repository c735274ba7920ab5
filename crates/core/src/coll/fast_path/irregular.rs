//! As [`super::calls`], for blocks of different sizes. Those that a line holds parts for go this way if all that this process
//! has or wants are short ([`coll::shared::part_limit`]); where others have longer ones, those take the way through a
//! schedule, which does the same with the short ones.

use abi::{Address, Comm, Count, Datatype, Op, Result};
use coll::Coll;
use coll::algorithms::node::parts::alltoall_rounds;
use coll::shared::{PAYLOAD, part_limit};
use ffi::{Array, CountArray};

use super::super::arguments::IN_PLACE;
use super::blocks::Blocks;
use super::calls::{apart, kernel, memory, same};
use super::exchange::{Plan, Take, Tell};
use super::{Site, run};
use crate::domain::Token;

/// `MPI_Gatherv`
pub(in super::super) fn gatherv(
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
            return Some((0, Plan::give(own, Tell::One(root as usize))));
        }
        let (blocks, _) = Blocks::new(recvbuf, counts, recvtype, site.up_to(PAYLOAD as u64))?;
        let blocks = slot.insert(blocks);
        Some((0, Plan { tell: Tell::Nobody, gate: false, ..collect(site, send, blocks)? }))
    })
}

/// `MPI_Allgatherv`
pub(in super::super) fn allgatherv(
    t: &mut Token,
    send: (Address, Count, Datatype),
    (recvbuf, recvtype): (Address, Datatype),
    counts: (CountArray<'_>, CountArray<'_>),
    comm: Comm,
) -> Option<Result<()>> {
    let slot = &mut None;
    run(t, Coll::Allgatherv, comm, 0, move |_, site| {
        let (blocks, longest) = Blocks::new(recvbuf, counts, recvtype, site.up_to(PAYLOAD as u64))?;
        Some((longest, collect(site, send, slot.insert(blocks))?))
    })
}

/// Meets all and collects their blocks.
#[inline(always)]
fn collect<'a>(
    site: &Site,
    (sendbuf, sendcount, sendtype): (Address, Count, Datatype),
    blocks: &'a Blocks<'a>,
) -> Option<Plan<'a>> {
    let block = blocks.of(site.rank as usize);
    let in_place = sendbuf == IN_PLACE;
    let own = if in_place { block } else { apart(memory(sendbuf, sendcount, sendtype)?, block)? };
    same(own, block)?;
    Some(Plan { in_place, ..Plan::meet(own, site.everyone(), Take::Each(blocks)) })
}

/// `MPI_Scatterv`
pub(in super::super) fn scatterv(
    t: &mut Token,
    (sendbuf, sendtype): (Address, Datatype),
    counts: (CountArray<'_>, CountArray<'_>),
    (recvbuf, recvcount, recvtype): (Address, Count, Datatype),
    root: i32,
    comm: Comm,
) -> Option<Result<()>> {
    let slot = &mut None;
    run(t, Coll::Scatterv, comm, root, move |_, site| {
        let limit = u64::from(part_limit(site.ranks));
        if !site.is(root) {
            let into = memory(recvbuf, recvcount, recvtype).filter(|into| into.len() as u64 <= limit)?;
            let from = root as usize..root as usize + 1;
            return Some((0, Plan::take(0, from, Take::Part(into))));
        }
        let (blocks, _) = Blocks::new(sendbuf, counts, sendtype, site.up_to(limit))?;
        let own = blocks.of(site.rank as usize);
        let all = Plan { parts: Some(slot.insert(blocks)), ..Plan::give(own, Tell::All) };
        if recvbuf == IN_PLACE {
            return Some((0, all));
        }
        let into = apart(memory(recvbuf, recvcount, recvtype)?, own)?;
        same(into, own)?;
        let from = site.rank as usize..site.rank as usize + 1;
        Some((0, Plan { from, take: Take::Part(into), ..all }))
    })
}

/// `MPI_Alltoallv`
pub(in super::super) fn alltoallv(
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

/// `MPI_Alltoallw`
pub(in super::super) fn alltoallw<'a>(
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
    run(t, coll, comm, 0, move |_, site| {
        let short = site.up_to(part_limit(site.ranks).into());
        let (recv, _) = recv(short)?;
        let send = match send {
            None => None,
            Some(send) => Some(send(short)?.0),
        };
        let (send, recv) = &*slot.insert((send, recv));
        let (me, given) = (site.rank as usize, send.as_ref().unwrap_or(recv));
        let (own, place) = (given.of(me), recv.of(me));
        if send.is_some() {
            apart(own, place)?;
        }
        same(own, place)?;
        let plan = Plan::meet(own, site.everyone(), Take::PartOfEach(recv));
        let epochs = alltoall_rounds(site.ranks, send.is_none()).into();
        Some((0, Plan { parts: Some(given), epochs, in_place: send.is_none(), ..plan }))
    })
}

/// `MPI_Reduce_scatter`
pub(in super::super) fn reduce_scatter(
    t: &mut Token,
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: CountArray<'_>,
    (datatype, op): (Datatype, Op),
    comm: Comm,
) -> Option<Result<()>> {
    run(t, Coll::ReduceScatter, comm, 0, |state, site| {
        let kernel = kernel(state, comm, op, datatype)?;
        let counts = recvcounts.first(site.ranks as usize).ok()?;
        let (mut before, mut total) = (0, 0);
        for (rank, count) in counts.iter().enumerate() {
            if rank == site.rank as usize {
                before = total;
            }
            total = i64::checked_add(total, count).filter(|_| count >= 0)?;
        }
        let count = counts.get(site.rank as usize);
        let into = memory(recvbuf, count, datatype)?;
        let in_place = sendbuf == IN_PLACE;
        let own = memory(if in_place { recvbuf } else { sendbuf }, total, datatype)?;
        let own = if in_place { own } else { apart(own, into)? };
        let offset = memory(Address(own.address()), before, datatype)?.len();
        let take = Take::Combined { kernel, offset, count: count as u64, into };
        let plan = Plan::meet(own, site.everyone(), take);
        Some((own.len() as u64, Plan { in_place, ..plan }))
    })
}

impl Site {
    /// The number of processes, and the most bytes of each of their blocks.
    #[inline(always)]
    fn up_to(&self, most: u64) -> (usize, u64) {
        (self.ranks as usize, most)
    }
}
