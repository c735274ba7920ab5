//! `alhena queues`: messages and requests of a running job that are not done.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use live::{Connection, call_site};
use observe::live::Entry;
use observe::{Line, Section, Shown, State};
use serde::Serialize;
use symbols::Resolver;

use super::Which;
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
#[derive(Debug, Serialize)]
struct Rank {
    rank: u32,
    /// `before MPI_Init`, `runs`, `finalized`.
    state: &'static str,
    /// What its threads wait for, where they have waited for a second.
    waits: Vec<String>,
    /// Seconds since the numbers were true; none: they are those of now.
    #[serde(skip_serializing_if = "Option::is_none")]
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
#[derive(Debug, Serialize)]
struct Row {
    kind: &'static str,
    rank: Option<u32>,
    tag: Option<i32>,
    context: u32,
    bytes: u64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let connection = arguments.which.open()?;
    super::note_other_hosts(&connection.description, "queues");
    let is_wanted =
        |section: &Section| arguments.ranks.is_empty() || arguments.ranks.contains(&connection.rank(section));
    let sections: Vec<Section> = connection.sections().filter(is_wanted).collect();
    let question = platform::clock::nanoseconds().max(1);
    sections.iter().for_each(|section| section.ask(question));
    let deadline = Instant::now() + PATIENCE;
    while !sections.iter().all(|section| is_present(section, question)) && Instant::now() < deadline {
        std::thread::sleep(PAUSE);
    }
    let mut resolver = Resolver::new();
    let ranks: Vec<Rank> =
        sections.iter().map(|section| rank(&connection, section, question, &mut resolver)).collect();
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
        format!("waits in {call} for {since}: {what}{}", site.in_words())
    });
    let Shown { at, figures, counts, .. } = shown;
    let count = |entry: Entry| counts[entry as usize];
    Rank {
        rank,
        state: match section.state() {
            State::Before => "has not called MPI_Init",
            State::Running => "runs",
            State::Finalized => "has called MPI_Finalize",
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
    let Line { entry, rank, tag, context, bytes } = *line;
    Row { kind: name(entry), rank, tag, context, bytes }
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

fn show(out: &mut impl Write, ranks: &[Rank], most: usize) -> io::Result<()> {
    for rank in ranks {
        let waits = if rank.waits.is_empty() { rank.state.to_owned() } else { rank.waits.join("; ") };
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
        let rows = rank.lines.iter().filter(|row| row.kind != "request");
        let count = rows.clone().count();
        for Row { kind, rank, tag, context, bytes: length } in rows.take(most) {
            let way = if *kind == "send" { "to" } else { "of" };
            let peer = rank.map_or(format!("{way} any"), |rank| format!("{way} rank {rank}"));
            let tag = tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
            writeln!(
                out,
                "    {kind:<10}  {peer:<12}  {tag:<12}  context {context:<4}  {:>10}",
                bytes(*length)
            )?;
        }
        if count > most {
            writeln!(out, "    and {} more (--lines)", count - most)?;
        }
    }
    if ranks.is_empty() {
        writeln!(out, "no rank has called MPI_Init yet")?;
    }
    Ok(())
}
