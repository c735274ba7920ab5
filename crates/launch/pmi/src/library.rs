//! Libraries of launchers, loaded when they are needed: no file of this library names them.

use std::ffi::{CStr, CString, c_void};
use std::path::Path;

/// A library that stays loaded until the process ends.
#[derive(Clone, Copy)]
pub(crate) struct Library(*mut c_void);

// SAFETY: a handle of dlopen may be used by any thread.
unsafe impl Send for Library {}

impl Library {
    /// The first of `names` (files, or names that the loader looks for) that can be loaded. Its symbols stay its own.
    ///
    /// # Errors
    /// The loader's word on the last one.
    pub(crate) fn open<'a>(names: impl IntoIterator<Item = &'a Path>) -> Result<Library, String> {
        let mut why = "no name was given".to_owned();
        for name in names {
            let Ok(name) = CString::new(name.as_os_str().as_encoded_bytes()) else { continue };
            // SAFETY: the name ends with a zero byte. The library's initializers run, as with any library of a program.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                return Ok(Library(handle));
            }
            why = last_error();
        }
        Err(why)
    }

    /// A function.
    ///
    /// # Safety
    /// `F` is the type of the library's function of this name.
    ///
    /// # Errors
    /// The loader's word.
    pub(crate) unsafe fn function<F: Copy>(self, name: &CStr) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let address = self.symbol(name)?;
        // SAFETY: both have the size of a pointer, and the caller promises that there is such a function.
        Ok(unsafe { std::mem::transmute_copy(&address) })
    }

    fn symbol(self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: the handle is open for ever and the name ends with a zero byte.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if found.is_null() { Err(last_error()) } else { Ok(found) }
    }
}

fn last_error() -> String {
    // SAFETY: dlerror returns null or text that lives until this thread's next call of the loader.
    let text = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    text.unwrap_or_else(|| "the loader does not say why".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let why = Library::open([Path::new("libalhena-nothing.so.9")]).err().unwrap();
        assert!(why.contains("libalhena-nothing.so.9"), "{why}");
        let c = Library::open([Path::new("libc.so.6")]).unwrap();
        assert!(c.symbol(c"getpid").is_ok());
        assert!(c.symbol(c"alhena_nothing").is_err());
    }
}
