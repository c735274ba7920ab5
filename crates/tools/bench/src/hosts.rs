//! Measuring between hosts: how each launcher is given them, and the floor there.
//!
//! Between hosts the floor is a ping-pong of 8 bytes through the system's own sockets, with as many bytes on the wire as a
//! message of ours has (`bench/raw_tcp.c`). It runs in the same round on the same hosts, and decides which rounds count.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::error::Error;
use crate::family::Family;
use crate::mpi::Mpi;

/// Where to measure, if not on this host alone.
#[derive(Args, Clone, Debug, Default)]
#[group(skip)]
pub struct Hosts {
    /// Hosts to measure between, by names or addresses; programs are built in the current folder, which all must see
    #[arg(long = "hosts", value_delimiter = ',', value_name = "HOST", value_parser = name)]
    pub names: Vec<String>,
    /// What starts a command on a host, called as ssh is [default: ssh]
    #[arg(long, value_name = "COMMAND", requires = "names")]
    pub launcher: Option<String>,
}

/// Names go to launchers, ours and others', and from there to ssh.
fn name(text: &str) -> Result<String, rte::BadHostName> {
    rte::HostName::new(text).map(|name| name.to_string())
}

/// The program that measures sockets.
pub const RAW: &str = "raw_tcp";
/// What it can measure, by the names of the modes, with the options that make it measure the same sizes.
const RAW_MODES: [(&str, &[&str]); 3] = [("pingpong", &[]), ("streaming", &[]), ("rate", &["--max", "1024"])];
/// Bytes of the floor's ping-pong.
const FLOOR_BYTES: u64 = 8;

impl Hosts {
    /// Whether there are any.
    pub fn are_given(&self) -> bool {
        !self.names.is_empty()
    }

    /// Arguments that make a launcher of this family run so many ranks there, a block of them on each host.
    pub fn arguments(&self, family: Family, ranks: u32) -> Vec<String> {
        let on_each = ranks.div_ceil(self.names.len().max(1) as u32).to_string();
        let names = self.names.join(",");
        let launcher = self.launcher.clone();
        let mut words = Vec::new();
        let mut add = |more: &[&str]| words.extend(more.iter().map(|word| word.to_string()));
        match family {
            Family::OpenMpi => {
                if let Some(launcher) = &launcher {
                    add(&["--prtemca", "plm_ssh_agent", launcher]);
                }
                let slots: Vec<String> = self.names.iter().map(|name| format!("{name}:{on_each}")).collect();
                add(&["--host", &slots.join(",")]);
            }
            Family::Alhena => {
                if let Some(launcher) = &launcher {
                    add(&["-launcher", launcher]);
                }
                add(&["-hosts", &names, "-ppn", &on_each]);
            }
            Family::Mpich | Family::Other => {
                if let Some(launcher) = &launcher {
                    add(&["-launcher", "ssh", "-launcher-exec", launcher]);
                }
                add(&["-hosts", &names, "-ppn", &on_each]);
            }
        }
        words
    }

    /// Options of the program that measures sockets, to do what `mode` does; none where it cannot.
    pub fn raw(&self, mode: &str) -> Option<Vec<String>> {
        let first = self.names.first()?;
        let (_, sizes) = RAW_MODES.iter().find(|(name, _)| *name == mode)?;
        let words = ["--what", mode, "--where", first].into_iter().chain(sizes.iter().copied());
        Some(words.map(String::from).collect())
    }

    /// Nanoseconds of one way between two hosts through sockets.
    pub fn floor(&self, mpi: &Mpi, raw: &Path, limit: Duration) -> Result<Option<f64>, Error> {
        let Some(mut more) = self.raw("pingpong") else { return Ok(None) };
        let size = FLOOR_BYTES.to_string();
        more.extend(["--min", &size, "--max", &size, "--seconds", "0.02"].map(String::from));
        let lines = mpi.run(2, raw, &more, limit)?;
        Ok(lines.first().map(|line| line.value * 1e3))
    }

    /// The folder in which programs are built.
    pub fn work(&self) -> PathBuf {
        if self.are_given() { PathBuf::from(".") } else { std::env::temp_dir() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, Hosts};

    fn two(launcher: Option<&str>) -> Hosts {
        Hosts { names: vec!["a".into(), "b".into()], launcher: launcher.map(String::from) }
    }

    #[test]
    fn each_launcher_gets_hosts_in_its_own_words() {
        let words = |family, ranks| two(Some("s")).arguments(family, ranks).join(" ");
        assert_eq!(words(Family::Alhena, 2), "-launcher s -hosts a,b -ppn 1");
        assert_eq!(words(Family::Mpich, 3), "-launcher ssh -launcher-exec s -hosts a,b -ppn 2");
        assert_eq!(words(Family::OpenMpi, 8), "--prtemca plm_ssh_agent s --host a:4,b:4");
        assert_eq!(two(None).arguments(Family::Alhena, 2).join(" "), "-hosts a,b -ppn 1");
    }

    #[test]
    fn sockets_stand_beside_three_modes() {
        assert_eq!(
            two(None).raw("rate").map(|words| words.join(" ")),
            Some("--what rate --where a --max 1024".into())
        );
        assert!(two(None).raw("ring").is_none() && Hosts::default().raw("rate").is_none());
    }
}
