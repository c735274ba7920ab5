//! MPIR: how a debugger that has started mpiexec, or attaches to it, finds the ranks of the job.
//!
//! ```text
//!   debugger                                      mpiexec
//!    │ MPIR_being_debugged = 1, breakpoint ──────►  starts the ranks, whose MPI_Init waits for it
//!    │ ◄──── stopped in MPIR_Breakpoint ─────────   MPIR_proctable: host, program, process of each rank
//!    │ attaches to ranks, goes on ───────────────►  the ranks go on
//! ```
//!
//! The variables are C's (`mpir.c`), since debuggers find them and their type by C's names.

use std::ffi::{CString, c_char, c_int};

/// A rank.
#[derive(Clone, Debug)]
pub struct Process {
    /// Where it runs.
    pub host: String,
    /// Its program.
    pub program: String,
    /// Its process there.
    pub pid: i32,
}

/// `MPIR_PROCDESC`.
#[repr(C)]
struct Description {
    host_name: *mut c_char,
    executable_name: *mut c_char,
    pid: c_int,
}

unsafe extern "C" {
    safe fn alhena_mpir_is_debugged() -> c_int;
    fn alhena_mpir_spawned(processes: *mut Description, size: c_int);
    fn alhena_mpir_aborting(reason: *mut c_char);
}

/// Whether a debugger has started this process, and wants to have the ranks before they run.
pub fn is_debugged() -> bool {
    alhena_mpir_is_debugged() != 0
}

/// The ranks were started. Returns when the debugger lets this process go on.
pub fn spawned(processes: &[Process]) {
    let description = |it: &Process| Description {
        host_name: text(&it.host),
        executable_name: text(&it.program),
        pid: it.pid,
    };
    let table: Vec<Description> = processes.iter().map(description).collect();
    let size = table.len() as c_int;
    // A debugger that attaches to this process later reads it, so it stays.
    let table = Box::leak(table.into_boxed_slice());
    // SAFETY: the table has as many entries, and stays.
    unsafe { alhena_mpir_spawned(table.as_mut_ptr(), size) };
}

/// The job is ended because of an error.
pub fn aborting(reason: &str) {
    // SAFETY: the text stays.
    unsafe { alhena_mpir_aborting(text(reason)) };
}

/// Text for C, which stays.
fn text(text: &str) -> *mut c_char {
    CString::new(text.replace('\0', " ")).unwrap_or_default().into_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_no_debugger_looks_at_goes_on() {
        assert!(!is_debugged());
        spawned(&[Process { host: "h".into(), program: "./a".into(), pid: 7 }]);
        aborting("rank 0\0is lost");
    }
}
