//! Every flag and variable, on an installation made of links, with a compiler that prints its arguments.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A prefix with wrappers and, in `tools`, compilers `cc`, `c++`, `gfortran` and `other` that print their own name
/// and arguments; removed at the end.
struct Installation {
    root: PathBuf,
}

impl Installation {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("wrappers-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let root = env::temp_dir().join(name);
        for folder in ["bin", "etc", "lib", "include", "tools"] {
            fs::create_dir_all(root.join(folder)).expect("the temporary directory is writable");
        }
        let root = root.canonicalize().expect("it was just made");
        let program = root.join("bin/mpi-wrapper");
        fs::copy(env!("CARGO_BIN_EXE_mpi-wrapper"), &program).expect("the wrapper is built");
        for name in
            ["mpicc", "mpicc_abi", "mpicxx", "mpicxx_abi", "mpic++", "mpiCC", "mpifort", "mpif90", "mpif77"]
        {
            symlink("mpi-wrapper", root.join("bin").join(name)).expect("links can be made");
        }
        for name in ["cc", "c++", "gfortran", "other"] {
            script(&root.join("tools").join(name), "printf '%s' \"${0##*/}\"; printf ' [%s]' \"$@\"; echo");
        }
        Self { root }
    }

    fn path(&self, relative: &str) -> String {
        self.root.join(relative).display().to_string()
    }

    fn run_with(&self, variables: &[(&str, &str)], name: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.root.join("bin").join(name));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("tools")))
            .envs(variables.iter().copied())
            .current_dir(&self.root);
        loop {
            match command.output() {
                // Another test's child, forked while this copy was written, still has it open for a moment.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(1))
                }
                output => return output.expect("the wrapper starts"),
            }
        }
    }

    /// What it prints, having succeeded without a word on standard error.
    fn says_with(&self, variables: &[(&str, &str)], name: &str, arguments: &[&str]) -> String {
        let output = self.run_with(variables, name, arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name} {arguments:?}");
        assert!(output.status.success(), "{name} {arguments:?}");
        String::from_utf8(output.stdout).expect("it prints text").trim_end().to_string()
    }

    fn says(&self, name: &str, arguments: &[&str]) -> String {
        self.says_with(&[], name, arguments)
    }

    /// What it complains about, having failed without output.
    fn complains_with(&self, variables: &[(&str, &str)], name: &str, arguments: &[&str]) -> String {
        let output = self.run_with(variables, name, arguments);
        assert_eq!(output.status.code(), Some(1), "{name} {arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "");
        let message = String::from_utf8(output.stderr).expect("it prints text");
        assert_eq!(message.lines().count(), 3, "{message}");
        message
    }

    fn compile_flags(&self) -> String {
        format!("-I{}", self.path("include"))
    }

    fn link_flags(&self) -> String {
        let lib = self.path("lib");
        format!("-L{lib} -Wl,-rpath,{lib} -Wl,--enable-new-dtags -lmpi_abi")
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn script(path: &Path, body: &str) {
    fs::write(path, format!("#!/bin/sh\n{body}\n")).expect("the file can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode can be set");
}

fn bracketed(words: &str) -> String {
    words.split(' ').map(|word| format!(" [{word}]")).collect()
}

#[test]
fn compiles_and_links_in_the_right_order() {
    let home = Installation::new();
    let expected = format!(
        "cc [-O2] [x.c] [-o] [x] [-lfoo]{}{}",
        bracketed(&home.compile_flags()),
        bracketed(&home.link_flags())
    );
    assert_eq!(home.says("mpicc", &["-O2", "x.c", "-o", "x", "-lfoo"]), expected);
}

#[test]
fn stages_before_linking_get_no_link_flags() {
    let home = Installation::new();
    for flag in ["-c", "-S", "-E", "-M", "-MM"] {
        let expected = format!("cc [{flag}] [x.c] [{}]", home.compile_flags());
        assert_eq!(home.says("mpicc", &[flag, "x.c"]), expected);
    }
}

#[test]
fn questions_to_the_compiler_get_no_link_flags() {
    let home = Installation::new();
    assert_eq!(home.says("mpicc", &["--version"]), format!("cc [--version] [{}]", home.compile_flags()));
}

#[test]
fn names_choose_the_language() {
    let home = Installation::new();
    for (names, compiler) in [
        (&["mpicc", "mpicc_abi"][..], "cc"),
        (&["mpicxx", "mpicxx_abi", "mpic++", "mpiCC"][..], "c++"),
        (&["mpifort", "mpif90", "mpif77"][..], "gfortran"),
    ] {
        for name in names {
            assert_eq!(home.says(name, &["-showme:command"]), compiler, "{name}");
        }
    }
    assert!(home.complains_with(&[], "mpi-wrapper", &["x.c"]).contains("called as mpi-wrapper"));
}

#[test]
fn showme_questions() {
    let home = Installation::new();
    for dashes in ["-", "--"] {
        let ask = |question: &str| home.says("mpicc", &[&format!("{dashes}showme{question}")]);
        assert_eq!(ask(""), format!("cc {} {}", home.compile_flags(), home.link_flags()));
        assert_eq!(ask(":compile"), home.compile_flags());
        assert_eq!(ask(":link"), home.link_flags());
        assert_eq!(ask(":command"), "cc");
        assert_eq!(ask(":incdirs"), home.path("include"));
        assert_eq!(ask(":libdirs"), home.path("lib"));
        assert_eq!(ask(":libs"), "mpi_abi");
        assert_eq!(ask(":version"), format!("mpicc: Alhena {} (Language: C)", env!("CARGO_PKG_VERSION")));
        assert!(ask(":help").starts_with("usage: mpicc"));
    }
    assert!(home.complains_with(&[], "mpicc", &["-showme:nothing"]).contains("-showme:nothing"));
}

#[test]
fn show_prints_the_command_of_this_call() {
    let home = Installation::new();
    let full = format!("cc x.c {} {}", home.compile_flags(), home.link_flags());
    assert_eq!(home.says("mpicc", &["-show", "x.c"]), full);
    assert_eq!(
        home.says("mpicc", &["-show", "-c", "a b.c"]),
        format!("cc -c 'a b.c' {}", home.compile_flags())
    );
    assert_eq!(home.says("mpicc", &["-compile-info"]), format!("cc {}", home.compile_flags()));
    assert_eq!(home.says("mpicc", &["-link-info"]), format!("cc {}", home.link_flags()));
}

#[test]
fn help_and_version() {
    let home = Installation::new();
    assert!(home.says("mpicxx", &["-help"]).starts_with("usage: mpicxx"));
    let says = home.says("mpicc", &["-v"]);
    let expected =
        format!("mpicc for Alhena version {}\ncc [-v] [{}]", env!("CARGO_PKG_VERSION"), home.compile_flags());
    assert_eq!(says, expected);
}

#[test]
fn echo_prints_the_command_and_runs_it() {
    let home = Installation::new();
    let output = home.run_with(&[], "mpicc", &["-echo", "-c", "x.c"]);
    let flags = home.compile_flags();
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("+ cc -c x.c {flags}\n"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("cc [-c] [x.c] [{flags}]\n"));
}

#[test]
fn the_compiler_can_be_named() {
    let home = Installation::new();
    let ask = |variables: &[(&str, &str)], name, more: &[&str]| {
        home.says_with(variables, name, &[&["-showme:command"], more].concat())
    };
    for (name, variables) in [
        ("mpicc", &["ALHENA_CC", "OMPI_CC", "MPICH_CC", "I_MPI_CC"][..]),
        ("mpicxx", &["ALHENA_CXX", "OMPI_CXX", "MPICH_CXX", "I_MPI_CXX"][..]),
        ("mpifort", &["ALHENA_FC", "OMPI_FC", "MPICH_FC", "MPICH_F90", "I_MPI_FC", "I_MPI_F90"][..]),
        ("mpif77", &["ALHENA_F77", "OMPI_F77", "MPICH_F77", "I_MPI_F77"][..]),
    ] {
        for variable in variables {
            assert_eq!(ask(&[(variable, "other -m64")], name, &[]), "other -m64", "{variable}");
        }
        assert_eq!(ask(&[(variables[0], "one"), (variables[1], "two")], name, &["-cc=flag"]), "flag");
        assert_eq!(ask(&[(variables[1], "two"), (variables[0], "one")], name, &[]), "one");
        assert_ne!(ask(&[(variables[0], "")], name, &[]), "", "an empty variable is none");
    }
    assert_eq!(
        home.says("mpicxx", &["-cxx=other", "-c", "x"]),
        format!("other [-c] [x] [{}]", home.compile_flags())
    );
}

#[test]
fn further_flags_come_from_variables() {
    let home = Installation::new();
    for owner in ["ALHENA", "OMPI"] {
        let names = ["CPPFLAGS", "CFLAGS", "LDFLAGS", "LIBS"].map(|name| format!("{owner}_{name}"));
        let values = ["-DA='x y'", "-g", "-L/ld", "-lextra"];
        let variables: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(values).collect();
        let says = home.says_with(&variables, "mpicc", &["x.c"]);
        let expected = format!(
            "cc [-DA=x y] [-g] [x.c]{} [-L/ld]{} [-lextra]",
            bracketed(&home.compile_flags()),
            bracketed(&home.link_flags())
        );
        assert_eq!(says, expected);
    }
    let says = home.says_with(&[("OMPI_CXXFLAGS", "-g"), ("OMPI_CFLAGS", "-not")], "mpicxx", &["-c", "x.cc"]);
    assert_eq!(says, format!("c++ [-g] [-c] [x.cc] [{}]", home.compile_flags()));
    assert!(home.complains_with(&[("ALHENA_CFLAGS", "'")], "mpicc", &["x.c"]).contains("ALHENA_CFLAGS"));
}

#[test]
fn configuration_files() {
    let home = Installation::new();
    let text = "# a site's compiler\nCC=\"other -x\"\nWRAPPER_CFLAGS=\"-g\"\nWRAPPER_LIBS=-lsite\n";
    fs::write(home.root.join("etc/mpicc-site.conf"), text).expect("the file can be written");
    let says = home.says("mpicc", &["-config=site", "-show", "x.c"]);
    assert_eq!(says, format!("other -x -g x.c {} {} -lsite", home.compile_flags(), home.link_flags()));
    let says = home.says_with(&[("ALHENA_CC", "cc")], "mpicc", &["-config=site", "-showme:command"]);
    assert_eq!(says, "cc");
    assert!(home.complains_with(&[], "mpicc", &["-config=none", "x.c"]).contains("mpicc-none.conf"));
    fs::write(home.root.join("etc/mpicc-bad.conf"), "CC=cc\nrm -rf x\n").expect("the file can be written");
    assert!(home.complains_with(&[], "mpicc", &["-config=bad", "x.c"]).contains("line 2"));
}

#[test]
fn profiles() {
    let home = Installation::new();
    fs::write(home.root.join("lib/libtrace.a"), "").expect("the file can be written");
    fs::write(
        home.root.join("etc/tau.conf"),
        "PROFILE_PRELIB=\"-ltau\"\nPROFILE_POSTLIB=-lpost\nPROFILE_INCPATHS=-I/t\n",
    )
    .expect("the file can be written");
    let lib = home.path("lib");
    let rest = format!("-Wl,-rpath,{lib} -Wl,--enable-new-dtags -lmpi_abi");
    for says in [
        home.says("mpicc", &["-profile=trace", "-showme:link"]),
        home.says_with(&[("MPICC_PROFILE", "trace")], "mpicc", &["-showme:link"]),
    ] {
        assert_eq!(says, format!("-L{lib} -ltrace {rest}"));
    }
    let says = home.says("mpicc", &["-profile=tau", "-show", "x.c"]);
    assert_eq!(says, format!("cc x.c -I/t {} -L{lib} -ltau {rest} -lpost", home.compile_flags()));
    assert!(home.complains_with(&[], "mpicc", &["-profile=none", "x.c"]).contains("none.conf"));
}

#[test]
fn static_linking() {
    let home = Installation::new();
    let lib = home.path("lib");
    let system = "-lpthread -ldl -lrt -lm";
    assert_eq!(
        home.says("mpicc", &["-static-mpi", "-showme:link"]),
        format!("-L{lib} -l:libmpi_abi.a {system}")
    );
    let says = home.says("mpicc", &["-static", "x.c"]);
    let expected = format!(
        "cc [-static] [x.c] [{}]{}",
        home.compile_flags(),
        bracketed(&format!("-L{lib} -lmpi_abi {system}"))
    );
    assert_eq!(says, expected);
}

#[test]
fn the_only_abi_is_the_standard_one() {
    let home = Installation::new();
    assert_eq!(home.says("mpicc", &["-mpi-abi", "-show"]), home.says("mpicc", &["-show"]));
    assert_eq!(home.says("mpicc_abi", &["-show"]), home.says("mpicc", &["-show"]));
}

#[test]
fn exit_code_and_output_are_the_compilers() {
    let home = Installation::new();
    script(&home.root.join("tools/cc"), "echo out; echo err >&2; exit 42");
    let output = home.run_with(&[], "mpicc", &["x.c"]);
    assert_eq!(output.status.code(), Some(42));
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
}

#[test]
fn a_compiler_that_is_missing_or_this_wrapper() {
    let home = Installation::new();
    let complaint = home.complains_with(&[("OMPI_CC", "no-such-compiler")], "mpicc", &["x.c"]);
    assert!(complaint.contains("no-such-compiler") && complaint.contains("ALHENA_CC"), "{complaint}");
    let path = home.path("bin/mpicxx");
    assert!(home.complains_with(&[("MPICH_CC", &path)], "mpicc", &["x.c"]).contains("is mpicc itself"));
}

#[test]
fn scripts_hand_on_the_name_and_packages_add_a_suffix() {
    let home = Installation::new();
    assert_eq!(home.says("mpi-wrapper", &["mpicxx", "-showme:compile"]), home.compile_flags());
    assert_eq!(home.says("mpi-wrapper", &["mpif77.alhena", "-showme:libs"]), "mpifort_abi mpi_abi");
    assert!(home.complains_with(&[], "mpi-wrapper", &[]).contains("called as mpi-wrapper"));
    // As in a wheel: a script in the place of the link, which is no compiler for itself.
    fs::remove_file(home.root.join("bin/mpicc")).expect("the link is there");
    script(&home.root.join("bin/mpicc"), "exec \"$(dirname \"$0\")/mpi-wrapper\" mpicc \"$@\"");
    assert_eq!(home.says("mpicc", &["-showme:compile"]), home.compile_flags());
    let path = home.path("bin/mpicc");
    assert!(home.complains_with(&[("MPICH_CC", &path)], "mpicc", &["x.c"]).contains("is mpicc itself"));
}

#[test]
fn fortran_links_its_own_library_and_refuses_what_cannot_work() {
    let home = Installation::new();
    assert_eq!(home.says("mpifort", &["-showme:compile"]), home.compile_flags());
    assert_eq!(
        home.says("mpif77", &["--version"]),
        format!("gfortran [--version] [{}]", home.compile_flags())
    );
    assert!(home.says("mpifort", &["-showme:link"]).ends_with("-lmpifort_abi -lmpi_abi"));
    assert_eq!(home.says("mpif90", &["-showme:libs"]), "mpifort_abi mpi_abi");
    assert!(home.complains_with(&[], "mpif90", &["-i8", "x.f90"]).contains("longer than C's int"));
    assert!(home.complains_with(&[], "mpif90", &["-static-mpi", "x.f90"]).contains("leave -static-mpi out"));
}

#[test]
fn modules_are_compiled_once_for_each_compiler_also_by_questions() {
    let home = Installation::new();
    fs::create_dir_all(home.root.join("share/alhena/fortran")).expect("the prefix is writable");
    for name in ["alhena_types.f90", "mpi.f90", "mpi_f08.f90", "mpi_ext.f90", "mpi_f08_ext.f90"] {
        fs::write(home.root.join("share/alhena/fortran").join(name), "").expect("the prefix is writable");
    }
    // A compiler that makes modules and keeps count, and refuses buffers of several types without a flag.
    let compiler = "case $* in *-fallow-argument-mismatch*ask.f90) ;; *ask.f90) exit 1;; *fsyntax-only*) m=${3##*/}; : > ${m%.f90}.mod; echo x >> \"${0%/*}/count\";; *) echo \"$@\";; esac";
    script(&home.root.join("tools/gfortran"), compiler);
    let folders = home.says("mpifort", &["-showme:incdirs"]);
    let modules = folders.split(' ').nth(1).expect("the folder of the modules");
    assert!(modules.starts_with(&home.path("lib/alhena/modules/gfortran-")), "{folders}");
    assert!(fs::exists(format!("{modules}/mpi_f08.mod")).expect("the folder can be read"));
    assert!(home.says("mpif77", &["-c", "x.f"]).ends_with(&format!("-I{modules}")));
    let count = fs::read_to_string(home.root.join("tools/count")).expect("the compiler ran");
    assert_eq!(count.lines().count(), 5, "once for each module");
    assert!(home.says("mpif90", &["-showme:compile"]).starts_with("-fallow-argument-mismatch "));
}

#[test]
fn the_tree_can_be_moved_and_reached_by_links() {
    let mut home = Installation::new();
    let moved = home.root.with_extension("moved");
    fs::rename(&home.root, &moved).expect("it can be renamed");
    home.root = moved;
    assert_eq!(home.says("mpicc", &["-showme:incdirs"]), home.path("include"));

    let link = home.root.join("tools/mpicxx");
    symlink(home.root.join("bin/mpicxx"), &link).expect("links can be made");
    let output = Command::new(link).arg("-showme:libdirs").output().expect("the wrapper starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), home.path("lib"));
}
