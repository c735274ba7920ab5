//! The crates that programs and libraries are made of: the bill of materials (CycloneDX 1.6) and their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use time::format_description::well_known::Rfc3339;

use crate::failure::Failure;
use crate::programs;
use crate::release::{LICENCE, Release};

/// What is installed; the crates below them are what is released.
const ROOTS: [&str; 10] = [
    "alhena-standard",
    "alhena-fortran",
    "alhena-mpich",
    "alhena-mpich-fortran",
    "alhena-open-mpi",
    "alhena-open-mpi-fortran",
    "alhena-preload",
    "alhena-mpiexec",
    "alhena-wrappers",
    "alhena",
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    #[serde(default)]
    authors: Vec<String>,
    repository: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// The crates of a release.
pub struct Crates {
    packages: Vec<Package>,
    /// The crates that each one is linked with, by id.
    uses: BTreeMap<String, BTreeSet<String>>,
    checksums: BTreeMap<(String, String), String>,
    compiler: String,
}

impl Crates {
    /// Asks cargo.
    pub fn of(release: &Release) -> Result<Crates, Failure> {
        let target = format!("{}-unknown-linux-gnu", release.processor.name());
        let output = run(
            release,
            "cargo",
            &["metadata", "--format-version", "1", "--locked", "--filter-platform", &target],
        )?;
        let metadata: Metadata = serde_json::from_slice(&output).map_err(|error| {
            Failure::new("reading cargo's metadata", error, "cargo metadata --format-version 1")
        })?;
        let uses = linked(&metadata);
        let mut packages: Vec<Package> =
            metadata.packages.into_iter().filter(|package| uses.contains_key(&package.id)).collect();
        packages.sort_by(|left, right| (&left.name, &left.version).cmp(&(&right.name, &right.version)));
        let version = run(release, &std::env::var("RUSTC").unwrap_or("rustc".into()), &["--version"])?;
        let version = String::from_utf8_lossy(&version);
        let compiler = version.split_whitespace().nth(1).unwrap_or("unknown").to_owned();
        Ok(Crates { packages, uses, checksums: checksums(&release.source("Cargo.lock"))?, compiler })
    }

    fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.source.is_some())
    }

    /// The bill of materials.
    pub fn bill(&self, release: &Release) -> Vec<u8> {
        let reference = |package: &Package| format!("pkg:cargo/{}@{}", package.name, package.version);
        let by_id: BTreeMap<&str, &Package> =
            self.packages.iter().map(|package| (package.id.as_str(), package)).collect();
        let mut components: Vec<Value> =
            self.packages.iter().map(|package| self.component(package, &reference(package))).collect();
        components.push(json!({
            "type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": self.compiler,
            "purl": format!("pkg:generic/rust-std@{}", self.compiler),
            "licenses": [{"expression": LICENCE}],
        }));
        let mut dependencies: Vec<Value> = self
            .packages
            .iter()
            .map(|package| {
                let uses = self.uses[&package.id].iter().filter_map(|id| by_id.get(id.as_str()));
                json!({"ref": reference(package), "dependsOn": uses.map(|it| reference(it)).collect::<Vec<_>>()})
            })
            .collect();
        let roots: Vec<String> =
            self.packages.iter().filter(|it| ROOTS.contains(&it.name.as_str())).map(reference).collect();
        dependencies.push(json!({"ref": "alhena", "dependsOn": roots}));
        let mut bill = json!({
            "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": {
                "timestamp": release.time().format(&Rfc3339).unwrap_or_default(),
                "component": {
                    "type": "library", "bom-ref": "alhena", "name": "alhena", "version": release.version,
                    "licenses": [{"expression": LICENCE}],
                },
            },
            "components": components,
            "dependencies": dependencies,
        });
        // A number that follows from what is in it, so that the same release has the same one (RFC 9562, version 8).
        let mut number = [0; 16];
        number.copy_from_slice(&Sha256::digest(bill.to_string())[..16]);
        number[6] = number[6] & 0x0f | 0x80;
        number[8] = number[8] & 0x3f | 0x80;
        let hex: String = number.iter().map(|byte| format!("{byte:02x}")).collect();
        bill["serialNumber"] = json!(format!(
            "urn:uuid:{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        ));
        serde_json::to_vec_pretty(&bill).expect("a tree of JSON has keys of text only")
    }

    fn component(&self, package: &Package, reference: &str) -> Value {
        let mut component = json!({
            "type": "library", "bom-ref": reference, "name": package.name, "version": package.version,
            "purl": reference,
            "licenses": [{"expression": spdx(package)}],
        });
        if let Some(sum) = self.checksums.get(&(package.name.clone(), package.version.clone())) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
        }
        if let Some(repository) = &package.repository {
            component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
        }
        component
    }

    /// The licences of all crates from outside, with their texts; equal texts stand there once.
    pub fn licences(&self) -> Result<Vec<u8>, Failure> {
        let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut list = String::new();
        for package in self.foreign() {
            let name = format!("{} {}", package.name, package.version);
            let folder = package.manifest_path.parent().unwrap_or(Path::new("."));
            let texts = texts(folder)?;
            let without = if texts.is_empty() { "; the crate has no text of its own" } else { "" };
            let authors = if package.authors.is_empty() {
                String::new()
            } else {
                format!("; {}", package.authors.join(", "))
            };
            list += &format!("  {name}: {}{authors}{without}\n", spdx(package));
            for text in texts {
                users.entry(text).or_default().insert(name.clone());
            }
        }
        let mut page = format!(
            "Alhena has code of these crates and of the Rust standard library {} ({LICENCE}) in its programs and\n\
             libraries. Alhena's own licences are in LICENSE-MIT and LICENSE-APACHE.\n\n{list}",
            self.compiler
        );
        for (text, names) in users {
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            page += &format!("\n{}\n{names}\n\n{}\n", "-".repeat(78), text.trim_end());
        }
        Ok(page.into_bytes())
    }
}

/// The crates that are linked into what is installed, with those that each one uses: neither for building nor for tests.
fn linked(metadata: &Metadata) -> BTreeMap<String, BTreeSet<String>> {
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let roots =
        metadata.packages.iter().filter(|it| it.source.is_none() && ROOTS.contains(&it.name.as_str()));
    let mut waiting: Vec<&str> = roots.map(|package| package.id.as_str()).collect();
    let mut uses = BTreeMap::new();
    while let Some(id) = waiting.pop() {
        if uses.contains_key(id) {
            continue;
        }
        let Some(node) = nodes.get(id) else { continue };
        let normal = |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
        let used: Vec<&str> =
            node.deps.iter().filter(normal).map(|dependency| dependency.pkg.as_str()).collect();
        waiting.extend(&used);
        uses.insert(id.to_owned(), used.into_iter().map(str::to_owned).collect());
    }
    uses
}

/// The licence as SPDX has it; older manifests have a slash for "or".
fn spdx(package: &Package) -> String {
    package.license.as_deref().unwrap_or("NOASSERTION").replace('/', " OR ").replace("  ", " ")
}

/// The texts of licences in a crate's folder.
fn texts(folder: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error| Failure::reading(folder, error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"].iter().any(|word| name.starts_with(word))
            && path.is_file()
        {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).map_err(|error| Failure::reading(path, error))).collect()
}

fn checksums(lock: &Path) -> Result<BTreeMap<(String, String), String>, Failure> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    #[derive(Deserialize)]
    struct Locked {
        name: String,
        version: String,
        checksum: Option<String>,
    }
    let text = fs::read_to_string(lock).map_err(|error| Failure::reading(lock, error))?;
    let lock: Lock = toml::from_str(&text).map_err(|error| Failure::reading(lock, error))?;
    let sum = |it: Locked| Some(((it.name, it.version), it.checksum?));
    Ok(lock.package.into_iter().filter_map(sum).collect())
}

fn run(release: &Release, program: &str, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
    let step = format!("running {program} {}", arguments.join(" "));
    let next = format!("try it in {}", release.sources.display());
    programs::run(Command::new(program).args(arguments).current_dir(&release.sources), step, &next)
}
