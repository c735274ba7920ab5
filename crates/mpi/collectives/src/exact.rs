//! Sums that depend only on the multiset of what is contributed (`coll_reproducible`).
//!
//! ```text
//!   send buffer ──begin──► exact sums of one term ──┐
//!                                                   │  the reduction, on elements of `op::reproducible::size` bytes
//!   receive buffer ◄─round── exact sums ◄───────────┘
//! ```
//!
//! Adding exact sums is associative and commutative, so any algorithm will do, and ranks that contribute zero change
//! nothing. It costs 35 words for each double, 7 for each float.

use abi::{Address, Datatype, Result};
use coll::{Coll, Root};

use super::call::{Call, Reduction};
use objects::comm::Comm;
use objects::datatype::TypeRef;
use objects::memory::NO_MEMORY;
use objects::state::State;

/// A call whose buffers were exchanged for buffers of exact sums.
pub(super) struct Exact {
    datatype: Datatype,
    /// The program's buffers.
    input: Address,
    output: Address,
    /// Elements of the result, if this process gets one.
    result: Option<usize>,
    /// Elements that this process contributes.
    count: usize,
    terms: Vec<u64>,
    sums: Vec<u64>,
}

impl Exact {
    /// Exchanges the buffers of a call that is a sum of floating-point numbers; `None` for all others.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`.
    pub fn over(state: &State, comm: &Comm, call: &mut Call) -> Result<Option<Exact>> {
        let is_sum = matches!(call.op, Some(Reduction::Kernel(_))) && call.predefined == abi::SUM;
        if !is_sum || comm.is_inter() {
            return Ok(None);
        }
        let Some(datatype) = element(state, call.recv.handle) else { return Ok(None) };
        let (Ok(size), Ok(kernel)) = (op::reproducible::size(datatype), op::reproducible::kernel(datatype))
        else {
            return Ok(None);
        };
        let parts = if call.coll == Coll::ReduceScatterBlock { comm.size() as usize } else { 1 };
        let vector = call.recv.layout.count as usize;
        let words = |count: usize| count.checked_mul(size / 8).ok_or(NO_MEMORY);
        let count = vector.checked_mul(parts).ok_or(NO_MEMORY)?;
        let (mut terms, mut sums) = (Vec::new(), Vec::new());
        objects::memory::resize(&mut terms, words(count)?)?;
        objects::memory::resize(&mut sums, words(vector)?)?;
        let mut exact = Exact {
            datatype,
            input: if call.in_place { call.recv.address } else { call.send.address },
            output: call.recv.address,
            result: has_result(comm, call).then(|| match call.coll {
                Coll::ReduceScatter => call.recv.blocks[comm.rank as usize].count as usize,
                _ => vector,
            }),
            count,
            terms,
            sums,
        };
        call.op = Some(Reduction::Kernel(kernel));
        call.in_place = false;
        let of_sums = TypeRef::Dense(size as u32);
        for (buffer, words) in [(&mut call.send, &mut exact.terms), (&mut call.recv, &mut exact.sums)] {
            buffer.layout = of_sums.layout(vector as u64);
            buffer.datatype = of_sums.clone();
            buffer.address = objects::memory::exposed(words);
        }
        Ok(Some(exact))
    }

    /// Takes what the process contributes.
    pub fn begin(&mut self) -> Result<()> {
        objects::memory::begin_sums(self.datatype, self.input, &mut self.terms, self.count)
    }

    /// Gives the result.
    pub fn finish(&self) -> Result<()> {
        let Some(count) = self.result else { return Ok(()) };
        objects::memory::finish_sums(self.datatype, &self.sums, self.output, count)
    }
}

/// The predefined type that a handle stands for.
fn element(state: &State, handle: Datatype) -> Option<Datatype> {
    let datatype = state.types.get(handle).ok()?;
    datatype.named_handle().or_else(|| datatype.basic().map(|basic| basic.handle()))
}

fn has_result(comm: &Comm, call: &Call) -> bool {
    match call.coll {
        Coll::Reduce => call.root == Root::Rank(comm.rank),
        Coll::Exscan => comm.rank > 0,
        _ => true,
    }
}
