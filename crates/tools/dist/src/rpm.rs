//! Packages of RPM, as Fedora and its kin have other MPI libraries: the tree below `/usr/lib64/alhena`, chosen by the module
//! `mpi/alhena-PROCESSOR`, nothing in `/usr/bin`.

use std::collections::BTreeSet;

use rpm::{BuildConfig, CompressionWithLevel, Dependency, FileOptions, PackageBuilder};

use crate::elf::Needs;
use crate::failure::Failure;
use crate::files::{Content, File, Format, Part, Tree};
use crate::release::{DESCRIPTION, LICENCE, Release, SUMMARY};

/// Where the tree goes.
const HOME: &str = "/usr/lib64/alhena";

/// Name, parts and title of the packages.
const PACKAGES: [(&str, &[Part], &str); 2] = [
    ("alhena", &[Part::Library, Part::Tools], SUMMARY),
    (
        "alhena-devel",
        &[Part::Development, Part::Documentation],
        "Compiler wrappers, headers and manual pages of Alhena",
    ),
];

/// Makes all packages: their file names and bytes.
pub fn packages(release: &Release, tree: &Tree) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let made = |(name, parts, title): &(&str, &[Part], &str)| {
        let files: Vec<&File> =
            tree.of(Format::Rpm, None).filter(|file| parts.contains(&file.part)).collect();
        let needs = Needs::of(files.iter().map(|file| (file.path.as_str(), &file.content)))?;
        let bytes =
            make(release, name, title, &files, &needs).map_err(|error| Failure::packing(name, error))?;
        Ok((format!("{name}-{}-1.{}.rpm", release.version, release.processor.name()), bytes))
    };
    PACKAGES.iter().map(made).collect()
}

fn make(
    release: &Release,
    name: &str,
    title: &str,
    files: &[&File],
    needs: &Needs,
) -> Result<Vec<u8>, rpm::Error> {
    let level = CompressionWithLevel::Zstd(release.level);
    let time = u32::try_from(release.epoch).unwrap_or(0);
    let mut package = PackageBuilder::new(name, &release.version, LICENCE, release.processor.name(), title);
    package
        .using_config(BuildConfig::v4().compression(level).source_date(time))
        .release("1")
        .build_host("alhena")
        .description(DESCRIPTION);
    let mut folders = BTreeSet::new();
    for file in files {
        let path = format!("{HOME}/{}", file.path);
        for (end, _) in path.match_indices('/').filter(|(end, _)| *end >= HOME.len()) {
            folders.insert(path[..end].to_owned());
        }
        add(&mut package, path, file)?;
    }
    for folder in folders {
        package.with_dir_entry(FileOptions::dir(folder))?;
    }
    if name == "alhena" {
        let modulefile = std::fs::read_to_string(release.source("packaging/modulefile"))?
            .replace(OWN_PREFIX, &format!("set prefix {HOME}"));
        let path = format!("/usr/share/modulefiles/mpi/alhena-{}", release.processor.name());
        package.with_file_contents(modulefile, FileOptions::new(path).permissions(0o644))?;
        package.provides(Dependency::any(format!("libmpi_abi.so.1()({})", WIDTH)));
    } else {
        package.requires(Dependency::eq("alhena", format!("{}-1", release.version)));
        package.requires(Dependency::any("gcc"));
    }
    for library in &needs.libraries {
        let provided_by_us = library.starts_with("libmpi");
        if !provided_by_us {
            package.requires(Dependency::any(format!("{library}()({WIDTH})")));
        }
    }
    for (library, version) in &needs.versions {
        package.requires(Dependency::any(format!("{library}({version})({WIDTH})")));
    }
    let mut bytes = Vec::new();
    package.build()?.write(&mut bytes)?;
    Ok(bytes)
}

/// What RPM writes behind the name of a library of 64 bits.
const WIDTH: &str = "64bit";

/// The line of the module file that finds the prefix from the file's own place.
const OWN_PREFIX: &str =
    "set prefix [file normalize [file join [file dirname $ModulesCurrentModulefile] .. .. ..]]";

fn add(package: &mut PackageBuilder, path: String, file: &File) -> Result<(), rpm::Error> {
    match &file.content {
        Content::Link(target) => package.with_symlink(FileOptions::symlink(path, target))?,
        Content::Bytes(bytes, _) => {
            let mut options = FileOptions::new(path).permissions(file.mode() as u16);
            if file.path.starts_with("etc/") {
                options = options.config().noreplace();
            } else if file.path.starts_with("share/doc/") || file.path.starts_with("share/man/") {
                options = options.doc();
            }
            package.with_file_contents(bytes.as_slice(), options)?
        }
    };
    Ok(())
}
