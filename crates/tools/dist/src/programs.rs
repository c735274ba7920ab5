//! Programs that the packer calls.

use std::process::Command;

use crate::failure::Failure;

/// Runs a program; its output. `step` and `next` are those of the failure.
pub fn run(command: &mut Command, step: String, next: &str) -> Result<Vec<u8>, Failure> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(Failure::new(step, String::from_utf8_lossy(&output.stderr).trim(), next)),
        Err(error) => Err(Failure::new(step, error, next)),
    }
}
