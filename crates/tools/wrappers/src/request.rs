//! The command line: what is for the wrapper and what is for the compiler.

use std::ffi::OsString;

use crate::failure::Failure;
use crate::language::Language;

/// A question to answer instead of compiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// Compile.
    #[default]
    Nothing,
    /// `-show`, `-showme`: the command that would run.
    Command,
    /// `-showme:command`.
    Compiler,
    /// `-showme:compile`.
    CompileFlags,
    /// `-showme:link`.
    LinkFlags,
    /// `-compile-info`.
    CompileCommand,
    /// `-link-info`.
    LinkCommand,
    /// `-showme:incdirs`.
    IncludeDirectories,
    /// `-showme:libdirs`.
    LibraryDirectories,
    /// `-showme:libs`.
    Libraries,
    /// `-showme:version`.
    Version,
    /// `-help`, `-showme:help`.
    Help,
}

/// A parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What to print instead of running, if anything.
    pub show: Show,
    /// `-echo`: print the command before it runs.
    pub echo: bool,
    /// `-v`: print the version; the compiler gets the flag as well.
    pub announce: bool,
    /// `-cc=` and the like.
    pub compiler: Option<String>,
    /// `-config=`.
    pub config: Option<String>,
    /// `-profile=`.
    pub profile: Option<String>,
    /// `-static-mpi`: the library goes into the program.
    pub static_mpi: bool,
    /// `-static`: everything goes into the program.
    pub static_all: bool,
    /// Some flag stops the compiler before it links.
    pub stops_before_link: bool,
    /// There is a file to compile or link.
    pub has_input: bool,
    /// What the compiler gets, in the user's order.
    pub rest: Vec<OsString>,
}

impl Request {
    /// Sorts the arguments; anything not known here is the compiler's.
    pub fn parse(
        language: &Language,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, Failure> {
        let mut request = Request::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let Some(text) = argument.to_str() else {
                request.has_input = true; // only a file's name can be no text
                request.rest.push(argument);
                continue;
            };
            if request.take(language, text)? {
                continue;
            }
            let takes_value = TAKES_VALUE.contains(&text);
            request.note(text);
            request.rest.push(argument);
            if takes_value {
                request.rest.extend(arguments.next());
            }
        }
        Ok(request)
    }

    /// Whether this call adds the library.
    pub fn links(&self) -> bool {
        !self.stops_before_link && (self.has_input || self.show != Show::Nothing)
    }

    /// Whether the compiler has work to do, rather than to answer `--version` or the like.
    pub fn links_or_compiles(&self) -> bool {
        self.has_input
    }

    /// Takes a flag of the wrapper's own; false for one of the compiler's.
    fn take(&mut self, language: &Language, text: &str) -> Result<bool, Failure> {
        let single_dash = if text.starts_with("--showme") { &text[1..] } else { text };
        match single_dash {
            "-showme" | "-show" => self.show = Show::Command,
            "-compile-info" | "-compile_info" => self.show = Show::CompileCommand,
            "-link-info" | "-link_info" => self.show = Show::LinkCommand,
            "-help" => self.show = Show::Help,
            "-echo" => self.echo = true,
            "-static-mpi" => self.static_mpi = true,
            "-mpi-abi" | "-mpi_abi" => {} // there is no other ABI here
            _ => return self.take_with_value(language, single_dash),
        }
        Ok(true)
    }

    fn take_with_value(&mut self, language: &Language, text: &str) -> Result<bool, Failure> {
        if let Some(question) = text.strip_prefix("-showme:") {
            self.show =
                question_named(question).ok_or_else(|| Failure::UnknownQuestion { flag: text.into() })?;
        } else if let Some(compiler) = language.compiler_flags.iter().find_map(|flag| text.strip_prefix(flag))
        {
            self.compiler = Some(compiler.into());
        } else if let Some(name) = text.strip_prefix("-config=") {
            self.config = Some(name.into());
        } else if let Some(name) = text.strip_prefix("-profile=") {
            self.profile = Some(name.into());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Notes what a compiler's argument means for linking.
    fn note(&mut self, text: &str) {
        match text {
            "-v" => self.announce = true,
            "-static" => self.static_all = true,
            "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" => self.stops_before_link = true,
            "-" => self.has_input = true,
            _ if !text.starts_with('-') => self.has_input = true,
            _ => {}
        }
    }
}

fn question_named(name: &str) -> Option<Show> {
    Some(match name {
        "command" => Show::Compiler,
        "compile" => Show::CompileFlags,
        "link" => Show::LinkFlags,
        "incdirs" => Show::IncludeDirectories,
        "libdirs" => Show::LibraryDirectories,
        "libs" => Show::Libraries,
        "version" => Show::Version,
        "help" => Show::Help,
        _ => return None,
    })
}

/// Compiler options whose value is the next argument, which is then no input file (GCC and Clang manuals).
const TAKES_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-A",
    "-B",
    "-T",
    "-u",
    "-z",
    "-e",
    "-h",
    "-J",
    "-include",
    "-imacros",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-iprefix",
    "-isysroot",
    "-iwithprefix",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-arch",
    "-target",
    "-wrapper",
    "--param",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::called_as;

    fn parse(arguments: &str) -> Request {
        let (_, language) = called_as("mpicc".as_ref(), std::iter::empty()).expect("a known name");
        Request::parse(language, arguments.split_whitespace().map(OsString::from)).expect("known questions")
    }

    #[test]
    fn a_call_links_only_with_something_to_link() {
        assert!(parse("x.c -o x").links());
        assert!(parse("-O2 x.o -lm").links());
        assert!(parse("-x c -").links());
        assert!(!parse("-v").links());
        assert!(!parse("--version").links());
        assert!(!parse("-o x").links());
        assert!(!parse("-I dir").links());
    }

    #[test]
    fn stages_before_linking() {
        for flag in ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"] {
            assert!(!parse(&format!("{flag} x.c")).links(), "{flag}");
        }
        assert!(parse("-MD x.c -o x").links(), "-MD only adds a file");
        assert!(parse("-o -c x.c").links(), "-c is the name of the output here");
    }

    #[test]
    fn own_flags_do_not_reach_the_compiler() {
        let request = parse("-echo -cc=clang -config=a -profile=b -static-mpi -mpi-abi x.c");
        assert_eq!(request.rest, ["x.c"]);
        assert_eq!(request.compiler.as_deref(), Some("clang"));
        assert_eq!(request.config.as_deref(), Some("a"));
        assert_eq!(request.profile.as_deref(), Some("b"));
        assert!(request.echo && request.static_mpi);
    }

    #[test]
    fn questions_with_one_dash_or_two() {
        assert_eq!(parse("--showme").show, Show::Command);
        assert_eq!(parse("-showme:libs").show, Show::Libraries);
        assert_eq!(parse("--showme:link").show, Show::LinkFlags);
        assert_eq!(parse("-v").rest, ["-v"]);
        let (_, language) = called_as("mpicc".as_ref(), std::iter::empty()).expect("a known name");
        assert!(Request::parse(language, ["-showme:what".into()]).is_err());
    }
}
