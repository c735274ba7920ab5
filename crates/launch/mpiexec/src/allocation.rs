//! The hosts that a batch system gave to this job, from the variables it sets. They are used where the command line and
//! files name none.

use std::env;
use std::io;
use std::path::Path;

use rte::HostName;

use crate::hosts::Host;
use crate::text_file;
use crate::usage::UsageError;

/// Hosts of an allocation, and the variable that named them.
#[derive(Debug)]
pub struct Allocation {
    /// The variable.
    pub variable: &'static str,
    /// The hosts, with their slots, which are strict: the batch system counts on them.
    pub hosts: Vec<Host>,
}

/// Names with their slots.
type Slots = Vec<(String, u32)>;
/// Looks a variable up.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How a batch system names the hosts of a job.
struct System {
    variable: &'static str,
    /// The variable names a file with the text.
    is_file: bool,
    /// Reads the text. `None` where it makes no sense.
    read: fn(&str, Variables) -> Option<Slots>,
}

const SYSTEMS: [System; 7] = [
    System { variable: "SLURM_JOB_NODELIST", is_file: false, read: slurm },
    System { variable: "SLURM_NODELIST", is_file: false, read: slurm },
    System { variable: "PBS_NODEFILE", is_file: true, read: counted },
    System { variable: "LSB_DJOB_HOSTFILE", is_file: true, read: counted },
    System { variable: "LSB_MCPU_HOSTS", is_file: false, read: pairs },
    System { variable: "PE_HOSTFILE", is_file: true, read: lines },
    System { variable: "COBALT_NODEFILE", is_file: true, read: counted },
];

/// The allocation in which this process runs, if it does.
pub fn find() -> Result<Option<Allocation>, UsageError> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    from(&variable, |path| std::fs::read_to_string(path))
}

/// Variables and files are looked up by the caller's means. A variable that is set and gives no hosts is an error: ranks that
/// are meant for many hosts would all run on this one.
fn from(
    variables: Variables,
    file: impl Fn(&Path) -> io::Result<String>,
) -> Result<Option<Allocation>, UsageError> {
    let set = |system: &'static System| variables(system.variable).map(|value| (system, value));
    let Some((System { variable, is_file, read }, value)) = SYSTEMS.iter().find_map(set) else {
        return Ok(None);
    };
    let wrong = |why: &dyn std::fmt::Display| UsageError::Allocation {
        variable,
        seen: format!("{variable}={value}: {why}"),
    };
    let text = if *is_file { file(Path::new(&value)).map_err(|error| wrong(&error))? } else { value.clone() };
    let slots = read(text_file::plain(&text), variables).ok_or_else(|| wrong(&"it makes no sense"))?;
    if slots.is_empty() {
        return Err(wrong(&"it names no host"));
    }
    let host = |(name, slots): (String, u32)| {
        let name = HostName::new(&name)
            .map_err(|name| UsageError::BadHost { source: (*variable).to_owned(), name })?;
        Ok(Host { name, slots: Some(slots), strict: true })
    };
    let hosts = slots.into_iter().map(host).collect::<Result<_, _>>()?;
    Ok(Some(Allocation { variable, hosts }))
}

/// Slurm's list, with the counts of other variables; one slot each where they do not fit.
fn slurm(list: &str, variables: Variables) -> Option<Slots> {
    let names = node_list(list)?;
    let tasks = variables("SLURM_TASKS_PER_NODE").or_else(|| variables("SLURM_JOB_CPUS_PER_NODE"));
    let slots = tasks.as_deref().and_then(repeated).filter(|slots| slots.len() == names.len());
    let slots = slots.unwrap_or_else(|| vec![1; names.len()]);
    Some(names.into_iter().zip(slots).collect())
}

/// Names with a slot for each time that they come.
fn counted(text: &str, _: Variables) -> Option<Slots> {
    let mut hosts: Slots = Vec::new();
    for name in text.split_whitespace() {
        match hosts.iter_mut().find(|(known, _)| known == name) {
            Some((_, slots)) => *slots += 1,
            None => hosts.push((name.to_owned(), 1)),
        }
    }
    Some(hosts)
}

/// Names and slots in turn.
fn pairs(text: &str, _: Variables) -> Option<Slots> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.chunks(2).map(name_and_slots).collect()
}

/// A name, slots, and more that is of no use here, on each line.
fn lines(text: &str, _: Variables) -> Option<Slots> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| name_and_slots(&line.split_whitespace().collect::<Vec<_>>())).collect()
}

fn name_and_slots(words: &[&str]) -> Option<(String, u32)> {
    Some(((*words.first()?).to_owned(), words.get(1)?.parse().ok()?))
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

    fn found(variables: &[(&str, &str)], file: &str) -> Result<Option<String>, String> {
        let get =
            |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, v)| (*v).to_owned());
        let allocation = from(&get, |_| Ok(file.to_owned())).map_err(|error| error.to_string())?;
        let text = |host: &Host| format!("{}:{}", host.name, host.slots.unwrap());
        Ok(allocation.map(|found| found.hosts.iter().map(text).collect::<Vec<_>>().join(" ")))
    }

    #[test]
    fn each_batch_system_names_its_hosts() {
        let slurm = [("SLURM_JOB_NODELIST", "n[01-03],g7"), ("SLURM_TASKS_PER_NODE", "2(x3),1")];
        for (variables, file, hosts) in [
            (&slurm[..], "", "n01:2 n02:2 n03:2 g7:1"),
            (&[("SLURM_NODELIST", "a")], "", "a:1"),
            (&[("PBS_NODEFILE", "f")], "\u{feff}a\na\nb\n", "a:2 b:1"),
            (&[("LSB_MCPU_HOSTS", "a 4 b 2")], "", "a:4 b:2"),
            (&[("LSB_DJOB_HOSTFILE", "f")], "a\nb\na\n", "a:2 b:1"),
            (&[("PE_HOSTFILE", "f")], "a 4 q@a UNDEFINED\nb 1 q@b 0,1\n", "a:4 b:1"),
        ] {
            assert_eq!(found(variables, file).unwrap().unwrap(), hosts);
        }
        assert_eq!(found(&[], ""), Ok(None));
    }

    #[test]
    fn what_names_no_hosts_is_named() {
        for (variable, value, file) in [
            ("SLURM_JOB_NODELIST", "n[3-1]", ""),
            ("PBS_NODEFILE", "f", " \n"),
            ("LSB_MCPU_HOSTS", "a 4 b", ""),
            ("PE_HOSTFILE", "f", "a\n"),
            ("SLURM_JOB_NODELIST", "-oProxyCommand=x", ""),
            ("COBALT_NODEFILE", "f", "a\n-F\n"),
        ] {
            let message = found(&[(variable, value)], file).unwrap_err();
            assert!(message.contains(variable), "{message}");
            assert_eq!(message.lines().count(), 3, "{message}");
        }
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
