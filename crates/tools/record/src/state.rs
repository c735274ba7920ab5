//! The recording of this process.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use interpose::{Call, Stack, ask, clock};
use recording::Writer;

/// Bytes that are collected before they are written to the file.
const BLOCK: usize = 1 << 20;

/// Set by `mpiexec -record DIR`.
const FOLDER: &str = "ALHENA_RECORD";

/// What is kept of a call while the library's function runs.
pub struct Begun {
    /// When the program called, and the processor time of the thread so far, both in nanoseconds.
    pub entered: (u64, u64),
    pub values: Vec<i64>,
}

/// A recording under way.
pub struct Recording {
    file: File,
    writer: Writer,
    named: Vec<bool>,
    /// When the last call ended, and the processor time of its thread so far, both in nanoseconds.
    last: (u64, u64),
}

/// The file is open. Relaxed is enough: the lock orders everything else.
static RUNNING: AtomicBool = AtomicBool::new(false);
static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);

thread_local! {
    /// Calls of this thread that have begun.
    pub static BEGUN: Stack<Begun> = const { Stack::new() };
}

/// Whether a recording is asked for.
pub fn is_wanted() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// Whether calls are recorded.
pub fn is_running() -> bool {
    RUNNING.load(Ordering::Relaxed)
}

/// Calls `work` with the recording, if there is one.
pub fn with<R>(work: impl FnOnce(&mut Recording) -> R) -> Option<R> {
    let mut recording = RECORDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    recording.as_mut().map(work)
}

/// The library is initialized: opens the file.
pub fn begin() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let rank = ask::comm_rank(ask::COMM_WORLD) as u32;
    let size = ask::comm_size(ask::COMM_WORLD) as u32;
    let path = folder.join(recording::file_name(rank));
    let file = match std::fs::create_dir_all(&folder).and_then(|()| File::create(&path)) {
        Ok(file) => file,
        Err(error) => {
            eprintln!(
                "alhena: recording MPI calls failed\n  seen: {} cannot be written: {error}\n  next: name a folder that \
                 can: mpiexec -record DIR",
                path.display()
            );
            return;
        }
    };
    let mut writer = Writer::new(rank, size);
    writer.comm(ask::COMM_WORLD as i64, &(0..size).collect::<Vec<u32>>());
    let recording = Recording { file, writer, named: Vec::new(), last: (clock::now(), clock::thread_time()) };
    *RECORDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(recording);
    RUNNING.store(true, Ordering::Relaxed);
}

impl Recording {
    /// Writes a call that took so many nanoseconds; nothing of the time that writing takes is counted as computing.
    pub fn call(&mut self, call: &Call<'_>, entered: (u64, u64), took: u64, values: &[i64]) {
        let number = call.number();
        if self.named.len() <= number {
            self.named.resize(number + 1, false);
        }
        if !std::mem::replace(&mut self.named[number], true) {
            self.writer.name(number as u64, call.function.name);
        }
        let gap = entered.0.saturating_sub(self.last.0);
        // Another thread may have made the last call; its processor time means nothing here.
        let computed = entered.1.saturating_sub(self.last.1).min(gap);
        self.writer.call(number as u64, gap, computed, took, values);
        if self.writer.len() >= BLOCK {
            self.store();
        }
        self.last = (clock::now(), clock::thread_time());
    }

    /// Writes a communicator.
    pub fn comm(&mut self, handle: i64, ranks: &[u32]) {
        self.writer.comm(handle, ranks);
    }

    fn store(&mut self) {
        // A full disk ends the recording early; a reader sees where.
        let _ = self.file.write_all(&self.writer.take());
    }
}

/// Ends the recording: `MPI_Finalize` is next, or `MPI_Abort`.
pub fn end() {
    RUNNING.store(false, Ordering::Relaxed);
    let recording = RECORDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    if let Some(mut recording) = recording {
        recording.store();
    }
}
