//! The datatype object: an immutable description, shared by reference count.

use crate::basic::{Basic, NAMED_PAIRS};
use crate::contents::{Contents, Envelope};
use crate::layout::{Layout, OVERFLOW, narrow};
use crate::signature::Signature;
use abi::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A datatype: type map, bounds, signature, and how it was constructed (MPI-5.0 chapter 5).
///
/// Immutable once built (only the committed mark changes), so it is shared as `Arc<Datatype>` between handles,
/// datatypes built from it and operations in flight.
#[derive(Debug)]
pub struct Datatype {
    layout: Arc<Layout>,
    signature: Arc<Signature>,
    lb: i64,
    ub: i64,
    /// Explicit bounds in the type map, from `MPI_Type_create_resized` and its like. They decide the bounds of every type built
    /// from this one (section 5.1.6).
    marks: Marks,
    align: u64,
    contents: Contents,
    kind: Predefined,
    committed: AtomicBool,
}

/// What kind of predefined type this is, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Predefined {
    /// Built by a constructor.
    No,
    /// A basic type: named, or returned by the Fortran 90 parameterized calls.
    Basic(Basic),
    /// A value and index pair: named, or from `MPI_Type_get_value_index`.
    Pair { value: Basic, index: Basic },
    /// No data, but a bound: what MPI-1 has for it, and other libraries' ABIs still.
    Bound,
}

/// Explicit bounds in a type map, each where there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Marks {
    pub lower: Option<i64>,
    pub upper: Option<i64>,
}

impl Marks {
    pub const NONE: Marks = Marks { lower: None, upper: None };

    pub fn both(lower: i64, upper: i64) -> Marks {
        Marks { lower: Some(lower), upper: Some(upper) }
    }
}

/// What a constructor knows about the new type.
pub(crate) struct Parts {
    pub layout: Layout,
    pub signature: Signature,
    /// Union of the explicit bounds in the type map.
    pub marks: Marks,
    /// Largest alignment of a basic type in the map, at least 1.
    pub align: u64,
}

impl Datatype {
    pub(crate) fn build(parts: Parts, contents: Contents, kind: Predefined) -> Result<Datatype> {
        let Parts { layout, signature, marks, align } = parts;
        let lb = marks.lower.unwrap_or(layout.lo);
        let ub = match marks.upper {
            Some(upper) => upper,
            None => natural_upper_bound(&layout, align)?,
        };
        narrow(i128::from(ub) - i128::from(lb))?;
        narrow(i128::from(layout.hi) - i128::from(layout.lo))?;
        debug_assert_eq!(layout.size, signature.bytes());
        Ok(Datatype {
            layout: Arc::new(layout),
            signature: Arc::new(signature),
            lb,
            ub,
            marks,
            align,
            contents,
            kind,
            committed: AtomicBool::new(kind != Predefined::No),
        })
    }

    /// The same type map under new contents (`MPI_Type_dup`, unnamed predefined types).
    pub(crate) fn alias(&self, contents: Contents, kind: Predefined) -> Datatype {
        Datatype {
            layout: self.layout.clone(),
            signature: self.signature.clone(),
            contents,
            kind,
            committed: AtomicBool::new(self.is_committed() || kind != Predefined::No),
            ..*self
        }
    }

    /// Bytes of data in one item: `MPI_Type_size`.
    pub fn size(&self) -> u64 {
        self.layout.size
    }

    /// Lower bound in bytes.
    pub fn lb(&self) -> i64 {
        self.lb
    }

    /// Upper bound in bytes.
    pub fn ub(&self) -> i64 {
        self.ub
    }

    /// Distance in bytes between successive items: upper less lower bound.
    pub fn extent(&self) -> i64 {
        self.ub - self.lb
    }

    /// Displacement of the lowest byte of data; 0 for an empty type.
    pub fn true_lb(&self) -> i64 {
        self.layout.lo
    }

    /// Bytes from the lowest byte of data to past the highest.
    pub fn true_extent(&self) -> i64 {
        self.layout.hi - self.layout.lo
    }

    /// Largest alignment in bytes that a basic type of the map asks for.
    pub fn align(&self) -> u64 {
        self.align
    }

    /// The type signature of one item.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Marks the type as ready for communication. The pack program exists already; this never fails.
    pub fn commit(&self) {
        self.committed.store(true, Ordering::Release);
    }

    /// Whether the type may be used in communication.
    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Acquire)
    }

    /// Whether one item is one run of bytes (at [`Datatype::true_lb`]).
    pub fn is_contiguous(&self) -> bool {
        self.layout.runs <= 1
    }

    /// Whether `count` items are one run of bytes, beginning at `true_lb` of the first.
    pub fn is_contiguous_for(&self, count: u64) -> bool {
        self.size() == 0
            || count == 0
            || (self.layout.runs == 1 && (count == 1 || self.size() == self.extent() as u64))
    }

    /// Contiguous pieces in one item, saturating.
    pub fn runs(&self) -> u64 {
        self.layout.runs
    }

    /// The basic type that a predefined type (named, or Fortran 90 parameterized) is; `None` for pairs and derived types.
    pub fn basic(&self) -> Option<Basic> {
        match self.kind {
            Predefined::Basic(basic) => Some(basic),
            _ => None,
        }
    }

    /// Value and index type of a predefined pair type, for `MPI_MINLOC` and `MPI_MAXLOC`.
    pub fn pair(&self) -> Option<(Basic, Basic)> {
        match self.kind {
            Predefined::Pair { value, index } => Some((value, index)),
            _ => None,
        }
    }

    /// Whether the type is predefined, named or not: such a type cannot be freed.
    pub fn is_predefined(&self) -> bool {
        self.kind != Predefined::No
    }

    /// The name that a predefined type has from the start, with its prefix; `None` for derived types and unnamed
    /// predefined ones, whose name is empty.
    pub fn predefined_name(&self) -> Option<&'static str> {
        let handle = self.named_handle()?;
        let pair = || NAMED_PAIRS.iter().find(|pair| pair.handle == handle).map(|pair| pair.name);
        let bound = || abi::FORMER.iter().find(|it| it.value == handle.0 as i64).map(|it| it.name);
        self.basic().map(Basic::name).or_else(pair).or_else(bound)
    }

    /// The handle of a named predefined type.
    pub fn named_handle(&self) -> Option<abi::Datatype> {
        self.contents.named
    }

    /// What `MPI_Type_get_envelope` and `MPI_Type_get_envelope_c` report.
    pub fn envelope(&self) -> Envelope {
        self.contents.envelope()
    }

    /// The constructor's arguments. Empty for a named type, whose contents are an error to ask for.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    pub(crate) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    pub(crate) fn shared_signature(&self) -> &Arc<Signature> {
        &self.signature
    }

    /// The explicit bounds in this type's map.
    pub(crate) fn marks(&self) -> Marks {
        self.marks
    }
}

impl Drop for Datatype {
    /// Frees long chains of types built from types without recursion.
    fn drop(&mut self) {
        let mut orphans = std::mem::take(&mut self.contents.datatypes).into_vec();
        while let Some(orphan) = orphans.pop() {
            if let Some(mut last) = Arc::into_inner(orphan) {
                orphans.append(&mut std::mem::take(&mut last.contents.datatypes).into_vec());
            }
        }
    }
}

/// The end of the data, rounded so that the extent is a multiple of the alignment (section 5.1.1: the epsilon).
fn natural_upper_bound(layout: &Layout, align: u64) -> Result<i64> {
    let span = i128::from(layout.hi) - i128::from(layout.lo);
    let align = i128::from(align);
    narrow(i128::from(layout.lo) + (span + align - 1) / align * align)
}

/// A value for a call whose result is an `int`: `MPI_UNDEFINED` where it does not fit.
pub fn as_int(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(abi::UNDEFINED)
}

/// `MPI_Get_count` of `bytes` received bytes: whole items, `None` for `MPI_UNDEFINED`.
pub fn count_of(datatype_size: u64, bytes: u64) -> Option<u64> {
    match datatype_size {
        0 => (bytes == 0).then_some(0),
        size => bytes.is_multiple_of(size).then(|| bytes / size),
    }
}

/// `count` items of a type of `size` bytes, in bytes.
pub fn total_size(size: u64, count: u64) -> Result<u64> {
    size.checked_mul(count).filter(|&total| total <= i64::MAX as u64).ok_or(OVERFLOW)
}
