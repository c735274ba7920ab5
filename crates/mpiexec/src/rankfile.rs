//! Rank files: which processors each rank gets, one line per rank.
//!
//! `rank 0=host slot=1:0-2` means socket 1, cores 0 to 2 of it; `slot=0-3` means processors 0 to 3.

use std::path::Path;

use rte::CpuSet;
use rte::{Topology, Unit};

use crate::hosts;
use crate::usage::UsageError;

const PURPOSE: &str = "rank file";

/// Processors by rank; `None` for ranks that the file leaves out.
pub fn read(path: &Path) -> Result<Vec<Option<CpuSet>>, UsageError> {
    let text = std::fs::read_to_string(path).map_err(|source| UsageError::File {
        purpose: PURPOSE,
        path: path.to_owned(),
        source,
    })?;
    let topology = Topology::new(CpuSet::allowed());
    let mut ranks: Vec<Option<CpuSet>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let bad_line = || UsageError::BadLine {
            purpose: PURPOSE,
            path: path.to_owned(),
            line: index + 1,
            expected: "of the form `rank 0=host slot=1:0-2` with processors that may be used",
        };
        let (rank, host, slot) = fields(line).ok_or_else(bad_line)?;
        let named = hosts::parse_list(host).ok_or_else(bad_line)?;
        if let Some(other) = named.iter().find(|host| !host.is_local()) {
            return Err(UsageError::RemoteHost { host: other.name.clone(), own: hosts::own_name() });
        }
        let cpus = processors(slot, &topology).ok_or_else(bad_line)?;
        if ranks.len() <= rank {
            ranks.resize(rank + 1, None);
        }
        ranks[rank] = Some(cpus);
    }
    Ok(ranks)
}

/// Rank, host and slot of a line.
fn fields(line: &str) -> Option<(usize, &str, &str)> {
    let (rank, rest) = line.strip_prefix("rank")?.split_once('=')?;
    let (host, slot) = rest.trim().split_once(char::is_whitespace)?;
    let slot = slot.trim().strip_prefix("slot")?.trim_start().strip_prefix('=')?;
    let rank = rank.trim().parse().ok().filter(|&rank| rank < 1 << 20)?;
    Some((rank, host, slot.trim()))
}

/// The processors that a slot means.
fn processors(slot: &str, topology: &Topology) -> Option<CpuSet> {
    let cpus = match slot.split_once(':') {
        None => CpuSet::parse(slot.trim_start_matches('p'))?,
        Some((socket, cores)) => {
            let packages = topology.units(Unit::Package);
            let package = packages.get(socket.trim_start_matches('p').parse::<usize>().ok()?)?;
            let inside: Vec<CpuSet> = topology
                .units(Unit::Core)
                .into_iter()
                .filter(|c| !c.intersection(package).is_empty())
                .collect();
            let wanted = if cores == "*" { None } else { Some(CpuSet::parse(cores)?) };
            let chosen = inside
                .iter()
                .enumerate()
                .filter(|(i, _)| wanted.as_ref().is_none_or(|wanted| wanted.contains(*i as u32)));
            chosen.flat_map(|(_, core)| core.iter().collect::<Vec<_>>()).collect()
        }
    };
    let usable = cpus.intersection(topology.allowed());
    (usable == cpus && !cpus.is_empty()).then_some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_three_fields() {
        assert_eq!(fields("rank 0=node1 slot=1:0-2"), Some((0, "node1", "1:0-2")));
        assert_eq!(fields("rank 12 = node1  slot = 3"), Some((12, "node1", "3")));
        for line in ["rank 0", "rank=node slot=1", "rank 0=node", "0=node slot=1", "rank 99999999=a slot=1"] {
            assert_eq!(fields(line), None, "{line}");
        }
    }

    #[test]
    fn slots_mean_processors_that_exist() {
        let topology = Topology::new(CpuSet::allowed());
        let first = topology.allowed().iter().next().unwrap();
        assert!(processors(&first.to_string(), &topology).unwrap().contains(first));
        assert!(processors("0:*", &topology).is_some());
        for slot in ["1000", "77:0", "0:x", "", "0:900"] {
            assert_eq!(processors(slot, &topology), None, "{slot}");
        }
    }
}
