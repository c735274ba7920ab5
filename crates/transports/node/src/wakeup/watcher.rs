//! The thread that watches descriptors and rings a doorbell.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use platform::epoll::Epoll;
use shm::doorbell::Doorbell;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Watcher {
    doorbell: &'static Doorbell,
    set: Arc<Epoll>,
    descriptors: Mutex<Vec<OwnedFd>>,
    /// Whether the thread runs, once it was started.
    runs: OnceLock<bool>,
}

impl Watcher {
    /// # Errors
    /// The system's error.
    pub(crate) fn new(doorbell: &'static Doorbell, descriptors: &[BorrowedFd<'_>]) -> io::Result<Watcher> {
        let set = Arc::new(Epoll::new()?);
        let own = descriptors.iter().map(BorrowedFd::try_clone_to_owned).collect::<io::Result<Vec<_>>>()?;
        for fd in &own {
            set.add(fd.as_fd(), super::ANY, false)?;
        }
        Ok(Watcher { doorbell, set, descriptors: Mutex::new(own), runs: OnceLock::new() })
    }

    /// One more descriptor, which the next sleep arms.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn add(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let own = descriptor.try_clone_to_owned()?;
        self.set.add(own.as_fd(), super::ANY, false)?;
        self.descriptors().push(own);
        Ok(())
    }

    fn descriptors(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        self.descriptors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next time that a descriptor is readable, be that now, the doorbell is rung; `false`: it will not be.
    pub(crate) fn arm(&self) -> bool {
        let runs = *self.runs.get_or_init(|| {
            let (doorbell, set) = (self.doorbell, Arc::clone(&self.set));
            platform::thread::start("alhena-watch", move || watch(doorbell, &set)).is_ok()
        });
        runs && self.descriptors().iter().all(|fd| self.set.report_once(fd.as_fd(), super::ANY).is_ok())
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
