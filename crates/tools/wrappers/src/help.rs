//! The text of `-help`.

use crate::language::Language;

/// What the wrapper `name` understands.
pub fn text(name: &str, language: &Language) -> String {
    let Language {
        name: language_name, compiler, compiler_variables, flags_variables, compiler_flags, ..
    } = language;
    // A Fortran program cannot hold the library.
    let static_mpi = match language.is_fortran() {
        true => "",
        false => "  -static-mpi                put the MPI library into the program; the rest stays shared\n",
    };
    format!(
        "usage: {name} [flags below] [flags and files of the compiler]

Compiles and links {language_name} programs with Alhena. The compiler is {compiler} unless something below says
otherwise; every flag not listed here is passed to it.

  -show, -showme, --showme   print the command instead of running it
  -showme:compile            the flags added when compiling
  -showme:link               the flags added when linking
  -showme:command            the compiler
  -showme:incdirs, :libdirs, :libs    folders and libraries, without flags
  -showme:version, :help     version, this text
  -compile-info, -link-info  compiler and flags for the one or the other
  -echo                      print the command, then run it
  -v                         print the version, then run the compiler with -v
  {compiler_flag}NAME                  use this compiler
  -config=NAME               read PREFIX/etc/{stem}-NAME.conf ({compiler_key}, {flags_key}, WRAPPER_LDFLAGS, …)
  -profile=NAME              link libNAME before the MPI library, or read NAME.conf (PROFILE_PRELIB, …)
{static_mpi}  -mpi-abi                   the MPI standard ABI (there is no other here)
  -help                      this text

Variables, the first that is set counts:
  {compiler_variables}
  {flags_variables}
  ALHENA_CPPFLAGS OMPI_CPPFLAGS · ALHENA_LDFLAGS OMPI_LDFLAGS · ALHENA_LIBS OMPI_LIBS
",
        compiler_flag = compiler_flags[0],
        compiler_variables = compiler_variables.join(" "),
        flags_variables = flags_variables.join(" "),
        stem = language.config.stem,
        compiler_key = language.config.compiler,
        flags_key = language.config.flags,
    )
}
