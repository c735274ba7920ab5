//! A mpiexec whose job was asked for by a rank of another one (`MPI_Comm_spawn`).

use std::ffi::OsString;
use std::process::ExitCode;

use rte::spec::{JobSpec, Parent, Stdin};

use crate::{command_line, job};

/// Runs the job that is ordered by this descriptor. What keeps it from being started is reported there and not printed: the
/// program handles that error. `more`: a descriptor that ends with the job of the asking rank, and the words by which that job's
/// mpiexec starts a command on another host; nothing where a process without mpiexec asks.
pub fn run(descriptor: &str, more: &[&str]) -> ExitCode {
    let number = |text: &str| text.parse().map_err(|_| std::io::ErrorKind::InvalidInput.into());
    let adopted = number(descriptor)
        .and_then(|fd| Ok((fd, more.first().map(|text| number(text)).transpose()?)))
        .and_then(|(fd, lifeline)| rte::adopt(fd, lifeline));
    let launcher: Vec<String> = more.iter().skip(1).map(|&word| word.to_owned()).collect();
    let (words, parent) = match adopted {
        Ok(adopted) => adopted,
        Err(error) => return crate::refuse(&format!("-spawned {descriptor}: {error}"), crate::USAGE),
    };
    let outcome =
        plan(words, &parent, launcher).and_then(|spec| rte::run(spec).map_err(|error| error.to_string()));
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            rte::report_failure(&parent, &why);
            ExitCode::SUCCESS
        }
    }
}

fn plan(words: Vec<OsString>, parent: &Parent, launcher: Vec<String>) -> Result<JobSpec, String> {
    let line = command_line::parse(words).map_err(|error| error.to_string())?;
    let planned = job::plan(line).map_err(|error| error.to_string())?;
    let mut parent = parent.clone();
    if !planned.spec.survives
        && let Some(spawner) = &mut parent.spawner
    {
        spawner.lifeline = None;
    }
    let mut spec = JobSpec { parent: Some(parent), stdin: Stdin::None, ..planned.spec };
    if !launcher.is_empty() {
        spec.launcher.words = launcher;
    }
    Ok(spec)
}
