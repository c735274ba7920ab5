//! The arguments of a collective call, checked and independent of handles.

use abi::{Address, Datatype, Error, Result};
use coll::{Coll, Layout, Root, Shape};

use objects::datatype::TypeRef;
use objects::op::Function;

/// One collective call. Kept with its vectors for the next one.
pub struct Call {
    pub coll: Coll,
    pub comm: abi::Comm,
    pub root: Root,
    pub in_place: bool,
    pub send: Buffer,
    pub recv: Buffer,
    pub op: Option<Reduction>,
    /// The handle of a predefined operation.
    pub predefined: abi::Op,
}

/// One side's buffer: a count of one type per block, or counts, displacements and types for each block.
pub struct Buffer {
    pub address: Address,
    pub datatype: TypeRef,
    /// The argument behind `datatype`; not of v and w variants.
    pub handle: Datatype,
    pub layout: Layout,
    /// The argument is significant on this process, even if it stands for no data.
    pub given: bool,
    /// For v and w variants, and the receive counts of `MPI_Reduce_scatter`; empty otherwise.
    pub blocks: Vec<Block>,
}

/// A block of a v or w variant.
pub struct Block {
    pub count: u64,
    /// Bytes from the buffer's address.
    pub offset: i64,
    /// The block's own type in a w variant.
    pub datatype: Option<TypeRef>,
}

/// A reduction's operation and the type that it works on.
#[derive(Clone, Copy)]
pub enum Reduction {
    /// One of the standard's operations, as the loop for its type.
    Kernel(op::Kernel),
    /// The program's function, with the handle of the type that it is given.
    User { function: Function, commutes: bool, handle: Datatype },
}

impl Call {
    /// A call without buffers and root.
    pub fn new(coll: Coll, comm: abi::Comm) -> Call {
        let none = || Buffer {
            address: Address(0),
            datatype: TypeRef::Dense(0),
            handle: abi::DATATYPE_NULL,
            layout: Layout::default(),
            given: false,
            blocks: Vec::new(),
        };
        Call {
            coll,
            comm,
            root: Root::Rank(0),
            in_place: false,
            send: none(),
            recv: none(),
            op: None,
            predefined: abi::OP_NULL,
        }
    }

    /// Makes room for the arguments of another call on the same communicator.
    pub fn reset(&mut self, coll: Coll) {
        self.coll = coll;
        self.root = Root::Rank(0);
        self.in_place = false;
        self.op = None;
        self.send.reset();
        self.recv.reset();
    }

    pub fn shape(&self) -> Shape {
        let packed = match self.send.given && self.recv.blocks.is_empty() {
            true => self.send.block_bytes(),
            false => self.recv.block_bytes(),
        };
        Shape { send: self.send.layout, recv: self.recv.layout, packed }
    }

    pub fn commutative(&self) -> bool {
        match self.op {
            Some(Reduction::User { commutes, .. }) => commutes,
            _ => true,
        }
    }

    pub(crate) fn is_user_defined(&self) -> bool {
        matches!(self.op, Some(Reduction::User { .. }))
    }

    /// Refuses send and receive buffers of which some bytes are surely the same (MPI-5.0 section 6.2: they must be
    /// disjoint): those that begin at one address, with data there in both. Costs a comparison.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER`.
    pub(crate) fn check_disjoint(&self) -> Result<()> {
        let (send, recv) = (&self.send, &self.recv);
        // Types at MPI_BOTTOM hold the places of data; neighbours may be none.
        let same = send.address == recv.address && send.address.0 != 0;
        if same && !is_neighbourhood(self.coll) && send.overlaps(recv) {
            return Err(Error::new(
                abi::ERR_BUFFER,
                "send and receive buffer are the same memory; MPI_IN_PLACE says that this is meant \
                 (coll_check=off lets it pass)",
            ));
        }
        Ok(())
    }

    /// Whether the data lies in one run of bytes.
    pub fn contiguous(&self) -> bool {
        self.send.is_dense() && self.recv.is_dense()
    }
}

impl Buffer {
    fn reset(&mut self) {
        self.address = Address(0);
        self.datatype = TypeRef::Dense(0);
        self.handle = abi::DATATYPE_NULL;
        self.layout = Layout::default();
        self.given = false;
        self.blocks.clear();
    }

    /// Whether elements, each from its origin on, are one run of bytes in the order in which they are packed. Sizes do not
    /// show that: an element may have a hole as long as what lies behind its extent, or its parts in another order.
    pub(crate) fn is_dense(&self) -> bool {
        match &self.datatype {
            TypeRef::Dense(_) => true,
            TypeRef::Derived(datatype) => datatype.is_contiguous_for(2) && datatype.true_lb() == 0,
        }
    }

    /// Whether a block of this buffer and one of another at the same address begin with the same byte.
    fn overlaps(&self, other: &Buffer) -> bool {
        match (self.blocks.is_empty(), other.blocks.is_empty()) {
            (true, true) => self.begins() && other.begins(),
            (false, true) => other.begins() && self.blocks.iter().any(|block| block.begins_at(0, self)),
            (true, false) => other.overlaps(self),
            (false, false) => {
                let mut pairs = self.blocks.iter().zip(&other.blocks);
                pairs.any(|(one, two)| one.begins_at(one.offset, self) && two.begins_at(one.offset, other))
            }
        }
    }

    /// Whether the first byte is data.
    fn begins(&self) -> bool {
        self.is_dense() && self.layout.bytes() > 0
    }

    /// Packed bytes of a block; of the largest one where they differ.
    pub fn block_bytes(&self) -> u64 {
        let irregular = self.blocks.iter().map(|block| block.bytes(&self.datatype)).max();
        irregular.unwrap_or(0).max(self.layout.bytes())
    }
}

impl Block {
    /// Whether the byte at `offset` is the first one of this block of `buffer`.
    fn begins_at(&self, offset: i64, buffer: &Buffer) -> bool {
        let dense = matches!(self.datatype.as_ref().unwrap_or(&buffer.datatype), TypeRef::Dense(_));
        self.offset == offset && dense && self.bytes(&buffer.datatype) > 0
    }

    /// Packed bytes; `common` is the type of blocks that have none of their own.
    pub fn bytes(&self, common: &TypeRef) -> u64 {
        self.count.saturating_mul(self.datatype.as_ref().unwrap_or(common).size())
    }
}

/// Whether a collective is one among neighbours in a topology. Each process goes its own way through it, with messages
/// alone: it must not depend on that whether the processes ask each other something.
pub(super) fn is_neighbourhood(coll: Coll) -> bool {
    matches!(
        coll,
        Coll::NeighborAllgather
            | Coll::NeighborAllgatherv
            | Coll::NeighborAlltoall
            | Coll::NeighborAlltoallv
            | Coll::NeighborAlltoallw
    )
}
