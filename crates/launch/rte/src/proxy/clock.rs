//! Moments at which the proxy has something to do although nothing happens.

use std::time::{Duration, Instant};

/// Each moment is set by the code that wants it and taken by [`due`].
#[derive(Default)]
pub(super) struct Clock {
    /// The job's time is over (`-timeout`).
    pub timeout: Option<Instant>,
    /// The grace period of an ending job is over.
    pub kill: Option<Instant>,
    /// No longer wait for a wrapper script whose MPI program has ended inside MPI.
    pub wrappers: Option<Instant>,
    /// Look which of several failures was the first.
    pub inquest: Option<Instant>,
    /// Show unfinished lines (prompts) on a terminal.
    pub prompts: Option<Instant>,
    /// Try a terminal again that was not ours to read.
    pub stdin: Option<Instant>,
    /// Look which MPI library silent ranks have loaded.
    pub libraries: Option<Instant>,
    /// See whether mpiexec's host still answers.
    pub link: Option<Instant>,
    /// Call the hosts that are suspected.
    pub suspects: Option<Instant>,
    /// Look whether ranks wait for each other.
    pub deadlock: Option<Instant>,
    /// Give up a command that makes a page for a tool.
    pub errands: Option<Instant>,
    /// Give up a reader of the output.
    pub readers: Option<Instant>,
}

impl Clock {
    /// The next moment.
    pub fn next(&self) -> Option<Instant> {
        let Clock {
            timeout,
            kill,
            wrappers,
            inquest,
            prompts,
            stdin,
            libraries,
            link,
            suspects,
            deadlock,
            errands,
            readers,
        } = self;
        [
            timeout, kill, wrappers, inquest, prompts, stdin, libraries, link, suspects, deadlock, errands,
            readers,
        ]
        .into_iter()
        .flatten()
        .min()
        .copied()
    }
}

/// Takes the moment out of `slot` if it has come.
pub(super) fn due(slot: &mut Option<Instant>, now: Instant) -> bool {
    slot.take_if(|at| *at <= now).is_some()
}

/// Sets `slot` to `delay` from now unless it is set to an earlier moment.
pub(super) fn no_later_than(slot: &mut Option<Instant>, delay: Duration) {
    let at = Instant::now() + delay;
    *slot = Some(slot.map_or(at, |present| present.min(at)));
}
