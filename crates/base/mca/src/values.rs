//! What the user set, and where.

use std::env;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{BadValue, FileError, Param, Type, file};

/// Variables of this library.
pub(crate) const OWN_PREFIX: &str = "ALHENA_MCA_";
/// Names a file that is read before all others.
const NAMED: &str = "ALHENA_PARAM_FILE";
/// Variables of Open MPI, taken where the parameter has that name there too.
const OMPI_PREFIX: &str = "OMPI_MCA_";

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The declaration.
    Default,
    /// A line of a parameter file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// The environment variable of this name.
    Environment(String),
    /// A tool, through an MPI_T control variable.
    Tool,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File { path, line } => write!(f, "file {}:{line}", path.display()),
            Source::Environment(variable) => write!(f, "environment variable {variable}"),
            Source::Tool => f.write_str("tool"),
        }
    }
}

/// A parameter's value in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The value as written.
    pub text: String,
    /// Where it was written.
    pub source: Source,
}

/// A name with a value somewhere; the name need not be a parameter's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub name: String,
    pub setting: Setting,
}

/// Everything the user set, strongest source first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    entries: Vec<Entry>,
}

impl Values {
    /// Reads this process's environment and the parameter files that exist.
    ///
    /// `prefix` is the directory Alhena is installed in, where it is known; its file is `etc/alhena.toml`.
    /// A file that exists but cannot be understood is an error, as half of it would be worse than nothing.
    pub fn load(prefix: Option<&Path>) -> Result<Self, FileError> {
        let mut values = Self::from_variables(env::vars_os().filter_map(|(name, value)| {
            // Only ours are converted: the rest of the environment may be no text at all.
            let name = name.into_string().ok()?;
            let ours = name.starts_with(OWN_PREFIX) || name.starts_with(OMPI_PREFIX);
            ours.then(|| (name, value.to_string_lossy().into_owned()))
        }));
        for path in files_of(prefix) {
            match values.add_file(&path) {
                // A folder that cannot be entered, such as another user's home, holds no file for this one.
                Err(_) if !is_named(&path) && fs::symlink_metadata(&path).is_err() => {}
                added => added?,
            }
        }
        Ok(values)
    }

    /// Takes the values from these environment variables (name and value); others are left alone.
    pub fn from_variables<N: AsRef<str>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let mut own = Vec::new();
        let mut ompi = Vec::new();
        for (variable, value) in variables {
            let variable = variable.as_ref();
            let (list, name) = if let Some(name) = variable.strip_prefix(OWN_PREFIX) {
                (&mut own, name)
            } else if let Some(name) = variable.strip_prefix(OMPI_PREFIX) {
                (&mut ompi, name)
            } else {
                continue;
            };
            let source = Source::Environment(variable.to_string());
            list.push(Entry { name: name.to_string(), setting: Setting { text: value.into(), source } });
        }
        own.append(&mut ompi);
        Self { entries: own }
    }

    /// Adds the lines of a file as the weakest source so far; a file that does not exist adds nothing.
    pub fn add_file(&mut self, path: &Path) -> Result<(), FileError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(());
            }
            Err(error) => return Err(FileError { path: path.into(), line: 0, reason: error.to_string() }),
        };
        let lines = file::parse(&text).map_err(|error| FileError {
            path: path.into(),
            line: error.line,
            reason: error.reason,
        })?;
        self.entries.extend(lines.into_iter().map(|file::Line { line, name, text }| Entry {
            name,
            setting: Setting { text, source: Source::File { path: path.into(), line } },
        }));
        Ok(())
    }

    /// Sets a value as a tool does, over every other source; refused when it does not fit `param`.
    pub fn set(&mut self, param: &Param, text: &str) -> Result<(), BadValue> {
        let setting = Setting { text: text.to_string(), source: Source::Tool };
        if !param.accepts(text) {
            return Err(BadValue::new(param, setting));
        }
        self.entries.insert(0, Entry { name: param.name.to_string(), setting });
        Ok(())
    }

    /// The value in force and where it comes from.
    pub fn setting(&self, param: &Param) -> Setting {
        match self.entries.iter().find(|entry| entry.sets(param)) {
            Some(entry) => entry.setting.clone(),
            None => Setting { text: param.default.to_string(), source: Source::Default },
        }
    }

    /// Whether the user has set none of these.
    pub fn are_defaults(&self, params: &[Param]) -> bool {
        params.iter().all(|param| !self.entries.iter().any(|entry| entry.sets(param)))
    }

    /// The value in force, typed and checked.
    pub fn read<T: Type>(&self, param: &Param) -> Result<T::Value, BadValue> {
        let setting = self.setting(param);
        let value = T::parse(&setting.text).filter(|_| param.accepts(&setting.text));
        value.ok_or_else(|| BadValue::new(param, setting))
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

impl Entry {
    /// Whether this entry sets `param`.
    ///
    /// Open MPI's names count only in Open MPI's variables, and what stands there only where it fits:
    /// a machine-wide setting made for Open MPI must not stop a program of ours.
    pub(crate) fn sets(&self, param: &Param) -> bool {
        let is_named = self.name == param.name;
        if self.is_foreign() {
            (is_named || param.aliases.contains(&self.name.as_str())) && param.accepts(&self.setting.text)
        } else {
            is_named
        }
    }

    /// Whether it stands in one of Open MPI's variables, which may well be meant for Open MPI alone.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(&self.setting.source, Source::Environment(variable) if variable.starts_with(OMPI_PREFIX))
    }
}

/// Whether the user has named this file.
fn is_named(path: &Path) -> bool {
    env::var_os(NAMED).is_some_and(|named| named == path.as_os_str())
}

/// The files that are looked for, strongest first.
pub fn files_of(prefix: Option<&Path>) -> Vec<PathBuf> {
    let set = |variable| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    let candidates = [
        set(NAMED),
        config.map(|config| config.join("alhena/mca.toml")),
        prefix.map(|prefix| prefix.join("etc/alhena.toml")),
    ];
    candidates.into_iter().flatten().collect()
}
