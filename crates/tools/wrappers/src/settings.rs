//! Compiler and flags as the user's variables and files want them.

use std::env;
use std::io;
use std::path::PathBuf;

use crate::config::Config;
use crate::failure::Failure;
use crate::language::Language;
use crate::modules;
use crate::prefix::Prefix;
use crate::request::Request;
use crate::words;

/// What the command line is made of, beside the user's own words.
#[derive(Debug, Default)]
pub struct Settings {
    /// The compiler, with flags where the user gave some with it.
    pub compiler: Vec<String>,
    /// Before the user's words, which can so override them.
    pub before: Vec<String>,
    /// Behind the user's words.
    pub include: Vec<String>,
    /// The folder of the compiler's Fortran modules.
    pub modules: Option<PathBuf>,
    /// Before the library's folder.
    pub link: Vec<String>,
    /// Before the library, as a profiling library has to be.
    pub before_library: Vec<String>,
    /// Behind the library.
    pub libraries: Vec<String>,
}

impl Settings {
    /// Flags before variables, variables before the file of `-config=`, that before the default.
    pub fn gather(language: &Language, request: &Request, prefix: &Prefix) -> Result<Self, Failure> {
        let config = match &request.config {
            Some(name) => named_config(language, name, prefix)?,
            None => Config::default(),
        };
        let pick = |variables: &[&str], key: &str| match variable(variables)? {
            Some(words) => Ok(words),
            None => config.words(key),
        };

        let mut compiler = match &request.compiler {
            Some(text) => words::split("the compiler's name", text)?,
            None => pick(language.compiler_variables, language.config.compiler)?,
        };
        if compiler.is_empty() {
            compiler.push(language.compiler.to_string());
        }
        let mut before = pick(&["ALHENA_CPPFLAGS", "OMPI_CPPFLAGS"], "WRAPPER_CPPFLAGS")?;
        before.extend(pick(language.flags_variables, language.config.flags)?);

        let mut settings = Self {
            compiler,
            before,
            include: Vec::new(),
            modules: None,
            link: pick(&["ALHENA_LDFLAGS", "OMPI_LDFLAGS"], "WRAPPER_LDFLAGS")?,
            before_library: Vec::new(),
            libraries: pick(&["ALHENA_LIBS", "OMPI_LIBS"], "WRAPPER_LIBS")?,
        };
        let profile = request.profile.clone().or_else(|| env::var(language.profile_variable).ok());
        if let Some(name) = profile.filter(|name| !name.is_empty()) {
            settings.add_profile(&name, prefix)?;
        }
        Ok(settings)
    }

    /// The user's flags come behind those of the modules.
    pub fn add_modules(&mut self, folder: Option<PathBuf>) {
        let flags = folder.as_deref().map(modules::compile_flags).unwrap_or_default();
        self.before.splice(0..0, flags);
        self.modules = folder;
    }

    /// A profile is a library of that name beside ours, or a file that lists what to add.
    fn add_profile(&mut self, name: &str, prefix: &Prefix) -> Result<(), Failure> {
        let is_library = ["so", "a"].iter().any(|end| prefix.lib().join(format!("lib{name}.{end}")).exists());
        if is_library {
            self.before_library.push(format!("-l{name}"));
            return Ok(());
        }
        let file = format!("{name}.conf");
        let config = first_config("-profile=", vec![prefix.etc().join(&file), PathBuf::from(file)])?;
        self.include.extend(config.words("PROFILE_INCPATHS")?);
        self.before_library.extend(config.words("PROFILE_PRELIB")?);
        self.libraries.splice(0..0, config.words("PROFILE_POSTLIB")?);
        Ok(())
    }
}

/// The words of the first of these variables that is set to something.
fn variable(names: &[&str]) -> Result<Option<Vec<String>>, Failure> {
    let found =
        names.iter().find_map(|name| Some((name, env::var(name).ok().filter(|text| !text.is_empty())?)));
    found.map(|(name, text)| words::split(name, &text)).transpose()
}

fn named_config(language: &Language, name: &str, prefix: &Prefix) -> Result<Config, Failure> {
    first_config("-config=", vec![prefix.etc().join(format!("{}-{name}.conf", language.config.stem))])
}

/// The first of these files that exists.
fn first_config(flag: &'static str, candidates: Vec<PathBuf>) -> Result<Config, Failure> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for path in &candidates {
        match std::fs::read_to_string(path) {
            Ok(text) => return Config::parse(path, &text),
            Err(error) => last = error,
        }
    }
    Err(Failure::NoConfiguration { flag, tried: candidates, error: last })
}
