//! The compiler's command line.

use std::ffi::OsString;

use crate::language::{LIBRARY, Language};
use crate::modules;
use crate::prefix::Prefix;
use crate::request::Request;
use crate::settings::Settings;

/// What the archive needs of the system; empty stubs where the C library holds them itself.
const SYSTEM_LIBRARIES: [&str; 4] = ["-lpthread", "-ldl", "-lrt", "-lm"];

/// The whole command for this call.
pub fn whole(language: &Language, request: &Request, settings: &Settings, prefix: &Prefix) -> Vec<OsString> {
    let mut words = with_compiler(settings, os(&settings.before));
    words.extend(request.rest.iter().cloned());
    words.extend(include_flags(settings, prefix));
    if request.links() {
        words.extend(link_flags(language, request, settings, prefix));
    }
    words
}

/// The compiler, then `flags`.
pub fn with_compiler(settings: &Settings, flags: Vec<OsString>) -> Vec<OsString> {
    let mut words = os(&settings.compiler);
    words.extend(flags);
    words
}

/// What is added when compiling.
pub fn compile_flags(settings: &Settings, prefix: &Prefix) -> Vec<OsString> {
    let mut words = os(&settings.before);
    words.extend(include_flags(settings, prefix));
    words
}

/// What is added when linking. The runpath, unlike an rpath, yields to `LD_LIBRARY_PATH`.
pub fn link_flags(
    language: &Language,
    request: &Request,
    settings: &Settings,
    prefix: &Prefix,
) -> Vec<OsString> {
    let mut words = os(&settings.link);
    if !prefix.is_system() {
        words.push(glued("-L", prefix.lib()));
    }
    words.extend(os(&settings.before_library));
    if request.static_mpi {
        // By name, not by path: a path would be read as source code behind the user's `-x c`.
        words.push(format!("-l:lib{LIBRARY}.a").into());
    } else {
        if !prefix.is_system() && !request.static_all {
            words.push(glued("-Wl,-rpath,", prefix.lib()));
            words.push("-Wl,--enable-new-dtags".into());
        }
        words.extend(language.libraries.iter().map(|name| format!("-l{name}").into()));
    }
    let stated = settings.modules.as_deref().map(modules::link_flags);
    words.extend(os(&stated.unwrap_or_default()));
    words.extend(os(&settings.libraries));
    if request.static_mpi || request.static_all {
        words.extend(SYSTEM_LIBRARIES.map(OsString::from));
    }
    words
}

fn include_flags(settings: &Settings, prefix: &Prefix) -> Vec<OsString> {
    let mut words = os(&settings.include);
    if !prefix.is_system() {
        words.push(glued("-I", prefix.include()));
    }
    words.extend(settings.modules.iter().map(|folder| glued("-I", folder)));
    words
}

fn glued(flag: &str, value: impl Into<OsString>) -> OsString {
    let mut word = OsString::from(flag);
    word.push(value.into());
    word
}

fn os(words: &[String]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}
