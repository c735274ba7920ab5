//! The basic types of the ABI, one row each: handle, name, size, alignment, external32 length.
//!
//! Sizes are those of C, C++ and gfortran on 64-bit Linux with default kinds (`INTEGER`, `REAL` and `LOGICAL` are
//! four bytes). External lengths are those of MPI-5.0 tables 15.2 to 15.4, where `MPI_LONG` is four bytes and
//! `MPI_WCHAR` two, whatever the C compiler uses.

use abi::Datatype as Handle;

/// What the bytes of a basic type mean; decides conversion and which reductions apply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Two's complement integer.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// IEEE binary floating point (16, 32, 64 or 128 bits).
    Float,
    /// x87 extended precision in 16 bytes, as `long double` is on x86-64.
    Extended,
    /// Pair of [`Kind::Float`] of half the size.
    Complex,
    /// Pair of [`Kind::Extended`].
    ExtendedComplex,
    /// C `_Bool`, C++ `bool` or a Fortran `LOGICAL`: zero is false.
    Logical,
    /// A character, never converted.
    Character,
    /// A wide character, a code point.
    Wide,
    /// Raw bytes, never converted: `MPI_BYTE` and `MPI_PACKED`.
    Bytes,
}

macro_rules! basics {
    ($( $variant:ident $cname:literal $handle:ident $kind:ident size $size:literal align $align:literal external $ext:literal; )*) => {
        /// A basic type: a leaf of every type map, and one entry of a type signature.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Basic {
            $( #[doc = concat!("`", $cname, "`")] $variant, )*
        }

        impl Basic {
            /// Every basic type, in the order of the enum.
            pub const ALL: &[Basic] = &[ $( Basic::$variant, )* ];

            const ROWS: &[Row] = &[ $( Row {
                name: $cname, handle: abi::$handle, kind: Kind::$kind, size: $size, align: $align, external: $ext,
            }, )* ];
        }
    };
}

struct Row {
    name: &'static str,
    handle: Handle,
    kind: Kind,
    size: u8,
    align: u8,
    external: u8,
}

basics! {
    Aint "MPI_AINT" AINT Signed size 8 align 8 external 8;
    Count "MPI_COUNT" COUNT Signed size 8 align 8 external 8;
    Offset "MPI_OFFSET" OFFSET Signed size 8 align 8 external 8;
    Packed "MPI_PACKED" PACKED Bytes size 1 align 1 external 1;
    Short "MPI_SHORT" SHORT Signed size 2 align 2 external 2;
    Int "MPI_INT" INT Signed size 4 align 4 external 4;
    Long "MPI_LONG" LONG Signed size 8 align 8 external 4;
    LongLong "MPI_LONG_LONG" LONG_LONG Signed size 8 align 8 external 8;
    UnsignedShort "MPI_UNSIGNED_SHORT" UNSIGNED_SHORT Unsigned size 2 align 2 external 2;
    Unsigned "MPI_UNSIGNED" UNSIGNED Unsigned size 4 align 4 external 4;
    UnsignedLong "MPI_UNSIGNED_LONG" UNSIGNED_LONG Unsigned size 8 align 8 external 4;
    UnsignedLongLong "MPI_UNSIGNED_LONG_LONG" UNSIGNED_LONG_LONG Unsigned size 8 align 8 external 8;
    Float "MPI_FLOAT" FLOAT Float size 4 align 4 external 4;
    CFloatComplex "MPI_C_FLOAT_COMPLEX" C_FLOAT_COMPLEX Complex size 8 align 4 external 8;
    CxxFloatComplex "MPI_CXX_FLOAT_COMPLEX" CXX_FLOAT_COMPLEX Complex size 8 align 4 external 8;
    Double "MPI_DOUBLE" DOUBLE Float size 8 align 8 external 8;
    CDoubleComplex "MPI_C_DOUBLE_COMPLEX" C_DOUBLE_COMPLEX Complex size 16 align 8 external 16;
    CxxDoubleComplex "MPI_CXX_DOUBLE_COMPLEX" CXX_DOUBLE_COMPLEX Complex size 16 align 8 external 16;
    Logical "MPI_LOGICAL" LOGICAL Logical size 4 align 4 external 4;
    Integer "MPI_INTEGER" INTEGER Signed size 4 align 4 external 4;
    Real "MPI_REAL" REAL Float size 4 align 4 external 4;
    Complex "MPI_COMPLEX" COMPLEX Complex size 8 align 4 external 8;
    DoublePrecision "MPI_DOUBLE_PRECISION" DOUBLE_PRECISION Float size 8 align 8 external 8;
    DoubleComplex "MPI_DOUBLE_COMPLEX" DOUBLE_COMPLEX Complex size 16 align 8 external 16;
    Character "MPI_CHARACTER" CHARACTER Character size 1 align 1 external 1;
    LongDouble "MPI_LONG_DOUBLE" LONG_DOUBLE Extended size 16 align 16 external 16;
    CLongDoubleComplex "MPI_C_LONG_DOUBLE_COMPLEX" C_LONG_DOUBLE_COMPLEX ExtendedComplex size 32 align 16 external 32;
    CxxLongDoubleComplex "MPI_CXX_LONG_DOUBLE_COMPLEX" CXX_LONG_DOUBLE_COMPLEX ExtendedComplex size 32 align 16 external 32;
    CBool "MPI_C_BOOL" C_BOOL Logical size 1 align 1 external 1;
    CxxBool "MPI_CXX_BOOL" CXX_BOOL Logical size 1 align 1 external 1;
    Wchar "MPI_WCHAR" WCHAR Wide size 4 align 4 external 2;
    Int8 "MPI_INT8_T" INT8_T Signed size 1 align 1 external 1;
    Uint8 "MPI_UINT8_T" UINT8_T Unsigned size 1 align 1 external 1;
    Char "MPI_CHAR" CHAR Character size 1 align 1 external 1;
    SignedChar "MPI_SIGNED_CHAR" SIGNED_CHAR Signed size 1 align 1 external 1;
    UnsignedChar "MPI_UNSIGNED_CHAR" UNSIGNED_CHAR Unsigned size 1 align 1 external 1;
    Byte "MPI_BYTE" BYTE Bytes size 1 align 1 external 1;
    Int16 "MPI_INT16_T" INT16_T Signed size 2 align 2 external 2;
    Uint16 "MPI_UINT16_T" UINT16_T Unsigned size 2 align 2 external 2;
    Int32 "MPI_INT32_T" INT32_T Signed size 4 align 4 external 4;
    Uint32 "MPI_UINT32_T" UINT32_T Unsigned size 4 align 4 external 4;
    Int64 "MPI_INT64_T" INT64_T Signed size 8 align 8 external 8;
    Uint64 "MPI_UINT64_T" UINT64_T Unsigned size 8 align 8 external 8;
    Logical1 "MPI_LOGICAL1" LOGICAL1 Logical size 1 align 1 external 1;
    Integer1 "MPI_INTEGER1" INTEGER1 Signed size 1 align 1 external 1;
    Logical2 "MPI_LOGICAL2" LOGICAL2 Logical size 2 align 2 external 2;
    Integer2 "MPI_INTEGER2" INTEGER2 Signed size 2 align 2 external 2;
    Real2 "MPI_REAL2" REAL2 Float size 2 align 2 external 2;
    Logical4 "MPI_LOGICAL4" LOGICAL4 Logical size 4 align 4 external 4;
    Integer4 "MPI_INTEGER4" INTEGER4 Signed size 4 align 4 external 4;
    Real4 "MPI_REAL4" REAL4 Float size 4 align 4 external 4;
    Complex4 "MPI_COMPLEX4" COMPLEX4 Complex size 4 align 2 external 4;
    Logical8 "MPI_LOGICAL8" LOGICAL8 Logical size 8 align 8 external 8;
    Integer8 "MPI_INTEGER8" INTEGER8 Signed size 8 align 8 external 8;
    Real8 "MPI_REAL8" REAL8 Float size 8 align 8 external 8;
    Complex8 "MPI_COMPLEX8" COMPLEX8 Complex size 8 align 4 external 8;
    Logical16 "MPI_LOGICAL16" LOGICAL16 Logical size 16 align 16 external 16;
    Integer16 "MPI_INTEGER16" INTEGER16 Signed size 16 align 16 external 16;
    Real16 "MPI_REAL16" REAL16 Float size 16 align 16 external 16;
    Complex16 "MPI_COMPLEX16" COMPLEX16 Complex size 16 align 8 external 16;
    Complex32 "MPI_COMPLEX32" COMPLEX32 Complex size 32 align 16 external 32;
}

impl Basic {
    const fn row(self) -> &'static Row {
        &Basic::ROWS[self as usize]
    }

    /// The C name with its prefix, as `MPI_Type_get_name` returns it.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The predefined handle.
    pub const fn handle(self) -> Handle {
        self.row().handle
    }

    /// What the bytes mean.
    pub const fn kind(self) -> Kind {
        self.row().kind
    }

    /// Size in bytes, which is also the extent.
    pub const fn size(self) -> u64 {
        self.row().size as u64
    }

    /// A number that basic types have in common if their bytes mean the same, as those of `MPI_INT` and `MPI_INT32_T`; not 0.
    pub const fn meaning(self) -> u64 {
        (self.kind() as u64) << 8 | self.size()
    }

    /// Alignment in bytes that the C or Fortran compiler gives a structure member of this type.
    pub const fn align(self) -> u64 {
        self.row().align as u64
    }

    /// Length in bytes in the external32 representation.
    pub const fn external_size(self) -> u64 {
        self.row().external as u64
    }

    /// The basic type with this handle; `None` for the pair types, `MPI_DATATYPE_NULL` and derived types.
    pub const fn from_handle(handle: Handle) -> Option<Basic> {
        if handle.0 < FIRST_HANDLE || handle.0 >= FIRST_HANDLE + HANDLES {
            return None;
        }
        match BY_HANDLE[handle.0 - FIRST_HANDLE] {
            0 => None,
            n => Some(Basic::ALL[n as usize - 1]),
        }
    }

    /// Whether `MPI_MIN` and `MPI_MAX` are defined: integers of any language and real numbers.
    pub const fn is_ordered(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned | Kind::Float | Kind::Extended)
    }

    /// Whether this is an integer of any language.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }
}

/// A named pair type of `MPI_MINLOC` and `MPI_MAXLOC` (MPI-5.0 section 6.9.4).
#[derive(Clone, Copy, Debug)]
pub struct NamedPair {
    /// The C name with its prefix.
    pub name: &'static str,
    /// The predefined handle.
    pub handle: Handle,
    /// Type of the first member.
    pub value: Basic,
    /// Type of the second member.
    pub index: Basic,
}

const fn pair(name: &'static str, handle: Handle, value: Basic, index: Basic) -> NamedPair {
    NamedPair { name, handle, value, index }
}

/// Every named pair type.
pub const NAMED_PAIRS: &[NamedPair] = &[
    pair("MPI_FLOAT_INT", abi::FLOAT_INT, Basic::Float, Basic::Int),
    pair("MPI_DOUBLE_INT", abi::DOUBLE_INT, Basic::Double, Basic::Int),
    pair("MPI_LONG_INT", abi::LONG_INT, Basic::Long, Basic::Int),
    pair("MPI_2INT", abi::TWOINT, Basic::Int, Basic::Int),
    pair("MPI_SHORT_INT", abi::SHORT_INT, Basic::Short, Basic::Int),
    pair("MPI_LONG_DOUBLE_INT", abi::LONG_DOUBLE_INT, Basic::LongDouble, Basic::Int),
    pair("MPI_2REAL", abi::TWOREAL, Basic::Real, Basic::Real),
    pair("MPI_2DOUBLE_PRECISION", abi::TWODOUBLE_PRECISION, Basic::DoublePrecision, Basic::DoublePrecision),
    pair("MPI_2INTEGER", abi::TWOINTEGER, Basic::Integer, Basic::Integer),
];

/// The value of `MPI_DATATYPE_NULL`, the lowest datatype handle.
pub const FIRST_HANDLE: usize = abi::DATATYPE_NULL.0;
/// How many values the ABI sets aside for predefined datatypes.
pub const HANDLES: usize = 256;

/// Index into [`Basic::ALL`] plus one, by handle; zero where no basic type has the handle.
static BY_HANDLE: [u8; HANDLES] = {
    let mut table = [0; HANDLES];
    let mut i = 0;
    while i < Basic::ALL.len() {
        table[Basic::ALL[i].handle().0 - FIRST_HANDLE] = i as u8 + 1;
        i += 1;
    }
    table
};

/// Size in bytes of each predefined type, by `handle - 0x200`; zero where there is no type.
pub static SIZE: [u8; HANDLES] = {
    let mut table = [0; HANDLES];
    let mut i = 0;
    while i < Basic::ALL.len() {
        table[Basic::ALL[i].handle().0 - FIRST_HANDLE] = Basic::ALL[i].size() as u8;
        i += 1;
    }
    let mut i = 0;
    while i < NAMED_PAIRS.len() {
        let pair = &NAMED_PAIRS[i];
        table[pair.handle.0 - FIRST_HANDLE] = (pair.value.size() + pair.index.size()) as u8;
        i += 1;
    }
    table
};

/// Whether a predefined type's elements lie back to back (size equals extent), by `handle - 0x200`.
pub(crate) static DENSE: [bool; HANDLES] = {
    let mut table = [false; HANDLES];
    let mut i = 0;
    while i < Basic::ALL.len() {
        table[Basic::ALL[i].handle().0 - FIRST_HANDLE] = true;
        i += 1;
    }
    let mut i = 0;
    while i < NAMED_PAIRS.len() {
        let pair = &NAMED_PAIRS[i];
        table[pair.handle.0 - FIRST_HANDLE] = pair.value.size() == pair.index.size();
        i += 1;
    }
    table
};

/// [`SIZE`] where [`DENSE`], zero elsewhere: one load for the straight path.
static DENSE_SIZE: [u8; HANDLES] = {
    let mut table = [0; HANDLES];
    let mut i = 0;
    while i < HANDLES {
        if DENSE[i] {
            table[i] = SIZE[i];
        }
        i += 1;
    }
    table
};

/// Size in bytes of a predefined type: one load. `None` for anything that is not a predefined type.
///
/// The elements need not be back to back: see [`predefined_dense_size`].
#[inline]
pub fn predefined_size(handle: Handle) -> Option<u32> {
    match SIZE.get(handle.0.wrapping_sub(FIRST_HANDLE)) {
        Some(&size) if size != 0 => Some(u32::from(size)),
        _ => None,
    }
}

/// Size in bytes of a predefined type whose elements lie back to back, the send fast path's question.
///
/// `None` for derived types, for non-types and for the pair types with holes (`MPI_DOUBLE_INT` and its like).
#[inline(always)]
pub fn predefined_dense_size(handle: Handle) -> Option<u32> {
    match DENSE_SIZE.get(handle.0.wrapping_sub(FIRST_HANDLE)) {
        Some(&size) if size != 0 => Some(u32::from(size)),
        _ => None,
    }
}
