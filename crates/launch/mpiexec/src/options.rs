//! What the flags add up to, before it is turned into a job.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use placement::Placement;
use rte::spec::{Inherit, Output, Stdin, Verbosity};

use crate::hosts::Host;
use crate::launcher::LauncherOptions;
use crate::rankfile::RankFile;
use crate::tools::ToolOptions;

/// Everything given so far.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What holds for the whole job, wherever on the line it was given.
    pub job: JobOptions,
    /// What holds for the program that comes next.
    pub app: AppOptions,
}

/// What `MPI_UNIVERSE_SIZE` shall be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Universe {
    /// This number.
    Size(u32),
    /// Not set.
    Unset,
}

/// Wishes about the whole job.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// `-genvall`, `-genvnone`, `-genvlist`.
    pub inherit: Option<Inherit>,
    /// `-genv`, `--mca`.
    pub set: Vec<(OsString, OsString)>,
    /// Placement of the ranks.
    pub placement: Placement,
    /// `-rankfile`: hosts and processors of the ranks.
    pub rank_file: Option<RankFile>,
    /// `-report-bindings`.
    pub report_bindings: bool,
    /// `-display-map`.
    pub display_map: bool,
    /// Output of the ranks.
    pub output: Output,
    /// The ranks that read standard input.
    pub stdin: Stdin,
    /// End the job after this time.
    pub timeout: Option<Duration>,
    /// `-host-silence`.
    pub host_silence: Option<Duration>,
    /// `-get-stack-traces`.
    pub stack_traces: bool,
    /// Print the call stack of a rank that crashes.
    pub stacks_on_crash: bool,
    /// End the job when one rank fails.
    pub cleanup: bool,
    /// Go on when ranks fail (`-with-ft ulfm`).
    pub survives: bool,
    /// `-print-all-exitcodes`.
    pub print_exit_codes: bool,
    /// `-v`, `-q`.
    pub verbosity: Verbosity,
    /// `-usize`.
    pub universe: Option<Universe>,
    /// Hosts of the job, by files and batch systems, and those that programs name.
    pub hosts: Vec<Host>,
    /// `-listen`: the port at which workers are waited for; 0 is any.
    pub listen: Option<u16>,
    /// `-token-file`: where workers find the job's secret.
    pub token_file: Option<PathBuf>,
    /// The variable of a batch system that named them, if one did.
    pub allocated_by: Option<&'static str>,
    /// `-launcher`, `-launcher-exec`: what starts daemons on other hosts.
    pub launcher: LauncherOptions,
    /// `-ppn`: ranks per host.
    pub per_host: Option<u32>,
    /// `--mca` names and values, to be checked.
    pub parameters: Vec<(String, String)>,
    /// Flags that were accepted without effect, and what takes their place.
    pub without_effect: Vec<(&'static str, &'static str)>,
    /// Tools that look at the ranks' calls.
    pub tools: ToolOptions,
    /// `-configfile`, `-app`: read the programs from here.
    pub config_file: Option<PathBuf>,
    /// `-help` or `-version`.
    pub show: Option<Show>,
}

/// Something to print instead of starting a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// All flags.
    Help,
    /// Whose mpiexec this is.
    Version,
}

/// Wishes about one program.
#[derive(Clone, Debug, Default)]
pub struct AppOptions {
    /// `-n`.
    pub count: Option<u32>,
    /// `-host`: where its ranks run; empty: on any host of the job.
    pub hosts: Vec<Host>,
    /// `-envall`, `-envnone`, `-envlist`.
    pub inherit: Option<Inherit>,
    /// `-env`, `-x`.
    pub set: Vec<(OsString, OsString)>,
    /// `-wdir`.
    pub directory: Option<PathBuf>,
    /// `-path`.
    pub search_path: Option<OsString>,
    /// `-prefix`: where an MPI library is installed.
    pub prefix: Option<PathBuf>,
    /// `-soft`, `-arch`, `-file` and so on, for `MPI_INFO_ENV`.
    pub info: Vec<(String, String)>,
}

impl JobOptions {
    /// Whether ranks may run on other hosts than this one.
    pub fn has_several_hosts(&self) -> bool {
        self.listen.is_some() || self.hosts.iter().any(|host| !host.is_local())
    }
}

impl Default for JobOptions {
    fn default() -> Self {
        JobOptions {
            inherit: None,
            set: Vec::new(),
            placement: Placement::default(),
            rank_file: None,
            report_bindings: false,
            display_map: false,
            output: Output::default(),
            stdin: Stdin::Rank(0),
            timeout: None,
            host_silence: None,
            stack_traces: false,
            stacks_on_crash: false,
            cleanup: true,
            survives: false,
            print_exit_codes: false,
            verbosity: Verbosity::Normal,
            universe: None,
            hosts: Vec::new(),
            allocated_by: None,
            listen: None,
            token_file: None,
            launcher: LauncherOptions::default(),
            per_host: None,
            parameters: Vec::new(),
            without_effect: Vec::new(),
            tools: ToolOptions::default(),
            config_file: None,
            show: None,
        }
    }
}
