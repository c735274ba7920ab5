//! `alhena timeline`: when each rank called what, which messages went where, and who waited for whom. `mpiexec -trace=FILE`
//! runs it after the job.
//!
//! ```text
//!   mpiexec -trace=FILE ── memory ──► collect ──┐ joins messages
//!                                               ├─ Timeline ─ waits ──► FILE       Perfetto's protobuf     perfetto
//!   alhena sim … --trace FILE ─────► simulated ─┘             finds     FILE.json  Trace Event JSON        chrome
//!                                                                       FILE.svg   a picture               svg
//! ```

mod chrome;
mod clocks;
mod collect;
mod perfetto;
mod simulated;
mod svg;
mod waits;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use crate::numbers;
use crate::tables::Left;

/// Writes the timeline of a job; mpiexec -trace=FILE runs it
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    left: Left,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("reading the ranks' calls: not possible\n  seen: {path}: {seen}\n  next: run the job again with mpiexec -trace=FILE", path = .path.display())]
    Read { path: PathBuf, seen: String },
    #[error("writing the timeline: not possible\n  seen: {path}: {seen}\n  next: name a file that can be written: mpiexec -trace=FILE", path = .path.display())]
    Write { path: PathBuf, seen: String },
    #[error(
        "writing the timeline: not possible\n  seen: no rank called an MPI function through libmpi_abi.so.1\n  next: link the \
         program dynamically with mpicc; see `ldd` on it"
    )]
    NoRank,
    #[error(
        "writing the timeline: not possible\n  seen: no job with ranks of a message layer was simulated\n  next: alhena sim \
         halo --ranks 64 --trace FILE"
    )]
    NoJob,
}

/// A job.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Its ranks, in their order.
    pub ranks: Vec<Rank>,
    /// Messages of which both ends are known.
    pub messages: Vec<Message>,
}

/// A rank.
#[derive(Debug, Default)]
pub struct Rank {
    /// Its number in the job.
    pub rank: u32,
    /// Its process; none has a simulated one.
    pub pid: Option<i32>,
    /// Its host.
    pub host: String,
    /// Nanoseconds by which its clock may differ from rank 0's; `None`: that is not known.
    pub uncertainty: Option<u64>,
    /// Its calls, ordered by thread and beginning, the outer one first.
    pub calls: Vec<Call>,
    /// What went on between calls.
    pub requests: Vec<Request>,
    /// Events before the first one that was kept.
    pub dropped: u64,
}

/// A call, with times in nanoseconds of rank 0's clock.
#[derive(Debug, Default)]
pub struct Call {
    /// The thread.
    pub thread: u16,
    /// The function.
    pub name: Cow<'static, str>,
    /// Where it was called.
    pub place: String,
    /// From its beginning to its end.
    pub time: (u64, u64),
    /// Nanoseconds for which it has waited.
    pub waited: u64,
    /// Of these, nanoseconds until the sender of its message had called.
    pub late_sender: u64,
    /// Of these, nanoseconds until the receiver of its message had called.
    pub late_receiver: u64,
    /// Of these, nanoseconds until the last process had called the collective.
    pub late_others: u64,
    /// Of a collective: its communicator, and which one it is there.
    pub round: Option<(u64, u64)>,
    /// The rank has not come back from it.
    pub is_open: bool,
}

/// An operation that goes on between calls.
#[derive(Debug)]
pub struct Request {
    /// The function that began it.
    pub name: Cow<'static, str>,
    /// Where it was called.
    pub place: String,
    /// From its beginning to its completion.
    pub time: (u64, u64),
}

/// A message.
#[derive(Debug)]
pub struct Message {
    /// Places in [`Timeline::ranks`] and in the rank's calls: who has sent it by which call.
    pub from: (usize, usize),
    /// The same of the call that had received it when it ended.
    pub to: (usize, usize),
    /// The sender's call that had completed it, if that is known.
    pub completed_by: Option<(usize, usize)>,
    /// When the receiver had asked for it.
    pub posted: u64,
    /// Its tag.
    pub tag: i32,
    /// Its bytes.
    pub bytes: u64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let (Some(memory), Some(output)) = (&arguments.left.memory, &arguments.left.output) else {
        return Err(
            "writing the timeline: not possible\n  seen: no job\n  next: mpiexec -trace=FILE -n 4 ./program"
                .into(),
        );
    };
    let timeline = collect::collect(memory, arguments.left.ranks)?;
    save(timeline, output, "mpiexec")
}

/// Writes the timeline of the last job that was simulated.
pub fn save_simulated(jobs: sim::Jobs, output: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let (jobs, timeline) = (jobs.count, simulated::timeline(jobs));
    if timeline.ranks.is_empty() {
        return Err(Error::NoJob.into());
    }
    save(timeline, output, "alhena")?;
    if jobs > 1 {
        eprintln!("  of the last one of {jobs} jobs: give one size for another");
    }
    Ok(())
}

fn save(mut timeline: Timeline, output: &Path, tool: &str) -> Result<(), Box<dyn std::error::Error>> {
    waits::find(&mut timeline);
    let bytes = match output.extension().and_then(|extension| extension.to_str()) {
        Some("json") => chrome::write(&timeline).into_bytes(),
        Some("svg") => svg::write(&timeline).into_bytes(),
        _ => perfetto::write(&timeline),
    };
    write(output, &bytes)?;
    eprint!("{tool}: timeline: {}: {}", output.display(), summary(&timeline));
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Write { path: path.to_owned(), seen: error.to_string() };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, bytes).map_err(failed)
}

/// What a person wants to know first.
fn summary(timeline: &Timeline) -> String {
    let calls = || timeline.ranks.iter().flat_map(|rank| &rank.calls);
    let sum = |of: fn(&Call) -> u64| numbers::time(calls().map(of).sum());
    let mut text = format!(
        "{} calls, {} messages of {} ranks\n  waited {}: for late senders {}, late receivers {}, others in collectives {}\n",
        calls().count(),
        timeline.messages.len(),
        timeline.ranks.len(),
        sum(|call| call.waited),
        sum(|call| call.late_sender),
        sum(|call| call.late_receiver),
        sum(|call| call.late_others),
    );
    let dropped: u64 = timeline.ranks.iter().map(|rank| rank.dropped).sum();
    if dropped > 0 {
        text += &match timeline.ranks.iter().all(|rank| rank.pid.is_some()) {
            true => format!(
                "  {dropped} earlier events made room for later ones: mpiexec -trace-events N keeps more\n"
            ),
            false => format!("  {dropped} later calls found no room: simulate fewer ranks\n"),
        };
    }
    let backwards = timeline.messages.iter().filter(|message| timeline.is_backwards(message)).count();
    if backwards > 0 {
        text += &format!(
            "  {backwards} messages arrive before they are sent: the clocks of hosts differ by more than is known\n"
        );
    }
    text
}

impl Timeline {
    fn call(&self, (rank, call): (usize, usize)) -> &Call {
        &self.ranks[rank].calls[call]
    }

    /// Whether a message was received before it was sent.
    fn is_backwards(&self, message: &Message) -> bool {
        self.call(message.to).time.1 < self.call(message.from).time.0
    }
}

impl Call {
    /// The numbers of a call, without those that are 0.
    pub fn facts(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("waited_ns", self.waited),
            ("late_sender_ns", self.late_sender),
            ("late_receiver_ns", self.late_receiver),
            ("late_others_ns", self.late_others),
            ("not_ended", self.is_open.into()),
        ];
        all.into_iter().filter(|(_, value)| *value != 0).collect()
    }
}

impl Rank {
    /// The threads that called.
    pub fn threads(&self) -> Vec<u16> {
        let mut all: Vec<u16> = self.calls.iter().map(|call| call.thread).collect();
        all.dedup();
        all
    }

    /// Which events have found no room: a live rank keeps the last ones, a simulated one the first.
    fn dropped_ones(&self) -> &'static str {
        if self.pid.is_some() { "earlier" } else { "later" }
    }

    /// What else is known: host, process, how far its clock may be wrong, and what is not there.
    pub fn labels(&self) -> String {
        let mut text = self.host.clone();
        if let Some(pid) = self.pid {
            text += &format!(", process {pid}");
        }
        match self.uncertainty {
            Some(0) => {}
            Some(uncertainty) => text += &format!(", clock within {}", numbers::time(uncertainty)),
            None => text += ", clock not compared",
        }
        if self.dropped > 0 {
            text += &format!(", {} {} events dropped", self.dropped, self.dropped_ones());
        }
        text
    }
}
