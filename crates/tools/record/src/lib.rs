//! The recorder: a tool over the wrappers that writes down each rank's MPI calls. `mpiexec -record DIR` asks for it and
//! names the folder; the format is that of the crate `recording`.
//!
//! A call that is recorded costs four readings of clocks and some ten bytes of memory, written every [`BLOCK`] bytes. Calls
//! before `MPI_Init` and those of sessions without it are not recorded.
#![forbid(unsafe_code)]

mod state;
mod values;

use interpose::{Call, Tool, clock};

/// Bytes that are collected before they are written to the file.
const BLOCK: usize = 1 << 20;

/// The tool.
pub static RECORDER: Recorder = Recorder;

/// The recorder of this process.
pub struct Recorder;

/// What is kept of a call while the library's function runs.
struct Begun {
    /// When the program called, and the processor time of the thread so far, both in nanoseconds.
    entered: (u64, u64),
    values: Vec<i64>,
}

impl Tool for Recorder {
    fn begin(&self) -> bool {
        state::is_wanted()
    }

    fn enter(&self, call: &Call<'_>) -> usize {
        if !state::is_running() || !values::is_recorded(call.function) {
            return 0;
        }
        let begun = Begun { entered: (clock::now(), clock::thread_time()), values: values::before(call) };
        // The recording ends here: after these calls nothing can be asked, and the second does not return.
        if matches!(call.function.name, "MPI_Finalize" | "MPI_Abort") {
            state::with(|recording| recording.call(call, begun.entered, 0, &[]));
            state::end();
            return 0;
        }
        state::keep(begun)
    }

    fn leave(&self, call: &Call<'_>, word: usize, code: i32) {
        let Some(mut begun) = state::take(word) else {
            // A call that was not recorded has ended: after `MPI_Init` the recording begins.
            if code == 0 && matches!(call.function.name, "MPI_Init" | "MPI_Init_thread") {
                state::begin();
            }
            return;
        };
        if code == 0 {
            values::after(call, &mut begun.values);
        }
        let took = call.ended().saturating_sub(call.started());
        state::with(|recording| recording.call(call, begun.entered, took, &begun.values));
    }
}
