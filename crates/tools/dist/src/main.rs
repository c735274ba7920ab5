//! What is released, from one installed tree and one list of files:
//!
//! ```text
//!   TREE, packaging/files.toml ─► files with parts ─► debug information taken out
//!                                                       ├─► archive, archive of debug files
//!                                                       ├─► wheel
//!                                                       ├─► packages of Debian, of RPM
//!                       cargo's metadata ─► bill of materials, licences ─► SHA256SUMS
//! ```
//!
//! Nothing in what is written depends on the place, the user or the time of the run.
#![forbid(unsafe_code)]

mod archive;
mod crates;
mod deb;
mod elf;
mod failure;
mod files;
mod programs;
mod release;
mod rpm;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::Parser;
use sha2::{Digest, Sha256};

use failure::Failure;
use files::{Content, File, Format, List, Part, Tree};
use release::{Processor, Release};
use wheel::Texts;

/// Makes archive, wheel, packages, debug files, bill of materials and checksums of an installed tree.
#[derive(Parser)]
struct Arguments {
    /// The installed tree: what `scripts/install` has made.
    tree: PathBuf,
    /// The folder to write to.
    out: PathBuf,
    /// The sources.
    #[arg(long, default_value = ".")]
    sources: PathBuf,
    /// The processor that the tree is for.
    #[arg(long, value_enum, default_value_t = Processor::OWN)]
    processor: Processor,
    /// Time of all files, in seconds since 1970.
    #[arg(long, env = "SOURCE_DATE_EPOCH", default_value_t = 0)]
    epoch: u64,
    /// The program that takes debug information out of others.
    #[arg(long, default_value = "objcopy")]
    objcopy: String,
    /// Level of zstd, from 1 to 22: archives and packages become smaller, and take longer.
    #[arg(long, default_value_t = 19)]
    level: i32,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { tree, out, sources, processor, epoch, objcopy, level } = arguments;
    let release = Release { version: env!("CARGO_PKG_VERSION").into(), processor, epoch, level, sources };
    let list = List::read(&release.source("packaging/files.toml"))?;
    let mut tree = Tree::read(&tree, &list)?;
    elf::all_are_found(&tree)?;
    elf::all_begin_right(&tree)?;
    let debug = elf::split(&mut tree, &objcopy)?;
    let crates = crates::Crates::of(&release)?;
    let (bill, licences) = (crates.bill(&release), crates.licences()?);
    let third_party = [("THIRD-PARTY.txt".to_owned(), licences)];
    add_texts(&mut tree, &third_party, &bill);

    let packing = |error| Failure::packing("an archive", error);
    let texts = texts(&release, &third_party, &bill)?;
    // A thread packs each format: nearly all of the time goes into compression.
    let mut made = thread::scope(|scope| {
        let formats = [
            scope.spawn(|| deb::packages(&release, &tree, &debug, &third_party)),
            scope.spawn(|| rpm::packages(&release, &tree)),
            scope.spawn(|| archive::debug(&release, &debug).map(one).map_err(packing)),
            scope.spawn(|| archive::tarball(&release, &tree).map(one).map_err(packing)),
            scope.spawn(|| wheel::wheel(&release, &tree, &texts).map(one)),
        ];
        let mut made = Vec::new();
        for format in formats {
            made.extend(format.join().expect("a thread that packs does not panic")?);
        }
        Ok(made)
    })?;
    made.push((format!("alhena-{}.cdx.json", release.version), bill));
    write(&out, made)
}

/// A format of one file.
fn one(file: (String, Vec<u8>)) -> Vec<(String, Vec<u8>)> {
    vec![file]
}

/// The tree's own copies of licences and bill of materials.
fn add_texts(tree: &mut Tree, third_party: &[(String, Vec<u8>)], bill: &[u8]) {
    let bill = ("alhena.cdx.json".to_owned(), bill.to_vec());
    for (name, bytes) in third_party.iter().chain([&bill]) {
        tree.0.push(File {
            path: format!("share/doc/alhena/{name}"),
            part: Part::Tools,
            not_in: vec![Format::Wheel],
            content: Content::Bytes(bytes.clone(), false),
        });
    }
    tree.0.sort_by(|left, right| left.path.cmp(&right.path));
}

/// What is in the wheel's own folder: licences and bill of materials.
fn texts(release: &Release, third_party: &[(String, Vec<u8>)], bill: &[u8]) -> Result<Texts, Failure> {
    let own = |name: &str| {
        let path = release.source(name);
        fs::read(&path).map(|bytes| (name.to_owned(), bytes)).map_err(|error| Failure::reading(&path, error))
    };
    let mut licences = vec![own("LICENSE-MIT")?, own("LICENSE-APACHE")?];
    licences.extend_from_slice(third_party);
    Ok(Texts { licences, bills: vec![("alhena.cdx.json".into(), bill.to_vec())] })
}

/// Writes all files, with a list of their checksums, and reports what they are.
fn write(out: &Path, mut made: Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
    fs::create_dir_all(out).map_err(|error| Failure::writing(out, error))?;
    made.sort();
    let sum =
        |bytes: &[u8]| -> String { Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect() };
    let sums: String = made.iter().map(|(name, bytes)| format!("{}  {name}\n", sum(bytes))).collect();
    made.push(("SHA256SUMS".into(), sums.into_bytes()));
    for (name, bytes) in made {
        let path = out.join(&name);
        println!("{:>12}  {}", bytes.len(), path.display());
        fs::write(&path, bytes).map_err(|error| Failure::writing(&path, error))?;
    }
    Ok(())
}
