//! Memory that a tool's findings or counts outlive the rank in: words of 64 bits, which `mpiexec` holds.
//!
//! ```text
//!   │ header 64 │ modules 64 x 48 │ the tool's own tables │
//! ```
//!
//! All is zero at first. Each table is filled from its beginning, and its number of rows is in the header. A row is written
//! before it is counted. Addresses mean nothing once a process is gone, so a place is a module and an offset in its file.
//!
//! A reader copies, and believes no index, length or text.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;

use platform::image;

use crate::{FUNCTIONS, clock, index};

/// The words of this process.
pub type Words = &'static [AtomicU64];

/// Words of the header.
pub const HEADER: usize = 64;

/// Words of the header that all tools have.
pub mod at {
    #![allow(missing_docs, reason = "each has its reason beside it")]
    /// A name and the version of the layout, once the rank has written.
    pub const MAGIC: usize = 0;
    pub const RANK: usize = 1;
    pub const SIZE: usize = 2;
    pub const PID: usize = 3;
    /// Nanoseconds since 1970.
    pub const STARTED: usize = 4;
    pub const MODULES: usize = 9;
    pub const HOST: usize = 20;
    pub const COMMAND: usize = 28;
}

const HOST_WORDS: usize = at::COMMAND - at::HOST;
const COMMAND_WORDS: usize = HEADER - at::COMMAND;

/// A table within the words.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its first word.
    pub begin: usize,
    /// Words of a row.
    pub width: usize,
    /// Rows that there is room for.
    pub rows: usize,
    /// The word of the header that counts the rows in use.
    pub used: usize,
}

impl Table {
    /// A table of so many rows behind `before`.
    pub const fn after(before: usize, width: usize, rows: usize, used: usize) -> Table {
        Table { begin: before, width, rows, used }
    }

    /// The word behind it.
    pub const fn end(&self) -> usize {
        self.begin + self.width * self.rows
    }

    /// The words of a row.
    pub fn row<'w>(&self, words: &'w [AtomicU64], row: usize) -> &'w [AtomicU64] {
        &words[self.begin + row * self.width..][..self.width]
    }

    /// Rows in use.
    pub fn len(&self, words: &[AtomicU64]) -> usize {
        (words[self.used].load(Acquire) as usize).min(self.rows)
    }

    /// Whether no row is in use.
    pub fn is_empty(&self, words: &[AtomicU64]) -> bool {
        self.len(words) == 0
    }

    /// Copies of the rows in use.
    pub fn copied(&self, words: &[AtomicU64]) -> Vec<Vec<u64>> {
        let copied = |row: usize| self.row(words, row).iter().map(|word| word.load(Relaxed)).collect();
        (0..self.len(words)).map(copied).collect()
    }

    /// Adds a row, by one thread at a time; `None`: there is no room.
    pub fn append(&self, words: &[AtomicU64], fill: impl FnOnce(&[AtomicU64])) -> Option<usize> {
        let row = self.len(words);
        if row == self.rows {
            return None;
        }
        fill(self.row(words, row));
        // Release: a reader that counts the row sees what it stands for.
        words[self.used].store(row as u64 + 1, Release);
        Some(row)
    }

    /// The row that begins with `key`, or a new one, whose other words `fill` writes; `None`: there is no room. By one thread at a
    /// time.
    pub fn row_of(&self, words: &[AtomicU64], key: &[u64], fill: impl FnOnce(&[AtomicU64])) -> Option<usize> {
        let is_it =
            |row: &usize| key.iter().zip(self.row(words, *row)).all(|(&has, word)| word.load(Relaxed) == has);
        let known = (0..self.len(words)).find(is_it);
        known.or_else(|| {
            self.append(words, |row| {
                row.iter().zip(key).for_each(|(word, &value)| word.store(value, Relaxed));
                fill(row);
            })
        })
    }
}

/// Bias, first address, end, length of the build-id, build-id 4, length of the path, path.
pub const MODULES: Table = Table::after(HEADER, 48, 64, at::MODULES);
/// Words of the path of a module.
const PATH: usize = 9;
/// A module that is not known: memory without a file.
pub const NO_MODULE: u64 = 0xffff_ffff;

/// The words of this rank, at least `least`, in the memory that the variable names; `None`: none is named, or the reason is
/// printed. `flag` is the one of mpiexec that asks for the tool.
pub fn of_variable(variable: &str, least: usize, flag: &str) -> Option<Words> {
    let path = std::env::var_os(variable)?;
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    let (rank, size) = number("PMI_RANK").zip(number("PMI_SIZE"))?;
    let mapped = map(&path, rank, size, least);
    let explain = |error: &std::io::Error| {
        eprintln!(
            "alhena: {flag} does not see rank {rank}\n  seen: its memory {} cannot be mapped: {error}\n  next: look at `ulimit \
             -v`, or start it without {flag}",
            path.display()
        );
    };
    let words = mapped.inspect_err(explain).ok()?;
    words[at::RANK].store(rank.into(), Relaxed);
    words[at::SIZE].store(size.into(), Relaxed);
    Some(words)
}

/// Bytes of each of `ranks` ranks in memory of so many: whole pages.
pub fn bytes_of_rank(memory: u64, ranks: u32) -> u64 {
    memory / u64::from(ranks.max(1)) / 4096 * 4096
}

/// Maps the words of rank `rank` of `size`.
fn map(path: &OsStr, rank: u32, size: u32, least: usize) -> std::io::Result<Words> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let each = bytes_of_rank(file.metadata()?.len(), size);
    if each < least as u64 * 8 || rank >= size {
        return Err(std::io::Error::other("it has no place for this rank"));
    }
    // SAFETY: the file is that long, and nothing shortens it: mpiexec seals it. The mapping stays until the process ends.
    let address = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            each as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            (u64::from(rank) * each) as i64,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the mapping is that long, aligned to a page, and all access to it is atomic.
    Ok(unsafe { core::slice::from_raw_parts(address.cast::<AtomicU64>(), each as usize / 8) })
}

/// The name of this host.
fn host() -> Vec<u8> {
    let mut host = [0u8; 64];
    // SAFETY: the function writes at most that many bytes.
    unsafe { libc::gethostname(host.as_mut_ptr().cast(), host.len() - 1) };
    host.into_iter().take_while(|&byte| byte != 0).collect()
}

/// A number that all processes of this host have, and those of another one most probably have not.
pub fn host_number() -> u64 {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    index::hash(host().into_iter().chain(boot))
}

/// Writes who this is. What an earlier program in the place of this rank has written stays.
pub fn introduce(words: &[AtomicU64], magic: u64) {
    let mut command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    command.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
    put_text(&words[at::HOST..][..HOST_WORDS], &host());
    put_text(&words[at::COMMAND..][..COMMAND_WORDS], command.trim_ascii_end());
    words[at::PID].store(std::process::id().into(), Relaxed);
    if words[at::STARTED].load(Relaxed) == 0 {
        words[at::STARTED].store(clock::unix_time(), Relaxed);
    }
    // Release: a reader that finds it finds the rest.
    words[at::MAGIC].store(magic, Release);
}

/// A place of calls: two words of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The function's number in [`FUNCTIONS`].
    pub function: usize,
    /// Index of its module; `None` where it lies in no file.
    pub module: Option<usize>,
    /// The address in the module's file to which the call returns.
    pub offset: u64,
}

impl Place {
    /// The words for the calls of `function` that return to `address`: the function plus 1 above the module, and the offset. One
    /// thread at a time.
    pub fn words(words: &[AtomicU64], function: usize, address: usize) -> [u64; 2] {
        let (module, offset) = module_of(words, address);
        [((function as u64 + 1) << 32) | module, offset]
    }

    /// The place that the first two words of `row` are of, beside so many modules; `None`: they are of none.
    pub fn read(row: &[u64], modules: usize) -> Option<Place> {
        let function = (row[0] >> 32).checked_sub(1)? as usize;
        let module = row[0] as u32 as usize;
        (function < FUNCTIONS.len()).then(|| Place {
            function,
            module: Some(module).filter(|&module| module < modules),
            offset: row[1],
        })
    }
}

/// The module of an address, entered where it is new, and the address in its file. One thread at a time.
fn module_of(words: &[AtomicU64], address: usize) -> (u64, u64) {
    let address = address as u64;
    let Some(module) = image::module_at(address) else { return (NO_MODULE, address) };
    let offset = address.wrapping_sub(module.bias);
    let key = [module.bias, module.range.start, module.range.end];
    let row = MODULES.row_of(words, &key, |row| put_module(row, &module));
    row.map_or((NO_MODULE, address), |row| (row as u64, offset))
}

/// Writes the words behind those that a module is known by.
fn put_module(row: &[AtomicU64], module: &image::Module) {
    let id = &module.build_id[..module.build_id.len().min(32)];
    row[3].store(id.len() as u64, Relaxed);
    let path = module.path.as_os_str().as_bytes();
    put_text(&row[4..8], id);
    row[8].store(path.len() as u64, Relaxed);
    put_text(&row[PATH..], path);
}

/// Writes text into words, cut where they end.
fn put_text(words: &[AtomicU64], text: &[u8]) {
    for (index, word) in words.iter().enumerate() {
        let mut bytes = [0; 8];
        let from = (index * 8).min(text.len());
        let part = &text[from..(from + 8).min(text.len())];
        bytes[..part.len()].copy_from_slice(part);
        word.store(u64::from_le_bytes(bytes), Relaxed);
    }
}

fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.to_le_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Who has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Its process.
    pub pid: i32,
    /// Nanoseconds since 1970 when it began.
    pub started: u64,
    /// Its host.
    pub host: String,
    /// Its command line.
    pub command: String,
}

/// Who has written the words.
pub fn names(words: &[AtomicU64]) -> Names {
    let header: Vec<u64> = words[..HEADER].iter().map(|word| word.load(Relaxed)).collect();
    Names {
        pid: header[at::PID] as i32,
        started: header[at::STARTED],
        host: text(&header[at::HOST..][..HOST_WORDS]),
        command: text(&header[at::COMMAND..][..COMMAND_WORDS]),
    }
}

/// A file that places lie in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Module {
    /// Its path.
    pub path: String,
    /// Its build-id; empty where it has none.
    pub build_id: Vec<u8>,
}

/// The files that places lie in, by number.
pub fn modules(words: &[AtomicU64]) -> Vec<Module> {
    MODULES.copied(words).iter().map(|row| module(row)).collect()
}

fn module(row: &[u64]) -> Module {
    let id = row[4..8].iter().flat_map(|word| word.to_le_bytes()).take((row[3] as usize).min(32)).collect();
    Module { path: text(&row[PATH..]), build_id: id }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_comes_back() {
        let row: Vec<AtomicU64> = (0..48).map(|_| AtomicU64::new(7)).collect();
        let build_id = vec![1, 2, 3];
        let module =
            image::Module { path: "/a/b".into(), build_id, is_library: true, bias: 0, range: 0..4096 };
        put_module(&row, &module);
        let copied: Vec<u64> = row.iter().map(|word| word.load(Relaxed)).collect();
        assert_eq!(super::module(&copied), Module { path: "/a/b".into(), build_id: vec![1, 2, 3] });
    }

    #[test]
    fn an_address_has_one_module() {
        let words: Vec<AtomicU64> = (0..MODULES.end()).map(|_| AtomicU64::new(0)).collect();
        let here = an_address_has_one_module as fn() as usize;
        assert_eq!(module_of(&words, here), module_of(&words, here));
        assert_eq!(MODULES.len(&words), 1);
        assert_eq!(module_of(&words, 8), (NO_MODULE, 8));
    }
}
