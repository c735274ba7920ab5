//! What every topic shares: its options, running the programs in turns, and where results go.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::error::Error;
use crate::floor::Probe;
use crate::hosts::{Hosts, RAW};
use crate::interrupt::Interrupt;
use crate::modes::{Mode, PROCESSOR_TIME, View};
use crate::mpi::{Line, Mpi, processors};
use crate::progress::Progress;
use crate::results::{ModeResult, ViewResult};
use crate::rounds::{Counting, ENOUGH, Round, quiet_floor, summarise};
use crate::{diagrams, lost, prefix, table};

/// What is compared, how often, and where results go.
#[derive(Args)]
#[group(skip)]
pub struct Options {
    /// Prefixes of other MPIs to compare with
    #[arg(long, value_delimiter = ',', value_name = "PREFIX")]
    vs: Vec<PathBuf>,
    /// One more, with arguments for its launcher, all in one word: "cm=/opt/openmpi --mca pml cm"
    #[arg(long, value_name = "[LABEL=]PREFIX ARGUMENT…")]
    with: Vec<String>,
    #[command(flatten)]
    pub(crate) hosts: Hosts,
    /// The installation to measure [default: the one this program is in]
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<PathBuf>,
    /// Rounds; each runs every MPI once
    #[arg(long, default_value_t = 15)]
    rounds: u32,
    /// Rounds at most, for an operation of which too few were quiet for a verdict [default: three times --rounds, if those would be
    /// enough]
    #[arg(long, value_name = "N")]
    most_rounds: Option<u32>,
    /// Seconds spent on one size in one round
    #[arg(long, default_value_t = 0.03)]
    seconds: f64,
    /// Count noisy rounds too, and give no verdict
    #[arg(long)]
    keep_noisy: bool,
    /// Seconds after which a run is taken to hang
    #[arg(long, default_value_t = 120)]
    timeout: u64,
    /// Write all figures, with their spread, to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw STEM-latency and STEM-bandwidth, each as .svg and .png
    #[arg(long, value_name = "STEM")]
    picture: Option<PathBuf>,
    /// Folder with the measuring programs' sources [default: PREFIX/share/alhena/bench]
    #[arg(long, value_name = "DIR")]
    kernels: Option<PathBuf>,
}

/// One mode as it is to run.
#[derive(Debug)]
pub struct Subject {
    /// The program, and what its figures mean.
    pub mode: &'static Mode,
    /// Number of ranks.
    pub ranks: u32,
    /// What the mode is measured of, where it can be of several things.
    pub of: Option<String>,
    /// Options of the program beside those of the mode.
    pub options: Vec<String>,
}

/// All results, as `--json` writes them.
#[derive(Serialize)]
struct Report<'a> {
    processors: usize,
    /// Nanoseconds that a cache line takes between two cores of the quiet machine.
    floor_ns: Option<f64>,
    mpis: Vec<Contender<'a>>,
    /// The cells that are behind, where every operation was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<lost::Report>,
    results: &'a [ModeResult],
}

#[derive(Serialize)]
struct Contender<'a> {
    label: &'a str,
    version: &'a str,
    prefix: &'a Path,
}

/// This installation in one of the ways that are measured beside each other.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name in tables.
    pub label: &'static str,
    /// Arguments of the launcher.
    pub settings: &'static [&'static str],
    /// Arguments of the installation's own tool, where that runs instead of the modes' programs.
    pub tool: Option<&'static [&'static str]>,
}

impl Variant {
    /// As a user gets it.
    pub const PLAIN: Variant = Variant::new("Alhena", &[]);

    /// The modes' programs with arguments for their launcher.
    pub const fn new(label: &'static str, settings: &'static [&'static str]) -> Variant {
        Variant { label, settings, tool: None }
    }
}

/// Measures, prints the tables, writes what was asked for.
pub fn run(options: &Options, subjects: &[Subject]) -> Result<(), Error> {
    compare(options, subjects, &[Variant::PLAIN])
}

/// As [`run`], with this installation in several variants, of which the first is compared with all others.
pub fn compare(options: &Options, subjects: &[Subject], variants: &[Variant]) -> Result<(), Error> {
    let campaign = measure_variants(options, subjects, variants)?;
    campaign.print_head();
    print_tables(&campaign.labels(), &campaign.results);
    if let Some(path) = &options.json {
        campaign.write_json(path, None)?;
    }
    if let Some(stem) = &options.picture {
        diagrams::draw(stem, &campaign.labels(), &campaign.results)?;
    }
    campaign.outcome()
}

/// What was measured.
pub(crate) struct Campaign {
    mpis: Vec<Mpi>,
    /// Of the quiet machine, in nanoseconds.
    floor: Option<f64>,
    is_between_hosts: bool,
    results: Vec<ModeResult>,
    /// Why subjects have no results, or fewer rounds than were asked for.
    failures: Vec<Error>,
}

/// Measures this installation as a user gets it beside the others, and prints nothing.
pub(crate) fn measure_all(options: &Options, subjects: &[Subject]) -> Result<Campaign, Error> {
    measure_variants(options, subjects, &[Variant::PLAIN])
}

fn measure_variants(
    options: &Options,
    subjects: &[Subject],
    variants: &[Variant],
) -> Result<Campaign, Error> {
    let own = options.prefix.clone().or_else(prefix::of_this_program).ok_or(Error::NoPrefix)?;
    let kernels = options.kernels.clone().unwrap_or_else(|| prefix::kernels(&own));
    let mut mpis = Vec::new();
    for variant in variants {
        let mut mpi = Mpi::at(&own)?.with_settings(variant.label, variant.settings);
        mpi.tool = variant.tool;
        mpis.push(mpi);
    }
    for other in &options.vs {
        let other = Mpi::at(other)?.distinct_from(&mpis);
        mpis.push(other);
    }
    for text in &options.with {
        let other = Mpi::with_arguments(text)?.distinct_from(&mpis);
        mpis.push(other);
    }
    let mut mpis: Vec<Mpi> = mpis.into_iter().map(|mpi| mpi.on(&options.hosts)).collect();
    if subjects.iter().all(|subject| options.hosts.raw(subject.mode.name).is_some()) {
        mpis.push(Mpi::at(&own)?.on(&options.hosts).with_settings(RAW_LABEL, &[]));
    }

    let work = WorkFolder::new(&options.hosts.work())?;
    build(subjects, &mpis, &kernels, &work)?;
    if options.hosts.are_given() {
        mpis[0].compile(&kernels.join(format!("{RAW}.c")), &work.raw())?;
    }
    let Measured { rounds, failures } = measure(options, subjects, &mpis, &work)?;
    let floor = quiet_floor(rounds.iter().flatten());
    let counting = if options.keep_noisy { Counting::All } else { Counting::Quiet { floor } };
    let results: Vec<ModeResult> = subjects
        .iter()
        .zip(&rounds)
        .filter(|(_, rounds)| !rounds.is_empty())
        .map(|(subject, rounds)| result_of(subject, rounds, counting, &options.hosts))
        .collect();
    Ok(Campaign { mpis, floor, is_between_hosts: options.hosts.are_given(), results, failures })
}

impl Campaign {
    /// The names of the MPIs, this one's first.
    pub fn labels(&self) -> Vec<&str> {
        self.mpis.iter().map(|mpi| mpi.label.as_str()).collect()
    }

    /// The figures of each subject.
    pub fn results(&self) -> &[ModeResult] {
        &self.results
    }

    /// Whether all was measured; prints each failure but the last, which is the error.
    pub fn outcome(mut self) -> Result<(), Error> {
        let last = self.failures.pop();
        self.failures.iter().for_each(|failure| eprintln!("{failure}"));
        last.map_or(Ok(()), Err)
    }

    /// Prints what was measured where.
    pub fn print_head(&self) {
        for mpi in &self.mpis {
            println!("{}: {} in {}", mpi.label, mpi.version, mpi.prefix.display());
        }
        match self.floor {
            Some(floor) if self.is_between_hosts => {
                println!("floor: 8 bytes take {:.2} µs from host to host through sockets", floor / 1e3);
            }
            Some(floor) => println!("floor: a cache line takes {floor:.0} ns between two cores"),
            None => {}
        }
    }

    /// Writes all figures, and the cells that are behind.
    pub fn write_json(&self, path: &Path, lost: Option<lost::Report>) -> Result<(), Error> {
        fn contender(mpi: &Mpi) -> Contender<'_> {
            Contender { label: &mpi.label, version: &mpi.version, prefix: &mpi.prefix }
        }
        let (mpis, floor_ns) = (self.mpis.iter().map(contender).collect(), self.floor);
        let report = Report { processors: processors(), floor_ns, mpis, lost, results: &self.results };
        Ok(figures::write_json(path, &report)?)
    }
}

impl Options {
    /// Whether other MPIs are given.
    pub(crate) fn compares(&self) -> bool {
        !self.vs.is_empty() || !self.with.is_empty()
    }

    /// Where all figures are to be written.
    pub(crate) fn json(&self) -> Option<&Path> {
        self.json.as_deref()
    }

    /// Where pictures are to be drawn.
    pub(crate) fn picture(&self) -> Option<&Path> {
        self.picture.as_deref()
    }
}

/// What sockets are called in tables.
const RAW_LABEL: &str = "sockets";

/// Builds each program once for each MPI.
fn build(subjects: &[Subject], mpis: &[Mpi], kernels: &Path, work: &WorkFolder) -> Result<(), Error> {
    let runs_programs = |mpi: &Mpi| mpi.label != RAW_LABEL && mpi.tool.is_none();
    for (index, mpi) in mpis.iter().enumerate().filter(|(_, mpi)| runs_programs(mpi)) {
        for subject in subjects {
            let program = work.program(subject.mode, index);
            if !program.exists() {
                mpi.compile(&kernels.join(format!("{}.c", subject.mode.program)), &program)?;
            }
        }
    }
    Ok(())
}

/// What came of a campaign: the rounds that are whole, `rounds[subject][round]`.
struct Measured {
    rounds: Vec<Vec<Round>>,
    failures: Vec<Error>,
}

/// Runs every round of every subject. A subject ends with its first failure, an interrupt ends all; what was measured before is kept.
fn measure(
    options: &Options,
    subjects: &[Subject],
    mpis: &[Mpi],
    work: &WorkFolder,
) -> Result<Measured, Error> {
    let interrupt = Interrupt::catch()?;
    let limit = Duration::from_secs(options.timeout);
    let course = Course { options, mpis, work, floor: Floor::new(options, &mpis[0], work)?, limit };
    let mut progress = Progress::new(subjects.len(), options.rounds as usize * mpis.len());
    let mut measured = Measured { rounds: Vec::new(), failures: Vec::new() };
    for subject in subjects {
        progress.begin(subject);
        let mut rounds = Vec::new();
        while course.goes_on(&rounds, &measured.rounds) && !interrupt.has_come() {
            match course.round(subject, rounds.len(), &progress) {
                Ok(round) => rounds.push(round),
                // The programs of a foreground job end by the same signal.
                Err(_) if interrupt.has_come() => {}
                Err(failure) => {
                    measured.failures.push(failure);
                    break;
                }
            }
        }
        measured.rounds.push(rounds);
        if interrupt.has_come() {
            let seen =
                format!("a signal came during operation {} of {}", measured.rounds.len(), subjects.len());
            measured.failures.push(Error::Interrupted { seen });
            break;
        }
    }
    progress.end();
    Ok(measured)
}

/// What stays the same from round to round.
struct Course<'a> {
    options: &'a Options,
    mpis: &'a [Mpi],
    work: &'a WorkFolder,
    floor: Floor<'a>,
    limit: Duration,
}

impl Course<'_> {
    /// Whether an operation needs one more round, beside those of the operations before it.
    fn goes_on(&self, rounds: &[Round], others: &[Vec<Round>]) -> bool {
        let Options { rounds: least, most_rounds, keep_noisy, .. } = *self.options;
        let usual = if least as usize >= ENOUGH { least.saturating_mul(3) } else { least };
        let most = most_rounds.unwrap_or(usual);
        let has_verdict = || {
            let floor = quiet_floor(others.iter().flatten().chain(rounds));
            Counting::Quiet { floor }.has_verdict(rounds)
        };
        let made = rounds.len() as u32;
        made < least || made < most && !keep_noisy && !has_verdict()
    }

    /// Runs a subject once with each MPI.
    fn round(&self, subject: &Subject, index: usize, progress: &Progress) -> Result<Round, Error> {
        let before = self.floor.nanoseconds()?;
        let mut lines = vec![Vec::new(); self.mpis.len()];
        for turn in 0..self.mpis.len() {
            // Each MPI comes first as often as the others.
            let mpi = (index + turn) % self.mpis.len();
            progress.show(&format!("{} round {}: {}", subject.mode.name, index + 1, self.mpis[mpi].label));
            lines[mpi] = self.run(subject, mpi)?;
            progress.step();
        }
        let floor = before.zip(self.floor.nanoseconds()?).map(|(before, after)| before.max(after));
        Ok(Round { floor, lines })
    }

    /// Runs a subject with the MPI of this index.
    fn run(&self, subject: &Subject, index: usize) -> Result<Vec<Line>, Error> {
        let (mpi, mode) = (&self.mpis[index], subject.mode);
        let mut more = vec!["--seconds".to_string(), self.options.seconds.to_string()];
        more.extend(mode.options.iter().map(|option| option.to_string()));
        more.extend(subject.options.iter().cloned());
        if let Some(raw) = self.options.hosts.raw(mode.name).filter(|_| mpi.label == RAW_LABEL) {
            more.extend(raw);
            return mpi.run(subject.ranks, &self.work.raw(), &more, self.limit);
        }
        let program = mpi.tool().unwrap_or_else(|| self.work.program(mode, index));
        let words = mpi.tool.unwrap_or_default().iter().map(|word| word.to_string());
        mpi.run(subject.ranks, &program, &words.chain(more).collect::<Vec<_>>(), self.limit)
    }
}

/// What no message can be faster than, here or between hosts.
enum Floor<'a> {
    Node(Probe),
    Hosts { hosts: &'a Hosts, mpi: &'a Mpi, raw: PathBuf, limit: Duration },
}

impl Floor<'_> {
    fn new<'a>(options: &'a Options, mpi: &'a Mpi, work: &WorkFolder) -> Result<Floor<'a>, Error> {
        if !options.hosts.are_given() {
            return Ok(Floor::Node(Probe::new()?));
        }
        let limit = Duration::from_secs(options.timeout);
        Ok(Floor::Hosts { hosts: &options.hosts, mpi, raw: work.raw(), limit })
    }

    fn nanoseconds(&self) -> Result<Option<f64>, Error> {
        match self {
            Floor::Node(probe) => Ok(probe.nanoseconds()),
            Floor::Hosts { hosts, mpi, raw, limit } => hosts.floor(mpi, raw, *limit),
        }
    }
}

fn result_of(subject: &Subject, rounds: &[Round], counting: Counting, hosts: &Hosts) -> ModeResult {
    let view_result = |view: &'static View| ViewResult {
        view: view.key,
        unit: view.unit,
        more_is_better: view.more_is_better,
        summary: summarise(rounds, counting, view),
        of: view,
    };
    // Sockets are only beside modes whose programs measure it.
    let processor_time = hosts.raw(subject.mode.name).map(|_| &PROCESSOR_TIME);
    ModeResult {
        mode: subject.mode.name,
        of: subject.of.clone(),
        ranks: subject.ranks,
        views: subject.mode.views.iter().chain(processor_time).map(view_result).collect(),
        title: match &subject.of {
            Some(of) => format!("{} of {of}", subject.mode.title),
            None => subject.mode.title.to_string(),
        },
        drawn: subject.mode.drawn,
    }
}

fn print_tables(labels: &[&str], results: &[ModeResult]) {
    for result in results {
        for view in &result.views {
            println!("\n{}", table::of_view(&result.title, view.of, result.ranks, labels, &view.summary));
        }
    }
    let views = || results.iter().flat_map(|result| result.views.iter().map(move |view| (result, view)));
    let to_sum_up = || views().filter(|(_, view)| view.of.summed_up);
    let summaries = to_sum_up().map(|(result, view)| (result.title.as_str(), &view.summary));
    if let Some(line) = to_sum_up().next().and_then(|(_, view)| table::summed_up(view.of, summaries)) {
        println!("\n{line}");
    }
}

/// Where the programs are built; gone with its owner.
pub struct WorkFolder(PathBuf);

impl WorkFolder {
    /// An empty folder in this one.
    pub fn new(within: &Path) -> Result<Self, Error> {
        let path = within.join(format!("alhena-bench-{}", std::process::id()));
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(figures::NotWritten { path, error }.into())
            }
            _ => Ok(Self(path)),
        }
    }

    /// Where a mode's program for an MPI is.
    pub fn program(&self, mode: &Mode, mpi: usize) -> PathBuf {
        self.0.join(format!("{}-{mpi}", mode.program))
    }

    /// Where the program that measures sockets is.
    fn raw(&self) -> PathBuf {
        self.0.join(RAW)
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
