//! Tools that look at the job from one host see the ranks of all: mpiexec asks each proxy for a page about its own ranks, and that page
//! is what `alhena`, started here, prints.
//!
//! ```text
//!   alhena top ─► proxy ── Ask ─► mpiexec ── Ask ─► proxies of the other hosts: alhena top, whose standard input is a tool's connection
//!              ◄─       ◄─ Answers         ◄─ Answer ─┘  what it has printed
//! ```
//! So a page is made in one way on all hosts, a proxy reads no debug information, and it waits for nothing.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use live::Question;

use super::Proxy;
use super::clock::no_later_than;
use super::errand::{Errand, TOOL};
use super::tools::Heard;

impl Proxy {
    /// A tool has gone, or asks all hosts.
    pub(super) fn hear_tool(&mut self, index: usize) {
        match self.tools.hear(index) {
            Heard::Nothing => {}
            Heard::Gone => self.tool_has_gone(index),
            Heard::Question(number, patience, words) => match &mut self.up {
                Some(up) => up.ask_hosts(index as u32, number, patience, words),
                None => self.answer_tool(index, number, &[]),
            },
        }
    }

    /// All hosts have answered a tool's question, or have had their time. A tool that has taken the place of the one that asked
    /// sees that the number is none of its own.
    pub(super) fn answer_tool(&mut self, index: usize, number: u64, answers: &[u8]) {
        if let Some(tool) = self.tools.get(index) {
            // A tool that takes nothing, or that no memory is left for, waits for a bounded time.
            let _ = live::answer(tool, number, answers);
        }
    }

    /// mpiexec wants a page about the ranks of this host.
    pub(super) fn run_errand(&mut self, number: u32, patience: Duration, words: &str) {
        if let Err(why) = self.begin_errand(number, patience, words)
            && let Some(up) = &mut self.up
        {
            up.answer(number, Some(why), Vec::new());
        }
    }

    fn begin_errand(&mut self, number: u32, patience: Duration, words: &str) -> Result<(), String> {
        let question = Question::decode(words).ok_or("its Alhena is of another version")?;
        if self.errands.is_full() {
            return Err("as many tools are served there as can be".to_owned());
        }
        let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let errand = Errand::start(number, &question, patience, theirs);
        let errand =
            errand.map_err(|error| format!("`{TOOL}` beside its mpiexec cannot be started: {error}"))?;
        if ours.set_nonblocking(true).is_ok() {
            self.show_job_to(ours.into());
        }
        no_later_than(&mut self.clock.errands, patience);
        self.errands.add(errand, &self.poller).map_err(|error| error.to_string())
    }

    /// A command has printed something, or has ended.
    pub(super) fn hear_errand(&mut self, index: usize) {
        if let Some(errand) = self.errands.hear(index, &self.poller)
            && let Some(up) = &mut self.up
        {
            up.answer(errand.number, None, errand.page);
        }
    }

    /// Ends commands that have had their time. mpiexec has reported by now that this host has not answered.
    pub(super) fn end_late_errands(&mut self, now: Instant) {
        self.clock.errands = self.errands.end_late(now, &self.poller);
    }
}
