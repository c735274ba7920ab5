//! What can be done with a single element. Every operation is a zero-sized type, so that a kernel is one
//! instantiation of one loop.

/// An operation on elements of type `T`: `left op right`.
pub(crate) trait Apply<T> {
    fn apply(left: T, right: T) -> T;
}

/// Elements that can be added and multiplied; integers wrap.
pub(crate) trait Number: Copy {
    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
}

/// Elements with an order. Where the operands do not compare (NaN), the result is `other`.
pub(crate) trait Ordered: Copy {
    fn less(self, other: Self) -> bool;
}

/// Elements with bits.
pub(crate) trait Bits: Copy {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

/// Elements that are true or false.
pub(crate) trait Truth: Copy {
    fn land(self, other: Self) -> Self;
    fn lor(self, other: Self) -> Self;
    fn lxor(self, other: Self) -> Self;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident: $bound:ident = |$l:ident, $r:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl<T: $bound> Apply<T> for $name {
            #[inline(always)]
            fn apply($l: T, $r: T) -> T {
                $body
            }
        }
    )*};
}

operations! {
    /// `MPI_SUM`
    Sum: Number = |l, r| l.add(r);
    /// `MPI_PROD`
    Prod: Number = |l, r| l.mul(r);
    /// `MPI_MIN`
    Min: Ordered = |l, r| if l.less(r) { l } else { r };
    /// `MPI_MAX`
    Max: Ordered = |l, r| if r.less(l) { l } else { r };
    /// `MPI_BAND`
    Band: Bits = |l, r| l.and(r);
    /// `MPI_BOR`
    Bor: Bits = |l, r| l.or(r);
    /// `MPI_BXOR`
    Bxor: Bits = |l, r| l.xor(r);
    /// `MPI_LAND`
    Land: Truth = |l, r| l.land(r);
    /// `MPI_LOR`
    Lor: Truth = |l, r| l.lor(r);
    /// `MPI_LXOR`
    Lxor: Truth = |l, r| l.lxor(r);
    /// `MPI_REPLACE`: the incoming value.
    Replace: Copy = |l, _r| l;
    /// `MPI_NO_OP`: the value that is there.
    NoOp: Copy = |_l, r| r;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn add(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn mul(self, other: $t) -> $t {
                self.wrapping_mul(other)
            }
        }
        impl Ordered for $t {
            #[inline(always)]
            fn less(self, other: $t) -> bool {
                self < other
            }
        }
        impl Bits for $t {
            #[inline(always)]
            fn and(self, other: $t) -> $t {
                self & other
            }
            #[inline(always)]
            fn or(self, other: $t) -> $t {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: $t) -> $t {
                self ^ other
            }
        }
        // C's logical operators: any value but 0 is true, the result is 0 or 1.
        impl Truth for $t {
            #[inline(always)]
            fn land(self, other: $t) -> $t {
                <$t>::from(self != 0) & <$t>::from(other != 0)
            }
            #[inline(always)]
            fn lor(self, other: $t) -> $t {
                <$t>::from(self | other != 0)
            }
            #[inline(always)]
            fn lxor(self, other: $t) -> $t {
                <$t>::from(self != 0) ^ <$t>::from(other != 0)
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 i128 u8 u16 u32 u64 }

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn add(self, other: $t) -> $t {
                self + other
            }
            #[inline(always)]
            fn mul(self, other: $t) -> $t {
                self * other
            }
        }
        impl Ordered for $t {
            #[inline(always)]
            fn less(self, other: $t) -> bool {
                self < other
            }
        }
    )*};
}

floats! { f32 f64 }

/// A Fortran `LOGICAL` stored in the unsigned integer `U`. Compilers differ in what `.TRUE.` is (1, or all
/// bits set), so a true result is one of the operands, unchanged.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Logical<U>(U);

impl<U: Copy + PartialEq + Default> Truth for Logical<U> {
    #[inline(always)]
    fn land(self, other: Self) -> Self {
        if self.0 == U::default() { self } else { other }
    }
    #[inline(always)]
    fn lor(self, other: Self) -> Self {
        if self.0 == U::default() { other } else { self }
    }
    #[inline(always)]
    fn lxor(self, other: Self) -> Self {
        if self.0 == U::default() {
            other
        } else if other.0 == U::default() {
            self
        } else {
            Logical(U::default())
        }
    }
}

/// A complex number as all languages lay it out.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Complex<T> {
    re: T,
    im: T,
}

/// Elements with a negative.
pub(crate) trait Negate {
    fn negate(self) -> Self;
}

impl Negate for f32 {
    #[inline(always)]
    fn negate(self) -> f32 {
        -self
    }
}

impl Negate for f64 {
    #[inline(always)]
    fn negate(self) -> f64 {
        -self
    }
}

impl<T: Number + Negate> Number for Complex<T> {
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Complex { re: self.re.add(other.re), im: self.im.add(other.im) }
    }

    /// The textbook product; infinities are not recovered as C's Annex G would.
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Complex {
            re: self.re.mul(other.re).add(self.im.mul(other.im).negate()),
            im: self.re.mul(other.im).add(self.im.mul(other.re)),
        }
    }
}
