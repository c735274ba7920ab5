//! Where the promise of the MPI caller about its buffers becomes a view of memory.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::sync::Arc;

use abi::{Address, Error, Result};
use datatype::Datatype;
use mem::UserMem;
use osc::{Combiner, Element, Side};

/// What a buffer argument holds.
pub struct Items<'a> {
    pub datatype: &'a Arc<Datatype>,
    pub count: u64,
    /// Bytes in pack order.
    pub len: usize,
}

impl Items<'_> {
    /// The datatype, in a form that outlives its handle.
    pub fn shared(&self) -> Arc<Datatype> {
        self.datatype.clone()
    }
}

/// The error where the library wants to keep a copy of as much data as the program names.
pub const NO_MEMORY: Error = Error::new(abi::ERR_NO_MEM, "the system has no memory for a copy of the data");

/// Bytes of the library's own, zero.
///
/// # Errors
/// `MPI_ERR_NO_MEM`.
pub fn zeroed(len: usize) -> Result<Vec<u8>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let layout = Layout::array::<u8>(len).map_err(|_| NO_MEMORY)?;
    // SAFETY: the layout has a size.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return Err(NO_MEMORY);
    }
    // SAFETY: the allocator of vectors gave `len` bytes with their alignment, and all are zero.
    Ok(unsafe { Vec::from_raw_parts(start, len, len) })
}

/// Gives a vector of the library's own another length.
///
/// # Errors
/// `MPI_ERR_NO_MEM`.
pub fn resize<T: Clone + Default>(vector: &mut Vec<T>, len: usize) -> Result<()> {
    vector.try_reserve_exact(len.saturating_sub(vector.len())).map_err(|_| NO_MEMORY)?;
    vector.resize(len, T::default());
    Ok(())
}

/// The bytes of a buffer argument.
///
/// Sound by the contract of the C call: MPI-5.0 section 3.2.4 makes the caller provide `len` bytes at the
/// address, for as long as the operation lasts. Only `p2p` and its like call this, with an address and a count
/// that came in together.
#[inline(always)]
pub fn of_user(address: Address, len: usize) -> UserMem {
    // SAFETY: the caller of MPI vouches for the buffer, see above.
    unsafe { UserMem::new(address.0, len) }
}

/// The bytes of a vector that its owner keeps, unchanged in length, until the operation is over.
pub fn of_vec(bytes: &[u8]) -> UserMem {
    // SAFETY: the owners (`buffer_pool::Pending`, `request::Pair`, blocking calls) hold the vector for as
    // long as the operation and only read from the view.
    unsafe { UserMem::new(bytes.as_ptr() as usize, bytes.len()) }
}

/// The bytes of a vector that its owner keeps, unchanged in length and otherwise untouched, until the operation
/// that fills it is over.
pub fn of_vec_mut(bytes: &mut [u8]) -> UserMem {
    // SAFETY: the owner (`partitioned::Receiver`) cancels the operation before it drops the vector.
    unsafe { UserMem::new(bytes.as_mut_ptr().expose_provenance(), bytes.len()) }
}

/// The address of words that an operation may write until it is over, as an argument of a collective.
pub fn exposed(words: &mut [u64]) -> Address {
    Address(words.as_mut_ptr().expose_provenance())
}

/// Counts or displacements of one entry for each rank, as an argument of a collective over as many ranks.
pub fn count_array(values: &[i64]) -> ffi::CountArray<'_> {
    // SAFETY: the collectives that the library calls with this ask for as many as the communicator has ranks, which is how
    // many there are.
    ffi::CountArray::Wide(unsafe { ffi::Array::new(values.as_ptr(), "an array of counts is null") })
}

/// The bytes of words that their owner keeps until the operation is over.
pub fn of_words(words: &mut [u64]) -> UserMem {
    // SAFETY: the blocking calls that use this hold the exclusive borrow until the operation is over.
    unsafe { UserMem::new(words.as_mut_ptr().expose_provenance(), size_of_val(words)) }
}

/// `into = left op right` on `count` elements, at addresses of user buffers or of a collective's scratch memory.
pub fn reduce(kernel: op::Kernel, into: Address, left: Address, right: Address, count: u64) {
    // SAFETY: the three ranges are buffers of the call, its scratch or lines of its area, as long as the call or its
    // schedule says; `into` is one of the others or overlaps neither (the promise of `coll::Port::reduce`).
    unsafe {
        kernel(left.0 as *const u8, right.0 as *const u8, into.0 as *mut u8, count as usize);
    }
}

/// Turns `count` elements of a buffer argument into exact sums of one term each; `sums` holds that many.
///
/// # Errors
/// `MPI_ERR_TYPE` for a type without exact sums.
pub fn begin_sums(datatype: abi::Datatype, from: Address, sums: &mut [u64], count: usize) -> Result<()> {
    assert!(sums.len() * 8 >= count * op::reproducible::size(datatype)?, "room for the sums");
    // SAFETY: the caller of MPI vouches for the buffer, see `of_user`; the sums have room, and words are aligned.
    unsafe { op::reproducible::begin(datatype, from.0 as *const u8, sums.as_mut_ptr().cast(), count) }
}

/// Rounds `count` exact sums into a buffer argument.
///
/// # Errors
/// As [`begin_sums`].
pub fn finish_sums(datatype: abi::Datatype, sums: &[u64], into: Address, count: usize) -> Result<()> {
    assert!(sums.len() * 8 >= count * op::reproducible::size(datatype)?, "as many sums");
    // SAFETY: as in `begin_sums`.
    unsafe { op::reproducible::finish(datatype, sums.as_ptr().cast(), into.0 as *mut u8, count) }
}

/// Packs a buffer argument to `out`, which has room for it.
///
/// # Errors
/// As `datatype::pack`.
pub fn pack(items: &Items<'_>, buf: Address, out: UserMem) -> Result<()> {
    assert!(items.len <= out.len(), "room for the packed data");
    let (from, to) = (buf.0 as *mut u8, out.address() as *mut u8);
    // SAFETY: the caller of MPI vouches for both buffers, see `of_user`.
    unsafe { datatype::pack(items.datatype, items.count, from, to) }
}

/// Unpacks a buffer argument from `packed`, which holds it.
///
/// # Errors
/// As `datatype::pack`.
pub fn unpack(packed: UserMem, items: &Items<'_>, buf: Address) -> Result<()> {
    assert!(items.len <= packed.len(), "all of the packed data");
    let (from, to) = (packed.address() as *const u8, buf.0 as *mut u8);
    // SAFETY: the caller of MPI vouches for both buffers, see `of_user`.
    unsafe { datatype::unpack(items.datatype, items.count, to, from) }
}

/// Converts a buffer argument to external32 at `out`; returns the bytes written.
///
/// # Errors
/// As `datatype::pack_external`.
pub fn pack_external(datatype: &Datatype, count: u64, buf: Address, out: UserMem) -> Result<u64> {
    let (from, to) = (buf.0 as *const u8, out.address() as *mut u8);
    // SAFETY: the caller of MPI vouches for both buffers, see `of_user`.
    unsafe { datatype::pack_external(datatype, count, from, to, out.len() as u64) }
}

/// As [`unpack_external`], as far as the bytes go; returns those that the program's memory got.
///
/// # Errors
/// As `datatype::unpack_external_part`.
pub fn unpack_external_part(packed: UserMem, datatype: &Datatype, count: u64, buf: Address) -> Result<u64> {
    let (from, to) = (packed.address() as *const u8, buf.0 as *mut u8);
    // SAFETY: the caller of MPI vouches for the buffer, see `of_user`; the bytes are the library's.
    let parts = unsafe { datatype::unpack_external_part(from, packed.len() as u64, datatype, count, to) };
    parts.map(|(_, converted)| converted)
}

/// Converts external32 bytes to a buffer argument; returns the bytes consumed.
///
/// # Errors
/// As `datatype::unpack_external`.
pub fn unpack_external(packed: UserMem, datatype: &Datatype, count: u64, buf: Address) -> Result<u64> {
    let (from, to) = (packed.address() as *const u8, buf.0 as *mut u8);
    // SAFETY: the caller of MPI vouches for both buffers, see `of_user`.
    unsafe { datatype::unpack_external(from, packed.len() as u64, datatype, count, to) }
}

/// The data of one side of a one-sided operation. At the target the address is one in its window, of which nothing is
/// read or written before the bounds were checked.
///
/// # Errors
/// `MPI_ERR_ARG` when the data does not fit 63 bits.
pub fn side(items: &Items<'_>, buf: Address) -> Result<Side> {
    // SAFETY: at the origin the caller of MPI vouches for the buffer, see `of_user`. At the target `Window::aim` gives out only
    // what lies in the memory that the program has given or gets for the window, which it keeps until the window is freed.
    unsafe { Side::new(items.datatype, items.count, buf.0) }
}

/// A copy of some bytes of a buffer or a window.
pub fn read_at(memory: UserMem) -> Vec<u8> {
    memory.as_bytes().to_vec()
}

/// Combines the elements of `target`, a run in mapped memory of a window, with those of `origin`, and fetches what they
/// were.
#[inline(always)]
pub fn combine_at(combiner: &Combiner, target: UserMem, origin: Option<UserMem>, result: Option<UserMem>) {
    let (from, into, count) = operands(combiner, target, origin, result);
    // SAFETY: the target is mapped, and was checked to be of the window; the caller of MPI vouches for the other buffers. Only
    // `MPI_NO_OP` comes without an origin.
    unsafe { osc::accumulate(combiner, target.address(), from, into, count) }
}

/// As [`combine_at`], where no other process disturbs a loop.
#[inline(always)]
pub fn combine_by_loops(
    combiner: &Combiner,
    target: UserMem,
    origin: Option<UserMem>,
    result: Option<UserMem>,
) {
    let (from, into, count) = operands(combiner, target, origin, result);
    // SAFETY: as in `combine_at`.
    unsafe { osc::accumulate_by_loops(combiner, target.address(), from, into, count) }
}

/// Where the operands of an accumulate on `target` are, and the number of elements.
#[inline(always)]
fn operands(
    combiner: &Combiner,
    target: UserMem,
    origin: Option<UserMem>,
    result: Option<UserMem>,
) -> (*const u8, Option<*mut u8>, usize) {
    assert!(target.address() & (combiner.size() - 1) == 0, "an address that fits the elements");
    let from = origin.map_or(std::ptr::null(), |memory| memory.address() as *const u8);
    let into = result.map(|memory| memory.address() as *mut u8);
    (from, into, combiner.count(target.len()))
}

/// Replaces the element of `target`, in mapped memory of a window, by `origin` if it is equal to `compare`; fetches
/// what it was.
pub fn compare_at(element: &Element, target: UserMem, origin: UserMem, compare: UserMem, result: UserMem) {
    assert!(element.is_atomic_at(target.address()), "an address that fits the element");
    let (from, with) = (origin.address() as *const u8, compare.address() as *const u8);
    // SAFETY: as in `combine_at`.
    unsafe { osc::compare_and_swap(element, target.address(), from, with, result.address() as *mut u8) };
}

/// Memory of this process that a window exposes, as a message from another one names it.
pub fn exposed_run(address: usize, len: usize) -> UserMem {
    // SAFETY: the caller has looked the range up in the window, whose memory the program keeps until the window is freed or the
    // memory detached.
    unsafe { UserMem::new(address, len) }
}
