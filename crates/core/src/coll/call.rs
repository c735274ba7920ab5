//! The arguments of a collective call, checked and independent of handles.

use abi::{Address, Count, Datatype, Error, Op, Result};
use coll::{Coll, Layout, Root, Shape};

use crate::comm::Comm;
use crate::datatype::TypeRef;
use crate::op::{Function, Operation};
use crate::state::State;

/// One collective call.
#[derive(Clone)]
pub(crate) struct Call {
    pub coll: Coll,
    pub comm: abi::Comm,
    pub root: Root,
    pub in_place: bool,
    pub send: Buffer,
    pub recv: Buffer,
    pub op: Option<Reduction>,
}

/// One side's buffer: a count of one type per block, or counts, displacements and types for each block.
#[derive(Clone)]
pub(crate) struct Buffer {
    pub address: Address,
    pub datatype: TypeRef,
    pub layout: Layout,
    /// For v and w variants; empty otherwise.
    pub blocks: Vec<Block>,
}

/// A block of a v or w variant.
#[derive(Clone)]
pub(crate) struct Block {
    pub count: u64,
    /// Bytes from the buffer's address.
    pub offset: i64,
    /// The block's own type in a w variant.
    pub datatype: Option<TypeRef>,
}

/// A reduction's operation and the type that it works on.
#[derive(Clone, Copy)]
pub(crate) enum Reduction {
    /// One of the standard's operations, as the loop for its type.
    Kernel(op::Kernel),
    /// The program's function, with the handle of the type that it is given.
    User { function: Function, commutes: bool, handle: Datatype },
}

impl Call {
    /// A call without buffers and root.
    pub fn new(coll: Coll, comm: abi::Comm) -> Call {
        Call {
            coll,
            comm,
            root: Root::Rank(0),
            in_place: false,
            send: Buffer::NONE,
            recv: Buffer::NONE,
            op: None,
        }
    }

    /// The largest of every rank's first word into the second; in an inter-communicator of the other group's.
    pub fn of_words(state: &State, comm: abi::Comm, words: Address) -> Result<Call> {
        let at = |address| -> Result<Buffer> {
            Ok(Buffer { address, ..Buffer::shape_only(state, 1, abi::UINT64_T)? })
        };
        let (send, recv) = (at(words)?, at(Address(words.0 + 8))?);
        let op = Some(reduction(state, abi::MAX, abi::UINT64_T)?);
        Ok(Call { send, recv, op, ..Call::new(Coll::Allreduce, comm) })
    }

    /// Whether this process is the root.
    pub fn at_root(&self, comm: &Comm) -> bool {
        match self.root {
            Root::Me => true,
            Root::Elsewhere => false,
            Root::Rank(rank) => comm.remote.is_none() && rank == comm.rank,
        }
    }

    /// Whether this process has data for the root: everyone, but not the root's group of an inter-communicator.
    pub fn contributes(&self) -> bool {
        matches!(self.root, Root::Rank(_))
    }

    pub fn shape(&self) -> Shape {
        let (send, recv) = (self.send.layout, self.recv.layout);
        let packed = if self.recv.is_given() { recv.bytes() } else { send.bytes() };
        Shape { send, recv, packed }
    }

    pub fn commutative(&self) -> bool {
        match self.op {
            Some(Reduction::User { commutes, .. }) => commutes,
            _ => true,
        }
    }

    /// Whether the data lies in one run of bytes.
    pub fn contiguous(&self) -> bool {
        [&self.send, &self.recv].iter().all(|buffer| buffer.blocks.is_empty() && buffer.is_dense())
    }
}

impl Buffer {
    /// An argument that is not significant.
    pub const NONE: Buffer = Buffer {
        address: Address(0),
        datatype: TypeRef::Dense(0),
        layout: Layout { count: 0, size: 0, extent: 0, true_lb: 0, true_extent: 0 },
        blocks: Vec::new(),
    };

    /// Count and type without an address, for a side whose buffer is not significant but whose shape is.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT`, `MPI_ERR_TYPE`.
    pub fn shape_only(state: &State, count: Count, datatype: Datatype) -> Result<Buffer> {
        let count = u64::try_from(count).map_err(|_| Error::new(abi::ERR_COUNT, "the count is negative"))?;
        let datatype = state.types.resolve(datatype)?;
        Ok(Buffer { address: Address(0), layout: layout(&datatype, count), datatype, blocks: Vec::new() })
    }

    fn is_given(&self) -> bool {
        self.layout.size != 0
    }

    fn is_dense(&self) -> bool {
        self.layout.extent == self.layout.size as i64 && self.layout.true_lb == 0
    }
}

fn layout(datatype: &TypeRef, count: u64) -> Layout {
    match datatype {
        TypeRef::Dense(size) => Layout::contiguous(count, u64::from(*size)),
        TypeRef::Derived(datatype) => Layout {
            count,
            size: datatype.size(),
            extent: datatype.extent(),
            true_lb: datatype.true_lb(),
            true_extent: datatype.true_extent() as u64,
        },
    }
}

/// Checks an operation against a type (MPI-5.0 section 6.9.2).
///
/// # Errors
/// `MPI_ERR_OP`, `MPI_ERR_TYPE`.
pub(super) fn reduction(state: &State, op: Op, handle: Datatype) -> Result<Reduction> {
    match state.ops.get(op)? {
        Operation::User { function, commutes } => Ok(Reduction::User { function, commutes, handle }),
        Operation::Predefined(op) => {
            let datatype = state.types.get(handle)?;
            let element = datatype.named_handle().or_else(|| datatype.basic().map(|basic| basic.handle()));
            let element = element
                .ok_or(Error::new(abi::ERR_OP, "a predefined operation needs a predefined datatype"))?;
            if !op::allowed(op, element) {
                return Err(Error::new(abi::ERR_OP, "the operation is not defined for the datatype"));
            }
            op::kernel(op, element).map(Reduction::Kernel)
        }
    }
}
