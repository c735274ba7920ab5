//! MPI's functions as data.

use crate::real::Real;

/// A function that is wrapped.
pub struct Function {
    /// Its name with `MPI_`.
    pub name: &'static str,
    /// `PMPI_` of the same name.
    pub real: Real,
    /// The chapter of MPI-5.0 that describes it.
    pub chapter: u32,
    /// Whether it may be called before initialization, after finalization and by any thread.
    pub anytime: bool,
    /// Whether it is a large-count twin, whose counts have 64 bits.
    pub wide: bool,
    /// Its arguments in order.
    pub arguments: &'static [Argument],
}

/// An argument.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name in C.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Which side writes it.
    pub direction: Direction,
    /// One value or several.
    pub shape: Shape,
}

/// What an argument is: the words of the function table that matter to tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the MPI type of its name")]
pub enum Kind {
    Int,
    /// An `int`, or `MPI_Count` in a large-count twin.
    Count,
    /// An `int`, or `MPI_Aint` in a large-count twin.
    Displ,
    /// An `MPI_Aint`, or `MPI_Count` in a large-count twin.
    Bytes,
    /// `MPI_Count`.
    Large,
    Aint,
    Offset,
    Comm,
    Group,
    Datatype,
    Request,
    Op,
    Win,
    File,
    Info,
    Errhandler,
    Session,
    Message,
    Status,
    /// Memory that the library may write.
    Buffer,
    /// Memory that the library only reads.
    ConstBuffer,
    /// Text, functions, pointers.
    Other,
}

/// Which side writes an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The caller.
    In,
    /// The library.
    Out,
    /// The caller, and then the library.
    InOut,
}

/// One value or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value.
    One,
    /// As many as the argument with this place has.
    Array(usize),
    /// As many as the library knows: the size of a communicator, say.
    Known,
    /// Text that the library writes.
    Text,
}

impl Function {
    /// The place of the argument called `name`.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.arguments.iter().position(|argument| argument.name == name)
    }

    /// The name without `MPI_` and without `_c`.
    pub fn base(&self) -> &'static str {
        let name = &self.name["MPI_".len()..];
        if self.wide { name.strip_suffix("_c").unwrap_or(name) } else { name }
    }
}

impl Argument {
    /// Whether the argument itself crosses, and not a pointer to it.
    pub fn is_value(&self) -> bool {
        self.shape == Shape::One && self.direction == Direction::In && self.kind != Kind::Status
    }
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
