//! Tools that look at the ranks' MPI calls: what the ranks get to load, and what is done with it after the job.
//!
//! ```text
//!   mpiexec ── makes memory, names it ──► ranks: libalhena_preload.so writes its tables there
//!      │                                    │  whatever happens to them
//!      └── after the job: alhena profile ◄──┘  reads the memory, writes the reports
//! ```

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use crate::job::prepend;
use crate::usage::UsageError;

/// The tools that are asked for.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// `-record`: where the calls of each rank are written.
    pub record: Option<PathBuf>,
    /// `-profile`: how the reports are called, if that was given.
    pub profile: Option<Option<PathBuf>>,
}

/// The tools of a job.
#[derive(Debug, Default)]
pub struct Tools {
    /// What is set for the ranks.
    pub variables: Vec<(OsString, OsString)>,
    profile: Option<Profile>,
}

/// The profile of a job.
#[derive(Debug)]
struct Profile {
    memory: OwnedFd,
    ranks: u32,
    name: PathBuf,
}

/// The library that wraps MPI's functions, from the root of the installation.
const WRAPPERS: &str = "lib/libalhena_preload.so";
/// Memory of a rank's tables. Only what it writes is there.
const TABLES: u64 = 512 << 10;

impl ToolOptions {
    fn wants_any(&self) -> bool {
        self.record.is_some() || self.profile.is_some()
    }
}

impl Tools {
    /// What a job of so many ranks needs whose first program is `program`.
    pub fn new(
        options: &ToolOptions,
        ranks: u32,
        program: &OsStr,
        elsewhere: bool,
    ) -> Result<Tools, UsageError> {
        if !options.wants_any() {
            return Ok(Tools::default());
        }
        let mut tools = Tools::default();
        tools.variables.push(prepend("LD_PRELOAD", &installed(WRAPPERS)?));
        if let Some(folder) = &options.record {
            tools.variables.push(("ALHENA_RECORD".into(), absolute(folder).into_os_string()));
        }
        if let Some(name) = &options.profile {
            if elsewhere {
                return Err(UsageError::Unsupported {
                    what: "-profile",
                    seen: "the job has ranks on other hosts, and tables are read on this one",
                    next: "run it on one host, or use mpiexec -record DIR there",
                });
            }
            let name = name.clone().unwrap_or_else(|| {
                let mut name = Path::new(program).file_name().unwrap_or(program).to_owned();
                name.push(".profile");
                PathBuf::from(name)
            });
            let memory = memory(u64::from(ranks) * TABLES).map_err(UsageError::Tables)?;
            let profile = Profile { memory, ranks, name: absolute(&name) };
            tools.variables.push(("ALHENA_PROFILE".into(), profile.path().into()));
            tools.profile = Some(profile);
        }
        Ok(tools)
    }

    /// The job is over with this exit code: writes the reports.
    pub fn report(&self, code: u8) {
        let Some(profile) = &self.profile else { return };
        if let Err(seen) = profile.report(code) {
            let _ = writeln!(
                std::io::stderr(),
                "mpiexec: writing the profile failed\n  seen: {seen}\n  next: install Alhena whole: make install \
                 PREFIX=DIR"
            );
        }
    }
}

impl Profile {
    /// A name of the memory for other processes of this host.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.memory.as_raw_fd())
    }

    fn report(&self, code: u8) -> Result<(), String> {
        let alhena = installed("bin/alhena").map_err(|error| error.to_string())?;
        let status = Command::new(&alhena)
            .args(["profile", "--ranks", &self.ranks.to_string(), "--exit-code", &code.to_string()])
            .args([
                OsStr::new("--memory"),
                self.path().as_ref(),
                OsStr::new("--output"),
                self.name.as_os_str(),
            ])
            .status();
        match status {
            // It has reported what was wrong.
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{}: {error}", alhena.display())),
        }
    }
}

/// Memory that no process can shorten.
fn memory(bytes: u64) -> std::io::Result<OwnedFd> {
    let fd = memfd_create(c"alhena-profile", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&fd, bytes)?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

/// A file of this installation.
fn installed(file: &'static str) -> Result<PathBuf, UsageError> {
    let found = env::current_exe().ok().and_then(|own| Some(own.parent()?.parent()?.join(file)));
    found.filter(|path| path.exists()).ok_or(UsageError::NotInstalled { file })
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
