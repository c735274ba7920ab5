//! The guard: parent and subreaper of all ranks of this node, PMI server, forwarder of output. One thread,
//! one event loop; deaths are seen by pidfd.

mod ending;
mod forward;
mod rank;
mod report;
mod start;
mod wire_up;

use std::os::fd::OwnedFd;
use std::time::Instant;

use pmi::Segment;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::console::Writer;
use crate::control::Message;
use crate::poller::{Poller, Token};
use crate::prepare::Prepared;
use crate::server::Server;
use crate::signals::{Events, Set};
use crate::tree;
use rank::Rank;

pub(crate) use report::Failure;

/// Everything the guard knows.
pub(crate) struct Guard {
    job: Prepared,
    ranks: Vec<Rank>,
    server: Server,
    poller: Poller,
    /// mpiexec's standard output and error. The second is missing where both are the same file.
    writers: Vec<Writer>,
    segment: SegmentState,
    /// What the watching mpiexec says.
    control: OwnedFd,
    children: Events,
    /// Limit of open files that ranks get back, where the guard raised its own.
    open_files: Option<libc::rlimit>,
    /// Exit code of the job: that of the first failure.
    code: Option<u8>,
    ending: Option<Ending>,
    timeout_at: Option<Instant>,
    /// When to stop waiting for a wrapper script whose MPI program has ended inside MPI.
    wrapper_patience: Option<Instant>,
}

/// The shared memory on its way.
enum SegmentState {
    /// The job needs none.
    None,
    /// The watching mpiexec allocates its pages.
    Pending(Segment),
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

/// The job is being ended: ranks were asked to go.
struct Ending {
    /// Whoever is left then is killed.
    kill_at: Instant,
    killed: bool,
}

/// Runs the job; returns mpiexec's exit code. Called in the forked child, with all signals blocked.
/// `mask` is what the ranks start with.
pub(crate) fn run(job: Prepared, segment: Option<Segment>, control: OwnedFd, parent: Pid, mask: Set) -> u8 {
    tree::adopt_orphans();
    let _ = rustix::thread::set_name(c"mpiexec-guard");
    let mut guard = match Guard::new(job, segment, control, parent) {
        Ok(guard) => guard,
        Err(error) => {
            eprintln!("mpiexec: setting up the guard process: the system refused\n  seen: {error}\n  next: see `ulimit -a`");
            return 1;
        }
    };
    if let Err(error) = guard.start(&mask) {
        guard.could_not_start(&error);
    } else {
        guard.serve();
    }
    guard.finish()
}

impl Guard {
    fn new(job: Prepared, segment: Option<Segment>, control: OwnedFd, parent: Pid) -> std::io::Result<Guard> {
        let poller = Poller::new()?;
        let parent = pidfd_open(parent, PidfdFlags::empty())?;
        poller.watch(&parent, Token::Parent)?;
        poller.watch(&control, Token::Control)?;
        // Leaked on purpose: watched as long as this process lives.
        std::mem::forget(parent);
        let mut child_signal = Set::empty();
        child_signal.add(libc::SIGCHLD);
        let children = Events::new(&child_signal)?;
        poller.watch(&children, Token::Child)?;
        let size = job.app_of.len();
        let kvs = pmi::kvs_name(job.job_id);
        Ok(Guard {
            server: Server::new(kvs, &job.app_of, &vec![0; size], job.spec.universe_size),
            open_files: raise_open_files(size),
            writers: forward::consoles()?,
            ranks: Vec::with_capacity(size),
            segment: segment.map_or(SegmentState::None, SegmentState::Pending),
            timeout_at: job.spec.timeout.map(|time| Instant::now() + time),
            wrapper_patience: None,
            code: None,
            ending: None,
            job,
            poller,
            control,
            children,
        })
    }

    /// The event loop: until no rank is left.
    fn serve(&mut self) {
        while !self.ranks.iter().all(Rank::is_over) {
            let deadline = self.next_deadline();
            match self.poller.wait(deadline) {
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
            Token::Control => {
                while let Some(message) = Message::receive(&self.control) {
                    self.message(message);
                }
            }
            Token::Parent => self.parent_ended(),
            Token::Child => self.reap_orphans(),
            Token::Pmi(rank) => {
                self.flush_pmi(rank);
                self.read_pmi(rank);
            }
            Token::Exit(rank) => self.exited(rank),
            Token::ProgramExit(rank) => self.program_exited(rank),
            Token::Stdout(rank) => self.read_output(rank, 0),
            Token::Stderr(rank) => self.read_output(rank, 1),
            Token::Console(_) | Token::Stdin | Token::StdinOf(_) => {}
        }
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::SegmentReady => {
                if let SegmentState::Pending(segment) = std::mem::replace(&mut self.segment, SegmentState::None) {
                    self.segment = SegmentState::Ready(segment);
                }
                self.welcome_all();
            }
            Message::SegmentFailed(errno) => {
                let bytes = match &self.segment {
                    SegmentState::Pending(segment) | SegmentState::Ready(segment) => segment.bytes,
                    SegmentState::None => 0,
                };
                self.fail(None, Failure::Segment { bytes, errno });
            }
            Message::Signal(signal) => self.signalled(signal),
        }
    }

    /// Reaps descendants that were orphaned and have ended now. Ranks stay until the job has ended.
    fn reap_orphans(&mut self) {
        while let Some(event) = self.children.next() {
            let Some(pid) = Pid::from_raw(event.pid) else { continue };
            let is_rank = |rank: &Rank| rank.pid == pid || rank.mpi_pid == Some(event.pid);
            if !self.ranks.iter().any(is_rank) {
                // No child of ours if it fails; then there is nothing to reap.
                let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
            }
        }
    }

    fn parent_ended(&mut self) {
        self.note("mpiexec: this job's mpiexec was killed\n  seen: its process has ended\n  next: all ranks were ended; start the job again\n");
        tree::end_all();
        self.flush_consoles();
        std::process::exit(137);
    }

    /// Prints `text` after what was printed before.
    fn note(&mut self, text: &str) {
        let stream = usize::MAX;
        if let Some(writer) = self.writers.last_mut() {
            writer.put(stream, |out| out.extend_from_slice(text.as_bytes()));
        }
    }
}

/// Makes room for the descriptors of `ranks` ranks. Returns the limit before, if it was raised.
fn raise_open_files(ranks: usize) -> Option<libc::rlimit> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let before = getrlimit(Resource::Nofile);
    let needed = ranks as u64 * 8 + 64;
    if before.current.is_none_or(|current| current >= needed) {
        return None;
    }
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    setrlimit(Resource::Nofile, raised).ok()?;
    let number = |limit: Option<u64>| limit.unwrap_or(libc::RLIM_INFINITY);
    Some(libc::rlimit { rlim_cur: number(before.current), rlim_max: number(before.maximum) })
}
