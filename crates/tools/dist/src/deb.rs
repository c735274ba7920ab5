//! Packages of Debian: the tree below `/usr/lib/TRIPLET/alhena`, and links into the places where Debian's other MPI libraries have
//! theirs. `update-alternatives` chooses among them; `packaging/debian` has the scripts that register ours, below the priorities of
//! the others.

use std::fs;
use std::io::{self, Write};

use time::format_description::well_known::Rfc2822;

use crate::archive;
use crate::elf::{Debug, Needs};
use crate::failure::Failure;
use crate::files::{Content, File, Format, Part, Tree};
use crate::release::{DESCRIPTION, Release, SUMMARY};

/// A package and what its control file says.
struct Package {
    name: &'static str,
    part: Option<Part>,
    section: &'static str,
    title: &'static str,
    about: &'static str,
    /// Fields beside those that all packages have; `@` stands for the version.
    fields: &'static [&'static str],
    /// Whether it is the same for all processors.
    any: bool,
}

const PACKAGES: [Package; 5] = [
    Package {
        name: "libmpi-abi1-alhena",
        part: Some(Part::Library),
        section: "libs",
        title: "library",
        about: "This package has the library that programs load.",
        fields: &["Provides: libmpi-abi1", "Multi-Arch: same"],
        any: false,
    },
    Package {
        name: "alhena",
        part: Some(Part::Tools),
        section: "net",
        title: "launcher and tools",
        about: "This package has mpiexec, which starts programs, and the tool alhena, which measures and examines hosts.",
        fields: &["Depends+: libmpi-abi1-alhena (= @)", "Suggests: openssh-client, alhena-doc"],
        any: false,
    },
    Package {
        name: "libalhena-dev",
        part: Some(Part::Development),
        section: "libdevel",
        title: "compiler wrappers and headers",
        about: "This package compiles programs, in C, C++ and Fortran.",
        fields: &[
            "Depends+: alhena (= @), libmpi-abi1-alhena (= @), gcc | c-compiler, libc6-dev | libc-dev",
            "Suggests: g++, gfortran, alhena-doc",
        ],
        any: false,
    },
    Package {
        name: "alhena-doc",
        part: Some(Part::Documentation),
        section: "doc",
        title: "documentation",
        about: "This package has the manual pages of all functions, and the pages of docs/ as a site to read in a browser.",
        fields: &["Multi-Arch: foreign"],
        any: true,
    },
    Package {
        name: "alhena-dbgsym",
        part: None,
        section: "debug",
        title: "debug information",
        about: "This package has what debuggers and profilers read beside the programs and libraries.",
        fields: &["Suggests: gdb"],
        any: false,
    },
];

/// A file as a package has it.
struct Placed {
    path: String,
    content: Content,
    mode: u32,
}

/// Makes all packages: their file names and bytes. `texts` go into the documentation of each.
pub fn packages(
    release: &Release,
    tree: &Tree,
    debug: &[Debug],
    texts: &[(String, Vec<u8>)],
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    PACKAGES.iter().map(|package| make(release, tree, debug, texts, package)).collect()
}

fn make(
    release: &Release,
    tree: &Tree,
    debug: &[Debug],
    texts: &[(String, Vec<u8>)],
    package: &Package,
) -> Result<(String, Vec<u8>), Failure> {
    let failed = |error| Failure::packing(package.name, error);
    let mut files = match package.part {
        Some(part) => tree.of(Format::Deb, Some(part)).flat_map(|file| place(release, file, tree)).collect(),
        None => debug.iter().map(placed_debug).collect(),
    };
    common_links(release, package, &mut files);
    for (name, bytes) in documents(release, package, texts).map_err(failed)? {
        let path = format!("usr/share/doc/{}/{name}", package.name);
        files.push(Placed { path, content: Content::Bytes(bytes, false), mode: 0o644 });
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    files.dedup_by(|left, right| left.path == right.path);

    let needs = Needs::of(files.iter().map(|file| (file.path.as_str(), &file.content)))?;
    let mut control = vec![("control", control(release, package, &files, &needs), 0o644)];
    control.push(("md5sums", sums(&files), 0o644));
    if package.part == Some(Part::Library) {
        control.push(("conffiles", "/etc/alhena/alhena.toml\n".into(), 0o644));
        control.push(("triggers", "activate-noawait ldconfig\n".into(), 0o644));
    }
    for script in ["postinst", "prerm"] {
        let path = release.source(format!("packaging/debian/{}.{script}", package.name));
        match fs::read_to_string(&path) {
            Ok(text) => control.push((script, text.replace("@TRIPLET@", release.processor.triplet()), 0o755)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::reading(&path, error)),
        }
    }
    control.sort();
    let processor = if package.any { "all" } else { release.processor.debian() };
    let name = format!("{}_{}_{processor}.deb", package.name, revision(release));
    Ok((name, bind(release, &control, &files).map_err(failed)?))
}

/// The version as Debian counts: ours, then the first packaging of it.
fn revision(release: &Release) -> String {
    format!("{}-1", release.version)
}

/// The three members of a package (deb(5)).
fn bind(release: &Release, control: &[(&str, String, u32)], files: &[Placed]) -> io::Result<Vec<u8>> {
    let control = archive::pack(release, |archive| {
        control.iter().try_for_each(|(name, text, mode)| {
            archive.add(&format!("./{name}"), &Content::Bytes(text.clone().into_bytes(), false), *mode)
        })
    })?;
    let data = archive::pack(release, |archive| {
        files.iter().try_for_each(|file| archive.add(&format!("./{}", file.path), &file.content, file.mode))
    })?;
    let mut package = ar::Builder::new(Vec::new());
    let members: [(&str, &[u8]); 3] =
        [("debian-binary", b"2.0\n"), ("control.tar.zst", &control), ("data.tar.zst", &data)];
    for (name, bytes) in members {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
        header.set_mtime(release.epoch);
        header.set_mode(0o100_644);
        package.append(&header, bytes)?;
    }
    package.into_inner()
}

/// Where a file of the tree goes, with the links to it.
fn place(release: &Release, file: &File, tree: &Tree) -> Vec<Placed> {
    let home = home(release);
    let at = |path: String, content: Content| Placed { path, content, mode: file.mode() };
    let link = |path: String, target: String| Placed { path, content: Content::Link(target), mode: 0o777 };
    let in_tree = format!("{home}/{}", file.path);
    if file.path == "etc/alhena.toml" {
        // A configuration file of the system, which dpkg asks about when it has been changed.
        return vec![
            at("etc/alhena/alhena.toml".into(), file.content.clone()),
            link(in_tree, "/etc/alhena/alhena.toml".into()),
        ];
    }
    if let Some(path) = file.path.strip_prefix("share/doc/alhena/") {
        return match path {
            // The licences are in the file `copyright`.
            "LICENSE-MIT" | "LICENSE-APACHE" | "THIRD-PARTY.txt" => Vec::new(),
            _ => vec![at(format!("usr/share/doc/alhena/{path}"), file.content.clone())],
        };
    }
    if let Some(page) = file.path.strip_prefix("share/man/") {
        return vec![manual_page(page, &file.content, tree)];
    }
    if file.path.ends_with(".pc") {
        let Content::Bytes(bytes, _) = &file.content else { return vec![at(in_tree, file.content.clone())] };
        // Debian's links to these files are in another folder, from which they would not find theirs.
        let text = String::from_utf8_lossy(bytes).replace("${pcfiledir}/../..", &format!("/{home}"));
        return vec![at(in_tree, Content::Bytes(text.into_bytes(), false))];
    }
    let mut placed = vec![at(in_tree.clone(), file.content.clone())];
    if let Some(name) = file.path.strip_prefix("bin/").filter(|name| *name != "mpi-wrapper") {
        let name = if name.starts_with("mpi") { format!("{name}.alhena") } else { name.into() };
        placed.push(link(format!("usr/bin/{name}"), format!("..{}", in_tree.trim_start_matches("usr"))));
    }
    placed
}

/// The tree's folder.
fn home(release: &Release) -> String {
    format!("usr/lib/{}/alhena", release.processor.triplet())
}

/// A manual page, under a name that no other MPI library's page has, packed; a page that only names another one is a link.
fn manual_page(page: &str, content: &Content, tree: &Tree) -> Placed {
    let path = format!("usr/share/man/{}.gz", page_name(page));
    let Content::Bytes(bytes, _) = content else {
        return Placed { path, content: content.clone(), mode: 0o777 };
    };
    let text = String::from_utf8_lossy(bytes);
    let named = text.strip_prefix(".so ").map(str::trim).filter(|other| {
        tree.0.iter().any(|file| file.path.strip_prefix("share/man/").is_some_and(|path| path == *other))
    });
    let (content, mode) = match named {
        Some(other) => {
            let other = page_name(other);
            let name = other.rsplit('/').next().unwrap_or(&other);
            (Content::Link(format!("{name}.gz")), 0o777)
        }
        None => (Content::Bytes(gzip(bytes), false), 0o644),
    };
    Placed { path, content, mode }
}

/// `man1/mpicc.1` as `man1/mpicc.alhena.1`, `man3/MPI_Send.3` as `man3/MPI_Send.3alhena`, which `man MPI_Send` finds; ours alone stay.
fn page_name(page: &str) -> String {
    match page.rsplit_once('.') {
        Some((name, "1")) if name.starts_with("man1/mpi") => format!("{name}.alhena.1"),
        Some((_, "3")) if page.starts_with("man3/MPI_") => format!("{page}alhena"),
        _ => page.into(),
    }
}

fn placed_debug(debug: &Debug) -> Placed {
    let path = format!("usr/lib/debug/{}", debug.path);
    Placed { path, content: Content::Bytes(debug.bytes.clone(), false), mode: 0o644 }
}

/// What a package has beside the files of the tree.
fn common_links(release: &Release, package: &Package, files: &mut Vec<Placed>) {
    if package.part == Some(Part::Documentation) {
        // The tool and the pages name share/doc/alhena below the prefix.
        let path = format!("{}/share/doc/alhena", home(release));
        let content = Content::Link("../../../../../share/doc/alhena".into());
        files.push(Placed { path, content, mode: 0o777 });
    }
}

/// Copyright, changes, and the licences of all crates where there is code.
fn documents(
    release: &Release,
    package: &Package,
    texts: &[(String, Vec<u8>)],
) -> io::Result<Vec<(String, Vec<u8>)>> {
    let changes = format!(
        "{} ({}) unstable; urgency=medium\n\n  * Release {}; its changes are in CHANGELOG.md.\n\n -- {MAINTAINER}  {}\n",
        "alhena",
        revision(release),
        release.version,
        release.time().format(&Rfc2822).unwrap_or_default()
    );
    let mut documents = vec![
        ("copyright".to_owned(), copyright().into_bytes()),
        ("changelog.Debian.gz".to_owned(), gzip(changes.as_bytes())),
    ];
    if package.part == Some(Part::Library) {
        documents.extend(texts.iter().map(|(name, bytes)| (format!("{name}.gz"), gzip(bytes))));
    }
    Ok(documents)
}

const MAINTAINER: &str = "Alhena developers <developers@alhena.invalid>";

fn copyright() -> String {
    let mit = include_str!("../../../../LICENSE-MIT");
    let (_, terms) = mit.split_once("Permission is hereby").unwrap_or(("", mit));
    let indented: String = format!("Permission is hereby{terms}")
        .lines()
        .map(|line| if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") })
        .collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: alhena\n\n\
         Files: *\nCopyright: the authors of Alhena, and of the crates in THIRD-PARTY.txt\nLicense: Expat or Apache-2.0\n\n\
         License: Expat\n{indented}\n\
         License: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n"
    )
}

/// Debian's packages of libraries beside glibc's, since the versions that have all symbols. The C++ bindings need the second one.
const LIBRARIES: [(&str, &str); 2] =
    [("libgcc_s.so.1", "libgcc-s1 (>= 3.3.1)"), ("libstdc++.so.6", "libstdc++6 (>= 4.4.0)")];

/// The packages of Debian that have what is needed of a system.
fn depends(needs: &Needs) -> Vec<String> {
    let mut depends = Vec::new();
    if needs.libraries.contains("libc.so.6") {
        let (major, minor) = needs.glibc();
        depends.push(format!("libc6 (>= {major}.{minor})"));
    }
    let others = LIBRARIES.iter().filter(|(library, _)| needs.libraries.contains(*library));
    depends.extend(others.map(|(_, package)| (*package).to_owned()));
    depends
}

fn control(release: &Release, package: &Package, files: &[Placed], needs: &Needs) -> String {
    let version = revision(release);
    let mut depends = depends(needs);
    let mut fields = Vec::new();
    for field in package.fields {
        match field.strip_prefix("Depends+: ") {
            Some(more) => depends.push(more.replace('@', &version)),
            None => fields.push((*field).to_owned()),
        }
    }
    if !depends.is_empty() {
        fields.insert(0, format!("Depends: {}", depends.join(", ")));
    }
    let size: usize = files
        .iter()
        .map(|file| match &file.content {
            Content::Bytes(bytes, _) => bytes.len().div_ceil(1024),
            Content::Link(_) => 1,
        })
        .sum();
    let processor = if package.any { "all" } else { release.processor.debian() };
    format!(
        "Package: {}\nSource: alhena\nVersion: {version}\nSection: {}\nPriority: optional\nArchitecture: {processor}\n\
         Maintainer: {MAINTAINER}\nInstalled-Size: {size}\n{}\n\
         Description: {SUMMARY}, {}\n{} .\n{}",
        package.name,
        package.section,
        fields.join("\n"),
        package.title,
        wrapped(DESCRIPTION),
        wrapped(package.about),
    )
}

/// A paragraph of a description: each line after a space, within 80 columns.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        if column == 0 || column + word.len() + 1 > 78 {
            lines.push_str(if column == 0 { "" } else { "\n" });
            column = 0;
        }
        lines.push(' ');
        lines.push_str(word);
        column += word.len() + 1;
    }
    lines + "\n"
}

fn sums(files: &[Placed]) -> String {
    let line = |file: &Placed| match &file.content {
        Content::Bytes(bytes, _) if !file.path.starts_with("etc/") => {
            Some(format!("{:x}  {}\n", md5::compute(bytes), file.path))
        }
        _ => None,
    };
    files.iter().filter_map(line).collect()
}

/// Packed without a name and a time.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes every byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_names_of_their_own() {
        assert_eq!(page_name("man1/mpicc.1"), "man1/mpicc.alhena.1");
        assert_eq!(page_name("man1/alhena-bench.1"), "man1/alhena-bench.1");
        assert_eq!(page_name("man3/MPI_Send.3"), "man3/MPI_Send.3alhena");
        assert_eq!(page_name("man3/alhena_put.3"), "man3/alhena_put.3");
    }

    #[test]
    fn packages_depend_on_those_of_the_libraries() {
        let libraries = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"];
        let versions = [("libc.so.6", "GLIBC_2.28"), ("libstdc++.so.6", "GLIBCXX_3.4.11")];
        let needs = Needs {
            libraries: libraries.map(str::to_owned).into(),
            versions: versions.map(|(library, version)| (library.to_owned(), version.to_owned())).into(),
        };
        let all = ["libc6 (>= 2.28)", "libgcc-s1 (>= 3.3.1)", "libstdc++6 (>= 4.4.0)"];
        assert_eq!(depends(&needs), all);
        assert!(depends(&Needs::default()).is_empty());
    }

    #[test]
    fn descriptions_are_lines_after_a_space() {
        let text = wrapped(DESCRIPTION);
        assert!(text.lines().all(|line| line.starts_with(' ') && line.len() < 80), "{text}");
    }
}
