//! `alhena jobs`: the running jobs of the user on this host.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use live::Connection;
use observe::State;
use serde::Serialize;

/// Lists the running jobs of this user on this host
#[derive(clap::Args)]
pub struct Arguments {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// A job, as JSON has it.
#[derive(Serialize)]
struct Job {
    job: i32,
    host: String,
    ranks: u32,
    ranks_here: usize,
    hosts: u32,
    began: u64,
    state: &'static str,
    programs: Vec<String>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let jobs: Vec<Job> = live::jobs().iter().map(job).collect();
    let mut out = std::io::stdout();
    if arguments.json {
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&jobs)?)?);
    }
    if jobs.is_empty() {
        return Ok(writeln!(out, "no job of this user runs on this host")?);
    }
    writeln!(out, "{:>8}  {:>6}  {:>5}  {:>9}  {:<9}  PROGRAM", "JOB", "RANKS", "HOSTS", "TIME", "STATE")?;
    for job in jobs {
        let ranks = match job.ranks_here == job.ranks as usize {
            true => job.ranks.to_string(),
            false => format!("{}/{}", job.ranks_here, job.ranks),
        };
        let (time, programs) = (since(job.began), job.programs.join(" : "));
        writeln!(
            out,
            "{:>8}  {ranks:>6}  {:>5}  {time:>9}  {:<9}  {programs}",
            job.job, job.hosts, job.state
        )?;
    }
    Ok(())
}

fn job(connection: &Connection) -> Job {
    let it = &connection.description;
    Job {
        job: it.number,
        host: it.host.clone(),
        ranks: it.size,
        ranks_here: it.ranks.len(),
        hosts: it.hosts,
        began: it.began,
        state: state(connection),
        programs: it.programs().into_iter().map(str::to_owned).collect(),
    }
}

/// How far its ranks have come.
fn state(connection: &Connection) -> &'static str {
    let states: Vec<State> = connection.sections().map(|section| section.state()).collect();
    if states.contains(&State::Running) {
        "runs"
    } else if states.contains(&State::Finalized) {
        "finalized"
    } else {
        "no MPI yet"
    }
}

/// The time since a second of 1970: `2:03:04`.
pub fn since(began: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let seconds = now.saturating_sub(began);
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}
