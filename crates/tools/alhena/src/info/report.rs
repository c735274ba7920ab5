//! Everything `alhena info` knows, ready to print or serialise.

use std::path::Path;

use mca::{Level, Param, Range, Scope, Setting, Source, Values};
use serde::Serialize;

use super::components::{Component, components};

/// The whole answer.
#[derive(Debug, Serialize)]
pub struct Report {
    pub version: &'static str,
    pub mpi_standard: String,
    pub mpi_abi: String,
    pub prefix: Option<String>,
    pub build: Build,
    pub host: Host,
    /// Compilers whose Fortran modules are there.
    pub fortran: Vec<Modules>,
    pub components: Vec<Component>,
    pub parameters: Vec<Parameter>,
}

/// The Fortran modules of a compiler.
#[derive(Debug, Serialize)]
pub struct Modules {
    /// How the compiler is called.
    pub compiler: String,
    /// Its version in its own words.
    pub compiler_version: String,
    /// Where the modules are.
    pub folder: String,
}

/// The modules below the prefix and in the user's cache, which the wrappers have compiled.
fn modules(prefix: &Path) -> Vec<Modules> {
    let homes = wrappers::module_homes(&prefix.join("lib"));
    let folders = homes.into_iter().filter_map(|home| std::fs::read_dir(home).ok()).flatten().flatten();
    let mut found: Vec<Modules> = folders.filter_map(|folder| noted(&folder.path())).collect();
    found.sort_by(|one, other| one.folder.cmp(&other.folder));
    found
}

fn noted(folder: &Path) -> Option<Modules> {
    let text = std::fs::read_to_string(folder.join(wrappers::COMPILER)).ok()?;
    let (compiler, version) = text.split_once('\n')?;
    let (compiler, compiler_version) = (compiler.to_owned(), version.trim().to_owned());
    Some(Modules { compiler, compiler_version, folder: folder.display().to_string() })
}

/// What this host's kernel offers beyond what is always there.
#[derive(Debug, Serialize)]
pub struct Host {
    /// `/dev/xpmem` can be opened: single copy without system calls.
    pub xpmem: bool,
    /// Changes of the address space can be watched, so that registrations can be kept.
    pub userfaultfd: bool,
}

/// How this tool, and the library built with it, came to be.
#[derive(Debug, Serialize)]
pub struct Build {
    pub profile: &'static str,
    pub target: &'static str,
    pub rustc: &'static str,
    /// Empty when built from an archive without history.
    pub commit: &'static str,
}

/// A parameter and its value in force.
#[derive(Debug, Serialize)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: &'static str,
    pub value: String,
    /// Where the value comes from.
    pub source: String,
    /// Whether it is not set anywhere.
    pub is_default: bool,
    pub default: &'static str,
    pub unit: &'static str,
    /// Smallest and largest value.
    pub range: Option<[i64; 2]>,
    /// What values look like, in words.
    pub expectation: String,
    /// The words of which they consist; empty where any text, number or size will do.
    pub words: &'static [&'static str],
    pub scope: &'static str,
    pub level: &'static str,
    /// The environment variable that sets it.
    pub variable: String,
    /// Names accepted behind `OMPI_MCA_` beside its own.
    pub aliases: &'static [&'static str],
    pub description: String,
    /// Why the value does not fit, where it does not.
    pub problem: Option<String>,
}

impl Report {
    /// Collects everything about these parameters.
    pub fn new(prefix: Option<&Path>, values: &Values, params: &[&'static Param]) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            mpi_standard: format!("{}.{}", abi::VERSION, abi::SUBVERSION),
            mpi_abi: format!("{}.{}", abi::ABI_VERSION, abi::ABI_SUBVERSION),
            prefix: prefix.map(|prefix| prefix.display().to_string()),
            build: Build {
                profile: env!("ALHENA_PROFILE"),
                target: env!("ALHENA_TARGET"),
                rustc: env!("ALHENA_RUSTC"),
                commit: env!("ALHENA_COMMIT"),
            },
            host: Host {
                xpmem: platform::xpmem::Xpmem::is_present(),
                userfaultfd: rcache::Monitor::start().is_ok(),
            },
            fortran: prefix.map(modules).unwrap_or_default(),
            components: components(),
            parameters: params.iter().map(|param| Parameter::new(param, values)).collect(),
        }
    }
}

impl Parameter {
    fn new(param: &'static Param, values: &Values) -> Self {
        let Setting { text, source } = values.setting(param);
        Self {
            name: param.name,
            kind: param.kind.name(),
            problem: (!param.accepts(&text)).then(|| format!("expected {}", param.expectation())),
            value: text,
            is_default: source == Source::Default,
            source: source.to_string(),
            default: param.default,
            unit: param.unit,
            range: param.range.map(|Range { low, high }| [low, high]),
            expectation: param.expectation(),
            words: param.kind.words(),
            scope: scope_name(param.scope),
            level: level_name(param.level),
            variable: param.variable(),
            aliases: param.aliases,
            description: param.description(),
        }
    }
}

/// A scope in words.
pub fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Constant => "constant",
        Scope::Local => "each process its own",
        Scope::AllEq => "the same in all processes",
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::User => "user",
        Level::Tuner => "tuner",
        Level::Developer => "developer",
    }
}
