//! Names and what they stand for.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::failure::Failure;

/// The C library's name for the linker.
pub const LIBRARY: &str = "mpi_abi";

/// A language: how its compiler is found and what users call its flags.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// As printed by `-showme:version`.
    pub name: &'static str,
    /// The compiler when nothing else is set.
    pub compiler: &'static str,
    /// Variables that name the compiler, strongest first.
    pub compiler_variables: &'static [&'static str],
    /// Variables with further compiler flags, strongest first.
    pub flags_variables: &'static [&'static str],
    /// Flags that name the compiler.
    pub compiler_flags: &'static [&'static str],
    /// Variable that names a profile, as `-profile=` does.
    pub profile_variable: &'static str,
    /// Keys of a configuration file for compiler and flags, and the start of the file's name.
    pub config: ConfigKeys,
    /// The libraries for the linker.
    pub libraries: &'static [&'static str],
}

impl Language {
    /// Whether programs have modules.
    pub fn is_fortran(&self) -> bool {
        self.libraries.len() > 1
    }
}

/// How a configuration file names a language.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigKeys {
    /// `mpicc` in `mpicc-NAME.conf`.
    pub stem: &'static str,
    /// The compiler.
    pub compiler: &'static str,
    /// Its flags.
    pub flags: &'static str,
}

static C: Language = Language {
    name: "C",
    compiler: "cc",
    compiler_variables: &["ALHENA_CC", "OMPI_CC", "MPICH_CC", "I_MPI_CC"],
    flags_variables: &["ALHENA_CFLAGS", "OMPI_CFLAGS"],
    compiler_flags: &["-cc="],
    profile_variable: "MPICC_PROFILE",
    config: ConfigKeys { stem: "mpicc", compiler: "CC", flags: "WRAPPER_CFLAGS" },
    libraries: &[LIBRARY],
};

static CXX: Language = Language {
    name: "C++",
    compiler: "c++",
    compiler_variables: &["ALHENA_CXX", "OMPI_CXX", "MPICH_CXX", "I_MPI_CXX"],
    flags_variables: &["ALHENA_CXXFLAGS", "OMPI_CXXFLAGS"],
    compiler_flags: &["-cxx=", "-cc="],
    profile_variable: "MPICXX_PROFILE",
    config: ConfigKeys { stem: "mpicxx", compiler: "CXX", flags: "WRAPPER_CXXFLAGS" },
    libraries: &[LIBRARY],
};

static FORTRAN: Language = Language {
    name: "Fortran",
    compiler: "gfortran",
    compiler_variables: &["ALHENA_FC", "OMPI_FC", "MPICH_FC", "MPICH_F90", "I_MPI_FC", "I_MPI_F90"],
    flags_variables: &["ALHENA_FCFLAGS", "OMPI_FCFLAGS"],
    compiler_flags: &["-fc=", "-f90=", "-cc="],
    profile_variable: "MPIFORT_PROFILE",
    config: ConfigKeys { stem: "mpifort", compiler: "FC", flags: "WRAPPER_FCFLAGS" },
    libraries: &["mpifort_abi", LIBRARY],
};

static FORTRAN_77: Language = Language {
    name: "Fortran 77",
    compiler: "gfortran",
    compiler_variables: &[
        "ALHENA_F77",
        "ALHENA_FC",
        "OMPI_F77",
        "OMPI_FC",
        "MPICH_F77",
        "MPICH_FC",
        "I_MPI_F77",
    ],
    flags_variables: &["ALHENA_FFLAGS", "ALHENA_FCFLAGS", "OMPI_FFLAGS", "OMPI_FCFLAGS"],
    compiler_flags: &["-f77=", "-fc=", "-cc="],
    profile_variable: "MPIF77_PROFILE",
    config: ConfigKeys { stem: "mpif77", compiler: "F77", flags: "WRAPPER_FFLAGS" },
    libraries: &["mpifort_abi", LIBRARY],
};

/// The file that all wrappers are links to.
const PROGRAM: &str = "mpi-wrapper";

/// What packages that can be installed beside other MPI libraries add to the names of programs.
const SUFFIX: &str = ".alhena";

/// The name that the wrapper is called by, without its folder, and its language. Where the names are scripts (in wheels, which have no
/// links), these call `mpi-wrapper NAME ARGUMENT…`.
pub fn called_as(
    argv0: &OsStr,
    mut arguments: impl Iterator<Item = OsString>,
) -> Result<(String, &'static Language), Failure> {
    let mut name = file_name(argv0);
    if name == PROGRAM
        && let Some(first) = arguments.next().map(|first| file_name(&first))
        && of_name(&first).is_some()
    {
        name = first;
    }
    let language = of_name(&name).ok_or_else(|| Failure::UnknownName { name: name.clone() })?;
    Ok((name, language))
}

/// The language of a wrapper's name.
pub fn of_name(name: &str) -> Option<&'static Language> {
    match name.strip_suffix(SUFFIX).unwrap_or(name) {
        "mpicc" | "mpicc_abi" => Some(&C),
        "mpicxx" | "mpicxx_abi" | "mpic++" | "mpiCC" => Some(&CXX),
        "mpifort" | "mpif90" => Some(&FORTRAN),
        "mpif77" => Some(&FORTRAN_77),
        _ => None,
    }
}

fn file_name(path: &OsStr) -> String {
    Path::new(path).file_name().unwrap_or(path).to_string_lossy().into_owned()
}
