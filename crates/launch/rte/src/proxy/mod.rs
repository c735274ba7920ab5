//! The proxy: parent and subreaper of all ranks of this node, PMI server, forwarder of output. One thread,
//! one event loop; deaths are seen by pidfd, where the kernel has them.

mod callers;
mod clock;
mod crashes;
mod deadlocks;
mod ending;
mod errand;
mod errands;
mod forward;
mod libraries;
mod observation;
mod rank;
mod report;
mod serve_tools;
mod start;
mod survival;
mod suspects;
mod tools;
mod uplink;
mod wire_up;

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use inquest::{Accusations, Failure, Inquest};
use pmi::Segment;
use rustix::process::{Pid, Signal};

use crate::control::{self, Message, Received};
use crate::limits;
use crate::link::Link;
use crate::messages::{Report, Up};
use crate::outlet::Outlet;
use crate::patience::Patience;
use crate::poller::{Poller, Token};
use crate::prepare::Prepared;
use crate::process::{self, Process};
use crate::signals::{Events, Set};
use crate::spec::Verbosity;
use crate::stdin::Forwarder;
use crate::tree;
use clock::Clock;
use errand::Errands;
use pmi::server::Server;
use rank::Rank;
use tools::Tools;
use uplink::{ABANDONED, Uplink};

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// Everything the proxy knows.
pub(crate) struct Proxy {
    job: Prepared,
    ranks: Vec<Rank>,
    server: Server,
    poller: Poller,
    clock: Clock,
    /// mpiexec's standard output and error; only one where both are the same file.
    writers: Vec<Outlet>,
    /// The connection with a mpiexec that has other hosts, too.
    up: Option<Uplink>,
    stdin: Option<Forwarder>,
    segment: SegmentState,
    /// Its size, where there is one.
    segment_bytes: u64,
    /// What the ranks of this host leave for their launcher, once the first of them has called `MPI_Init`.
    observation: Option<observation::Observation>,
    deadlocks: deadlock::Finder,
    /// mpiexec on another host has heard of a long wait here, and none has ended since it looked.
    reported_long_wait: bool,
    /// Stacks of ranks that have crashed, where they are wanted.
    crashes: Option<stacks::Crashes>,
    /// MPI programs that have begun in the place of a rank, one after the other; the most of all ranks.
    program: u32,
    callers: callers::Callers,
    tools: Tools,
    /// Pages that tools on other hosts wait for.
    errands: Errands,
    /// Hosts that ranks of this one do not reach.
    suspects: suspects::Suspects,
    /// Which of two ranks that do not reach each other has accused the other one first. In a job on several hosts mpiexec has this
    /// for all of them.
    accusations: Accusations,
    /// The watching mpiexec.
    parent: Process,
    /// The connection with it.
    control: OwnedFd,
    children: Events,
    /// What was read last of a rank's output. Not on the stack, which may be small.
    buffer: Vec<u8>,
    /// Processes that the kernel had killed for lack of memory when the job began.
    oom_kills: Option<u64>,
    /// What ranks reported of their transports (`-report`), until all of this host have.
    reports: Vec<(u32, String)>,
    /// How often silent ranks were searched for other MPI libraries, and whether one was found.
    libraries: Search,
    /// An output file has lost something, and that was reported.
    file_lost: bool,
    phase: Phase,
    /// How long readers of the output are waited for.
    patience: Patience,
    /// Exit code of the job: that of the first failure.
    code: Option<u8>,
    /// Ranks were asked to go.
    ending: bool,
    /// What has failed, and which of it was the first. A mpiexec that has other hosts, too, decides for all of them.
    inquest: Inquest,
    /// That mpiexec wants to know of all that has happened.
    must_settle: bool,
}

/// Progress of the search for other MPI libraries.
#[derive(Default)]
struct Search {
    /// Searches done.
    count: u32,
    /// A silent rank has written something, and was looked at.
    at_output: bool,
    /// Something was reported; once is enough.
    told: bool,
}

/// How far the job has come here. One loop serves all phases: signals, mpiexec and its end are served in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Ranks run.
    Running,
    /// Nothing of the ranks is left but what they wrote.
    Writing,
    /// That is written, and reported to mpiexec on another host.
    Leaving,
}

/// The shared memory on its way.
enum SegmentState {
    /// The job needs none.
    None,
    /// The watching mpiexec allocates its pages, once a rank has called `MPI_Init`.
    Pending,
    /// Allocated and sealed.
    Ready(Segment),
}

impl SegmentState {
    fn ready(&self) -> Option<&Segment> {
        match self {
            SegmentState::Ready(segment) => Some(segment),
            _ => None,
        }
    }
}

/// Runs the job; returns mpiexec's exit code. Called in the forked child, with all signals blocked.
/// `mask` is what the ranks start with; `up` leads to a mpiexec that has other hosts, too.
pub(crate) fn run(
    job: Prepared,
    segment_bytes: Option<u64>,
    control: OwnedFd,
    parent: Pid,
    mask: Set,
    mut up: Option<(Link, crate::outlet::Outputs)>,
) -> u8 {
    tree::adopt_orphans();
    // A proxy that is stopped goes on when its mpiexec ends, and then ends the ranks. It is refused for no valid signal,
    // and a mpiexec that has ended before is seen by what it left.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
    // For `ps` and `top`; a failure costs nothing but the name.
    let _ = rustix::thread::set_name(c"mpiexec-proxy");
    let host = job.host.clone();
    let mut proxy = match Proxy::new(job, segment_bytes, control, parent, &mut up) {
        Ok(proxy) => proxy,
        Err(error) => return not_set_up(&error, &host, up),
    };
    proxy.announce();
    if let Err(error) = proxy.start(&mask) {
        proxy.could_not_start(&error);
    }
    proxy.report_processes();
    proxy.follow_ranks();
    proxy.serve();
    proxy.wake_daemon();
    proxy.code.unwrap_or(0)
}

/// There can be no proxy on `host`. Reports that to a mpiexec that has other hosts, too, or prints it.
fn not_set_up(error: &std::io::Error, host: &str, up: Option<(Link, crate::outlet::Outputs)>) -> u8 {
    let failure = Failure::NotStarted {
        what: format!("setting up the proxy process on {host}: the system refused"),
        seen: error.to_string(),
        next: limits::advice(error).unwrap_or_else(|| "see `ulimit -a`".to_owned()),
        code: 1,
    };
    match up {
        None => eprint!("{}", inquest::message(&failure, None, 0, None)),
        // This process has done nothing else, so the kernel has room for the message.
        Some((mut link, _)) => link.send(&Up::Failure(Box::new(Report::of(failure)))),
    }
    1
}

impl Proxy {
    fn new(
        job: Prepared,
        segment_bytes: Option<u64>,
        control: OwnedFd,
        parent: Pid,
        up: &mut Option<(Link, crate::outlet::Outputs)>,
    ) -> std::io::Result<Proxy> {
        let poller = Poller::new()?;
        let parent = Process::open(parent);
        // Without a pidfd the end of the control connection has to do.
        parent.watch(&poller, Token::Parent)?;
        poller.watch(&control, Token::Control)?;
        let mut child_signal = Set::empty();
        child_signal.add(libc::SIGCHLD);
        let children = Events::new(&child_signal)?;
        poller.watch(&children, Token::Child)?;
        let size = job.app_of.len();
        let timeout = job.spec.timeout.map(|time| Instant::now() + time);
        let universe = job.spec.universe_size;
        let mut server = Server::new(pmi::kvs_name(job.job_id), &job.app_of, &job.node_of, universe);
        if let Some(spawner) = job.spec.spawner() {
            spawner.watch(&poller)?;
            spawner.begin(job.job_id);
        }
        let callers = callers::Callers::new(&poller)?;
        let tools = Tools::open(parent.pid().as_raw_nonzero().get(), &poller);
        let feed = up.as_ref().map(|_| uplink::feed(&job, &poller)).transpose()?;
        if let Some((link, _)) = up {
            poller.watch(&*link, Token::Link(0))?;
        }
        // What fails before is reported to mpiexec by this connection.
        let (writers, stdin, up) = match up.take() {
            None => (forward::consoles()?, forward::forwarder(job.spec.stdin, &poller)?, None),
            Some((link, outputs)) => {
                server.is_one_of_several();
                let outputs = outputs.into_iter().enumerate();
                let writers = outputs.map(|(channel, size)| Outlet::remote(channel as u8, size)).collect();
                let (feed, stdin) = feed.flatten().unzip();
                (writers, stdin, Some(Uplink::new(link, feed)))
            }
        };
        Ok(Proxy {
            server,
            clock: Clock { timeout, ..Clock::default() },
            writers,
            stdin,
            up,
            segment: segment_bytes.map_or(SegmentState::None, |_| SegmentState::Pending),
            segment_bytes: segment_bytes.unwrap_or(0),
            observation: None,
            deadlocks: deadlock::Finder::default(),
            reported_long_wait: false,
            crashes: None,
            program: 0,
            callers,
            tools,
            errands: Errands::default(),
            suspects: suspects::Suspects::default(),
            accusations: Accusations::default(),
            buffer: vec![0; CHUNK],
            oom_kills: None,
            ranks: Vec::with_capacity(size),
            reports: Vec::new(),
            libraries: Search::default(),
            file_lost: false,
            phase: Phase::Running,
            patience: Patience::default(),
            code: None,
            ending: false,
            inquest: Inquest::new(job.spec.host_silence),
            must_settle: false,
            job,
            poller,
            parent,
            control,
            children,
        })
    }

    /// The event loop: until nothing is left to be done.
    fn serve(&mut self) {
        self.oom_kills = self.job.cgroup.oom_kills();
        self.pump_stdin();
        // What came together with the order to start is read already, so no event will come.
        self.hear_mpiexec();
        self.look_after_mpiexec();
        self.look_for_libraries_in(Duration::from_millis(250));
        while !self.has_left() {
            match self.poller.wait(self.clock.next()) {
                Ok(tokens) => tokens.into_iter().for_each(|token| self.handle(token)),
                // Without events nothing can be waited for.
                Err(error) => {
                    self.fail(None, Failure::Internal(error.to_string()));
                    self.find_failure(true);
                    self.clear();
                    return self.flush_consoles();
                }
            }
            self.send_replies();
            self.on_time(Instant::now());
            self.settle();
            self.flush_consoles();
        }
    }

    /// Goes on to the phase whose time has come. Whether nothing is left to be done.
    fn has_left(&mut self) -> bool {
        let is_over = !self.inquest.is_open() && self.ranks.iter().all(Rank::is_over);
        if self.phase == Phase::Running && is_over {
            self.phase = Phase::Writing;
            self.clear();
            self.flush_consoles();
        }
        if self.phase == Phase::Writing && !self.writers.iter().any(Outlet::is_pending) {
            self.phase = Phase::Leaving;
            if let Some(up) = &mut self.up {
                up.bring(&self.job.spec.tables, &self.job.world);
                up.finished(self.code);
            } else if self.code.is_none() && self.job.spec.survives {
                let statuses: Vec<_> = self.ranks.iter().map(|rank| rank.status).collect();
                self.code = Some(inquest::code_of_survivors(&statuses));
            }
            self.flush_link();
        }
        self.phase == Phase::Leaving && self.up.as_ref().is_none_or(Uplink::is_idle)
    }

    fn handle(&mut self, token: Token) {
        match token {
            Token::Control => loop {
                match control::receive(&self.control) {
                    Received::Message(message, descriptor) => self.message(message, descriptor),
                    Received::Nothing => break,
                    Received::End => return self.parent_ended(),
                }
            },
            Token::Parent => self.parent_ended(),
            Token::Child => self.reap_orphans(),
            Token::Pmi(rank) => {
                self.flush_pmi(rank);
                self.read_pmi(rank);
            }
            Token::Callers => self.accept_callers(),
            Token::Caller(index) => self.hear_caller(index),
            Token::Tools => self.accept_tools(),
            Token::Tool(index) => self.hear_tool(index),
            Token::Errand(index) => self.hear_errand(index),
            Token::Exit(rank) => self.exited(rank),
            Token::ProgramExit(rank) => self.program_exited(rank),
            Token::Stdout(rank) => self.read_output(rank, 0),
            Token::Stderr(rank) => self.read_output(rank, 1),
            Token::Stdin | Token::StdinOf(_) => self.pump_stdin(),
            // Written after every round of the loop.
            Token::Console(_) => {}
            Token::Link(_) => self.hear_mpiexec(),
            Token::Feed => self.feed_stdin(),
            Token::Spawner | Token::SpawnersJob => self.hear_spawner(token),
            // mpiexec's own.
            Token::Listener
            | Token::Signal
            | Token::Launcher(_)
            | Token::LauncherSays(_)
            | Token::LauncherEnd(_) => {}
        }
    }

    fn message(&mut self, message: Message, descriptor: Option<OwnedFd>) {
        let bytes = self.segment_bytes;
        match message {
            Message::SegmentReady => match descriptor {
                Some(fd) => {
                    self.segment = SegmentState::Ready(Segment { fd, bytes });
                    self.send_job_records();
                }
                // The kernel drops a descriptor where there is no room for one.
                None => self.fail(None, Failure::Segment { bytes, left: None, errno: libc::EMFILE }),
            },
            Message::SegmentFailed(errno) => {
                let left = self.job.cgroup.memory_left();
                self.fail(None, Failure::Segment { bytes, left, errno });
            }
            Message::Signal(signal) => self.signalled(signal),
            Message::Failed(failed) => self.hear_of_failure(failed),
            // Ours, or a spawned job's, not mpiexec's.
            Message::SegmentWanted | Message::Launch | Message::Begun(_) => {}
        }
    }

    /// Reaps descendants that were orphaned and have ended now. Ranks stay until the job has ended. A rank that has no
    /// pidfd, or whose debugger let go of it after its end, is noticed here.
    fn reap_orphans(&mut self) {
        while let Some(event) = self.children.next() {
            let Some(pid) = Pid::from_raw(event.pid) else { continue };
            let is_rank = |rank: &Rank| rank.process.pid() == pid || rank.mpi_pid == Some(event.pid);
            if !self.ranks.iter().any(is_rank) {
                process::reap(pid);
            }
        }
        for rank in 0..self.ranks.len() {
            let state = &mut self.ranks[rank];
            if (state.process.pidfd().is_none() || state.is_traced) && state.status.is_none() {
                state.observe_exit();
                if state.status.is_some() {
                    self.exited(rank);
                }
            }
        }
    }

    /// A daemon that is stopped would stay behind on its host. A mpiexec that is stopped is the user's matter.
    fn wake_daemon(&self) {
        if self.up.is_some() {
            self.parent.signal(Signal::CONT);
        }
    }

    fn parent_ended(&mut self) {
        tree::end_all();
        // A mpiexec of several hosts sees that the connection ends, and reports the host.
        if self.up.is_none() {
            self.note(
                "mpiexec: this job's mpiexec was killed\n  seen: its process has ended\n  \
                 next: all ranks were ended; start the job again\n",
            );
            self.flush_consoles();
        }
        self.tools.close();
        std::process::exit(ABANDONED);
    }

    /// Number in the job of rank `slot` of this host.
    fn number(&self, slot: usize) -> usize {
        self.job.world[slot] as usize
    }

    /// Prints `text` on standard error, after what was printed before.
    fn note(&mut self, text: &str) {
        if let Some(up) = &mut self.up {
            return up.note(text);
        }
        let no_stream = usize::MAX;
        if let Some(writer) = self.writers.last_mut() {
            writer.put(no_stream, |out| out.extend_from_slice(text.as_bytes()));
        }
    }

    /// Prints what `-v` asks for.
    fn trace(&mut self, text: impl FnOnce(&Proxy) -> String) {
        if self.job.spec.verbosity == Verbosity::Verbose {
            let text = format!("mpiexec: {}\n", text(self));
            self.note(&text);
        }
    }
}
