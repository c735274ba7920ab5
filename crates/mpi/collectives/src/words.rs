//! What the library itself sends over a communicator: agreeing on context ids, gathering facts of each rank,
//! words between the leaders of two groups.

use abi::{Address, Datatype, Result};
use ffi::CountArray;
use pml::{Data, Pattern, SendTo};

use super::{Mode as Completion, allgather, allreduce, alltoall, alltoallv, bcast};
use messages::p2p::{finish, outcome, pattern, start_both, target};
use objects::comm::Comm;
use objects::comm::library_tags::{BETWEEN_GROUPS, LEADERS};
use objects::domain::Token;
use objects::memory::{count_array, exposed};

const WORD: Datatype = abi::UINT64_T;
const IN_PLACE: Address = Address(abi::IN_PLACE);

/// `values` of every rank of an intra-communicator, in rank order.
pub fn gather_words(t: &mut Token, comm: abi::Comm, values: &[u64]) -> Result<Vec<u64>> {
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

/// Gives each rank its part of `words`, which lie in rank order, `counts` of them for each; what the ranks give this one, in
/// rank order.
pub fn deal_words(t: &mut Token, comm: abi::Comm, words: &mut [u64], counts: &[i64]) -> Result<Vec<u64>> {
    let mut going: Vec<u64> = counts.iter().map(|&count| count as u64).collect();
    let mut coming = vec![0; counts.len()];
    alltoall(t, Completion::Own, exposed(&mut going), 1, WORD, exposed(&mut coming), 1, WORD, comm)?;
    let (given, got) = (Parts::of(&going), Parts::of(&coming));
    let mut into = vec![0; got.total];
    let (out, room) = (exposed(words), exposed(&mut into));
    let ((given, from), (got, to)) = (given.arrays(), got.arrays());
    alltoallv(t, Completion::Own, out, given, from, WORD, room, got, to, WORD, comm)?;
    Ok(into)
}

/// Consecutive parts of a row of words, as arguments of a collective.
struct Parts {
    counts: Vec<i64>,
    starts: Vec<i64>,
    total: usize,
}

impl Parts {
    fn of(counts: &[u64]) -> Parts {
        let counts: Vec<i64> = counts.iter().map(|&count| count as i64).collect();
        let starts = starts(&counts);
        let total = counts.iter().sum::<i64>() as usize;
        Parts { counts, starts, total }
    }

    fn arrays(&self) -> (CountArray<'_>, CountArray<'_>) {
        (count_array(&self.counts), count_array(&self.starts))
    }
}

/// Where each of consecutive parts begins.
pub fn starts(counts: &[i64]) -> Vec<i64> {
    let ends = counts.iter().scan(0, |sum, &count| {
        *sum += count;
        Some(*sum)
    });
    ends.zip(counts).map(|(end, count)| end - count).collect()
}

/// The largest of every rank's values.
pub fn largest(t: &mut Token, comm: abi::Comm, value: u64) -> Result<u64> {
    reduced(t, comm, value, abi::MAX)
}

fn reduced(t: &mut Token, comm: abi::Comm, value: u64, op: abi::Op) -> Result<u64> {
    let mut result = [value];
    reduce_words(t, comm, &mut result, op)?;
    Ok(result[0])
}

/// The smallest of every rank's values.
pub fn smallest(t: &mut Token, comm: abi::Comm, value: u64) -> Result<u64> {
    reduced(t, comm, value, abi::MIN)
}

/// Words of every rank, reduced one by one; the result replaces them.
pub fn reduce_words(t: &mut Token, comm: abi::Comm, words: &mut [u64], op: abi::Op) -> Result<()> {
    let count = words.len() as i64;
    allreduce(t, Completion::Own, IN_PLACE, exposed(words), count, WORD, op, comm)
}

/// The root's words, on every rank; all give the same length.
pub fn share_words(t: &mut Token, comm: abi::Comm, root: u32, words: &mut [u64]) -> Result<()> {
    let count = words.len() as i64;
    bcast(t, Completion::Own, exposed(words), count, WORD, root as i32, comm)
}

/// How words that two processes swap are distinguished from all else in the library's context of a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swap {
    /// Leaders of two groups that become one communicator, under a tag of the program.
    Leaders(i32),
    /// The first ranks of the two groups of an inter-communicator.
    Groups,
}

impl Swap {
    /// The class of the source, and the tag.
    fn place(self) -> (u32, i32) {
        match self {
            Swap::Leaders(tag) => (LEADERS, tag),
            Swap::Groups => (0, BETWEEN_GROUPS),
        }
    }

    /// The way to a rank; `None` for `MPI_PROC_NULL`.
    fn target(self, comm: &Comm, rank: i32) -> Result<Option<SendTo>> {
        let (class, tag) = self.place();
        let to = target(comm, rank, tag)?;
        Ok(to.map(|to| SendTo { context: to.context | 1, source: to.source | class, ..to }))
    }

    /// What a rank sends; `None` for `MPI_PROC_NULL`.
    fn pattern(self, comm: &Comm, rank: i32) -> Result<Option<Pattern>> {
        let (class, tag) = self.place();
        let from = pattern(comm, rank, tag)?;
        Ok(from.map(|from| Pattern { context: from.context | 1, source: from.source | class as i32, ..from }))
    }
}

/// Sends words to a rank that receives them by [`swap_words`].
pub fn tell_words(t: &mut Token, comm: abi::Comm, rank: i32, swap: Swap, words: &mut [u64]) -> Result<()> {
    let sent = {
        let mut guard = t.lock();
        let state = &mut *guard;
        let Some(to) = swap.target(state.comms.get(comm)?, rank)? else { return Ok(()) };
        engine::isend(state, &to, Data::Contiguous(objects::memory::of_words(words)), pml::Mode::Standard)?
    };
    sent.map_or(Ok(()), |id| outcome(&finish(t, id)))
}

/// Sends `words` to a rank and receives as many from it as fit `answer`; how many came.
pub fn swap_words(
    t: &mut Token,
    comm: abi::Comm,
    rank: i32,
    swap: Swap,
    words: &mut [u64],
    answer: &mut [u64],
) -> Result<usize> {
    let (received, sent) = {
        let mut guard = t.lock();
        let state = &mut *guard;
        let comm = state.comms.get(comm)?;
        let (Some(to), Some(from)) = (swap.target(comm, rank)?, swap.pattern(comm, rank)?) else {
            return Ok(0);
        };
        let room = Data::Contiguous(objects::memory::of_words(answer));
        let data = Data::Contiguous(objects::memory::of_words(words));
        start_both(state, Some(from), room, Some(to), data)?
    };
    // Both end before an error returns: they use the words.
    let sent = sent.map(|id| finish(t, id));
    let Some(done) = received.map(|id| finish(t, id)) else { return Ok(0) };
    sent.map_or(Ok(()), |sent| outcome(&sent))?;
    outcome(&done)?;
    Ok(done.status.bytes() as usize / 8)
}
