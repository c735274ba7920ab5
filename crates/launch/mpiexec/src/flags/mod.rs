//! The table of flags: one row per flag gives its names, its values, its help text and what it does.

pub mod control;
mod counts;
mod environment;
mod habits;
mod output;
pub mod placement;
mod tools;

use std::ffi::{OsStr, OsString};

use crate::options::Options;
use crate::usage::UsageError;

/// One flag.
pub struct Flag {
    /// Its names without dashes; the first is the one in the help text.
    pub names: &'static [&'static str],
    /// What follows it; empty for a flag without values. A value in brackets may be left out, and must be attached.
    pub values: &'static [&'static str],
    /// One line of help.
    pub help: &'static str,
    /// What it does. Gets as many values as it asks for.
    pub apply: fn(&mut Options, &[OsString]) -> Result<(), Complaint>,
}

/// Why a flag does not take its value.
pub enum Complaint {
    /// Something else was expected.
    Expected(&'static str),
    /// Another reason.
    Other(UsageError),
}

impl From<UsageError> for Complaint {
    fn from(error: UsageError) -> Complaint {
        Complaint::Other(error)
    }
}

/// All flags, by topic.
pub const TOPICS: [(&str, &[Flag]); 7] = [
    ("How many ranks, and where", counts::FLAGS),
    ("Environment and directory", environment::FLAGS),
    ("Placement on processors", placement::FLAGS),
    ("Input and output", output::FLAGS),
    ("Tools", tools::FLAGS),
    ("Control", control::FLAGS),
    ("Of other launchers", habits::FLAGS),
];

/// The flag called `name` (without dashes).
pub fn find(name: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.names.contains(&name))
}

/// The name most like `name`.
pub fn nearest(name: &str) -> Option<&'static str> {
    mca::nearest(name, all().flat_map(|flag| flag.names.iter().copied()))
}

fn all() -> impl Iterator<Item = &'static Flag> {
    TOPICS.iter().flat_map(|(_, flags)| flags.iter())
}

/// A value as text.
fn text(value: &OsStr) -> Result<&str, Complaint> {
    value.to_str().ok_or(Complaint::Expected("text in UTF-8"))
}

/// A value as a number of at least 1.
fn count(value: &OsStr) -> Result<u32, Complaint> {
    let expected = Complaint::Expected("a number of at least 1");
    match text(value)?.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(expected),
    }
}

/// The names in a list with commas.
fn list(value: &OsStr) -> Result<Vec<OsString>, Complaint> {
    Ok(text(value)?.split(',').filter(|name| !name.is_empty()).map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_name_is_given_twice() {
        let mut seen = HashSet::new();
        for name in all().flat_map(|flag| flag.names) {
            assert!(seen.insert(name), "-{name}");
        }
    }

    #[test]
    fn all_conventional_flags_exist() {
        let names = "n np c N ppn npernode pernode npersocket H host hosts f hostfile machinefile default-hostfile \
             x env genv envlist genvlist envall genvall envnone genvnone wdir wd path prefix configfile app \
             bind-to map-by rank-by rankfile rankmap cpu-set cpu-list report-bindings display-map \
             use-hwthread-cpus oversubscribe nooversubscribe \
             l prepend-rank tag-output output timestamp-output outfile-pattern errfile-pattern output-filename \
             merge-stderr-to-stdout stdin launcher launcher-exec bootstrap bootstrap-exec rmk iface usize timeout \
             get-stack-traces allow-run-as-root disable-auto-cleanup print-all-exitcodes v q V version info \
             mca gmca prtemca pmixmca soft arch file memory-alloc-kinds initial-errhandler help";
        for name in names.split_whitespace() {
            assert!(find(name).is_some(), "-{name}");
        }
    }
}
