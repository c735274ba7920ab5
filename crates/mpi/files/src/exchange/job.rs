//! What an exchange has to do that blocks: reading and writing windows, asking for the size of the file.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use abi::{Error, Result};
use io::{Calls, Direction, Posix, Stage};
use platform::Blocking;

use super::aggregator::Window;
use super::{Exchange, Views};
use crate::access::{Use, lane};
use crate::{failed, staged};
use objects::state::State;

/// One call or some of the system, with all that they need: it runs while the exchange goes on.
pub struct Job {
    storage: Arc<Posix>,
    what: What,
    results: Results,
}

enum What {
    Write { window: Window, views: Views, stage: Option<Arc<Stage>>, written: Arc<AtomicBool> },
    Read { window: Window, views: Views },
    Size,
}

/// What has come of a job.
pub(super) struct JobDone {
    pub window: Option<Window>,
    pub size: Option<u64>,
    pub done: Result<()>,
}

/// Where the results of an exchange's jobs go: it finds them there.
#[derive(Clone, Default)]
pub(super) struct Results(Arc<Mutex<Option<JobDone>>>);

impl Results {
    pub fn take(&self) -> Option<JobDone> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Job {
    fn of(all: &Exchange, what: What) -> Job {
        Job { storage: all.storage.clone(), what, results: all.results.clone() }
    }

    /// Reads or writes a window.
    pub(super) fn of_window(all: &Exchange, window: Window, views: Views) -> Job {
        let what = match all.direction {
            Direction::Read => What::Read { window, views },
            Direction::Write => {
                What::Write { window, views, stage: all.stage.clone(), written: all.written.clone() }
            }
        };
        Job::of(all, what)
    }

    /// Asks for the size of the file.
    pub(super) fn size(all: &Exchange) -> Job {
        Job::of(all, What::Size)
    }

    /// Runs the job.
    pub fn run(self, blocking: &Blocking<'_>) -> Finished {
        let Job { storage, what, results } = self;
        let calls = storage.calls(blocking);
        let done = match what {
            What::Write { mut window, views, stage, written } => {
                let done = match &stage {
                    Some(stage) => put(&mut window, &views, stage, &storage, &calls),
                    None => write(&mut window, &views, &calls),
                };
                written.store(true, Ordering::Relaxed);
                JobDone { window: Some(window), size: None, done }
            }
            What::Read { mut window, views } => {
                let done = window.read(&views, &calls);
                JobDone { window: Some(window), size: None, done }
            }
            What::Size => {
                let size = calls.size();
                let size = size.map_err(failed("the size of the file is not known"));
                JobDone { window: None, size: Some(size.unwrap_or(0)), done: size.map(drop) }
            }
        };
        Finished { results, done }
    }

    /// Has a thread of the library run it; the exchange goes on when that is done.
    pub fn start_apart(self) {
        let lane = lane(&self.storage, false, Use::Together);
        let place = Arc::new(Mutex::new(Some(self)));
        let job = |place: &Mutex<Option<Job>>| place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let of_worker = place.clone();
        let started = engine::run_blocking(
            lane,
            move |blocking| job(&of_worker).map(|job| job.run(blocking)),
            |_: &mut State, finished: Option<Finished>| finished.into_iter().for_each(Finished::hand_in),
        );
        if let Err(error) = started {
            job(&place).into_iter().for_each(|job| job.failed(error).hand_in());
        }
    }

    /// It cannot be run.
    fn failed(self, error: Error) -> Finished {
        let Job { what, results, .. } = self;
        let (window, size) = match what {
            What::Write { window, .. } | What::Read { window, .. } => (Some(window), None),
            What::Size => (None, Some(0)),
        };
        Finished { results, done: JobDone { window, size, done: Err(error) } }
    }
}

/// A job that was run.
pub struct Finished {
    results: Results,
    done: JobDone,
}

impl Finished {
    /// Gives the exchange what has come of it.
    pub(crate) fn hand_in(self) {
        *self.results.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.done);
    }
}

/// Puts the bytes of all ranks into the file.
fn write(window: &mut Window, views: &Views, calls: &Calls<'_>) -> Result<()> {
    let (parts, scratch) = window.parts(views);
    scratch.write(calls, &parts).map_err(failed("the system could not write the file"))
}

/// Has the stage of the file take the bytes of all ranks over.
fn put(
    window: &mut Window,
    views: &Views,
    stage: &Arc<Stage>,
    storage: &Arc<Posix>,
    calls: &Calls<'_>,
) -> Result<()> {
    let (pieces, bytes) = window.take_pieces(views);
    match stage.put(calls, &pieces, bytes) {
        Ok(starts) => {
            if starts {
                staged::start(stage, storage);
            }
            window.stage = stage.spare();
            Ok(())
        }
        Err(back) => {
            window.stage = back;
            stage.drain(calls);
            write(window, views, calls)
        }
    }
}
