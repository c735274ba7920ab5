//! `alhena profile`: reports of what the ranks of a job called, and comparisons of two runs.
//!
//! ```text
//!   mpiexec -profile ── memory ──► collect ── Report ──► NAME.txt    mpiP's headings and columns     text
//!                                    │                   NAME.html   one page with pictures         page
//!                                    │                   NAME.json   everything                     serde
//!   alhena profile A.json B.json ────┴── compare
//! ```

mod collect;
mod compare;
mod data;
mod error;
mod page;
mod picture;
mod text;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use data::Report;
use error::Error;
pub use page::escape;

use crate::tables::Left;

/// Shows a profile that mpiexec -profile has written, or compares two
#[derive(clap::Args)]
pub struct Arguments {
    /// One or two files NAME.json of mpiexec -profile
    #[arg(required_unless_present = "memory", num_args = 1..=2)]
    files: Vec<PathBuf>,
    /// Compare: leave out places whose time differs by less than this share of all MPI time, in percent
    #[arg(long, default_value_t = 0.5)]
    threshold: f64,
    #[command(flatten)]
    left: Left,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let left = &arguments.left;
    if let (Some(memory), Some(output)) = (&left.memory, &left.output) {
        return Ok(write_all(&collect::collect(memory, left.ranks, left.exit_code)?, output)?);
    }
    let mut out = std::io::stdout();
    match &arguments.files[..] {
        [one] => out.write_all(text::page(&read(one)?).as_bytes())?,
        [before, after] => {
            let (before, after) = (read(before)?, read(after)?);
            out.write_all(compare::table(&before, &after, arguments.threshold).as_bytes())?;
        }
        _ => {}
    }
    Ok(())
}

/// Writes the reports, and prints where they are.
fn write_all(report: &Report, output: &Path) -> Result<(), Error> {
    let json = serde_json::to_string(report).map_err(|error| Error::Json { seen: error.to_string() })?;
    let mut names = Vec::new();
    for (extension, content) in
        [("txt", text::page(report)), ("html", page::page(report, &json)), ("json", json)]
    {
        let path = output.with_added_extension(extension);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        fs::write(&path, content).map_err(|source| Error::Write { path: path.clone(), source })?;
        names.push(path.display().to_string());
    }
    eprintln!("mpiexec: profile: {}", names.join(" "));
    Ok(())
}

fn read(path: &Path) -> Result<Report, Error> {
    let text = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let report: Report = serde_json::from_slice(&text)
        .map_err(|error| Error::NoProfile { path: path.to_owned(), seen: error.to_string() })?;
    match report.is_consistent() {
        true => Ok(report),
        false => Err(Error::NoProfile {
            path: path.to_owned(),
            seen: "numbers that name no rank or place".to_owned(),
        }),
    }
}
