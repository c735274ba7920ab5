//! Which variable of a program an address belongs to, and of which type it is: by debug information.
//!
//! Only what is certain counts: variables with one place for as long as their scope lasts, whose type is a number, or an array of
//! numbers. What lies in a structure, on the heap or where a pointer leads belongs to none.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use addr2line::gimli::{
    self, AttributeValue, BaseAddresses, CfaRule, DebuggingInformationEntry, DwAte, EhFrame, EndianSlice,
    LittleEndian, Operation, Register, UnitOffset, UnwindContext, UnwindSection,
};
use object::{Object, ObjectSection};

type Reader<'f> = EndianSlice<'f, LittleEndian>;
type Entry<'f> = DebuggingInformationEntry<Reader<'f>>;
type Unit<'f> = gimli::Unit<Reader<'f>>;
/// The debug information of a file.
struct Dwarf<'f>(gimli::Dwarf<Reader<'f>>);

/// Where an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// At this offset in the file.
    Static(u64),
    /// On the stack, seen by the call that returns to this offset: so far behind its stack pointer, and behind its frame pointer.
    Stack { call: u64, stack_pointer: i64, frame_pointer: i64 },
}

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    Integer,
    Float,
    Complex,
}

/// A variable that an address belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// Its numbers, as the language names them.
    pub type_name: String,
    pub kind: NumberKind,
    /// Bytes of one of them.
    pub size: u64,
    /// Bytes from the address to its end.
    pub left: u64,
}

/// Finds variables, and keeps what it has read of each file.
#[derive(Default)]
pub struct Variables {
    files: HashMap<(PathBuf, Vec<u8>), Option<File>>,
}

struct File {
    sections: gimli::DwarfSections<Vec<u8>>,
    /// How frames are found.
    frames: Vec<u8>,
    bases: BaseAddresses,
    /// Variables with an address of their own; `None`: nothing has asked for one.
    statics: Option<Vec<(u64, Typed)>>,
}

/// A variable and its type.
#[derive(Clone)]
struct Typed {
    name: String,
    type_name: String,
    kind: NumberKind,
    size: u64,
    bytes: u64,
}

impl Variables {
    /// The variable at a place of the file `path`, which had this build-id (empty: it had none).
    pub fn find(&mut self, path: &Path, build_id: &[u8], storage: Storage) -> Option<Variable> {
        let key = (path.to_owned(), build_id.to_owned());
        let file = self.files.entry(key).or_insert_with(|| File::open(path, build_id)).as_mut()?;
        match storage {
            Storage::Static(address) => {
                if file.statics.is_none() {
                    file.statics = Some(file.dwarf().statics());
                }
                within(file.statics.as_deref().unwrap_or_default(), address)
            }
            Storage::Stack { call, stack_pointer, frame_pointer } => {
                let at = call.checked_sub(1)?;
                let from_frame = match file.frame(at)? {
                    (register, offset) if register == STACK_POINTER => stack_pointer - offset,
                    (register, offset) if register == FRAME_POINTER => frame_pointer - offset,
                    _ => return None,
                };
                // The places of variables are numbers of both signs; order is kept.
                let shifted = |place: i64| (place as u64) ^ 1 << 63;
                let locals: Vec<(u64, Typed)> = file
                    .dwarf()
                    .locals(at)?
                    .into_iter()
                    .map(|(place, typed)| (shifted(place), typed))
                    .collect();
                within(&locals, shifted(from_frame))
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
const STACK_POINTER: Register = gimli::X86_64::RSP;
#[cfg(target_arch = "x86_64")]
const FRAME_POINTER: Register = gimli::X86_64::RBP;
#[cfg(target_arch = "aarch64")]
const STACK_POINTER: Register = gimli::AArch64::SP;
#[cfg(target_arch = "aarch64")]
const FRAME_POINTER: Register = gimli::AArch64::X29;

/// The one variable that has the address; with several, none is certain.
fn within(all: &[(u64, Typed)], address: u64) -> Option<Variable> {
    let has = |(begin, typed): &&(u64, Typed)| address.checked_sub(*begin).is_some_and(|at| at < typed.bytes);
    let mut found = all.iter().filter(has);
    let (begin, Typed { name, type_name, kind, size, bytes }) = found.next()?.clone();
    let is_one = found.all(|(other, typed)| (*other, &*typed.name) == (begin, &*name));
    is_one.then(|| Variable { name, type_name, kind, size, left: bytes - (address - begin) })
}

impl File {
    fn open(path: &Path, build_id: &[u8]) -> Option<File> {
        let bytes = fs::read(path).ok()?;
        let object = object::File::parse(&*bytes).ok()?;
        if crate::is_of_another_build(&object, build_id) {
            return None;
        }
        let load = |name: &str| {
            let data = object.section_by_name(name).and_then(|section| section.uncompressed_data().ok());
            data.unwrap_or_default().into_owned()
        };
        let sections = gimli::DwarfSections::load(|id| Ok::<_, gimli::Error>(load(id.name()))).ok()?;
        let address = |name: &str| object.section_by_name(name).map_or(0, |section| section.address());
        let bases = BaseAddresses::default()
            .set_eh_frame(address(".eh_frame"))
            .set_text(address(".text"))
            .set_got(address(".got"));
        Some(File { sections, frames: load(".eh_frame"), bases, statics: None })
    }

    /// The register that the frame of a function is found from, and by how much.
    fn frame(&self, at: u64) -> Option<(Register, i64)> {
        let mut frames = EhFrame::new(&self.frames, LittleEndian);
        frames.set_address_size(8);
        let mut context = UnwindContext::new();
        let row =
            frames.unwind_info_for_address(&self.bases, &mut context, at, EhFrame::cie_from_offset).ok()?;
        match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Some((*register, *offset)),
            CfaRule::Expression(_) => None,
        }
    }

    fn dwarf(&self) -> Dwarf<'_> {
        Dwarf(self.sections.borrow(|section| Reader::new(section, LittleEndian)))
    }
}

impl<'f> Dwarf<'f> {
    fn units(&self) -> impl Iterator<Item = Unit<'f>> {
        let mut headers = self.0.units();
        std::iter::from_fn(move || headers.next().ok().flatten())
            .filter_map(|header| self.0.unit(header).ok())
    }

    /// Variables with an address of their own.
    fn statics(&self) -> Vec<(u64, Typed)> {
        let mut all = Vec::new();
        for unit in self.units() {
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                let is_one = entry.tag() == gimli::DW_TAG_variable;
                if is_one
                    && let Some(Operation::Address { address }) = location(&unit, entry)
                    && let Some(typed) = self.typed(&unit, entry)
                {
                    all.push((address, typed));
                }
            }
        }
        all
    }

    /// Variables of the function at an address, as far as they are in scope there, by their places from its frame.
    fn locals(&self, at: u64) -> Option<Vec<(i64, Typed)>> {
        let covers = |ranges: gimli::Result<gimli::RangeIter<Reader<'f>>>| {
            let mut ranges = ranges.ok();
            std::iter::from_fn(|| ranges.as_mut()?.next().ok().flatten())
                .any(|range| (range.begin..range.end).contains(&at))
        };
        let has = |unit: &Unit<'f>, entry: &Entry<'f>| covers(self.0.die_ranges(unit, entry));
        let unit = self.units().find(|unit| covers(self.0.unit_ranges(unit)))?;
        let mut locals = Vec::new();
        let mut entries = unit.entries();
        // The depth of the function, and of the scope within it that the address is outside of.
        let (mut function, mut outside) = (None::<isize>, None::<isize>);
        while let Ok(Some(entry)) = entries.next_dfs() {
            let depth = entry.depth();
            if outside.is_some_and(|scope| depth > scope) {
                continue;
            }
            outside = None;
            if function.is_some_and(|function| depth <= function) {
                break;
            }
            match entry.tag() {
                gimli::DW_TAG_subprogram if function.is_none() => match has(&unit, entry) {
                    true if !is_by_frame(entry) => return None,
                    true => function = Some(depth),
                    false => outside = Some(depth),
                },
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine
                    if function.is_some() && !has(&unit, entry) =>
                {
                    outside = Some(depth);
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter if function.is_some() => {
                    if let Some(Operation::FrameOffset { offset }) = location(&unit, entry) {
                        locals.extend(self.typed(&unit, entry).map(|typed| (offset, typed)));
                    }
                }
                _ => {}
            }
        }
        Some(locals)
    }

    /// Name and type of a variable whose type is a number, or an array of them.
    fn typed(&self, unit: &Unit<'f>, entry: &Entry<'f>) -> Option<Typed> {
        let origin = match entry
            .attr_value(gimli::DW_AT_abstract_origin)
            .or_else(|| entry.attr_value(gimli::DW_AT_specification))
        {
            Some(AttributeValue::UnitRef(offset)) => Some(unit.entry(offset).ok()?),
            _ => None,
        };
        let either = |name| entry.attr_value(name).or_else(|| origin.as_ref()?.attr_value(name));
        let mut next = type_of(either(gimli::DW_AT_type))?;
        let mut many = 1u64;
        // A type that refers to itself is none of a compiler's.
        for _ in 0..32 {
            let it = unit.entry(next).ok()?;
            match it.tag() {
                gimli::DW_TAG_base_type => {
                    let size = it.attr_value(gimli::DW_AT_byte_size)?.udata_value()?;
                    let AttributeValue::Encoding(encoding) = it.attr_value(gimli::DW_AT_encoding)? else {
                        return None;
                    };
                    let text =
                        |value| Some(self.0.attr_string(unit, value).ok()?.to_string_lossy().into_owned());
                    return Some(Typed {
                        name: text(either(gimli::DW_AT_name)?)?,
                        type_name: text(it.attr_value(gimli::DW_AT_name)?)?,
                        kind: kind(encoding)?,
                        size,
                        bytes: size.checked_mul(many)?,
                    });
                }
                gimli::DW_TAG_array_type => many = many.checked_mul(self.length(unit, next)?)?,
                gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {}
                _ => return None,
            }
            next = type_of(it.attr_value(gimli::DW_AT_type))?;
        }
        None
    }

    /// Elements of an array of all its dimensions; `None`: that is not known before the program runs.
    fn length(&self, unit: &Unit<'f>, array: UnitOffset) -> Option<u64> {
        let mut tree = unit.entries_tree(Some(array)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut length = 1u64;
        while let Ok(Some(child)) = children.next() {
            let dimension = child.entry();
            let number = |name| dimension.attr_value(name).and_then(|value| value.udata_value());
            let count =
                number(gimli::DW_AT_count).or_else(|| number(gimli::DW_AT_upper_bound)?.checked_add(1))?;
            length = length.checked_mul(count)?;
        }
        Some(length)
    }
}

/// The only operation of a variable's place.
fn location<'f>(unit: &Unit<'f>, entry: &Entry<'f>) -> Option<Operation<Reader<'f>>> {
    let expression = entry.attr_value(gimli::DW_AT_location)?.exprloc_value()?;
    let mut operations = expression.operations(unit.encoding());
    let first = operations.next().ok().flatten()?;
    operations.next().ok()?.is_none().then_some(first)
}

/// Whether places of a function's variables are from the frame of the call, as compilers have it.
fn is_by_frame(entry: &Entry<'_>) -> bool {
    let base = entry.attr_value(gimli::DW_AT_frame_base).and_then(|value| value.exprloc_value());
    base.is_some_and(|base| base.0.slice() == [gimli::DW_OP_call_frame_cfa.0])
}

fn type_of(value: Option<AttributeValue<Reader<'_>>>) -> Option<UnitOffset> {
    match value? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

fn kind(encoding: DwAte) -> Option<NumberKind> {
    Some(match encoding {
        gimli::DW_ATE_signed | gimli::DW_ATE_unsigned => NumberKind::Integer,
        gimli::DW_ATE_float => NumberKind::Float,
        gimli::DW_ATE_complex_float => NumberKind::Complex,
        // Characters are also bytes of anything, and truth values have no size that is certain.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_static_variable_is_found_by_its_address_and_nothing_else_is() {
        let folder = std::env::temp_dir().join(format!("alhena-variables-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (source, program) = (folder.join("a.c"), folder.join("a"));
        let text = "typedef const double real; struct s { int a; }; \
                    real grid[4][3] = {{1}}; static short few[2] = {1}; struct s s = {1}; char text[8] = {1}; int *p = (int *)few; \
                    int main(void) { static long own = 1; return own + few[1] + s.a; }\n";
        fs::write(&source, text).unwrap();
        let status =
            Command::new("cc").args(["-g", "-O0"]).arg(&source).arg("-o").arg(&program).status().unwrap();
        assert!(status.success());
        let symbols = Command::new("nm").arg(&program).output().unwrap();
        let symbols = String::from_utf8(symbols.stdout).unwrap();
        let address = |name: &str| {
            let is_it =
                |line: &&str| line.rsplit(' ').next().is_some_and(|has| has.split('.').next() == Some(name));
            let line = symbols.lines().find(is_it).expect("it has the symbol");
            u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
        };
        let mut variables = Variables::default();
        let mut find = |address| variables.find(&program, &[], Storage::Static(address));
        let found = |name: &str, type_name: &str, kind, size, left| {
            Some(Variable { name: name.into(), type_name: type_name.into(), kind, size, left })
        };
        assert_eq!(find(address("grid") + 16), found("grid", "double", NumberKind::Float, 8, 80));
        assert_eq!(find(address("few")), found("few", "short int", NumberKind::Integer, 2, 4));
        assert_eq!(find(address("own")), found("own", "long int", NumberKind::Integer, 8, 8));
        for other in ["s", "text", "p", "main"] {
            assert_eq!(find(address(other)), None, "{other}");
        }
        assert_eq!(
            variables.find(&program, &[9], Storage::Static(address("grid"))).is_some(),
            !has_build_id(&program)
        );
        fs::remove_dir_all(folder).unwrap();
    }

    fn has_build_id(program: &Path) -> bool {
        object::File::parse(&*fs::read(program).unwrap()).unwrap().build_id().unwrap().is_some()
    }
}
