//! `alhena worker`: joins a job whose mpiexec waits for workers.

use std::error::Error;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Which job, and how to prove that one may join it.
#[derive(clap::Args)]
pub struct Arguments {
    /// Where mpiexec waits, as it says itself
    #[arg(value_name = "HOST:PORT")]
    address: String,
    /// File with the job's token; standard input by default
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Becomes the launcher's worker, which stands beside this program.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mpiexec = std::env::current_exe()?.with_file_name("mpiexec");
    let mut command = Command::new(&mpiexec);
    command.arg("-worker").arg(&arguments.address).args(&arguments.token_file);
    Err(format!("starting {}: {}", mpiexec.display(), command.exec()).into())
}
