//! What the elements of an accumulate are (MPI-5.0 section 12.3.4), and what makes them atomic.

use std::sync::Arc;

use abi::{Error, Op, Result};
use datatype::{Basic, Datatype, Kind, NAMED_PAIRS};
use op::Kernel;

/// The elements of the target of an accumulate: predefined types all alike.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// The named type; null for a pair without name.
    pub handle: abi::Datatype,
    /// Value and index of a pair without name.
    pair: Option<(Basic, Basic)>,
    /// Bytes in pack order.
    pub size: usize,
    /// Whether the elements of an array are back to back.
    pub dense: bool,
    kind: Option<Kind>,
}

/// How a word is changed, whatever its type: what networks do at one stroke.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Not at all.
    Load,
    /// It is replaced.
    Swap,
    /// An integer is added.
    Add,
    /// Bits are kept that are set in both.
    And,
    /// Bits are set.
    Or,
    /// Bits are turned.
    Xor,
}

/// How an element at a fitting address is combined at one stroke.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// By an operation that the processor has.
    Change(Change),
    /// As `Exchange`, with an addition of two floating-point numbers in place of the kernel's call: sums of single ones are
    /// what programs accumulate most, and the call takes as long as the exchange.
    AddFloat,
    /// Until no other process has changed the element meanwhile.
    Exchange(Kernel),
}

/// What an operation does with elements that the processor has atomic operations for; looked up once for many accumulates.
#[derive(Clone, Copy, Debug)]
pub struct Combiner {
    handle: abi::Datatype,
    pair: Option<(Basic, Basic)>,
    op: Op,
    pub(crate) action: Action,
    pub(crate) kernel: Kernel,
    /// Bytes of an element, as a power of two.
    shift: u32,
}

impl Combiner {
    /// Of elements for which [`Element::is_word`] holds.
    ///
    /// # Errors
    /// As [`op::kernel`].
    pub fn new(element: &Element, op: Op) -> Result<Combiner> {
        let (kernel, action) = (element.kernel(op)?, element.action(op)?);
        let (handle, pair) = (element.handle, element.pair);
        Ok(Combiner { handle, pair, op, action, kernel, shift: element.size.trailing_zeros() })
    }

    /// Whether it is that of this type and operation.
    #[inline(always)]
    pub fn is_of(&self, element: &Element, op: Op) -> bool {
        self.handle == element.handle && self.op == op && self.pair == element.pair
    }

    /// The operation.
    #[inline(always)]
    pub fn op(&self) -> Op {
        self.op
    }

    /// Bytes of an element.
    #[inline(always)]
    pub fn size(&self) -> usize {
        1 << self.shift
    }

    /// Elements in so many bytes. A division takes as long as ten other operations.
    #[inline(always)]
    pub fn count(&self, bytes: usize) -> usize {
        bytes >> self.shift
    }
}

const MIXED: Error = Error::new(abi::ERR_TYPE, "the elements of the datatype are not of one predefined type");

impl Element {
    /// The elements of `datatype`, which has some.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` for types that mix several predefined ones.
    pub fn of(datatype: &Datatype) -> Result<Element> {
        if let Some(leaf) = pair_of(datatype) {
            return Ok(leaf);
        }
        datatype.signature().homogeneous().map(Element::basic).ok_or(MIXED)
    }

    /// The elements of a named basic type; `None` for all else.
    #[inline]
    pub fn of_basic(handle: abi::Datatype) -> Option<Element> {
        Basic::from_handle(handle).map(Element::basic)
    }

    /// Whether `MPI_Compare_and_swap` takes the type: integers of any language, logicals and bytes.
    pub fn is_integer(&self) -> bool {
        let kind = self.kind;
        let is_one = matches!(
            kind,
            Some(Kind::Signed | Kind::Unsigned | Kind::Logical | Kind::Bytes | Kind::Character)
        );
        is_one && self.handle != abi::PACKED
    }

    #[inline]
    fn basic(basic: Basic) -> Element {
        let (handle, kind) = (basic.handle(), Some(basic.kind()));
        Element { handle, pair: None, size: basic.size() as usize, dense: true, kind }
    }

    /// What a message calls the type; [`Element::named_by`] is the way back.
    pub fn word(&self) -> u64 {
        match self.pair {
            Some((value, index)) => (value.handle().0 as u64) << 32 | index.handle().0 as u64,
            None => self.handle.0 as u64,
        }
    }

    /// The elements that a message calls `word`; `None` where that is no type.
    pub fn named_by(word: u64) -> Option<Element> {
        let basic = |word: u64| Basic::from_handle(abi::Datatype((word & u64::from(u32::MAX)) as usize));
        if word >> 32 == 0 {
            return Element::of(Datatype::predefined(abi::Datatype(word as usize))?).ok();
        }
        Element::of(pair_type(basic(word >> 32)?, basic(word)?)?.as_ref()).ok()
    }

    /// The type.
    pub(crate) fn datatype(&self) -> Option<Arc<Datatype>> {
        match self.pair {
            Some((value, index)) => pair_type(value, index),
            None => Datatype::predefined(self.handle).cloned(),
        }
    }

    /// The loop that combines elements in memory, extents apart.
    ///
    /// # Errors
    /// As [`op::kernel`].
    pub fn kernel(&self, op: Op) -> Result<Kernel> {
        match self.pair {
            Some((value, index)) => op::pair_kernel(op, value.handle(), index.handle()),
            None => op::kernel(op, self.handle),
        }
    }

    /// Whether the processor has atomic operations for elements of this type.
    #[inline]
    pub fn is_word(&self) -> bool {
        self.dense && matches!(self.size, 1 | 2 | 4 | 8)
    }

    /// Whether elements at `address` are combined by atomic operations of the processor. That depends on the type and
    /// the address alone, so that all processes take the same way for the same element.
    #[inline]
    pub fn is_atomic_at(&self, address: usize) -> bool {
        self.is_word() && address.is_multiple_of(self.size)
    }

    /// What `op` does with a word that is such an element, if that depends on its bits alone; `op` is one that its
    /// type has.
    pub fn change(&self, op: Op) -> Option<Change> {
        match self.action(op).ok()? {
            Action::Change(change) => Some(change),
            Action::Exchange(_) | Action::AddFloat => None,
        }
    }

    /// What to do with each such element.
    ///
    /// # Errors
    /// As [`op::kernel`].
    pub(crate) fn action(&self, op: Op) -> Result<Action> {
        let is_integer =
            matches!(self.kind, Some(Kind::Signed | Kind::Unsigned | Kind::Bytes | Kind::Character));
        let is_float = self.pair.is_none() && self.kind == Some(Kind::Float) && matches!(self.size, 4 | 8);
        let simple = match op {
            abi::SUM if is_float => return Ok(Action::AddFloat),
            abi::NO_OP => Change::Load,
            abi::REPLACE => Change::Swap,
            abi::SUM if is_integer => Change::Add,
            abi::BAND if is_integer => Change::And,
            abi::BOR if is_integer => Change::Or,
            abi::BXOR if is_integer => Change::Xor,
            _ => return self.kernel(op).map(Action::Exchange),
        };
        if self.pair.is_none() && !op::allowed_in_accumulate(op, self.handle) {
            // The kernel's error names what is wrong.
            self.kernel(op)?;
        }
        Ok(Action::Change(simple))
    }
}

/// The pair type that `datatype` is made of, if it is made of one.
fn pair_of(datatype: &Datatype) -> Option<Element> {
    let mut leaf = datatype;
    while !leaf.is_predefined() {
        leaf = leaf.contents().datatypes.first()?;
    }
    let (value, index) = leaf.pair()?;
    let named = NAMED_PAIRS.iter().find(|pair| pair.value == value && pair.index == index);
    let (all, one) = (datatype.signature(), leaf.signature());
    let count = all.elements() / one.elements();
    if one.hash_of(count) != all.hash() {
        return None;
    }
    let dense = leaf.size() == leaf.extent() as u64;
    let (handle, pair) = match named {
        Some(named) => (named.handle, None),
        None => (abi::DATATYPE_NULL, Some((value, index))),
    };
    Some(Element { handle, pair, size: leaf.size() as usize, dense, kind: None })
}

/// The predefined type of pairs of two others.
fn pair_type(value: Basic, index: Basic) -> Option<Arc<Datatype>> {
    let (value, index) = (Datatype::predefined(value.handle())?, Datatype::predefined(index.handle())?);
    Datatype::value_index(value, index).ok()?
}
