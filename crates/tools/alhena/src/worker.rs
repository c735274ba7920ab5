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
    /// How long to look for mpiexec, which may start later
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

/// Becomes the launcher's worker, which stands beside this program.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mpiexec = std::env::current_exe()?.with_file_name("mpiexec");
    let mut command = Command::new(&mpiexec);
    command
        .arg("-worker")
        .arg(&arguments.address)
        .arg(arguments.wait.to_string())
        .args(&arguments.token_file);
    Err(format!("starting {}: {}", mpiexec.display(), command.exec()).into())
}
