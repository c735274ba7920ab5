//! The library: six functions, found by `dlopen` when they are first needed.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::ffi::CString;
use std::fmt;

use crate::abi::{self, Fabric, FabricAttr, Info};

type Version = unsafe extern "C" fn() -> u32;
type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int;
type FreeInfo = unsafe extern "C" fn(*mut Info);
type DupInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
type OpenFabric = unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fabric, *mut c_void) -> c_int;
type Words = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions that libfabric exports and that are used here; all others are reached through tables.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// `fi_version`
    pub version: Version,
    /// `fi_getinfo`
    pub getinfo: GetInfo,
    /// `fi_freeinfo`
    pub freeinfo: FreeInfo,
    /// `fi_dupinfo`
    pub dupinfo: DupInfo,
    /// `fi_fabric`
    pub fabric: OpenFabric,
    /// `fi_strerror`
    pub strerror: Words,
}

/// The library cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotLoaded {
    /// The file that was asked for.
    pub file: String,
    /// The loader's message.
    pub seen: String,
}

impl fmt::Display for NotLoaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "loading libfabric failed\n{}\ninstall it (Debian: apt install libfabric1), or name its file: --mca ofi_library FILE",
            self.seen
        )
    }
}

impl std::error::Error for NotLoaded {}

/// The newest API that is asked for; what came later is not used.
const NEWEST: u32 = abi::version(1, 18);

impl Library {
    /// Loads the library, which stays as long as the process.
    ///
    /// # Errors
    /// [`NotLoaded`]
    pub fn load(file: &str) -> Result<Library, NotLoaded> {
        let refused = |seen: String| NotLoaded { file: file.to_owned(), seen };
        let name = CString::new(file).map_err(|_| refused(String::from("its name has a zero byte")))?;
        // SAFETY: a C string; the library's initialisers are its own matter.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(refused(loader_error()));
        }
        let find = |symbol: &CStr| {
            // SAFETY: the handle is that of a loaded library.
            let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
            if found.is_null() { Err(refused(loader_error())) } else { Ok(found) }
        };
        macro_rules! function {
            ($symbol:literal, $type:ty) => {
                // SAFETY: the symbol of this name has this type in every version of the library.
                unsafe { core::mem::transmute::<*mut c_void, $type>(find($symbol)?) }
            };
        }
        Ok(Library {
            version: function!(c"fi_version", Version),
            getinfo: function!(c"fi_getinfo", GetInfo),
            freeinfo: function!(c"fi_freeinfo", FreeInfo),
            dupinfo: function!(c"fi_dupinfo", DupInfo),
            fabric: function!(c"fi_fabric", OpenFabric),
            strerror: function!(c"fi_strerror", Words),
        })
    }

    /// The API to ask for: the library's own, or the newest one known here.
    pub fn api(&self) -> u32 {
        // SAFETY: the function takes no arguments, and the library stays loaded as long as `self`.
        unsafe { (self.version)() }.min(NEWEST)
    }

    /// The library's words for an error number.
    pub fn words(&self, error: c_int) -> String {
        // SAFETY: any number may be asked for; the answer is a static string.
        let words = unsafe { (self.strerror)(error.abs()) };
        text(words).unwrap_or_else(|| format!("error {error}"))
    }
}

fn loader_error() -> String {
    // SAFETY: takes nothing; the answer stays until the thread's next call of the loader.
    text(unsafe { libc::dlerror() }).unwrap_or_else(|| String::from("the loader gives no reason"))
}

/// A copy of a C string.
pub(crate) fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the library's strings end with a zero byte.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
