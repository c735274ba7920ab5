//! Memory that the program asks MPI for (MPI-5.0 section 9.2). Where a transport registers memory, parts of a pool
//! that stays registered; else ordinary memory, aligned to cache lines, since the transports of a node reach all of a
//! process's memory alike.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use abi::{Address, Aint, Error, Result};
use bml::Gemini;
use gni::MemHandle;
use mem::UserMem;
use mpool::{Keep, Pool};

use crate::domain::Token;
use crate::state::State;

/// Alignment in bytes where the info object does not ask for more: a cache line.
const ALIGNMENT: usize = 64;

/// The blocks of ordinary memory handed out, by address.
static BLOCKS: Mutex<BTreeMap<usize, Layout>> = Mutex::new(BTreeMap::new());

fn blocks() -> MutexGuard<'static, BTreeMap<usize, Layout>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `MPI_Alloc_mem`; the info key `mpi_minimum_memory_alignment` asks for an alignment in bytes.
pub fn alloc_mem(t: &mut Token, size: Aint, info: abi::Info, base: &mut Address) -> Result<()> {
    let size = usize::try_from(size).map_err(|_| Error::new(abi::ERR_ARG, "the size is negative"))?;
    let mut state = t.lock();
    let hints = state.infos.hints(info)?;
    let asked = hints.get("mpi_minimum_memory_alignment").and_then(|text| text.trim().parse().ok());
    let alignment = asked.filter(|bytes: &usize| bytes.is_power_of_two()).unwrap_or(1).max(ALIGNMENT);
    let State { p2p, pool, .. } = &mut *state;
    if let Some(gemini) = p2p.bml.gemini_mut() {
        *base = Address(pool.alloc(&mut Registered(gemini), size, alignment).ok_or(NO_MEMORY)?);
        return Ok(());
    }
    drop(state);
    // An empty block has an address of its own too.
    let layout = Layout::from_size_align(size.max(1), alignment).map_err(|_| NO_MEMORY)?;
    // SAFETY: the size is not zero.
    let block = unsafe { alloc(layout) };
    if block.is_null() {
        return Err(NO_MEMORY);
    }
    *base = Address(block.expose_provenance());
    blocks().insert(base.0, layout);
    Ok(())
}

const NO_MEMORY: Error = Error::new(abi::ERR_NO_MEM, "the system has no memory of this size and alignment");

/// `MPI_Free_mem`
pub fn free_mem(t: &mut Token, base: Address) -> Result<()> {
    let mut state = t.lock();
    let State { p2p, pool, .. } = &mut *state;
    if p2p.bml.gemini_mut().is_some_and(|gemini| pool.free(&mut Registered(gemini), base.0)) {
        return Ok(());
    }
    drop(state);
    let no_block = Error::new(abi::ERR_BASE, "the address is not one that MPI_Alloc_mem gave");
    let layout = blocks().remove(&base.0).ok_or(no_block)?;
    // SAFETY: `alloc_mem` made the block with this layout, and it was still in the table, so it is freed once.
    unsafe { dealloc(std::ptr::with_exposed_provenance_mut(base.0), layout) };
    Ok(())
}

/// The pool of an initialised process.
pub(crate) type RegisteredPool = Pool<MemHandle>;

/// Registers the pool's blocks with the transport that has uses for that.
struct Registered<'a>(&'a mut Gemini);

impl Keep for Registered<'_> {
    type Handle = MemHandle;

    fn keep(&mut self, memory: UserMem) -> Option<MemHandle> {
        self.0.keep_memory(memory)
    }

    fn forget(&mut self, handle: MemHandle) {
        self.0.forget_memory(handle);
    }
}
