//! Gives `alhena info` the facts of its build.

use std::process::Command;
use std::{env, path::Path};

fn main() {
    for (name, from) in [("ALHENA_TARGET", "TARGET"), ("ALHENA_PROFILE", "PROFILE")] {
        println!("cargo::rustc-env={name}={}", env::var(from).unwrap_or_default());
    }
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_string());
    println!("cargo::rustc-env=ALHENA_RUSTC={}", output_of(&rustc, &["--version"]).unwrap_or_default());

    // A source archive has no history; then there is no commit to name.
    let commit = output_of("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    println!("cargo::rustc-env=ALHENA_COMMIT={commit}");
    let head = Path::new("../../../.git/logs/HEAD");
    if head.exists() {
        println!("cargo::rerun-if-changed={}", head.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
}

fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
