//! The program and its shared objects: where they lie, and what names them after the process has gone.

use core::ffi::{CStr, c_int, c_void};

/// A loaded object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Its file.
    pub path: String,
    /// What was added to the addresses of the file.
    pub bias: usize,
    /// The addresses of its code and data, from the first to behind the last.
    pub begin: usize,
    /// Behind its last address.
    pub end: usize,
    /// Its build-id; empty where the linker wrote none.
    pub build_id: Vec<u8>,
}

/// The object that holds `address`.
pub fn of(address: usize) -> Option<Module> {
    all().into_iter().find(|module| (module.begin..module.end).contains(&address))
}

/// All objects of this process.
pub fn all() -> Vec<Module> {
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: `each` gets the address of `found`, which lives until the call has returned.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
    found
}

unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the loader hands on its own description and the address that `all` gave.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Module>>()) };
    // SAFETY: the loader's table of program headers has that many entries.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let bias = info.dlpi_addr as usize;
    let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let begin = loaded().map(|header| bias + header.p_vaddr as usize).min().unwrap_or(0);
    let end = loaded().map(|header| bias + (header.p_vaddr + header.p_memsz) as usize).max().unwrap_or(0);
    // SAFETY: the loader's names end with a NUL.
    let name =
        unsafe { info.dlpi_name.as_ref().map(|name| CStr::from_ptr(name).to_string_lossy().into_owned()) };
    let path = match name.filter(|name| !name.is_empty()) {
        Some(name) => name,
        None if found.is_empty() => {
            std::fs::read_link("/proc/self/exe").map(|path| path.display().to_string()).unwrap_or_default()
        }
        None => String::new(),
    };
    let build_id = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_NOTE)
        .find_map(|header| {
            // SAFETY: the segment is mapped where the loader put it.
            let notes = unsafe {
                core::slice::from_raw_parts(
                    (bias + header.p_vaddr as usize) as *const u8,
                    header.p_memsz as usize,
                )
            };
            build_id(notes)
        })
        .unwrap_or_default();
    found.push(Module { path, bias, begin, end, build_id });
    0
}

/// The build-id among the notes of a segment.
fn build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    const BUILD_ID: u32 = 3;
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    while notes.len() >= 12 {
        let (name, length, kind) = (word(notes, 0)? as usize, word(notes, 4)? as usize, word(notes, 8)?);
        let at = 12 + name.next_multiple_of(4);
        if kind == BUILD_ID && notes.get(12..12 + name) == Some(b"GNU\0") {
            return notes.get(at..at + length).map(<[u8]>::to_vec);
        }
        notes = notes.get(at + length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_this_program_lies_in_its_file() {
        let module =
            of(build_id as fn(&'static [u8]) -> Option<Vec<u8>> as usize).expect("this program is loaded");
        assert_eq!(module.path, std::env::current_exe().unwrap().display().to_string());
    }

    #[test]
    fn notes_that_end_early_have_no_build_id() {
        let mut note = Vec::new();
        [4u32, 2, 3].iter().for_each(|word| note.extend(word.to_ne_bytes()));
        note.extend(b"GNU\0\xab\xcd\0\0");
        assert_eq!(build_id(&note), Some(vec![0xab, 0xcd]));
        for length in 0..18 {
            assert_eq!(build_id(&note[..length]), None, "{length}");
        }
    }
}
