//! `mpicc`, `mpicxx`, `mpifort` and their aliases: run the system's compiler with what an MPI program needs.
//!
//! One program serves all names; the name it is called by, or its first argument, chooses the language. It finds the installation
//! from its own place (`PREFIX/bin`), so an installed tree can be moved. The command line becomes
//!
//! ```text
//! COMPILER [CPPFLAGS CFLAGS] what the user wrote  -IPREFIX/include  [LDFLAGS] -LPREFIX/lib RUNPATH -lmpi_abi [LIBS]
//!                                                                  └──────── only when this call links ────────┘
//! ```
//!
//! and replaces this process, so that exit code, output and signals are the compiler's own. Flags that ask
//! (`-showme…`, `-show`, …) print and exit 0; build systems capture both output streams, so nothing else
//! is ever printed.
#![forbid(unsafe_code)]

mod command;
mod config;
mod failure;
mod help;
mod language;
mod modules;
mod prefix;
mod request;
mod settings;
mod words;

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use failure::Failure;
use language::Language;
use prefix::Prefix;
use request::{Request, Show};
use settings::Settings;

/// The library's version, as printed by `-v` and `-showme:version`.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Answers a question or becomes the compiler; returns only after an answer or a failure.
fn run() -> Result<(), Failure> {
    let mut arguments = env::args_os();
    let called = arguments.next().unwrap_or_default();
    let (name, language) = language::called_as(&called, &mut arguments)?;
    let request = Request::parse(language, arguments)?;
    let prefix = Prefix::of_this_program()?;
    let mut settings = Settings::gather(language, &request, &prefix)?;
    if language.is_fortran() {
        add_modules(&request, &mut settings, &prefix)?;
    }

    let words = match &request.show {
        Show::Nothing => return execute(&name, language, &request, &settings, &prefix),
        Show::Help => {
            print!("{}", help::text(&name, language));
            return Ok(());
        }
        Show::Version => {
            println!("{name}: Alhena {VERSION} (Language: {})", language.name);
            return Ok(());
        }
        Show::Command => command::whole(language, &request, &settings, &prefix),
        Show::Compiler => settings.compiler.iter().map(OsString::from).collect(),
        Show::CompileFlags => command::compile_flags(&settings, &prefix),
        Show::LinkFlags => command::link_flags(language, &request, &settings, &prefix),
        Show::CompileCommand => command::with_compiler(&settings, command::compile_flags(&settings, &prefix)),
        Show::LinkCommand => {
            command::with_compiler(&settings, command::link_flags(language, &request, &settings, &prefix))
        }
        Show::IncludeDirectories => {
            let modules = settings.modules.iter().map(OsString::from);
            [OsString::from(prefix.include())].into_iter().chain(modules).collect()
        }
        Show::LibraryDirectories => vec![prefix.lib().into()],
        Show::Libraries => language.libraries.iter().map(OsString::from).collect(),
    };
    println!("{}", words::join(&words));
    Ok(())
}

/// Has the compiler's modules compiled where they are not there yet. Build systems ask for flags and call the compiler by
/// itself then, so questions do so too; what fails is for the call that compiles to report.
fn add_modules(request: &Request, settings: &mut Settings, prefix: &Prefix) -> Result<(), Failure> {
    if matches!(request.show, Show::Help | Show::Version | Show::Compiler) {
        return Ok(());
    }
    let compiles = request.show == Show::Nothing;
    if compiles && !request.links_or_compiles() {
        return Ok(());
    }
    let large =
        |word: &&OsString| ["-fdefault-integer-8", "-i8", "-integer-size=64"].iter().any(|it| it == *word);
    if let Some(flag) = request.rest.iter().find(large).filter(|_| compiles) {
        return Err(Failure::LargeIntegers { flag: flag.clone() });
    }
    if compiles && request.static_mpi {
        return Err(Failure::NoArchive);
    }
    if settings.compiler.first().is_some_and(|it| prefix.is_this_program(it.as_ref())) {
        return Ok(());
    }
    match modules::folder(&settings.compiler, prefix) {
        Ok(folder) => settings.add_modules(folder),
        Err(failure) if compiles => return Err(failure),
        Err(_) => {}
    }
    Ok(())
}

/// Becomes the compiler.
fn execute(
    name: &str,
    language: &Language,
    request: &Request,
    settings: &Settings,
    prefix: &Prefix,
) -> Result<(), Failure> {
    if request.announce {
        println!("{name} for Alhena version {VERSION}");
    }
    let words = command::whole(language, request, settings, prefix);
    if request.echo {
        eprintln!("+ {}", words::join(&words));
    }
    let compiler = &words[0];
    if prefix.is_this_program(compiler) {
        let variables = language.compiler_variables;
        return Err(Failure::Recursion { name: name.to_string(), compiler: compiler.clone(), variables });
    }
    let error = Command::new(compiler).args(&words[1..]).exec();
    Err(Failure::Compiler { compiler: compiler.clone(), variable: language.compiler_variables[0], error })
}
