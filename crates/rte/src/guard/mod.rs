//! The guard: parent and subreaper of all ranks of this node, PMI server, forwarder of output. One thread,
//! one event loop; deaths are seen by pidfd, where the kernel has them.

mod callers;
mod clock;
mod ending;
mod forward;
mod libraries;
mod rank;
mod report;
mod start;
mod uplink;
mod wire_up;

pub(crate) use forward::{name_of, writers};

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use pmi::Segment;
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::control::{self, Message, Received};
use crate::failure::Failure;
use crate::limits;
use crate::link::Link;
use crate::outlet::Outlet;
use crate::poller::{Poller, Token};
use crate::prepare::Prepared;
use crate::process::Process;
use crate::signals::{Events, Set};
use crate::spec::Verbosity;
use crate::stdin::Forwarder;
use crate::tree;
use clock::Clock;
use pmi::server::Server;
use rank::Rank;
use uplink::Uplink;

/// Exit code of a guard whose mpiexec was killed; nobody is left to see it.
const ABANDONED: i32 = 137;

/// Everything the guard knows.
pub(crate) struct Guard {
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
    /// MPI programs that have begun in the place of a rank, one after the other; the most of all ranks.
    program: u32,
    callers: callers::Callers,
    /// The watching mpiexec.
    _parent: Process,
    /// What it says.
    control: OwnedFd,
    children: Events,
    /// What was read last of a rank's output. Not on the stack, which may be small.
    buffer: Vec<u8>,
    /// Processes that the kernel had killed for lack of memory when the job began.
    oom_kills: Option<u64>,
    /// What ranks reported of their transports (`-report`), until all of this host have.
    reports: Vec<(u32, String)>,
    /// How often silent ranks were searched for other MPI libraries, and whether one was found.
    libraries: libraries::Search,
    /// An output file has lost something, and that was reported.
    file_lost: bool,
    /// Exit code of the job: that of the first failure.
    code: Option<u8>,
    /// Ranks were asked to go.
    ending: bool,
    /// `MPI_Abort` was called, and more ranks may be about to do so for the same reason.
    aborts: Option<ending::Aborts>,
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
    up: Option<(Link, crate::watch::Outputs)>,
) -> u8 {
    tree::adopt_orphans();
    // For `ps` and `top`; a failure costs nothing but the name.
    let _ = rustix::thread::set_name(c"mpiexec-guard");
    let mut guard = match Guard::new(job, segment_bytes, control, parent, up) {
        Ok(guard) => guard,
        Err(error) => {
            let next = limits::advice(&error).unwrap_or_else(|| "see `ulimit -a`".to_owned());
            eprintln!(
                "mpiexec: setting up the guard process: the system refused\n  seen: {error}\n  next: {next}"
            );
            return 1;
        }
    };
    guard.announce();
    match guard.start(&mask) {
        Ok(()) => guard.serve(),
        Err(error) => guard.could_not_start(&error),
    }
    guard.finish()
}

impl Guard {
    fn new(
        job: Prepared,
        segment_bytes: Option<u64>,
        control: OwnedFd,
        parent: Pid,
        up: Option<(Link, crate::watch::Outputs)>,
    ) -> std::io::Result<Guard> {
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
        let (writers, stdin, up) = match up {
            None => (forward::consoles()?, forward::forwarder(job.spec.stdin, &poller)?, None),
            Some((link, outputs)) => {
                server.is_one_of_several();
                poller.watch(&link, Token::Link(0))?;
                let outputs = outputs.into_iter().enumerate();
                let writers = outputs.map(|(channel, size)| Outlet::remote(channel as u8, size)).collect();
                let (uplink, stdin) = Uplink::new(link, &job, &poller)?;
                (writers, stdin, Some(uplink))
            }
        };
        Ok(Guard {
            server,
            clock: Clock { timeout, ..Clock::default() },
            writers,
            stdin,
            up,
            segment: segment_bytes.map_or(SegmentState::None, |_| SegmentState::Pending),
            segment_bytes: segment_bytes.unwrap_or(0),
            program: 0,
            callers: callers::Callers::new(&poller)?,
            buffer: vec![0; forward::CHUNK],
            oom_kills: None,
            ranks: Vec::with_capacity(size),
            reports: Vec::new(),
            libraries: libraries::Search::default(),
            file_lost: false,
            code: None,
            ending: false,
            aborts: None,
            job,
            poller,
            _parent: parent,
            control,
            children,
        })
    }

    /// The event loop: until no rank is left.
    fn serve(&mut self) {
        self.oom_kills = self.job.cgroup.oom_kills();
        self.pump_stdin();
        // What came together with the order to start is read already, so no event will tell.
        self.hear_mpiexec();
        self.look_after_mpiexec();
        self.look_for_libraries_in(Duration::from_millis(250));
        while !self.ranks.iter().all(Rank::is_over) {
            match self.poller.wait(self.clock.next()) {
                Ok(tokens) => tokens.into_iter().for_each(|token| self.handle(token)),
                Err(error) => return self.fail(None, Failure::Internal(error.to_string())),
            }
            self.send_replies();
            self.on_time(Instant::now());
            self.flush_consoles();
        }
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
            Token::Exit(rank) => self.exited(rank),
            Token::ProgramExit(rank) => self.program_exited(rank),
            Token::Stdout(rank) => self.read_output(rank, 0),
            Token::Stderr(rank) => self.read_output(rank, 1),
            Token::Stdin | Token::StdinOf(_) => self.pump_stdin(),
            // Written after every round of the loop.
            Token::Console(_) => {}
            Token::Link(_) => self.hear_mpiexec(),
            Token::Feed => self.feed_stdin(),
            // mpiexec's own.
            Token::Door
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
            // Ours, not mpiexec's.
            Message::SegmentWanted => {}
        }
    }

    /// Reaps descendants that were orphaned and have ended now. Ranks stay until the job has ended. A rank that has no
    /// pidfd, or whose debugger let go of it after its end, is heard of here.
    fn reap_orphans(&mut self) {
        while let Some(event) = self.children.next() {
            let Some(pid) = Pid::from_raw(event.pid) else { continue };
            let is_rank = |rank: &Rank| rank.process.pid() == pid || rank.mpi_pid == Some(event.pid);
            if !self.ranks.iter().any(is_rank) {
                // No child of ours if it fails; then there is nothing to reap.
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
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
    fn trace(&mut self, text: impl FnOnce(&Guard) -> String) {
        if self.job.spec.verbosity == Verbosity::Verbose {
            let text = format!("mpiexec: {}\n", text(self));
            self.note(&text);
        }
    }
}
