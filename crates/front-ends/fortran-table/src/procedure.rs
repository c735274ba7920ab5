//! One procedure: its names and its bodies.
//!
//! `mpi_x_` calls `MPI_X` and `pmpi_x_` calls `PMPI_X`, so that a tool in C sees a call of a Fortran program once, and a tool
//! that has both `mpi_x_` and `MPI_X` sees it in the one that it means.

use dialect_table::Dialect;
use function_table::fortran::{Form, Procedure};
use function_table::{Argument, Direction, Mark, Table};

use crate::argument::{Buffers, Passed, Section, c_type, passed, section, stages};

/// The Rust source of a procedure.
pub fn generate(table: &Table, procedure: Procedure<'_>, dialect: Option<&Dialect>) -> String {
    let lower = procedure.name().to_lowercase();
    let mut text = declarations(&procedure, table.prefix);
    let described = dialect.is_none_or(|dialect| dialect.has_descriptors);
    let own = described && procedure.has_choice() || has_detached(&procedure);
    let twin = format!("P{}", table.prefix);
    for c in [table.prefix, twin.as_str()] {
        let base = c.to_lowercase() + &lower;
        // The older interfaces have no large counts; mpi_f08's procedures stand on these bodies all the same.
        let plain = procedure.in_older();
        if plain {
            text += &body(&procedure, dialect, c, &format!("{base}_"), Buffers::Address);
            text += &names(&base, &format!("{base}_"));
            if procedure.has_pointer() {
                text += &format!("alias! {{ {base}_cptr_ = {base}_ }}\n");
                text += &names(&format!("{base}_cptr"), &format!("{base}_"));
            }
        }
        if !procedure.in_f08(table) || !plain && !described {
            continue;
        }
        let ending = if described && procedure.has_choice() { "f08ts" } else { "f08" };
        let f08 = match dialect {
            // The PMPI names of MPICH's module say PMPIR.
            Some(_) if described && c == "PMPI_" => format!("pmpir_{lower}_{ending}_"),
            _ => format!("{base}_{ending}_"),
        };
        if own || !plain {
            text += &body(&procedure, dialect, c, &f08, Buffers::Descriptor);
        } else {
            text += &format!("alias! {{ {f08} = {base}_ }}\n");
        }
        text += &names(f08.trim_end_matches('_'), &f08);
        // MPICH 4.0 had another name for large counts.
        if let (Some(_), Some(short)) = (dialect, lower.strip_suffix("_c")) {
            let prefix = f08.split(&lower).next().unwrap_or_default();
            text += &format!("alias! {{ {prefix}{short}_{ending}_large_ = {f08} }}\n");
        }
    }
    text
}

fn has_detached(procedure: &Procedure<'_>) -> bool {
    procedure.dummies().iter().any(|it| it.argument.is(Mark::Detached))
}

/// The other names that compilers give to the procedure `base`: two underscores, none, capitals.
pub fn names(base: &str, to: &str) -> String {
    let others = [format!("{base}__"), base.to_string(), base.to_uppercase()];
    others.iter().map(|name| format!("alias! {{ {name} = {to} }}\n")).collect()
}

fn declarations(procedure: &Procedure<'_>, own: &str) -> String {
    let entry = procedure.entry;
    let mut types: Vec<String> =
        entry.function.arguments.iter().map(|it| format!("_: {}", c_type(it, entry.wide))).collect();
    if entry.function.variadic {
        types.push("...".into());
    }
    let returns = returns(procedure);
    let of = procedure.name();
    let one = |prefix: &str| format!("fn {prefix}{of}({}) -> {returns}; ", types.join(", "));
    // A C library may lack what a later version of the standard has; programs that do not call that run over it all the same.
    format!(
        "unsafe extern \"C\" {{ {}{}}}\ncore::arch::global_asm!(\".weak {own}{of}\", \".weak P{own}{of}\");\n",
        one(own),
        one(&format!("P{own}"))
    )
}

fn returns(procedure: &Procedure<'_>) -> &'static str {
    match procedure.returns() {
        Some(Form::Double) => "f64",
        Some(_) => "i64",
        None => "i32",
    }
}

/// A body. Where the C function has a fast path, the usual case has a body of its own: Alhena's C library, and buffers that are memory
/// in one piece.
fn body(
    procedure: &Procedure<'_>,
    dialect: Option<&Dialect>,
    c: &str,
    symbol: &str,
    buffers: Buffers,
) -> String {
    if procedure.entry.function.fast.is_none() || dialect.is_some() {
        return one_body(
            procedure,
            dialect,
            c,
            &format!("#[unsafe(no_mangle)] unsafe extern \"C\" fn {symbol}"),
            buffers,
            "",
        );
    }
    let dummies = procedure.dummies();
    let mut given: Vec<String> = dummies.iter().map(|it| it.argument.rust_name()).collect();
    given.extend(procedure.has_ierror().then(|| "ierror".into()));
    let mut unusual = String::from("!origin::is_kept()");
    let mut bases = String::new();
    for dummy in dummies.iter().filter(|it| matches!(it.form, Form::Choice { .. })) {
        let n = dummy.argument.rust_name();
        if buffers == Buffers::Descriptor {
            unusual += &format!(" || !section::is_plain({n})");
            bases += &format!("let {n} = section::base({n});");
        } else {
            unusual += &format!(" || sentinel::is_special({n})");
        }
    }
    let others = format!("others_{symbol}");
    let first = format!("if {unusual} {{ return {others}({}); }} {bases}", given.join(", "));
    let head = format!("#[unsafe(no_mangle)] unsafe extern \"C\" fn {symbol}");
    let hot = one_body(procedure, dialect, c, &head, Buffers::Address, &first);
    let hot = hot.replace("handle::", "own::").replace("sentinel::buffer", "own::buffer");
    hot + &one_body(
        procedure,
        dialect,
        c,
        &format!("#[cold] #[inline(never)] unsafe extern \"C\" fn {others}"),
        buffers,
        "",
    )
}

/// One body under the head of its function, with statements before all others.
fn one_body(
    procedure: &Procedure<'_>,
    dialect: Option<&Dialect>,
    c: &str,
    head: &str,
    buffers: Buffers,
    first: &str,
) -> String {
    let dummies = procedure.dummies();
    // Where buffers come as descriptors, the compiler calls as C does, and text comes as a descriptor, too.
    let described = buffers == Buffers::Descriptor && procedure.has_choice() && dialect.is_none();
    let mut converted: Vec<(String, Passed)> = dummies
        .iter()
        .map(|it| (it.argument.name.clone(), passed(procedure, it.argument, it.form, buffers)))
        .collect();
    for (dummy, (_, passed)) in dummies.iter().zip(&mut converted) {
        if described && dummy.form == Form::TextIn {
            let n = dummy.argument.rust_name();
            passed.comes = "P";
            passed.before = format!("let ({n}, {n}_len) = section::text({n}); {}", passed.before);
        }
    }
    let mut parameters: Vec<String> = dummies
        .iter()
        .zip(&converted)
        .map(|(it, (_, passed))| format!("{}: {}", it.argument.rust_name(), passed.comes))
        .collect();
    if procedure.has_ierror() {
        parameters.push("ierror: *mut i32".into());
    }
    let text = dummies.iter().filter(|it| !described && matches!(it.form, Form::TextIn | Form::TextOut));
    parameters.extend(text.map(|it| format!("{}_len: usize", it.argument.rust_name())));

    let values: Vec<String> = procedure
        .entry
        .function
        .arguments
        .iter()
        .map(|argument| {
            let found = converted.iter().find(|(name, _)| *name == argument.name);
            let typed = typed_by(procedure, &argument.name, buffers);
            match (found, typed) {
                (_, Some(value)) => value,
                (Some((_, passed)), None) => passed.value.clone(),
                // What C alone has.
                (None, None) if c_type(argument, false) == "i32" => "0".into(),
                (None, None) => "core::ptr::null_mut()".into(),
            }
        })
        .collect();
    // The C library keeps whose the call is, by the place of its answer, of its attribute or of its name.
    let origin = place_of(procedure).map_or(String::new(), |place| {
        let found = converted.iter().find(|(name, _)| *name == place.name);
        let (_, passed) = found.expect("Fortran has the argument");
        let short = procedure.dummies().iter().any(|it| it.argument.is(Mark::Short));
        let table = if short { "SHORT" } else { "FORTRAN" };
        format!("let origin = origin::call({}, &callback::{table});", passed.value)
    });
    let staged = buffers == Buffers::Descriptor && stages(procedure);
    let request = dummies.iter().find(|it| it.argument.word() == "request");
    let before: String = converted.iter().map(|(_, it)| it.before.as_str()).collect();
    let after: String = converted.iter().map(|(_, it)| it.after.as_str()).collect();
    let call = format!("{c}{}({})", procedure.name(), values.join(", "));
    let (work, returns) = match procedure.returns() {
        Some(_) => (call, format!("-> {} ", returns(procedure))),
        None => {
            let end = if procedure.has_ierror() { "give(ierror, code);" } else { "let _ = code;" };
            let (staged, given, ended) = match request {
                Some(request) if staged => (
                    "let mut staged = staged::Buffers::default();",
                    format!("let staged = staged.given(&raw mut {}_c as P);", request.argument.rust_name()),
                    "staged.over(code);",
                ),
                _ => ("", String::new(), ""),
            };
            // Where calls are to be fast, all libraries have them.
            let there = match procedure.has_ierror() && procedure.entry.function.fast.is_none() {
                true => {
                    format!("if address_of!({c}{}).is_null() {{ return missing(ierror); }}", procedure.name())
                }
                false => String::new(),
            };
            let over = if origin.is_empty() { "" } else { "drop(origin);" };
            let work = format!(
                "{there} {staged} {before} {given} {origin} let code = {call}; {over} {ended} {after} {end}"
            );
            (work, String::new())
        }
    };
    format!(
        "// SAFETY: the program's arguments, under MPI's contract.\n\
         {head}({}) {returns}{{ unsafe {{ {first} {work} }} }}\n",
        parameters.join(", ")
    )
}

/// The argument by whose place the C library knows a call that it keeps the origin of.
fn place_of<'a>(procedure: &Procedure<'a>) -> Option<&'a Argument> {
    let all = &procedure.entry.function.arguments;
    let attribute = all.iter().find(|it| it.is(Mark::Attribute));
    let gets_procedures = procedure.dummies().iter().any(|it| matches!(it.form, Form::Procedure(_)));
    let answer = || {
        let answer = all.iter().find(|it| it.direction == Direction::Out);
        answer.or_else(|| all.iter().find(|it| it.word() == "str"))
    };
    attribute.or_else(|| if gets_procedures { answer() } else { None })
}

/// The value of a count or a datatype that belongs to a section which goes as a datatype.
fn typed_by(procedure: &Procedure<'_>, argument: &str, buffers: Buffers) -> Option<String> {
    if buffers == Buffers::Address {
        return None;
    }
    let all = &procedure.entry.function.arguments;
    let at = all.iter().position(|it| it.name == argument)?;
    let owner = |back: usize| {
        let it = all.get(at.checked_sub(back)?)?;
        let choice = matches!(it.word(), "buf" | "cbuf");
        (choice && section(procedure, it) == Section::Typed).then(|| it.rust_name())
    };
    if let Some(buffer) = owner(1) {
        return Some(format!("{buffer}_s.count as _"));
    }
    owner(2).map(|buffer| format!("{buffer}_s.datatype()"))
}
