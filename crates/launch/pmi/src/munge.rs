//! Credentials of munge, the service by which the hosts of a cluster vouch for users to each other: text that only
//! processes of one user can read, and that names the user that wrote it. Its library is loaded when it is needed.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use crate::library::Library;

const SUCCESS: c_int = 0;
/// The credential is sound, but old, or was read on this host before: each rank of a host reads it.
const SOUND: [c_int; 3] = [15, 16, 17];
/// Option of a context: the user that may read what is written.
const UID_RESTRICTION: c_int = 9;

/// The library.
pub(crate) struct Munge {
    create: unsafe extern "C" fn() -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    set: unsafe extern "C" fn(*mut c_void, c_int, ...) -> c_int,
    encode: unsafe extern "C" fn(*mut *mut c_char, *mut c_void, *const c_void, c_int) -> c_int,
    decode: unsafe extern "C" fn(
        *const c_char,
        *mut c_void,
        *mut *mut c_void,
        *mut c_int,
        *mut libc::uid_t,
        *mut libc::gid_t,
    ) -> c_int,
    words: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Munge {
    /// # Errors
    /// The loader's word.
    pub(crate) fn load() -> Result<Munge, String> {
        let library = Library::open([Path::new("libmunge.so.2")])?;
        // SAFETY: the library's functions of these names have had these types in all its releases.
        unsafe {
            Ok(Munge {
                create: library.function(c"munge_ctx_create")?,
                destroy: library.function(c"munge_ctx_destroy")?,
                set: library.function(c"munge_ctx_set")?,
                encode: library.function(c"munge_encode")?,
                decode: library.function(c"munge_decode")?,
                words: library.function(c"munge_strerror")?,
            })
        }
    }

    /// A credential that holds `text` for processes of this user, on all hosts.
    ///
    /// # Errors
    /// The service's word.
    pub(crate) fn encode(&self, text: &str) -> Result<String, String> {
        let mut credential = ptr::null_mut();
        // SAFETY: the context is destroyed after its last use; text and credential live during the calls. What the library
        // makes comes from malloc.
        unsafe {
            let context = (self.create)();
            if context.is_null() {
                return Err("no memory".to_owned());
            }
            let mut status = (self.set)(context, UID_RESTRICTION, libc::geteuid());
            if status == SUCCESS {
                let length = text.len() as c_int;
                status = (self.encode)(&raw mut credential, context, text.as_ptr().cast(), length);
            }
            (self.destroy)(context);
            if status != SUCCESS || credential.is_null() {
                libc::free(credential.cast());
                return Err(self.describe(status));
            }
            let written = CStr::from_ptr(credential).to_string_lossy().into_owned();
            libc::free(credential.cast());
            Ok(written)
        }
    }

    /// What a credential holds, if this very user has written it.
    ///
    /// # Errors
    /// The service's word.
    pub(crate) fn decode(&self, credential: &str) -> Result<String, String> {
        let credential = CString::new(credential).map_err(|_| "it is no credential".to_owned())?;
        let (mut data, mut length, mut user, mut group) = (ptr::null_mut(), 0, libc::uid_t::MAX, 0);
        // SAFETY: all places are writable during the call, and null stands for the settings as they are. What the library
        // makes comes from malloc and has the length it returns.
        unsafe {
            let status = (self.decode)(
                credential.as_ptr(),
                ptr::null_mut(),
                &raw mut data,
                &raw mut length,
                &raw mut user,
                &raw mut group,
            );
            let bytes = match (data.is_null(), usize::try_from(length)) {
                (false, Ok(length)) => std::slice::from_raw_parts(data.cast::<u8>(), length).to_vec(),
                _ => Vec::new(),
            };
            libc::free(data);
            if status != SUCCESS && !SOUND.contains(&status) {
                return Err(self.describe(status));
            }
            if user != libc::geteuid() {
                return Err(format!("user {user} has written it"));
            }
            String::from_utf8(bytes).map_err(|_| "it holds no text".to_owned())
        }
    }

    fn describe(&self, status: c_int) -> String {
        // SAFETY: the library's own text for any number.
        let text = unsafe {
            let text = (self.words)(status);
            if text.is_null() { "".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        format!("munge: {text}")
    }
}
