//! One argument: how it comes from Fortran, what C gets, what goes back.

use function_table::fortran::{Form, Procedure, Width};
use function_table::{Argument, Direction, Length, Mark, Per, Shape};

/// How buffers come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Buffers {
    /// As an address: `mpif.h` and the module `mpi`.
    Address,
    /// As a descriptor: the module `mpi_f08`.
    Descriptor,
}

/// An argument in Rust.
#[derive(Default)]
pub struct Passed {
    /// The type in which it comes from Fortran.
    pub comes: &'static str,
    /// Statements before the call.
    pub before: String,
    /// What C gets.
    pub value: String,
    /// Statements after the call.
    pub after: String,
}

/// The type in which C gets an argument.
pub fn c_type(argument: &Argument, wide: bool) -> &'static str {
    if argument.shape != Shape::One || argument.direction != Direction::In {
        return "P";
    }
    let function_table::What::Kind(kind) = &argument.what else { return "P" };
    match if wide { kind.wide_c } else { kind.c } {
        "int" => "i32",
        "MPI_Aint" | "MPI_Count" | "MPI_Offset" => "i64",
        _ if kind.word == "status" => "P",
        handle if handle.starts_with("MPI_") => "usize",
        _ => "P",
    }
}

/// Converts an argument that Fortran has too.
pub fn passed(procedure: &Procedure<'_>, argument: &Argument, form: Form<'_>, buffers: Buffers) -> Passed {
    let n = argument.rust_name();
    let mut it = match (form, &argument.shape) {
        (Form::Choice { written }, _) => choice(procedure, argument, written, buffers),
        (Form::Procedure(kind), _) => {
            Passed { comes: "P", value: user_function(&n, kind), ..Passed::default() }
        }
        (Form::TextIn, _) => text_in(argument, &n),
        (Form::TextOut, _) => text_out(argument, &n),
        (Form::Status, Shape::One) if argument.direction == Direction::In => same(&n),
        (Form::Status, Shape::One) => value(format!("sentinel::status({n})")),
        (Form::Status, _) => value(format!("sentinel::statuses({n})")),
        (Form::Pointer, _) if argument.is(Mark::Detached) => detached(&n, buffers),
        (Form::Pointer, _) => same(&n),
        (Form::Integer(_), _) if argument.is(Mark::State) => value(state(procedure, &n)),
        (Form::Integer(_), _) if argument.is(Mark::Attribute) => attribute(procedure, argument, &n),
        (Form::Integer(_), Shape::One) if bounds_text(procedure, argument) => {
            value(format!("text::room(*{n}) - 1"))
        }
        (Form::Integer(_), Shape::One) if argument.direction == Direction::In => {
            value(match argument.word() {
                "keyval" => format!("library::key(*{n})"),
                _ => format!("*{n}"),
            })
        }
        (Form::Integer(_), _) => integers(procedure, argument, &n),
        (Form::Logical | Form::Handle(_), Shape::One) => one(argument, form, &n),
        (Form::Logical | Form::Handle(_), _) => several(procedure, argument, form, &n, buffers),
        (Form::Double, _) => value(format!("*{n}")),
    };
    it.comes = comes(form);
    it
}

fn comes(form: Form<'_>) -> &'static str {
    match form {
        Form::Integer(Width::Default) | Form::Logical | Form::Handle(_) => "*mut i32",
        Form::Integer(_) => "*mut i64",
        Form::TextIn | Form::TextOut => "*mut u8",
        Form::Double => "*mut f64",
        _ => "P",
    }
}

fn value(value: String) -> Passed {
    Passed { value, ..Passed::default() }
}

fn same(n: &str) -> Passed {
    value(format!("{n} as P"))
}

/// Integers by address: those with a meaning of their own are numbers in C.
fn integers(procedure: &Procedure<'_>, argument: &Argument, n: &str) -> Passed {
    let mut it = same(n);
    if argument.word() == "weights" {
        it.value = format!("sentinel::weights({n} as P)");
    } else if argument.optional && argument.shape != Shape::One {
        it.value = format!("sentinel::error_codes({n} as P)");
    } else if argument.word() == "textlen" {
        // Fortran does not count the NUL; without room the text is left alone.
        it.before = format!(
            "let {n}_room = text::room(*{n}); let mut {n}_c = if *{n} == 0 {{ 0 }} else {{ {n}_room }};"
        );
        it.value = format!("&raw mut {n}_c as P");
        it.after = format!("if code == 0 && {n}_c != {n}_room {{ *{n} = ({n}_c - 1).max(0); }}");
    } else if argument.is(Mark::Index) && argument.shape == Shape::One {
        it.before = format!("let mut {n}_c = logical::UNSET;");
        it.value = format!("&raw mut {n}_c as P");
        it.after = format!("index::give({n}, {n}_c);");
    } else if argument.is(Mark::Index) {
        // Positions come with an error in a status, too: what C has written tells which there are.
        let length = length(procedure, argument, Buffers::Address);
        it.before = format!("let mut {n}_c = logical::unset({n}, {length});");
        it.value = format!("{n}_c.as_mut_ptr() as P");
        it.after = format!("index::give_list({n}, &{n}_c);");
    }
    it
}

fn one(argument: &Argument, form: Form<'_>, n: &str) -> Passed {
    let logical = form == Form::Logical;
    if argument.direction == Direction::In {
        return value(if logical { format!("logical::of(*{n})") } else { of_handle(form, n) });
    }
    let (start, give) = match logical {
        true => ("logical::UNSET".to_string(), format!("logical::give({n}, {n}_c);")),
        false => {
            let out = argument.direction == Direction::Out;
            let start = if out { format!("handle::before(*{n})") } else { of_handle(form, n) };
            (start, format!("handle::give({}, {n}, {n}_c);", kind_of(form)))
        }
    };
    Passed {
        before: format!("let mut {n}_c = {start};"),
        value: format!("&raw mut {n}_c as P"),
        after: give,
        ..Passed::default()
    }
}

/// The type of a handle, in the library.
fn kind_of(form: Form<'_>) -> String {
    let Form::Handle(handle) = form else { panic!("no handle") };
    format!("Kind::{handle}")
}

fn of_handle(form: Form<'_>, n: &str) -> String {
    format!("handle::of({}, *{n})", kind_of(form))
}

fn several(
    procedure: &Procedure<'_>,
    argument: &Argument,
    form: Form<'_>,
    n: &str,
    buffers: Buffers,
) -> Passed {
    let module = if form == Form::Logical { "logical" } else { "handle" };
    let kind = if form == Form::Logical { String::new() } else { format!("{}, ", kind_of(form)) };
    let length = length(procedure, argument, buffers);
    let fill = match (argument.direction, form) {
        (Direction::Out, Form::Logical) => "unset",
        (Direction::Out, _) => "places",
        _ => "list",
    };
    let after = match argument.direction {
        Direction::In => String::new(),
        _ => format!("{module}::give_list({kind}{n}, &{n}_c);"),
    };
    Passed {
        before: format!("let mut {n}_c = {module}::{fill}({kind}{n}, {length});"),
        value: format!("{n}_c.as_mut_ptr() as P"),
        after,
        ..Passed::default()
    }
}

/// How many elements an array has.
fn length(procedure: &Procedure<'_>, argument: &Argument, buffers: Buffers) -> String {
    let per =
        argument.marks.iter().find_map(|mark| if let Mark::Per(per) = mark { Some(*per) } else { None });
    let comm = "handle::of(Kind::Comm, *comm)";
    let known = match (&argument.shape, per) {
        (Shape::Array(Length::Argument(length)), _) => return format!("*{length} as i64"),
        (_, Some(Per::Peer)) => format!("length::peers({comm})"),
        (_, Some(Per::Destination)) => format!("length::neighbours({comm}).1"),
        (_, Some(Per::Source)) => format!("length::neighbours({comm}).0"),
        (_, Some(Per::Dimension)) => format!("length::dimensions({comm})"),
        (_, Some(Per::Command)) => format!("length::commands(*count, *root, {comm})"),
        _ => panic!("{}: the table says not how long {} is", procedure.name(), argument.name),
    };
    // Types beside a buffer that is not looked at need not be there.
    let module = if buffers == Buffers::Address { "sentinel" } else { "section" };
    match argument.name.as_str() {
        "sendtypes" => format!("if {module}::is_in_place(sendbuf) {{ 0 }} else {{ {known} }}"),
        _ => known,
    }
}

fn text_in(argument: &Argument, n: &str) -> Passed {
    let several = matches!(argument.shape, Shape::Array(_));
    let make = match (argument.word(), several) {
        ("argv", true) => {
            format!(
                "text::table({n}, {n}_len, *count, length::commands(*count, *root, handle::of(Kind::Comm, *comm)))"
            )
        }
        ("argv", false) => format!("text::until_blank({n}, {n}_len)"),
        (_, true) => format!(
            "text::list({n}, {n}_len, length::commands(*count, *root, handle::of(Kind::Comm, *comm)))"
        ),
        _ if argument.is(Mark::Trimmed) => format!("text::trimmed({n}, {n}_len)"),
        _ => format!("text::input({n}, {n}_len)"),
    };
    let value = if several || argument.word() == "argv" { "address()" } else { "as_ptr() as P" };
    Passed { before: format!("let {n}_c = {make};"), value: format!("{n}_c.{value}"), ..Passed::default() }
}

fn text_out(argument: &Argument, n: &str) -> Passed {
    let Shape::Bounded(bound) = &argument.shape else { panic!("text that comes out is bounded") };
    let capacity = match bound.strip_suffix("+1") {
        Some(length) => format!("text::room(*{length})"),
        None if bound.starts_with("MAX") => format!("library::{bound}"),
        None => format!("text::room(*{bound})"),
    };
    Passed {
        before: format!("let mut {n}_c = text::Output::new({capacity});"),
        value: format!("{n}_c.address()"),
        after: format!("{n}_c.give({n}, {n}_len);"),
        ..Passed::default()
    }
}

/// Whether C fills text up to this length, without its NUL.
fn bounds_text(procedure: &Procedure<'_>, argument: &Argument) -> bool {
    procedure.entry.function.arguments.iter().any(|it| {
        let Shape::Bounded(bound) = &it.shape else { return false };
        bound.strip_suffix("+1") == Some(argument.name.as_str())
    })
}

/// Programs of the older interfaces give a buffer, which cannot take an address.
fn detached(n: &str, buffers: Buffers) -> Passed {
    match buffers {
        Buffers::Descriptor => {
            Passed { after: format!("if code == library::SUCCESS {{ sentinel::detached({n}); }}"), ..same(n) }
        }
        Buffers::Address => Passed {
            before: format!("let mut {n}_c: P = core::ptr::null_mut();"),
            value: format!("&raw mut {n}_c as P"),
            after: format!("let _ = ({n}, {n}_c);"),
            ..Passed::default()
        },
    }
}

fn attribute(procedure: &Procedure<'_>, argument: &Argument, n: &str) -> Passed {
    if argument.direction == Direction::In {
        return Passed {
            before: format!("let {n}_c = i64::from(*{n});"),
            value: format!("attribute::given(&{n}_c)"),
            ..Passed::default()
        };
    }
    let dummies = procedure.dummies();
    let key =
        dummies.iter().map(|it| it.name()).find(|it| it.ends_with("keyval")).expect("an attribute has a key");
    Passed {
        before: format!("let mut {n}_c: P = core::ptr::null_mut();"),
        value: format!("&raw mut {n}_c as P"),
        after: format!("if code == 0 && flag_c == 1 {{ *{n} = attribute::read(*{key}, {n}_c) as _; }}"),
        ..Passed::default()
    }
}

/// The C function for one of the program's: itself where all arguments go by address, else one that calls it.
fn user_function(n: &str, kind: &str) -> String {
    match kind {
        "Copy_function" => format!("callback::copy_short({n})"),
        "Delete_function" => format!("callback::delete_short({n})"),
        _ if kind.ends_with("copy_attr_function") => format!("callback::copy({}, {n})", holder(kind)),
        _ if kind.ends_with("delete_attr_function") => format!("callback::delete({}, {n})", holder(kind)),
        "Grequest_query_function" => format!("callback::query({n})"),
        "Grequest_free_function" => format!("callback::free({n})"),
        "Grequest_cancel_function" => format!("callback::cancel({n})"),
        "Datarep_extent_function" => format!("callback::extent({n})"),
        "Datarep_conversion_function" => format!("callback::{}({n})", conversion(n)),
        "Datarep_conversion_function_c" => format!("callback::{}_large({n})", conversion(n)),
        _ => n.to_string(),
    }
}

/// The objects whose attributes a function is for.
fn holder(kind: &str) -> &'static str {
    match kind.split_once('_') {
        Some(("Type", _)) => "Kind::Datatype",
        Some(("Win", _)) => "Kind::Win",
        _ => "Kind::Comm",
    }
}

fn conversion(n: &str) -> &'static str {
    if n.starts_with("read") { "read" } else { "write" }
}

/// What the C functions of a row get as their state: the program's procedures and the state of the program.
fn state(procedure: &Procedure<'_>, n: &str) -> String {
    let mut functions = Vec::new();
    for dummy in procedure.dummies() {
        if let Form::Procedure(_) = dummy.form {
            functions.push(dummy.argument.rust_name());
        }
    }
    functions.resize(3, "core::ptr::null_mut()".into());
    let once = if procedure.name() == "Grequest_start" { "once" } else { "kept" };
    format!("callback::{once}([{}], i64::from(*{n}))", functions.join(", "))
}

/// How a buffer of a descriptor reaches C.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Copied to memory of its own for the call.
    Copied,
    /// As a datatype: count and datatype follow.
    Typed,
    /// Copied to memory that the call keeps.
    Staged,
    /// It must be in one piece.
    Whole,
    /// Only where it begins matters.
    Start,
}

/// Whether sections given to the call may become copies that it keeps.
pub fn stages(procedure: &Procedure<'_>) -> bool {
    let mut buffers = procedure.dummies().into_iter().filter(|it| matches!(it.form, Form::Choice { .. }));
    buffers.any(|it| section(procedure, it.argument) == Section::Staged)
}

/// What becomes of a section of this argument.
pub fn section(procedure: &Procedure<'_>, argument: &Argument) -> Section {
    if !procedure.keeps_buffers() {
        return Section::Copied;
    }
    let all = &procedure.entry.function.arguments;
    let at = all.iter().position(|it| it.name == argument.name).expect("the row's own");
    let next = |step: usize| all.get(at + step).filter(|it| it.direction == Direction::In);
    let has = |word: &str| all.iter().any(|it| it.word() == word);
    let reduces = has("op") && !has("win");
    let word = |step: usize| next(step).filter(|it| it.shape == Shape::One).map_or("", Argument::word);
    // A collective with two buffers has as many blocks in one of them as there are processes, and a datatype for one block does not
    // say where the next begins. Buffers of a reduction also share count and datatype, and its operation takes no made one.
    let collective = procedure.entry.function.is_collective();
    let blocks = collective && all.iter().filter(|it| matches!(it.word(), "buf" | "cbuf")).count() > 1;
    match (word(1), word(2)) {
        ("count", "datatype") if !reduces && !blocks => Section::Typed,
        _ if collective => Section::Staged,
        _ if next(1).is_some() || word(1) == "buf" => Section::Whole,
        _ => Section::Start,
    }
}

fn choice(procedure: &Procedure<'_>, argument: &Argument, written: bool, buffers: Buffers) -> Passed {
    let n = argument.rust_name();
    let section = section(procedure, argument);
    if buffers == Buffers::Address {
        let function = if section == Section::Whole { "attached" } else { "buffer" };
        return value(format!("sentinel::{function}({n})"));
    }
    let (before, value, after) = match section {
        Section::Copied => {
            let after = if written { format!("{n}_s.put_back();") } else { String::new() };
            (format!("let mut {n}_s = section::Copy::of({n});"), format!("{n}_s.address()"), after)
        }
        Section::Typed => {
            let all = &procedure.entry.function.arguments;
            let at = all.iter().position(|it| it.name == argument.name).expect("the row's own");
            let (count, datatype) = (all[at + 1].rust_name(), all[at + 2].rust_name());
            let lay =
                format!("section::Laid::of({n}, *{count} as i64, handle::of(Kind::Datatype, *{datatype}))");
            (refusing(procedure, &n, &lay), format!("{n}_s.address"), String::new())
        }
        Section::Staged => {
            (refusing(procedure, &n, &format!("staged.add({n}, {written})")), format!("{n}_s"), String::new())
        }
        Section::Whole => {
            (refusing(procedure, &n, &format!("section::whole({n})")), format!("{n}_s"), String::new())
        }
        Section::Start => (String::new(), format!("section::start({n})"), String::new()),
    };
    Passed { before, value, after, ..Passed::default() }
}

/// A section that cannot be passed on is an error of the row's object.
fn refusing(procedure: &Procedure<'_>, n: &str, make: &str) -> String {
    let first = |word: &str| {
        let dummies = procedure.dummies();
        let it = dummies.iter().find(|it| {
            it.argument.word() == word && it.argument.direction == Direction::In && !it.is_array()
        });
        it.map(|it| it.argument.rust_name())
    };
    let on = match (first("comm"), first("win"), first("file")) {
        (Some(comm), ..) => format!("section::On::Comm(*{comm})"),
        (_, Some(win), _) => format!("section::On::Win(*{win})"),
        (.., Some(file)) => format!("section::On::File(*{file})"),
        _ => "section::On::Itself".into(),
    };
    format!("let Some({n}_s) = {make} else {{ return section::refuse({on}, ierror); }};")
}
