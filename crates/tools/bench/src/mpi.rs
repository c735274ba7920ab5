//! An installed MPI: how its programs are built and started.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::family::Family;
use crate::hosts::Hosts;

/// An MPI under measurement.
#[derive(Debug)]
pub struct Mpi {
    /// Its name in tables.
    pub label: String,
    /// Where it is installed.
    pub prefix: PathBuf,
    /// The first line of its launcher's version.
    pub version: String,
    family: Family,
    /// Arguments of its launcher beside the usual ones.
    settings: Vec<String>,
    hosts: Hosts,
    /// What it runs instead of the modes' programs: the installation's own tool with these arguments before those of the
    /// mode. None: the programs.
    pub tool: Option<&'static [&'static str]>,
}

/// One line that a measuring program printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Size of a message.
    pub bytes: u64,
    /// In the mode's unit.
    pub value: f64,
    /// Microseconds of processor time that all ranks together took for one message, where the program measures that.
    pub processor: Option<f64>,
    /// What the program measured beside it, in the same unit: its floor.
    pub floor: Option<f64>,
}

impl Mpi {
    /// The MPI installed in `prefix`.
    pub fn at(prefix: &Path) -> Result<Self, Error> {
        let missing = |missing| Error::NoMpi { prefix: prefix.into(), missing };
        if !prefix.join("bin/mpicc").exists() {
            return Err(missing("mpicc"));
        }
        let mut launcher = Command::new(prefix.join("bin/mpiexec"));
        let output = allow_root(&mut launcher).arg("--version").output().map_err(|_| missing("mpiexec"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let family = Family::of(&text);
        Ok(Self {
            label: match family {
                Family::Alhena => "Alhena".into(),
                Family::OpenMpi => "Open MPI".into(),
                Family::Mpich => "MPICH".into(),
                Family::Other => {
                    prefix.file_name().unwrap_or(prefix.as_os_str()).to_string_lossy().into_owned()
                }
            },
            version: version_in(&text),
            prefix: prefix.into(),
            family,
            settings: Vec::new(),
            hosts: Hosts::default(),
            tool: None,
        })
    }

    /// The MPI of a word as `--with` takes it: `LABEL=` if wanted, its prefix, then arguments for its launcher, with
    /// spaces between.
    pub fn with_arguments(text: &str) -> Result<Self, Error> {
        let (label, text) = match text.split_once('=') {
            Some((label, rest)) if !label.contains(['/', ' ']) => (Some(label), rest),
            _ => (None, text),
        };
        let mut words = text.split_whitespace();
        let mpi = Mpi::at(Path::new(words.next().unwrap_or_default()))?;
        let label = label.unwrap_or(&mpi.label).to_string();
        Ok(mpi.with_settings(&label, &words.collect::<Vec<_>>()))
    }

    /// The same between hosts.
    pub fn on(mut self, hosts: &Hosts) -> Self {
        self.hosts = hosts.clone();
        self
    }

    /// The same, with its folder's name as label where one of `others` has its label already.
    pub fn distinct_from(mut self, others: &[Mpi]) -> Self {
        if others.iter().any(|other| other.label == self.label) {
            self.label = folder_name(&self.prefix);
        }
        self
    }

    /// The same under another label, with arguments for its launcher.
    pub fn with_settings(mut self, label: &str, settings: &[&str]) -> Self {
        self.label = label.to_string();
        self.settings = settings.iter().map(|word| word.to_string()).collect();
        self
    }

    /// The installation's own tool, where that runs instead of the modes' programs.
    pub fn tool(&self) -> Option<PathBuf> {
        self.tool.map(|_| self.prefix.join("bin/alhena"))
    }

    /// Builds a measuring program.
    pub fn compile(&self, source: &Path, program: &Path) -> Result<(), Error> {
        let mut command = Command::new(self.prefix.join("bin/mpicc"));
        command.arg("-O2").arg(source).arg("-o").arg(program).args([
            "-std=c11",
            "-D_POSIX_C_SOURCE=200809L",
            "-lm",
        ]);
        let shown = show(&command);
        match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(Error::Build { seen: last_line(&output.stderr), command: shown }),
            Err(error) => Err(Error::Build { seen: error.to_string(), command: shown }),
        }
    }

    /// Runs a measuring program on `ranks` ranks and reads its lines; it is killed after `limit`.
    pub fn run(
        &self,
        ranks: u32,
        program: &Path,
        more: &[String],
        limit: Duration,
    ) -> Result<Vec<Line>, Error> {
        let mut command = Command::new(self.prefix.join("bin/mpiexec"));
        allow_root(&mut command);
        if self.hosts.are_given() {
            command.args(self.hosts.arguments(self.family, ranks));
        } else if self.family == Family::OpenMpi && ranks as usize > processors() {
            command.arg("--oversubscribe");
        }
        command.args(&self.settings);
        command.arg("-n").arg(ranks.to_string()).arg(program).args(more);
        let shown = show(&command);
        let failed = |seen: String| Error::Run { seen, command: shown.clone() };

        let (status, stdout, stderr) = run_for(&mut command, limit).map_err(&failed)?;
        if !status.success() {
            return Err(failed(format!("{status}; {}", last_line(&stderr))));
        }
        let text = String::from_utf8_lossy(&stdout);
        let lines: Option<Vec<Line>> =
            text.lines().filter(|line| !line.starts_with('#')).map(Line::parse).collect();
        match lines {
            Some(lines) if !lines.is_empty() => Ok(lines),
            _ => Err(failed("its output is not lines of `bytes value unit`".into())),
        }
    }
}

impl Line {
    /// Of `bytes value unit`, then processor time, or `over` and the floor, if the program gives them.
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (bytes, value, more) = match words[..] {
            [bytes, value, _unit, ref more @ ..] => (bytes.parse().ok()?, measured(value)?, more),
            _ => return None,
        };
        let line = Line { bytes, value, processor: None, floor: None };
        match *more {
            [] => Some(line),
            [processor] => {
                let processor = processor.parse().ok().filter(|time: &f64| time.is_finite())?;
                Some(Line { processor: Some(processor), ..line })
            }
            ["over", floor] => Some(Line { floor: Some(measured(floor)?), ..line }),
            _ => None,
        }
    }
}

/// A number that can have been measured.
fn measured(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

/// Open MPI asks root twice whether it means it; to all others these mean nothing.
fn allow_root(command: &mut Command) -> &mut Command {
    for variable in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
        command.env(variable, "1").env(format!("{variable}_CONFIRM"), "1");
    }
    command
}

/// Processors this process may use.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, |count| count.get())
}

fn folder_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The line that holds a version number, without the words around.
fn version_in(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| line.contains(|c: char| c.is_ascii_digit()));
    line.unwrap_or("unknown").trim_start_matches("Version:").trim().to_string()
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").trim().to_string()
}

/// Runs a command to its end, or kills it after `limit`: status, output, errors.
fn run_for(command: &mut Command, limit: Duration) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), String> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if started.elapsed() > limit => {
                // The launcher ends its ranks; their last output is not read.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} s", limit.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let read = |reader: thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    Ok((status, read(stdout), read(stderr)))
}

/// Reads a pipe to its end on a thread of its own, so that neither pipe can fill up.
fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is what there is to show.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_value_and_what_is_beside_it() {
        let line = Line { bytes: 8, value: 0.25, processor: None, floor: None };
        assert_eq!(Line::parse("8 0.25 us"), Some(line));
        assert_eq!(Line::parse("8 0.25 us 0.5"), Some(Line { processor: Some(0.5), ..line }));
        assert_eq!(Line::parse("8 0.25 us over 0.2"), Some(Line { floor: Some(0.2), ..line }));
        let wrong = [
            "",
            "8 0.25",
            "8 x us",
            "-1 2 us",
            "8 0 us",
            "8 nan us",
            "8 inf us",
            "8 1 us more",
            "8 1 us 1 1",
            "8 1 us over",
            "8 1 us over 0",
            "8 1 us over 1 1",
        ];
        for text in wrong {
            assert_eq!(Line::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_version_is_in_what_the_launcher_says() {
        assert_eq!(version_in("HYDRA build details:\n    Version:      5.0.2\n"), "5.0.2");
    }

    #[test]
    fn a_command_that_hangs_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("60");
        assert!(run_for(&mut command, Duration::from_millis(50)).is_err());
    }
}
