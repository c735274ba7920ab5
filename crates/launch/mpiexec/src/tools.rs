//! Tools that look at the ranks' MPI calls: what the ranks get to load, and what is done with it after the job.
//!
//! ```text
//!   mpiexec ── makes memory, names it ──► ranks: libalhena_preload.so writes its tables there
//!      │                                    │  whatever happens to them; daemons bring those of their hosts (rte::tables)
//!      └── after the job: alhena profile ◄──┘  reads the memory, writes the reports
//! ```

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rte::spec::Tables;

use crate::installation;
use crate::usage::UsageError;

/// The tools that are asked for.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// `-record`: where the calls of each rank are written.
    pub record: Option<PathBuf>,
    /// `-profile`: how the reports are called, if that was given.
    pub profile: Option<Option<PathBuf>>,
    /// `-check`: where the findings go as JSON, if that was asked for.
    pub check: Option<Option<PathBuf>>,
    /// `-check-sends`: standard sends wait for their receive.
    pub sends: bool,
    /// `-trace`: the file of the timeline.
    pub trace: Option<PathBuf>,
    /// `-trace-events`: how many events of each rank are kept.
    pub events: Option<u64>,
}

/// The tools of a job.
#[derive(Debug, Default)]
pub struct Tools {
    /// What is set for the ranks.
    pub variables: Vec<(OsString, OsString)>,
    /// What they load before all else.
    pub preload: Option<PathBuf>,
    memories: Vec<Memory>,
    ranks: u32,
}

/// Memory in which the ranks leave what a tool has seen, and what reads it after the job.
#[derive(Debug)]
struct Memory {
    tables: Tables,
    /// The command of `alhena`.
    command: &'static str,
    /// What the command is to write; some add an extension.
    output: Option<PathBuf>,
}

/// The library that wraps MPI's functions, from the root of the installation.
const WRAPPERS: &str = "lib/libalhena_preload.so";
/// The command of `alhena` whose exit code is that of the job.
const CHECK: &str = "check";
/// Memory of a rank for one tool. Only what it writes is there.
const TABLES: u64 = 512 << 10;
/// Bytes of an event of a timeline.
const EVENT: u64 = 64;
/// Events of a rank that a timeline keeps.
const EVENTS: u64 = 64 << 10;

impl ToolOptions {
    fn wants_any(&self) -> bool {
        self.record.is_some() || self.profile.is_some() || self.check.is_some() || self.trace.is_some()
    }
}

impl Tools {
    /// What a job of so many ranks needs whose first program is `program`.
    pub fn new(options: &ToolOptions, ranks: u32, program: &OsStr) -> Result<Tools, UsageError> {
        if !options.wants_any() {
            return Ok(Tools::default());
        }
        let mut tools = Tools { ranks, preload: Some(installed(WRAPPERS)?), ..Tools::default() };
        if let Some(folder) = &options.record {
            tools.variables.push(("ALHENA_RECORD".into(), absolute(folder).into_os_string()));
        }
        if let Some(name) = &options.check {
            tools.add("ALHENA_CHECK", TABLES, CHECK, name.clone())?;
            if options.sends {
                tools.variables.push(("ALHENA_CHECK_SENDS".into(), "1".into()));
            }
        }
        if let Some(name) = &options.profile {
            let usual = || {
                let mut name = Path::new(program).file_name().unwrap_or(program).to_owned();
                name.push(".profile");
                PathBuf::from(name)
            };
            tools.add("ALHENA_PROFILE", TABLES, "profile", Some(name.clone().unwrap_or_else(usual)))?;
        }
        if let Some(file) = &options.trace {
            let bytes = TABLES + options.events.unwrap_or(EVENTS) * EVENT;
            tools.add("ALHENA_TRACE", bytes.next_multiple_of(4096), "timeline", Some(file.clone()))?;
        }
        Ok(tools)
    }

    fn add(
        &mut self,
        variable: &str,
        bytes: u64,
        command: &'static str,
        output: Option<PathBuf>,
    ) -> Result<(), UsageError> {
        let memory = rte::tables::memory(u64::from(self.ranks) * bytes).map_err(UsageError::Tables)?;
        let tables = Tables { variable: variable.to_owned(), bytes, memory: Arc::new(memory) };
        self.memories.push(Memory { tables, command, output: output.as_deref().map(absolute) });
        Ok(())
    }

    /// The memory that the ranks fill.
    pub fn tables(&self) -> Vec<Tables> {
        self.memories.iter().map(|memory| memory.tables.clone()).collect()
    }

    /// The job is over with this exit code: writes the reports. Gives the exit code with what they have found.
    pub fn report(&self, code: u8) -> u8 {
        let mut judged = code;
        for memory in &self.memories {
            let found = memory.report(self.ranks, code);
            // A profile that could not be written is no fault of the program.
            if memory.command == CHECK && judged == 0 {
                judged = found;
            }
        }
        judged
    }
}

impl Memory {
    /// A name of the memory for other processes of this host.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.tables.memory.as_raw_fd())
    }

    /// Has the command read it; its exit code.
    fn report(&self, ranks: u32, code: u8) -> u8 {
        let run = || {
            let alhena = installed("bin/alhena").map_err(|error| error.to_string())?;
            let mut command = Command::new(&alhena);
            command.args([self.command, "--ranks", &ranks.to_string(), "--exit-code", &code.to_string()]);
            command.args(["--memory", &self.path()]);
            if let Some(output) = &self.output {
                command.arg("--output").arg(output);
            }
            command.status().map_err(|error| format!("{}: {error}", alhena.display()))
        };
        match run() {
            Ok(status) => status.code().map_or(1, |code| code as u8),
            Err(seen) => {
                let _ = writeln!(
                    std::io::stderr(),
                    "mpiexec: reporting what the ranks left failed\n  seen: {seen}\n  next: install Alhena whole: make \
                     install PREFIX=DIR"
                );
                1
            }
        }
    }
}

/// A file of this installation.
fn installed(file: &'static str) -> Result<PathBuf, UsageError> {
    installation::installed(file).ok_or(UsageError::NotInstalled { file })
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
