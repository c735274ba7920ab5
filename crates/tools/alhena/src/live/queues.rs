//! `alhena queues`: messages and requests of a running job that are not done.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use live::{Connection, Question, call_site};
use observe::live::Entry;
use observe::{Line, Section, Shown, State, Work};
use serde::{Deserialize, Serialize};
use symbols::Resolver;

use super::Which;
use super::elsewhere::Pages;
use crate::numbers::{bytes, time};

/// Shows the messages and requests of a running job that are not done
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Only these ranks
    #[arg(long, value_delimiter = ',')]
    ranks: Vec<u32>,
    /// Lines of each rank at most; a rank keeps some hundred
    #[arg(long, default_value_t = 20)]
    lines: usize,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// A rank that makes progress answers at once, one that sleeps within a second.
const PATIENCE: Duration = Duration::from_millis(1_500);
const PAUSE: Duration = Duration::from_millis(10);

/// What a rank shows.
#[derive(Debug, Serialize, Deserialize)]
struct Rank {
    rank: u32,
    /// `before MPI_Init`, `runs`, `finalized`.
    state: Cow<'static, str>,
    /// What its threads wait for, where they have waited for a second.
    waits: Vec<String>,
    /// Seconds since the numbers were true; none: they are those of now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    age: Option<f64>,
    posted: u64,
    unexpected: u64,
    unexpected_bytes: u64,
    sends: u64,
    transfers: u64,
    requests: u64,
    lines: Vec<Row>,
}

/// A message or request.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    kind: Cow<'static, str>,
    /// What a request stands for; of a message nothing.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    work: Cow<'static, str>,
    rank: Option<u32>,
    tag: Option<i32>,
    context: u32,
    bytes: u64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let connection = arguments.which.open()?;
    let lines = u32::try_from(arguments.lines).unwrap_or(u32::MAX);
    let asked = arguments.which.ask_elsewhere(&connection, Question::Queues(lines));
    let is_wanted = |rank: u32| arguments.ranks.is_empty() || arguments.ranks.contains(&rank);
    let sections: Vec<Section> =
        connection.sections().filter(|section| is_wanted(connection.rank(section))).collect();
    let question = platform::clock::nanoseconds().max(1);
    sections.iter().for_each(|section| section.ask(question));
    let deadline = Instant::now() + PATIENCE;
    while !sections.iter().all(|section| is_present(section, question)) && Instant::now() < deadline {
        std::thread::sleep(PAUSE);
    }
    let mut resolver = Resolver::new();
    let mut ranks: Vec<Rank> =
        sections.iter().map(|section| rank(&connection, section, question, &mut resolver)).collect();
    let others: Pages<Vec<Rank>> = asked.take(&connection);
    ranks.extend(others.pages.into_iter().flatten().filter(|rank| is_wanted(rank.rank)));
    ranks.sort_by_key(|rank| rank.rank);
    if arguments.which.for_mpiexec {
        // Pages of all hosts meet on one.
        ranks.iter_mut().for_each(|rank| rank.lines.truncate(arguments.lines));
    }
    others.missing.iter().for_each(|line| eprintln!("alhena: {line}"));
    let mut out = io::stdout();
    match arguments.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&ranks)?)?,
        false => show(&mut out, &ranks, arguments.lines)?,
    }
    Ok(())
}

/// Whether what a rank shows is true now: it has answered, be it another tool that has asked since, or it sleeps since it wrote
/// that. A question is the time at which it was asked.
fn is_present(section: &Section, question: u64) -> bool {
    section.state() != State::Running
        || !section.waits().is_empty()
        || section.shown().is_some_and(|shown| shown.answered == question || shown.at >= question)
}

fn rank(connection: &Connection, section: &Section, question: u64, resolver: &mut Resolver) -> Rank {
    let (rank, modules) = (connection.rank(section), section.modules());
    let shown = section.shown().unwrap_or_default();
    let now = platform::clock::nanoseconds();
    let slots = section.waits();
    let waits = slots.iter().map(|slot| {
        let site = call_site::of(resolver, &modules, &slot.wait.frames);
        let call = site.call.clone().unwrap_or_else(|| slot.wait.call.clone());
        let call = if call.is_empty() { "MPI" } else { &call };
        let (what, since) = (deadlock::what_for(&slot.wait, rank), time(now.saturating_sub(slot.wait.since)));
        let origins = call_site::origins_in_words(resolver, &modules, &slot.wait.origins);
        format!("waits in {call} for {since}: {what}{}{origins}", site.in_words())
    });
    let Shown { at, figures, counts, .. } = shown;
    let count = |entry: Entry| counts[entry as usize];
    Rank {
        rank,
        state: match section.state() {
            State::Before => "has not called MPI_Init".into(),
            State::Running => "runs".into(),
            State::Finalized => "has called MPI_Finalize".into(),
        },
        waits: waits.collect(),
        age: (at != 0 && !is_present(section, question)).then(|| now.saturating_sub(at) as f64 / 1e9),
        posted: count(Entry::Posted),
        unexpected: count(Entry::Unexpected),
        unexpected_bytes: figures.unexpected_bytes,
        sends: count(Entry::Send),
        transfers: count(Entry::Transfer),
        requests: count(Entry::Request),
        lines: shown.lines.iter().map(row).collect(),
    }
}

fn row(line: &Line) -> Row {
    let Line { entry, work, rank, tag, context, bytes } = *line;
    let work = if entry == Entry::Request { words(work) } else { "" };
    Row { kind: name(entry).into(), work: work.into(), rank, tag, context, bytes }
}

fn words(work: Work) -> &'static str {
    match work {
        Work::Other => "of the library",
        Work::Collective => "collective call",
        Work::Communicator => "communicator that is being made",
        Work::Window => "window",
        Work::File => "file",
        Work::Partitions => "message in partitions",
        Work::Program => "request that the program completes",
        Work::Agreement => "agreement about failures",
        Work::Buffer => "messages of a buffer",
    }
}

fn name(entry: Entry) -> &'static str {
    match entry {
        Entry::Posted => "posted",
        Entry::Unexpected => "unexpected",
        Entry::Send => "send",
        Entry::Transfer => "transfer",
        Entry::Request => "request",
    }
}

/// What a request lacks, of `count` ranks of which `rank` is the first.
fn lacked(rank: Option<u32>, context: u32, count: u64) -> String {
    let context = if context == 0 { String::new() } else { format!(", context {context}") };
    match (rank, count) {
        (None, _) => context,
        (Some(rank), 0 | 1) => format!("{context}, lacks rank {rank}"),
        (Some(rank), count) => format!("{context}, lacks {count} ranks, of which {rank} is the first"),
    }
}

fn show(out: &mut impl Write, ranks: &[Rank], most: usize) -> io::Result<()> {
    for rank in ranks {
        let waits = if rank.waits.is_empty() { rank.state.to_string() } else { rank.waits.join("; ") };
        writeln!(out, "rank {} {waits}", rank.rank)?;
        if let Some(age) = rank.age {
            writeln!(out, "  as it was {age:.0} s ago: it computes, and answers when it calls MPI")?;
        }
        let all = [
            (rank.posted, "receive without a message", "receives without a message"),
            (rank.unexpected, "message without a receive", "messages without a receive"),
            (rank.sends, "send without a receive", "sends without a receive"),
            (rank.transfers, "transfer", "transfers"),
            (rank.requests, "other request", "other requests"),
        ];
        let words = all.iter().filter(|(count, ..)| *count > 0).map(|&(count, one, several)| {
            let kept = if one.starts_with("message") {
                format!(" ({})", bytes(rank.unexpected_bytes))
            } else {
                String::new()
            };
            format!("{count} {}{kept}", if count == 1 { one } else { several })
        });
        let words: Vec<String> = words.collect();
        writeln!(
            out,
            "  {}",
            if words.is_empty() { "nothing is open".to_owned() } else { words.join(", ") }
        )?;
        for Row { kind, work, rank, tag, context, bytes: length } in rank.lines.iter().take(most) {
            if kind == "request" {
                writeln!(out, "    {kind:<10}  {work}{}", lacked(*rank, *context, *length))?;
                continue;
            }
            let way = if kind == "send" { "to" } else { "of" };
            let peer = rank.map_or(format!("{way} any"), |rank| format!("{way} rank {rank}"));
            let tag = tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
            writeln!(
                out,
                "    {kind:<10}  {peer:<12}  {tag:<12}  context {context:<4}  {:>10}",
                bytes(*length)
            )?;
        }
        if rank.lines.len() > most {
            writeln!(out, "    and {} more (--lines)", rank.lines.len() - most)?;
        }
    }
    if ranks.is_empty() {
        writeln!(out, "no rank has called MPI_Init yet")?;
    }
    Ok(())
}
