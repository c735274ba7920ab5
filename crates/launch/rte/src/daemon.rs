//! A daemon: what mpiexec starts on each host of a job that has several.
//!
//! ```text
//!   mpiexec ── launcher (ssh) ── mpiexec -daemon ── proxy ── ranks
//!      │                             │                │
//!      │   standard input: secret, addresses, order ►─┘ │
//!      └──────────── connection, made by the daemon ────┘ and kept by the proxy
//! ```
//!
//! The launcher runs one fixed command without arguments that a shell might read; all else comes by standard input, which
//! neither `ps` nor the limits of command lines see.

use std::io::{self, BufRead, Read};
use std::net::ToSocketAddrs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use connect::{Role, Secret, Who};

use crate::call;
use crate::link::Link;
use crate::messages::{Down, Order, Up};
use crate::prepare::Prepared;
use crate::spec::{Host, JobSpec, Launcher, Parent};
use crate::summons::{self, LONGEST_LINE, UNREACHED};
use crate::tables;
use crate::{Error, supervisor};

/// Runs the part of a job that mpiexec orders by standard input. `segment_bytes` gives the size in bytes of a node's
/// shared memory for so many ranks.
///
/// Must be called from a process with a single thread.
pub fn daemon(segment_bytes: pmi::SegmentBytes) -> ExitCode {
    let outcome = summons::read(io::stdin().lock()).and_then(|summons| {
        let secret = Secret::parse(&summons.secret).ok_or("the order has no secret")?;
        let addresses: Option<Vec<_>> = summons.addresses.iter().map(|text| text.parse().ok()).collect();
        let addresses = addresses.ok_or("the order's addresses make no sense")?;
        let who = Who { role: Role::Daemon, job: summons.order.job, from: summons.host, to: 0 };
        let link = call::call(&addresses, secret, who).map_err(|why| format!("{UNREACHED}: {why}"))?;
        Ok((link, summons.host, summons.order))
    });
    match outcome {
        Ok((link, host, order)) => serve(link, host, order, segment_bytes),
        Err(why) => {
            // The launcher brings this to mpiexec, which shows it.
            eprintln!("mpiexec -daemon: {why}");
            ExitCode::FAILURE
        }
    }
}

/// How long a worker looks for mpiexec unless the user sets otherwise: mpiexec may start later, its name resolve late.
pub const SEARCH: Duration = Duration::from_secs(60);
/// What is reported of an owner of a port that does not know the secret.
const OTHERS: &str = "does not know the job's secret";
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs the part of a job that the mpiexec at `address` (`HOST:PORT`) gives to this host, and looks for it for as long as
/// `search` is. The job's secret is in `token_file`, or comes by standard input.
///
/// Must be called from a process with a single thread.
pub fn worker(
    address: &str,
    search: Duration,
    token_file: Option<&Path>,
    segment_bytes: pmi::SegmentBytes,
) -> ExitCode {
    let secret = match token_file {
        Some(path) => pmi::token::read(path),
        None => {
            let mut text = String::new();
            let read = io::stdin().lock().take(LONGEST_LINE).read_line(&mut text);
            read.map_err(|error| error.to_string())
                .and_then(|_| Secret::parse(&text).ok_or_else(|| "standard input holds no token".to_owned()))
        }
    };
    let secret = match secret {
        Ok(secret) => secret,
        Err(why) => {
            let next = match token_file {
                Some(path) => format!(
                    "bring the file here that `mpiexec -listen` has written, as yours and with mode 0600; run `ls -l {}`",
                    path.display()
                ),
                None => "name the file of the token, --token-file FILE, or give its text by standard input"
                    .to_owned(),
            };
            eprintln!("alhena worker: reading the token: not possible\n  seen: {why}\n  next: {next}");
            return ExitCode::FAILURE;
        }
    };
    if address.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
        eprintln!(
            "alhena worker: reading the address of mpiexec: not possible\n  seen: {address}\n  \
             next: write HOST:PORT as `mpiexec -listen` prints it"
        );
        return ExitCode::FAILURE;
    }
    match find_mpiexec(address, search, secret) {
        Ok((link, host, order)) => serve(link, host, order, segment_bytes),
        Err(why) => {
            eprintln!(
                "alhena worker: joining the job at {address}: not possible\n  seen: {why}\n  next: see whether \
                 `mpiexec -listen` runs there, whether this host reaches its port, and whether both have the same token"
            );
            ExitCode::FAILURE
        }
    }
}

fn find_mpiexec(address: &str, search: Duration, secret: Secret) -> Result<(Link, u32, Order), String> {
    let end = Instant::now() + search;
    let mut has_met_others = false;
    loop {
        // The name is looked up anew each time.
        let found = address.to_socket_addrs().map_err(|error| error.to_string());
        let called = found.and_then(|found| {
            let who = Who { role: Role::Worker, job: 0, from: 0, to: 0 };
            call::call(&found.collect::<Vec<_>>(), secret, who)
        });
        match called {
            Ok(mut link) => {
                return match link.wait() {
                    Some(Down::Order(host, order)) => Ok((link, host, *order)),
                    Some(_) => Err("mpiexec has sent no order".to_owned()),
                    None => Err(format!("mpiexec needs no further worker: {}", link.broken().unwrap_or(""))),
                };
            }
            Err(why) if Instant::now() + PAUSE > end => return Err(why),
            Err(why) => {
                // A stranger may have taken the port before mpiexec does; or this is the wrong token, and a person
                // should know that now.
                if why.contains(OTHERS) && !std::mem::replace(&mut has_met_others, true) {
                    eprintln!(
                        "alhena worker: {why}\n  next: this worker looks for mpiexec for {} s more; see whether both \
                         have the same token, and which process listens there",
                        end.saturating_duration_since(Instant::now()).as_secs()
                    );
                }
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Runs the ranks of host number `host`.
fn serve(mut link: Link, host: u32, order: Order, segment_bytes: pmi::SegmentBytes) -> ExitCode {
    let outputs = order.outputs.clone();
    link.allow_silence(order.host_silence);
    let prepared = match prepare(host, order, segment_bytes) {
        Ok(prepared) => prepared,
        Err(error) => {
            link.send(&Up::Refused(error.exit_code(), error.to_string()));
            link.drain();
            // Until mpiexec has read it.
            while link.wait::<Down>().is_some() {}
            return ExitCode::FAILURE;
        }
    };
    link.send(&Up::Ready);
    link.drain();
    loop {
        match link.wait() {
            Some(Down::Start) => break,
            Some(Down::End | Down::Signal(_)) | None => return ExitCode::FAILURE,
            Some(_) => {}
        }
    }
    match supervisor::run_with(prepared, Some((link, outputs))) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mpiexec -daemon: {error}");
            ExitCode::FAILURE
        }
    }
}

fn prepare(host: u32, order: Order, segment_bytes: pmi::SegmentBytes) -> Result<Prepared, Error> {
    enter(&order.directory)?;
    for (name, value) in &order.variables {
        // SAFETY: this process has one thread, and nothing else reads the environment meanwhile.
        unsafe { std::env::set_var(name, value) };
    }
    let size = order.apps.iter().map(|app| app.count as usize).sum();
    let node_of = pmi::mapping::parse(&order.mapping, size).ok_or_else(|| Error::System {
        step: "reading the order of mpiexec",
        source: io::Error::other("its mapping makes no sense"),
    })?;
    let name = order.hosts.get(host as usize).map_or_else(String::new, ToString::to_string);
    let spec = JobSpec {
        apps: order.apps,
        segment_bytes,
        tables: tables::here(&order.tables, size)?,
        universe_size: order.universe_size,
        placement: order.placement,
        report_bindings: order.report_bindings,
        display_map: false,
        output: order.output,
        stdin: order.stdin,
        timeout: None,
        host_silence: order.host_silence,
        stack_traces: order.stack_traces,
        stacks_on_crash: order.stacks_on_crash,
        cleanup: order.cleanup,
        survives: order.survives,
        print_exit_codes: false,
        verbosity: order.verbosity,
        hosts: order.hosts.into_iter().map(|name| Host { name, local: false }).collect(),
        host_of: node_of.clone(),
        allocated_by: None,
        launcher: Launcher { words: order.launcher, ..Launcher::default() },
        listen: None,
        parent: order.parent.map(|port| Parent { port, spawner: None }),
    };
    Prepared::on_host(spec, order.job, node_of, host, name)
}

/// Makes `directory` the working directory.
fn enter(directory: &Path) -> Result<(), Error> {
    std::env::set_current_dir(directory)
        .map_err(|source| Error::Directory { path: directory.to_owned(), source })
}
