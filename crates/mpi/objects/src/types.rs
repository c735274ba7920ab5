//! The datatype calls: constructors, queries, names (MPI-5.0 sections 5.1 and 19.1.9).
//!
//! What the types are is the crate `datatype`; here they get handles.

use std::ffi::CStr;
use std::sync::Arc;

use abi::{Address, Aint, Count, Error, Result};
use datatype::{Contents, Datatype, Form, Ints};
use ffi::{CountMut, Counts, StrOut};

use crate::attr;
use crate::domain::Token;

/// A handle of a datatype, as its constructors write it.
type New<'a> = &'a mut abi::Datatype;

/// Which of the two calls was made; it decides how the arguments appear in the contents.
fn form(large: bool) -> Form {
    if large { Form::Large } else { Form::Classic }
}

fn ints(counts: Counts<'_>) -> Ints<'_> {
    match counts {
        Counts::Narrow(counts) => Ints::Int(counts),
        Counts::Wide(counts) => Ints::Large(counts),
    }
}

/// Builds a type from `old` and names it.
fn derive(
    t: &mut Token,
    old: abi::Datatype,
    new: New<'_>,
    build: impl FnOnce(&Arc<Datatype>) -> Result<Datatype>,
) -> Result<()> {
    let mut state = t.lock();
    let built = build(state.types.get(old)?)?;
    *new = state.types.add(Arc::new(built))?;
    Ok(())
}

/// `MPI_Type_contiguous`
pub fn contiguous(t: &mut Token, large: bool, count: Count, old: abi::Datatype, new: New<'_>) -> Result<()> {
    derive(t, old, new, |old| Datatype::contiguous(count, old, form(large)))
}

/// `MPI_Type_vector`: the stride is in extents of the old type.
pub fn vector(
    t: &mut Token,
    large: bool,
    count: Count,
    blocklength: Count,
    stride: Count,
    old: abi::Datatype,
    new: New<'_>,
) -> Result<()> {
    derive(t, old, new, |old| Datatype::vector(count, blocklength, stride, old, form(large)))
}

/// `MPI_Type_create_hvector`: the stride is in bytes.
pub fn hvector(
    t: &mut Token,
    large: bool,
    count: Count,
    blocklength: Count,
    stride: Count,
    old: abi::Datatype,
    new: New<'_>,
) -> Result<()> {
    derive(t, old, new, |old| Datatype::hvector(count, blocklength, stride, old, form(large)))
}

/// `MPI_Type_indexed`: displacements are in extents of the old type.
pub fn indexed(
    t: &mut Token,
    large: bool,
    blocklengths: Counts<'_>,
    displacements: Counts<'_>,
    old: abi::Datatype,
    new: New<'_>,
) -> Result<()> {
    derive(t, old, new, |old| Datatype::indexed(ints(blocklengths), ints(displacements), old, form(large)))
}

/// `MPI_Type_create_hindexed`: displacements are in bytes.
pub fn hindexed(
    t: &mut Token,
    large: bool,
    blocklengths: Counts<'_>,
    displacements: &[Count],
    old: abi::Datatype,
    new: New<'_>,
) -> Result<()> {
    derive(t, old, new, |old| Datatype::hindexed(ints(blocklengths), displacements.into(), old, form(large)))
}

/// `MPI_Type_create_indexed_block`
pub fn indexed_block(
    t: &mut Token,
    large: bool,
    blocklength: Count,
    displacements: Counts<'_>,
    old: abi::Datatype,
    new: New<'_>,
) -> Result<()> {
    derive(t, old, new, |old| Datatype::indexed_block(blocklength, ints(displacements), old, form(large)))
}

/// `MPI_Type_create_hindexed_block`
pub fn hindexed_block(
    t: &mut Token,
    large: bool,
    blocklength: Count,
    displacements: &[Count],
    old: abi::Datatype,
    new: New<'_>,
) -> Result<()> {
    derive(t, old, new, |old| Datatype::hindexed_block(blocklength, displacements.into(), old, form(large)))
}

/// `MPI_Type_create_struct`
pub fn create_struct(
    t: &mut Token,
    large: bool,
    blocklengths: Counts<'_>,
    displacements: &[Count],
    types: &[abi::Datatype],
    new: New<'_>,
) -> Result<()> {
    let mut state = t.lock();
    let types = types.iter().map(|&old| state.types.get(old).cloned()).collect::<Result<Vec<_>>>()?;
    let built = Datatype::create_struct(ints(blocklengths), displacements.into(), &types, form(large))?;
    *new = state.types.add(Arc::new(built))?;
    Ok(())
}

/// `MPI_Type_create_subarray`
pub fn subarray(
    t: &mut Token,
    large: bool,
    sizes: Counts<'_>,
    subsizes: Counts<'_>,
    starts: Counts<'_>,
    order: i32,
    old: abi::Datatype,
    new: New<'_>,
) -> Result<()> {
    let (sizes, subsizes, starts) = (ints(sizes), ints(subsizes), ints(starts));
    derive(t, old, new, |old| Datatype::subarray(sizes, subsizes, starts, order, old, form(large)))
}

/// `MPI_Type_create_darray`
pub fn darray(
    t: &mut Token,
    large: bool,
    size: i32,
    rank: i32,
    gsizes: Counts<'_>,
    distribs: &[i32],
    dargs: &[i32],
    psizes: &[i32],
    order: i32,
    old: abi::Datatype,
    new: New<'_>,
) -> Result<()> {
    let gsizes = ints(gsizes);
    derive(t, old, new, |old| {
        Datatype::darray(size, rank, gsizes, distribs, dargs, psizes, order, old, form(large))
    })
}

/// `MPI_Type_create_resized`
pub fn resized(
    t: &mut Token,
    large: bool,
    old: abi::Datatype,
    lb: Count,
    extent: Count,
    new: New<'_>,
) -> Result<()> {
    derive(t, old, new, |old| Datatype::resized(old, lb, extent, form(large)))
}

/// `MPI_Type_dup`: the attributes go through their copy functions.
pub fn dup(t: &mut Token, old: abi::Datatype, new: New<'_>) -> Result<()> {
    t.lock().types.get(old)?;
    *new = abi::DATATYPE_NULL;
    let attributes = attr::copy_all(t, old)?;
    derive(t, old, new, |old| Ok(Datatype::dup(old)))?;
    *t.lock().types.attributes(*new)? = attributes;
    Ok(())
}

/// `MPI_Type_commit`
pub fn commit(t: &mut Token, datatype: &mut abi::Datatype) -> Result<()> {
    t.lock().types.get(*datatype)?.commit();
    Ok(())
}

/// `MPI_Type_free`: the handle goes; operations under way keep the type.
pub fn free(t: &mut Token, datatype: &mut abi::Datatype) -> Result<()> {
    if t.lock().types.get(*datatype)?.is_predefined() {
        return Err(Error::new(abi::ERR_TYPE, "a predefined datatype cannot be freed"));
    }
    attr::delete_all(t, *datatype)?;
    t.lock().types.remove(*datatype)?;
    *datatype = abi::DATATYPE_NULL;
    Ok(())
}

/// Calls a function of the program with a handle of a type that the program named `handle` when it began the operation: with
/// another one, until the function returns, where the program has freed that meanwhile.
///
/// # Errors
/// There is no further handle; then nothing was called.
pub fn with_live_handle<R>(
    t: &mut Token,
    handle: abi::Datatype,
    datatype: &Arc<Datatype>,
    call: impl FnOnce(&mut Token, abi::Datatype) -> R,
) -> Result<R> {
    let (mut handle, lent) = t.lock().types.lend(handle, datatype)?;
    let result = call(t, handle);
    if lent {
        // The function may have freed it itself.
        let _ = free(t, &mut handle);
    }
    Ok(result)
}

/// `MPI_Type_size`, in bytes.
pub fn size(t: &mut Token, datatype: abi::Datatype, mut size: CountMut<'_>) -> Result<()> {
    size.set(t.lock().types.get(datatype)?.size() as Count);
    Ok(())
}

/// What a tool has to know of a type to compare it with that of another process; `None`: it has no data.
pub fn summary(t: &mut Token, datatype: abi::Datatype) -> Result<Option<datatype::Summary>> {
    Ok(t.lock().types.get(datatype)?.signature().summary())
}

/// `MPI_Type_get_extent`, in bytes.
pub fn get_extent(t: &mut Token, datatype: abi::Datatype, lb: &mut Count, extent: &mut Count) -> Result<()> {
    let state = t.lock();
    let datatype = state.types.get(datatype)?;
    (*lb, *extent) = (datatype.lb(), datatype.extent());
    Ok(())
}

/// What MPI-1 asked of a datatype's bounds, each by a function of its own.
#[derive(Clone, Copy)]
pub enum Bound {
    /// `MPI_Type_lb`
    Lower,
    /// `MPI_Type_ub`
    Upper,
    /// `MPI_Type_extent`
    Extent,
}

/// One of the bounds of a datatype, in bytes.
pub fn bound(t: &mut Token, which: Bound, datatype: abi::Datatype, place: &mut Aint) -> Result<()> {
    let (mut lower, mut extent) = (0, 0);
    get_extent(t, datatype, &mut lower, &mut extent)?;
    *place = match which {
        Bound::Lower => lower,
        Bound::Upper => lower + extent,
        Bound::Extent => extent,
    } as Aint;
    Ok(())
}

/// `MPI_Type_get_true_extent`, in bytes.
pub fn get_true_extent(
    t: &mut Token,
    datatype: abi::Datatype,
    lb: &mut Count,
    extent: &mut Count,
) -> Result<()> {
    let state = t.lock();
    let datatype = state.types.get(datatype)?;
    (*lb, *extent) = (datatype.true_lb(), datatype.true_extent());
    Ok(())
}

/// `MPI_Get_address`
pub fn get_address(_t: &mut Token, location: Address, address: &mut Aint) -> Result<()> {
    *address = location.0 as Aint;
    Ok(())
}

/// `MPI_Type_get_envelope`
pub fn get_envelope(
    t: &mut Token,
    datatype: abi::Datatype,
    integers: &mut i32,
    addresses: &mut i32,
    datatypes: &mut i32,
    combiner: &mut i32,
) -> Result<()> {
    let envelope = t.lock().types.get(datatype)?.envelope();
    if envelope.large_counts > 0 {
        return Err(LARGE);
    }
    *integers = datatype::as_int(envelope.integers as Count);
    *addresses = datatype::as_int(envelope.addresses as Count);
    *datatypes = datatype::as_int(envelope.datatypes as Count);
    *combiner = envelope.combiner;
    Ok(())
}

const LARGE: Error =
    Error::new(abi::ERR_TYPE, "the datatype was made with large counts; ask by the large-count function");

/// `MPI_Type_get_envelope_c`
pub fn get_envelope_c(
    t: &mut Token,
    datatype: abi::Datatype,
    integers: &mut Count,
    addresses: &mut Count,
    large_counts: &mut Count,
    datatypes: &mut Count,
    combiner: &mut i32,
) -> Result<()> {
    let envelope = t.lock().types.get(datatype)?.envelope();
    *integers = envelope.integers as Count;
    *addresses = envelope.addresses as Count;
    *large_counts = envelope.large_counts as Count;
    *datatypes = envelope.datatypes as Count;
    *combiner = envelope.combiner;
    Ok(())
}

/// `MPI_Type_get_contents`
pub fn get_contents(
    t: &mut Token,
    datatype: abi::Datatype,
    integers: &mut [i32],
    addresses: &mut [Aint],
    datatypes: &mut [abi::Datatype],
) -> Result<()> {
    if t.lock().types.get(datatype)?.envelope().large_counts > 0 {
        return Err(LARGE);
    }
    get_contents_c(t, datatype, integers, addresses, &mut [], datatypes)
}

/// `MPI_Type_get_contents_c`: derived types come as new handles, to be freed.
pub fn get_contents_c(
    t: &mut Token,
    datatype: abi::Datatype,
    integers: &mut [i32],
    addresses: &mut [Aint],
    large_counts: &mut [Count],
    datatypes: &mut [abi::Datatype],
) -> Result<()> {
    let mut state = t.lock();
    let datatype = state.types.get(datatype)?.clone();
    let contents: &Contents = datatype.contents();
    if contents.combiner == abi::COMBINER_NAMED {
        return Err(Error::new(abi::ERR_TYPE, "a named datatype has no contents"));
    }
    fill(integers, &contents.integers, |&value| value)?;
    fill(addresses, &contents.addresses, |&value| value as Aint)?;
    fill(large_counts, &contents.large_counts, |&value| value)?;
    if contents.datatypes.len() > datatypes.len() {
        return Err(TOO_SHORT);
    }
    for (to, from) in datatypes.iter_mut().zip(&contents.datatypes) {
        *to = state.types.add(from.clone())?;
    }
    Ok(())
}

const TOO_SHORT: Error = Error::new(abi::ERR_ARG, "an array is too short for the contents of the datatype");

fn fill<T, U>(to: &mut [T], from: &[U], convert: impl Fn(&U) -> T) -> Result<()> {
    if from.len() > to.len() {
        return Err(TOO_SHORT);
    }
    to.iter_mut().zip(from).for_each(|(to, from)| *to = convert(from));
    Ok(())
}

/// `MPI_Type_set_name`
pub fn set_name(t: &mut Token, datatype: abi::Datatype, name: &CStr) -> Result<()> {
    t.lock().types.object(datatype)?.name = crate::comm::object_name(name);
    Ok(())
}

/// `MPI_Type_get_name`
pub fn get_name(t: &mut Token, datatype: abi::Datatype, mut name: StrOut<'_>) -> Result<()> {
    if datatype == abi::DATATYPE_NULL {
        name.set("MPI_DATATYPE_NULL");
        return Ok(());
    }
    name.set(&t.lock().types.object(datatype)?.name);
    Ok(())
}

/// `MPI_Type_create_f90_real`
pub fn f90_real(t: &mut Token, p: i32, r: i32, new: New<'_>) -> Result<()> {
    *new = t.lock().types.add(Datatype::f90_real(p, r)?)?;
    Ok(())
}

/// `MPI_Type_create_f90_complex`
pub fn f90_complex(t: &mut Token, p: i32, r: i32, new: New<'_>) -> Result<()> {
    *new = t.lock().types.add(Datatype::f90_complex(p, r)?)?;
    Ok(())
}

/// `MPI_Type_create_f90_integer`
pub fn f90_integer(t: &mut Token, r: i32, new: New<'_>) -> Result<()> {
    *new = t.lock().types.add(Datatype::f90_integer(r)?)?;
    Ok(())
}

/// `MPI_Type_match_size`
pub fn match_size(t: &mut Token, typeclass: i32, size: i32, new: New<'_>) -> Result<()> {
    *new = t.lock().types.add(Datatype::match_size(typeclass, size)?.clone())?;
    Ok(())
}

/// `MPI_Type_get_value_index`
pub fn get_value_index(
    t: &mut Token,
    value: abi::Datatype,
    index: abi::Datatype,
    pair: New<'_>,
) -> Result<()> {
    let mut state = t.lock();
    let found = Datatype::value_index(state.types.get(value)?, state.types.get(index)?)?;
    *pair = match found {
        Some(found) => state.types.add(found)?,
        None => abi::DATATYPE_NULL,
    };
    Ok(())
}
