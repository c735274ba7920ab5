//! Pairs of a value and an index: `MPI_MINLOC` and `MPI_MAXLOC` (MPI-5.0 section 6.9.4).

use crate::number::Ordered;

/// A pair as C lays it out.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Pair<V, I> {
    value: V,
    index: I,
}

/// Which of two pairs is the result.
pub(crate) trait Choose<V, I> {
    fn left(left: (V, I), right: (V, I)) -> bool;
}

/// `MPI_MINLOC`
pub(crate) struct Minimum;
/// `MPI_MAXLOC`
pub(crate) struct Maximum;
/// `MPI_REPLACE`
pub(crate) struct Incoming;
/// `MPI_NO_OP`
pub(crate) struct Present;

impl<V: Ordered, I: Ordered> Choose<V, I> for Minimum {
    fn left(left: (V, I), right: (V, I)) -> bool {
        left.0.less(right.0) || (!right.0.less(left.0) && left.1.less(right.1))
    }
}

impl<V: Ordered, I: Ordered> Choose<V, I> for Maximum {
    fn left(left: (V, I), right: (V, I)) -> bool {
        right.0.less(left.0) || (!left.0.less(right.0) && left.1.less(right.1))
    }
}

impl<V, I> Choose<V, I> for Incoming {
    fn left(_: (V, I), _: (V, I)) -> bool {
        true
    }
}

impl<V, I> Choose<V, I> for Present {
    fn left(_: (V, I), _: (V, I)) -> bool {
        false
    }
}

/// See [`Kernel`](crate::kernel::Kernel): pair after pair. The bytes between value and index and behind the last index
/// are never touched.
pub(crate) unsafe fn select<V: Copy, I: Copy, C: Choose<V, I>>(
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    count: usize,
) {
    let (left, right, out) =
        (left.cast::<Pair<V, I>>(), right.cast::<Pair<V, I>>(), out.cast::<Pair<V, I>>());
    for i in 0..count {
        // SAFETY: the kernel's caller vouches for `count` pairs at each pointer; fields are read and written unaligned,
        // and both operands are read before the result is written.
        unsafe {
            let (l, r, o) = (left.add(i), right.add(i), out.add(i));
            let (lv, rv) =
                ((&raw const (*l).value).read_unaligned(), (&raw const (*r).value).read_unaligned());
            let (li, ri) =
                ((&raw const (*l).index).read_unaligned(), (&raw const (*r).index).read_unaligned());
            let (value, index) = if C::left((lv, li), (rv, ri)) { (lv, li) } else { (rv, ri) };
            (&raw mut (*o).value).write_unaligned(value);
            (&raw mut (*o).index).write_unaligned(index);
        }
    }
}
