//! Wheels: whether another package of this Python environment has files of ours. pip lets each overwrite the other's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::finding::Finding;

/// Files that are named in a message.
const NAMED: usize = 4;

/// What there is to say where this installation came as a wheel.
pub fn findings() -> Vec<Finding> {
    bench::prefix::of_this_program().map_or_else(Vec::new, |prefix| examine(&prefix))
}

fn examine(prefix: &Path) -> Vec<Finding> {
    let packages = packages(prefix);
    let Some(own) = packages.get("alhena") else { return Vec::new() };
    let others = packages.iter().filter(|(name, _)| *name != "alhena");
    let findings: Vec<Finding> =
        others.filter_map(|(name, files)| beside(prefix, own, name, files)).collect();
    match findings.is_empty() {
        true => {
            vec![Finding::ok("wheel", "no other package of this Python environment has files of Alhena's")]
        }
        false => findings,
    }
}

/// Files of a package with the bytes that each had.
type Files = BTreeMap<PathBuf, u64>;

fn beside(prefix: &Path, own: &Files, name: &str, files: &Files) -> Option<Finding> {
    let shared: Vec<(&PathBuf, u64)> = own
        .iter()
        .filter(|(path, _)| files.contains_key(*path))
        .map(|(path, &bytes)| (path, bytes))
        .collect();
    if shared.is_empty() {
        return None;
    }
    let is_theirs =
        |&&(path, bytes): &&(&PathBuf, u64)| fs::metadata(path).map_or(0, |file| file.len()) != bytes;
    let replaced: Vec<&(&PathBuf, u64)> = shared.iter().filter(is_theirs).collect();
    let named = |paths: &mut dyn Iterator<Item = &PathBuf>| {
        let names =
            paths.take(NAMED).map(|path| path.strip_prefix(prefix).unwrap_or(path).display().to_string());
        names.collect::<Vec<_>>().join(", ")
    };
    // By its file: what an index has under this name is another project.
    let next = format!(
        "keep one MPI in an environment: pip uninstall -y {name} && pip install --force-reinstall --no-deps ./alhena-*.whl"
    );
    Some(if replaced.is_empty() {
        let names = named(&mut shared.iter().map(|(path, _)| *path));
        let seen = format!("Alhena has replaced {} files of the wheel {name}: {names} …", shared.len());
        Finding::warning("wheel", seen, next)
    } else {
        let names = named(&mut replaced.iter().map(|(path, _)| *path));
        let seen = format!("the wheel {name} has replaced {} files of Alhena's: {names} …", replaced.len());
        Finding::problem("wheel", seen, next)
    })
}

/// The packages of the environments below a prefix, by their lists of files (`RECORD`).
fn packages(prefix: &Path) -> BTreeMap<String, Files> {
    let mut packages = BTreeMap::new();
    let folders = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    for python in folders(&prefix.join("lib")) {
        let site = python.join("site-packages");
        for info in folders(&site) {
            let file = info.file_name().unwrap_or_default().to_string_lossy();
            let Some((name, _)) = file.strip_suffix(".dist-info").and_then(|it| it.rsplit_once('-')) else {
                continue;
            };
            if let Ok(list) = fs::read_to_string(info.join("RECORD")) {
                packages
                    .insert(name.to_owned(), list.lines().filter_map(|line| listed(&site, line)).collect());
            }
        }
    }
    packages
}

/// A line of a list: `../../../bin/mpiexec,sha256=…,4711`.
fn listed(site: &Path, line: &str) -> Option<(PathBuf, u64)> {
    let (rest, bytes) = line.rsplit_once(',')?;
    let (path, _) = rest.rsplit_once(',')?;
    let mut whole = site.to_path_buf();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    Some((whole, bytes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;

    /// An environment with Alhena's wheel, which has two files of five bytes.
    fn environment(name: &str) -> PathBuf {
        let prefix = std::env::temp_dir().join(format!("wheels-{name}-{}", std::process::id()));
        let list =
            "../../../bin/mpiexec,sha256=a,5\n../../../bin/alhena,sha256=b,5\nalhena-1.dist-info/RECORD,,\n";
        write(&prefix.join("lib/python3.11/site-packages/alhena-1.dist-info/RECORD"), list);
        write(&prefix.join("bin/mpiexec"), "12345");
        write(&prefix.join("bin/alhena"), "12345");
        prefix
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_wheel_that_overwrites_is_named() {
        let prefix = environment("both");
        assert_eq!(examine(&prefix)[0].verdict, Verdict::Ok);
        let list = "../../../bin/mpiexec,sha256=c,7\nmpich/x.py,sha256=d,5\n";
        write(&prefix.join("lib/python3.11/site-packages/mpich-5.0.2.dist-info/RECORD"), list);
        // Alhena came last.
        let before = examine(&prefix);
        assert_eq!((before.len(), before[0].verdict), (1, Verdict::Warning));
        write(&prefix.join("bin/mpiexec"), "1234567");
        let after = examine(&prefix);
        fs::remove_dir_all(&prefix).unwrap();
        assert_eq!(after[0].verdict, Verdict::Problem);
        assert!(
            after[0].seen.contains("mpich has replaced 1 files of Alhena's: bin/mpiexec"),
            "{}",
            after[0].seen
        );
        assert!(
            after[0].next.as_deref().is_some_and(|next| next.ends_with("./alhena-*.whl")),
            "{:?}",
            after[0].next
        );
    }

    #[test]
    fn an_installation_that_is_no_wheel_has_nothing_to_say() {
        assert_eq!(examine(Path::new("/nonexistent")).len(), 0);
    }
}
