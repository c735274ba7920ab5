//! As [`super::calls`], for blocks of different sizes.

use abi::{Address, Comm, Count, Datatype, Op, Result};
use coll::Coll;
use ffi::CountArray;

use super::super::arguments::IN_PLACE;
use super::calls::{apart, kernel, memory, same};
use super::exchange::{Plan, Take};
use super::parts::Parts;
use super::run;
use crate::domain::Token;

/// `MPI_Allgatherv`
pub(in super::super) fn allgatherv(
    t: &mut Token,
    (sendbuf, sendcount, sendtype): (Address, Count, Datatype),
    (recvbuf, recvtype): (Address, Datatype),
    (recvcounts, displs): (CountArray<'_>, CountArray<'_>),
    comm: Comm,
) -> Option<Result<()>> {
    run(t, Coll::Allgatherv, comm, 0, |_, site| {
        let n = site.ranks as usize;
        let (parts, longest) = Parts::new(recvbuf, recvcounts, displs, recvtype, n)?;
        let block = parts.of(site.rank as usize);
        let in_place = sendbuf == IN_PLACE;
        let own = if in_place { block } else { apart(memory(sendbuf, sendcount, sendtype)?, block)? };
        same(own, block)?;
        let plan = Plan::meet(own, site.everyone(), Take::Parts(parts));
        Some((longest, Plan { in_place, ..plan }))
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
