//! The recording of this process.

use crate::BLOCK;
use crate::real::Real;
use recording::Writer;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Set by `mpiexec -record DIR`.
const FOLDER: &str = "ALHENA_RECORD";
/// The handle of `MPI_COMM_WORLD` in the standard ABI.
pub const COMM_WORLD: usize = 0x101;

/// A recording under way.
pub struct Recording {
    file: File,
    writer: Writer,
    named: Vec<bool>,
    /// When the last call ended.
    last: Moment,
}

/// A moment, and the processor time of the calling thread so far in nanoseconds.
#[derive(Clone, Copy)]
pub struct Moment {
    pub at: Instant,
    pub computed: u64,
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

impl Moment {
    /// The present moment.
    pub fn now() -> Moment {
        let mut time = Timespec { seconds: 0, nanoseconds: 0 };
        // SAFETY: the function writes one `timespec`.
        unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        Moment { at: Instant::now(), computed: time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64 }
    }
}

/// The file is open. Relaxed is enough: the lock orders everything else.
static RUNNING: AtomicBool = AtomicBool::new(false);
static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);

/// Whether calls are recorded.
pub fn is_running() -> bool {
    RUNNING.load(Ordering::Relaxed)
}

/// Calls `work` with the recording, if there is one.
pub fn with<R>(work: impl FnOnce(&mut Recording) -> R) -> Option<R> {
    let mut recording = RECORDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    recording.as_mut().map(work)
}

/// A call that was not recorded has ended: after `MPI_Init` the recording begins.
pub fn after(name: &str, answer: i32) {
    if answer == 0 && matches!(name, "MPI_Init" | "MPI_Init_thread") {
        begin();
    }
}

fn begin() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (rank, size) = (ask("PMPI_Comm_rank\0", COMM_WORLD), ask("PMPI_Comm_size\0", COMM_WORLD));
    let path = folder.join(recording::file_name(rank));
    let file = std::fs::create_dir_all(&folder).and_then(|()| File::create(&path));
    let file = match file {
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
    writer.comm(COMM_WORLD as i64, &(0..size).collect::<Vec<u32>>());
    let recording = Recording { file, writer, named: Vec::new(), last: Moment::now() };
    *RECORDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(recording);
    RUNNING.store(true, Ordering::Relaxed);
}

/// The answer of `PMPI_Comm_rank` or `PMPI_Comm_size`.
pub fn ask(function: &'static str, comm: usize) -> u32 {
    let mut answer = 0i32;
    let real = Real::new(function).address();
    // SAFETY: both functions take a communicator and a pointer to an int.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(usize, *mut i32) -> i32>(real)(
            comm,
            &raw mut answer,
        )
    };
    answer as u32
}

impl Recording {
    /// Writes a call; nothing of the time that this takes is counted as computing.
    pub fn call(&mut self, number: usize, name: &str, entered: Moment, took: Duration, values: &[i64]) {
        if self.named.len() <= number {
            self.named.resize(number + 1, false);
        }
        if !std::mem::replace(&mut self.named[number], true) {
            self.writer.name(number as u64, name);
        }
        let gap = entered.at.saturating_duration_since(self.last.at).as_nanos() as u64;
        // Another thread may have made the last call; its processor time means nothing here.
        let computed = entered.computed.saturating_sub(self.last.computed).min(gap);
        self.writer.call(number as u64, gap, computed, took.as_nanos() as u64, values);
        if self.writer.len() >= BLOCK {
            self.store();
        }
        self.last = Moment::now();
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
