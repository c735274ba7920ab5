//! What the library itself says over a communicator: agreeing on context ids, gathering facts of each rank,
//! words between the leaders of two groups.

use abi::{Address, Datatype, Result};
use pml::{Data, Mode};

use crate::coll::{Mode as Completion, allgather, allreduce, bcast};
use crate::domain::Token;
use crate::memory::exposed;
use crate::p2p::{finish, outcome, pattern, target};

const WORD: Datatype = abi::UINT64_T;
const IN_PLACE: Address = Address(abi::IN_PLACE);

/// Marks the tags of the library's point-to-point words; collectives leave this bit clear.
const WORDS_TAG: i32 = 1 << 29;

/// `values` of every rank of an intra-communicator, in rank order.
pub(crate) fn gather_words(t: &mut Token, comm: abi::Comm, values: &[u64]) -> Result<Vec<u64>> {
    let (size, rank) = {
        let state = t.lock();
        let comm = state.comm(comm)?;
        (comm.size() as usize, comm.rank as usize)
    };
    let len = values.len();
    let mut all = vec![0u64; len * size];
    all[rank * len..][..len].copy_from_slice(values);
    allgather(t, Completion::Own, IN_PLACE, 0, WORD, exposed(&mut all), len as i64, WORD, comm)?;
    Ok(all)
}

/// The largest of every rank's values.
pub(crate) fn largest(t: &mut Token, comm: abi::Comm, value: u64) -> Result<u64> {
    reduced(t, comm, value, abi::MAX)
}

fn reduced(t: &mut Token, comm: abi::Comm, value: u64, op: abi::Op) -> Result<u64> {
    let mut result = [value];
    allreduce(t, Completion::Own, IN_PLACE, exposed(&mut result), 1, WORD, op, comm)?;
    Ok(result[0])
}

/// The smallest of every rank's values.
pub(crate) fn smallest(t: &mut Token, comm: abi::Comm, value: u64) -> Result<u64> {
    reduced(t, comm, value, abi::MIN)
}

/// The root's words, on every rank; all give the same length.
pub(crate) fn share_words(t: &mut Token, comm: abi::Comm, root: u32, words: &mut [u64]) -> Result<()> {
    let count = words.len() as i64;
    bcast(t, Completion::Own, exposed(words), count, WORD, root as i32, comm)
}

/// Sends `words` to a rank and receives as many from it as fit `answer`; how many came.
pub(super) fn swap_words(
    t: &mut Token,
    comm: abi::Comm,
    rank: i32,
    tag: i32,
    words: &mut [u64],
    answer: &mut [u64],
) -> Result<usize> {
    let tag = WORDS_TAG | tag & (WORDS_TAG - 1);
    let (received, sent) = {
        let mut guard = t.lock();
        let state = &mut *guard;
        let comm = state.comms.get(comm)?;
        let (Some(mut to), Some(mut from)) = (target(comm, rank, tag)?, pattern(comm, rank, tag)?) else {
            return Ok(0);
        };
        to.context |= 1;
        from.context |= 1;
        let room = Data::Contiguous(crate::memory::of_words(answer));
        let data = Data::Contiguous(crate::memory::of_words(words));
        let received = state.p2p.irecv(&from, room)?;
        (received, engine::isend(state, &to, data, Mode::Standard)?)
    };
    if let Some(id) = sent {
        outcome(&finish(t, id))?;
    }
    let done = finish(t, received);
    outcome(&done)?;
    Ok(done.status.bytes() as usize / 8)
}
