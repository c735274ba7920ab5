//! Everything that can fail before a process is started: programs, directories, output files, placement.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::cgroup::Cgroup;
use crate::output_file::OutputFile;
use crate::pattern::{self, Names};
use crate::spec::{App, JobSpec, Stdin};
use crate::{Error, environment, limits, resolve};
use hardware::Topology;
use placement::{BindingPlan, Refusal};

/// A job that is ready to start.
pub struct Prepared {
    /// The job as asked for.
    pub spec: JobSpec,
    /// Number in the job of each rank of this host, ascending.
    pub world: Vec<u32>,
    /// Host of each rank of the job.
    pub node_of: Vec<u32>,
    /// Index of the program of each rank of this host. Here and in what follows, and in all of the proxy, ranks are
    /// counted from 0 on each host.
    pub app_of: Vec<usize>,
    /// The programs; none where this host runs no rank of one.
    pub programs: Vec<Option<Program>>,
    /// Processors of each rank.
    pub plan: BindingPlan,
    /// Our control group, and how often it ran out of memory so far.
    pub cgroup: Cgroup,
    /// Output files of each rank: standard output, standard error.
    pub files: Vec<[Option<OutputFile>; 2]>,
    /// Name of this host.
    pub host: String,
    /// Random number of the job.
    pub job_id: u64,
    /// Limit of open files that ranks get back, where this process raised its own.
    pub open_files: Option<libc::rlimit>,
}

/// One program in the form that exec takes.
pub struct Program {
    /// The file.
    pub path: CString,
    /// Its arguments, its name first.
    pub arguments: Vec<CString>,
    /// Environment that its ranks share.
    pub environment: Vec<CString>,
    /// Working directory.
    pub directory: Option<CString>,
    /// Entries of `MPI_INFO_ENV`.
    pub info: Vec<(String, String)>,
}

impl Prepared {
    /// Checks `spec` against this machine, which runs all ranks.
    pub fn new(spec: JobSpec) -> Result<Prepared, Error> {
        let job_id = random()?;
        let node_of = vec![0; spec.size() as usize];
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Prepared::on_host(spec, job_id, node_of, 0, host)
    }

    /// Checks the part of `spec` that host number `node`, which this is, runs.
    pub fn on_host(
        spec: JobSpec,
        job_id: u64,
        node_of: Vec<u32>,
        node: u32,
        host: String,
    ) -> Result<Prepared, Error> {
        let size = node_of.len();
        let world: Vec<u32> = (0..size as u32).filter(|&rank| node_of[rank as usize] == node).collect();
        if let Some(most) = limits::most_processes().filter(|&most| world.len() > most) {
            return Err(Error::Placement(Refusal {
                seen: format!("{} ranks on {host}, whose kernel has at most {most} processes", world.len()),
                next: "start fewer ranks, or raise /proc/sys/kernel/pid_max".to_owned(),
            }));
        }
        let all = spec.app_of();
        let app_of: Vec<usize> = world.iter().map(|&rank| all[rank as usize]).collect();
        if let Stdin::Rank(rank) = spec.stdin
            && rank as usize >= size
        {
            return Err(Error::StdinRank { rank, size: size as u32 });
        }
        let runs = |index: usize| app_of.contains(&index);
        let program = |(index, app)| runs(index).then(|| Program::new(app, &host)).transpose();
        let programs = spec.apps.iter().enumerate().map(program).collect::<Result<_, _>>()?;
        let open_files = limits::raise_open_files(world.len());
        let files = output_files(&spec, &world, &app_of, &host)?;
        let cgroup = Cgroup::own();
        let topology = Topology::new(spec.placement.allowed());
        let quota = cgroup.cpu_quota();
        let plan = match spec.placement.plan_by_file(&world, &topology, quota)? {
            Some(plan) => plan,
            None => spec.placement.plan(world.len(), &topology, quota)?,
        };
        Ok(Prepared { spec, world, node_of, app_of, programs, plan, cgroup, files, host, job_id, open_files })
    }
}

/// A random number for a job.
pub fn random() -> Result<u64, Error> {
    pmi::random().map_err(|_| Error::System {
        step: "getting a random number",
        source: std::io::Error::last_os_error(),
    })
}

impl Program {
    /// Whether the file's first line is text.
    pub fn is_text(&self) -> bool {
        let path = Path::new(OsStr::from_bytes(self.path.to_bytes()));
        let directory = self.directory.as_ref().map(|directory| OsStr::from_bytes(directory.to_bytes()));
        let path = directory.map_or(path.to_owned(), |directory| Path::new(directory).join(path));
        resolve::first_line(&path).is_some_and(|line| !line.contains(&0))
    }

    fn new(app: &App, host: &str) -> Result<Program, Error> {
        resolve::directory(app)?;
        let path = resolve::program(app)?;
        let path = match &app.directory {
            // A relative path was found from the new directory, and exec will look from there as well.
            Some(directory) => {
                path.strip_prefix(directory).map_or_else(|_| path.clone(), |rest| Path::new(".").join(rest))
            }
            None => path,
        };
        let name = c_string(&app.program);
        let arguments = std::iter::once(name).chain(app.arguments.iter().map(|a| c_string(a))).collect();
        let info = info_env(app, host);
        let mut environment = environment::shared(&app.environment);
        environment.push(c_string(OsStr::new(&pmi::start_info::entry(&info))));
        Ok(Program {
            path: c_string(path.as_os_str()),
            arguments,
            environment,
            directory: app.directory.as_deref().map(|d| c_string(d.as_os_str())),
            info,
        })
    }
}

/// Entries of `MPI_INFO_ENV` (MPI-5.0 section 11.2.1).
fn info_env(app: &App, host: &str) -> Vec<(String, String)> {
    let text = |s: &OsStr| s.to_string_lossy().into_owned();
    let arguments: Vec<String> = app.arguments.iter().map(|a| text(a)).collect();
    let directory = app.directory.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let mut info = vec![
        ("command".to_owned(), text(&app.program)),
        ("argv".to_owned(), arguments.join(" ")),
        ("maxprocs".to_owned(), app.count.to_string()),
        ("wdir".to_owned(), text(directory.as_os_str())),
    ];
    info.extend(app.info.iter().cloned());
    if !info.iter().any(|(key, _)| key == "host") {
        info.push(("host".to_owned(), host.to_owned()));
    }
    if !info.iter().any(|(key, _)| key == "arch") {
        info.push(("arch".to_owned(), std::env::consts::ARCH.to_owned()));
    }
    info
}

fn output_files(
    spec: &JobSpec,
    world: &[u32],
    app_of: &[usize],
    host: &str,
) -> Result<Vec<[Option<OutputFile>; 2]>, Error> {
    let open = |pattern: &Option<std::ffi::OsString>, slot: usize| -> Result<Option<OutputFile>, Error> {
        let Some(pattern) = pattern else { return Ok(None) };
        let names = Names { rank: world[slot] as usize, app: app_of[slot], host, pid: std::process::id() };
        let path = PathBuf::from(pattern::expand(&pattern.to_string_lossy(), &names));
        let failed = |source| Error::OutputFile { path: path.clone(), source };
        if spec.output.make_directories
            && let Some(parent) = path.parent()
        {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        OutputFile::create(path.clone()).map(Some).map_err(failed)
    };
    (0..app_of.len())
        .map(|slot| Ok([open(&spec.output.stdout_pattern, slot)?, open(&spec.output.stderr_pattern, slot)?]))
        .collect()
}

/// As the system takes it. Command lines and paths cannot hold a NUL, so nothing is ever cut off.
fn c_string(text: &OsStr) -> CString {
    let bytes = text.as_bytes();
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}
