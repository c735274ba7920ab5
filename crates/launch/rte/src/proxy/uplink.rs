//! A proxy whose mpiexec has other hosts, too: what it reports, and what it gets.
//!
//! The proxy judges its own ranks as it does on one host. It reports what it finds instead of printing it, and mpiexec
//! decides which failure of all hosts was the first.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use inquest::{Culprit, Failure, Status};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::Proxy;
use super::clock::no_later_than;
use crate::deadlocks::WaitSite;
use crate::far_failure::FarFailure;
use crate::link::{self, Link};
use crate::messages::{Down, Report, Up};
use crate::poller::{Poller, Token};
use crate::prepare::Prepared;
use crate::spec::{Stdin, Tables};
use crate::stdin::Forwarder;
use crate::tree;
use crate::wire::Bytes;

/// Exit code of a proxy whose mpiexec was killed; no process is left to see it.
pub(super) const ABANDONED: i32 = 137;

/// The connection with mpiexec.
pub(super) struct Uplink {
    link: Link,
    /// Bytes of output that mpiexec has not written yet.
    used: usize,
    /// Standard input on its way to the ranks of this host that read it.
    feed: Option<Feed>,
}

/// The pipe into the forwarder of standard input.
pub(super) struct Feed {
    pipe: OwnedFd,
    unsent: Vec<u8>,
    /// Nothing comes after what is in `unsent`.
    ended: bool,
}

/// What the proxy of `job` passes standard input on by, where a rank of this host reads it.
pub(super) fn feed(job: &Prepared, poller: &Poller) -> io::Result<Option<(Feed, Forwarder)>> {
    let reads = match job.spec.stdin {
        Stdin::Rank(reader) => job.world.contains(&reader),
        Stdin::All => true,
        Stdin::None => false,
    };
    if !reads {
        return Ok(None);
    }
    let (source, pipe) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let forwarder = Forwarder::of(source, poller)?;
    Ok(Some((Feed { pipe, unsent: Vec::new(), ended: false }, forwarder)))
}

impl Uplink {
    /// The connection of a proxy.
    pub fn new(link: Link, feed: Option<Feed>) -> Uplink {
        Uplink { link, used: 0, feed }
    }

    /// Prints `text` on mpiexec's standard error.
    pub fn note(&mut self, text: &str) {
        self.link.send(&Up::Note(text.to_owned()));
    }

    /// The ranks were started as these processes.
    pub fn started(&mut self, processes: Vec<(u32, i32)>) {
        self.link.send(&Up::Started(processes));
    }

    /// A rank is over, after so many MPI programs.
    pub fn ended(&mut self, rank: u32, status: Status, programs: u32) {
        self.link.send(&Up::Ended(rank, status, programs));
    }

    /// A rank of this host has failed, and the job goes on.
    pub fn rank_failed(&mut self, rank: u32) {
        self.link.send(&Up::RankFailed(rank));
    }

    /// Something has failed in a job that this one has spawned.
    pub fn failed_abroad(&mut self, failure: FarFailure) {
        self.link.send(&Up::FailedAbroad(failure));
    }

    /// The rank `by` of this host does not reach `rank` any more.
    pub fn accused(&mut self, by: u32, rank: u32) {
        self.link.send(&Up::Accused(by, rank));
    }

    /// Something went wrong.
    pub fn failed(
        &mut self,
        failure: Failure,
        culprit: Option<Culprit>,
        cause: Option<String>,
        goes_on: bool,
    ) {
        self.link.send(&Up::Failure(Box::new(Report { failure, culprit, cause, goes_on })));
    }

    /// A rank has waited for long; see [`Up::LongWait`].
    pub fn long_wait(&mut self, after: Duration, ends: bool) {
        self.link.send(&Up::LongWait(after, ends));
    }

    /// What each rank does, in answer to a look.
    pub fn seen(&mut self, number: u32, ranks: Vec<(u32, deadlock::Rank)>) {
        self.link.send(&Up::Seen(number, ranks));
    }

    /// Where ranks wait.
    pub fn wait_sites(&mut self, sites: Vec<WaitSite>) {
        self.link.send(&Up::WaitSites(sites));
    }

    /// A tool, in this place of the proxy's, asks all other hosts.
    pub fn ask_hosts(&mut self, tool: u32, number: u64, patience: Duration, words: String) {
        self.link.send(&Up::Ask(tool, number, patience, words));
    }

    /// The page that mpiexec has asked for, or why there is none.
    pub fn answer(&mut self, number: u32, why: Option<String>, page: Vec<u8>) {
        self.link.send(&Up::Answer(number, why, Bytes(page)));
    }

    /// All that had happened when mpiexec asked is reported.
    pub fn settled(&mut self) {
        self.link.send(&Up::Settled);
    }

    /// What the ranks of this host, which are over, have left for tools.
    pub fn bring(&mut self, tables: &[Tables], ranks: &[u32]) {
        for (index, one) in tables.iter().enumerate() {
            for &rank in ranks {
                let brought = one.left_by(rank, |offset, bytes| {
                    self.link.send(&Up::Tables(index as u32, rank, offset, Bytes(bytes)));
                });
                if let Err(error) = brought {
                    self.note(&format!(
                        "mpiexec: what rank {rank} has left for tools was not read whole\n  seen: {error}\n  next: see `free` on its \
                         host\n"
                    ));
                }
            }
        }
    }

    /// All ranks of this host are over.
    pub fn finished(&mut self, code: Option<u8>) {
        self.link.send(&Up::Finished(code));
    }

    /// Nothing waits to be sent.
    pub fn is_idle(&self) -> bool {
        !self.link.is_pending()
    }
}

impl Proxy {
    /// Reads what mpiexec sends.
    pub(super) fn hear_mpiexec(&mut self) {
        let Some(up) = &mut self.up else { return };
        up.link.flush();
        up.link.read();
        while let Some(message) = self.up.as_mut().and_then(|up| up.link.next_message()) {
            self.obey(message);
        }
        if self.up.as_ref().is_some_and(|up| up.link.broken().is_some()) {
            // No mpiexec is left to report to.
            tree::end_all();
            self.wake_daemon();
            std::process::exit(ABANDONED);
        }
    }

    /// Sees whether mpiexec's host still answers, and again a little later.
    pub(super) fn look_after_mpiexec(&mut self) {
        let Some(up) = &mut self.up else { return };
        up.link.look_after();
        let is_broken = up.link.broken().is_some();
        no_later_than(&mut self.clock.link, link::LOOK);
        if is_broken {
            self.hear_mpiexec();
        }
    }

    fn obey(&mut self, message: Down) {
        match message {
            Down::Fence(pairs, table) => self.server.release(pairs, table.0),
            Down::Reply(rank, text) => {
                if let Some(slot) = self.job.world.iter().position(|&number| number == rank) {
                    self.send_pmi(slot, text.as_bytes());
                }
            }
            Down::OutputTaken(bytes) => {
                if let Some(up) = &mut self.up {
                    up.used = up.used.saturating_sub(bytes as usize);
                }
            }
            Down::OutputBroken(channel) => {
                if let Some(outlet) = self.writers.get_mut(usize::from(channel)) {
                    outlet.break_off();
                }
            }
            Down::Stdin(bytes) => {
                if let Some(feed) = self.up.as_mut().and_then(|up| up.feed.as_mut()) {
                    feed.unsent.extend_from_slice(&bytes.0);
                }
                self.feed_stdin();
            }
            Down::StdinEnd => {
                if let Some(feed) = self.up.as_mut().and_then(|up| up.feed.as_mut()) {
                    feed.ended = true;
                }
                self.feed_stdin();
            }
            Down::RankFailed(rank) => self.announce_failure(rank),
            Down::FailedAbroad(failure) => self.announce_far_failure(failure),
            Down::Kill(by, rank) => self.kill_accused(by, rank),
            Down::Signal(number) => self.signalled(number),
            Down::Window(rows, columns) => {
                self.writers.iter_mut().for_each(|outlet| outlet.resize(rows, columns));
                self.resize_terminals();
            }
            Down::End if !self.ending => self.end(),
            Down::Settle => self.must_settle = true,
            Down::Look(number) => self.show_ranks(number),
            Down::NameWaits(ranks) => self.name_waits(&ranks),
            Down::Ask(number, patience, words) => self.run_errand(number, patience, &words),
            Down::Answers(tool, number, answers) => self.answer_tool(tool as usize, number, &answers.0),
            Down::Traces => {
                self.show_traces();
                if let Some(up) = &mut self.up {
                    up.link.send(&Up::Traced);
                }
            }
            // Sent before there was a proxy, or twice.
            Down::End | Down::Order(..) | Down::Start => {}
        }
    }

    /// `rank` has called `MPI_Init`. Whether it is the first of this host to do so, in the first MPI program of its
    /// place or in a later one.
    pub(super) fn begins_program(&mut self, rank: usize) -> bool {
        let program = self.server.programs(rank);
        if program <= self.program {
            return false;
        }
        self.program = program;
        if let Some(up) = &mut self.up {
            up.link.send(&Up::Hello(program));
        }
        true
    }

    /// All ranks of this host have come to a barrier.
    pub(super) fn fence(&mut self, pairs: Vec<(String, String)>, record: Vec<u8>) {
        if let Some(up) = &mut self.up {
            up.link.send(&Up::Fence(pairs, Bytes(record)));
        }
    }

    /// A rank asks the name service, which is mpiexec's.
    pub(super) fn ask_mpiexec(&mut self, slot: usize, line: String) {
        let rank = self.job.world[slot];
        if let Some(up) = &mut self.up {
            up.link.send(&Up::Name(rank, line));
        }
    }

    /// Sends output as far as there is credit, and what else waits.
    pub(super) fn flush_link(&mut self) {
        let Some(up) = &mut self.up else { return };
        for outlet in &mut self.writers {
            outlet.send(&mut up.link, &mut up.used);
        }
        up.link.flush();
        let pending = up.link.is_pending();
        if pending != up.link.watched {
            up.link.watched = pending;
            // The connection is watched as long as it is open.
            let _ = self.poller.set(&up.link, Token::Link(0), true, pending);
        }
    }

    /// Passes standard input on to the forwarder.
    pub(super) fn feed_stdin(&mut self) {
        let Some(up) = &mut self.up else { return };
        let Some(feed) = &mut up.feed else { return };
        let mut taken = 0;
        while taken < feed.unsent.len() {
            match rustix::io::write(&feed.pipe, &feed.unsent[taken..]) {
                Ok(bytes) => taken += bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => {
                    // No rank reads any more.
                    up.feed = None;
                    up.link.send(&Up::StdinUnwanted);
                    return;
                }
            }
        }
        feed.unsent.drain(..taken);
        if taken > 0 {
            up.link.send(&Up::StdinTaken(taken as u32));
        }
        if !feed.unsent.is_empty() {
            // Fails only if it is watched already.
            let _ = self.poller.watch_writable(&feed.pipe, Token::Feed);
        } else if feed.ended {
            self.poller.forget(&feed.pipe);
            up.feed = None;
        } else {
            self.poller.forget(&feed.pipe);
        }
    }
}
