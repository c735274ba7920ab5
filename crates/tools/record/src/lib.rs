//! The recorder: a tool over the wrappers that writes down each rank's MPI calls. `mpiexec -record DIR` asks for it and
//! names the folder; the format is that of the crate `recording`.
//!
//! A call that is recorded costs four readings of clocks and some ten bytes of memory, written every `state::BLOCK` bytes. Calls
//! before `MPI_Init` and those of sessions without it are not recorded.
#![forbid(unsafe_code)]

mod state;
mod values;

use interpose::{Call, Tool, clock};

use state::Begun;

/// The tool.
pub static RECORDER: Recorder = Recorder;

/// The recorder of this process.
pub struct Recorder;

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
        state::BEGUN.with(|stack| stack.keep(begun))
    }

    fn leave(&self, call: &Call<'_>, word: usize, code: i32) {
        let Some(mut begun) = state::BEGUN.with(|stack| stack.take(word)) else {
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
