//! The thread that reads the changes of the address space.
//!
//! A thread that unmaps watched memory waits until this thread has read the event. So between two reads it takes no lock,
//! and neither allocates nor frees memory: `free` may unmap, and a thread that waits for itself waits for ever.

use crate::extent::Extent;
use crate::uffd::{self, Change, Message, Uffd};
use crate::validity::WatchTable;
use crate::watch::{Watch, WatchId};
use core::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Ranges that can be watched at a time: as many as a Gemini NIC has memory descriptors.
const SLOTS: usize = 4096;
/// Events read at a time.
const BATCH: usize = 16;
/// Bytes of the thread's stack.
const STACK: usize = 128 << 10;

/// Watches memory of this process by userfaultfd. One per process, shared by its caches: memory has one watcher.
#[derive(Debug)]
pub struct Monitor {
    shared: Arc<Shared>,
    /// Slots that are free. Not used by the thread.
    free: Mutex<Vec<u32>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    uffd: Uffd,
    table: WatchTable,
    stop: OwnedFd,
}

/// Why the address space cannot be watched.
#[derive(Debug)]
pub struct Refused(io::Error);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "registrations of user buffers are not cached: userfaultfd is refused ({}); allow the call in the \
             container's seccomp profile",
            self.0
        )
    }
}

impl std::error::Error for Refused {}

impl Monitor {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Refused`]: the kernel lacks userfaultfd with these events (5.11), or forbids it.
    pub fn start() -> Result<Monitor, Refused> {
        let uffd = Uffd::open().map_err(Refused)?;
        let stop = uffd::bell().map_err(Refused)?;
        let shared = Arc::new(Shared { uffd, table: WatchTable::new(SLOTS), stop });
        let thread = {
            let shared = Arc::clone(&shared);
            let builder = std::thread::Builder::new().name("rcache".into()).stack_size(STACK);
            platform::thread::without_signals(|| builder.spawn(move || shared.run())).map_err(Refused)?
        };
        Ok(Monitor { shared, free: Mutex::new((0..SLOTS as u32).rev().collect()), thread: Some(thread) })
    }

    fn free(&self) -> MutexGuard<'_, Vec<u32>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Monitor {
    fn watch(&self, extent: Extent) -> Option<WatchId> {
        let mut free = self.free();
        let slot = free.pop()?;
        self.shared.table.take(slot, extent);
        if self.shared.uffd.register(extent).is_err() {
            // The kernel may have taken part of it.
            self.shared.stop_watching(slot);
            free.push(slot);
            return None;
        }
        Some(WatchId(slot))
    }

    fn unwatch(&self, WatchId(slot): WatchId) {
        let mut free = self.free();
        self.shared.stop_watching(slot);
        free.push(slot);
    }

    #[inline]
    fn settle(&self) {
        // First what the kernel has done and not yet reported, then what the thread has read and not yet written down.
        while self.shared.uffd.is_changing() {
            platform::waiter::give_way();
        }
        self.shared.table.settle();
    }

    #[inline]
    fn is_valid(&self, WatchId(slot): WatchId) -> bool {
        self.shared.table.is_valid(slot)
    }

    #[inline]
    fn invalidations(&self) -> u64 {
        self.shared.table.invalidations()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        // Not left to the descriptor's end, as a forked child may hold it open for longer.
        for slot in 0..self.shared.table.used() {
            if let Some(extent) = self.shared.table.extent(slot) {
                self.shared.uffd.unregister(extent);
            }
        }
        uffd::ring(&self.shared.stop);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread aborts the process.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// The thread.
    fn run(&self) {
        let mut messages = [Message::EMPTY; BATCH];
        loop {
            let (changed, stopped) = uffd::wait(self.uffd.as_fd(), self.stop.as_fd());
            if changed {
                self.table.begin();
                loop {
                    let read = self.uffd.read(&mut messages);
                    if read == 0 {
                        break;
                    }
                    messages[..read].iter().for_each(|message| self.handle(message.change()));
                }
                self.table.end();
            } else if stopped {
                return;
            }
        }
    }

    fn handle(&self, change: Change) {
        match change {
            Change::Gone(extent) => self.table.invalidate(extent),
            Change::Moved { from, to } => {
                self.table.invalidate(from);
                self.table.invalidate(to);
                // It is not watched there, and no caller can ask for it before `settle`.
                self.uffd.unregister(to);
            }
            Change::Other => {}
        }
    }

    /// Frees a slot; what no other slot covers of its range is not watched any more.
    fn stop_watching(&self, slot: u32) {
        let Some(extent) = self.table.extent(slot) else { return };
        self.table.free(slot);
        self.unregister_from(0, extent);
    }

    /// Unregisters what no slot from `slot` on covers of `extent`.
    fn unregister_from(&self, slot: u32, extent: Extent) {
        if extent.is_empty() {
            return;
        }
        let others = slot..self.table.used();
        let overlapping = others
            .filter_map(|slot| Some((slot, self.table.extent(slot)?)))
            .find(|(_, other)| other.overlaps(extent));
        match overlapping {
            None => self.uffd.unregister(extent),
            Some((slot, other)) => {
                for part in extent.without(other) {
                    self.unregister_from(slot + 1, part);
                }
            }
        }
    }
}
