//! Number of ranks, hosts, files with programs.

use std::path::{Path, PathBuf};

use hardware::Unit;
use placement::Map;

use super::{Complaint, Flag, count, text};
use crate::hosts::{self, Malformed};
use crate::options::Universe;
use crate::usage::UsageError;

pub const FLAGS: &[Flag] = &[
    Flag {
        names: &["n", "np", "c"],
        values: &["N"],
        help: "start N ranks of the program that follows",
        apply: |options, values| {
            options.app.count = Some(count(&values[0])?);
            Ok(())
        },
    },
    Flag {
        names: &["ppn", "N", "npernode", "perhost", "ranks-per-node"],
        values: &["N"],
        help: "ranks per host; the number of ranks where -n is missing",
        apply: |options, values| {
            options.job.per_host = Some(count(&values[0])?);
            Ok(())
        },
    },
    Flag {
        names: &["pernode"],
        values: &[],
        help: "one rank per host",
        apply: |options, _| {
            options.job.per_host = Some(1);
            Ok(())
        },
    },
    Flag {
        names: &["npersocket"],
        values: &["N"],
        help: "N ranks on each socket, like -map-by ppr:N:socket",
        apply: |options, values| {
            let per_object = Some(count(&values[0])?);
            options.job.placement.map = Some(Map { unit: Unit::Package, per_object, per_rank: None });
            Ok(())
        },
    },
    Flag {
        names: &["hosts", "host", "H"],
        values: &["HOST,…"],
        help: "hosts of the program that follows, with optional :SLOTS; programs without any use those of all",
        apply: |options, values| {
            options.app.hosts.extend(hosts::parse_list(text(&values[0])?).map_err(|why| match why {
                Malformed::Form => Complaint::Expected("a list such as a,b:4,[fd00::7]:2"),
                Malformed::Name(name) => {
                    Complaint::Other(UsageError::BadHost { source: "-hosts".to_owned(), name })
                }
            })?);
            Ok(())
        },
    },
    Flag {
        names: &["hostfile", "f", "machinefile", "default-hostfile"],
        values: &["FILE"],
        help: "file with one host per line: `name slots=4`, `name:4`, # comments",
        apply: |options, values| {
            options.job.hosts.extend(hosts::read_file(Path::new(&values[0]))?);
            Ok(())
        },
    },
    Flag {
        names: &["configfile", "app"],
        values: &["FILE"],
        help: "read the programs from FILE, one section of the command line per line",
        apply: |options, values| {
            options.job.config_file = Some(PathBuf::from(&values[0]));
            Ok(())
        },
    },
    Flag {
        names: &["usize"],
        values: &["N"],
        help: "value of MPI_UNIVERSE_SIZE: a number, or INFINITE for none; else the slots or processors of the hosts",
        apply: |options, values| {
            options.job.universe = match text(&values[0])? {
                "INFINITE" | "infinite" => Some(Universe::Unset),
                "SYSTEM" | "system" => None,
                _ => Some(Universe::Size(count(&values[0])?)),
            };
            Ok(())
        },
    },
    Flag {
        names: &["soft"],
        values: &["SET"],
        help: "acceptable numbers of ranks (MPI-5.0 section 11.5); -n decides, the program can ask for it",
        apply: |options, values| {
            options.app.info.push(("soft".to_owned(), text(&values[0])?.to_owned()));
            Ok(())
        },
    },
    Flag {
        names: &["arch"],
        values: &["NAME"],
        help: "processor architecture wanted; an error if this host has another",
        apply: |options, values| {
            let name = text(&values[0])?;
            let own = std::env::consts::ARCH;
            if name != own && name.replace('-', "_") != own {
                return Err(Complaint::Expected("the architecture of this host (see `uname -m`)"));
            }
            options.app.info.push(("arch".to_owned(), name.to_owned()));
            Ok(())
        },
    },
    Flag {
        names: &["file"],
        values: &["NAME"],
        help: "additional information for the program, under the key `file` of MPI_INFO_ENV",
        apply: |options, values| {
            options.app.info.push(("file".to_owned(), text(&values[0])?.to_owned()));
            Ok(())
        },
    },
];
