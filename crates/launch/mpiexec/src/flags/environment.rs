//! Environment and working directory of the ranks; parameters.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use rte::spec::Inherit;

use super::{Complaint, Flag, list, text};

/// Values of `-initial-errhandler` (MPI-5.0 section 11.5).
const ERROR_HANDLERS: [&str; 3] = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];

pub const FLAGS: &[Flag] = &[
    Flag {
        names: &["x"],
        values: &["NAME[=VALUE]"],
        help: "set a variable, or pass mpiexec's own on",
        apply: |options, values| {
            let (name, value) = match text(&values[0])?.split_once('=') {
                Some((name, value)) => (OsString::from(name), OsString::from(value)),
                None => match env::var_os(&values[0]) {
                    Some(value) => (values[0].clone(), value),
                    None => return Err(Complaint::Expected("NAME=VALUE, or a variable that is set")),
                },
            };
            options.app.set.push((name, value));
            Ok(())
        },
    },
    Flag {
        names: &["env"],
        values: &["NAME", "VALUE"],
        help: "set a variable for the program that follows",
        apply: |options, values| {
            options.app.set.push((values[0].clone(), values[1].clone()));
            Ok(())
        },
    },
    Flag {
        names: &["genv"],
        values: &["NAME", "VALUE"],
        help: "set a variable for all programs",
        apply: |options, values| {
            options.job.set.push((values[0].clone(), values[1].clone()));
            Ok(())
        },
    },
    Flag {
        names: &["envlist"],
        values: &["NAME,…"],
        help: "pass only these variables on",
        apply: |options, values| {
            options.app.inherit = Some(Inherit::Only(list(&values[0])?));
            Ok(())
        },
    },
    Flag {
        names: &["genvlist"],
        values: &["NAME,…"],
        help: "pass only these variables on, for all programs",
        apply: |options, values| {
            options.job.inherit = Some(Inherit::Only(list(&values[0])?));
            Ok(())
        },
    },
    Flag {
        names: &["envall"],
        values: &[],
        help: "pass all variables on (the default on one host)",
        apply: |options, _| {
            options.app.inherit = Some(Inherit::All);
            Ok(())
        },
    },
    Flag {
        names: &["genvall"],
        values: &[],
        help: "pass all variables on, for all programs (the default on one host)",
        apply: |options, _| {
            options.job.inherit = Some(Inherit::All);
            Ok(())
        },
    },
    Flag {
        names: &["envnone"],
        values: &[],
        help: "pass no variable on",
        apply: |options, _| {
            options.app.inherit = Some(Inherit::None);
            Ok(())
        },
    },
    Flag {
        names: &["genvnone"],
        values: &[],
        help: "pass no variable on, for all programs",
        apply: |options, _| {
            options.job.inherit = Some(Inherit::None);
            Ok(())
        },
    },
    Flag {
        names: &["wdir", "wd"],
        values: &["DIR"],
        help: "working directory of the ranks",
        apply: |options, values| {
            options.app.directory = Some(PathBuf::from(&values[0]));
            Ok(())
        },
    },
    Flag {
        names: &["path"],
        values: &["DIR:…"],
        help: "directories to search for the program before PATH",
        apply: |options, values| {
            options.app.search_path = Some(values[0].clone());
            Ok(())
        },
    },
    Flag {
        names: &["prefix"],
        values: &["DIR"],
        help: "put DIR/bin before PATH and DIR/lib before LD_LIBRARY_PATH of the ranks",
        apply: |options, values| {
            options.app.prefix = Some(PathBuf::from(&values[0]));
            Ok(())
        },
    },
    Flag {
        names: &["mca", "gmca", "prtemca", "pmixmca"],
        values: &["NAME", "VALUE"],
        help: "set a parameter of the library (`alhena info` lists them)",
        apply: |options, values| {
            options.job.parameters.push((text(&values[0])?.to_owned(), text(&values[1])?.to_owned()));
            Ok(())
        },
    },
    Flag {
        names: &["memory-alloc-kinds"],
        values: &["KIND[,KIND…]"],
        help: "kinds of memory that the program asks for, such as mpi:alloc_mem",
        apply: |options, values| {
            options.app.info.push(("mpi_memory_alloc_kinds".to_owned(), text(&values[0])?.to_owned()));
            Ok(())
        },
    },
    Flag {
        names: &["initial-errhandler"],
        values: &["NAME"],
        help: "error handler to begin with: mpi_errors_are_fatal, mpi_errors_abort, mpi_errors_return",
        apply: |options, values| {
            let name = text(&values[0])?.to_ascii_lowercase();
            if !ERROR_HANDLERS.contains(&name.as_str()) {
                return Err(Complaint::Expected(
                    "mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return",
                ));
            }
            options.job.parameters.push(("mpi_initial_errhandler".to_owned(), name));
            Ok(())
        },
    },
];
