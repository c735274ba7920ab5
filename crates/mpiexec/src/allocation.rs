//! The hosts that a batch system gave to this job, from the variables it sets. They are used where the command line and
//! files name none.

use std::env;

use crate::hosts::Host;

/// Hosts of an allocation, and the variable that told.
#[derive(Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The variable.
    pub variable: &'static str,
    /// The hosts, with their slots, which are strict: the batch system counts on them.
    pub hosts: Vec<Host>,
}

/// The allocation in which this process runs, if it does.
pub fn find() -> Option<Allocation> {
    from(
        |name| env::var(name).ok().filter(|value| !value.is_empty()),
        |path| std::fs::read_to_string(path).ok(),
    )
}

/// Variables and files are looked up by the caller's means.
fn from(
    variable: impl Fn(&str) -> Option<String>,
    read: impl Fn(&str) -> Option<String>,
) -> Option<Allocation> {
    let found = |variable: &'static str, hosts: Vec<Host>| Some(Allocation { variable, hosts });
    if let Some(list) = variable("SLURM_JOB_NODELIST").or_else(|| variable("SLURM_NODELIST")) {
        let names = node_list(&list)?;
        let tasks = variable("SLURM_TASKS_PER_NODE").or_else(|| variable("SLURM_JOB_CPUS_PER_NODE"));
        let slots = tasks.as_deref().and_then(repeated).filter(|slots| slots.len() == names.len());
        let slots = slots.unwrap_or_else(|| vec![1; names.len()]);
        return found(
            "SLURM_JOB_NODELIST",
            names.into_iter().zip(slots).map(|(name, n)| host(name, n)).collect(),
        );
    }
    if let Some(path) = variable("PBS_NODEFILE") {
        return found("PBS_NODEFILE", counted(read(&path)?.split_whitespace()));
    }
    if let Some(path) = variable("LSB_DJOB_HOSTFILE") {
        return found("LSB_DJOB_HOSTFILE", counted(read(&path)?.split_whitespace()));
    }
    if let Some(list) = variable("LSB_MCPU_HOSTS") {
        let words: Vec<&str> = list.split_whitespace().collect();
        let pair = |pair: &[&str]| Some(host(*pair.first()?, pair.get(1)?.parse().ok()?));
        return found("LSB_MCPU_HOSTS", words.chunks(2).map(pair).collect::<Option<_>>()?);
    }
    if let Some(path) = variable("PE_HOSTFILE") {
        let text = read(&path)?;
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            Some(host(words.next()?, words.next()?.parse().ok()?))
        };
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        return found("PE_HOSTFILE", lines.map(line).collect::<Option<_>>()?);
    }
    if let Some(path) = variable("COBALT_NODEFILE") {
        return found("COBALT_NODEFILE", counted(read(&path)?.split_whitespace()));
    }
    None
}

fn host(name: impl Into<String>, slots: u32) -> Host {
    Host { name: name.into(), slots: Some(slots), strict: true }
}

/// Names with a slot for each time that they come.
fn counted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    for name in names {
        match hosts.iter_mut().find(|host| host.name == name) {
            Some(host) => host.slots = host.slots.map(|slots| slots + 1),
            None => hosts.push(host(name, 1)),
        }
    }
    hosts
}

/// Most hosts that a list may stand for.
const MOST: usize = 1 << 20;

/// Slurm's lists: `n[01-04,7],g3`, with several brackets and zeros in front. `None` where it is none.
fn node_list(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for part in outside_brackets(text)? {
        names.extend(expand(part)?);
        if names.len() > MOST {
            return None;
        }
    }
    (!names.is_empty()).then_some(names)
}

/// The parts between the commas that stand in no brackets.
fn outside_brackets(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '[' if !inside => inside = true,
            ']' if inside => inside = false,
            '[' | ']' => return None,
            ',' if !inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (!inside && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

/// One part with its brackets filled in, the last ones first to change.
fn expand(part: &str) -> Option<Vec<String>> {
    let Some((front, rest)) = part.split_once('[') else { return Some(vec![part.to_owned()]) };
    let (ranges, back) = rest.split_once(']')?;
    let backs = expand(back)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
        if last < first || (last - first) as usize >= MOST {
            return None;
        }
        for number in first..=last {
            names.extend(backs.iter().map(|back| format!("{front}{number:0width$}{back}")));
            if names.len() > MOST {
                return None;
            }
        }
    }
    Some(names)
}

/// Slurm's counts: `2(x3),1`.
fn repeated(text: &str) -> Option<Vec<u32>> {
    let mut counts = Vec::new();
    for part in text.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => {
                (count, times.strip_suffix(')')?.parse().ok().filter(|&n: &usize| n <= MOST)?)
            }
            None => (part, 1),
        };
        counts.extend(std::iter::repeat_n(count.parse::<u32>().ok()?, times));
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], file: &str) -> Option<String> {
        let get =
            |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, v)| (*v).to_owned());
        let allocation = from(get, |_| Some(file.to_owned()))?;
        let hosts = allocation.hosts.iter();
        Some(hosts.map(|h| format!("{}:{}", h.name, h.slots.unwrap())).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn each_batch_system_names_its_hosts() {
        let slurm = [("SLURM_JOB_NODELIST", "n[01-03],g7"), ("SLURM_TASKS_PER_NODE", "2(x3),1")];
        assert_eq!(found(&slurm, "").unwrap(), "n01:2 n02:2 n03:2 g7:1");
        assert_eq!(found(&[("SLURM_NODELIST", "a")], "").unwrap(), "a:1");
        assert_eq!(found(&[("PBS_NODEFILE", "f")], "a\na\nb\n").unwrap(), "a:2 b:1");
        assert_eq!(found(&[("LSB_MCPU_HOSTS", "a 4 b 2")], "").unwrap(), "a:4 b:2");
        assert_eq!(found(&[("LSB_DJOB_HOSTFILE", "f")], "a\nb\na\n").unwrap(), "a:2 b:1");
        assert_eq!(found(&[("PE_HOSTFILE", "f")], "a 4 q@a UNDEFINED\nb 1 q@b 0,1\n").unwrap(), "a:4 b:1");
        assert_eq!(found(&[], ""), None);
    }

    #[test]
    fn node_lists_of_slurm_are_filled_in() {
        let list = |text: &str| node_list(text).map(|names| names.join(" "));
        assert_eq!(list("n[08-11]").unwrap(), "n08 n09 n10 n11");
        assert_eq!(list("r[1-2]n[1,3]x,z").unwrap(), "r1n1x r1n3x r2n1x r2n3x z");
        for wrong in ["", "n[", "n]1[", "n[3-1]", "n[a]", "n[0-99999999999]", "a,,b", "n[1[2]]"] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
    }
}
