//! `mpiexec`, also installed as `mpirun`: starts the ranks of an MPI job. The work is done by the crate
//! `rte`; this program reads the command line.
#![forbid(unsafe_code)]

mod allocation;
mod command_line;
mod config_file;
mod dialects;
mod flags;
mod help;
mod hosts;
mod installation;
mod job;
mod launcher;
mod manual;
mod options;
mod parameters;
mod phrasebook;
mod rankfile;
mod search_path;
mod spawned;
mod spread;
mod text_file;
mod tools;
mod usage;
mod variables;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use options::Show;

/// Exit code of a command line that makes no sense.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Command lines of Alhena's own processes are text.
    let text: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    match text.as_deref().unwrap_or_default() {
        ["-daemon"] => return rte::daemon(btl_vader::segment_bytes),
        ["-manual"] => return print(&manual::page()),
        ["-worker", address, seconds, file @ ..] => {
            let file = file.first().map(Path::new);
            let search = seconds.parse().map_or(rte::SEARCH, Duration::from_secs);
            return rte::worker(address, search, file, btl_vader::segment_bytes);
        }
        [pmi::launch::FLAG, descriptor, more @ ..] => return spawned::run(descriptor, more),
        _ => {}
    }
    let line = match command_line::parse(words) {
        Ok(line) => line,
        Err(error) => return refuse(&error, USAGE),
    };
    match line.job.show {
        Some(Show::Help) => return print(&help::help()),
        Some(Show::Version) => return print(&help::version()),
        None => {}
    }
    let planned = match job::plan(line) {
        Ok(planned) => planned,
        Err(error) => return refuse(&error, USAGE),
    };
    for note in &planned.notes {
        complain(note);
    }
    match rte::run(planned.spec) {
        Ok(code) => ExitCode::from(planned.tools.report(code)),
        Err(error) => refuse(&error, error.exit_code()),
    }
}

fn refuse(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    complain(error);
    ExitCode::from(code)
}

/// Prints to standard error. Where that cannot be written there is no way to report it.
fn complain(text: &dyn std::fmt::Display) {
    let _ = writeln!(io::stderr(), "mpiexec: {text}");
}

/// Prints to standard output; a reader that stops (`mpiexec -help | head`) is no error.
fn print(text: &str) -> ExitCode {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            refuse(&format!("writing to standard output: not possible\n  seen: {error}\n  next: see `df`"), 1)
        }
        _ => ExitCode::SUCCESS,
    }
}
