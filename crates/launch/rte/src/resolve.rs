//! Finding a program before anything is started, so that a mistake gives one message instead of one per rank.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::Error;
use crate::look;
use crate::spec::App;

/// The file that `app` runs: as it is if its name has a slash (relative to the working directory of its
/// ranks), otherwise the first executable of that name in the search path and `PATH`.
pub fn program(app: &App) -> Result<PathBuf, Error> {
    if app.program.as_bytes().contains(&b'/') {
        let path = app.directory.as_deref().unwrap_or(Path::new("")).join(&app.program);
        return match look::kind(&path) {
            Err(_) => Err(missing(&app.program, &path.display().to_string())),
            Ok(_) => check_executable(&path).map(|()| path),
        };
    }
    let path_variable = env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let own = app.search_path.as_deref().map(env::split_paths).into_iter().flatten();
    let mut found_unusable = None;
    for directory in own.chain(env::split_paths(&path_variable)) {
        let path = directory.join(&app.program);
        if look::kind(&path).is_ok_and(|kind| kind.is_file()) {
            match check_executable(&path) {
                Ok(()) => return Ok(path),
                Err(e) => found_unusable = found_unusable.or(Some(e)),
            }
        }
    }
    Err(found_unusable.unwrap_or_else(|| missing(&app.program, "the directories of PATH")))
}

/// Checks that the working directory of `app` exists.
pub fn directory(app: &App) -> Result<(), Error> {
    let Some(path) = &app.directory else { return Ok(()) };
    let failed = |source| Error::Directory { path: path.clone(), source };
    if !look::kind(path).map_err(failed)?.is_dir() {
        return Err(failed(std::io::Error::from_raw_os_error(libc::ENOTDIR)));
    }
    rustix::fs::access(path, Access::EXEC_OK).map_err(|e| failed(e.into()))
}

fn missing(program: &OsStr, searched: &str) -> Error {
    Error::ProgramMissing { program: program.to_string_lossy().into_owned(), searched: searched.to_owned() }
}

fn check_executable(path: &Path) -> Result<(), Error> {
    let refuse = |reason: &str| Error::NotExecutable { path: path.to_owned(), reason: reason.to_owned() };
    match look::kind(path) {
        Ok(kind) if kind.is_dir() => return Err(refuse("it is a directory")),
        // Its first line is read below, and a pipe would be waited for.
        Ok(kind) if !kind.is_file() => return Err(refuse("it is neither a file nor a link to one")),
        _ => {}
    }
    rustix::fs::access(path, Access::EXEC_OK).map_err(|e| refuse(&std::io::Error::from(e).to_string()))?;
    match first_line(path).as_deref().and_then(interpreter) {
        Some(interpreter) if look::kind(&interpreter).is_err() => {
            Err(Error::Interpreter { path: path.to_owned(), interpreter })
        }
        _ => Ok(()),
    }
}

/// The beginning of the file up to the end of its first line, as far as the kernel reads it.
pub fn first_line(path: &Path) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    std::fs::File::open(path).ok()?.take(256).read_to_end(&mut line).ok()?;
    if let Some(end) = line.iter().position(|&byte| byte == b'\n') {
        line.truncate(end);
    }
    Some(line)
}

/// The program that a script names in its first line.
fn interpreter(line: &[u8]) -> Option<PathBuf> {
    let rest = line.strip_prefix(b"#!")?.trim_ascii_start();
    let end = rest.iter().position(|&byte| byte == b' ' || byte == b'\t').unwrap_or(rest.len());
    (end > 0).then(|| PathBuf::from(OsStr::from_bytes(&rest[..end])))
}
