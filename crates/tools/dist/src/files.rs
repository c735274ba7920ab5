//! The list of what is released, `packaging/files.toml`, and the tree that it is held against.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use glob::{MatchOptions, Pattern};
use serde::Deserialize;

use crate::failure::Failure;

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// What a program needs to run.
    Library,
    /// What starts and measures programs.
    Tools,
    /// What compiles programs.
    Development,
    /// Pages to read.
    Documentation,
}

/// What is made of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// An archive to unpack anywhere.
    Tar,
    /// For pip.
    Wheel,
    /// For dpkg.
    Deb,
    /// For rpm.
    Rpm,
}

/// The list of files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    part: Part,
    files: Vec<String>,
    #[serde(default)]
    not_in: Vec<Format>,
}

impl List {
    /// Reads the list.
    pub fn read(path: &Path) -> Result<List, Failure> {
        let text = fs::read_to_string(path).map_err(|error| Failure::reading(path, error))?;
        toml::from_str(&text).map_err(|error| Failure::reading(path, error))
    }

    fn rule(&self, path: &str) -> Option<&Rule> {
        const WHOLE: MatchOptions = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        let fits = |pattern: &String| Pattern::new(pattern).is_ok_and(|it| it.matches_with(path, WHOLE));
        self.rule.iter().find(|rule| rule.files.iter().any(fits))
    }
}

/// A file or link below the prefix.
#[derive(Clone, Debug)]
pub struct File {
    /// Its place below the prefix, without a slash before it.
    pub path: String,
    /// What it is for.
    pub part: Part,
    /// Formats that go without it.
    pub not_in: Vec<Format>,
    /// What is in it.
    pub content: Content,
}

/// What a file is.
#[derive(Clone, Debug)]
pub enum Content {
    /// A file, and whether it is a program.
    Bytes(Vec<u8>, bool),
    /// A symbolic link to a path that is relative to its own folder.
    Link(String),
}

impl File {
    /// The permissions of a file: those of every user, whatever mask the tree was made with.
    pub fn mode(&self) -> u32 {
        match self.content {
            Content::Bytes(_, true) | Content::Link(_) => 0o755,
            Content::Bytes(_, false) => 0o644,
        }
    }

    /// The name without its folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// All files of a tree in the order of their paths.
pub struct Tree(pub Vec<File>);

impl Tree {
    /// Reads a tree. Each file must have a rule in the list.
    pub fn read(root: &Path, list: &List) -> Result<Tree, Failure> {
        let mut files = Vec::new();
        collect(root, "", list, &mut files)?;
        files.sort_by(|left, right| left.path.cmp(&right.path));
        if files.iter().any(|file| file.path == "lib/libmpi_abi.so.1") {
            return Ok(Tree(files));
        }
        Err(Failure::new(
            format!("reading the tree {}", root.display()),
            "it has no lib/libmpi_abi.so.1",
            "install into it first: make install PREFIX=DIRECTORY",
        ))
    }

    /// The files of a format, of all parts or of one.
    pub fn of(&self, format: Format, part: Option<Part>) -> impl Iterator<Item = &File> {
        self.0
            .iter()
            .filter(move |file| !file.not_in.contains(&format) && part.is_none_or(|part| file.part == part))
    }
}

fn collect(root: &Path, below: &str, list: &List, files: &mut Vec<File>) -> Result<(), Failure> {
    let folder = root.join(below);
    let failed = |error| Failure::reading(&folder, error);
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().into_string().map_err(|name| {
            Failure::reading(&folder, format!("the name {} is not in UTF-8", name.display()))
        })?;
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(failed)?;
        // Modules of compilers are made where they are used; those of the machine that builds are not released.
        if path == "lib/alhena/modules" {
            continue;
        }
        if kind.is_dir() {
            collect(root, &path, list, files)?;
            continue;
        }
        let Some(rule) = list.rule(&path) else {
            let seen = format!("no rule names {path}");
            let next = "give it a part in packaging/files.toml, or make the tree anew";
            return Err(Failure::new("choosing the parts of a release", seen, next));
        };
        let content = read(&entry.path(), kind.is_symlink())?;
        files.push(File { path, part: rule.part, not_in: rule.not_in.clone(), content });
    }
    Ok(())
}

fn read(path: &Path, is_link: bool) -> Result<Content, Failure> {
    let failed = |error| Failure::reading(path, error);
    if is_link {
        let target = fs::read_link(path).map_err(failed)?;
        return Ok(Content::Link(target.to_string_lossy().into_owned()));
    }
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    Ok(Content::Bytes(fs::read(path).map_err(failed)?, mode & 0o100 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_decides() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let list = List::read(&root.join("packaging/files.toml")).unwrap();
        let part = |path| list.rule(path).map(|rule| rule.part);
        assert_eq!(part("lib/libmpi_abi.so.1"), Some(Part::Library));
        assert_eq!(part("lib/libmpi_abi.so"), Some(Part::Development));
        assert_eq!(part("bin/mpiexec"), Some(Part::Tools));
        assert_eq!(part("bin/mpicc"), Some(Part::Development));
        assert_eq!(part("share/man/man3/MPI_Send.3"), Some(Part::Documentation));
        assert_eq!(part("share/doc/alhena/html/css/chrome.css"), Some(Part::Documentation));
        assert_eq!(part("lib/other.o"), None);
        assert_eq!(list.rule("lib/libmpi_abi.a").unwrap().not_in, [Format::Wheel]);
    }
}
