//! Configuration files of `-config=` and `-profile=`: lines `NAME="value"`, as MPICH's files have them.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::words;

/// A file's settings, in its order.
#[derive(Debug, Default)]
pub struct Config {
    path: PathBuf,
    entries: Vec<(String, String)>,
}

impl Config {
    /// Reads the text of the file at `path`. Nothing in it is executed.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line.split_once('=').filter(|(name, _)| is_name(name)).and_then(|(name, value)| {
                // The quotes of the whole value are the shell's; those inside are for the flags.
                let inner = value.strip_prefix('"').map(|rest| rest.strip_suffix('"'));
                Some((name.to_string(), inner.unwrap_or(Some(value))?.to_string()))
            });
            entries.push(entry.ok_or_else(|| Failure::BadConfiguration {
                path: path.into(),
                line: index + 1,
                text: line.into(),
            })?);
        }
        Ok(Self { path: path.into(), entries })
    }

    /// The words of a setting; the last one of that name counts.
    pub fn words(&self, name: &str) -> Result<Vec<String>, Failure> {
        match self.entries.iter().rev().find(|(other, _)| other == name) {
            Some((_, text)) => words::split(&format!("{name} in {}", self.path.display()), text),
            None => Ok(Vec::new()),
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_quoted_and_bare_values() {
        let text =
            "# site\nCC=\"ccache gcc\"\nWRAPPER_CFLAGS=-O2\n\nCC=clang\nWRAPPER_LIBS=\"-L'a b' -lx\"\n";
        let config = Config::parse(Path::new("f"), text).expect("a good file");
        assert_eq!(config.words("CC").expect("balanced"), ["clang"]);
        assert_eq!(config.words("WRAPPER_CFLAGS").expect("balanced"), ["-O2"]);
        assert_eq!(config.words("WRAPPER_LIBS").expect("balanced"), ["-La b", "-lx"]);
        assert!(config.words("OTHER").expect("absent").is_empty());
    }

    #[test]
    fn refuses_what_is_no_setting() {
        for text in ["CC", "if true", "=x", "A=\"x", "a b=c"] {
            assert!(Config::parse(Path::new("f"), text).is_err(), "{text:?}");
        }
    }
}
