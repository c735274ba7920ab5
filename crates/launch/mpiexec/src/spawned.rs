//! A mpiexec whose job was asked for by a rank of another one (`MPI_Comm_spawn`).

use std::ffi::OsString;
use std::process::ExitCode;

use rte::spec::{JobSpec, Parent, Stdin};

use crate::{command_line, job};

/// Runs the job that is ordered by this descriptor. What keeps it from being started is reported there and not printed: the
/// program handles that error.
pub fn run(descriptor: &str) -> ExitCode {
    let adopted =
        descriptor.parse().map_err(|_| std::io::ErrorKind::InvalidInput.into()).and_then(rte::adopt);
    let (words, parent) = match adopted {
        Ok(adopted) => adopted,
        Err(error) => return crate::refuse(&format!("-spawned {descriptor}: {error}"), crate::USAGE),
    };
    let outcome = plan(words, &parent).and_then(|spec| rte::run(spec).map_err(|error| error.to_string()));
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            rte::report_failure(&parent, &why);
            ExitCode::SUCCESS
        }
    }
}

fn plan(words: Vec<OsString>, parent: &Parent) -> Result<JobSpec, String> {
    let line = command_line::parse(words).map_err(|error| error.to_string())?;
    let planned = job::plan(line).map_err(|error| error.to_string())?;
    Ok(JobSpec { parent: Some(parent.clone()), stdin: Stdin::None, ..planned.spec })
}
