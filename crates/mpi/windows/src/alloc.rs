//! Memory that the program asks MPI for (MPI-5.0 section 9.2): parts of a pool of blocks, made as the job has uses for them.
//!
//! ```text
//!   other processes on the node       a memory file, its pages allocated at once: windows made of it are mapped
//!                                     by the others (lent.rs)
//!   none, or no descriptors left      memory of this process alone, on huge pages
//!   a transport registers memory      each block is registered, as long as there is room
//! ```
//! A registration of a whole block costs one memory descriptor and, of a NIC's relocation table with pages of 2 MiB,
//! one entry per huge page, however many parts there are; a block that processes share costs one descriptor of a file.
//! The pool gives a block back to its source before the memory goes.
//!
//! A block is at least a quarter as long as all before it, up to [`LONGEST`], so small parts take few descriptors; and
//! the first ones are short, so that a program that asks for little takes little.

mod free_list;
mod pool;

use std::io::ErrorKind;

use abi::{Address, Aint, Error, Result};
use bml::Gemini;
use engine::Guarded;
use gni::MemHandle;
use mem::UserMem;
use node::{SegmentTicket, SharedSegment};
use platform::private_block::{HUGE_PAGE, HugePages, PrivateBlock};
use rcache::Pages;

use self::pool::{Pool, Source};
use objects::domain::Token;
use objects::memory::of_user;
use objects::state::State;

/// Alignment in bytes where the info object does not ask for more: a cache line.
const ALIGNMENT: usize = 64;

/// Bytes of a block that is not registered, at least.
const SHORTEST: usize = 64 << 10;
/// Bytes of a block that is longer than what is asked for, at most.
const LONGEST: usize = 64 << 20;
/// Bytes of a block that is registered, at least.
const REGISTERED: usize = 2 * HUGE_PAGE;

/// `MPI_Alloc_mem`; the info key `mpi_minimum_memory_alignment` asks for an alignment in bytes.
pub fn alloc_mem(t: &mut Token, size: Aint, info: abi::Info, base: &mut Address) -> Result<()> {
    let size = usize::try_from(size).map_err(|_| Error::new(abi::ERR_ARG, "the size is negative"))?;
    let mut state = t.lock();
    let hints = state.infos.hints(info)?;
    let asked = hints.get("mpi_minimum_memory_alignment").and_then(|text| text.trim().parse().ok());
    let alignment = asked.filter(|bytes: &usize| bytes.is_power_of_two()).unwrap_or(1).max(ALIGNMENT);
    // An empty part has an address of its own, too, and no two have a cache line together.
    let size = size.max(1).checked_next_multiple_of(ALIGNMENT).ok_or(NO_MEMORY)?;
    let (pool, mut blocks) = pool_of(&mut state);
    *base = Address(pool.alloc(&mut blocks, size, alignment).ok_or(NO_MEMORY)?);
    Ok(())
}

const NO_MEMORY: Error = Error::new(abi::ERR_NO_MEM, "the system has no memory of this size and alignment");

/// `MPI_Free_mem`
pub fn free_mem(t: &mut Token, base: Address) -> Result<()> {
    let mut state = t.lock();
    let (pool, mut blocks) = pool_of(&mut state);
    if pool.free(&mut blocks, base.0) {
        return Ok(());
    }
    Err(Error::new(abi::ERR_BASE, "the address is not one that MPI_Alloc_mem gave"))
}

/// What `MPI_Alloc_mem` gives out.
#[derive(Debug)]
pub struct Memory {
    pool: Pool<Block>,
    /// Blocks that others may map.
    segments: u32,
}

#[derive(Debug)]
struct Block {
    memory: Kind,
    /// Its registration, if a transport has one.
    handle: Option<MemHandle>,
}

#[derive(Debug)]
enum Kind {
    Shared(SharedSegment),
    Private(PrivateBlock),
}

impl Kind {
    fn memory(&self) -> UserMem {
        match self {
            Kind::Shared(segment) => of_user(Address(segment.address()), segment.len()),
            Kind::Private(block) => block.memory(),
        }
    }
}

/// Makes the blocks.
struct Blocks<'a> {
    gemini: Option<&'a mut Gemini>,
    pages: HugePages,
    segments: &'a mut u32,
    /// Blocks that others may map, at most.
    most: u32,
}

/// The pool, and what makes its blocks.
fn pool_of(state: &mut State) -> (&mut Pool<Block>, Blocks<'_>) {
    let is_shared = state.node.as_ref().is_some_and(|node| node.members().len() > 1);
    let most = if is_shared { state.params.osc.alloc_mem_segments as u32 } else { 0 };
    let pages = match state.params.rcache.huge_pages {
        Pages::Never => HugePages::Never,
        Pages::Transparent => HugePages::Transparent,
        Pages::Reserved => HugePages::Reserved,
    };
    let Memory { pool, segments } = MEMORY.get_mut(&mut state.tables);
    (pool, Blocks { gemini: state.p2p.bml.gemini_mut(), pages, segments, most })
}

/// That of this process.
pub(crate) static MEMORY: Guarded<Memory> = Guarded::new(Memory::new());

impl Memory {
    const fn new() -> Memory {
        Memory { pool: Pool::new(), segments: 0 }
    }

    /// What other processes of the node map the block by that holds all of `size` bytes at `base`, and where in it they
    /// begin. `None`: it is not memory that they can map.
    pub fn lend(&self, base: usize, size: usize) -> Option<(SegmentTicket, usize)> {
        let (block, range) = self.pool.block_of(base, size)?;
        match &block.memory {
            Kind::Shared(segment) => segment.ticket().zip(Some(base - range.start)),
            Kind::Private(_) => None,
        }
    }
}

impl Blocks<'_> {
    /// A block that others may map; `Ok(None)`: this process has had its share of them.
    fn segment(&mut self, len: usize, wish: usize) -> std::result::Result<Option<SharedSegment>, NoMemory> {
        if *self.segments >= self.most {
            return Ok(None);
        }
        let made = SharedSegment::create(wish).or_else(|_| SharedSegment::create(len));
        let made = made.and_then(|segment| segment.leave_to_children().map(|()| segment));
        match made.map_err(|error| error.kind()) {
            Ok(segment) => Ok(Some(segment)),
            Err(
                ErrorKind::OutOfMemory
                | ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
                | ErrorKind::FileTooLarge,
            ) => Err(NoMemory),
            // Descriptors have run out.
            Err(_) => Ok(None),
        }
    }
}

/// There is no memory.
struct NoMemory;

impl Source for Blocks<'_> {
    type Block = Block;

    fn make(&mut self, len: usize, has: usize) -> Option<(Block, UserMem)> {
        let least = if self.gemini.is_some() { REGISTERED } else { (has / 4).clamp(SHORTEST, LONGEST) };
        let kind = match self.segment(len, len.max(least)).ok()? {
            Some(segment) => Kind::Shared(segment),
            None => Kind::Private(PrivateBlock::map(len.max(least), self.pages)?),
        };
        *self.segments += u32::from(matches!(kind, Kind::Shared(_)));
        let memory = kind.memory();
        let handle = self.gemini.as_mut().and_then(|gemini| gemini.keep_memory(memory));
        Some((Block { memory: kind, handle }, memory))
    }

    fn give_back(&mut self, block: Block) {
        if let (Some(handle), Some(gemini)) = (block.handle, &mut self.gemini) {
            gemini.forget_memory(handle);
        }
        *self.segments -= u32::from(matches!(block.memory, Kind::Shared(_)));
    }
}
