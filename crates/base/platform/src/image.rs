//! Where this code, and other code of the process, was loaded from.

use std::ffi::{CStr, OsStr, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The folder this library is installed in: two above its own file (`PREFIX/lib/libmpi_abi.so.1`).
///
/// None where the loader names no absolute path, as in a program that holds the library itself: a folder relative
/// to wherever the program was started must never be taken for an installation.
pub fn prefix() -> Option<PathBuf> {
    let here: fn() -> Option<PathBuf> = prefix;
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address and writes only to `info`, which is valid for writes.
    let found = unsafe { libc::dladdr(here as *const c_void, info.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid `Dl_info` (null pointers), and `dladdr` leaves a valid one.
    let name = unsafe { info.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return None;
    }
    // SAFETY: on success `dli_fname` is a NUL-terminated name that lives as long as the loaded file, which is this code.
    let name = unsafe { CStr::from_ptr(name) };
    folder_of(Path::new(OsStr::from_bytes(name.to_bytes())))
}

fn folder_of(library: &Path) -> Option<PathBuf> {
    let beside = library.parent().filter(|_| library.is_absolute())?;
    // Libraries of other ABIs load this one as `lib/alhena/abi/../../libmpi_abi.so.1`.
    match beside.components().any(|part| part == Component::ParentDir) {
        true => Some(beside.canonicalize().ok()?.parent()?.to_path_buf()),
        false => Some(beside.parent()?.to_path_buf()),
    }
}

/// The program's writable segments that stay writable, ascending: its globals and statics. Another process that runs
/// the same file has as many of the same lengths, wherever the loader has put them.
pub fn writable() -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // SAFETY: the callback gets the pointer that is given here, which lives as long as the call.
    unsafe { libc::dl_iterate_phdr(Some(first_object), (&raw mut found).cast()) };
    found
}

/// Reads the segments of the first object, which is the program, and asks for no other.
unsafe extern "C" fn first_object(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> i32 {
    // SAFETY: the loader passes a valid record, and `writable` its vector, which nothing else uses meanwhile.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Range<usize>>>()) };
    if info.dlpi_phdr.is_null() {
        return 1;
    }
    // SAFETY: the record names so many headers, which stay mapped with their object.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let range = |header: &libc::Elf64_Phdr| {
        let start = (info.dlpi_addr + header.p_vaddr) as usize;
        start..start + header.p_memsz as usize
    };
    // What the loader relocates and then protects lies at the start of a writable segment.
    let protected = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO).map(range);
    let protected = protected.unwrap_or(0..0);
    for header in headers {
        if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0 {
            let mut segment = range(header);
            if segment.contains(&protected.start) || protected.contains(&segment.start) {
                segment.start = protected.end;
            }
            if !segment.is_empty() {
                found.push(segment);
            }
        }
    }
    1
}

/// A program or shared object that is loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// Its file.
    pub path: PathBuf,
    /// Its build-id; empty: it has none.
    pub build_id: Vec<u8>,
    /// It is a shared object, and not the program.
    pub is_library: bool,
    /// What the loader has added to the addresses of the file.
    pub bias: u64,
    /// From its first to its last loaded byte.
    pub range: Range<u64>,
}

/// The module that `address` lies in. It takes the loader's lock.
pub fn module_at(address: u64) -> Option<Module> {
    find(&|object| object.ranges().any(|range| range.contains(&address)))
}

/// The shared object whose file's name begins with `name`; the first one where there are several. It takes the loader's lock.
pub fn library(name: &str) -> Option<Module> {
    find(&|object| {
        let file = object.name.rsplit(|&byte| byte == b'/').next();
        file.is_some_and(|file| file.starts_with(name.as_bytes()))
    })
}

/// The first loaded object that `is_it`.
fn find(is_it: &dyn Fn(&Object<'_>) -> bool) -> Option<Module> {
    let mut search = Search { is_it, found: None };
    // SAFETY: the callback gets the pointer that is given here, which lives as long as the call.
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut search).cast()) };
    let mut module = search.found?;
    if module.path.as_os_str().is_empty() {
        // The program itself has no name.
        module.path = std::fs::read_link("/proc/self/exe").ok()?;
    }
    Some(module)
}

struct Search<'a> {
    is_it: &'a dyn Fn(&Object<'_>) -> bool,
    found: Option<Module>,
}

/// An object as the loader shows it.
struct Object<'a> {
    name: &'a [u8],
    headers: &'a [libc::Elf64_Phdr],
    bias: u64,
}

impl Object<'_> {
    /// The addresses of its loaded segments.
    fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let loaded = self.headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        loaded.map(|header| {
            let start = self.bias.wrapping_add(header.p_vaddr);
            start..start.wrapping_add(header.p_memsz)
        })
    }

    fn module(&self) -> Module {
        let start = self.ranges().map(|range| range.start).min().unwrap_or(0);
        let end = self.ranges().map(|range| range.end).max().unwrap_or(0);
        let notes = self.headers.iter().filter(|header| header.p_type == libc::PT_NOTE);
        let mut ids = notes.filter_map(|header| {
            let address = self.bias.wrapping_add(header.p_vaddr) as usize;
            let start: *const u8 = std::ptr::with_exposed_provenance(address);
            // SAFETY: the object's notes are part of a loaded, readable segment, which stays with the object.
            build_id(unsafe { std::slice::from_raw_parts(start, header.p_memsz as usize) })
        });
        Module {
            path: PathBuf::from(OsStr::from_bytes(self.name)),
            build_id: ids.next().unwrap_or_default().to_vec(),
            is_library: !self.name.is_empty(),
            bias: self.bias,
            range: start..end,
        }
    }
}

/// Ends the search at the object that is meant.
unsafe extern "C" fn look_at(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> i32 {
    // SAFETY: the loader passes a valid record, and `find` its search, which nothing else uses meanwhile.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the record names so many headers, which stay mapped with their object.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let name = match info.dlpi_name.is_null() {
        true => &[][..],
        // SAFETY: the loader's name of the object, which ends with a NUL.
        false => unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes(),
    };
    let object = Object { name, headers, bias: info.dlpi_addr };
    if !(search.is_it)(&object) {
        return 0;
    }
    search.found = Some(object.module());
    1
}

/// The build-id among the notes of an object: sizes of name and content, a type, both padded to four bytes.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const GNU_BUILD_ID: u32 = 3;
    let padded = |length: u32| (length as usize).checked_next_multiple_of(4);
    loop {
        let (head, rest) = notes.split_at_checked(12)?;
        let word = |at: usize| Some(u32::from_ne_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let (name_length, length, kind) = (word(0)?, word(4)?, word(8)?);
        let (name, rest) = rest.split_at_checked(padded(name_length)?)?;
        let content = rest.get(..length as usize)?;
        if kind == GNU_BUILD_ID && name == b"GNU\0" {
            return Some(content);
        }
        notes = rest.get(padded(length)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn an_installation_is_above_the_folder_of_its_library() {
        let folder_of = |file: &str| super::folder_of(Path::new(file));
        assert_eq!(folder_of("/opt/x/lib/libmpi_abi.so.1").as_deref(), Some(Path::new("/opt/x")));
        assert_eq!(folder_of("lib/libmpi_abi.so.1"), None);
        let made = std::env::temp_dir().join(format!("alhena-image-{}", std::process::id()));
        std::fs::create_dir_all(made.join("lib/alhena/abi")).unwrap();
        let seen = folder_of(made.join("lib/alhena/abi/../../libmpi_abi.so.1").to_str().unwrap());
        assert_eq!(seen, Some(made.canonicalize().unwrap()));
        std::fs::remove_dir_all(&made).unwrap();
    }

    #[test]
    fn statics_lie_in_writable_segments() {
        static ZERO: AtomicU64 = AtomicU64::new(0);
        static ONE: AtomicU64 = AtomicU64::new(1);
        let segments = super::writable();
        assert!(segments.is_sorted_by(|one, next| one.end <= next.start));
        for word in [&ZERO, &ONE] {
            assert!(segments.iter().any(|segment| segment.contains(&word.as_ptr().addr())));
        }
    }

    #[test]
    fn an_address_is_in_one_module() {
        let here = an_address_is_in_one_module as *const () as u64;
        let module = super::module_at(here).unwrap();
        assert_eq!(module.path, std::env::current_exe().unwrap());
        assert!(module.range.contains(&here) && module.bias <= here);
        let other = super::module_at(libc::getpid as *const () as u64).unwrap();
        assert!(other.path.is_absolute() && other.path != module.path, "{other:?}");
        assert!(super::module_at(0).is_none());
        let file = other.path.file_name().unwrap().to_str().unwrap();
        assert_eq!(super::library(file), Some(other.clone()));
        assert!(super::library("there is no such library").is_none());
    }

    #[test]
    fn a_build_id_is_found_among_notes() {
        let note = |name: &[u8], content: &[u8], kind: u32| {
            let words = [name.len() as u32, content.len() as u32, kind];
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            for part in [name, content] {
                bytes.extend_from_slice(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let notes = [note(b"GNU\0", b"abcde", 1), note(b"GNU\0", b"0123456", 3)].concat();
        assert_eq!(super::build_id(&notes), Some(&b"0123456"[..]));
        assert_eq!(super::build_id(&notes[..20]), None);
        let short = note(b"GNU\0", b"\xab\xcd", 3);
        assert_eq!(super::build_id(&short), Some(&b"\xab\xcd"[..]));
        (0..18).for_each(|length| assert_eq!(super::build_id(&short[..length]), None, "{length}"));
        assert_eq!(super::build_id(&[0xff; 40]), None);
    }

    #[test]
    fn a_prefix_is_absolute() {
        assert!(super::prefix().is_none_or(|prefix| prefix.is_absolute()));
    }
}
