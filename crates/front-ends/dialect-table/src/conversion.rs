//! Conversions of values: for each kind a module with `of` (the dialect's value as ours) and `to` (ours as the dialect's).

use crate::{Constant, Dialect, Value};

/// Kinds of `int` whose other values mean themselves: a rank, a tag, a key that the program made.
const OPEN: [&str; 4] = ["rank", "tag", "darg", "keyval"];

/// Kinds of `int` that have no other values.
const CLOSED: [&str; 18] = [
    "level",
    "lock",
    "whence",
    "comparison",
    "topology",
    "order",
    "distrib",
    "split_type",
    "typeclass",
    "combiner",
    "model",
    "flavor",
    "t_verbosity",
    "t_bind",
    "t_scope",
    "t_class",
    "t_safety",
    "t_order",
];

/// Kinds of `int` whose bits have values.
const MASKS: [&str; 2] = ["amode", "assert"];

/// The kinds of handles.
pub const HANDLES: [&str; 11] =
    ["comm", "group", "datatype", "request", "op", "win", "file", "info", "errhandler", "session", "message"];

/// The conversions of all kinds.
pub fn generate(dialect: &Dialect) -> String {
    let mut text = String::new();
    for kind in OPEN {
        text += &open(dialect, kind);
    }
    for kind in CLOSED {
        text += &closed(dialect, kind);
    }
    for kind in MASKS {
        text += &mask(dialect, kind);
    }
    for kind in HANDLES {
        text += &handle(dialect, kind);
    }
    text += &integers(dialect);
    text += &errcode(dialect);
    text += &view_offset(dialect);
    text += &lengths(dialect);
    text += &version(dialect);
    text
}

/// The conversions of what a status has.
pub fn of_status(dialect: &Dialect) -> String {
    open(dialect, "rank") + &open(dialect, "tag") + &errcode(dialect)
}

fn module(kind: &str, body: &str) -> String {
    format!("pub mod {kind} {{\n#![allow(dead_code, unused_imports)]\nuse super::*;\n{body}}}\n")
}

/// The arms of a match between numbers.
fn arms(pairs: impl Iterator<Item = (i64, i64)>) -> String {
    let mut seen = Vec::new();
    let mut text = String::new();
    for (from, to) in pairs {
        // A dialect may have two names for one value.
        if !seen.contains(&from) {
            seen.push(from);
            text += &format!("{from} => {to}, ");
        }
    }
    text
}

fn pairs<'a>(dialect: &'a Dialect, kind: &'a str) -> impl Iterator<Item = (i64, i64)> + 'a {
    dialect.of(kind).filter_map(|constant| Some((constant.theirs.number()?, constant.ours)))
}

fn swapped<'a>(dialect: &'a Dialect, kind: &'a str) -> impl Iterator<Item = (i64, i64)> + 'a {
    pairs(dialect, kind).map(|(theirs, ours)| (ours, theirs))
}

/// What is neither a constant of the dialect nor a plain value must not become one of ours.
fn open(dialect: &Dialect, kind: &str) -> String {
    let theirs: Vec<i64> = pairs(dialect, kind).map(|(theirs, _)| theirs).collect();
    let taken = pairs(dialect, kind)
        .filter(|(_, ours)| *ours < 0 && !theirs.contains(ours))
        .map(|(_, ours)| (ours, i64::from(i32::MIN)));
    let of: Vec<(i64, i64)> = pairs(dialect, kind).chain(taken).collect();
    let to: Vec<(i64, i64)> = swapped(dialect, kind).collect();
    module(kind, &(way("of", &of) + &way("to", &to)))
}

/// Ranks and tags are mostly plain, and what is not lies just below zero: one comparison finds it.
fn way(name: &str, pairs: &[(i64, i64)]) -> String {
    let lowest = pairs.iter().map(|(from, _)| *from).min().unwrap_or_default();
    if lowest < -16 || pairs.iter().any(|(from, _)| *from >= 0) {
        let arms = arms(pairs.iter().copied());
        return format!("#[inline] pub fn {name}(it: i32) -> i32 {{ match it {{ {arms} _ => it }} }}\n");
    }
    let map = |from: i64| pairs.iter().find(|(known, _)| *known == from).map_or(from, |(_, to)| *to);
    let special: Vec<i64> = (lowest..0).map(map).collect();
    format!(
        "#[inline(always)] pub fn {name}(it: i32) -> i32 {{\n\
         const SPECIAL: [i32; {}] = {special:?};\n\
         if (it as u32) < ({lowest}_i32) as u32 {{ return it; }}\n\
         SPECIAL[it.wrapping_sub({lowest}) as usize] }}\n",
        special.len()
    )
}

fn closed(dialect: &Dialect, kind: &str) -> String {
    module(
        kind,
        &format!(
            "#[inline] pub fn of(it: i32) -> i32 {{ match it {{ {} abi::UNDEFINED => it, _ => i32::MIN }} }}\n\
             #[inline] pub fn to(it: i32) -> i32 {{ match it {{ {} _ => it }} }}\n",
            arms(pairs(dialect, kind).filter(|(theirs, _)| *theirs != i64::from(abi::UNDEFINED))),
            arms(swapped(dialect, kind)),
        ),
    )
}

/// A bit that the dialect does not have becomes one that this library refuses.
fn mask(dialect: &Dialect, kind: &str) -> String {
    let bits = |pairs: &mut dyn Iterator<Item = (i64, i64)>| -> String {
        pairs.map(|(from, to)| format!("if it & {from} != 0 {{ out |= {to}; }}\n")).collect()
    };
    let known = pairs(dialect, kind).fold(0, |all, (theirs, _)| all | theirs);
    module(
        kind,
        &format!(
            "pub fn of(it: i32) -> i32 {{ let mut out = if it & !{known} == 0 {{ 0 }} else {{ 1 << 30 }}; {} out }}\n\
             pub fn to(it: i32) -> i32 {{ let mut out = 0; {} out }}\n",
            bits(&mut pairs(dialect, kind)),
            bits(&mut swapped(dialect, kind)),
        ),
    )
}

/// Classes by their values; codes that the program made lie above the last one of either ABI, and any other number stays.
fn errcode(dialect: &Dialect) -> String {
    let number = |name: &str| dialect.number(name).unwrap_or_else(|| panic!("a dialect has MPI_{name}"));
    let (last, ours) = (number("ERR_LASTCODE"), i64::from(abi::ERR_LASTCODE));
    let known: Vec<(i64, i64)> = pairs(dialect, "errcode").chain([(last, ours)]).collect();
    let is_class = |it: &&abi::Constant| it.name.starts_with("MPI_ERR_") || it.name.starts_with("MPI_T_ERR_");
    let standard =
        abi::ALL.iter().filter(|it| it.ctype == "int").filter(is_class).map(|it| (it.name, it.value));
    let classes =
        standard.chain(abi::extension::CLASSES.iter().map(|(name, value)| (*name, i64::from(*value))));
    // A class that the dialect lacks becomes its next of kin, and a number that is none there none of ours.
    let (mut lacking, mut taken) = (Vec::new(), Vec::new());
    for (name, value) in classes {
        if !known.iter().any(|(_, ours)| *ours == value) {
            let kin = if name == "MPI_ERR_ERRHANDLER" { "ERR_ARG" } else { "ERR_OTHER" };
            lacking.push((value, number(kin)));
        }
        // Above the last class a number is a code that the program made.
        if value <= last {
            taken.push((value, i64::from(i32::MIN)));
        }
    }
    let of = arms(known.iter().copied().chain(taken));
    let to = arms(known.iter().map(|(theirs, ours)| (*ours, *theirs)).chain(lacking));
    module(
        "errcode",
        &format!(
            "pub fn of(it: i32) -> i32 {{ match it {{ {of} {}..=i32::MAX => it - {last} + {ours}, _ => it }} }}\n\
             pub fn to(it: i32) -> i32 {{ match it {{ {to} {}..=i32::MAX => it.saturating_sub({ours}).saturating_add({last}), \
             _ => it }} }}\n\
             /// What a function returns.\n\
             #[inline(always)] pub fn give(it: i32) -> i32 {{ if it == 0 {{ 0 }} else {{ other(it) }} }}\n\
             #[cold] #[inline(never)] fn other(it: i32) -> i32 {{ to(it) }}\n",
            last + 1,
            ours + 1,
        ),
    )
}

/// The integer of a handle: the handle itself where it is one, else a number for each predefined handle, and ours for others.
fn integers(dialect: &Dialect) -> String {
    let body: String = HANDLES
        .iter()
        .map(|kind| {
            let handle = if *kind == "file" { "usize" } else { "Handle" };
            let (of, to) = match dialect.has_integers() {
                true => ("it as i32".to_string(), format!("it as u32 as {handle}")),
                false => {
                    let known = dialect.integers(kind);
                    (
                        format!(
                            "match {kind}::of(it) {{ {} dynamic => dynamic as i32 }}",
                            arms(known.iter().copied())
                        ),
                        format!(
                            "{kind}::to(match it {{ {} dynamic => dynamic as u32 as usize }})",
                            arms(known.iter().map(|(ours, theirs)| (*theirs, *ours)))
                        ),
                    )
                }
            };
            format!(
                "pub fn {kind}_of(it: {handle}) -> i32 {{ {of} }}\n\
                 pub fn {kind}_to(it: i32) -> {handle} {{ {to} }}\n"
            )
        })
        .collect();
    module("integer", &body)
}

fn view_offset(dialect: &Dialect) -> String {
    let theirs = dialect.number("DISPLACEMENT_CURRENT").expect("a dialect has MPI_DISPLACEMENT_CURRENT");
    let ours = abi::DISPLACEMENT_CURRENT;
    module(
        "view_offset",
        &format!(
            "pub fn of(it: i64) -> i64 {{ match it {{ {theirs} => {ours}, {ours} => i64::MIN, _ => it }} }}\n"
        ),
    )
}

/// `MAX_PORT_NAME: usize = 256`
fn lengths(dialect: &Dialect) -> String {
    let all: String = dialect
        .of("length")
        .filter_map(|constant| Some((&constant.name, constant.theirs.number()?)))
        .map(|(name, value)| format!("pub const {name}: usize = {value};\n"))
        .collect();
    let last = dialect.number("ERR_LASTCODE").expect("a dialect has a last error code");
    module("length", &format!("{all}pub const LASTCODE: i32 = {last};\n"))
}

/// The version of the standard whose constants the dialect has.
fn version(dialect: &Dialect) -> String {
    let number = |name: &str| dialect.number(name).unwrap_or_else(|| panic!("a dialect has MPI_{name}"));
    let (version, subversion) = (number("VERSION"), number("SUBVERSION"));
    module(
        "version",
        &format!("pub const VERSION: i32 = {version};\npub const SUBVERSION: i32 = {subversion};\n"),
    )
}

fn handle(dialect: &Dialect, kind: &str) -> String {
    let constants: Vec<&Constant> = dialect.of(kind).collect();
    let symbols = constants.iter().any(|constant| matches!(constant.theirs, Value::Symbol(_)));
    let body = match (symbols, kind) {
        (true, _) => objects(kind, &constants),
        (false, "file") => addresses(dialect),
        (false, "datatype") => datatypes(&constants, dialect.of("datatype_object")),
        (false, "comm") => communicators(dialect),
        (false, _) => format!(
            "#[inline(always)] pub fn of(it: Handle) -> usize {{ match it as u32 {{ {} dynamic => dynamic as usize }} }}\n\
             #[inline(always)] pub fn to(it: usize) -> Handle {{ (match it as u32 {{ {} dynamic => dynamic }}) as Handle }}\n",
            arms(pairs(dialect, kind)),
            arms(swapped(dialect, kind)),
        ),
    };
    let null =
        constants.iter().find(|constant| constant.name.ends_with("_NULL")).map(|constant| constant.ours);
    module(kind, &format!("{body}pub const NULL: usize = {};\n", null.unwrap_or_default()))
}

/// Communicators: those that each program has stand in the same order in both ABIs. The null one is no handle of ours, so
/// where it is only refused (`quick`) it may stay what it is.
fn communicators(dialect: &Dialect) -> String {
    let world = dialect.number("COMM_WORLD").expect("a dialect has MPI_COMM_WORLD");
    let own = dialect.number("COMM_SELF").expect("a dialect has MPI_COMM_SELF");
    let null = dialect.number("COMM_NULL").expect("a dialect has MPI_COMM_NULL");
    let ours = abi::COMM_WORLD.0;
    assert!(own == world + 1 && abi::COMM_SELF.0 == ours + 1, "the order is used");
    format!(
        "pub fn of(it: Handle) -> usize {{ if it as u32 == {null} {{ {} }} else {{ quick(it) }} }}\n\
         #[inline(always)] pub fn quick(it: Handle) -> usize {{\n\
         let it = it as u32;\n\
         if it.wrapping_sub({world}) < 2 {{ return it.wrapping_sub({world} - {ours}) as usize; }}\n\
         it as usize }}\n\
         #[inline] pub fn to(it: usize) -> Handle {{ (match it as u32 {{ {} dynamic => dynamic }}) as Handle }}\n",
        abi::COMM_NULL.0,
        arms(swapped(dialect, "comm")),
    )
}

/// Files, whose handles are pointers where others are integers.
fn addresses(dialect: &Dialect) -> String {
    format!(
        "#[inline] pub fn of(it: usize) -> usize {{ match it {{ {} _ => it }} }}\n\
         #[inline] pub fn to(it: usize) -> usize {{ match it {{ {} _ => it }} }}\n",
        arms(pairs(dialect, "file")),
        arms(swapped(dialect, "file")),
    )
}

/// Where a datatype of MPICH stands in the table: by its number, and by the sign that tells pairs, whose numbers begin anew.
fn place(theirs: i64) -> usize {
    (theirs as u32).rotate_left(1) as usize & 0xff
}

/// Predefined datatypes of MPICH have numbers in their last byte, so a table knows them: a handle that is not the one in its
/// place is the program's own. `further` handles only go in.
fn datatypes<'a>(constants: &[&Constant], further: impl Iterator<Item = &'a Constant>) -> String {
    let first = 512;
    let (mut of, mut to) = ([(0, 0); 256], [0; 256]);
    let mut put = |constant: &Constant| {
        let theirs = constant.theirs.number().expect("a number, as all of this dialect");
        let of = &mut of[place(theirs)];
        assert!(*of == (0, 0), "{}: another datatype has its place", constant.name);
        *of = (theirs, constant.ours);
        theirs
    };
    for constant in constants {
        to[(constant.ours - first) as usize] = put(constant);
    }
    further.for_each(|constant| _ = put(constant));
    format!(
        "static OF: [(u32, u32); 256] = {of:?};\n\
         static TO: [u32; 256] = {to:?};\n\
         #[inline(always)] pub fn of(it: Handle) -> usize {{\n\
         let it = it as u32;\n\
         let (theirs, ours) = OF[(it.rotate_left(1) & 0xff) as usize];\n\
         (if theirs == it {{ ours }} else {{ it }}) as usize }}\n\
         #[inline] pub fn to(it: usize) -> Handle {{\n\
         let known = TO.get(it.wrapping_sub({first})).copied().filter(|known| *known != 0);\n\
         known.unwrap_or(it as u32) as Handle }}\n"
    )
}

/// Bytes of the objects of each kind: as many as an executable's copy has, for more would be cut off with a warning.
const SIZES: [(&str, usize); 11] = [
    ("comm", 512),
    ("group", 256),
    ("datatype", 512),
    ("request", 256),
    ("op", 2048),
    ("win", 512),
    ("file", 1536),
    ("info", 256),
    ("errhandler", 1024),
    ("session", 512),
    ("message", 256),
];

/// The objects that handles are addresses of: the first word of each is our value. Beside each lies its address by a name of its own.
pub fn statics(dialect: &Dialect) -> String {
    let mut text = String::new();
    for constant in &dialect.constants {
        let kind = constant.kind.strip_suffix("_object").unwrap_or(&constant.kind);
        let size = SIZES.iter().find(|(known, _)| *known == kind);
        if let (Value::Symbol(symbol), Some((_, bytes))) = (&constant.theirs, size) {
            text += &format!(
                "#[unsafe(no_mangle)] #[used] pub static {symbol}: crate::object::Object<{}> = crate::object::Object::of({});\n\
                 #[unsafe(no_mangle)] #[used] static {symbol}_addr: crate::object::Place = crate::object::Place::of(&raw const {symbol});\n",
                bytes / 8,
                constant.ours
            );
        }
    }
    text
}

/// Handles that are addresses of objects: the first word of a predefined one is our value, and a dynamic one has a mark that
/// no address has.
fn objects(kind: &str, constants: &[&Constant]) -> String {
    let arms: String = constants
        .iter()
        .filter_map(|constant| match &constant.theirs {
            Value::Symbol(symbol) => Some(format!("{} => (&raw const {symbol}) as usize, ", constant.ours)),
            Value::Number(_) => None,
        })
        .collect();
    // Communicators, requests and datatypes are looked up in every call.
    let inline =
        if matches!(kind, "comm" | "datatype" | "request") { "#[inline(always)]" } else { "#[inline]" };
    format!(
        "{inline} pub fn of(it: Handle) -> usize {{ crate::object::value(it) }}\n\
         {inline} pub fn quick(it: Handle) -> usize {{ crate::object::value(it) }}\n\
         #[inline] pub fn to(it: usize) -> Handle {{ match it {{ {arms} _ => crate::object::dynamic(it) }} }}\n"
    )
}
