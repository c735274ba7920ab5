//! How a datatype was constructed: the envelope and the contents (MPI-5.0 section 5.1.13).

use crate::compact::Ints;
use crate::datatype::Datatype;
use abi::{Error, Result};
use std::sync::Arc;

/// Whether a type was made by a classic call (`int` counts) or by its large-count twin (`MPI_Count`).
///
/// It decides only where the arguments appear in the contents: the twins report every count and displacement as a
/// large count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `MPI_Type_vector` and its like.
    Classic,
    /// `MPI_Type_vector_c` and its like.
    Large,
}

/// How many arguments of each kind the constructor had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// One of the `MPI_COMBINER_*` constants.
    pub combiner: i32,
    /// Number of `int` arguments.
    pub integers: usize,
    /// Number of `MPI_Aint` arguments.
    pub addresses: usize,
    /// Number of `MPI_Count` arguments. If it is not zero, the classic calls of the envelope and the contents raise
    /// `MPI_ERR_TYPE`.
    pub large_counts: usize,
    /// Number of datatype arguments.
    pub datatypes: usize,
}

/// The constructor's arguments, in the order that `MPI_Type_get_contents_c` returns them.
#[derive(Clone, Debug)]
pub struct Contents {
    /// One of the `MPI_COMBINER_*` constants.
    pub combiner: i32,
    /// Array of integers.
    pub integers: Box<[i32]>,
    /// Array of addresses.
    pub addresses: Box<[i64]>,
    /// Array of large counts.
    pub large_counts: Box<[i64]>,
    /// Array of datatypes.
    pub datatypes: Box<[Arc<Datatype>]>,
    pub(crate) named: Option<abi::Datatype>,
}

impl Contents {
    pub(crate) fn named(handle: abi::Datatype) -> Contents {
        Contents { named: Some(handle), ..Contents::of(abi::COMBINER_NAMED, Form::Classic).done() }
    }

    /// Starts the record of a constructor call.
    pub(crate) fn of(combiner: i32, form: Form) -> Recorder {
        Recorder {
            combiner,
            form,
            integers: vec![],
            addresses: vec![],
            large_counts: vec![],
            datatypes: vec![],
        }
    }

    pub(crate) fn envelope(&self) -> Envelope {
        Envelope {
            combiner: self.combiner,
            integers: self.integers.len(),
            addresses: self.addresses.len(),
            large_counts: self.large_counts.len(),
            datatypes: self.datatypes.len(),
        }
    }
}

/// Collects a constructor's arguments in the order of the call.
pub(crate) struct Recorder {
    combiner: i32,
    form: Form,
    integers: Vec<i32>,
    addresses: Vec<i64>,
    large_counts: Vec<i64>,
    datatypes: Vec<Arc<Datatype>>,
}

impl Recorder {
    /// An argument that is `int` in both forms of the call.
    pub(crate) fn int(mut self, value: i32) -> Recorder {
        self.integers.push(value);
        self
    }

    /// An array of arguments that are `int` in both forms of the call.
    pub(crate) fn ints(mut self, values: &[i32]) -> Recorder {
        self.integers.extend_from_slice(values);
        self
    }

    /// An argument that is `int` in the classic call.
    pub(crate) fn count(self, value: i64) -> Result<Recorder> {
        self.counts(Ints::Large(&[value]))
    }

    /// An array of arguments that are `int` in the classic call.
    pub(crate) fn counts(mut self, values: Ints<'_>) -> Result<Recorder> {
        match (self.form, values) {
            (Form::Classic, Ints::Int(values)) => self.integers.extend_from_slice(values),
            (Form::Classic, Ints::Large(values)) => {
                self.integers.reserve_exact(values.len());
                for &value in values {
                    self.integers.push(i32::try_from(value).map_err(|_| WIDE)?);
                }
            }
            (Form::Large, values) => self.large_counts.extend(values.iter()),
        }
        Ok(self)
    }

    /// An argument that is `MPI_Aint` in the classic call.
    pub(crate) fn address(self, value: i64) -> Recorder {
        self.addresses(Ints::Large(&[value]))
    }

    /// An array of arguments that are `MPI_Aint` in the classic call.
    pub(crate) fn addresses(mut self, values: Ints<'_>) -> Recorder {
        match self.form {
            Form::Classic => self.addresses.extend(values.iter()),
            Form::Large => self.large_counts.extend(values.iter()),
        }
        self
    }

    pub(crate) fn datatype(mut self, old: &Arc<Datatype>) -> Recorder {
        self.datatypes.push(old.clone());
        self
    }

    pub(crate) fn datatypes(mut self, old: &[Arc<Datatype>]) -> Recorder {
        self.datatypes.extend_from_slice(old);
        self
    }

    pub(crate) fn done(self) -> Contents {
        Contents {
            combiner: self.combiner,
            integers: self.integers.into(),
            addresses: self.addresses.into(),
            large_counts: self.large_counts.into(),
            datatypes: self.datatypes.into(),
            named: None,
        }
    }
}

const WIDE: Error =
    Error::new(abi::ERR_ARG, "an argument of a classic datatype constructor exceeds the range of int");
