//! Processes that are followed until they end, so that the stack of one that crashes can still be taken.
//!
//! ```text
//!   a signal comes     ─► stop ─► passed on; a thread that gets one that means a crash is remembered
//!   the program's own handler takes it, or: the thread ends ─► stop: its registers and its memory are as they were
//!                                           ─► its stack is taken ─► it goes on to its end
//! ```
//! A followed process has its tracer: no debugger gets it meanwhile. Each signal costs it some microseconds, and so does each thread
//! and process that it starts; all else nothing.
//!
//! **Which thread takes which stop.** The followed processes are children of this one, so each thread of it may be given their
//! stops, whatever it has asked for. A stop that another thread takes is never answered, and the process hangs. So the other
//! threads first look how a process stands, without taking that, and take ends alone. The ends of processes are theirs; those of
//! threads that are not the first of their process are taken here: until its tracer has taken them, the process does not end.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::ptrace::{self, Found};
use crate::{Sampler, Stack};

/// The stacks of followed processes that have crashed, by process.
#[derive(Clone, Debug, Default)]
pub struct Crashes(Arc<Mutex<HashMap<i32, Stack>>>);

impl Crashes {
    /// The stack that a process has left, once. It is there before the end of the process is seen.
    pub fn take(&self, pid: i32) -> Option<Stack> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid)
    }

    fn put(&self, pid: i32, stack: Stack) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(pid).or_insert(stack);
    }
}

/// Follows children of this process, and all that they start, in a thread of its own, as long as this process lives.
///
/// # Errors
/// The system's: there is no thread for it, or it forbids to trace one of them.
pub fn follow(pids: Vec<i32>) -> io::Result<Crashes> {
    let crashes = Crashes::default();
    let (report, outcome) = std::sync::mpsc::channel();
    let found = crashes.clone();
    // What is traced belongs to the thread that traces it.
    std::thread::Builder::new().name("alhena-stacks".to_owned()).spawn(move || {
        let seized = pids.iter().try_for_each(|&pid| match ptrace::follow(pid) {
            // It has ended already.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            outcome => outcome,
        });
        let is_refused = seized.is_err();
        let _ = report.send(seized);
        // What was seized already is let go by the end of this thread.
        if !is_refused {
            Follower { crashes: found, hit: HashMap::new(), ending: Vec::new(), sampler: Sampler::new() }
                .run();
        }
    })?;
    outcome.recv().map_err(io::Error::other)?.map(|()| crashes)
}

struct Follower {
    crashes: Crashes,
    /// The thread of each process that was hit last by a signal which means a crash.
    hit: HashMap<i32, i32>,
    /// Threads, not the first of their process, that were let go to their end.
    ending: Vec<i32>,
    sampler: Sampler,
}

impl Follower {
    fn run(&mut self) {
        loop {
            self.ending.retain(|&thread| !ptrace::has_ended(thread));
            // The end of a thread is no stop, and comes in microseconds.
            match ptrace::next_stop(self.ending.is_empty()) {
                Found::Stop(stop) => self.handle(&stop),
                Found::Nothing => std::thread::sleep(Duration::from_micros(200)),
                Found::NoChild => return,
            }
        }
    }

    fn handle(&mut self, stop: &ptrace::Stop) {
        let thread = stop.thread;
        match (stop.event, stop.signal) {
            (0, signal) => {
                if is_crash(signal) {
                    self.hit.insert(process_of(thread), thread);
                }
                ptrace::go_on(thread, signal);
            }
            (libc::PTRACE_EVENT_STOP, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) => {
                ptrace::listen(thread);
            }
            (libc::PTRACE_EVENT_EXIT, _) => self.ends(thread),
            _ => ptrace::go_on(thread, 0),
        }
    }

    /// A thread is about to end; by a signal, perhaps.
    fn ends(&mut self, thread: i32) {
        let pid = process_of(thread);
        let is_crash = ptrace::message(thread).is_some_and(|status| is_crash((status & 0x7f) as i32));
        let is_it = self.hit.get(&pid).is_none_or(|&hit| hit == thread);
        if let (true, true, Ok(copy)) = (is_crash, is_it, ptrace::stopped_copy(pid, thread)) {
            let stack = self.sampler.stopped(pid, thread, &copy);
            self.crashes.put(pid, stack);
        }
        if pid == thread {
            self.hit.remove(&pid);
        } else {
            self.ending.push(thread);
        }
        ptrace::go_on(thread, 0);
    }
}

/// Whether a signal, left alone, ends a program for a mistake of its own.
fn is_crash(signal: i32) -> bool {
    matches!(
        signal,
        libc::SIGSEGV
            | libc::SIGBUS
            | libc::SIGILL
            | libc::SIGFPE
            | libc::SIGABRT
            | libc::SIGSYS
            | libc::SIGTRAP
    )
}

/// The process of a thread.
fn process_of(thread: i32) -> i32 {
    let text = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(thread)
}
