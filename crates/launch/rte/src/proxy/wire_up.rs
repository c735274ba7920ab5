//! The proxy's side of the PMI connections: bytes in and out around [`pmi::server`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use observe::Area;
use pmi::lost::Suspicion;
use pmi::protocol::JobRecord;
use pmi::scm;
use pmi::wire::LineBuffer;
use rustix::process::Pid;

use super::clock::no_later_than;
use super::observation::Observation;
use super::rank::{Program, Rank};
use super::{Failure, Proxy, SegmentState};
use crate::control::Message;
use crate::poller::Token;
use crate::process::Process;
use pmi::Segment;
use pmi::server::{Event, Server};

impl Proxy {
    /// Reads what `rank` sent and acts on each line of it.
    pub(super) fn read_pmi(&mut self, rank: usize) {
        let mut buffer = [0u8; 4096];
        loop {
            let Some(socket) = &self.ranks[rank].socket else { return };
            match scm::receive(socket.as_fd(), &mut buffer) {
                Ok(received) if received.bytes > 0 => {
                    self.ranks[rank].input.push(&buffer[..received.bytes]);
                    if let Some(descriptor) = received.fds.into_iter().next() {
                        self.ranks[rank].handed = Some(descriptor);
                    }
                    self.pmi_lines(rank, received.pid);
                }
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return,
                // Closed: not a death by itself, the pidfd reports that.
                _ => return self.close_pmi(rank),
            }
        }
    }

    /// Acts on the whole lines of `rank` that were read.
    pub(super) fn pmi_lines(&mut self, rank: usize, sender: Option<i32>) {
        loop {
            let event = match self.ranks[rank].input.next_line() {
                Ok(Some(line)) => self.server.handle(rank, line),
                Ok(None) => return,
                Err(_) => Event::Broken("a line without end".to_owned()),
            };
            self.act(rank, event, sender);
        }
    }

    /// Does what a line of `rank` means for the job.
    pub(super) fn act(&mut self, rank: usize, event: Event, sender: Option<i32>) {
        match event {
            Event::None => {}
            Event::Hello => self.hello(rank, sender),
            Event::OtherLibrary => {
                self.note_sender(rank, sender);
                self.other_library(rank);
                self.begins_program(rank);
                self.check_missing();
            }
            Event::Fence(pairs, record) => self.fence(pairs, record),
            Event::Report(text) => self.transports(rank, text),
            Event::Suspect(suspicion) => self.suspect(rank, suspicion),
            Event::Launch => self.launch(rank),
            Event::Accuse(accused) => self.accuse(rank, accused),
            Event::Ask(line) => self.ask_mpiexec(rank, line),
            Event::Abort { code, message } => self.fail(Some(rank), Failure::Abort { code, message }),
            Event::Broken(what) => {
                self.close_pmi(rank);
                self.ranks[rank].input = LineBuffer::default();
                self.fail(Some(rank), Failure::Protocol(what));
            }
        }
    }

    /// Rank `by` of this host gets nothing from another one's host.
    fn suspect(&mut self, by: usize, suspicion: Suspicion) {
        let Some(&host) = self.job.node_of.get(suspicion.rank as usize) else { return };
        let is_elsewhere = self.job.node_of.get(self.number(by)) != Some(&host);
        if self.up.is_some() && is_elsewhere && !self.ending {
            self.suspects.add(by, host, suspicion, Instant::now());
            no_later_than(&mut self.clock.suspects, Duration::ZERO);
        }
    }

    /// A rank wants another job started, which is mpiexec's part: that job may outlive this one.
    fn launch(&mut self, rank: usize) {
        match self.ranks[rank].handed.take() {
            // Fails only if mpiexec has ended, which is noticed next.
            Some(socket) => drop(Message::Launch.send_with(&self.control, Some(socket.as_fd()))),
            None => {
                self.fail(Some(rank), Failure::Protocol("an order for a job without a socket".to_owned()))
            }
        }
    }

    fn hello(&mut self, rank: usize, sender: Option<i32>) {
        self.note_sender(rank, sender);
        self.trace(|proxy| {
            let pid = proxy.ranks[rank].mpi_pid.unwrap_or_default();
            format!("rank {} (process {pid}) calls MPI_Init", proxy.number(rank))
        });
        if self.begins_program(rank) {
            // The memory of the program before is not this one's.
            self.dismiss_tools();
            self.observation = self.new_observation();
            self.watch_for_deadlocks();
            if !matches!(self.segment, SegmentState::None) {
                self.segment = SegmentState::Pending;
                // Fails only if mpiexec has ended, which is noticed next.
                let _ = Message::SegmentWanted.send(&self.control);
            }
        }
        self.send_job_records();
        self.check_missing();
    }

    /// Memory for what the next program of each rank leaves. A job runs as well without it.
    fn new_observation(&mut self) -> Option<Observation> {
        let ranks = self.ranks.len();
        let memory = Observation::create(ranks);
        if memory.is_none() {
            self.trace(|_| format!("no memory for what ranks leave behind, {} bytes", Area::bytes(ranks)));
        }
        memory
    }

    /// Remembers which process sends for `rank`, and watches it if it is not the one that was started.
    fn note_sender(&mut self, rank: usize, sender: Option<i32>) {
        let state = &mut self.ranks[rank];
        let Some(pid) = sender.and_then(Pid::from_raw) else { return };
        state.mpi_pid = Some(pid.as_raw_nonzero().get());
        if pid == state.process.pid() {
            return;
        }
        let process = Process::open(pid);
        // Where the process is in another pid namespace or gone already, or the kernel has no pidfds, its wrapper has
        // to do.
        if matches!(process.watch(&self.poller, Token::ProgramExit(rank)), Ok(true)) {
            state.program = Some(Program { process, ended: false });
        }
    }

    /// Answers all hellos once the last one and the shared memory are there.
    pub(super) fn send_job_records(&mut self) {
        if !self.server.all_wait() || matches!(self.segment, SegmentState::Pending) {
            return;
        }
        self.server.begin();
        let size = self.ranks.len();
        let segment = self.segment.ready().and_then(|segment| segment.fd.try_clone().ok());
        let observation = self.observation.as_ref().and_then(|memory| memory.file().fd.try_clone().ok());
        let descriptors: Vec<BorrowedFd<'_>> = segment.iter().chain(&observation).map(AsFd::as_fd).collect();
        let mut record = JobRecord {
            job_id: job_of(self.job.job_id, self.program),
            node_of: self.job.node_of.clone(),
            local_pids: self.ranks.iter().map(Rank::pid).collect(),
            proxy_pid: Some(rustix::process::getpid().as_raw_nonzero().get()),
            segment_bytes: self.segment.ready().map(|segment| segment.bytes),
            observation_bytes: self
                .observation
                .as_ref()
                .filter(|_| observation.is_some())
                .map(|memory| memory.file().bytes),
            app_num: 0,
            universe_size: self.job.spec.universe_size,
            oversubscribed: self.job.plan.oversubscribed,
            parent: self.job.spec.parent.as_ref().map(|parent| parent.port.clone()),
            info: Vec::new(),
        };
        for rank in 0..size {
            let app = self.job.app_of[rank];
            record.app_num = app as i32;
            record.info =
                self.job.programs[app].as_ref().map(|program| program.info.clone()).unwrap_or_default();
            let text = self.server.job_record(rank, &record.encode());
            self.send_with(rank, text.as_bytes(), &descriptors);
        }
    }

    /// Sends `text` with descriptors at its first byte. Nothing else is on its way to a rank that waits for an answer, so
    /// some bytes are always taken.
    fn send_with(&mut self, rank: usize, text: &[u8], fds: &[BorrowedFd<'_>]) {
        let Some(socket) = &self.ranks[rank].socket else { return };
        match scm::send(socket.as_fd(), text, fds) {
            Ok(sent) => self.send_pmi(rank, &text[sent..]),
            Err(_) => self.close_pmi(rank),
        }
    }

    /// Sends all replies of the server.
    pub(super) fn send_replies(&mut self) {
        for (rank, text) in std::mem::take(&mut self.server.outbox) {
            self.send_pmi(rank, text.as_bytes());
        }
        let Some((takers, table)) = self.server.take_handout() else { return };
        match memory_file(&table) {
            Ok(file) => {
                let reply = Server::table_reply(table.len());
                takers
                    .into_iter()
                    .for_each(|rank| self.send_with(rank, reply.as_bytes(), &[file.fd.as_fd()]));
            }
            Err(error) => {
                let seen = format!("no memory for the addresses of {} bytes: {error}", table.len());
                self.fail(None, Failure::Internal(seen));
            }
        }
    }

    /// Sends `bytes` after what still waits to be sent to `rank`.
    pub(super) fn send_pmi(&mut self, rank: usize, bytes: &[u8]) {
        self.ranks[rank].unsent.extend_from_slice(bytes);
        self.flush_pmi(rank);
    }

    /// Sends what `rank` takes; asks for an event when it takes more.
    pub(super) fn flush_pmi(&mut self, rank: usize) {
        let state = &mut self.ranks[rank];
        let Some(socket) = &state.socket else { return };
        let was_waiting = state.waits_to_send;
        while !state.unsent.is_empty() {
            match scm::send(socket.as_fd(), &state.unsent, &[]) {
                Ok(sent) => drop(state.unsent.drain(..sent)),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => return self.close_pmi(rank),
            }
        }
        state.waits_to_send = !state.unsent.is_empty();
        if state.waits_to_send != was_waiting {
            // Fails only for a descriptor that is not watched, which this one is.
            let _ = self.poller.set(socket, Token::Pmi(rank), true, state.waits_to_send);
        }
    }

    fn close_pmi(&mut self, rank: usize) {
        if let Some(socket) = self.ranks[rank].socket.take() {
            self.poller.forget(&socket);
        }
    }
}

/// The number of the job that the `program`-th MPI program of each rank is, from 1 on. All hosts know it without asking.
fn job_of(job: u64, program: u32) -> u64 {
    // The first is the job itself; an odd factor gives the others numbers of their own, spread over all bits.
    job.wrapping_add(u64::from(program.saturating_sub(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A file in memory with these bytes, whose size no process changes.
fn memory_file(bytes: &[u8]) -> io::Result<Segment> {
    let file = Segment::create(bytes.len() as u64)?;
    file.allocate()?;
    file.write(0, bytes)?;
    Ok(file)
}
