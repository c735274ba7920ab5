//! What goes wrong, in three lines.

use std::fmt;
use std::path::Path;

/// A failure of a release.
#[derive(Debug, thiserror::Error)]
pub struct Failure {
    step: String,
    seen: String,
    next: String,
}

impl Failure {
    /// The step that failed, what was seen, what to do next.
    pub fn new(step: impl Into<String>, seen: impl fmt::Display, next: impl Into<String>) -> Failure {
        Failure { step: step.into(), seen: seen.to_string(), next: next.into() }
    }

    /// Of packing something, which is done in memory.
    pub fn packing(what: &str, seen: impl fmt::Display) -> Failure {
        Failure::new(format!("packing {what}"), seen, "see whether memory is left: free -h")
    }

    /// Of reading a file.
    pub fn reading(path: &Path, seen: impl fmt::Display) -> Failure {
        let next = format!("look at it: ls -l {}", path.display());
        Failure::new(format!("reading {}", path.display()), seen, next)
    }

    /// Of writing a file.
    pub fn writing(path: &Path, seen: impl fmt::Display) -> Failure {
        let folder = path.parent().unwrap_or(Path::new("."));
        let next = format!("see whether its folder can be written: df {}", folder.display());
        Failure::new(format!("writing {}", path.display()), seen, next)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "alhena-dist: {} failed\n  seen: {}\n  next: {}", self.step, self.seen, self.next)
    }
}
