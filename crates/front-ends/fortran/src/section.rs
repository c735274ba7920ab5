//! Buffers of `mpi_f08`: assumed rank, so a section of an array comes as a descriptor (ISO/IEC 1539-1, section 18.5).
//!
//! A blocking call gets a section as a copy. A call that keeps its buffer gets it as a datatype, laid over the sequence of the
//! section's elements. Where neither is possible the call fails with `MPI_ERR_BUFFER`.

use core::slice;

use crate::place::{P, give};
use crate::{handle, sentinel};

/// What compilers agree on in a descriptor.
#[repr(C)]
pub struct Descriptor {
    base: P,
    element: usize,
    version: i32,
    rank: u8,
    /// Attribute and type, in an order that differs.
    _other: [u8; 3],
}

/// A dimension; it lies behind the [`Descriptor`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Dimension {
    lower: isize,
    extent: isize,
    stride: isize,
}

const _: () = assert!(size_of::<Descriptor>() == 24);

impl Descriptor {
    /// Bytes of an element.
    pub fn bytes(&self) -> usize {
        self.element
    }

    fn dimensions(&self) -> &[Dimension] {
        let first = core::ptr::from_ref(self).wrapping_add(1).cast::<Dimension>();
        // SAFETY: a descriptor has as many dimensions as its rank behind it.
        unsafe { slice::from_raw_parts(first, usize::from(self.rank)) }
    }

    /// Whether the elements lie one behind the other. The last extent of an assumed size is -1.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        let mut next = self.element as isize;
        self.dimensions().iter().all(|it| {
            let fits = it.stride == next || it.extent == 1;
            next = next.wrapping_mul(it.extent);
            fits
        }) || self.elements() == 0
    }

    fn elements(&self) -> i64 {
        self.dimensions().iter().map(|it| it.extent as i64).product()
    }

    /// The places of the elements in their order, from the first one.
    fn places(&self) -> impl Iterator<Item = isize> {
        let dimensions = self.dimensions();
        (0..self.elements().max(0)).map(move |number| {
            let (mut rest, mut place) = (number, 0);
            for it in dimensions {
                place += (rest % it.extent as i64) as isize * it.stride;
                rest /= it.extent as i64;
            }
            place
        })
    }
}

unsafe fn descriptor<'a>(buffer: P) -> &'a Descriptor {
    // SAFETY: what the interface declares comes as a descriptor.
    unsafe { &*buffer.cast::<Descriptor>() }
}

/// Where a buffer begins.
///
/// # Safety
/// A descriptor.
pub unsafe fn start(buffer: P) -> P {
    // SAFETY: the caller's promise.
    sentinel::buffer(unsafe { descriptor(buffer) }.base)
}

/// Whether a buffer is `MPI_IN_PLACE`.
///
/// # Safety
/// A descriptor.
pub unsafe fn is_in_place(buffer: P) -> bool {
    // SAFETY: the caller's promise.
    sentinel::is_in_place(unsafe { descriptor(buffer) }.base)
}

/// Text and its length.
///
/// # Safety
/// A descriptor.
pub unsafe fn text(text: P) -> (*mut u8, usize) {
    // SAFETY: the caller's promise.
    let it = unsafe { descriptor(text) };
    (it.base.cast(), it.element)
}

/// A buffer in one piece.
///
/// # Safety
/// A descriptor.
pub unsafe fn whole(buffer: P) -> Option<P> {
    // SAFETY: the caller's promise.
    let it = unsafe { descriptor(buffer) };
    it.is_whole().then(|| sentinel::buffer(it.base))
}

/// A buffer for a blocking call: itself, or a copy of a section.
pub struct Copy<'a> {
    of: &'a Descriptor,
    copy: Option<Vec<u8>>,
}

impl Copy<'_> {
    /// The buffer behind a descriptor.
    ///
    /// # Safety
    /// A descriptor.
    #[inline(always)]
    pub unsafe fn of(buffer: P) -> Self {
        // SAFETY: the caller's promise.
        let of = unsafe { descriptor(buffer) };
        let copy = if of.is_whole() { None } else { Some(gather(of)) };
        Copy { of, copy }
    }

    /// What C gets.
    #[inline(always)]
    pub fn address(&mut self) -> P {
        self.copy.as_mut().map_or_else(|| sentinel::buffer(self.of.base), |copy| copy.as_mut_ptr() as P)
    }

    /// Gives the section what C has written.
    pub fn put_back(&self) {
        let Some(copy) = &self.copy else { return };
        for (place, bytes) in self.of.places().zip(copy.chunks_exact(self.of.element)) {
            let to = self.of.base.cast::<u8>().wrapping_offset(place);
            // SAFETY: an element of the program's section.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        }
    }
}

#[cold]
fn gather(of: &Descriptor) -> Vec<u8> {
    let mut copy = Vec::new();
    for place in of.places() {
        let from = of.base.cast::<u8>().wrapping_offset(place);
        // SAFETY: an element of the program's section.
        copy.extend_from_slice(unsafe { slice::from_raw_parts(from, of.element) });
    }
    copy
}

unsafe extern "C" {
    fn PMPI_Type_get_extent(datatype: usize, lower: P, extent: P) -> i32;
    fn PMPI_Type_size_c(datatype: usize, size: P) -> i32;
    fn PMPI_Type_get_envelope(datatype: usize, integers: P, addresses: P, datatypes: P, combiner: P) -> i32;
    fn PMPI_Type_contiguous_c(count: i64, of: usize, new: P) -> i32;
    fn PMPI_Type_create_hvector_c(count: i64, block: i64, stride: i64, of: usize, new: P) -> i32;
    fn PMPI_Type_create_struct_c(count: i64, blocks: P, places: P, types: P, new: P) -> i32;
    fn PMPI_Type_dup(of: usize, new: P) -> i32;
    fn PMPI_Type_commit(datatype: P) -> i32;
    fn PMPI_Type_free(datatype: P) -> i32;
    fn PMPI_Comm_call_errhandler(comm: usize, code: i32) -> i32;
    fn PMPI_Win_call_errhandler(win: usize, code: i32) -> i32;
    fn PMPI_File_call_errhandler(file: usize, code: i32) -> i32;
}

/// A buffer with its count and datatype for a call that keeps it.
pub struct Laid {
    /// Where it begins.
    pub address: P,
    /// How many of the datatype.
    pub count: i64,
    given: usize,
    made: Option<Type>,
}

impl Laid {
    /// `count` of `datatype` in the buffer of a descriptor.
    ///
    /// # Safety
    /// A descriptor.
    #[inline(always)]
    pub unsafe fn of(buffer: P, count: i64, datatype: usize) -> Option<Laid> {
        // SAFETY: the caller's promise.
        let of = unsafe { descriptor(buffer) };
        if of.is_whole() {
            return Some(Laid { address: sentinel::buffer(of.base), count, given: datatype, made: None });
        }
        let made = lay(of, count, datatype)?;
        Some(Laid { address: of.base, count: 1, given: datatype, made: Some(made) })
    }

    /// The datatype.
    #[inline(always)]
    pub fn datatype(&self) -> usize {
        self.made.as_ref().map_or(self.given, |made| made.0)
    }
}

/// A datatype made here; operations under way have their own.
struct Type(usize);

impl Drop for Type {
    fn drop(&mut self) {
        // SAFETY: the handle is this one's.
        unsafe { PMPI_Type_free(&raw mut self.0 as P) };
    }
}

fn make(function: impl FnOnce(P) -> i32) -> Option<Type> {
    let mut new = abi::DATATYPE_NULL.0;
    (function(&raw mut new as P) == abi::SUCCESS).then_some(Type(new))
}

/// The first elements of a section as one datatype: as many as `count` of `datatype` take, which must be as long as one or
/// several of them, without holes and in order.
#[cold]
fn lay(of: &Descriptor, count: i64, datatype: usize) -> Option<Type> {
    let each = elements_in(of, datatype)?;
    let taken = count.checked_mul(each)?;
    if taken < 0 || taken > of.elements() {
        return None;
    }
    let element = match each {
        // SAFETY: the new handle has a place of its own.
        1 => make(|new| unsafe { PMPI_Type_dup(datatype, new) })?,
        // SAFETY: as above.
        _ => make(|new| unsafe { PMPI_Type_contiguous_c(of.element as i64, abi::BYTE.0, new) })?,
    };
    let mut laid = first(of.dimensions(), taken, &element)?;
    // SAFETY: as above.
    (unsafe { PMPI_Type_commit(&raw mut laid.0 as P) } == abi::SUCCESS).then_some(laid)
}

/// How many elements a datatype takes, if it is made of them alone.
fn elements_in(of: &Descriptor, datatype: usize) -> Option<i64> {
    let (mut lower, mut extent, mut size) = (0_isize, 0_isize, 0_i64);
    let (mut combiner, mut ignored) = (0_i32, [0_i32; 3]);
    let [one, two, three] = &mut ignored;
    // SAFETY: the answers have places of their own.
    unsafe {
        PMPI_Type_get_extent(datatype, &raw mut lower as P, &raw mut extent as P);
        PMPI_Type_size_c(datatype, &raw mut size as P);
        let places = (one as *mut i32 as P, two as *mut i32 as P, three as *mut i32 as P);
        PMPI_Type_get_envelope(datatype, places.0, places.1, places.2, &raw mut combiner as P);
    }
    let plain = matches!(
        combiner,
        abi::COMBINER_NAMED
            | abi::COMBINER_DUP
            | abi::COMBINER_CONTIGUOUS
            | abi::COMBINER_F90_REAL
            | abi::COMBINER_F90_COMPLEX
            | abi::COMBINER_F90_INTEGER
    );
    let element = i64::try_from(of.element).ok().filter(|element| *element > 0)?;
    let fits = plain && lower == 0 && extent as i64 == size && size > 0 && size % element == 0;
    fits.then_some(size / element)
}

/// The first `taken` elements of a section: whole slices of the last dimension, then the first elements of one more.
fn first(dimensions: &[Dimension], taken: i64, element: &Type) -> Option<Type> {
    let Some((last, inner)) = dimensions.split_last() else {
        // SAFETY: the new handle has a place of its own, here and below.
        return make(|new| unsafe { PMPI_Type_contiguous_c(taken, element.0, new) });
    };
    let slice: i64 = inner.iter().map(|it| it.extent as i64).product();
    let (whole, rest) = (taken / slice, taken % slice);
    let full = first(inner, slice, element)?;
    // SAFETY: as above.
    let slices =
        make(|new| unsafe { PMPI_Type_create_hvector_c(whole, 1, last.stride as i64, full.0, new) })?;
    if rest == 0 {
        return Some(slices);
    }
    let end = first(inner, rest, element)?;
    let (blocks, places, types) = ([1_i64; 2], [0, whole * last.stride as i64], [slices.0, end.0]);
    // SAFETY: as above; the arrays have two elements.
    make(|new| unsafe {
        PMPI_Type_create_struct_c(2, blocks.as_ptr() as P, places.as_ptr() as P, types.as_ptr() as P, new)
    })
}

/// The object that an error belongs to.
pub enum On {
    /// A communicator.
    Comm(i32),
    /// A window.
    Win(i32),
    /// A file.
    File(i32),
    /// No object but the call.
    Itself,
}

/// Fails a call whose section cannot be passed on.
///
/// # Safety
/// `ierror` is null or the program's.
#[cold]
pub unsafe fn refuse(on: On, ierror: *mut i32) {
    let code = abi::ERR_BUFFER;
    // SAFETY: a handle that is none is an error of its own.
    unsafe {
        match on {
            On::Comm(comm) => PMPI_Comm_call_errhandler(handle::of(comm), code),
            On::Win(win) => PMPI_Win_call_errhandler(handle::of(win), code),
            On::File(file) => PMPI_File_call_errhandler(handle::of(file), code),
            On::Itself => PMPI_Comm_call_errhandler(abi::COMM_SELF.0, code),
        };
        give(ierror, code);
    }
}
