//! Joining a job whose launcher serves PMIx (`prterun`, `srun --mpi=pmix`): its client library, loaded for the purpose.
//!
//! Eight functions and three structures, whose layouts are the same in all releases from 2 to 6. The library starts a
//! thread and does not survive `fork`, so a launcher that offers PMI-1, too, is asked by that.

use std::collections::HashMap;
use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;

use crate::abort::AbortFunction;
use crate::library::Library;
use crate::pmi1::JobPlace;
use crate::{Error, mapping};

/// Names the library, where it is not among those that the loader finds.
const LIBRARY: &str = "ALHENA_LIBPMIX";
const NAMES: &[&str] = &["libpmix.so.2", "pmix2/lib/libpmix.so.2"];
const STEP: &str = "MPI_Init: PMIx";

const SUCCESS: c_int = 0;
const GLOBAL: u8 = 3;
/// A rank that stands for the whole job.
const EVERYBODY: u32 = u32::MAX - 1;

/// Names of types.
mod kind {
    pub const BOOL: u16 = 1;
    pub const STRING: u16 = 3;
    pub const SIZE: u16 = 4;
    pub const INT: u16 = 6;
    pub const INT32: u16 = 9;
    pub const UINT: u16 = 11;
    pub const UINT16: u16 = 13;
    pub const UINT32: u16 = 14;
    pub const UINT64: u16 = 15;
    pub const RANK: u16 = 40;
}

/// Longest key and name of a job, with the zero behind it.
const KEY: usize = 512;
const NAME: usize = 256;

#[repr(C)]
#[derive(Clone)]
struct Proc {
    name: [u8; NAME],
    rank: u32,
}

/// A type, and in the first bytes of `data` a value of it.
#[repr(C)]
struct Value {
    kind: u16,
    data: [u64; 3],
}

#[repr(C)]
struct Info {
    key: [u8; KEY],
    flags: u32,
    value: Value,
}

impl Info {
    fn yes(name: &[u8]) -> Info {
        let mut key = [0; KEY];
        key[..name.len()].copy_from_slice(name);
        Info { key, flags: 0, value: Value { kind: kind::BOOL, data: [1, 0, 0] } }
    }
}

/// The functions. All but `version` return a status.
struct Functions {
    init: unsafe extern "C" fn(*mut Proc, *mut Info, usize) -> c_int,
    finalize: unsafe extern "C" fn(*const Info, usize) -> c_int,
    put: unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int,
    commit: unsafe extern "C" fn() -> c_int,
    fence: unsafe extern "C" fn(*const Proc, usize, *const Info, usize) -> c_int,
    get: unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> c_int,
    abort: AbortFunction,
    version: unsafe extern "C" fn() -> *const c_char,
}

/// This process as a client of a PMIx server.
pub(crate) struct Pmix {
    functions: Functions,
    own: Proc,
}

/// Looks for a PMIx server. `None` where the environment names none.
pub(crate) fn contact() -> Result<Option<Pmix>, Error> {
    let given = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let server = env::vars_os().any(|(name, _)| name.as_encoded_bytes().starts_with(b"PMIX_SERVER_URI"));
    if !server || !given("PMIX_NAMESPACE") || !given("PMIX_RANK") {
        return Ok(None);
    }
    let named = env::var_os(LIBRARY).filter(|name| !name.is_empty()).map(PathBuf::from);
    let names: Vec<PathBuf> = match named {
        Some(name) => vec![name],
        None => NAMES.iter().map(PathBuf::from).collect(),
    };
    let lacking = |why| Error::Library { name: "libpmix.so.2", variable: LIBRARY, why };
    let library = Library::open(names.iter().map(PathBuf::as_path)).map_err(lacking)?;
    let functions = Functions::of(library).map_err(lacking)?;
    let mut own = Proc { name: [0; NAME], rank: 0 };
    // SAFETY: `own` is writable and as large as the library takes it for; no infos are passed.
    let status = unsafe { (functions.init)(&raw mut own, ptr::null_mut(), 0) };
    let client = Pmix { functions, own };
    client.check(STEP, status)?;
    Ok(Some(client))
}

impl Functions {
    fn of(library: Library) -> Result<Functions, String> {
        // SAFETY: the library's functions of these names have had these types in all its releases.
        unsafe {
            Ok(Functions {
                init: library.function(c"PMIx_Init")?,
                finalize: library.function(c"PMIx_Finalize")?,
                put: library.function(c"PMIx_Put")?,
                commit: library.function(c"PMIx_Commit")?,
                fence: library.function(c"PMIx_Fence")?,
                get: library.function(c"PMIx_Get")?,
                abort: library.function(c"PMIx_Abort")?,
                version: library.function(c"PMIx_Get_version")?,
            })
        }
    }
}

/// This process's place in the job.
pub(crate) fn place(client: &Pmix) -> Result<JobPlace, Error> {
    let rank = client.own.rank;
    let number = |of: u32, key: &CStr| client.told(of, key)?.number();
    let size = number(EVERYBODY, c"pmix.job.size");
    let size = size.ok_or_else(|| Error::protocol(STEP, "no pmix.job.size"))?;
    let size = u32::try_from(size).ok().filter(|&size| rank < size);
    let size = size.ok_or_else(|| Error::protocol(STEP, &format!("rank {rank} of too few")))?;
    Ok(JobPlace {
        rank,
        size,
        app_num: number(rank, c"pmix.appnum").and_then(|number| i32::try_from(number).ok()).unwrap_or(0),
        universe_size: number(EVERYBODY, c"pmix.univ.size")
            .and_then(|number| u32::try_from(number).ok())
            .filter(|&size| size > 0),
        node_of: client.nodes(size),
    })
}

impl Pmix {
    /// The node of each rank, by what every rank sees alike: a map of the job, numbers, names. Where none is given for all
    /// ranks, each is its own node.
    fn nodes(&self, size: u32) -> Vec<u32> {
        let text = |of, key| self.told(of, key)?.text();
        let map = text(EVERYBODY, c"pmix.anlmap");
        if let Some(nodes) = map.and_then(|map| mapping::parse(&map, size as usize)) {
            return nodes;
        }
        let number = |rank| u32::try_from(self.told(rank, c"pmix.nodeid")?.number()?).ok();
        if let Some(nodes) = (0..size).map(number).collect() {
            return nodes;
        }
        let mut known = HashMap::new();
        let by_name = |rank| {
            let name = text(rank, c"pmix.hname")?;
            let next = known.len() as u32;
            Some(*known.entry(name).or_insert(next))
        };
        (0..size).map(by_name).collect::<Option<_>>().unwrap_or_else(|| (0..size).collect())
    }

    /// Publishes `value` for all ranks.
    pub(crate) fn put(&self, key: &str, value: &str) -> Result<(), Error> {
        let (key, text) = (c_text(key), c_text(value));
        let mut value = Value { kind: kind::STRING, data: [text.as_ptr() as u64, 0, 0] };
        // SAFETY: both texts end with a zero byte and live during the call, which copies what it keeps.
        let status = unsafe { (self.functions.put)(GLOBAL, key.as_ptr(), &raw mut value) };
        self.check("put", status)
    }

    /// Waits for all ranks and takes what they have put along.
    pub(crate) fn fence(&self) -> Result<(), Error> {
        // SAFETY: no arguments.
        self.check("fence", unsafe { (self.functions.commit)() })?;
        let collect = Info::yes(b"pmix.collect");
        // SAFETY: no list means all ranks; the one info lives during the call.
        self.check("fence", unsafe { (self.functions.fence)(ptr::null(), 0, &raw const collect, 1) })
    }

    /// What `rank` has put under `key` before the last fence. The library waits for a key that no rank has put.
    ///
    /// "Immediate" would forbid it to ask its server, which keeps what came from other hosts with the fence.
    pub(crate) fn get(&self, rank: u32, key: &str) -> Result<String, Error> {
        let value = self.value(rank, &c_text(key), &[]).or_else(|status| {
            self.check("get", status).and(Err(Error::protocol("get", "a value that is none")))
        })?;
        value.text().ok_or_else(|| Error::protocol("get", &format!("key {key} of rank {rank} is no text")))
    }

    /// What the launcher has of `rank` under `key`, one of the library's own keys. `None`: nothing, and no wait.
    fn told(&self, rank: u32, key: &CStr) -> Option<Owned> {
        self.value(rank, key, &[Info::yes(b"pmix.immediate")]).ok()
    }

    /// Leaves the job.
    pub(crate) fn finalize(&self) -> Result<(), Error> {
        // SAFETY: no infos are passed.
        self.check("MPI_Finalize", unsafe { (self.functions.finalize)(ptr::null(), 0) })
    }

    pub(crate) fn abort(&self) -> AbortFunction {
        self.functions.abort
    }

    fn value(&self, rank: u32, key: &CStr, infos: &[Info]) -> Result<Owned, c_int> {
        let of = Proc { rank, ..self.own.clone() };
        let mut value = ptr::null_mut();
        // SAFETY: all arguments live during the call; the value that it makes becomes ours.
        let status = unsafe {
            (self.functions.get)(&raw const of, key.as_ptr(), infos.as_ptr(), infos.len(), &raw mut value)
        };
        if status == SUCCESS && !value.is_null() { Ok(Owned(value)) } else { Err(status) }
    }

    fn check(&self, step: &'static str, status: c_int) -> Result<(), Error> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: the library's own text, which lives as long as it.
        let version = unsafe {
            let text = (self.functions.version)();
            if text.is_null() { "".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        Err(Error::Refused { step, message: format!("PMIx status {status}, from {}", version.trim()) })
    }
}

/// Text with a zero byte behind it; what follows a zero in it is left out.
fn c_text(text: &str) -> CString {
    let bytes = text.split('\0').next().unwrap_or("");
    CString::new(bytes).unwrap_or_default()
}

/// A value that the library has made, from the C library's memory.
struct Owned(*mut Value);

impl Owned {
    fn number(&self) -> Option<i64> {
        // SAFETY: made by the library and not freed yet.
        let Value { kind, data: [word, ..] } = unsafe { &*self.0 };
        Some(match *kind {
            kind::SIZE | kind::UINT64 => i64::try_from(*word).ok()?,
            kind::UINT | kind::UINT32 | kind::RANK => i64::from(*word as u32),
            kind::INT | kind::INT32 => i64::from(*word as i32),
            kind::UINT16 => i64::from(*word as u16),
            _ => return None,
        })
    }

    fn text(&self) -> Option<String> {
        // SAFETY: as above.
        let Value { kind, data: [word, ..] } = unsafe { &*self.0 };
        let text = *word as *const c_char;
        // SAFETY: a value of this type holds null or text with a zero byte behind it.
        (*kind == kind::STRING && !text.is_null())
            .then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: value and text come from malloc, and no other code has them.
        unsafe {
            if (*self.0).kind == kind::STRING {
                libc::free((*self.0).data[0] as *mut c_void);
            }
            libc::free(self.0.cast());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_librarys_layout() {
        assert_eq!((size_of::<Proc>(), size_of::<Value>(), size_of::<Info>()), (260, 32, 552));
        assert_eq!(std::mem::offset_of!(Info, value), 520);
        assert_eq!(std::mem::offset_of!(Value, data), 8);
    }

    #[test]
    fn text_ends_at_a_zero() {
        assert_eq!(c_text("a\0b").as_bytes(), b"a");
    }
}
