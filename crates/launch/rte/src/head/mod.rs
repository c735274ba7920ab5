//! mpiexec of a job on several hosts: starts a daemon on each, joins what they report to one job.
//!
//! ```text
//!   mpiexec ─┬─ launcher ─ … ─ daemon of host 0 ─ proxy ─ ranks
//!            ├─ launcher ─ … ─ daemon of host 1 ─ proxy ─ ranks         launchers: head/launch.rs
//!            │    connections, made by the daemons ───────┘             head/hosts.rs
//!            ├─ the key space and the name service of the job           head/space.rs
//!            ├─ the first failure of all hosts, the job's end           head/verdict.rs
//!            ├─ dead-locks among ranks of all hosts                     head/deadlocks.rs
//!            ├─ what tools want to know of all hosts                   head/questions.rs
//!            ├─ processes of all ranks, for debuggers                   head/debugger.rs
//!            └─ standard input and output, signals                      head/console.rs
//! ```
//!
//! One thread, one event loop, as in a proxy. A daemon on mpiexec's own host is started without launcher; all else is the
//! same for it.

mod asked;
mod console;
mod deadlocks;
mod debugger;
mod hosts;
mod launch;
mod questions;
mod space;
mod verdict;
mod watch;

use std::collections::HashSet;
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use connect::{Acceptor, Protection, Secret};
use inquest::{Accusations, Failure, Status};

use crate::console::Writer;
use crate::far_failure::FarFailure;
use crate::link::{self, Link};
use crate::messages::Order;
use crate::patience::Patience;
use crate::poller::{Poller, Token};
use crate::signals::{self, Events, Set};
use crate::spec::{JobSpec, Verbosity};
use crate::{Error, tree};
use asked::Asked;
use console::Input;
use launch::Launched;
use space::Space;
use verdict::Verdict;
use watch::Watch;

/// Everything that mpiexec knows of the job.
pub(crate) struct Head {
    spec: JobSpec,
    job: u64,
    secret: Secret,
    order: Order,
    addresses: Vec<String>,
    listener: TcpListener,
    acceptor: Acceptor<TcpStream>,
    poller: Poller,
    hosts: Vec<HostState>,
    /// How each rank ended.
    statuses: Vec<Option<Status>>,
    /// The process of each rank that was started, on its host.
    processes: Vec<Option<i32>>,
    writers: Vec<Writer>,
    input: Option<Input>,
    space: Space,
    verdict: Verdict,
    /// Which of two hosts, or of two ranks of one, that do not reach each other has accused the other one first.
    accusations: Accusations,
    /// What is known to have failed in other jobs that are connected with this one.
    far_failures: HashSet<FarFailure>,
    /// The search for dead-locks.
    watch: Watch,
    /// What tools on one host want to know of the others, and the number of the last such question.
    questions: Vec<Asked>,
    question: u32,
    stage: Stage,
    /// How long readers of the output are waited for.
    patience: Patience,
    signals: Events,
    /// Blocked signals of what is started here.
    mask: Set,
    /// The ranks were started.
    started: bool,
    timeout: Option<Instant>,
    /// When to see next whether all hosts still answer.
    looks_at: Instant,
    /// Hosts that still send call stacks, once the time is over.
    traces: Option<usize>,
}

/// One host.
struct HostState {
    name: String,
    ranks: Vec<u32>,
    launched: Option<Launched>,
    link: Option<Link>,
    phase: Phase,
    /// It was asked for all that has happened to its ranks, and has not answered.
    settles: bool,
    /// Bytes of its output, by console, that are not written yet and that it wants to have acknowledged.
    owed: usize,
}

/// How far the whole job has come. One loop serves all stages: signals, hosts and launchers are served in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Daemons and ranks are started, and run.
    Working,
    /// Nothing of the ranks is left anywhere but what they wrote.
    Writing,
    /// That is written, and launchers have time to end until then.
    Closing(Instant),
}

/// How far a host has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No launcher was started for it.
    Waiting,
    /// Its daemon was started and has not called.
    Launching,
    /// Its daemon looks for what the ranks need.
    Preparing,
    /// It can start its ranks.
    Ready,
    /// Its ranks run.
    Running,
    /// Nothing of the job is left there.
    Finished,
    /// It does not answer.
    Lost,
}

/// Runs a job on several hosts to its end; returns mpiexec's exit code.
///
/// Must be called from a process with a single thread.
pub(crate) fn run(spec: JobSpec) -> Result<u8, Error> {
    tree::adopt_orphans();
    // While signals still end this process: the file may be on a file system that does not answer.
    let secret = match &spec.listen {
        Some(listen) => shared_secret(&listen.token_file, fresh_secret()?)?,
        None => fresh_secret()?,
    };
    let wanted = signals::wanted();
    let mask = Set::full().block();
    let mut head = Head::new(spec, secret, &wanted, mask)?;
    head.display_map();
    head.invite();
    head.launch();
    head.serve();
    Ok(head.finish())
}

impl Head {
    fn new(spec: JobSpec, secret: Secret, wanted: &Set, mask: Set) -> Result<Head, Error> {
        let job = crate::prepare::random()?;
        let size = spec.host_of.len();
        if let crate::spec::Stdin::Rank(rank) = spec.stdin
            && rank as usize >= size
        {
            return Err(Error::StdinRank { rank, size: size as u32 });
        }
        let wanted_port = spec.listen.as_ref().map_or(0, |listen| listen.port);
        let listener = platform::tcp::listen([wanted_port]);
        let listener = listener.map_err(|source| match source.kind() {
            std::io::ErrorKind::AddrInUse => Error::PortTaken { port: wanted_port, source },
            _ => Error::system("opening a port for the daemons")(source),
        })?;
        let port = listener.local_addr().map_err(Error::system("opening a port for the daemons"))?.port();
        let poller = Poller::new().map_err(Error::system("making an event loop"))?;
        let watched = Error::system("watching a descriptor");
        poller.watch(&listener, Token::Listener).map_err(watched)?;
        let signals = Events::new(wanted).map_err(Error::system("reading signals"))?;
        poller.watch(&signals, Token::Signal).map_err(Error::system("watching a descriptor"))?;
        if let Some(spawner) = spec.spawner() {
            spawner.watch(&poller).map_err(Error::system("watching a descriptor"))?;
            spawner.begin(job);
        }
        let writers = crate::console::writers().map_err(Error::system("opening standard output"))?;
        let input = Input::new(spec.stdin, &poller).map_err(Error::system("opening standard input"))?;
        let order = order(&spec, job, &writers)?;
        let hosts = spec.hosts.iter().enumerate().map(|(index, host)| HostState {
            name: host.name.to_string(),
            ranks: (0..size as u32).filter(|&rank| spec.host_of[rank as usize] == index as u32).collect(),
            launched: None,
            link: None,
            phase: Phase::Waiting,
            settles: false,
            owed: 0,
        });
        let hosts: Vec<HostState> = hosts.collect();
        Ok(Head {
            addresses: addresses(port, spec.hosts.iter().all(|host| host.local))?,
            acceptor: Acceptor::new("mpiexec", secret, Protection::Encrypt, Some(report)),
            space: Space::new(hosts.len()),
            verdict: Verdict::new(spec.host_silence),
            accusations: Accusations::default(),
            far_failures: HashSet::new(),
            watch: Watch::default(),
            questions: Vec::new(),
            question: 0,
            stage: Stage::Working,
            patience: Patience::default(),
            statuses: vec![None; size],
            processes: vec![None; size],
            timeout: spec.timeout.map(|time| Instant::now() + time),
            traces: None,
            looks_at: Instant::now(),
            started: false,
            spec,
            job,
            secret,
            order,
            listener,
            poller,
            hosts,
            writers,
            input,
            signals,
            mask,
        })
    }

    fn serve(&mut self) {
        self.read_input();
        while !self.has_ended() {
            match self.poller.wait(self.next_moment()) {
                Ok(tokens) => tokens.into_iter().for_each(|token| self.handle(token)),
                Err(error) => {
                    self.fail(Failure::Internal(error.to_string()), None, None, false);
                    return;
                }
            }
            self.on_time(Instant::now());
            self.launch();
            self.write_outputs();
            self.flush_links();
        }
    }

    fn handle(&mut self, token: Token) {
        match token {
            Token::Listener => self.hear_callers(),
            Token::Link(host) => self.hear(host),
            Token::Signal => self.hear_signals(),
            Token::Stdin => self.read_input(),
            Token::Launcher(host) => self.write_order(host),
            Token::LauncherSays(host) => self.hear_launcher(host),
            Token::LauncherEnd(host) => self.launcher_ended(host),
            Token::Spawner | Token::SpawnersJob => self.hear_spawner(token),
            // Written after every round of the loop. What else there is belongs to proxies.
            _ => {}
        }
    }

    /// Goes on to the stage whose time has come. Whether nothing is left to be done.
    fn has_ended(&mut self) -> bool {
        if self.stage == Stage::Working && self.is_over() {
            self.stage = Stage::Writing;
            self.timeout = None;
            self.note_exit_codes();
            self.write_outputs();
        }
        if self.stage == Stage::Writing && !self.writers.iter().any(Writer::is_pending) {
            self.close();
        }
        match self.stage {
            Stage::Closing(end) => self.launchers_ended(end),
            _ => false,
        }
    }

    /// Whether nothing of the job is left anywhere.
    fn is_over(&self) -> bool {
        let gone = |host: &HostState| matches!(host.phase, Phase::Finished | Phase::Lost);
        match self.started {
            true => self.hosts.iter().all(gone) && !self.verdict.is_pending(),
            // Before the start nothing runs that would have to be waited for.
            false => self.verdict.is_ending(),
        }
    }

    /// The next moment at which something is to be done although nothing happens.
    fn next_moment(&self) -> Option<Instant> {
        let launches = self.hosts.iter().filter_map(|host| host.launched.as_ref()?.deadline());
        let callers = self.acceptor.deadline();
        let input = self.input.as_ref().and_then(|input| input.again);
        let looks = self.hosts.iter().any(|host| host.link.is_some()).then_some(self.looks_at);
        let closing = self.launchers_looked_at();
        let others = [
            self.timeout,
            looks,
            self.verdict.deadline(),
            callers,
            input,
            self.patience.deadline(),
            closing,
            self.watch.next,
            self.questions_end(),
        ];
        launches.chain(others.into_iter().flatten()).min()
    }

    fn on_time(&mut self, now: Instant) {
        if self.acceptor.deadline().is_some_and(|at| at <= now) {
            self.hear_callers();
        }
        if self.input.as_ref().is_some_and(|input| input.again.is_some_and(|at| at <= now)) {
            self.read_input();
        }
        if self.timeout.take_if(|at| *at <= now).is_some() {
            self.time_is_over();
        }
        if self.watch.next.is_some_and(|at| at <= now) && !self.verdict.is_ending() {
            self.look_for_deadlocks();
        }
        if self.questions_end().is_some_and(|at| at <= now) {
            self.end_late_questions(now);
        }
        if self.looks_at <= now {
            self.look_after_hosts();
            self.looks_at = now + link::LOOK;
        }
        self.look_for_late_daemons(now);
        self.judge(now);
    }

    /// Prints `text` on standard error, after what was printed before.
    fn note(&mut self, text: &str) {
        let no_stream = usize::MAX;
        if let Some(writer) = self.writers.last_mut() {
            writer.put(no_stream, |out| out.extend_from_slice(text.as_bytes()));
        }
    }

    fn trace(&mut self, text: impl FnOnce() -> String) {
        if self.spec.verbosity == Verbosity::Verbose {
            self.note(&format!("mpiexec: {}\n", text()));
        }
    }

    /// Prints where workers are waited for.
    fn invite(&mut self) {
        let Some(listen) = &self.spec.listen else { return };
        if self.spec.verbosity > Verbosity::Quiet {
            let text = format!(
                "mpiexec: waiting for {} workers at {}: run `alhena worker HOST:PORT --token-file {}`\n",
                self.hosts.len(),
                self.addresses.join(", "),
                listen.token_file.display()
            );
            self.note(&text);
        }
        self.write_outputs();
    }

    fn display_map(&mut self) {
        if self.spec.display_map {
            let apps = self.spec.app_of();
            let line = |(rank, host): (usize, &u32)| {
                let program = self.spec.apps[apps[rank]].program.to_string_lossy();
                format!("mpiexec: rank {rank} runs {program} on {}\n", self.spec.hosts[*host as usize].name)
            };
            let map: String = self.spec.host_of.iter().enumerate().map(line).collect();
            self.note(&map);
        }
    }

    fn note_exit_codes(&mut self) {
        if self.spec.print_exit_codes {
            let status = |status: &Option<Status>| status.map_or("not known".to_owned(), Status::describe);
            let all = self.statuses.iter().enumerate();
            let list: Vec<String> = all.map(|(rank, how)| format!("rank {rank}: {}", status(how))).collect();
            self.note(&format!("mpiexec: exit codes: {}\n", list.join(", ")));
        }
    }

    /// The job is over: ends what is left here, and gives the exit code.
    fn finish(self) -> u8 {
        tree::end_all();
        match self.verdict.code() {
            0 if self.spec.survives => inquest::code_of_survivors(&self.statuses),
            code => code,
        }
    }
}

fn fresh_secret() -> Result<Secret, Error> {
    let failed = |why: String| Error::system("getting a random number")(std::io::Error::other(why));
    link::random().map(Secret::new).map_err(failed)
}

/// The secret that workers find in `path`: what is there already, or `fresh`, which is written there.
fn shared_secret(path: &std::path::Path, fresh: Secret) -> Result<Secret, Error> {
    let unusable = |seen: String| Error::TokenFile { path: path.to_owned(), seen };
    match pmi::token::write(path, fresh) {
        Ok(()) => Ok(fresh),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            pmi::token::read(path).map_err(unusable)
        }
        Err(error) => Err(unusable(error.to_string())),
    }
}

/// The order to all daemons.
fn order(spec: &JobSpec, job: u64, writers: &[Writer]) -> Result<Order, Error> {
    let environments = spec.apps.iter().map(|app| &app.environment);
    let sizes = writers.iter().map(|writer| match writer.is_terminal() {
        true => Some(crate::pty::size_of(writer).map_or((24, 80), |size| (size.ws_row, size.ws_col))),
        false => None,
    });
    Ok(Order {
        job,
        hosts: spec.hosts.iter().map(|host| host.name.clone()).collect(),
        mapping: pmi::mapping::format(&spec.host_of),
        apps: spec.apps.clone(),
        directory: std::env::current_dir().map_err(Error::system("asking for the working directory"))?,
        variables: crate::environment::forwarded(environments),
        tables: spec.tables.iter().map(|one| (one.variable.clone(), one.bytes)).collect(),
        universe_size: spec.universe_size,
        placement: spec.placement.clone(),
        report_bindings: spec.report_bindings,
        output: spec.output.clone(),
        stdin: spec.stdin,
        host_silence: spec.host_silence,
        stack_traces: spec.stack_traces,
        stacks_on_crash: spec.stacks_on_crash,
        cleanup: spec.cleanup,
        survives: spec.survives,
        launcher: spec.launcher.words.clone(),
        parent: spec.parent.as_ref().map(|parent| parent.port.clone()),
        verbosity: spec.verbosity,
        outputs: sizes.collect(),
    })
}

/// Where daemons find this process: literal addresses, because names of hosts need not be known elsewhere. Those of the
/// loopback only if all daemons run here.
fn addresses(port: u16, only_here: bool) -> Result<Vec<String>, Error> {
    let all = platform::interfaces::addresses().map_err(Error::system("asking for this host's addresses"))?;
    let (loopback, others): (Vec<_>, Vec<_>) =
        all.into_iter().map(|one| one.address).partition(|address| address.is_loopback());
    let chosen = if only_here || others.is_empty() { loopback } else { others };
    Ok(chosen.into_iter().map(|address| std::net::SocketAddr::new(address, port).to_string()).collect())
}

/// Prints what the acceptor reports about strangers.
fn report(text: &str) {
    eprintln!("mpiexec: {}", text.replace('\n', "\nmpiexec: "));
}
