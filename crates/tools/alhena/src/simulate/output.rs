//! Where results go: a table, a file, a picture.

use std::error::Error;
use std::path::PathBuf;

use clap::Args;
use figures::aligned;
use figures::curves::{self, Panel};
use serde::Serialize;

/// Files to write besides the table.
#[derive(Args, Clone, Debug)]
pub struct Output {
    /// Write all figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw STEM.svg and STEM.png
    #[arg(long, value_name = "STEM")]
    picture: Option<PathBuf>,
}

impl Output {
    /// Prints the table, whose first row is the head, and writes what was asked for.
    pub fn show<T: Serialize>(
        &self,
        title: &str,
        rows: &[Vec<String>],
        results: &T,
        panels: &[Panel],
    ) -> Result<(), Box<dyn Error>> {
        println!("{title}\n{}", aligned(rows));
        if let Some(path) = &self.json {
            figures::write_json(path, results)?;
        }
        if let Some(stem) = &self.picture {
            curves::draw(stem, panels)?;
        }
        Ok(())
    }
}

/// A row of strings.
pub fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}

/// An error in percent, with its sign.
pub fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}
