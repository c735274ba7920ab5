//! Control of the job and of mpiexec itself.

use std::time::Duration;

use rte::spec::Verbosity;

use super::{Complaint, Flag, text};
use crate::options::{JobOptions, Show};

/// Kernels probe once a second.
const LEAST_SILENCE: Duration = Duration::from_secs(1);

pub const FLAGS: &[Flag] = &[
    Flag {
        names: &["timeout"],
        values: &["SECONDS"],
        help: "end the job after this time with exit code 124",
        apply: |options, values| {
            options.job.timeout = Some(seconds(text(&values[0])?)?);
            Ok(())
        },
    },
    Flag {
        names: &["host-silence"],
        values: &["SECONDS"],
        help: "end the job after this time without an answer of a host (default 4.2)",
        apply: |options, values| {
            let silence = seconds(text(&values[0])?)?;
            if silence < LEAST_SILENCE {
                return Err(Complaint::Expected("a second or more"));
            }
            options.job.host_silence = Some(silence);
            Ok(())
        },
    },
    Flag {
        names: &["deadlock"],
        values: &["WHAT"],
        help: "ranks that wait for each other for good: end the job with exit code 125 (default), report, or off",
        apply: |options, values| {
            let word = text(&values[0])?;
            if !["end", "report", "off"].contains(&word) {
                return Err(Complaint::Expected("end, report, or off"));
            }
            options.job.parameters.push(("mpi_deadlock".to_owned(), word.to_owned()));
            Ok(())
        },
    },
    Flag {
        names: &["get-stack-traces"],
        values: &[],
        help: "print the call stack of each rank when the timeout strikes (gdb, eu-stack, or the kernel's view)",
        apply: |options, _| {
            options.job.stack_traces = true;
            Ok(())
        },
    },
    Flag {
        names: &["stacks-on-crash"],
        values: &[],
        help: "print the call stack of a rank that crashes; no debugger can attach to the ranks then",
        apply: |options, _| {
            options.job.stacks_on_crash = true;
            Ok(())
        },
    },
    Flag {
        names: &["report"],
        values: &[],
        help: "print which transport carries messages between which ranks, and why",
        apply: |options, _| {
            options.job.parameters.push(("mpi_report".to_owned(), "true".to_owned()));
            Ok(())
        },
    },
    Flag {
        names: &["disable-auto-cleanup"],
        values: &[],
        help: "let the others go on when one rank fails",
        apply: |options, _| {
            options.job.cleanup = false;
            Ok(())
        },
    },
    Flag {
        names: &["with-ft"],
        values: &["KIND"],
        help: "ulfm or mpi: the job goes on when ranks fail, and the others get MPIX_ERR_PROC_FAILED; no: it ends",
        apply: |options, values| match text(&values[0])? {
            "ulfm" | "mpi" | "yes" | "true" | "1" => {
                survive(&mut options.job);
                Ok(())
            }
            "no" | "none" | "false" | "0" => Ok(()),
            _ => Err(Complaint::Expected("ulfm, mpi, or no")),
        },
    },
    Flag {
        names: &["enable-recovery", "recoverable", "continuous"],
        values: &[],
        help: "as -with-ft ulfm",
        apply: |options, _| {
            survive(&mut options.job);
            Ok(())
        },
    },
    Flag {
        names: &["print-all-exitcodes"],
        values: &[],
        help: "print the exit code of every rank at the end",
        apply: |options, _| {
            options.job.print_exit_codes = true;
            Ok(())
        },
    },
    Flag {
        names: &["v", "verbose"],
        values: &[],
        help: "tell each step",
        apply: |options, _| {
            options.job.verbosity = Verbosity::Verbose;
            Ok(())
        },
    },
    Flag {
        names: &["q", "quiet"],
        values: &[],
        help: "tell failures only",
        apply: |options, _| {
            options.job.verbosity = Verbosity::Quiet;
            Ok(())
        },
    },
    Flag {
        names: &["V", "version", "info"],
        values: &[],
        help: "say whose mpiexec this is",
        apply: |options, _| {
            options.job.show.get_or_insert(Show::Version);
            Ok(())
        },
    },
    Flag {
        names: &["help", "h", "?"],
        values: &[],
        help: "this text",
        apply: |options, _| {
            options.job.show = Some(Show::Help);
            Ok(())
        },
    },
    Flag {
        names: &["allow-run-as-root"],
        values: &[],
        help: "accepted: root may run jobs anyway",
        apply: |_, _| Ok(()),
    },
    Flag {
        names: &["launcher", "bootstrap"],
        values: &["NAME"],
        help: "how to start daemons on other hosts: ssh, rsh, or a program",
        apply: |options, values| {
            options.job.launcher.name = Some(text(&values[0])?.to_owned());
            Ok(())
        },
    },
    Flag {
        names: &["launcher-exec", "bootstrap-exec"],
        values: &["PROGRAM"],
        help: "the same, with its first arguments: `PROGRAM HOST mpiexec -daemon` is run",
        apply: |options, values| {
            options.job.launcher.program = Some(text(&values[0])?.to_owned());
            Ok(())
        },
    },
    Flag {
        names: &["listen"],
        values: &["PORT"],
        help: "wait for workers (`alhena worker HOST:PORT`) instead of starting daemons; 0 is any port",
        apply: |options, values| {
            let port = text(&values[0])?.parse().map_err(|_| Complaint::Expected("a port, or 0 for any"))?;
            options.job.listen = Some(port);
            Ok(())
        },
    },
    Flag {
        names: &["token-file"],
        values: &["FILE"],
        help: "the secret that workers show, read there or written there with mode 0600",
        apply: |options, values| {
            options.job.token_file = Some(values[0].clone().into());
            Ok(())
        },
    },
    Flag {
        names: &["rmk"],
        values: &["NAME"],
        help: "accepted: resource managers are found by their variables",
        apply: |_, _| Ok(()),
    },
    Flag {
        names: &["iface"],
        values: &["NAME"],
        help: "network interface between hosts, like -mca btl_tcp_if_include NAME",
        apply: |options, values| {
            let name = text(&values[0])?.to_owned();
            options.job.parameters.push(("btl_tcp_if_include".to_owned(), name));
            Ok(())
        },
    },
];

/// The job goes on when ranks fail.
fn survive(job: &mut JobOptions) {
    job.survives = true;
    job.parameters.push(("mpi_ft_enable".to_owned(), "true".to_owned()));
}

/// A time in seconds, or as `[[h:]m:]s`.
pub fn seconds(value: &str) -> Result<Duration, Complaint> {
    let expected = || Complaint::Expected("a time in seconds");
    let mut total = 0.0;
    for part in value.split(':') {
        let part: f64 = part.parse().map_err(|_| expected())?;
        total = total * 60.0 + part;
    }
    let limit = f64::from(u32::MAX);
    if total > 0.0 && total <= limit { Ok(Duration::from_secs_f64(total)) } else { Err(expected()) }
}
