//! The thread that watches descriptors and rings a doorbell.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use platform::epoll::Epoll;
use shm::doorbell::Doorbell;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Watcher {
    doorbell: &'static Doorbell,
    set: Arc<Epoll>,
    descriptors: Box<[OwnedFd]>,
    /// Whether the thread runs, once it was started.
    runs: OnceLock<bool>,
}

impl Watcher {
    /// # Errors
    /// The system's error.
    pub(crate) fn new(doorbell: &'static Doorbell, descriptors: &[BorrowedFd<'_>]) -> io::Result<Watcher> {
        let set = Arc::new(Epoll::new()?);
        let own = descriptors.iter().map(BorrowedFd::try_clone_to_owned).collect::<io::Result<Box<[_]>>>()?;
        for fd in &own {
            set.add(fd.as_fd(), super::ANY, false)?;
        }
        Ok(Watcher { doorbell, set, descriptors: own, runs: OnceLock::new() })
    }

    /// The next time that a descriptor is readable, be that now, the doorbell is rung; `false`: it will not be.
    pub(crate) fn arm(&self) -> bool {
        let runs = *self.runs.get_or_init(|| {
            let (doorbell, set) = (self.doorbell, Arc::clone(&self.set));
            platform::thread::start("alhena-watch", move || watch(doorbell, &set)).is_ok()
        });
        runs && self.descriptors.iter().all(|fd| self.set.report_once(fd.as_fd(), super::ANY).is_ok())
    }
}

/// The thread. A report that finds no thread asleep is forgotten: the thread that sleeps next asks for another.
fn watch(doorbell: &'static Doorbell, set: &Epoll) -> ! {
    let mut ready = Vec::new();
    loop {
        set.wait(&mut ready);
        if !ready.is_empty() {
            doorbell.ring(|word| platform::futex::wake(word, i32::MAX));
        }
    }
}
