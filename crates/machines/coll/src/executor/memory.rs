//! The buffers of a virtual rank and simple datatypes with holes.

use crate::execution::Layout;
use crate::port::{Base, Region, Side, Ty};

/// A datatype: `size` bytes of data that begin `lb` bytes from the origin; elements are `extent` bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type {
    /// Packed bytes.
    pub size: usize,
    /// Displacement of the first byte.
    pub lb: i64,
    /// Bytes from one element to the next.
    pub extent: i64,
}

impl Type {
    /// A type without holes.
    pub const fn contiguous(size: usize) -> Type {
        Type { size, lb: 0, extent: size as i64 }
    }

    /// The layout of `count` elements.
    pub const fn layout(&self, count: u64) -> Layout {
        Layout {
            count,
            size: self.size as u64,
            extent: self.extent,
            true_lb: self.lb,
            true_extent: self.size as u64,
        }
    }
}

/// Bytes with the place of the user's pointer within them.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Index of the byte the user's pointer names.
    pub origin: usize,
}

impl Buffer {
    /// A buffer for `count` elements, filled with `fill`, with the pointer where the first element's origin
    /// is.
    pub fn new(ty: Type, count: usize, fill: u8) -> Buffer {
        let run = ty.extent * count.saturating_sub(1) as i64;
        let lowest = (ty.lb + run.min(0)).min(0);
        let highest = ty.lb + run.max(0) + ty.size as i64;
        let bytes = if count == 0 { 0 } else { (highest.max(0) - lowest) as usize };
        Buffer { bytes: vec![fill; bytes], origin: (-lowest) as usize }
    }

    /// A buffer whose elements hold `packed`.
    pub fn with_elements(ty: Type, packed: &[u8], fill: u8) -> Buffer {
        let mut buffer = Buffer::new(ty, packed.len() / ty.size.max(1), fill);
        buffer.set(ty, 0, packed);
        buffer
    }

    /// Writes packed elements, the first one's origin `offset` bytes from the pointer.
    pub fn set(&mut self, ty: Type, offset: i64, packed: &[u8]) {
        for (i, element) in packed.chunks(ty.size.max(1)).enumerate() {
            let at = self.origin as i64 + offset + ty.lb + ty.extent * i as i64;
            self.bytes[at as usize..][..ty.size].copy_from_slice(element);
        }
    }

    /// Reads `count` packed elements.
    pub fn get(&self, ty: Type, offset: i64, count: usize) -> Vec<u8> {
        let mut packed = Vec::with_capacity(count * ty.size);
        for i in 0..count {
            let at = self.origin as i64 + offset + ty.lb + ty.extent * i as i64;
            packed.extend_from_slice(&self.bytes[at as usize..][..ty.size]);
        }
        packed
    }
}

/// A block of a v or w variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Displacement in bytes.
    pub offset: i64,
    /// Number of elements.
    pub count: usize,
    /// Their type.
    pub ty: Type,
}

impl Block {
    /// Packed bytes.
    pub const fn bytes(&self) -> usize {
        self.count * self.ty.size
    }
}

/// All memory of a virtual rank that a schedule can name.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The send buffer; empty where the argument is not significant or `MPI_IN_PLACE`.
    pub send: Buffer,
    /// The receive buffer.
    pub recv: Buffer,
    /// The send type.
    pub send_type: Type,
    /// The receive type.
    pub recv_type: Type,
    /// Blocks of the send side, v and w variants.
    pub send_blocks: Vec<Block>,
    /// Blocks of the receive side.
    pub recv_blocks: Vec<Block>,
    /// Scratch memory; [`super::VirtualRanks::new`] sizes it.
    pub arena: Vec<u8>,
}

impl Memory {
    /// Buffers of regular calls.
    pub fn new(send: Buffer, send_type: Type, recv: Buffer, recv_type: Type) -> Memory {
        Memory { send, recv, send_type, recv_type, send_blocks: vec![], recv_blocks: vec![], arena: vec![] }
    }

    /// Spoils everything.
    pub(super) fn scribble(&mut self) {
        for bytes in [&mut self.send.bytes, &mut self.recv.bytes, &mut self.arena] {
            bytes.fill(0xDD);
        }
    }

    pub(super) fn type_of(&self, ty: Ty) -> Type {
        match ty {
            Ty::Send => self.send_type,
            Ty::Recv => self.recv_type,
            Ty::Byte => Type::contiguous(1),
        }
    }

    pub(super) fn block(&self, side: Side, index: u32) -> Block {
        match side {
            Side::Send => self.send_blocks[index as usize],
            Side::Recv => self.recv_blocks[index as usize],
        }
    }

    /// The packed bytes of a region outside of bounce buffers.
    pub fn pack(&self, region: &Region) -> Vec<u8> {
        let (base, ty, offset, count) = self.locate(region);
        match base {
            Base::Send => self.send.get(ty, offset, count),
            Base::Recv => self.recv.get(ty, offset, count),
            _ => {
                let mut packed = Vec::with_capacity(count * ty.size);
                for i in 0..count {
                    let at = offset + ty.lb + ty.extent * i as i64;
                    packed.extend_from_slice(&self.arena[at as usize..][..ty.size]);
                }
                packed
            }
        }
    }

    /// Writes packed bytes into a region outside of bounce buffers; they must fill it exactly.
    pub fn unpack(&mut self, region: &Region, packed: &[u8]) {
        let (base, ty, offset, count) = self.locate(region);
        assert_eq!(packed.len(), count * ty.size, "message and place have one size");
        match base {
            Base::Send => panic!("the send buffer is read-only"),
            Base::Recv => self.recv.set(ty, offset, packed),
            _ => {
                for (i, element) in packed.chunks(ty.size.max(1)).enumerate() {
                    let at = offset + ty.lb + ty.extent * i as i64;
                    self.arena[at as usize..][..ty.size].copy_from_slice(element);
                }
            }
        }
    }

    fn locate(&self, region: &Region) -> (Base, Type, i64, usize) {
        match *region {
            Region::Empty => (Base::Arena, Type::contiguous(1), 0, 0),
            Region::Span { base, ty, offset, count } => (base, self.type_of(ty), offset, count as usize),
            Region::Block { side, index } | Region::Piece { side, index, .. } => {
                let block = self.block(side, index);
                let base = if side == Side::Send { Base::Send } else { Base::Recv };
                (base, block.ty, block.offset, block.count)
            }
        }
    }
}
