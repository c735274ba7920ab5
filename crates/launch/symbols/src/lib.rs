//! What stands at an address of a program: function, file and line, outside of the process that it came from.
//!
//! An address means nothing once its process is gone; an offset in a file does ([`Resolver::place`]). What is named depends on
//! what is there:
//!
//! | there is | a place is |
//! |---|---|
//! | debug information of the same build | `solver.c:42 (step)`, with the chain of inlined functions |
//! | a table of symbols | `step+0x1c (program)` |
//! | neither, or the file was built anew | `program+0x11c0` |
//!
//! Debug information is looked for in the file itself, below `/usr/lib/debug` by the build-id, and where the file's
//! `.gnu_debuglink` leads. A file with another build-id than the process had is not asked: it would give confident nonsense.
//! Nothing is looked up over a network.
#![forbid(unsafe_code)]

pub mod variables;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::Object;

/// Where debug information of installed programs is.
const DEBUG: &str = "/usr/lib/debug";

/// A place in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The functions that the address belongs to: the innermost first, then those that it was inlined into. Empty where
    /// nothing but the file is known.
    pub frames: Vec<Frame>,
    /// The file.
    pub object: PathBuf,
    /// The address in it.
    pub offset: u64,
    /// The file was built anew since the process ran.
    pub is_stale: bool,
}

/// A function at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its name, as the language writes it.
    pub function: Option<String>,
    /// Its source file, as the compiler was given it.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// Bytes from the beginning of the function; known where the name comes from a table of symbols.
    pub distance: Option<u64>,
}

impl Place {
    /// The innermost function with a line.
    pub fn source(&self) -> Option<&Frame> {
        self.frames.iter().find(|frame| frame.file.is_some())
    }

    /// The name of the innermost function.
    pub fn function(&self) -> Option<&str> {
        self.frames.iter().find_map(|frame| frame.function.as_deref())
    }

    /// The last part of the object's path.
    pub fn object_name(&self) -> String {
        let name = self.object.file_name().unwrap_or(self.object.as_os_str());
        if name.is_empty() { "?".to_owned() } else { name.to_string_lossy().into_owned() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.source(), self.frames.first()) {
            (Some(Frame { function, file: Some(file), line, .. }), _) => {
                write!(f, "{}", file.rsplit('/').next().unwrap_or(file))?;
                if let Some(line) = line {
                    write!(f, ":{line}")?;
                }
                function.as_ref().map_or(Ok(()), |function| write!(f, " ({function})"))
            }
            (_, Some(Frame { function: Some(function), distance, .. })) => {
                write!(f, "{function}+{:#x} ({})", distance.unwrap_or(0), self.object_name())
            }
            _ => write!(f, "{}+{:#x}", self.object_name(), self.offset),
        }
    }
}

/// Finds places, and keeps what it has read of each file.
#[derive(Default)]
pub struct Resolver {
    files: HashMap<(PathBuf, Vec<u8>), File>,
}

/// A file that addresses are of.
#[derive(Default)]
struct File {
    symbols: Option<Loader>,
    debug: Option<Loader>,
    is_stale: bool,
}

impl Resolver {
    /// One that has read nothing.
    pub fn new() -> Resolver {
        Resolver::default()
    }

    /// The place of `offset` in the file `path`, which had this build-id (empty: it had none).
    pub fn place(&mut self, path: &Path, build_id: &[u8], offset: u64) -> Place {
        let key = (path.to_owned(), build_id.to_owned());
        let file = self.files.entry(key).or_insert_with(|| File::open(path, build_id));
        let place = Place { object: path.to_owned(), offset, is_stale: file.is_stale, frames: Vec::new() };
        Place { frames: file.frames(offset), ..place }
    }

    /// The place of a call that returns to `offset`: the instruction before it.
    pub fn call(&mut self, path: &Path, build_id: &[u8], offset: u64) -> Place {
        Place { offset, ..self.place(path, build_id, offset.saturating_sub(1)) }
    }
}

impl File {
    fn open(path: &Path, build_id: &[u8]) -> File {
        let Ok(bytes) = std::fs::read(path) else { return File::default() };
        let Ok(object) = object::File::parse(&*bytes) else { return File::default() };
        if is_of_another_build(&object, build_id) {
            return File { is_stale: true, ..File::default() };
        }
        let link = object.gnu_debuglink().ok().flatten().map(|(name, _)| OsStr::from_bytes(name).to_owned());
        let debug = match object.section_by_name(".debug_line") {
            Some(_) => None,
            None => {
                elsewhere(path, build_id, link.as_deref()).into_iter().find_map(|path| Loader::new(path).ok())
            }
        };
        File { symbols: Loader::new(path).ok(), debug, is_stale: false }
    }

    fn frames(&self, address: u64) -> Vec<Frame> {
        let by_lines =
            [&self.debug, &self.symbols].into_iter().flatten().map(|loader| lines(loader, address));
        let found = by_lines.into_iter().find(|frames| !frames.is_empty());
        found.or_else(|| self.symbol(address).map(|frame| vec![frame])).unwrap_or_default()
    }

    fn symbol(&self, address: u64) -> Option<Frame> {
        let loaders = [&self.symbols, &self.debug];
        let symbol = loaders.into_iter().flatten().find_map(|loader| loader.find_symbol_info(address))?;
        let distance = address.checked_sub(symbol.address());
        Some(Frame { function: Some(demangled(symbol.name())), distance, ..Frame::default() })
    }
}

/// Whether a file has another build-id than the process had (empty: it had none).
fn is_of_another_build(object: &object::File<'_>, build_id: &[u8]) -> bool {
    object.build_id().ok().flatten().is_some_and(|has| !build_id.is_empty() && has != build_id)
}

/// Files that may hold the debug information of `path`.
fn elsewhere(path: &Path, build_id: &[u8], link: Option<&OsStr>) -> Vec<PathBuf> {
    let mut all = Vec::new();
    if let Some((first, rest)) = build_id.split_first() {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        all.push(PathBuf::from(format!("{DEBUG}/.build-id/{first:02x}/{rest}.debug")));
    }
    if let (Some(link), Some(folder)) = (link, path.parent()) {
        all.extend([folder.join(link), folder.join(".debug").join(link)]);
        all.push(Path::new(DEBUG).join(folder.strip_prefix("/").unwrap_or(folder)).join(link));
    }
    all.retain(|found| found.exists() && found != path);
    all
}

/// The functions at an address, by lines; none where no line is known.
fn lines(loader: &Loader, address: u64) -> Vec<Frame> {
    let mut all = Vec::new();
    let Ok(mut frames) = loader.find_frames(address) else { return all };
    while let Ok(Some(frame)) = frames.next() {
        let function = frame.function.and_then(|name| name.demangle().ok().map(|name| name.into_owned()));
        let (file, line) = frame.location.map_or((None, None), |at| (at.file.map(str::to_owned), at.line));
        all.push(Frame { function, file, line, distance: None });
    }
    // A table of lines without functions (-gline-tables-only): the symbol has the name.
    if let [only] = &mut all[..]
        && only.function.is_none()
    {
        only.function = loader.find_symbol(address).map(demangled);
    }
    if all.iter().any(|frame| frame.file.is_some()) { all } else { Vec::new() }
}

fn demangled(name: &str) -> String {
    addr2line::demangle_auto(name.into(), None).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Builds a program with these flags; its path and the address of `inner` in it.
    fn program(name: &str, flags: &[&str]) -> (PathBuf, u64) {
        let folder = std::env::temp_dir().join(format!("alhena-symbols-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
        std::fs::write(
            &source,
            "int inner(int n)\n{\n    return n + 1;\n}\nint main(void) { return inner(-1); }\n",
        )
        .unwrap();
        let status = Command::new("cc").args(flags).arg(&source).arg("-o").arg(&program).status().unwrap();
        assert!(status.success());
        let symbols = Command::new("nm").arg(&program).output().unwrap();
        let text = String::from_utf8(symbols.stdout).unwrap();
        let line = text.lines().find(|line| line.ends_with(" T inner")).expect("it has the symbol");
        (program, u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap())
    }

    #[test]
    fn a_place_is_named_by_what_is_there() {
        let mut resolver = Resolver::new();
        let (path, inner) = program("lines", &["-g", "-O0"]);
        let place = resolver.place(&path, &[], inner + 4);
        assert_eq!(place.function(), Some("inner"));
        assert!(place.to_string().starts_with("lines.c:"), "{place}");
        let (path, inner) = program("symbols", &["-O0"]);
        let place = resolver.place(&path, &[], inner + 4);
        assert_eq!(place.to_string(), "inner+0x4 (symbols)");
        Command::new("strip").arg(&path).status().unwrap();
        assert_eq!(Resolver::new().place(&path, &[], 0x1234).to_string(), "symbols+0x1234");
        // Built anew: its lines would be those of another program.
        let (path, inner) = program("anew", &["-g", "-Wl,--build-id=0x0102"]);
        assert!(resolver.place(&path, &[1, 2], inner).to_string().starts_with("anew.c:"));
        let other = resolver.place(&path, &[1, 3], inner);
        assert!(other.is_stale && other.frames.is_empty(), "{other}");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn debug_information_beside_the_file_is_found() {
        let (path, inner) = program("split", &["-g", "-Wl,--build-id=0x0a0b"]);
        let debug = path.with_extension("debug");
        for arguments in [
            &["--only-keep-debug", path.to_str().unwrap(), debug.to_str().unwrap()][..],
            &["--strip-all", &format!("--add-gnu-debuglink={}", debug.display()), path.to_str().unwrap()],
        ] {
            assert!(Command::new("objcopy").args(arguments).status().unwrap().success());
        }
        let place = Resolver::new().place(&path, &[0x0a, 0x0b], inner + 4);
        assert!(place.to_string().starts_with("split.c:"), "{place}");
    }

    #[test]
    fn what_is_no_program_has_no_names() {
        for path in ["/etc/passwd", "/no/such/file", ""] {
            assert!(Resolver::new().place(Path::new(path), &[], 16).frames.is_empty());
        }
    }
}
