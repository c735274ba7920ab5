//! The Fortran modules of a compiler. Each compiler has a format of its own, so the installation has their source, and they are
//! compiled when a compiler asks for the first time: below the prefix, or below the user's cache where that is read-only.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wrappers::{COMPILER, module_homes};

use crate::failure::Failure;
use crate::prefix::{self, Prefix};

/// In the order in which they are compiled.
const SOURCES: [&str; 5] = ["alhena_types.f90", "mpi.f90", "mpi_f08.f90", "mpi_ext.f90", "mpi_f08_ext.f90"];

/// What the library takes for granted unless the program says otherwise, by an absolute symbol, as modules have no code. A compiler
/// answers in a program when its modules are compiled; a note beside them has what differs.
struct Fact {
    symbol: &'static str,
    usual: i64,
    program: &'static str,
}

const FACTS: [Fact; 2] = [
    Fact {
        symbol: "alhena_fortran_true",
        usual: 1,
        program: "program p\nprint '(i0)', transfer(.true., 1)\nend program\n",
    },
    // A bit for each kind, as `KINDS` of the Fortran library numbers them: LOGICAL and INTEGER of 1 to 16 bytes, REAL of 2 to 16.
    Fact {
        symbol: "alhena_fortran_kinds",
        usual: 0x3bff,
        program: "\
program p
use, intrinsic :: iso_fortran_env, only: logical_kinds, integer_kinds, real_kinds
integer :: i, bits
bits = 0
do i = 0, 4
if (any(logical_kinds == 2**i)) bits = ior(bits, 2**i)
if (any(integer_kinds == 2**i)) bits = ior(bits, 2**(5 + i))
if (i > 0 .and. any(real_kinds == 2**i)) bits = ior(bits, 2**(9 + i))
end do
print '(i0)', bits
end program
",
    },
];

/// `mpif.h` declares no arguments, so programs pass buffers of several types to one procedure. gfortran 10 and later refuse that
/// without this flag, which the wrappers of MPICH pass, too.
const SEVERAL_TYPES: &str = "-fallow-argument-mismatch";
const PASSES_SEVERAL_TYPES: &str = "program p\ninteger :: i\nreal :: x\ncall s(i)\ncall s(x)\nend program\n";

/// The note of flags that programs are compiled with.
const FLAGS: &str = "flags";

impl Fact {
    fn note(&self, folder: &Path) -> PathBuf {
        folder.join(self.symbol)
    }
}

/// The folder with the compiler's modules; none where the installation has no source of them.
pub fn folder(compiler: &[String], prefix: &Prefix) -> Result<Option<PathBuf>, Failure> {
    let source = prefix.share().join("fortran");
    if !source.join(SOURCES[0]).exists() {
        return Ok(None);
    }
    let key = key(compiler, &source);
    let homes = module_homes(&prefix.lib());
    let name = |home: &PathBuf| home.join(&key);
    if let Some(there) = homes.iter().map(name).find(|folder| folder.join("mpi_f08.mod").exists()) {
        return Ok(Some(there));
    }
    let mut last = String::from("no folder can be written");
    for home in &homes {
        let aside = home.join(format!(".{key}.{}", std::process::id()));
        if fs::create_dir_all(&aside).is_err() {
            continue;
        }
        let compiled = compile(compiler, &source, &aside).map(|()| note(compiler, &aside));
        let whole = home.join(&key);
        // Another wrapper may have been faster; its modules are the same.
        let placed = compiled.is_ok() && (fs::rename(&aside, &whole).is_ok() || whole.exists());
        let _ = fs::remove_dir_all(&aside);
        match compiled {
            Ok(()) if placed => return Ok(Some(whole)),
            Ok(()) => {}
            Err(text) => last = text,
        }
    }
    Err(Failure::Modules { compiler: compiler.join(" "), seen: last })
}

/// What modules depend on: the compiler's program and version, the source, and what was asked.
fn key(compiler: &[String], source: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    // One program under several names has one folder.
    let name = compiler.first().map_or("", String::as_str);
    let program = prefix::on_path(name.as_ref()).and_then(|file| file.canonicalize().ok());
    let program = program.unwrap_or_else(|| PathBuf::from(name));
    program.hash(&mut hasher);
    compiler.get(1..).hash(&mut hasher);
    let version = command(compiler).arg("--version").output();
    version.map(|output| output.stdout).unwrap_or_default().hash(&mut hasher);
    for name in SOURCES {
        fs::read(source.join(name)).unwrap_or_default().hash(&mut hasher);
    }
    FACTS.iter().for_each(|fact| fact.program.hash(&mut hasher));
    SEVERAL_TYPES.hash(&mut hasher);
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}-{:016x}", hasher.finish())
}

/// Writes which compiler the modules are for, and facts that differ from the usual.
fn note(compiler: &[String], folder: &Path) {
    let version = command(compiler).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    let version = String::from_utf8_lossy(&version).lines().next().unwrap_or_default().to_owned();
    // The notes are for people and for rare compilers: modules serve without them.
    let _ = fs::write(folder.join(COMPILER), format!("{}\n{version}\n", compiler.join(" ")));
    for fact in &FACTS {
        if let Some(value) = answer(compiler, folder, fact.program).filter(|value| *value != fact.usual) {
            let _ = fs::write(fact.note(folder), value.to_string());
        }
    }
    if needs_flag(compiler, folder) {
        let _ = fs::write(folder.join(FLAGS), SEVERAL_TYPES);
    }
}

/// Whether the compiler takes [`PASSES_SEVERAL_TYPES`] with the flag alone.
fn needs_flag(compiler: &[String], folder: &Path) -> bool {
    let source = folder.join("ask.f90");
    let takes = |flags: &[&str]| {
        let mut command = command(compiler);
        command.args(["-fsyntax-only", "-w"]).args(flags).arg(&source).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let needs = fs::write(&source, PASSES_SEVERAL_TYPES).is_ok() && !takes(&[]) && takes(&[SEVERAL_TYPES]);
    let _ = fs::remove_file(&source);
    needs
}

/// The integer that a program prints.
fn answer(compiler: &[String], folder: &Path, text: &str) -> Option<i64> {
    let (source, program) = (folder.join("ask.f90"), folder.join("ask"));
    fs::write(&source, text).ok()?;
    let built = command(compiler).arg(&source).arg("-o").arg(&program).output();
    let printed =
        built.ok().filter(|it| it.status.success()).and_then(|_| Command::new(&program).output().ok());
    let _ = (fs::remove_file(&source), fs::remove_file(&program));
    String::from_utf8_lossy(&printed?.stdout).trim().parse().ok()
}

/// With what programs are compiled, beside the folder.
pub fn compile_flags(folder: &Path) -> Vec<String> {
    fs::read_to_string(folder.join(FLAGS)).map(|flags| vec![flags]).unwrap_or_default()
}

/// By what a program tells the library of them.
pub fn link_flags(folder: &Path) -> Vec<String> {
    let stated = FACTS.iter().filter_map(|fact| {
        let value: i64 = fs::read_to_string(fact.note(folder)).ok()?.parse().ok()?;
        Some(format!("-Wl,--defsym={}={value:#x}", fact.symbol))
    });
    stated.collect()
}

fn command(compiler: &[String]) -> Command {
    let mut command = Command::new(compiler.first().map_or("", String::as_str));
    command.args(compiler.get(1..).unwrap_or_default()).stdin(Stdio::null());
    command
}

/// Compiles the modules in `folder`; what the compiler prints if it cannot.
fn compile(compiler: &[String], source: &Path, folder: &Path) -> Result<(), String> {
    for name in SOURCES {
        let module = folder.join(Path::new(name).with_extension("mod"));
        let mut last = String::new();
        // Compilers that know no check of the syntax alone write an object, too, which is of no use.
        for how in ["-fsyntax-only", "-c"] {
            let output =
                command(compiler).args([how, "-w"]).arg(source.join(name)).current_dir(folder).output();
            match output {
                Ok(output) if output.status.success() && module.exists() => break,
                Ok(output) => {
                    last =
                        String::from_utf8_lossy(&output.stderr).lines().take(5).collect::<Vec<_>>().join("; ")
                }
                Err(error) => last = error.to_string(),
            }
        }
        if !module.exists() {
            return Err(format!("{name}: {last}"));
        }
    }
    Ok(())
}
