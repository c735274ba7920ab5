//! Hosts named on the command line or in files.

use std::path::Path;

use crate::usage::UsageError;

const PURPOSE: &str = "host file";

/// One named host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name as written.
    pub name: String,
    /// Places for ranks, where a number was given.
    pub slots: Option<u32>,
    /// The number must not be exceeded (`slots=`, `max_slots=`; a bare `:N` only suggests).
    pub strict: bool,
}

/// Reads `a,b:4`. `None` if it is malformed.
pub fn parse_list(text: &str) -> Option<Vec<Host>> {
    let hosts: Option<Vec<Host>> = text.split(',').filter(|part| !part.is_empty()).map(parse_name).collect();
    hosts.filter(|hosts| !hosts.is_empty())
}

/// Reads a host file: `host slots=N max_slots=M`, `host:N`, `#` comments.
pub fn read_file(path: &Path) -> Result<Vec<Host>, UsageError> {
    let text = std::fs::read_to_string(path).map_err(|source| UsageError::File {
        purpose: PURPOSE,
        path: path.to_owned(),
        source,
    })?;
    parse_file(&text).map_err(|line| UsageError::BadLine {
        purpose: PURPOSE,
        path: path.to_owned(),
        line,
        expected: "of the form `host`, `host:4` or `host slots=4 max_slots=8`",
    })
}

/// The hosts in `text`, or the number of the first malformed line.
fn parse_file(text: &str) -> Result<Vec<Host>, usize> {
    let mut hosts = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            hosts.push(parse_line(line).ok_or(index + 1)?);
        }
    }
    Ok(hosts)
}

fn parse_line(line: &str) -> Option<Host> {
    let mut words = line.split_whitespace();
    let mut host = parse_name(words.next()?)?;
    for word in words {
        let (key, value) = word.split_once('=')?;
        match key {
            "slots" | "cpu" | "count" => {
                host.slots = Some(value.parse().ok()?);
                host.strict = true;
            }
            "max_slots" | "max-slots" => {
                let most: u32 = value.parse().ok()?;
                host.slots = Some(host.slots.map_or(most, |slots| slots.max(most)));
                host.strict = true;
            }
            // Keys of other launchers (user=, binding=, ifhn=) say nothing about one host.
            _ => {}
        }
    }
    Some(host)
}

fn parse_name(text: &str) -> Option<Host> {
    let (name, slots) = match text.rsplit_once(':') {
        Some((name, slots)) if !name.contains(':') => (name, Some(slots.parse().ok()?)),
        _ => (text, None),
    };
    (!name.is_empty()).then(|| Host { name: name.to_owned(), slots, strict: false })
}

/// The hosts with each named once, in the order in which they come first. All names of this host are one. A host that
/// comes several times has a slot for each time, or the sum of the slots given.
pub fn merged(hosts: &[Host]) -> Vec<Host> {
    let mut merged: Vec<Host> = Vec::new();
    for host in hosts {
        let is_same = |other: &&mut Host| other.name == host.name || other.is_local() && host.is_local();
        match merged.iter_mut().find(is_same) {
            Some(first) => {
                first.slots = Some(first.slots.unwrap_or(1) + host.slots.unwrap_or(1));
                first.strict |= host.strict;
            }
            None => merged.push(host.clone()),
        }
    }
    merged
}

impl Host {
    /// Whether it is this host. Names are compared as text: looking them up could hang, and the own name often has no
    /// address.
    pub fn is_local(&self) -> bool {
        is_local(&self.name, &own_name())
    }
}

/// Slots of all hosts where each has a number; and whether any of them is strict.
pub fn slots(hosts: &[Host]) -> Option<(u32, bool)> {
    let total = hosts.iter().map(|host| host.slots).sum::<Option<u32>>()?;
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
        Host { name: name.to_owned(), slots, strict }
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
        assert_eq!(parse_file("ok\nnode slots=x\n"), Err(2));
        assert_eq!(parse_file("ok\nnode what\n"), Err(2));
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(parse_list("a,b:4"), Some(vec![host("a", None, false), host("b", Some(4), false)]));
        assert_eq!(parse_list("::1"), Some(vec![host("::1", None, false)]));
        assert_eq!(parse_list("a:x"), None);
        assert_eq!(parse_list(""), None);
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
