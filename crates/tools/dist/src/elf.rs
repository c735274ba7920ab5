//! Programs and libraries: what they need of a system, and their debug information, which is released apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::elf::{DT_NEEDED, FileHeader64, SHT_DYNSYM, STB_WEAK, Versym};
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, Object, ObjectSymbol};

use crate::failure::Failure;
use crate::files::{Content, Tree};
use crate::programs;

/// What the programs and libraries of a tree need of a system.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Libraries outside of the tree, by SONAME.
    pub libraries: BTreeSet<String>,
    /// Versions of their symbols: `(libc.so.6, GLIBC_2.28)`.
    pub versions: BTreeSet<(String, String)>,
}

impl Needs {
    /// What the programs and libraries of `contents` need.
    pub fn of<'a>(contents: impl Iterator<Item = (&'a str, &'a Content)>) -> Result<Needs, Failure> {
        let mut needs = Needs::default();
        let mut own = BTreeSet::new();
        for (path, content) in contents {
            own.insert(path.rsplit('/').next().unwrap_or(path).to_owned());
            if let Content::Bytes(bytes, _) = content
                && is_elf(bytes)
            {
                needs.add(bytes).map_err(|error| broken(path, error))?;
            }
        }
        needs.libraries.retain(|library| !own.contains(library));
        Ok(needs)
    }

    /// The newest version of glibc among the symbols: (2, 28).
    pub fn glibc(&self) -> (u32, u32) {
        let version = |(_, name): &(String, String)| {
            let (major, minor) = name.strip_prefix("GLIBC_")?.split_once('.')?;
            Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
        };
        // Nothing older has wheels or packages.
        self.versions.iter().filter_map(version).max().unwrap_or((2, 17)).max((2, 17))
    }

    fn add(&mut self, bytes: &[u8]) -> object::Result<()> {
        let header = FileHeader64::<Endianness>::parse(bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, bytes)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let dynamic = sections.dynamic_table(endian, bytes)?;
        for entry in dynamic.iter().filter(|entry| entry.tag == DT_NEEDED) {
            self.libraries.insert(text(dynamic.string(entry)?));
        }
        if let Some((mut needed, link)) = sections.gnu_verneed(endian, bytes)? {
            let strings = sections.strings(endian, bytes, link)?;
            while let Some((library, mut versions)) = needed.next()? {
                let file = text(library.file(endian, strings)?);
                while let Some(version) = versions.next()? {
                    self.versions.insert((file.clone(), text(version.name(endian, strings)?)));
                }
            }
        }
        Ok(())
    }
}

/// Refuses a tree with a symbol that neither a library of the tree nor one of the system has: those of the system have versions. The linker
/// takes it in a library, since another one may bring it; the loader does not.
pub fn all_are_found(tree: &Tree) -> Result<(), Failure> {
    let (mut here, mut wanted) = (BTreeSet::new(), BTreeMap::new());
    for file in &tree.0 {
        if let Content::Bytes(bytes, _) = &file.content
            && is_elf(bytes)
        {
            symbols(bytes, &file.path, &mut here, &mut wanted).map_err(|error| broken(&file.path, error))?;
        }
    }
    match wanted.iter().find(|(name, _)| !here.contains(*name)) {
        None => Ok(()),
        Some((name, path)) => Err(Failure::new(
            "looking up the symbols of all programs and libraries",
            format!(
                "{path} needs {name}, which no library of the tree or of the glibc that it is linked for has"
            ),
            "call the kernel instead of a function that is newer than that glibc: grep for its name in crates/",
        )),
    }
}

/// Adds the symbols that a program or library has for others to `here`, and those that it needs without a version to `wanted`.
fn symbols(
    bytes: &[u8],
    path: &str,
    here: &mut BTreeSet<String>,
    wanted: &mut BTreeMap<String, String>,
) -> object::Result<()> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let versions = sections.gnu_versym(endian, bytes)?.map_or(&[][..], |(versions, _)| versions);
    let unversioned = |version: &Versym<Endianness>| {
        let version = version.0.get(endian);
        version.is_local() || version.is_global()
    };
    let table = sections.symbols(endian, bytes, SHT_DYNSYM)?;
    for (index, symbol) in table.enumerate() {
        let name = String::from_utf8_lossy(table.symbol_name(endian, symbol)?).into_owned();
        if name.is_empty() || symbol.is_local() {
            continue;
        }
        if !symbol.is_undefined(endian) {
            here.insert(name);
        } else if symbol.st_bind() != STB_WEAK && versions.get(index.0).is_none_or(unversioned) {
            wanted.insert(name, path.to_owned());
        }
    }
    Ok(())
}

/// Refuses a tree with a program for a glibc before 2.34 that begins by start files of a later one: the functions of its `.init_array` would
/// not run there. Start files called them, and now glibc itself does.
pub fn all_begin_right(tree: &Tree) -> Result<(), Failure> {
    for file in &tree.0 {
        if let Content::Bytes(bytes, _) = &file.content
            && is_elf(bytes)
            && !begins_right(bytes).map_err(|error| broken(&file.path, error))?
        {
            return Err(Failure::new(
                "looking at how all programs begin",
                format!("{} is for a glibc before 2.34 and has no __libc_csu_init", file.path),
                "link it with that glibc's crt1.o: remove .apps/tools/glibc-*, which scripts/dist makes anew",
            ));
        }
    }
    Ok(())
}

fn begins_right(bytes: &[u8]) -> object::Result<bool> {
    let file = object::File::parse(bytes)?;
    let mut needs = Needs::default();
    needs.add(bytes)?;
    let is_program = file.dynamic_symbols().any(|it| it.name_bytes() == Ok(&b"__libc_start_main"[..]));
    Ok(!is_program || needs.glibc() >= (2, 34) || file.symbol_by_name("__libc_csu_init").is_some())
}

/// The debug information of one program or library.
pub struct Debug {
    /// Its place below `/usr/lib/debug`, where debuggers look for it: `.build-id/ab/cdef….debug`.
    pub path: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Takes the debug information out of all programs and libraries of a tree, by `objcopy`. Symbols go, too, but for those that debuggers
/// look up in mpiexec and in ranks (`MPIR_…`).
pub fn split(tree: &mut Tree, objcopy: &str) -> Result<Vec<Debug>, Failure> {
    let work = Scratch::new()?;
    let mut debug = Vec::new();
    for file in &mut tree.0 {
        let Content::Bytes(bytes, _) = &mut file.content else { continue };
        if bytes.starts_with(b"!<arch>\n") {
            *bytes = work.change(bytes, objcopy, &["--strip-debug", "--enable-deterministic-archives"])?;
        } else if is_elf(bytes) {
            let id = build_id(bytes).map_err(|error| broken(&file.path, error))?;
            let bytes_of_debug = work.change(bytes, objcopy, &["--only-keep-debug"])?;
            *bytes =
                work.change(bytes, objcopy, &["--strip-unneeded", "--wildcard", "--keep-symbol=MPIR_*"])?;
            let Some(id) = id else {
                let seen = format!("{} has no build-id", file.path);
                return Err(Failure::new(
                    "splitting debug information",
                    seen,
                    "link with -Wl,--build-id=sha1",
                ));
            };
            let path = format!(".build-id/{}/{}.debug", &id[..2], &id[2..]);
            if !debug.iter().any(|it: &Debug| it.path == path) {
                debug.push(Debug { path, bytes: bytes_of_debug });
            }
        }
    }
    debug.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(debug)
}

fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// In hexadecimal digits.
fn build_id(bytes: &[u8]) -> object::Result<Option<String>> {
    let id = object::File::parse(bytes)?.build_id()?;
    Ok(id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()))
}

fn broken(path: &str, error: object::Error) -> Failure {
    Failure::new(format!("reading {path}"), error, format!("look at it: readelf -aW {path}"))
}

/// A folder for objcopy, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Failure> {
        let path = std::env::temp_dir().join(format!("alhena-dist-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| Failure::writing(&path, error))?;
        Ok(Scratch(path))
    }

    /// What objcopy makes of `bytes`.
    fn change(&self, bytes: &[u8], objcopy: &str, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        let (before, after) = (self.0.join("before"), self.0.join("after"));
        fs::write(&before, bytes).map_err(|error| Failure::writing(&before, error))?;
        run(objcopy, arguments, &[&before, &after])?;
        fs::read(&after).map_err(|error| Failure::reading(&after, error))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(objcopy: &str, arguments: &[&str], files: &[&Path]) -> Result<(), Failure> {
    let step = format!("running {objcopy} {}", arguments.join(" "));
    let next = "install binutils, or name another one by --objcopy";
    programs::run(Command::new(objcopy).args(arguments).args(files), step, next).map(drop)
}
