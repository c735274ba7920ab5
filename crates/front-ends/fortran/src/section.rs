//! Buffers of `mpi_f08`: assumed rank, so a section of an array comes as a descriptor (ISO/IEC 1539-1, section 18.5).
//!
//! A blocking call gets a section as a copy. A call that keeps its buffer gets it as a datatype, laid over the sequence of the
//! section's elements, or, if it is a collective without a datatype for one buffer, as a copy of its own (`staged`).
//! Windows, attached buffers, partitioned and detached buffers must be in one piece: else the call fails with
//! `MPI_ERR_BUFFER`.

use core::slice;

use crate::descriptor::{Descriptor, Dimension};
use crate::handle::{self, Kind};
use crate::library::{self, Element};
use crate::place::{P, give};
use crate::sentinel;

impl Descriptor {
    /// Calls a function for each run of elements that lie one behind the other, in their order: where it begins, from the first
    /// element, and its bytes.
    fn runs(&self, each: impl FnMut(isize, usize)) {
        runs(self.bytes(), &self.dimensions(), each);
    }
}

fn runs(element: usize, dimensions: &[Dimension], mut each: impl FnMut(isize, usize)) {
    if dimensions.iter().any(|it| it.extent <= 0) {
        return;
    }
    let mut run = element as isize;
    let mut rest = dimensions;
    while let Some((first, others)) = rest.split_first() {
        if first.stride != run {
            break;
        }
        run *= first.extent;
        rest = others;
    }
    // Fortran has no arrays of more than 15 dimensions.
    let (mut counts, mut place) = ([0_isize; u8::MAX as usize], 0);
    loop {
        each(place, run as usize);
        let mut at = 0;
        loop {
            let Some(it) = rest.get(at) else { return };
            counts[at] += 1;
            place += it.stride;
            if counts[at] < it.extent {
                break;
            }
            place -= it.stride * it.extent;
            counts[at] = 0;
            at += 1;
        }
    }
}

/// A section that outlives its descriptor.
pub struct Section {
    base: *mut u8,
    element: usize,
    dimensions: Vec<Dimension>,
}

impl Section {
    /// The section of a descriptor.
    ///
    /// # Safety
    /// A descriptor. The memory stays until the last use of the section.
    pub unsafe fn of(buffer: P) -> Section {
        // SAFETY: the caller's promise.
        let it = unsafe { descriptor(buffer) };
        Section { base: it.base().cast(), element: it.bytes(), dimensions: it.dimensions().to_vec() }
    }

    /// Replaces the bytes by those of the section; as many in each call.
    pub fn copy_to(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        runs(self.element, &self.dimensions, |place, length| {
            // SAFETY: elements of the program's section.
            bytes.extend_from_slice(unsafe {
                slice::from_raw_parts(self.base.wrapping_offset(place), length)
            });
        });
    }

    /// Writes the elements of `bytes` that differ from those of `before`, as many.
    pub fn take_changes(&self, bytes: &[u8], before: &[u8]) {
        let mut at = 0;
        runs(self.element, &self.dimensions, |place, length| {
            for step in (0..length).step_by(self.element) {
                let new = &bytes[at + step..at + step + self.element];
                if *new != before[at + step..at + step + self.element] {
                    let to = self.base.wrapping_offset(place + step as isize);
                    // SAFETY: an element of the program's section.
                    unsafe { core::ptr::copy_nonoverlapping(new.as_ptr(), to, new.len()) };
                }
            }
            at += length;
        });
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
    sentinel::buffer(unsafe { descriptor(buffer) }.base())
}

/// Whether a buffer is memory of the program whose elements lie one behind the other; of buffers without elements it may say no.
///
/// # Safety
/// A descriptor.
#[inline(always)]
pub unsafe fn is_plain(buffer: P) -> bool {
    // SAFETY: the caller's promise.
    let it = unsafe { descriptor(buffer) };
    let mut next = it.bytes() as isize;
    if let [only] = &it.dimensions()[..] {
        // Without a product or a loop.
        return only.stride == next && !sentinel::is_special(it.base());
    }
    for dimension in it.dimensions().iter() {
        if dimension.stride != next {
            return false;
        }
        next = next.wrapping_mul(dimension.extent);
    }
    !sentinel::is_special(it.base())
}

/// Where a buffer begins in memory.
///
/// # Safety
/// A descriptor.
#[inline(always)]
pub unsafe fn base(buffer: P) -> P {
    // SAFETY: the caller's promise.
    unsafe { descriptor(buffer) }.base()
}

/// Whether a buffer is `MPI_IN_PLACE`.
///
/// # Safety
/// A descriptor.
pub unsafe fn is_in_place(buffer: P) -> bool {
    // SAFETY: the caller's promise.
    sentinel::is_in_place(unsafe { descriptor(buffer) }.base())
}

/// Text and its length.
///
/// # Safety
/// A descriptor.
pub unsafe fn text(text: P) -> (*mut u8, usize) {
    // SAFETY: the caller's promise.
    let it = unsafe { descriptor(text) };
    (it.base().cast(), it.bytes())
}

/// A buffer in one piece, which the call may attach.
///
/// # Safety
/// A descriptor.
pub unsafe fn whole(buffer: P) -> Option<P> {
    // SAFETY: the caller's promise.
    let it = unsafe { descriptor(buffer) };
    it.is_whole().then(|| sentinel::attached(it.base()))
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
        self.copy.as_mut().map_or_else(|| sentinel::buffer(self.of.base()), |copy| copy.as_mut_ptr() as P)
    }

    /// Gives the section what C has written.
    pub fn put_back(&self) {
        let Some(copy) = &self.copy else { return };
        let mut at = 0;
        self.of.runs(|place, length| {
            let to = self.of.base().cast::<u8>().wrapping_offset(place);
            // SAFETY: elements of the program's section.
            unsafe { core::ptr::copy_nonoverlapping(copy[at..at + length].as_ptr(), to, length) };
            at += length;
        });
    }
}

#[cold]
fn gather(of: &Descriptor) -> Vec<u8> {
    let mut copy = Vec::with_capacity(of.elements().max(0) as usize * of.bytes());
    of.runs(|place, length| {
        let from = of.base().cast::<u8>().wrapping_offset(place);
        // SAFETY: elements of the program's section.
        copy.extend_from_slice(unsafe { slice::from_raw_parts(from, length) });
    });
    copy
}

unsafe extern "C" {
    fn PMPI_Type_get_extent(datatype: usize, lower: P, extent: P) -> i32;
    fn PMPI_Type_get_true_extent(datatype: usize, lower: P, extent: P) -> i32;
    fn PMPI_Type_get_contents(
        datatype: usize,
        integers: i32,
        addresses: i32,
        datatypes: i32,
        integer: P,
        address: P,
        of: P,
    ) -> i32;
    fn PMPI_Type_create_hindexed_c(count: i64, blocks: P, places: P, of: usize, new: P) -> i32;
    fn PMPI_Pack_size_c(count: i64, datatype: usize, comm: usize, size: P) -> i32;
    fn PMPI_Pack_c(from: P, count: i64, datatype: usize, to: P, size: i64, position: P, comm: usize) -> i32;
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
        // What is wrong of itself is C's to report.
        if of.is_whole() || count < 0 || datatype == library::datatype_null() {
            return Some(Laid { address: sentinel::buffer(of.base()), count, given: datatype, made: None });
        }
        let made = lay(of, count, datatype)?;
        Some(Laid { address: of.base(), count: 1, given: datatype, made: Some(made) })
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
    let mut new = library::datatype_null();
    (function(&raw mut new as P) == library::SUCCESS).then_some(Type(new))
}

/// The part of a section that `count` of `datatype` take in the sequence of its elements, as one datatype.
#[cold]
fn lay(of: &Descriptor, count: i64, datatype: usize) -> Option<Type> {
    let mut laid = match elements_in(of, datatype) {
        Some(each) => {
            let taken = count.checked_mul(each).filter(|taken| *taken <= of.elements())?;
            first(&of.dimensions(), taken, &element(of, datatype)?)?
        }
        None => flattened(of, count, datatype)?,
    };
    // SAFETY: the handle is this function's.
    (unsafe { PMPI_Type_commit(&raw mut laid.0 as P) } == library::SUCCESS).then_some(laid)
}

/// The datatype of one element of a section, for a datatype that is made of such elements alone: what that is made of, or bytes
/// where an element is no value of it.
fn element(of: &Descriptor, datatype: usize) -> Option<Type> {
    let (mut part, mut _owned) = (datatype, None);
    loop {
        let mut size = 0_i64;
        // SAFETY: the answer has a place of its own, here and below.
        unsafe { PMPI_Type_size_c(part, &raw mut size as P) };
        if size == of.bytes() as i64 {
            // SAFETY: as above.
            return make(|new| unsafe { PMPI_Type_dup(part, new) });
        }
        let (integers, addresses, datatypes, combiner) = envelope(part);
        if !matches!(combiner, library::COMBINER_DUP | library::COMBINER_CONTIGUOUS) || datatypes != 1 {
            // SAFETY: as above.
            return make(|new| unsafe { PMPI_Type_contiguous_c(of.bytes() as i64, library::byte(), new) });
        }
        let (mut count, mut place, mut inner) = (0_i32, 0_i64, library::datatype_null());
        let answers = (&raw mut count as P, &raw mut place as P, &raw mut inner as P);
        // SAFETY: as above; such types have at most one integer, no address and one datatype.
        unsafe { PMPI_Type_get_contents(part, integers, addresses, 1, answers.0, answers.1, answers.2) };
        // The handle of a type that is not predefined is new.
        (part, _owned) = (inner, (envelope(inner).3 != library::COMBINER_NAMED).then(|| Type(inner)));
    }
}

/// Numbers of integers, addresses and datatypes of which a datatype was made, and how.
fn envelope(datatype: usize) -> (i32, i32, i32, i32) {
    let (mut integers, mut addresses, mut datatypes, mut combiner) = (0_i32, 0_i32, 0_i32, 0_i32);
    let places = (&raw mut integers as P, &raw mut addresses as P, &raw mut datatypes as P);
    // SAFETY: the answers have places of their own.
    unsafe { PMPI_Type_get_envelope(datatype, places.0, places.1, places.2, &raw mut combiner as P) };
    (integers, addresses, datatypes, combiner)
}

/// Any datatype over the sequence of elements, byte for byte. In which order it takes bytes is seen by packing their own numbers.
fn flattened(of: &Descriptor, count: i64, datatype: usize) -> Option<Type> {
    let (mut lower, mut extent, mut true_lower, mut true_extent) = (0_i64, 0_i64, 0_i64, 0_i64);
    // SAFETY: the answers have places of their own, here and below.
    unsafe {
        PMPI_Type_get_extent(datatype, &raw mut lower as P, &raw mut extent as P);
        PMPI_Type_get_true_extent(datatype, &raw mut true_lower as P, &raw mut true_extent as P);
    }
    let last = extent.checked_mul(count.max(1) - 1)?;
    let begin = true_lower.checked_add(last.min(0))?;
    let end = true_lower.checked_add(true_extent)?.checked_add(last.max(0))?;
    if count > 0 && (begin < 0 || end > of.elements().checked_mul(of.bytes() as i64)?) {
        return None;
    }
    let (mut blocks, mut places): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
    for byte in order_of_bytes(end.max(0) as usize, count, datatype)? {
        let place = of.place(byte / of.bytes()) as i64 + (byte % of.bytes()) as i64;
        match (blocks.last_mut(), places.last()) {
            (Some(block), Some(last)) if last + *block == place => *block += 1,
            _ => {
                blocks.push(1);
                places.push(place);
            }
        }
    }
    // SAFETY: as above; the arrays have as many elements.
    make(|new| unsafe {
        let count = blocks.len() as i64;
        PMPI_Type_create_hindexed_c(count, blocks.as_ptr() as P, places.as_ptr() as P, library::byte(), new)
    })
}

/// The bytes of memory that `count` of a datatype take, in the order of the packed data.
fn order_of_bytes(memory: usize, count: i64, datatype: usize) -> Option<Vec<usize>> {
    let (mut size, mut room) = (0_i64, 0_i64);
    // SAFETY: the answers have places of their own, here and below.
    unsafe {
        PMPI_Type_size_c(datatype, &raw mut size as P);
        PMPI_Pack_size_c(count, datatype, library::comm_self(), &raw mut room as P);
    }
    let total = size.checked_mul(count)?;
    // A library that packs more than the data has an order of its own.
    if room != total {
        return None;
    }
    let mut order = vec![0; total as usize];
    let mut packed = vec![0_u8; total as usize];
    for shift in (0..usize::BITS).step_by(8).take_while(|shift| memory >> shift != 0) {
        let mut numbers: Vec<u8> = (0..memory).map(|byte| (byte >> shift) as u8).collect();
        let mut position = 0_i64;
        // SAFETY: both buffers are as long as the datatype has it.
        let code = unsafe {
            let (from, to) = (numbers.as_mut_ptr() as P, packed.as_mut_ptr() as P);
            PMPI_Pack_c(from, count, datatype, to, total, &raw mut position as P, library::comm_self())
        };
        if code != library::SUCCESS || position != total {
            return None;
        }
        for (number, byte) in order.iter_mut().zip(&packed) {
            *number |= usize::from(*byte) << shift;
        }
    }
    Some(order)
}

/// How many elements a datatype takes, if it is made of them alone.
fn elements_in(of: &Descriptor, datatype: usize) -> Option<i64> {
    let (mut lower, mut extent, mut size) = (0_isize, 0_isize, 0_i64);
    // SAFETY: the answers have places of their own.
    unsafe {
        PMPI_Type_get_extent(datatype, &raw mut lower as P, &raw mut extent as P);
        PMPI_Type_size_c(datatype, &raw mut size as P);
    }
    let plain = matches!(
        envelope(datatype).3,
        library::COMBINER_NAMED
            | library::COMBINER_DUP
            | library::COMBINER_CONTIGUOUS
            | library::COMBINER_F90_REAL
            | library::COMBINER_F90_COMPLEX
            | library::COMBINER_F90_INTEGER
    );
    let element = i64::try_from(of.bytes()).ok().filter(|element| *element > 0)?;
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
    let (blocks, places) = ([1_i64; 2], [0, whole * last.stride as i64]);
    let types = [&slices, &end].map(|it| it.0 as Element);
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
    let code = library::ERR_BUFFER;
    // SAFETY: a handle that is none is an error of its own.
    unsafe {
        match on {
            On::Comm(comm) => PMPI_Comm_call_errhandler(handle::of(Kind::Comm, comm), code),
            On::Win(win) => PMPI_Win_call_errhandler(handle::of(Kind::Win, win), code),
            On::File(file) => PMPI_File_call_errhandler(handle::of(Kind::File, file), code),
            On::Itself => PMPI_Comm_call_errhandler(library::comm_self(), code),
        };
        give(ierror, code);
    }
}
