//! From operation and kind to kernel.

use crate::half::Half;
use crate::kernel::{Kernel, scalar, vectorised};
use crate::kind::Kind;
use crate::long_double::LongDouble;
use crate::number::*;
use crate::pair::{Incoming, Maximum, Minimum, Present, select};
use crate::quad::Quad;
#[cfg(target_arch = "x86_64")]
use crate::{pair::Pair, pair_wide};
use abi::Op;

/// The kernel of `op` on elements of `kind`; `None` where the operation has no meaning for them.
pub(crate) fn kernel(op: Op, kind: Kind) -> Option<Kernel> {
    match kind {
        Kind::I8 => integer::<i8>(op),
        Kind::I16 => integer::<i16>(op),
        Kind::I32 => integer::<i32>(op),
        Kind::I64 => integer::<i64>(op),
        Kind::I128 => integer::<i128>(op),
        Kind::U8 => integer::<u8>(op),
        Kind::U16 => integer::<u16>(op),
        Kind::U32 => integer::<u32>(op),
        Kind::U64 => integer::<u64>(op),
        Kind::F16 => float::<Half>(op),
        Kind::F32 => float::<f32>(op),
        Kind::F64 => float::<f64>(op),
        Kind::LongDouble => wide_float::<LongDouble>(op),
        Kind::F128 => wide_float::<Quad>(op),
        Kind::ComplexF16 => complex::<Half>(op),
        Kind::ComplexF32 => complex::<f32>(op),
        Kind::ComplexF64 => complex::<f64>(op),
        Kind::ComplexLongDouble => wide_complex::<LongDouble>(op),
        Kind::ComplexF128 => wide_complex::<Quad>(op),
        Kind::Logical(1) => truth::<Logical<u8>>(op),
        Kind::Logical(2) => truth::<Logical<u16>>(op),
        Kind::Logical(4) => truth::<Logical<u32>>(op),
        Kind::Logical(8) => truth::<Logical<u64>>(op),
        Kind::Logical(_) => truth::<Logical<u128>>(op),
        // Whatever a foreign `bool` holds, it is read as a byte that is zero or not.
        Kind::Bool => truth::<u8>(op),
        Kind::Opaque(1) => movement::<u8>(op),
        Kind::Opaque(_) => movement::<u32>(op),
        Kind::FloatInt => wide_pair::<f32, i32>(op),
        Kind::DoubleInt => wide_pair::<f64, i32>(op),
        Kind::LongInt => wide_pair::<i64, i32>(op),
        Kind::TwoInt => wide_pair::<i32, i32>(op),
        Kind::ShortInt => wide_pair::<i16, i32>(op),
        Kind::LongDoubleInt => pair::<AlignedLongDouble, i32>(op),
        Kind::TwoReal => wide_pair::<f32, f32>(op),
        Kind::TwoDouble => wide_pair::<f64, f64>(op),
    }
}

/// The kernel of `op` on pairs of a value and an index; `None` for what does not make a pair, and for other operations than
/// those of pairs.
pub(crate) fn pair_kernel(op: Op, value: Kind, index: Kind) -> Option<Kernel> {
    match value {
        Kind::I8 => with_index::<i8>(op, index),
        Kind::I16 => with_index::<i16>(op, index),
        Kind::I32 => with_index::<i32>(op, index),
        Kind::I64 => with_index::<i64>(op, index),
        Kind::I128 => with_index::<i128>(op, index),
        Kind::U8 => with_index::<u8>(op, index),
        Kind::U16 => with_index::<u16>(op, index),
        Kind::U32 => with_index::<u32>(op, index),
        Kind::U64 => with_index::<u64>(op, index),
        Kind::F16 => with_index::<Half>(op, index),
        Kind::F32 => with_index::<f32>(op, index),
        Kind::F64 => with_index::<f64>(op, index),
        Kind::LongDouble => with_index::<AlignedLongDouble>(op, index),
        Kind::F128 => with_index::<Quad>(op, index),
        _ => None,
    }
}

fn with_index<V: Ordered>(op: Op, index: Kind) -> Option<Kernel> {
    match index {
        Kind::I8 => pair::<V, i8>(op),
        Kind::I16 => pair::<V, i16>(op),
        Kind::I32 => pair::<V, i32>(op),
        Kind::I64 => pair::<V, i64>(op),
        Kind::I128 => pair::<V, i128>(op),
        Kind::U8 => pair::<V, u8>(op),
        Kind::U16 => pair::<V, u16>(op),
        Kind::U32 => pair::<V, u32>(op),
        Kind::U64 => pair::<V, u64>(op),
        _ => None,
    }
}

fn integer<T: Number + Ordered + Bits + Truth>(op: Op) -> Option<Kernel> {
    Some(match op {
        abi::BAND => vectorised::<T, Band>(),
        abi::BOR => vectorised::<T, Bor>(),
        abi::BXOR => vectorised::<T, Bxor>(),
        abi::LAND | abi::LOR | abi::LXOR => return truth::<T>(op),
        _ => return float::<T>(op),
    })
}

fn float<T: Number + Ordered>(op: Op) -> Option<Kernel> {
    Some(match op {
        abi::SUM => vectorised::<T, Sum>(),
        abi::PROD => vectorised::<T, Prod>(),
        abi::MIN => vectorised::<T, Min>(),
        abi::MAX => vectorised::<T, Max>(),
        _ => return movement::<T>(op),
    })
}

fn wide_float<T: Number + Ordered>(op: Op) -> Option<Kernel> {
    Some(match op {
        abi::SUM => scalar::<T, Sum>(),
        abi::PROD => scalar::<T, Prod>(),
        abi::MIN => scalar::<T, Min>(),
        abi::MAX => scalar::<T, Max>(),
        _ => return movement::<T>(op),
    })
}

fn complex<T: Number + Negate>(op: Op) -> Option<Kernel> {
    Some(match op {
        abi::SUM => vectorised::<Complex<T>, Sum>(),
        abi::PROD => vectorised::<Complex<T>, Prod>(),
        _ => return movement::<Complex<T>>(op),
    })
}

fn wide_complex<T: Number + Negate>(op: Op) -> Option<Kernel> {
    Some(match op {
        abi::SUM => scalar::<Complex<T>, Sum>(),
        abi::PROD => scalar::<Complex<T>, Prod>(),
        _ => return movement::<Complex<T>>(op),
    })
}

fn truth<T: Truth>(op: Op) -> Option<Kernel> {
    Some(match op {
        abi::LAND => vectorised::<T, Land>(),
        abi::LOR => vectorised::<T, Lor>(),
        abi::LXOR => vectorised::<T, Lxor>(),
        _ => return movement::<T>(op),
    })
}

fn movement<T: Copy>(op: Op) -> Option<Kernel> {
    match op {
        abi::REPLACE => Some(scalar::<T, Replace>()),
        abi::NO_OP => Some(scalar::<T, NoOp>()),
        _ => None,
    }
}

fn pair<V: Ordered, I: Ordered>(op: Op) -> Option<Kernel> {
    Some(match op {
        abi::MINLOC => select::<V, I, Minimum>,
        abi::MAXLOC => select::<V, I, Maximum>,
        abi::REPLACE => select::<V, I, Incoming>,
        abi::NO_OP => select::<V, I, Present>,
        _ => return None,
    })
}

/// Pairs that fill a vector.
#[cfg(target_arch = "x86_64")]
fn wide_pair<V: Ordered, I: Ordered>(op: Op) -> Option<Kernel>
where
    Pair<V, I>: pair_wide::Wide,
{
    let wide = match op {
        abi::MINLOC => pair_wide::kernel::<V, I, Minimum, true>(),
        abi::MAXLOC => pair_wide::kernel::<V, I, Maximum, false>(),
        _ => None,
    };
    wide.or_else(|| pair::<V, I>(op))
}

#[cfg(not(target_arch = "x86_64"))]
fn wide_pair<V: Ordered, I: Ordered>(op: Op) -> Option<Kernel> {
    pair::<V, I>(op)
}

/// `long double` with the alignment that decides the layout of C's `struct { long double; int; }`.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct AlignedLongDouble(LongDouble);

impl Ordered for AlignedLongDouble {
    fn less(self, other: Self) -> bool {
        self.0.less(other.0)
    }
}
