//! The Fortran side of a row: its procedures and their dummy arguments (MPI-5.0 chapter 19).

use crate::model::*;

/// A procedure of the Fortran interfaces.
#[derive(Clone, Copy, Debug)]
pub struct Procedure<'a> {
    /// The function behind it.
    pub entry: Entry<'a>,
}

/// What a dummy argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form<'a> {
    /// A buffer of any type and rank; the library writes to it or not.
    Choice { written: bool },
    /// An integer.
    Integer(Width),
    /// `double precision`
    Double,
    /// `logical`
    Logical,
    /// A handle: this type's name in the ABI, without `MPI_`.
    Handle(&'static str),
    /// A status.
    Status,
    /// Text that goes in.
    TextIn,
    /// Text that comes out.
    TextOut,
    /// The address of memory.
    Pointer,
    /// A procedure of the program with this abstract interface, without `MPI_`.
    Procedure(&'a str),
}

/// Kinds of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// The default one, which is C's `int`.
    Default,
    /// `MPI_ADDRESS_KIND`
    Address,
    /// `MPI_COUNT_KIND`
    Count,
    /// `MPI_OFFSET_KIND`
    Offset,
}

impl Width {
    /// Bytes of such an integer.
    pub fn bytes(self) -> u32 {
        if self == Width::Default { 4 } else { 8 }
    }
}

/// A dummy argument.
#[derive(Clone, Copy, Debug)]
pub struct Dummy<'a> {
    /// The C argument behind it.
    pub argument: &'a Argument,
    /// What it is.
    pub form: Form<'a>,
}

/// All procedures, in the order of the table.
pub fn procedures(table: &Table) -> impl Iterator<Item = Procedure<'_>> {
    table
        .entries()
        .filter(|entry| !entry.function.is_tool() && !entry.function.c_only)
        .map(|entry| Procedure { entry })
}

impl<'a> Procedure<'a> {
    /// The name without `MPI_`, as in C.
    pub fn name(&self) -> String {
        self.entry.name()
    }

    /// The name under which programs call it, without `MPI_`: counts of either size have one name, unless a procedure of
    /// the program differs, by which no compiler distinguishes the two.
    pub fn generic(&self) -> String {
        let name = self.name();
        match name.strip_suffix("_c") {
            Some(short) if !self.has_procedure() => short.to_string(),
            _ => name,
        }
    }

    /// Whether it has large counts: only `mpi_f08` has such procedures.
    pub fn is_large(&self) -> bool {
        self.name().ends_with("_c")
    }

    /// Whether the program hands it a procedure.
    fn has_procedure(&self) -> bool {
        self.dummies().iter().any(|dummy| matches!(dummy.form, Form::Procedure(_)))
    }

    /// Whether `mpif.h` and the module `mpi` have it: they have no large counts, unless by a name of its own.
    pub fn in_older(&self) -> bool {
        !self.is_large() || self.has_procedure()
    }

    /// Whether the module `mpi` has it with a C pointer, too.
    pub fn has_pointer(&self) -> bool {
        self.dummies().iter().any(|dummy| dummy.form == Form::Pointer && !dummy.argument.is(Mark::Detached))
    }

    /// Whether `mpi_f08` has it, which left out what was deprecated before it (MPI-5.0 chapter 16).
    pub fn in_f08(&self, table: &Table) -> bool {
        table.chapters[self.entry.function.chapter].number != 16
    }

    /// The dummy arguments, without `ierror`.
    pub fn dummies(&self) -> Vec<Dummy<'a>> {
        let function = self.entry.function;
        let shown = |argument: &&Argument| {
            !argument.is(Mark::COnly) && !matches!(argument.word(), "mainargc" | "mainargv")
        };
        let dummy = |argument: &'a Argument| Dummy { argument, form: form(argument, self.entry.wide) };
        function.arguments.iter().filter(shown).map(dummy).collect()
    }

    /// Whether an error code comes back in a last argument.
    pub fn has_ierror(&self) -> bool {
        self.entry.function.returns.is_none() && !self.entry.function.variadic
    }

    /// What the procedure returns, if it is a function.
    pub fn returns(&self) -> Option<Form<'a>> {
        let kind = self.entry.function.returns?;
        Some(if kind.word == "double" { Form::Double } else { Form::Integer(Width::Address) })
    }

    /// Whether it has buffers of any type.
    pub fn has_choice(&self) -> bool {
        self.dummies().iter().any(|dummy| matches!(dummy.form, Form::Choice { .. }))
    }

    /// Whether its buffers are the library's after the return.
    pub fn keeps_buffers(&self) -> bool {
        let new = |argument: &Argument| argument.word() == "request" && argument.direction == Direction::Out;
        self.entry.function.keeps || self.entry.function.arguments.iter().any(new)
    }

    /// By what the compiler distinguishes two procedures of one name.
    pub fn signature(&self) -> Vec<String> {
        let tell = |dummy: &Dummy<'_>| match dummy.form {
            Form::Integer(width) => format!("integer {}", width.bytes()),
            form => format!("{form:?}"),
        };
        self.dummies().iter().map(tell).collect()
    }
}

impl Dummy<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.argument.name
    }

    /// Whether it has several elements.
    pub fn is_array(&self) -> bool {
        matches!(self.argument.shape, Shape::Array(_)) || self.argument.word() == "argv"
    }

    /// Whether a request reads and writes it after the return.
    pub fn is_kept(&self) -> bool {
        self.argument.is(Mark::Kept)
    }

    /// Its bounds, as Fortran declares them.
    pub fn bounds(&self) -> &'static str {
        match (self.argument.word(), self.is_array()) {
            ("range", _) => "(3, *)",
            ("argv", _) if matches!(self.argument.shape, Shape::Array(_)) => "(count, *)",
            (_, true) => "(*)",
            _ => "",
        }
    }

    /// Whether an object with a meaning of its own may stand here, which no intent allows.
    fn may_be_special(&self) -> bool {
        matches!(self.form, Form::Choice { .. } | Form::Status)
            || self.argument.word() == "weights"
            || self.is_array() && self.argument.optional
    }

    /// Which side writes it, where Fortran declares that.
    pub fn intent(&self) -> Option<&'static str> {
        match self.form {
            Form::Procedure(_) => None,
            Form::Choice { written } => (!written).then_some("in"),
            _ => match self.argument.direction {
                Direction::In => Some("in"),
                _ if self.may_be_special() => None,
                Direction::Out => Some("out"),
                Direction::InOut => Some("inout"),
            },
        }
    }
}

/// The handle types, as Fortran calls them.
pub const HANDLES: [&str; 11] =
    ["Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win"];

fn form(argument: &Argument, wide: bool) -> Form<'_> {
    let kind = match &argument.what {
        What::Callback(callback) => return Form::Procedure(callback),
        What::Kind(kind) => kind,
    };
    if argument.is(Mark::Logical) {
        return Form::Logical;
    }
    if argument.is(Mark::Short) {
        return Form::Integer(Width::Default);
    }
    if let Some(handle) = kind.c.strip_prefix("MPI_").and_then(handle) {
        return Form::Handle(handle);
    }
    let input = argument.direction == Direction::In;
    match kind.word {
        "buf" => Form::Choice { written: true },
        "cbuf" => Form::Choice { written: false },
        "ptr" if argument.is(Mark::State) || argument.is(Mark::Attribute) => Form::Integer(Width::Address),
        "ptr" => Form::Pointer,
        "status" => Form::Status,
        "str" | "chars" | "text" | "argv" if input => Form::TextIn,
        "str" | "chars" | "text" | "argv" => Form::TextOut,
        "double" => Form::Double,
        _ => Form::Integer(width(if wide { kind.wide_c } else { kind.c })),
    }
}

fn handle(name: &str) -> Option<&'static str> {
    HANDLES.iter().copied().find(|handle| *handle == name)
}

fn width(c: &str) -> Width {
    match c {
        "MPI_Aint" => Width::Address,
        "MPI_Count" => Width::Count,
        "MPI_Offset" => Width::Offset,
        _ => Width::Default,
    }
}
