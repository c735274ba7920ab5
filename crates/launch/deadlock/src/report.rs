//! What is printed about a dead-lock.

use std::fmt::Write;

use observe::{Kind, Need, Part, Targets, Wait};

use crate::graph::{Graph, Link, Node};

/// Ranks of which a report has a line, at most.
const MOST_LINES: usize = 16;

/// The lines about `dead` ranks: the shortest circle among them, then the others. `site` gives the name of the
/// call that a rank waits in, and its place, which may be empty.
pub fn text(graph: &Graph, dead: &[u32], mut site: impl FnMut(u32, &Wait) -> (String, String)) -> String {
    let circle = graph.circle(dead);
    let mut text = String::new();
    for link in circle.iter().take(MOST_LINES) {
        line(&mut text, link, &mut site);
    }
    let last = circle.last().filter(|link| graph.0[link.next as usize] == Node::Ended);
    if let Some(link) = last {
        let _ = writeln!(text, "  rank {} has ended", link.next);
    }
    let others: Vec<u32> =
        dead.iter().copied().filter(|&rank| !circle.iter().any(|link| link.rank == rank)).collect();
    let shown = MOST_LINES.saturating_sub(circle.len()).min(others.len());
    for &rank in &others[..shown] {
        let Node::Waits(blocked) = &graph.0[rank as usize] else { continue };
        for wait in &blocked.waits {
            let (what, (call, place)) = (what_for(wait, rank), site(rank, wait));
            let _ = writeln!(text, "  rank {rank} waits in {} for {what}{place}", named(&call));
        }
    }
    if others.len() > shown {
        let _ = writeln!(text, "  and {} more ranks wait for those", others.len() - shown);
    }
    text
}

fn line(text: &mut String, link: &Link<'_>, site: &mut impl FnMut(u32, &Wait) -> (String, String)) {
    let of_many = match link.wait.parts.len() {
        2.. if link.wait.need == Need::All => ", among others",
        _ if link.part.need == Need::Any => ", or any other of its communicator",
        2.. => ", or any other of its requests",
        _ => "",
    };
    let (call, place) = site(link.rank, link.wait);
    let (kind, about) = (kind(link.part), detail(link.part, &call));
    let _ = writeln!(
        text,
        "  rank {} waits in {} for {kind}rank {}{about}{of_many}{place}",
        link.rank,
        named(&call),
        link.next
    );
}

fn named(call: &str) -> &str {
    if call.is_empty() { "MPI" } else { call }
}

/// What a wait of rank `own` is for, where no single rank is to be named: `a message of rank 1 with tag 7`.
pub fn what_for(wait: &Wait, own: u32) -> String {
    let Some(part) = wait.parts.first() else { return "nothing that can come".to_owned() };
    let more = if wait.parts.len() > 1 { ", among others" } else { "" };
    format!("{}{}{}{more}", kind(part), ranks(&part.targets, own), detail(part, &wait.call))
}

/// What the targets of a part are to do, as words before them.
fn kind(part: &Part) -> &'static str {
    match part.kind {
        Kind::Receive => "a message of ",
        Kind::Send => "a receive by ",
        Kind::Lock => "a lock held by ",
        Kind::Epoch => "the epoch of ",
        Kind::Collective | Kind::Other => "",
    }
}

fn ranks(targets: &Targets, own: u32) -> String {
    let Targets::Ranks(runs) = targets else { return "another process".to_owned() };
    let words: Vec<String> = runs
        .iter()
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first} to {last}") })
        .collect();
    match (words.len(), runs.first()) {
        (0, _) => format!("no other rank than {own}"),
        (1, Some((first, last))) if first == last => format!("rank {}", words[0]),
        _ => format!("ranks {}", words.join(", ")),
    }
}

/// More about a part of a wait in `call`.
fn detail(part: &Part, call: &str) -> String {
    match (part.kind, part.tag) {
        (Kind::Receive | Kind::Send, Some(tag)) => format!(" with tag {tag}"),
        (Kind::Receive, None) => " with any tag".to_owned(),
        (Kind::Collective, _) if call.starts_with("MPI_Wait") => " in a collective call".to_owned(),
        _ => String::new(),
    }
}
