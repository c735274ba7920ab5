//! From the arguments of a call, as C gives them, to a [`Call`]: every check that one process can make alone.

use abi::{Address, Aint, Count, Datatype, Error, Op, Result};
use coll::{Coll, Root};
use ffi::{Array, CountArray, Counts};

use super::call::{Block, Buffer, Call, Reduction};
use super::kept;
use super::state::CollState;
use objects::comm::Comm;
use objects::datatype::TypeRef;
use objects::op::Operation;
use objects::state::State;

/// A call under construction.
pub(super) struct Arguments<'a> {
    state: &'a State,
    comm: &'a Comm,
    call: &'a mut Call,
}

/// Which side's buffer an argument describes.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Send,
    Recv,
}

pub(super) use Side::{Recv, Send};

/// Displacements in bytes.
#[derive(Clone, Copy)]
pub(super) enum Displacements<'a> {
    /// `int`, or `MPI_Aint` in the large-count function.
    Counts(CountArray<'a>),
    /// `MPI_Aint` in both.
    Addresses(Array<'a, Aint>),
}

/// `MPI_IN_PLACE`
pub(super) const IN_PLACE: Address = Address(abi::IN_PLACE);

impl<'a> Arguments<'a> {
    /// Arguments of a reduction whose result every rank gets a part of.
    pub fn everywhere(
        &mut self,
        sendbuf: Address,
        recvbuf: Address,
        count: Count,
        datatype: Datatype,
        op: Op,
    ) -> Result<()> {
        self.operation(op, datatype)?;
        match self.in_place(sendbuf) {
            true => self.shape(Send, count, datatype)?,
            false => self.buffer(Send, sendbuf, count, datatype)?,
        }
        self.buffer(Recv, recvbuf, count, datatype)
    }

    pub fn new(state: &'a State, comm: &'a Comm, call: &'a mut Call) -> Arguments<'a> {
        Arguments { state, comm, call }
    }

    /// Processes that blocks are for or from: the group, or the remote group of an inter-communicator.
    pub fn peers(&self) -> usize {
        self.comm.peers.len()
    }

    /// Sources and destinations in the communicator's topology.
    ///
    /// # Errors
    /// `MPI_ERR_TOPOLOGY` without one.
    pub fn neighbours(&self) -> Result<(usize, usize)> {
        let none = Error::new(abi::ERR_TOPOLOGY, "the communicator has no topology");
        let neighbours =
            kept::at(&self.state.tables, self.comm.slot).and_then(CollState::neighbours).ok_or(none)?;
        Ok((neighbours.sources.len(), neighbours.destinations.len()))
    }

    /// Refuses inter-communicators, for which some collectives are not defined.
    pub fn intra_only(&self) -> Result<()> {
        match self.comm.is_inter() {
            true => Err(Error::new(abi::ERR_COMM, "the collective is not defined for inter-communicators")),
            false => Ok(()),
        }
    }

    /// Takes the root (MPI-5.0 section 6.2.3 for inter-communicators).
    pub fn root(&mut self, root: i32) -> Result<()> {
        let bad = Error::new(abi::ERR_ROOT, "the root lies outside the communicator");
        self.call.root = match (&self.comm.remote, root) {
            (Some(_), abi::ROOT) => Root::Me,
            (Some(_), abi::PROC_NULL) => Root::Elsewhere,
            (Some(remote), _) if (root as u32) < remote.size() => Root::Rank(root as u32),
            (None, _) if (root as u32) < self.comm.size() => Root::Rank(root as u32),
            _ => return Err(bad),
        };
        Ok(())
    }

    /// Whether this process is the root.
    pub fn at_root(&self) -> bool {
        match self.call.root {
            Root::Me => true,
            Root::Elsewhere => false,
            Root::Rank(rank) => !self.comm.is_inter() && rank == self.comm.rank,
        }
    }

    /// Whether this process has data for the root or from it: all ranks, but not the root's group of an
    /// inter-communicator.
    pub fn takes_part(&self) -> bool {
        matches!(self.call.root, Root::Rank(_))
    }

    /// Whether `address` is `MPI_IN_PLACE`, where that is allowed: in intra-communicators.
    pub fn in_place(&mut self, address: Address) -> bool {
        self.call.in_place = address == IN_PLACE && !self.comm.is_inter();
        self.call.in_place
    }

    /// Takes a buffer of `count` elements (per block).
    ///
    /// # Errors
    /// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_BUFFER`.
    pub fn buffer(&mut self, side: Side, address: Address, count: Count, datatype: Datatype) -> Result<()> {
        self.shape(side, count, datatype)?;
        check_address(address, count > 0, datatype)?;
        self.side(side).address = address;
        Ok(())
    }

    /// Takes a buffer that is significant under a condition.
    pub fn buffer_if(
        &mut self,
        significant: bool,
        side: Side,
        address: Address,
        count: Count,
        datatype: Datatype,
    ) -> Result<()> {
        if significant { self.buffer(side, address, count, datatype) } else { Ok(()) }
    }

    /// Takes count and type of a side whose buffer is not significant but whose shape is.
    pub fn shape(&mut self, side: Side, count: Count, datatype: Datatype) -> Result<()> {
        let count = checked_count(count)?;
        let handle = datatype;
        let datatype = self.state.types.resolve(handle)?;
        let buffer = self.side(side);
        buffer.given = true;
        buffer.handle = handle;
        buffer.layout = datatype.layout(count);
        buffer.datatype = datatype;
        Ok(())
    }

    /// Takes a buffer of `n` blocks of one type with counts and displacements of their own.
    ///
    /// # Errors
    /// As [`Arguments::buffer`], and `MPI_ERR_ARG` for missing arrays and displacements beyond 63 bits.
    pub fn blocks(
        &mut self,
        side: Side,
        address: Address,
        counts: CountArray<'_>,
        displacements: CountArray<'_>,
        datatype: Datatype,
        n: usize,
    ) -> Result<()> {
        let (counts, places) = (counts.first(n)?, displacements.first(n)?);
        let resolved = self.state.types.resolve(datatype)?;
        let extent = resolved.extent();
        let buffer = self.side(side);
        for (count, place) in counts.iter().zip(places.iter()) {
            let offset = place.checked_mul(extent).ok_or(FAR)?;
            buffer.blocks.push(Block { count: checked_count(count)?, offset, datatype: None });
        }
        check_address(address, buffer.has_elements(), datatype)?;
        buffer.given = true;
        buffer.address = address;
        buffer.layout = resolved.layout(0);
        buffer.datatype = resolved;
        Ok(())
    }

    /// Takes a buffer of `n` blocks that have types of their own as well.
    ///
    /// # Errors
    /// As [`Arguments::blocks`].
    pub fn typed_blocks(
        &mut self,
        side: Side,
        address: Address,
        counts: CountArray<'_>,
        displacements: Displacements<'_>,
        datatypes: Array<'_, Datatype>,
        n: usize,
    ) -> Result<()> {
        let (counts, datatypes) = (counts.first(n)?, datatypes.first(n)?);
        // With displacements in bytes, MPI_BOTTOM goes with any type.
        check_address(address, false, abi::DATATYPE_NULL)?;
        let state = self.state;
        let buffer = self.side(side);
        for (index, &datatype) in datatypes.iter().enumerate() {
            let count = checked_count(counts.get(index))?;
            // Nothing of an empty block's type is looked at.
            let empty = count == 0 && datatype == abi::DATATYPE_NULL;
            let datatype = if empty { TypeRef::Dense(1) } else { state.types.resolve(datatype)? };
            let offset = displacements.at(index, n)?;
            buffer.blocks.push(Block { count, offset, datatype: Some(datatype) });
        }
        buffer.given = true;
        buffer.address = address;
        Ok(())
    }

    /// Takes the counts by which a result is cut; their sum, the count of the whole vector.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT`, `MPI_ERR_ARG`.
    pub fn cut(&mut self, counts: CountArray<'_>) -> Result<Count> {
        let n = self.comm.size() as usize;
        let counts: Counts<'_> = counts.first(n)?;
        let mut sum: Count = 0;
        for count in counts.iter() {
            let count = checked_count(count)?;
            sum = sum.checked_add(count as Count).ok_or(FAR)?;
            self.call.recv.blocks.push(Block { count, offset: 0, datatype: None });
        }
        Ok(sum)
    }

    /// The count of this process's part, after [`Arguments::cut`].
    pub fn own_part(&self) -> Count {
        self.call.recv.blocks[self.comm.rank as usize].count as Count
    }

    /// Takes the operation of a reduction.
    ///
    /// # Errors
    /// `MPI_ERR_OP`, `MPI_ERR_TYPE`.
    pub fn operation(&mut self, op: Op, datatype: Datatype) -> Result<()> {
        self.call.op = Some(reduction(self.state, op, datatype)?);
        self.call.predefined = op;
        Ok(())
    }

    fn side(&mut self, side: Side) -> &mut Buffer {
        match side {
            Side::Send => &mut self.call.send,
            Side::Recv => &mut self.call.recv,
        }
    }
}

impl Displacements<'_> {
    /// Bytes from the buffer to block `index` of `n`.
    fn at(&self, index: usize, n: usize) -> Result<i64> {
        match self {
            Displacements::Counts(all) => Ok(all.first(n)?.get(index)),
            Displacements::Addresses(all) => Ok(all.first(n)?[index] as i64),
        }
    }
}

impl Buffer {
    fn has_elements(&self) -> bool {
        self.blocks.iter().any(|block| block.count > 0)
    }
}

impl Call {
    /// Every rank's first `len` words, reduced into the `len` after them; in an inter-communicator the other group's.
    pub fn of_words(state: &State, comm: abi::Comm, words: Address, len: usize, op: abi::Op) -> Result<Call> {
        let mut call = Call::new(Coll::Allreduce, comm);
        let mut arguments = Arguments::new(state, state.comm(comm)?, &mut call);
        arguments.buffer(Send, words, len as Count, abi::UINT64_T)?;
        arguments.buffer(Recv, Address(words.0 + 8 * len), len as Count, abi::UINT64_T)?;
        arguments.operation(op, abi::UINT64_T)?;
        Ok(call)
    }
}

impl Call {
    /// Every rank's `len` words at `words` into those at `all`, in rank order.
    pub fn gathering(
        state: &State,
        comm: abi::Comm,
        words: Address,
        len: Count,
        all: Address,
    ) -> Result<Call> {
        let mut call = Call::new(Coll::Allgather, comm);
        let mut arguments = Arguments::new(state, state.comm(comm)?, &mut call);
        arguments.buffer(Send, words, len, abi::UINT64_T)?;
        arguments.buffer(Recv, all, len, abi::UINT64_T)?;
        Ok(call)
    }
}

const FAR: Error = Error::new(abi::ERR_ARG, "a displacement or a sum of counts exceeds 63 bits");

fn checked_count(count: Count) -> Result<u64> {
    u64::try_from(count).map_err(|_| Error::new(abi::ERR_COUNT, "a count is negative"))
}

/// A buffer that is read or written must be somewhere; types with absolute addresses may start at `MPI_BOTTOM`.
pub(super) fn check_address(address: Address, used: bool, datatype: Datatype) -> Result<()> {
    if address == IN_PLACE {
        return Err(Error::new(abi::ERR_BUFFER, "MPI_IN_PLACE is not allowed for this buffer"));
    }
    if address.0 == 0 && used && datatype::predefined_size(datatype).is_some() {
        return Err(Error::new(abi::ERR_BUFFER, "the buffer is null and a count is not 0"));
    }
    Ok(())
}

const NOT_DEFINED: Error = Error::new(abi::ERR_OP, "the operation is not defined for the datatype");

/// Checks an operation against a type (MPI-5.0 section 6.9.2).
///
/// # Errors
/// `MPI_ERR_OP`, `MPI_ERR_TYPE`.
pub(super) fn reduction(state: &State, op: Op, handle: Datatype) -> Result<Reduction> {
    match state.ops.get(op)? {
        Operation::User { function, commutes } => Ok(Reduction::User { function, commutes, handle }),
        Operation::Predefined(op) => {
            let datatype = state.types.get(handle)?;
            if let (Some((value, index)), None) = (datatype.pair(), datatype.named_handle()) {
                if !op::allowed(op, abi::TWOINT) {
                    return Err(NOT_DEFINED);
                }
                return op::pair_kernel(op, value.handle(), index.handle()).map(Reduction::Kernel);
            }
            let element = datatype.named_handle().or_else(|| datatype.basic().map(|basic| basic.handle()));
            let element = element
                .ok_or(Error::new(abi::ERR_OP, "a predefined operation needs a predefined datatype"))?;
            if !op::allowed(op, element) {
                return Err(NOT_DEFINED);
            }
            op::kernel(op, element).map(Reduction::Kernel)
        }
    }
}
