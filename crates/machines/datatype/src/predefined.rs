//! The predefined types: the named ones of the ABI, the Fortran 90 parameterized ones, the value and index pairs.

use crate::basic::{Basic, FIRST_HANDLE, HANDLES, NAMED_PAIRS};
use crate::contents::{Contents, Form};
use crate::datatype::{Datatype, Marks, Parts, Predefined};
use crate::layout::{Layout, SeqBuilder};
use crate::signature::Signature;
use abi::{Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

static NAMED: LazyLock<Box<[Option<Arc<Datatype>>]>> = LazyLock::new(|| {
    let mut table = vec![None; HANDLES];
    for &basic in Basic::ALL {
        table[basic.handle().0 - FIRST_HANDLE] = build_basic(basic).ok().map(Arc::new);
    }
    for pair in NAMED_PAIRS {
        let contents = Contents::named(pair.handle);
        table[pair.handle.0 - FIRST_HANDLE] = build_pair(pair.value, pair.index, contents).ok().map(Arc::new);
    }
    let bounds =
        [(abi::LB, Marks { lower: Some(0), upper: None }), (abi::UB, Marks { lower: None, upper: Some(0) })];
    for (handle, marks) in bounds {
        table[handle.0 - FIRST_HANDLE] = build_bound(handle, marks).ok().map(Arc::new);
    }
    table.into()
});

/// Unnamed predefined types by what they were asked for. The standard wants the same object for the same request.
static UNNAMED: LazyLock<Mutex<HashMap<Unnamed, Arc<Datatype>>>> = LazyLock::new(Mutex::default);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Unnamed {
    Real(i32, i32),
    Complex(i32, i32),
    Integer(i32),
    Pair(Basic, Basic),
}

impl Datatype {
    /// The predefined type with this handle; `None` for any other value, `MPI_DATATYPE_NULL` included.
    pub fn predefined(handle: abi::Datatype) -> Option<&'static Arc<Datatype>> {
        NAMED.get(handle.0.wrapping_sub(FIRST_HANDLE))?.as_ref()
    }

    /// `MPI_Type_create_f90_real`: the real type of at least `p` decimal digits and exponent range `r`.
    /// Either may be `MPI_UNDEFINED`, not both. The same request gives the same object.
    pub fn f90_real(p: i32, r: i32) -> Result<Arc<Datatype>> {
        let basic = real_kind(p, r)?.0;
        let contents = Contents::of(abi::COMBINER_F90_REAL, Form::Classic).int(p).int(r).done();
        unnamed(Unnamed::Real(p, r), || Ok(named(basic)?.alias(contents, Predefined::Basic(basic))))
    }

    /// `MPI_Type_create_f90_complex`: as [`Datatype::f90_real`], for complex numbers.
    pub fn f90_complex(p: i32, r: i32) -> Result<Arc<Datatype>> {
        let basic = real_kind(p, r)?.1;
        let contents = Contents::of(abi::COMBINER_F90_COMPLEX, Form::Classic).int(p).int(r).done();
        unnamed(Unnamed::Complex(p, r), || Ok(named(basic)?.alias(contents, Predefined::Basic(basic))))
    }

    /// `MPI_Type_create_f90_integer`: the integer type of at least `r` decimal digits.
    pub fn f90_integer(r: i32) -> Result<Arc<Datatype>> {
        let basic = match r {
            ..=2 => Basic::Integer1,
            3..=4 => Basic::Integer2,
            5..=9 => Basic::Integer4,
            10..=18 => Basic::Integer8,
            19..=38 => Basic::Integer16,
            39.. => return Err(NO_KIND),
        };
        let contents = Contents::of(abi::COMBINER_F90_INTEGER, Form::Classic).int(r).done();
        unnamed(Unnamed::Integer(r), || Ok(named(basic)?.alias(contents, Predefined::Basic(basic))))
    }

    /// `MPI_Type_get_value_index`: the pair type of a value and an index type; `None` stands for
    /// `MPI_DATATYPE_NULL`, where no such pair is predefined. Named pairs are returned as such.
    pub fn value_index(value: &Datatype, index: &Datatype) -> Result<Option<Arc<Datatype>>> {
        let (Some(v), Some(i)) = (value.basic(), index.basic()) else { return Ok(None) };
        if let Some(pair) = NAMED_PAIRS.iter().find(|pair| pair.value == v && pair.index == i) {
            return Ok(Datatype::predefined(pair.handle).cloned());
        }
        if !v.is_ordered() || !i.is_integer() {
            return Ok(None);
        }
        unnamed(Unnamed::Pair(v, i), || {
            let contents = Contents::of(abi::COMBINER_VALUE_INDEX, Form::Classic)
                .datatype(named(v)?)
                .datatype(named(i)?)
                .done();
            build_pair(v, i, contents)
        })
        .map(Some)
    }

    /// `MPI_Type_match_size`: the named type of a type class with `size` bytes.
    pub fn match_size(typeclass: i32, size: i32) -> Result<&'static Arc<Datatype>> {
        let basic = match (typeclass, size) {
            (abi::TYPECLASS_REAL, 2) => Basic::Real2,
            (abi::TYPECLASS_REAL, 4) => Basic::Real4,
            (abi::TYPECLASS_REAL, 8) => Basic::Real8,
            (abi::TYPECLASS_REAL, 16) => Basic::Real16,
            (abi::TYPECLASS_COMPLEX, 4) => Basic::Complex4,
            (abi::TYPECLASS_COMPLEX, 8) => Basic::Complex8,
            (abi::TYPECLASS_COMPLEX, 16) => Basic::Complex16,
            (abi::TYPECLASS_COMPLEX, 32) => Basic::Complex32,
            (abi::TYPECLASS_INTEGER, 1) => Basic::Integer1,
            (abi::TYPECLASS_INTEGER, 2) => Basic::Integer2,
            (abi::TYPECLASS_INTEGER, 4) => Basic::Integer4,
            (abi::TYPECLASS_INTEGER, 8) => Basic::Integer8,
            (abi::TYPECLASS_INTEGER, 16) => Basic::Integer16,
            (abi::MPIX_TYPECLASS_LOGICAL, 1) => Basic::Logical1,
            (abi::MPIX_TYPECLASS_LOGICAL, 2) => Basic::Logical2,
            (abi::MPIX_TYPECLASS_LOGICAL, 4) => Basic::Logical4,
            (abi::MPIX_TYPECLASS_LOGICAL, 8) => Basic::Logical8,
            (abi::MPIX_TYPECLASS_LOGICAL, 16) => Basic::Logical16,
            _ => return Err(NO_MATCH),
        };
        named(basic)
    }
}

/// Real and complex type of gfortran's `selected_real_kind(p, r)`: kinds 4, 8, 10 and 16 with 6, 15, 18 and 33
/// decimal digits and ranges 37, 307, 4931 and 4931. Kind 10 is the C compiler's `long double`.
fn real_kind(p: i32, r: i32) -> Result<(Basic, Basic)> {
    if p == abi::UNDEFINED && r == abi::UNDEFINED {
        return Err(NOTHING_ASKED);
    }
    let digits = if p == abi::UNDEFINED { 0 } else { p };
    let range = if r == abi::UNDEFINED { 0 } else { r };
    match (digits, range) {
        (..=6, ..=37) => Ok((Basic::Real4, Basic::Complex8)),
        (..=15, ..=307) => Ok((Basic::Real8, Basic::Complex16)),
        (..=18, ..=4931) => Ok((Basic::LongDouble, Basic::CLongDoubleComplex)),
        (..=33, ..=4931) => Ok((Basic::Real16, Basic::Complex32)),
        _ => Err(NO_KIND),
    }
}

fn named(basic: Basic) -> Result<&'static Arc<Datatype>> {
    Datatype::predefined(basic.handle()).ok_or(NO_KIND)
}

fn unnamed(key: Unnamed, build: impl FnOnce() -> Result<Datatype>) -> Result<Arc<Datatype>> {
    let mut known = UNNAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(datatype) = known.get(&key) {
        return Ok(datatype.clone());
    }
    let datatype = Arc::new(build()?);
    known.insert(key, datatype.clone());
    Ok(datatype)
}

fn build_basic(basic: Basic) -> Result<Datatype> {
    let parts = Parts {
        layout: Layout::run(0, basic.size())?,
        signature: Signature::run(basic, 1)?,
        marks: Marks::NONE,
        align: basic.align(),
    };
    Datatype::build(parts, Contents::named(basic.handle()), Predefined::Basic(basic))
}

/// A marker of MPI-1 (section 3.12.3 there): a type built from it has its bound where the marker is.
fn build_bound(handle: abi::Datatype, marks: Marks) -> Result<Datatype> {
    let parts =
        Parts { layout: Layout::EMPTY, signature: Signature::concatenated([].into_iter())?, marks, align: 1 };
    Datatype::build(parts, Contents::named(handle), Predefined::Bound)
}

/// A C structure of a value and an index.
fn build_pair(value: Basic, index: Basic, contents: Contents) -> Result<Datatype> {
    let second = value.size().next_multiple_of(index.align());
    let mut layout = SeqBuilder::default();
    layout.push(&Layout::run(0, value.size())?)?;
    layout.push(&Layout::run(second as i64, index.size())?)?;
    let members = [Signature::run(value, 1)?, Signature::run(index, 1)?];
    let parts = Parts {
        layout: layout.finish()?,
        signature: Signature::concatenated(members.into_iter())?,
        marks: Marks::NONE,
        align: value.align().max(index.align()),
    };
    Datatype::build(parts, contents, Predefined::Pair { value, index })
}

const NOTHING_ASKED: Error = Error::new(abi::ERR_ARG, "p and r are both MPI_UNDEFINED");
const NO_KIND: Error = Error::new(abi::ERR_ARG, "no Fortran kind has the requested precision or range");
const NO_MATCH: Error = Error::new(abi::ERR_ARG, "no predefined type has the requested class and size");
