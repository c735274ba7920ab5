//! Names of hosts as launchers and shells may be given them.
//!
//! A name becomes a word of ssh's command line, where `-oProxyCommand=…` would be an option, and ssh itself may hand it on to
//! a shell. Lists of hosts come from files and variables that others write. So a name is checked where it is made, and nothing
//! else fits into [`crate::spec::Host`].

use std::fmt;
use std::ops::Deref;

use crate::wire::Wire;

/// Characters that mean something to a shell; those that OpenSSH refuses in a host's name.
const OF_SHELLS: &str = "'`\"$\\;&<>|(){}";

/// The name or address of a host, perhaps with `USER@` in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

/// Text that names no host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadHostName {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl HostName {
    /// `text` as a name.
    ///
    /// # Errors
    /// Text that a launcher could take for an option, or a shell for more than a word.
    pub fn new(text: &str) -> Result<HostName, BadHostName> {
        let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || OF_SHELLS.contains(c);
        let why = match text {
            _ if host.is_empty() => "it is empty",
            _ if text.starts_with('-') || host.starts_with('-') => {
                "it begins with -, so that the launcher would take it for an option"
            }
            _ if text.contains(is_odd) => "it has a character that no name of a host has",
            _ => return Ok(HostName(text.to_owned())),
        };
        Err(BadHostName { text: text.to_owned(), why })
    }
}

impl Deref for HostName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A name that comes from another process is checked like any other.
impl Wire for HostName {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<HostName> {
        HostName::new(&String::take(from)?).ok()
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BadHostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.text, self.why)
    }
}

impl std::error::Error for BadHostName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_and_no_command_is_a_name() {
        for name in
            ["node7", "n-1.cluster", "me@node7", "fd00::2", "fe80::1%eth0", "ssh://me@node7:22", "+n0", "x_1"]
        {
            assert_eq!(HostName::new(name).unwrap().to_string(), name);
        }
        for text in [
            "",
            "me@",
            "-oProxyCommand=x",
            "me@-F",
            "-l@node7",
            "a b",
            "a\tb",
            "a\n",
            "a;b",
            "$(a)",
            "a`b",
            "a\0",
        ] {
            assert!(HostName::new(text).is_err(), "{text:?}");
        }
    }
}
