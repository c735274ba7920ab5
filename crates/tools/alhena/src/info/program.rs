//! `alhena info PROGRAM`: which ABI a program was built for, and what happens when it starts.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use binary::{Abi, Binary};

/// What there is to know of a program, as lines.
pub fn describe(program: &Path, prefix: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let path = std::env::var_os("PATH");
    let file = binary::find(program.as_os_str(), path.as_deref())
        .ok_or_else(|| failure(program, "there is no such file, here or in PATH", "alhena info ./PROGRAM"))?;
    let read = Binary::read(&file).map_err(|error| failure(program, &error.to_string(), "file PROGRAM"))?;
    let directory =
        prefix.map(|prefix| prefix.join(binary::DIRECTORY)).filter(|directory| directory.is_dir());
    Ok(text(&file, read.as_ref(), directory.as_deref()))
}

fn failure(program: &Path, seen: &str, next: &str) -> String {
    format!("alhena: reading the program {} failed\n  seen: {seen}\n  next: {next}", program.display())
}

fn text(file: &Path, binary: Option<&Binary>, directory: Option<&Path>) -> String {
    let name = file.display();
    let place =
        directory.map_or("lib/alhena/abi of an installed Alhena".to_string(), |it| it.display().to_string());
    let in_case =
        format!("  under mpiexec: should it load MPICH's or Open MPI's library, it gets ours from {place}\n");
    let Some(binary) = binary else {
        return format!("{name} is no ELF file: what it starts decides\n{in_case}");
    };
    let libraries: Vec<(&str, Abi)> = binary.libraries().collect();
    let Some((library, abi)) = libraries.first().copied() else {
        return format!("{name} needs no MPI library itself\n{in_case}");
    };
    let mut text = format!("{name} was built for {} ({library})\n", abi.name());
    if let Some((other, second)) = libraries.iter().find(|(_, second)| *second != abi) {
        let _ = writeln!(
            text,
            "  seen: it needs {other}, too, which has {}\n  next: build all of it with one MPI: the loader takes each \
             function from the first library that has it",
            second.name()
        );
        return text;
    }
    if abi == Abi::Standard {
        text.push_str("  runs on Alhena and on every other library of that ABI, as it is\n");
        return text;
    }
    let missing = |library: &str| directory.is_some_and(|directory| !directory.join(library).exists());
    if let Some((library, _)) = libraries.iter().find(|(library, _)| missing(library)) {
        let _ = writeln!(
            text,
            "  seen: {place} has no {library}\n  next: build the program again with Alhena's mpicc"
        );
        return text;
    }
    let _ = writeln!(
        text,
        "  under mpiexec: runs on Alhena as it is, with the library of that name from {place}"
    );
    let variable = if binary.insists() {
        text.push_str("  its DT_RPATH comes before LD_LIBRARY_PATH, so mpiexec preloads the library\n");
        let preload = libraries.iter().map(|(library, _)| format!("{place}/{library}")).collect::<Vec<_>>();
        format!("LD_PRELOAD={}", preload.join(":"))
    } else {
        format!("LD_LIBRARY_PATH={place}")
    };
    let _ = writeln!(text, "  by itself:     {variable} {name}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(needed: &[&str], rpath: Option<&str>) -> String {
        let needed = needed.iter().map(|library| library.to_string()).collect();
        let binary = Binary { needed, rpath: rpath.map(str::to_string), runpath: None };
        text(Path::new("/bin/p"), Some(&binary), None)
    }

    #[test]
    fn a_program_is_described_by_what_it_needs() {
        assert!(of(&["libc.so.6"], None).starts_with("/bin/p needs no MPI library itself\n"));
        assert!(of(&["libmpi_abi.so.1"], None).starts_with("/bin/p was built for the standard ABI"));
        let mpich = of(&["libmpich.so.12", "libc.so.6"], None);
        assert!(mpich.starts_with("/bin/p was built for MPICH's ABI (libmpich.so.12)"), "{mpich}");
        assert!(mpich.contains("LD_LIBRARY_PATH="), "{mpich}");
        assert!(of(&["libmpi.so.12"], Some("/opt")).contains("LD_PRELOAD="));
        assert!(of(&["libmpi.so.12", "libmpi.so.40"], None).contains("libmpi.so.40, too"));
    }
}
