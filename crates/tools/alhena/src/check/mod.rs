//! `alhena check`: what the ranks of a job have found, folded over ranks. `mpiexec -check` runs it after the job.

mod variables;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use check::findings::{self, Class, Finding};
use interpose::FUNCTIONS;
use serde::{Deserialize, Serialize};
use symbols::Resolver;
use symbols::variables::Variables;

use crate::tables;

/// Shows what mpiexec -check=NAME has found
#[derive(clap::Args)]
pub struct Arguments {
    /// The file NAME.json
    #[arg(required_unless_present = "memory")]
    file: Option<PathBuf>,
    #[command(flatten)]
    left: tables::Left,
}

/// What was found in a job.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Findings {
    /// Ranks that were looked at, of so many.
    ranks: u32,
    size: u32,
    /// Why loads and stores were not watched at some rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_watched: Option<String>,
    findings: Vec<Folded>,
}

/// One finding, of all ranks that have it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Folded {
    /// The class, as `buffer.overlap`.
    class: String,
    /// What is wrong, in a sentence.
    text: String,
    /// The call.
    at: Call,
    /// Another one that takes part.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<Call>,
    /// The ranks that have it.
    ranks: Vec<u32>,
    /// How often, of all ranks.
    count: u64,
}

/// A call at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Call {
    call: String,
    place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("reading the ranks' findings: not possible\n  seen: {path}: {seen}\n  next: run the job again with mpiexec -check", path = .path.display())]
    Read { path: PathBuf, seen: String },
    #[error("writing the findings: not possible\n  seen: {path}: {seen}\n  next: mpiexec -check=NAME in a folder that can be written", path = .path.display())]
    Write { path: PathBuf, seen: String },
    #[error(
        "checking the program: not possible\n  seen: no rank called an MPI function through libmpi_abi.so.1\n  next: link it \
         dynamically with mpicc; see `ldd` on it"
    )]
    NoRank,
}

/// In place of a call's name.
const LOAD_OR_STORE: &str = "a load or store";

/// The exit code where something was found.
const FOUND: i32 = 1;

/// Runs the command. Ends the program with 1 where something was found.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let left = &arguments.left;
    let all = match (&left.memory, &arguments.file) {
        (Some(memory), _) => collect(memory, left.ranks)?,
        (None, Some(file)) => read(file)?,
        (None, None) => Findings::default(),
    };
    if let Some(output) = &left.output {
        let path = output.with_added_extension("json");
        let failed = |seen: String| Error::Write { path: path.clone(), seen };
        let json = serde_json::to_string_pretty(&all).map_err(|error| failed(error.to_string()))?;
        fs::write(&path, json).map_err(|error| failed(error.to_string()))?;
    }
    eprint!("{}", text(&all, left.exit_code));
    if all.findings.is_empty() { Ok(()) } else { std::process::exit(FOUND) }
}

fn read(path: &Path) -> Result<Findings, Error> {
    let failed = |seen: String| Error::Read { path: path.to_owned(), seen };
    let text = fs::read(path).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
}

fn collect(memory: &Path, ranks: u32) -> Result<Findings, Error> {
    let failed = |error: std::io::Error| Error::Read { path: memory.to_owned(), seen: error.to_string() };
    let all = tables::read(memory, ranks, findings::MAGIC, findings::WORDS).map_err(failed)?;
    if all.is_empty() {
        return Err(Error::NoRank);
    }
    let mut known = Variables::default();
    let of_rank = |(rank, words): &(u32, Vec<_>)| {
        let own = findings::read(words)?.into_iter().map(|finding| (finding, String::new()));
        let buffers = check::typed::read(words);
        let typed = buffers.iter().filter_map(|buffer| variables::look(&mut known, buffer));
        Some((*rank, own.chain(typed).collect()))
    };
    let mut found: Vec<(u32, Vec<Seen>)> = all.iter().filter_map(of_rank).collect();
    let compared = check::messages::compare(&all).into_iter().chain(check::windows::compare(&all));
    let compared = compared.chain(check::collectives::compare(&all));
    for (rank, finding) in compared {
        if let Some((_, findings)) = found.iter_mut().find(|(other, _)| *other == rank) {
            findings.push((finding, String::new()));
        }
    }
    let not_watched = all.iter().find_map(|(_, words)| findings::not_watched(words));
    let not_watched = not_watched.map(|error| error.to_string());
    let findings = fold(&found, &mut Resolver::new());
    Ok(Findings { ranks: all.len() as u32, size: ranks, not_watched, findings })
}

/// A finding, and the variable that it is about, if it is about one.
type Seen = (Finding, String);

/// Equal findings of several ranks are one.
fn fold(found: &[(u32, Vec<Seen>)], resolver: &mut Resolver) -> Vec<Folded> {
    let mut all: BTreeMap<(Class, Call, Option<Call>, &str), Folded> = BTreeMap::new();
    for (rank, findings) in found {
        for (finding, variable) in findings {
            let at = call(resolver, &finding.at);
            let other = finding.other.as_ref().map(|other| call(resolver, other));
            let key = (finding.class, at.clone(), other.clone(), &**variable);
            let folded = all.entry(key).or_insert_with(|| Folded {
                class: finding.class.word().to_owned(),
                text: sentence(finding, &at, other.as_ref(), variable),
                at,
                other,
                ..Folded::default()
            });
            folded.count += finding.count;
            if folded.ranks.last() != Some(rank) {
                folded.ranks.push(*rank);
            }
        }
    }
    all.into_values().collect()
}

fn call(resolver: &mut Resolver, place: &findings::CallPlace) -> Call {
    let module = place.module.clone().unwrap_or_default();
    let found = resolver.call(Path::new(&module.path), &module.build_id, place.offset);
    let source = found.source();
    Call {
        call: FUNCTIONS.get(place.function).map_or(LOAD_OR_STORE, |function| function.name).to_owned(),
        place: found.to_string(),
        file: source.and_then(|frame| frame.file.clone()),
        line: source.and_then(|frame| frame.line),
    }
}

fn sentence(finding: &Finding, at: &Call, other: Option<&Call>, variable: &str) -> String {
    let other = other.map_or(String::new(), |other| format!("{} at {}", other.call, other.place));
    let numbers = &finding.numbers;
    let mut text = finding.class.text().replace("{other}", &other).replace("{variable}", variable);
    for (number, value) in numbers.iter().enumerate() {
        text = text.replace(&format!("{{{number}}}"), &value.to_string());
        let name = format!("{{type {number}}}");
        if text.contains(&name) {
            text = text.replace(&name, &findings::type_name(*value));
        }
    }
    format!("{} at {} {text}", at.call, at.place)
}

/// The findings as text.
fn text(all: &Findings, exit_code: u8) -> String {
    let head = match all.findings.len() {
        0 if exit_code != 0 => format!(
            "mpiexec: check: nothing found on {} ranks until the job ended with code {exit_code}; leaks are looked for in \
             MPI_Finalize\n",
            all.ranks
        ),
        0 => format!("mpiexec: check: nothing found on {} ranks\n", all.ranks),
        1 => "mpiexec: check: 1 finding\n".to_owned(),
        count => format!("mpiexec: check: {count} findings\n"),
    };
    let line = |one: &Folded| {
        let times =
            if one.count > one.ranks.len() as u64 { format!(", {} times", one.count) } else { String::new() };
        format!("  {}: {} [{}{times}]\n", one.class, one.text, ranks(&one.ranks))
    };
    let not_watched = all.not_watched.iter().map(|seen| {
        format!(
            "  loads and stores in buffers and windows are not watched\n    seen: perf_event_open: {seen}\n    next: look at \
             /proc/sys/kernel/perf_event_paranoid (at most 2), and whether a debugger uses the watchpoints\n"
        )
    });
    head + &all.findings.iter().map(line).chain(not_watched).collect::<String>()
}

/// `rank 3`, `ranks 0-2,5`.
fn ranks(all: &[u32]) -> String {
    let span =
        |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let list: Vec<String> = crate::ranks::runs(all).map(span).collect();
    format!("{} {}", if all.len() == 1 { "rank" } else { "ranks" }, list.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_spans() {
        assert_eq!(ranks(&[3]), "rank 3");
        assert_eq!(ranks(&[0, 1, 2, 5, 7, 8]), "ranks 0-2,5,7-8");
    }

    #[test]
    fn equal_findings_of_ranks_are_one() {
        let place = |offset| findings::CallPlace { function: 0, module: None, offset };
        let finding = |count| {
            let finding = Finding {
                class: Class::BufferOverlap,
                count,
                at: place(16),
                other: Some(place(32)),
                numbers: [400, 0, 0],
            };
            (finding, String::new())
        };
        let folded = fold(&[(0, vec![finding(1)]), (1, vec![finding(3)])], &mut Resolver::new());
        assert_eq!(folded.len(), 1);
        assert_eq!((folded[0].count, &folded[0].ranks[..]), (4, &[0, 1][..]));
        assert!(
            folded[0].text.contains("400 bytes") && folded[0].text.contains("+0x20"),
            "{}",
            folded[0].text
        );
    }
}
