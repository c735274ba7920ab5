//! What is to be started, and how: the parsed form of a command line of `mpiexec`.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use placement::Placement;

use crate::HostName;

/// A whole job.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// The programs; ranks are numbered through them in order (MPI-5.0 section 11.5).
    pub apps: Vec<App>,
    /// Size in bytes of a node's shared memory for this many ranks.
    pub segment_bytes: pmi::SegmentBytes,
    /// Memory that the ranks fill for tools.
    pub tables: Vec<Tables>,
    /// `MPI_UNIVERSE_SIZE`; none by default.
    pub universe_size: Option<u32>,
    /// Which processors the ranks get.
    pub placement: Placement,
    /// Print where each rank was bound.
    pub report_bindings: bool,
    /// Print which rank runs what, before it starts.
    pub display_map: bool,
    /// What happens to the ranks' output.
    pub output: Output,
    /// The ranks that get mpiexec's standard input.
    pub stdin: Stdin,
    /// End the job after this time.
    pub timeout: Option<Duration>,
    /// A host that acknowledges nothing for this long is gone.
    pub host_silence: Duration,
    /// Print each rank's call stack when the timeout strikes.
    pub stack_traces: bool,
    /// Print the call stack of a rank that crashes. Its host's proxy traces the ranks for it.
    pub stacks_on_crash: bool,
    /// End the whole job when one rank fails (`-disable-auto-cleanup` turns it off).
    pub cleanup: bool,
    /// The others go on when one rank fails, and are informed of it (`-with-ft ulfm`).
    pub survives: bool,
    /// Print the exit code of every rank at the end.
    pub print_exit_codes: bool,
    /// How much the launcher prints about itself.
    pub verbosity: Verbosity,
    /// The hosts of the job; none: all ranks run on this one.
    pub hosts: Vec<Host>,
    /// Index into `hosts` for each rank; empty where there are none.
    pub host_of: Vec<u32>,
    /// The variable of a batch system that named the hosts, if one did.
    pub allocated_by: Option<&'static str>,
    /// How daemons are started on other hosts.
    pub launcher: Launcher,
    /// Workers that others start are the hosts, instead of daemons.
    pub listen: Option<Listen>,
    /// The job was spawned by processes of another one.
    pub parent: Option<Parent>,
}

impl JobSpec {
    /// The process that has asked for this job, if one has and this process is the one that watches it.
    pub(crate) fn spawner(&self) -> Option<&Spawner> {
        self.parent.as_ref()?.spawner.as_ref()
    }
}

/// The job that has spawned this one.
#[derive(Clone, Debug)]
pub struct Parent {
    /// Where its processes wait for those of this job.
    pub port: String,
    /// The process that asked for this job. Of a job on several hosts, only mpiexec is connected with it.
    pub spawner: Option<Spawner>,
}

/// The process that has asked for a job.
#[derive(Clone, Debug)]
pub struct Spawner {
    /// The connection with it. Its end ends the job, unless that was released.
    pub link: Arc<OwnedFd>,
    /// The connection with the mpiexec of that process's job: both inform each other of failures. Its end is that job's, and ends this
    /// one. Only where jobs go on when ranks fail: elsewhere `link` does both.
    pub lifeline: Option<Arc<OwnedFd>>,
}

/// Memory that the ranks fill for a tool, each its own part, and that is read when the job is over. On other hosts the ranks have
/// memory of the same size there, and what they left comes here when they are over, whatever ended them.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The variable that names it to the ranks, as a path.
    pub variable: String,
    /// Bytes of each rank of the job, in whole pages.
    pub bytes: u64,
    /// mpiexec's, of all ranks.
    pub memory: Arc<OwnedFd>,
}

/// Waiting for workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The port; 0: any.
    pub port: u16,
    /// File with the job's secret, which workers read as well; it is written where there is none.
    pub token_file: PathBuf,
}

/// A host that runs ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name as the user wrote it.
    pub name: HostName,
    /// It is the one on which mpiexec runs, so that no launcher is needed.
    pub local: bool,
}

/// How daemons are started on other hosts: `words HOST COMMAND`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program and its arguments before the host's name.
    pub words: Vec<String>,
    /// Daemons that may be on their way at once.
    pub at_once: usize,
    /// How long a daemon may take until it calls back.
    pub timeout: Duration,
}

impl Default for Launcher {
    /// ssh without questions, without a terminal, and without X11. sshd drops connections beyond ten that are not
    /// authenticated yet (MaxStartups), but that is for each host of its own.
    fn default() -> Launcher {
        let words = ["ssh", "-x", "-T", "-o", "BatchMode=yes"];
        Launcher { words: words.map(str::to_owned).into(), at_once: 64, timeout: Duration::from_secs(60) }
    }
}

/// One program of an MPMD job.
#[derive(Clone, Debug)]
pub struct App {
    /// The program as the user wrote it.
    pub program: OsString,
    /// Its arguments, without the program's name.
    pub arguments: Vec<OsString>,
    /// Number of ranks that run it.
    pub count: u32,
    /// Environment of its ranks.
    pub environment: Environment,
    /// Working directory; mpiexec's own by default.
    pub directory: Option<PathBuf>,
    /// Directories searched for the program before `PATH`.
    pub search_path: Option<OsString>,
    /// Further entries of `MPI_INFO_ENV` as the user gave them: soft, arch, host, file.
    pub info: Vec<(String, String)>,
}

/// The environment of a rank, before the launcher adds its own variables.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// What is taken over from mpiexec's environment.
    pub inherit: Inherit,
    /// Variables set in addition, in order; later ones win.
    pub set: Vec<(OsString, OsString)>,
}

/// What ranks inherit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Here everything, but for the variables of an outer MPI job; on other hosts what [`crate::forwarded`] names.
    #[default]
    Usual,
    /// Everything but the variables of an outer MPI job, on all hosts.
    All,
    /// Nothing.
    None,
    /// Only these names.
    Only(Vec<OsString>),
}

/// Where output goes and what is put before each line.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// `[rank] ` before each line.
    pub rank_prefix: bool,
    /// `[rank]<stdout>: ` before each line.
    pub stream_prefix: bool,
    /// Before each line, with the letters of [`crate::pattern`].
    pub prefix_pattern: Option<String>,
    /// The time (UTC) before each line.
    pub timestamp: bool,
    /// File name pattern for standard output; `%r` is the rank, see [`crate::pattern`].
    pub stdout_pattern: Option<OsString>,
    /// File name pattern for standard error.
    pub stderr_pattern: Option<OsString>,
    /// Make the directories of the files.
    pub make_directories: bool,
    /// Print as well what is written to files.
    pub copy: bool,
    /// Send standard error where standard output goes.
    pub merge: bool,
}

/// The ranks that read mpiexec's standard input. All others read `/dev/null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// One rank; rank 0 by default.
    Rank(u32),
    /// Every rank gets a copy.
    All,
    /// No rank.
    None,
}

/// How much the launcher prints about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Failures only.
    Quiet,
    /// Failures and notes.
    #[default]
    Normal,
    /// Each step.
    Verbose,
}

impl JobSpec {
    /// A job that runs `apps` with all defaults.
    pub fn new(apps: Vec<App>, segment_bytes: pmi::SegmentBytes) -> JobSpec {
        JobSpec {
            apps,
            segment_bytes,
            tables: Vec::new(),
            universe_size: None,
            placement: Placement::default(),
            report_bindings: false,
            display_map: false,
            output: Output::default(),
            stdin: Stdin::Rank(0),
            timeout: None,
            host_silence: crate::link::SILENCE,
            stack_traces: false,
            stacks_on_crash: false,
            cleanup: true,
            survives: false,
            print_exit_codes: false,
            verbosity: Verbosity::default(),
            hosts: Vec::new(),
            host_of: Vec::new(),
            allocated_by: None,
            launcher: Launcher::default(),
            listen: None,
            parent: None,
        }
    }

    /// Number of ranks of the job.
    pub fn size(&self) -> u32 {
        self.apps.iter().map(|app| app.count).sum()
    }

    /// The index of the program that each rank runs.
    pub fn app_of(&self) -> Vec<usize> {
        let runs = self.apps.iter().enumerate();
        runs.flat_map(|(index, app)| std::iter::repeat_n(index, app.count as usize)).collect()
    }
}
