//! `alhena stacks`: where the ranks of a running job are. Ranks that are at the same place are shown once.

use std::io::{self, Write};

use live::Question;
use serde::{Deserialize, Serialize};
use stacks::Sampler;
use symbols::{Place, Resolver};

use super::Which;
use super::elsewhere::Pages;
use super::error::Error;
use crate::ranks;

/// Shows where the ranks of a running job are: their call stacks
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Only these ranks
    #[arg(long, value_delimiter = ',')]
    ranks: Vec<u32>,
    /// Also the frames inside the MPI library and the threads that are its own
    #[arg(long)]
    full: bool,
    /// By a debugger of this host, gdb or eu-stack, which shows arguments as well
    #[arg(long, conflicts_with_all = ["full", "json"])]
    debugger: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// A stack, and the ranks that have it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Group {
    /// Number of the thread in its process: 0 for the first.
    thread: usize,
    /// Its name.
    name: String,
    ranks: Vec<u32>,
    /// The innermost first.
    frames: Vec<String>,
}

/// What one host has.
#[derive(Default, Serialize, Deserialize)]
struct Page {
    groups: Vec<Group>,
    /// Ranks without a stack, with what was seen.
    left_out: Vec<(u32, String)>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let connection = arguments.which.open()?;
    let is_wanted = |rank: u32| arguments.ranks.is_empty() || arguments.ranks.contains(&rank);
    let wanted: Vec<(u32, i32)> = connection
        .description
        .ranks
        .iter()
        .filter(|rank| !rank.is_over && is_wanted(rank.rank))
        .map(|rank| (rank.rank, rank.pid))
        .collect();
    let mut out = io::stdout();
    if arguments.debugger {
        let pids: Vec<i32> = wanted.iter().map(|&(_, pid)| pid).collect();
        for ((rank, pid), text) in wanted.iter().zip(rte::stack_traces(&pids)) {
            writeln!(out, "rank {rank} (process {pid}) {text}")?;
        }
        return Ok(());
    }
    let asked = arguments.which.ask_elsewhere(&connection, Question::Stacks(arguments.full));
    let (mut groups, mut failed) = take(&wanted, arguments.full);
    let others: Pages<Page> = asked.take(&connection);
    if groups.is_empty() && others.pages.is_empty() && !failed.is_empty() {
        let (_, source) = failed.swap_remove(0);
        let next = stacks::advice(&source);
        return Err(Error::NoStacks { job: connection.description.number, source, next }.into());
    }
    let mut left_out: Vec<(u32, String)> =
        failed.into_iter().map(|(rank, error)| (rank, error.to_string())).collect();
    if arguments.which.for_mpiexec {
        return Ok(writeln!(out, "{}", serde_json::to_string(&Page { groups, left_out })?)?);
    }
    for page in others.pages {
        left_out.extend(page.left_out);
        for mut group in page.groups {
            group.ranks.retain(|&rank| is_wanted(rank));
            fold(&mut groups, group);
        }
    }
    groups.retain(|group| !group.ranks.is_empty());
    in_order(&mut groups);
    left_out.iter().for_each(|(rank, error)| eprintln!("alhena: rank {rank} is left out: {error}"));
    others.missing.iter().for_each(|line| eprintln!("alhena: {line}"));
    match arguments.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&groups)?)?,
        false => show(&mut out, connection.description.size, &groups)?,
    }
    Ok(())
}

/// The stacks of these ranks, folded, and the ranks that have none.
fn take(wanted: &[(u32, i32)], full: bool) -> (Vec<Group>, Vec<(u32, io::Error)>) {
    let (mut sampler, mut resolver) = (Sampler::new(), Resolver::new());
    let (mut groups, mut failed) = (Vec::new(), Vec::new());
    for &(rank, pid) in wanted {
        let stacks = match sampler.process(pid) {
            Ok(stacks) => stacks,
            Err(error) => {
                failed.push((rank, error));
                continue;
            }
        };
        for (number, stack) in stacks.into_iter().enumerate() {
            if !full && number > 0 && stack.name.starts_with("alhena") {
                continue;
            }
            let places: Vec<Place> = stack.frames.iter().map(|frame| frame.place(&mut resolver)).collect();
            let frames =
                if full { places.iter().map(Place::to_string).collect() } else { shortened(&places) };
            fold(&mut groups, Group { thread: number, name: stack.name, ranks: vec![rank], frames });
        }
    }
    in_order(&mut groups);
    (groups, failed)
}

/// First threads first, and what most ranks have before what few have.
fn in_order(groups: &mut [Group]) {
    groups.iter_mut().for_each(|group| group.ranks.sort_unstable());
    groups.sort_by_key(|group| {
        (group.thread > 0, std::cmp::Reverse(group.ranks.len()), group.ranks.first().copied())
    });
}

fn fold(groups: &mut Vec<Group>, one: Group) {
    // Threads beside the first have no order of their own.
    let is_it = |group: &&mut Group| (group.thread == 0, &group.frames) == (one.thread == 0, &one.frames);
    match groups.iter_mut().find(is_it) {
        Some(group) if group.ranks.last() == one.ranks.first() => {}
        Some(group) => group.ranks.extend(one.ranks),
        None => groups.push(one),
    }
}

/// A stack as the program's author sees it: the call of MPI instead of what is inside it.
fn shortened(places: &[Place]) -> Vec<String> {
    let site = live::call_site::of_stack(places);
    let inside = live::call_site::inside(places);
    let call = site.call.filter(|_| inside > 0).map(|call| format!("{call} (waits or works inside MPI)"));
    call.into_iter().chain(places[inside..].iter().map(Place::to_string)).collect()
}

fn show(out: &mut impl Write, all: u32, groups: &[Group]) -> io::Result<()> {
    for group in groups {
        let Group { thread, name, ranks, frames } = group;
        let count = match ranks.len() {
            1 => format!("rank {}", ranks::list(ranks)),
            some => format!("{some} of {all} ranks: {}", ranks::list(ranks)),
        };
        let which = if *thread == 0 { String::new() } else { format!(", thread {name}") };
        writeln!(out, "{count}{which}")?;
        for (number, frame) in frames.iter().enumerate() {
            writeln!(out, "  #{number:<2} {frame}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_one() {
        let group = |rank, thread, frame: &str| Group {
            thread,
            name: "a".into(),
            ranks: vec![rank],
            frames: vec![frame.into()],
        };
        let mut groups = Vec::new();
        for one in [group(0, 0, "x"), group(1, 0, "y"), group(2, 0, "x"), group(2, 1, "x"), group(2, 2, "x")]
        {
            fold(&mut groups, one);
        }
        let ranks: Vec<_> = groups.iter().map(|group| group.ranks.clone()).collect();
        assert_eq!(ranks, [vec![0, 2], vec![1], vec![2]]);
    }
}
