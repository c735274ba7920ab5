//! Errors, each in three lines: the step that failed, what was seen, what to run next.

use std::fmt;
use std::path::PathBuf;

use crate::{Param, Setting, Source};

/// A value that does not fit its parameter's declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadValue {
    /// The parameter.
    pub name: &'static str,
    /// The value as written.
    pub text: String,
    /// Where it was written.
    pub source: Source,
    /// What would have fitted.
    pub expected: String,
}

impl BadValue {
    pub(crate) fn new(param: &Param, setting: Setting) -> Self {
        let Setting { text, source } = setting;
        Self { name: param.name, text, source, expected: param.expectation() }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, text, source, expected } = self;
        writeln!(f, "alhena: reading the parameter {name} failed")?;
        writeln!(f, "  seen: \"{text}\" from {source}; expected {expected}")?;
        write!(f, "  next: correct it there, or run `alhena info --param {name}` for its description")
    }
}

impl std::error::Error for BadValue {}

/// A parameter file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1; 0 where the file as a whole is meant.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "alhena: reading the parameter file {} failed", self.path.display())?;
        match self.line {
            0 => writeln!(f, "  seen: {}", self.reason)?,
            line => writeln!(f, "  seen: line {line}: {}", self.reason)?,
        }
        write!(
            f,
            "  next: correct the file (lines are `name = value`, see docs/parameters.md) or move it away"
        )
    }
}

impl std::error::Error for FileError {}
