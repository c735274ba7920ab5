//! Hosts named on the command line or in files.

use std::path::Path;

use rte::{BadHostName, HostName};

use crate::text_file;
use crate::usage::UsageError;

const PURPOSE: &str = "host file";

/// One named host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name as written.
    pub name: HostName,
    /// Places for ranks, where a number was given.
    pub slots: Option<u32>,
    /// The number must not be exceeded (`slots=`, `max_slots=`; a bare `:N` only suggests).
    pub strict: bool,
}

/// Why text names no hosts.
#[derive(Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It is written wrong.
    Form,
    /// A name is none.
    Name(BadHostName),
}

impl From<BadHostName> for Malformed {
    fn from(bad: BadHostName) -> Malformed {
        Malformed::Name(bad)
    }
}

/// Reads `a,b:4,[fd00::7]:2`.
pub fn parse_list(text: &str) -> Result<Vec<Host>, Malformed> {
    let hosts: Vec<Host> =
        text.split(',').filter(|part| !part.is_empty()).map(parse_name).collect::<Result<_, _>>()?;
    if hosts.is_empty() { Err(Malformed::Form) } else { Ok(hosts) }
}

/// Reads a host file: `host slots=N max_slots=M`, `host:N`, `#` comments.
pub fn read_file(path: &Path) -> Result<Vec<Host>, UsageError> {
    let text = text_file::read(path, PURPOSE)?;
    let hosts = parse_file(&text).map_err(|(line, why)| match why {
        Malformed::Form => UsageError::BadLine {
            purpose: PURPOSE,
            path: path.to_owned(),
            line,
            expected: "of the form `host`, `host:4` or `host slots=4 max_slots=8`",
        },
        Malformed::Name(name) => {
            UsageError::BadHost { source: format!("line {line} of {}", path.display()), name }
        }
    })?;
    // A job without hosts runs here, which is not what a file is for.
    match hosts.is_empty() {
        true => Err(UsageError::NoHosts { path: path.to_owned() }),
        false => Ok(hosts),
    }
}

/// The hosts in `text`, or the number of the first malformed line.
fn parse_file(text: &str) -> Result<Vec<Host>, (usize, Malformed)> {
    let mut hosts = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            hosts.push(parse_line(line).map_err(|why| (index + 1, why))?);
        }
    }
    Ok(hosts)
}

fn parse_line(line: &str) -> Result<Host, Malformed> {
    let number = |text: &str| text.parse::<u32>().map_err(|_| Malformed::Form);
    let mut words = line.split_whitespace();
    let mut host = parse_name(words.next().unwrap_or_default())?;
    for word in words {
        let (key, value) = word.split_once('=').ok_or(Malformed::Form)?;
        match key {
            "slots" | "cpu" | "count" => {
                host.slots = Some(number(value)?);
                host.strict = true;
            }
            "max_slots" | "max-slots" => {
                let most = number(value)?;
                host.slots = Some(host.slots.map_or(most, |slots| slots.max(most)));
                host.strict = true;
            }
            // Keys of other launchers (user=, binding=, ifhn=) mean nothing for one host.
            _ => {}
        }
    }
    Ok(host)
}

/// Reads `a`, `a:4`, `fd00::7`, `[fd00::7]:4`, each perhaps behind `USER@`. Brackets only keep an address from its slots: ssh
/// takes none.
pub fn parse_name(text: &str) -> Result<Host, Malformed> {
    let bracketed = text.split_once('[').filter(|(user, _)| user.is_empty() || user.ends_with('@'));
    let (name, slots) = match (bracketed, text.rsplit_once(':')) {
        (Some((user, rest)), _) => {
            let (address, behind) = rest.split_once(']').ok_or(Malformed::Form)?;
            let slots =
                if behind.is_empty() { None } else { Some(behind.strip_prefix(':').ok_or(Malformed::Form)?) };
            (format!("{user}{address}"), slots)
        }
        (None, Some((name, slots))) if !name.contains(':') => (name.to_owned(), Some(slots)),
        _ => (text.to_owned(), None),
    };
    let slots = slots.map(|slots| slots.parse().map_err(|_| Malformed::Form)).transpose()?;
    Ok(Host { name: HostName::new(&name)?, slots, strict: false })
}

/// The hosts with each named once, in the order in which they come first. All names of this host are one. A host that
/// comes several times has a slot for each time, or the sum of the slots given.
pub fn merged(hosts: &[Host]) -> Vec<Host> {
    let mut merged: Vec<Host> = Vec::new();
    for host in hosts {
        match merged.iter_mut().find(|other| other.is_same(host)) {
            Some(first) => {
                first.slots = Some(first.slots.unwrap_or(1).saturating_add(host.slots.unwrap_or(1)));
                first.strict |= host.strict;
            }
            None => merged.push(host.clone()),
        }
    }
    merged
}

/// The hosts of a job: `base`, those of files and batch systems, and what its programs name beside. A program that names a
/// host of `base` chooses among its slots; one that `base` does not have comes with its own.
pub fn joined(base: &[Host], named: &[Host]) -> Vec<Host> {
    let base = merged(base);
    let is_new = |host: &&Host| !base.iter().any(|other| other.is_same(host));
    let more: Vec<Host> = named.iter().filter(is_new).cloned().collect();
    [base.clone(), merged(&more)].concat()
}

impl Host {
    /// Whether it is this host. Names are compared as text: looking them up could hang, and the own name often has no
    /// address.
    pub fn is_local(&self) -> bool {
        is_local(&self.name, &own_name())
    }

    /// Whether both names mean one host, as far as text shows.
    pub fn is_same(&self, other: &Host) -> bool {
        self.name == other.name || self.is_local() && other.is_local()
    }
}

/// Slots of all hosts where each has a number; and whether any of them is strict.
pub fn slots(hosts: &[Host]) -> Option<(u32, bool)> {
    let slots: Vec<u32> = hosts.iter().map(|host| host.slots).collect::<Option<_>>()?;
    let total = slots.into_iter().fold(0, u32::saturating_add);
    (!hosts.is_empty()).then(|| (total, hosts.iter().any(|host| host.strict)))
}

/// The user before `@` is for the launcher, which knows what it means.
fn without_user(name: &str) -> &str {
    name.rsplit_once('@').map_or(name, |(_, host)| host)
}

/// Whether `name` means the host called `own`.
pub fn is_local(name: &str, own: &str) -> bool {
    let name = without_user(name);
    let short = |name: &str| name.split('.').next().unwrap_or("").to_ascii_lowercase();
    let is_address = name.parse::<std::net::IpAddr>().is_ok();
    match name {
        "localhost" | "localhost.localdomain" | "::1" | "+n0" => true,
        _ if is_address => name.starts_with("127.") || is_own_address(name),
        _ => {
            name.eq_ignore_ascii_case(own)
                || (short(name) == short(own) && (!name.contains('.') || !own.contains('.')))
        }
    }
}

/// Whether an interface of this host has this address.
fn is_own_address(text: &str) -> bool {
    let Ok(address) = text.parse::<std::net::IpAddr>() else { return false };
    platform::interfaces::addresses().is_ok_and(|all| all.iter().any(|one| one.address == address))
}

/// This host's name.
pub fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, slots: Option<u32>, strict: bool) -> Host {
        Host { name: HostName::new(name).unwrap(), slots, strict }
    }

    #[test]
    fn both_kinds_of_host_files_are_read() {
        let text = "# cluster\nlocalhost slots=4 # fast\n\nnode7:2\nnode8 slots=1 max_slots=3\n";
        let expected = vec![
            host("localhost", Some(4), true),
            host("node7", Some(2), false),
            host("node8", Some(3), true),
        ];
        assert_eq!(parse_file(text), Ok(expected));
        assert_eq!(parse_file("ok\nnode slots=x\n"), Err((2, Malformed::Form)));
        assert_eq!(parse_file("ok\nnode what\n"), Err((2, Malformed::Form)));
        assert!(matches!(parse_file("ok\n-oProxyCommand=x\n"), Err((2, Malformed::Name(_)))));
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(parse_list("a,b:4"), Ok(vec![host("a", None, false), host("b", Some(4), false)]));
        assert_eq!(parse_list("::1"), Ok(vec![host("::1", None, false)]));
        let six = |slots| Ok(vec![host("fd00::2", slots, false)]);
        assert_eq!((parse_list("[fd00::2]"), parse_list("[fd00::2]:3")), (six(None), six(Some(3))));
        assert_eq!(parse_list("me@[fd00::2]:3"), Ok(vec![host("me@fd00::2", Some(3), false)]));
        for wrong in ["a:x", "", "[fd00::2", "[fd00::2]3", "[fd00::2]:"] {
            assert_eq!(parse_list(wrong), Err(Malformed::Form), "{wrong}");
        }
        for wrong in ["-F", "a,-oProxyCommand=x:2", "[-F]", "me@-F"] {
            assert!(matches!(parse_list(wrong), Err(Malformed::Name(_))), "{wrong}");
        }
    }

    #[test]
    fn a_host_that_is_named_again_has_a_slot_more() {
        let list = |text: &str| merged(&parse_list(text).unwrap());
        assert_eq!(list("a,b,a"), [host("a", Some(2), false), host("b", None, false)]);
        assert_eq!(list("a:2,b,a:3"), [host("a", Some(5), false), host("b", None, false)]);
        assert_eq!(list("localhost,127.0.0.1"), [host("localhost", Some(2), false)]);
    }

    #[test]
    fn this_host_has_many_names() {
        for name in ["localhost", "127.0.0.1", "::1", "node7", "NODE7", "node7.cluster"] {
            assert!(is_local(name, "node7"), "{name}");
        }
        for name in ["node8", "10.0.0.1", "node70", "node7x.cluster"] {
            assert!(!is_local(name, "node7"), "{name}");
        }
        assert!(!is_local("node7.other", "node7.cluster"));
    }
}
