//! Type signatures (MPI-5.0 section 3.3.1): the sequence of basic types of a datatype, without displacements.
//!
//! A signature is a small tree: repetition for every constructor that takes one old type, concatenation for structs.
//! Its hash is a polynomial in what the bytes of the basic types mean, so it depends on the sequence alone, never on how the
//! type was built: ten `MPI_INT` hash like one contiguous type of ten `MPI_INT`.

use crate::basic::{Basic, Kind};
use crate::layout::OVERFLOW;
use abi::Result;
use std::sync::Arc;

/// Concatenations of at most this many parts are spliced into their parent.
const SPLICE_PARTS: usize = 64;

/// What has to be known of a signature to compare it with another process's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The hash of one item.
    pub hash: u64,
    /// Its basic types.
    pub elements: u64,
    /// The first of them.
    pub first: Basic,
    /// All are of one type.
    pub is_uniform: bool,
    /// Some are bytes that mean nothing, `MPI_BYTE` or `MPI_PACKED`.
    pub has_bytes: bool,
}

impl Summary {
    /// As words that another process reads.
    pub fn words(&self) -> [u64; 3] {
        let flags = u64::from(self.is_uniform) << 8 | u64::from(self.has_bytes) << 9;
        [self.hash, self.elements, self.first as u64 | flags]
    }

    /// Of such words; `None`: they are none.
    pub fn of_words([hash, elements, about]: [u64; 3]) -> Option<Summary> {
        let first = *Basic::ALL.get(about as usize & 0xff)?;
        let (is_uniform, has_bytes) = (about & 1 << 8 != 0, about & 1 << 9 != 0);
        (elements > 0).then_some(Summary { hash, elements, first, is_uniform, has_bytes })
    }

    /// Whether a message that is sent as `count` of these may be received as some of `other` (MPI-5.0 section 3.3.1), as far as that
    /// can be said: the receive may be for more, and bytes fit everything.
    pub fn fits(&self, count: u64, other: &Summary) -> bool {
        if self.has_bytes || other.has_bytes || count == 0 {
            return true;
        }
        let is_same_first = self.first.meaning() == other.first.meaning();
        if self.is_uniform || (other.is_uniform && !is_same_first) {
            return is_same_first;
        }
        let Some(elements) = self.elements.checked_mul(count) else { return true };
        let times = elements / other.elements;
        !elements.is_multiple_of(other.elements)
            || hash::repeat(self.hash, self.elements, count)
                == hash::repeat(other.hash, other.elements, times)
    }
}

/// A sequence of basic types.
#[derive(Clone, Debug)]
pub struct Signature {
    elements: u64,
    bytes: u64,
    hash: u64,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Empty,
    Run(Basic),
    Repeat { count: u64, body: Arc<Signature> },
    Seq(Arc<[Signature]>),
}

impl Signature {
    /// The empty sequence.
    pub const EMPTY: Signature = Signature { elements: 0, bytes: 0, hash: 0, form: Form::Empty };

    /// `count` times `basic`.
    pub(crate) fn run(basic: Basic, count: u64) -> Result<Signature> {
        let one =
            Signature { elements: 1, bytes: basic.size(), hash: basic.meaning(), form: Form::Run(basic) };
        Arc::new(one).repeated(count)
    }

    /// This sequence `count` times.
    pub(crate) fn repeated(self: &Arc<Signature>, count: u64) -> Result<Signature> {
        if count == 0 || self.elements == 0 {
            return Ok(Signature::EMPTY);
        }
        if count == 1 {
            return Ok(Signature::clone(self));
        }
        let bytes = self.bytes.checked_mul(count).filter(|&b| b <= i64::MAX as u64).ok_or(OVERFLOW)?;
        // Every element has at least one byte, so this cannot overflow either.
        let elements = self.elements * count;
        let hash = hash::repeat(self.hash, self.elements, count);
        let form = match &self.form {
            Form::Run(basic) => Form::Run(*basic),
            Form::Repeat { count: inner, body } => Form::Repeat { count: inner * count, body: body.clone() },
            _ => Form::Repeat { count, body: self.clone() },
        };
        Ok(Signature { elements, bytes, hash, form })
    }

    /// One sequence after the other.
    pub(crate) fn concatenated(parts: impl Iterator<Item = Signature>) -> Result<Signature> {
        let mut flat: Vec<Signature> = Vec::new();
        for part in parts {
            match &part.form {
                Form::Seq(inner) if inner.len() <= SPLICE_PARTS => {
                    inner.iter().try_for_each(|p| append(&mut flat, p))?
                }
                _ => append(&mut flat, &part)?,
            }
        }
        let mut whole = Signature::EMPTY;
        for part in &flat {
            whole.bytes =
                whole.bytes.checked_add(part.bytes).filter(|&b| b <= i64::MAX as u64).ok_or(OVERFLOW)?;
            whole.elements += part.elements;
            whole.hash = hash::append(whole.hash, part.hash, part.elements);
        }
        match flat.len() {
            0 => Ok(Signature::EMPTY),
            1 => Ok(flat.swap_remove(0)),
            _ => Ok(Signature { form: Form::Seq(flat.into()), ..whole }),
        }
    }

    /// Number of basic types in the sequence.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Sum of their sizes in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A hash of the sequence. Equal sequences have equal hashes, however the datatypes were built.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The hash of the sequence repeated `count` times: the signature of a message of `count` items.
    pub fn hash_of(&self, count: u64) -> u64 {
        match self.elements.checked_mul(count) {
            Some(0) => 0,
            Some(_) => hash::repeat(self.hash, self.elements, count),
            None => self.hash,
        }
    }

    /// The only basic type of the sequence, if there is exactly one kind.
    pub fn homogeneous(&self) -> Option<Basic> {
        match self.form {
            Form::Run(basic) => Some(basic),
            _ => None,
        }
    }

    /// What another process needs to compare it; `None` of an empty one.
    pub fn summary(&self) -> Option<Summary> {
        let mut first = None;
        self.for_each_run(&mut |basic, _| {
            first = Some(basic);
            false
        });
        let is_bytes = |basic: Basic| u64::from(basic.kind() == Kind::Bytes);
        Some(Summary {
            hash: self.hash,
            elements: self.elements,
            first: first?,
            is_uniform: self.homogeneous().is_some(),
            has_bytes: self.weighted_sum(&is_bytes) != Some(0),
        })
    }

    /// Calls `f` with each stretch of equal basic types in order, until it returns false. Neighbouring stretches may
    /// be of the same type. Returns false if `f` did.
    pub fn for_each_run(&self, f: &mut dyn FnMut(Basic, u64) -> bool) -> bool {
        match &self.form {
            Form::Empty => true,
            Form::Run(basic) => f(*basic, self.elements),
            Form::Repeat { count, body } => (0..*count).all(|_| body.for_each_run(f)),
            Form::Seq(parts) => parts.iter().all(|part| part.for_each_run(f)),
        }
    }

    /// Sum of `f` over all elements, visiting each distinct part once; `None` on overflow.
    pub(crate) fn weighted_sum(&self, f: &dyn Fn(Basic) -> u64) -> Option<u64> {
        match &self.form {
            Form::Empty => Some(0),
            Form::Run(basic) => f(*basic).checked_mul(self.elements),
            Form::Repeat { count, body } => body.weighted_sum(f)?.checked_mul(*count),
            Form::Seq(parts) => {
                parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.weighted_sum(f)?))
            }
        }
    }

    /// Number of basic types in the first `bytes` bytes of this sequence repeated without end; `None` if the last
    /// one is cut in two, or the sequence is empty and `bytes` is not zero (`MPI_Get_elements`, section 5.1.11).
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        let whole = bytes.checked_div(self.bytes)?;
        let rest = bytes % self.bytes;
        Some(whole.checked_mul(self.elements)? + self.elements_in_part(rest)?)
    }

    /// As `elements_in`, for fewer bytes than one sequence has.
    fn elements_in_part(&self, bytes: u64) -> Option<u64> {
        match &self.form {
            _ if bytes == 0 => Some(0),
            Form::Empty => None,
            Form::Run(basic) => bytes.is_multiple_of(basic.size()).then(|| bytes / basic.size()),
            Form::Repeat { body, .. } => body.elements_in(bytes),
            Form::Seq(parts) => {
                let (mut left, mut elements) = (bytes, 0);
                for part in parts.iter() {
                    if left < part.bytes {
                        return Some(elements + part.elements_in_part(left)?);
                    }
                    left -= part.bytes;
                    elements += part.elements;
                }
                Some(elements)
            }
        }
    }

    /// Bytes of the first `elements` basic types of this sequence repeated without end: the inverse of
    /// [`Signature::elements_in`], for `MPI_Status_set_elements`. `None` on overflow, or when the sequence is empty
    /// and `elements` is not zero.
    pub fn bytes_of(&self, elements: u64) -> Option<u64> {
        if elements == 0 {
            return Some(0);
        }
        let whole = elements.checked_div(self.elements)?;
        let rest = elements % self.elements;
        whole.checked_mul(self.bytes)?.checked_add(self.bytes_of_part(rest)?)
    }

    fn bytes_of_part(&self, elements: u64) -> Option<u64> {
        match &self.form {
            _ if elements == 0 => Some(0),
            Form::Empty => None,
            Form::Run(basic) => elements.checked_mul(basic.size()),
            Form::Repeat { body, .. } => body.bytes_of(elements),
            Form::Seq(parts) => {
                let (mut left, mut bytes) = (elements, 0);
                for part in parts.iter() {
                    if left < part.elements {
                        return Some(bytes + part.bytes_of_part(left)?);
                    }
                    left -= part.elements;
                    bytes += part.bytes;
                }
                Some(bytes)
            }
        }
    }
}

/// Appends `part`, merging it into the last stretch where both are of one basic type.
fn append(flat: &mut Vec<Signature>, part: &Signature) -> Result<()> {
    match (flat.last_mut(), &part.form) {
        (_, Form::Empty) => {}
        (Some(last), Form::Run(basic)) if last.homogeneous() == Some(*basic) => {
            *last = Signature::run(*basic, last.elements.checked_add(part.elements).ok_or(OVERFLOW)?)?;
        }
        _ => flat.push(part.clone()),
    }
    Ok(())
}

/// Hash of a sequence `c1 c2 … cn`: the polynomial `c1 B^(n-1) + … + cn` modulo the prime 2^61 - 1.
mod hash {
    const PRIME: u64 = (1 << 61) - 1;
    /// An arbitrary base; equal in all processes, since hashes travel in messages.
    const BASE: u64 = 0x0e9a_51b7_8d3c_46f5;

    fn add(a: u64, b: u64) -> u64 {
        (a + b) % PRIME
    }

    fn mul(a: u64, b: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
    }

    fn power(mut base: u64, mut exponent: u64) -> u64 {
        let mut result = 1;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = mul(result, base);
            }
            base = mul(base, base);
            exponent >>= 1;
        }
        result
    }

    /// Hash of a sequence followed by one of `elements` elements with hash `next`.
    pub fn append(hash: u64, next: u64, elements: u64) -> u64 {
        add(mul(hash, power(BASE, elements)), next)
    }

    /// Hash of `count` copies of a sequence, in O(log count): double the copies, append one where the bit is set.
    pub fn repeat(hash: u64, elements: u64, count: u64) -> u64 {
        let shift = power(BASE, elements);
        let (mut result, mut factor) = (0, 1);
        for bit in (0..64 - count.leading_zeros()).rev() {
            result = add(mul(result, factor), result);
            factor = mul(factor, factor);
            if count >> bit & 1 == 1 {
                result = add(mul(result, shift), hash);
                factor = mul(factor, shift);
            }
        }
        result
    }
}
