//! `alhena doctor`: what is wrong with a host, or between hosts, before a job finds out.
//!
//! Alone it examines this host. With `-n`, `--hosts` or `--hostfile` it has `mpiexec` start itself as the ranks of a
//! job: the first rank of each host examines that host, and all of them try each other's addresses.

mod finding;
mod limits;
mod member;
mod memory;
mod network;
mod pairing;
mod wheels;

use std::error::Error;
use std::io::{self, Write};
use std::process::{Command, Output};

use finding::{Finding, Report, Verdict};

/// What a member prints before its report.
const MARK: &str = "ALHENA-DOCTOR ";

/// Where to look, and how to say it.
#[derive(clap::Args)]
pub struct Arguments {
    /// Ranks to start; one for each host by default
    #[arg(short, value_name = "RANKS")]
    n: Option<u32>,
    /// Hosts to examine, separated by commas, as mpiexec takes them
    #[arg(long, value_name = "HOST,…")]
    hosts: Option<String>,
    /// File with the hosts
    #[arg(long, value_name = "FILE")]
    hostfile: Option<String>,
    /// The report as JSON
    #[arg(long)]
    json: bool,
    /// A rank of a job that examines its host
    #[arg(long, hide = true)]
    member: bool,
    /// Reads a number of another process: process id and address
    #[arg(long, hide = true, num_args = 2)]
    read: Option<Vec<u64>>,
}

/// Examines what was asked for. Fails where a job would.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    if let Some(words) = &arguments.read {
        return memory::read_for_parent(words[0] as i32, words[1]);
    }
    if arguments.member {
        return member::run();
    }
    let is_job = arguments.n.is_some() || arguments.hosts.is_some() || arguments.hostfile.is_some();
    let reports = if is_job { everywhere(arguments)? } else { vec![own_report()] };
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&reports)? + "\n",
        false => reports.iter().map(Report::text).collect(),
    };
    io::stdout().write_all(text.as_bytes())?;
    match reports.iter().map(Report::verdict).max() {
        Some(Verdict::Problem) => Err("alhena: jobs will fail here; see what is called PROBLEM above".into()),
        _ => Ok(()),
    }
}

/// What this host is like.
fn own_report() -> Report {
    let checks = [memory::findings, limits::findings, network::findings, pairing::findings, wheels::findings];
    Report { host: host_name(), findings: checks.iter().flat_map(|check| check()).collect() }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Has mpiexec start a member on each host.
fn everywhere(arguments: &Arguments) -> Result<Vec<Report>, Box<dyn Error>> {
    let output = mpiexec(arguments.n, arguments.hosts.as_deref(), arguments.hostfile.as_deref())?;
    let mut reports = reports_in(&output);
    if !output.status.success() || reports.is_empty() {
        reports.push(launch_report(arguments, &output)?);
    }
    Ok(reports)
}

fn mpiexec(n: Option<u32>, hosts: Option<&str>, hostfile: Option<&str>) -> Result<Output, Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let program = own.with_file_name("mpiexec");
    let mut command = Command::new(&program);
    for (flag, value) in [
        ("-n", n.map(|n| n.to_string())),
        ("-hosts", hosts.map(str::to_owned)),
        ("-hostfile", hostfile.map(str::to_owned)),
    ] {
        if let Some(value) = value {
            command.arg(flag).arg(value);
        }
    }
    if n.is_none() {
        command.args(["-ppn", "1"]);
    }
    command
        .args(["-bind-to", "none", "-oversubscribe", "-timeout", "120"])
        .arg(&own)
        .args(["doctor", "--member"]);
    command.output().map_err(|error| format!("alhena: starting {}: {error}", program.display()).into())
}

fn reports_in(output: &Output) -> Vec<Report> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix(MARK)?).ok());
    let mut reports: Vec<Report> = lines.collect();
    reports.sort_by(|a, b| a.host.cmp(&b.host));
    reports
}

/// Why the job did not run. mpiexec names the first host only, so each other one is tried by itself.
fn launch_report(arguments: &Arguments, output: &Output) -> Result<Report, Box<dyn Error>> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let first = text.lines().next().unwrap_or_default();
    let mut findings = Vec::new();
    let mut is_named = false;
    let mut hosts: Vec<&str> =
        arguments.hosts.as_deref().unwrap_or("").split(',').map(without_slots).collect();
    hosts.retain(|host| !host.is_empty());
    hosts.sort_unstable();
    hosts.dedup();
    for name in hosts {
        if first.contains(&format!("host {name}: ")) {
            is_named = true;
            findings.push(launch_finding(name, output));
            continue;
        }
        let output = mpiexec(Some(1), Some(name), None)?;
        findings.push(match output.status.success() {
            true => Finding::ok("launch", format!("{name} runs ranks when it is alone")),
            false => launch_finding(name, &output),
        });
    }
    if !is_named {
        findings.insert(0, launch_finding("all hosts", output));
    }
    Ok(Report { host: "mpiexec".to_owned(), findings })
}

/// The name in `a:4`, `fd00::7` or `[fd00::7]:4`.
fn without_slots(host: &str) -> &str {
    match (host.split_once(']'), host.rsplit_once(':')) {
        (Some((address, _)), _) => address.trim_start_matches('['),
        (None, Some((name, _))) if !name.contains(':') => name,
        _ => host,
    }
}

fn launch_finding(who: &str, output: &Output) -> Finding {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut lines = text.lines().map(|line| line.trim().trim_start_matches("mpiexec: "));
    let what = lines.next().unwrap_or("mpiexec said nothing").to_owned();
    let rest: Vec<&str> = lines.collect();
    let part = |name| rest.iter().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim().to_owned();
    Finding::problem("launch", format!("{who}: {what}; {}", part("seen:")), part("next:"))
}
