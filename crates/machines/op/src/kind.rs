//! What the elements of a predefined datatype are, and to which group of MPI-5.0 section 6.9.2 the type
//! belongs.

use abi::{Datatype, Op};

/// The machine representation of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    LongDouble,
    F128,
    ComplexF16,
    ComplexF32,
    ComplexF64,
    ComplexLongDouble,
    ComplexF128,
    /// Fortran `LOGICAL` of so many bytes.
    Logical(u8),
    Bool,
    /// So many bytes without arithmetic.
    Opaque(u8),
    FloatInt,
    DoubleInt,
    LongInt,
    TwoInt,
    ShortInt,
    LongDoubleInt,
    TwoReal,
    TwoDouble,
}

/// The groups of MPI-5.0 section 6.9.2, and two that no reduction takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    CInteger,
    FortranInteger,
    Floating,
    Logical,
    Complex,
    Byte,
    MultiLanguage,
    /// Value and index (section 6.9.4).
    Pair,
    /// Characters and packed data: communicated, never reduced.
    Opaque,
}

/// Kind and group of a predefined datatype; `None` for the null handle and everything derived.
pub(crate) const fn of(ty: Datatype) -> Option<(Kind, Group)> {
    use Group as G;
    use Kind as K;
    Some(match ty {
        abi::AINT | abi::COUNT | abi::OFFSET => (K::I64, G::MultiLanguage),
        // The standard keeps MPI_CHAR out of reductions; other MPIs take it as a number, and programs rely on it.
        abi::CHAR | abi::SIGNED_CHAR | abi::INT8_T => (K::I8, G::CInteger),
        abi::SHORT | abi::INT16_T => (K::I16, G::CInteger),
        abi::INT | abi::INT32_T => (K::I32, G::CInteger),
        abi::LONG | abi::LONG_LONG | abi::INT64_T => (K::I64, G::CInteger),
        abi::UNSIGNED_CHAR | abi::UINT8_T => (K::U8, G::CInteger),
        abi::UNSIGNED_SHORT | abi::UINT16_T => (K::U16, G::CInteger),
        abi::UNSIGNED | abi::UINT32_T => (K::U32, G::CInteger),
        abi::UNSIGNED_LONG | abi::UNSIGNED_LONG_LONG | abi::UINT64_T => (K::U64, G::CInteger),
        abi::INTEGER1 => (K::I8, G::FortranInteger),
        abi::INTEGER2 => (K::I16, G::FortranInteger),
        abi::INTEGER | abi::INTEGER4 => (K::I32, G::FortranInteger),
        abi::INTEGER8 => (K::I64, G::FortranInteger),
        abi::INTEGER16 => (K::I128, G::FortranInteger),
        abi::REAL2 => (K::F16, G::Floating),
        abi::FLOAT | abi::REAL | abi::REAL4 => (K::F32, G::Floating),
        abi::DOUBLE | abi::DOUBLE_PRECISION | abi::REAL8 => (K::F64, G::Floating),
        abi::LONG_DOUBLE => (K::LongDouble, G::Floating),
        abi::REAL16 => (K::F128, G::Floating),
        abi::COMPLEX4 => (K::ComplexF16, G::Complex),
        abi::C_FLOAT_COMPLEX | abi::CXX_FLOAT_COMPLEX | abi::COMPLEX | abi::COMPLEX8 => {
            (K::ComplexF32, G::Complex)
        }
        abi::C_DOUBLE_COMPLEX | abi::CXX_DOUBLE_COMPLEX | abi::DOUBLE_COMPLEX | abi::COMPLEX16 => {
            (K::ComplexF64, G::Complex)
        }
        abi::C_LONG_DOUBLE_COMPLEX | abi::CXX_LONG_DOUBLE_COMPLEX => (K::ComplexLongDouble, G::Complex),
        abi::COMPLEX32 => (K::ComplexF128, G::Complex),
        abi::LOGICAL1 => (K::Logical(1), G::Logical),
        abi::LOGICAL2 => (K::Logical(2), G::Logical),
        abi::LOGICAL | abi::LOGICAL4 => (K::Logical(4), G::Logical),
        abi::LOGICAL8 => (K::Logical(8), G::Logical),
        abi::LOGICAL16 => (K::Logical(16), G::Logical),
        abi::C_BOOL | abi::CXX_BOOL => (K::Bool, G::Logical),
        abi::BYTE => (K::U8, G::Byte),
        abi::CHARACTER | abi::PACKED => (K::Opaque(1), G::Opaque),
        abi::WCHAR => (K::Opaque(4), G::Opaque),
        abi::FLOAT_INT => (K::FloatInt, G::Pair),
        abi::DOUBLE_INT => (K::DoubleInt, G::Pair),
        abi::LONG_INT => (K::LongInt, G::Pair),
        abi::TWOINT | abi::TWOINTEGER => (K::TwoInt, G::Pair),
        abi::SHORT_INT => (K::ShortInt, G::Pair),
        abi::LONG_DOUBLE_INT => (K::LongDoubleInt, G::Pair),
        abi::TWOREAL => (K::TwoReal, G::Pair),
        abi::TWODOUBLE_PRECISION => (K::TwoDouble, G::Pair),
        _ => return None,
    })
}

/// Whether a collective reduction may combine `ty` by `op` (MPI-5.0 sections 6.9.2 and 6.9.4, and a little more). False
/// for user-defined operations and types, for `MPI_REPLACE` and `MPI_NO_OP` (accumulates only), for the character types
/// and for `MPI_PACKED`.
pub const fn allowed(op: Op, ty: Datatype) -> bool {
    match of(ty) {
        Some((_, group)) => reduces(op, group),
        None => false,
    }
}

/// As [`allowed`], of a type of `group`.
const fn reduces(op: Op, group: Group) -> bool {
    use Group as G;
    match op {
        abi::MAX | abi::MIN => {
            matches!(group, G::CInteger | G::FortranInteger | G::Floating | G::MultiLanguage)
        }
        abi::SUM | abi::PROD => {
            matches!(group, G::CInteger | G::FortranInteger | G::Floating | G::Complex | G::MultiLanguage)
        }
        // Beyond the standard's C integers and logicals, every integer, as other MPIs do.
        abi::LAND | abi::LOR | abi::LXOR => {
            matches!(group, G::CInteger | G::FortranInteger | G::MultiLanguage | G::Logical)
        }
        abi::BAND | abi::BOR | abi::BXOR => {
            matches!(group, G::CInteger | G::FortranInteger | G::Byte | G::MultiLanguage)
        }
        abi::MINLOC | abi::MAXLOC => matches!(group, G::Pair),
        _ => false,
    }
}

/// Whether a one-sided accumulate may combine `ty` by `op` (MPI-5.0 section 12.3.4): every allowed
/// reduction, and `MPI_REPLACE` and `MPI_NO_OP` on any predefined type.
pub const fn allowed_in_accumulate(op: Op, ty: Datatype) -> bool {
    match of(ty) {
        Some((_, group)) => accumulates(op, group),
        None => false,
    }
}

/// As [`allowed_in_accumulate`], of a type of `group`.
pub(crate) const fn accumulates(op: Op, group: Group) -> bool {
    matches!(op, abi::REPLACE | abi::NO_OP) || reduces(op, group)
}

/// Whether an operation is predefined.
pub const fn is_predefined(op: Op) -> bool {
    matches!(
        op,
        abi::SUM
            | abi::MIN
            | abi::MAX
            | abi::PROD
            | abi::BAND
            | abi::BOR
            | abi::BXOR
            | abi::LAND
            | abi::LOR
            | abi::LXOR
            | abi::MINLOC
            | abi::MAXLOC
            | abi::REPLACE
            | abi::NO_OP
    )
}
