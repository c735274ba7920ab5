//! A row of the table, as data.

use crate::Kind;

/// All rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// What the names of all functions begin with: `MPI_` or `MPIX_`.
    pub prefix: &'static str,
    /// The chapters in the order of the standard.
    pub chapters: Vec<Chapter>,
    /// One element per row, in the order of the files.
    pub functions: Vec<Function>,
    /// Types of user functions.
    pub callbacks: Vec<Callback>,
}

/// A chapter of the MPI standard that describes functions.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// Its number in MPI-5.0.
    pub number: u32,
    /// Its title.
    pub title: String,
}

/// One row: a function and, where a kind widens, its large-count twin.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name without `MPI_`.
    pub name: String,
    /// The arguments in order.
    pub arguments: Vec<Argument>,
    /// Whether `...` follows the arguments (`MPI_Pcontrol` only).
    pub variadic: bool,
    /// The kind returned instead of an error code.
    pub returns: Option<&'static Kind>,
    /// Callable before initialization and after finalization.
    pub anytime: bool,
    /// Deprecated by the standard.
    pub deprecated: bool,
    /// Errors are raised on `MPI_FILE_NULL` although no argument is a file.
    pub on_file: bool,
    /// C alone has the function.
    pub c_only: bool,
    /// It has no large-count twin, although a kind widens.
    pub narrow: bool,
    /// Buffers stay the library's after the return, although no request comes back.
    pub keeps: bool,
    /// The fast path: a function of a crate of `mpi` that is tried first, takes all arguments and no token, and
    /// returns whether it did everything.
    pub fast: Option<String>,
    /// The second fast path: the same for what the first one leaves, before the long way is taken.
    pub second: Option<String>,
    /// The function that does the work.
    pub target: Target,
    /// Index into [`Table::chapters`].
    pub chapter: usize,
}

/// The function of a crate of `mpi` behind a row.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its path, with the crate first.
    pub path: String,
    /// Expressions given before the arguments not named in them; `-name` only leaves the argument out.
    pub leading: Vec<String>,
    /// Whether the arguments not named in the expressions follow.
    pub rest: bool,
}

/// One argument of a row.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its C name.
    pub name: String,
    /// Which side writes it.
    pub direction: Direction,
    /// Whether the caller may pass NULL.
    pub optional: bool,
    /// What it is; for a callback, the name of its type.
    pub what: What,
    /// One value, an array or text.
    pub shape: Shape,
    /// What C's type does not say; C's entry points read [`Mark::Attribute`], [`Mark::AtRoot`] and [`Mark::Kept`] alone.
    pub marks: Vec<Mark>,
}

/// What C's type does not express of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A truth value.
    Logical,
    /// A position in an array, which Fortran counts from 1.
    Index,
    /// C alone has the argument.
    COnly,
    /// Text without its leading blanks.
    Trimmed,
    /// A word that the library hands to the program's functions.
    State,
    /// The value of an attribute.
    Attribute,
    /// Such a word as long as a default integer, as MPI-1 had it.
    Short,
    /// The address of a buffer that goes back to the program.
    Detached,
    /// It counts at the root alone; elsewhere it may be anything and is not read.
    AtRoot,
    /// A request reads and writes it after the return.
    Kept,
    /// How many elements an array has whose length only the library knows.
    Per(Per),
}

/// What an array has an element for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Each process that a collective call exchanges data with.
    Peer,
    /// Each neighbour that data goes to.
    Destination,
    /// Each neighbour that data comes from.
    Source,
    /// Each dimension of a Cartesian topology.
    Dimension,
    /// Each command of `MPI_Comm_spawn_multiple`.
    Command,
}

/// A kind of the table of kinds, or a user function.
#[derive(Clone, Debug)]
pub enum What {
    /// A value.
    Kind(&'static Kind),
    /// A user function of this type, without `MPI_`.
    Callback(String),
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

/// Whether an argument is one value, several or text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value.
    One,
    /// Several values.
    Array(Length),
    /// Output text of at most this many bytes with its terminating NUL: a constant of the ABI, an argument, or an
    /// argument plus one.
    Bounded(String),
}

/// Length of an array argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Length {
    /// The value of another argument.
    Argument(String),
    /// Known to the library only.
    Known,
}

/// The object on which a row's errors are raised (MPI-5.0 section 9.3).
#[derive(Clone, Copy, Debug)]
pub enum OnObject<'a> {
    /// The first communicator, window, file or session that goes in.
    Argument(&'a Argument),
    /// `MPI_FILE_NULL`.
    FileNull,
    /// `MPI_COMM_SELF`.
    CommSelf,
    /// Nothing: the tool interface returns its codes.
    Nothing,
}

/// The type of a user function.
#[derive(Clone, Debug)]
pub struct Callback {
    /// Name without `MPI_`.
    pub name: String,
    /// C result type.
    pub returns: String,
    /// C parameters, as written between the parentheses.
    pub parameters: String,
}

/// One function of the ABI: a row, or the large-count twin that it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The row.
    pub function: &'a Function,
    /// Whether this is the twin.
    pub wide: bool,
}

impl Table {
    /// Every function of the ABI in table order, a twin after its row.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.functions.iter().flat_map(Function::entries)
    }
}

impl Function {
    /// Whether the row stands for a large-count twin too.
    pub fn has_twin(&self) -> bool {
        !self.narrow && self.arguments.iter().any(Argument::widens)
    }

    /// The row's functions: one, or two with the twin.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let twin = self.has_twin().then_some(Entry { function: self, wide: true });
        core::iter::once(Entry { function: self, wide: false }).chain(twin)
    }

    /// Whether the function belongs to the tool interface, which never raises errors.
    pub fn is_tool(&self) -> bool {
        self.name.starts_with("T_")
    }

    /// Whether the function is a collective with buffers.
    pub fn is_collective(&self) -> bool {
        self.target.path.starts_with("collectives::")
    }

    /// Where an error of this function goes.
    pub fn on(&self) -> OnObject<'_> {
        const RAISING: [&str; 4] = ["comm", "win", "file", "session"];
        if self.is_tool() {
            return OnObject::Nothing;
        }
        if self.on_file {
            return OnObject::FileNull;
        }
        let raises = |argument: &&Argument| {
            argument.shape == Shape::One
                && argument.direction != Direction::Out
                && RAISING.contains(&argument.word())
        };
        self.arguments.iter().find(raises).map_or(OnObject::CommSelf, OnObject::Argument)
    }

    /// Whether `argument` is only the length of arrays that reach the target as slices, and so know it.
    pub fn is_length(&self, argument: &Argument) -> bool {
        let length = Shape::Array(Length::Argument(argument.name.clone()));
        self.arguments.iter().any(|other| other.shape == length && !matches!(other.word(), "str" | "weights"))
    }

    /// The argument called `name`.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

impl Argument {
    /// Its name in Rust: `assert`, `bind` and the like are fine, words that Rust reserves get an underscore.
    pub fn rust_name(&self) -> String {
        match self.name.as_str() {
            word @ ("type" | "ref" | "in" | "fn" | "mod" | "move") => format!("{word}_"),
            word => word.to_string(),
        }
    }

    /// The word of the kind; `fn` for a callback.
    pub fn word(&self) -> &str {
        match &self.what {
            What::Kind(kind) => kind.word,
            What::Callback(_) => "fn",
        }
    }

    /// Whether it is an `int` in C that counts nothing, see [`Kind::is_int`].
    pub fn is_int(&self) -> bool {
        matches!(&self.what, What::Kind(kind) if kind.is_int())
    }

    /// Whether the row marks it so.
    pub fn is(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    fn widens(&self) -> bool {
        matches!(&self.what, What::Kind(kind) if kind.widens())
    }
}

impl Entry<'_> {
    /// The name without `MPI_`.
    pub fn name(&self) -> String {
        format!("{}{}", self.function.name, if self.wide { "_c" } else { "" })
    }
}
