//! Rank files: the host and the processors of each rank, one line per rank.
//!
//! ```text
//!   rank 0=node1 slot=1:0-2       what slot= means: placement::Slots
//!   rank 1=+n1 slot=0             +n1: the second host of -hosts, a host file or an allocation
//! ```
//!
//! Where no hosts are named, those of the file are the job's. Source: Open MPI's `mpirun(1)`.

use std::path::{Path, PathBuf};

use placement::Slots;
use rte::HostName;

use crate::hosts::{self, Host, Malformed};
use crate::text_file;
use crate::usage::UsageError;

const PURPOSE: &str = "rank file";

/// For each rank the name of its host and its processors; `None` for ranks that the file leaves out.
type Ranks = Vec<Option<(HostName, Slots)>>;

/// The content of a rank file.
#[derive(Clone, Debug)]
pub struct RankFile {
    path: PathBuf,
    ranks: Ranks,
}

impl RankFile {
    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<RankFile, UsageError> {
        let text = text_file::read(path, PURPOSE)?;
        let ranks = parse(&text).map_err(|(line, why)| match why {
            Malformed::Form => UsageError::BadLine {
                purpose: PURPOSE,
                path: path.to_owned(),
                line,
                expected: "of the form `rank 0=host slot=1:0-2`, with each rank once",
            },
            Malformed::Name(name) => {
                UsageError::BadHost { source: format!("line {line} of {}", path.display()), name }
            }
        })?;
        Ok(RankFile { path: path.to_owned(), ranks })
    }

    /// One more than the highest rank of the file.
    pub fn count(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The hosts of the file in the order of their ranks.
    pub fn hosts(&self) -> Vec<Host> {
        let names = self.ranks.iter().flatten().map(|(name, _)| name);
        names.map(|name| Host { name: name.clone(), slots: None, strict: false }).collect()
    }

    /// The index of the host, and the processors, of each of `count` ranks of a job on `hosts`.
    pub fn place(&self, count: u32, hosts: &[Host]) -> Result<(Vec<u32>, Vec<Slots>), UsageError> {
        let wrong = |seen: String| UsageError::RankFile { path: self.path.clone(), seen };
        let place = |rank: u32| {
            let line = self.ranks.get(rank as usize).and_then(Option::as_ref);
            let (name, slots) =
                line.ok_or_else(|| wrong(format!("{count} ranks, and no line for rank {rank}")))?;
            let host = index(name, hosts).ok_or_else(|| {
                let names: Vec<&str> = hosts.iter().map(|host| &*host.name).collect();
                wrong(format!(
                    "rank {rank} is to run on {name}, the hosts of the job are {}",
                    names.join(",")
                ))
            })?;
            Ok((host, slots.clone()))
        };
        (0..count).map(place).collect()
    }
}

/// The place of the host called `name` among `hosts`.
fn index(name: &str, hosts: &[Host]) -> Option<u32> {
    if let Some(number) = name.strip_prefix("+n") {
        let number: u32 = number.parse().ok()?;
        // Without any hosts the job runs here.
        return (number < hosts.len().max(1) as u32).then_some(number);
    }
    let local = hosts::is_local(name, &hosts::own_name());
    let found = hosts.iter().position(|host| *host.name == *name || local && host.is_local());
    found.map(|index| index as u32)
}

/// The lines in `text` by rank, or the number of the first malformed one.
fn parse(text: &str) -> Result<Ranks, (usize, Malformed)> {
    let mut ranks = Ranks::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let (rank, host, slots) = fields(line).ok_or((index + 1, Malformed::Form))?;
        let host = hosts::parse_name(&host).map_err(|why| (index + 1, why))?.name;
        if ranks.len() <= rank {
            ranks.resize(rank + 1, None);
        }
        if ranks[rank].replace((host, slots)).is_some() {
            return Err((index + 1, Malformed::Form));
        }
    }
    Ok(ranks)
}

/// Rank, host and processors of a line.
fn fields(line: &str) -> Option<(usize, String, Slots)> {
    let (rank, rest) = line.strip_prefix("rank")?.split_once('=')?;
    let (host, slot) = rest.trim().split_once(char::is_whitespace)?;
    let slot = slot.trim().strip_prefix("slot")?.trim_start().strip_prefix('=')?;
    let rank = rank.trim().parse().ok().filter(|&rank| rank < 1 << 20)?;
    Some((rank, host.to_owned(), Slots::parse(slot.trim())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> RankFile {
        RankFile { path: PathBuf::from("ranks"), ranks: parse(text).unwrap() }
    }

    #[test]
    fn lines_have_three_fields() {
        let slots = |text| Slots::parse(text).unwrap();
        assert_eq!(fields("rank 0=node1 slot=1:0-2"), Some((0, "node1".to_owned(), slots("1:0-2"))));
        assert_eq!(fields("rank 12 = node1  slot = 3"), Some((12, "node1".to_owned(), slots("3"))));
        for line in [
            "rank 0",
            "rank=node slot=1",
            "rank 0=node",
            "0=node slot=1",
            "rank 99999999=a slot=1",
            "rank 0=a slot=x",
        ] {
            assert_eq!(fields(line), None, "{line}");
        }
        assert_eq!(
            parse("rank 0=a slot=0\n\n# no rank\nrank 0=b slot=1\n").unwrap_err(),
            (4, Malformed::Form)
        );
        assert!(matches!(parse("rank 0=-oProxyCommand=x slot=0\n").unwrap_err(), (1, Malformed::Name(_))));
    }

    #[test]
    fn ranks_have_the_hosts_of_their_lines() {
        let file = file("rank 1=far slot=0\nrank 0=off slot=1\nrank 2=far slot=0:*\n");
        let hosts = hosts::merged(&file.hosts());
        assert_eq!(hosts.iter().map(|host| &*host.name).collect::<Vec<_>>(), ["off", "far"]);
        assert_eq!(file.place(3, &hosts).unwrap().0, [0, 1, 1]);
        let other = hosts::parse_list("localhost,off,far").unwrap();
        assert_eq!(file.place(2, &other).unwrap().0, [1, 2]);
        for (count, hosts) in [(4, &hosts), (3, &hosts::parse_list("far,away").unwrap())] {
            assert_eq!(file.place(count, hosts).unwrap_err().to_string().lines().count(), 3);
        }
    }

    #[test]
    fn hosts_may_be_counted() {
        let file = file("rank 0=+n1 slot=0\nrank 1=+n0 slot=1\n");
        assert_eq!(file.place(2, &hosts::parse_list("far,off").unwrap()).unwrap().0, [1, 0]);
        assert!(file.place(2, &[]).is_err());
    }
}
