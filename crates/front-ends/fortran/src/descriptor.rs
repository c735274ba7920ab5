//! Descriptors of assumed-rank buffers: what compilers agree on (ISO/IEC 1539-1, section 18.5), or, in MPICH's module
//! `mpi_f08`, gfortran's own, whose procedures are not `bind(C)`.

#[cfg(not(dialect = "mpich"))]
use core::slice;

use crate::place::P;

/// A dimension.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// The lower bound.
    pub lower: isize,
    /// Elements; -1 for the last dimension of an assumed size. Of an array without elements it may be below zero, too, as gfortran has
    /// it: the upper bound less the lower one, and 1.
    pub extent: isize,
    /// Bytes between elements.
    pub stride: isize,
}

/// What compilers agree on in a descriptor.
#[cfg(not(dialect = "mpich"))]
#[repr(C)]
pub struct Descriptor {
    base: P,
    element: usize,
    version: i32,
    rank: u8,
    /// Attribute and type, in an order that differs.
    _other: [u8; 3],
}

#[cfg(not(dialect = "mpich"))]
const _: () = assert!(size_of::<Descriptor>() == 24);

/// The dimensions of a descriptor.
#[cfg(not(dialect = "mpich"))]
pub struct Dimensions<'a>(&'a [Dimension]);

#[cfg(not(dialect = "mpich"))]
impl core::ops::Deref for Dimensions<'_> {
    type Target = [Dimension];

    #[inline(always)]
    fn deref(&self) -> &[Dimension] {
        self.0
    }
}

#[cfg(not(dialect = "mpich"))]
impl Descriptor {
    /// Bytes of an element.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.element
    }

    /// The dimensions, which lie behind the rest.
    #[inline(always)]
    pub fn dimensions(&self) -> Dimensions<'_> {
        let first = core::ptr::from_ref(self).wrapping_add(1).cast::<Dimension>();
        // SAFETY: a descriptor has as many dimensions as its rank behind it.
        Dimensions(unsafe { slice::from_raw_parts(first, usize::from(self.rank)) })
    }
}

/// gfortran's own descriptor.
#[cfg(dialect = "mpich")]
#[repr(C)]
pub struct Descriptor {
    base: P,
    offset: isize,
    element: usize,
    version: i32,
    rank: i8,
    kind: i8,
    attribute: i16,
    span: isize,
}

#[cfg(dialect = "mpich")]
const _: () = assert!(size_of::<Descriptor>() == 40);

/// The dimensions of a descriptor; Fortran has no arrays of more than 15.
#[cfg(dialect = "mpich")]
pub struct Dimensions([Dimension; 15], usize);

#[cfg(dialect = "mpich")]
impl core::ops::Deref for Dimensions {
    type Target = [Dimension];

    fn deref(&self) -> &[Dimension] {
        &self.0[..self.1]
    }
}

#[cfg(dialect = "mpich")]
impl Descriptor {
    /// Bytes of an element.
    pub fn bytes(&self) -> usize {
        self.element
    }

    /// The dimensions: strides are counted in elements there, whose distance is the span.
    pub fn dimensions(&self) -> Dimensions {
        let first = core::ptr::from_ref(self).wrapping_add(1).cast::<[isize; 3]>();
        let rank = self.rank.clamp(0, 15) as usize;
        let span = if self.span == 0 { self.element as isize } else { self.span };
        let mut all = [Dimension { lower: 0, extent: 0, stride: 0 }; 15];
        for (at, dimension) in all.iter_mut().enumerate().take(rank) {
            // SAFETY: a descriptor has as many dimensions as its rank behind it.
            let [stride, lower, upper] = unsafe { *first.add(at) };
            *dimension = Dimension { lower, extent: upper - lower + 1, stride: stride * span };
        }
        Dimensions(all, rank)
    }
}

impl Descriptor {
    /// Where the first element is.
    #[inline(always)]
    pub fn base(&self) -> P {
        self.base
    }

    /// Whether the elements lie one behind the other, as those of an assumed size do, or there are none.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        let mut next = self.bytes() as isize;
        self.dimensions().iter().all(|it| {
            let fits = it.stride == next || it.extent == 1;
            next = next.wrapping_mul(it.extent);
            fits
        }) || self.dimensions().iter().any(|it| it.extent <= 0)
    }

    /// How many elements there are; of arrays in pieces alone, whose extents are above zero.
    pub fn elements(&self) -> i64 {
        self.dimensions().iter().map(|it| it.extent as i64).product()
    }

    /// Where an element is, from the first one.
    pub fn place(&self, mut element: usize) -> isize {
        let mut place = 0;
        for it in self.dimensions().iter() {
            place += (element % it.extent as usize) as isize * it.stride;
            element /= it.extent as usize;
        }
        place
    }
}
