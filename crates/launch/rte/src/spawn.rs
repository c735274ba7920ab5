//! Starting one process: the child shares the launcher's memory until it executes its program, so starting
//! costs no copy of page tables, and a failed exec reaches the parent as a number.
//!
//! ```text
//!   proxy                                  child (same memory, own stack, own descriptors)
//!    │ clone(VM | VFORK | PIDFD) ────────►  setpgid, death signal, processors, 0/1/2, directory, mask
//!    │   (suspended)                        execve ──────► program
//!    │ ◄──────────────────────────────────
//!    └ pid and pidfd, or which step failed and why
//! ```

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use crate::signals::Set;
use hardware::CpuSet;

/// Bytes of the child's stack: it makes a few system calls and no deep ones.
const STACK: usize = 64 * 1024;

/// The step that binds the program to processors.
pub const BINDING: &str = "binding to processors";

/// The last step, after which the program runs.
pub const EXECUTING: &str = "executing the program";

/// What to start.
pub struct Command<'a> {
    /// Path of the program.
    pub program: &'a CStr,
    /// Its arguments, the program's name first.
    pub arguments: &'a [&'a CStr],
    /// Its whole environment, as `NAME=value`.
    pub environment: &'a [&'a CStr],
    /// Working directory; the caller's by default.
    pub directory: Option<&'a CStr>,
    /// Standard input, output and error. They must not be 0, 1 or 2 unless they stay in place.
    pub standard: [BorrowedFd<'a>; 3],
    /// A descriptor that the program inherits under its present number.
    pub keep: Option<BorrowedFd<'a>>,
    /// Processors the program may use; the caller's by default.
    pub cpus: Option<&'a CpuSet>,
    /// The program's mask of blocked signals.
    pub mask: &'a Set,
    /// The program's limit of open files.
    pub open_files: Option<libc::rlimit>,
}

/// A started process. It leads a process group of its own and dies with its parent.
pub struct Child {
    /// Its process id.
    pub pid: i32,
    /// Refers to the process whatever happens to the number; `None`: this kernel has no such descriptors.
    pub pidfd: Option<OwnedFd>,
}

/// Which step of the child failed.
#[derive(Debug)]
pub struct SpawnError {
    /// The step.
    pub step: &'static str,
    /// The system's error.
    pub source: io::Error,
}

/// Starts processes, one at a time; keeps the stack that they borrow until they execute.
pub struct Spawner {
    stack: Vec<u8>,
}

impl Spawner {
    /// A spawner. All signals must be blocked in the calling thread whenever it is used.
    pub fn new() -> Spawner {
        Spawner { stack: vec![0; STACK] }
    }

    /// Starts `command` and returns once its program runs.
    pub fn spawn(&mut self, command: &Command<'_>) -> Result<Child, SpawnError> {
        let pointers = |list: &[&CStr]| -> Vec<*const c_char> {
            list.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect()
        };
        let (arguments, environment) = (pointers(command.arguments), pointers(command.environment));
        let words = command.cpus.map(CpuSet::words);
        let mut plan = ChildPlan {
            program: command.program.as_ptr(),
            arguments: arguments.as_ptr(),
            environment: environment.as_ptr(),
            directory: command.directory.map_or(ptr::null(), CStr::as_ptr),
            standard: command.standard.map(|fd| fd.as_raw_fd()),
            keep: command.keep.map(|fd| fd.as_raw_fd()),
            cpus: words.as_ref().map_or(&[], |words| words.as_slice()),
            mask: command.mask,
            open_files: command.open_files,
            parent: std::process::id() as libc::pid_t,
            failed_step: "",
            errno: 0,
        };
        let mut pidfd: c_int = -1;
        let mut clone = |flags| {
            // SAFETY: the stack grows down from its aligned end and is used by no other code, for CLONE_VFORK
            // suspends us until the child has executed or ended. `plan` and all it points to outlive that. The
            // child makes system calls only (see `run_child`), with all signals blocked.
            let pid = unsafe {
                let top = self.stack.as_mut_ptr().add(STACK);
                let top = top.sub(top.addr() % 16);
                let flags = flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
                libc::clone(run_child, top.cast(), flags, (&raw mut plan).cast::<c_void>(), &raw mut pidfd)
            };
            if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
        };
        let refused = |error: &io::Error| {
            matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EINVAL))
        };
        let pid = match clone(libc::CLONE_PIDFD) {
            Err(error) if refused(&error) => clone(0),
            outcome => outcome,
        };
        let pid = pid.map_err(|source| SpawnError { step: "creating a process", source })?;
        // SAFETY: CLONE_PIDFD stored a new descriptor with no other owner. Kernels before 5.2 do not know the flag and
        // leave the number alone.
        let pidfd = (pidfd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(pidfd) });
        if plan.errno == 0 {
            return Ok(Child { pid, pidfd });
        }
        let _ = rustix::process::waitpid(
            rustix::process::Pid::from_raw(pid),
            rustix::process::WaitOptions::empty(),
        );
        Err(SpawnError { step: plan.failed_step, source: io::Error::from_raw_os_error(plan.errno) })
    }
}

/// What the child does, in plain values and pointers.
struct ChildPlan<'a> {
    program: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    directory: *const c_char,
    standard: [RawFd; 3],
    keep: Option<RawFd>,
    cpus: &'a [u64],
    mask: &'a Set,
    open_files: Option<libc::rlimit>,
    parent: libc::pid_t,
    failed_step: &'static str,
    errno: c_int,
}

/// The child's life up to its program. System calls only: the memory is the parent's.
extern "C" fn run_child(plan: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes its `ChildPlan`, which lives and is touched by no other code while the parent sleeps.
    let plan = unsafe { &mut *plan.cast::<ChildPlan<'_>>() };
    // SAFETY: every pointer of the plan is valid (see `spawn`), and all calls are async-signal-safe.
    if let Err(step) = unsafe { become_program(plan) } {
        plan.failed_step = step;
        plan.errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
    }
    // SAFETY: ends this process only, without running exit handlers of the shared memory.
    unsafe { libc::_exit(127) }
}

/// Does every step in order; returns the one that failed, with errno set. Never returns `Ok` after success.
///
/// # Safety
/// The plan's pointers are valid, and the caller is a fresh child.
unsafe fn become_program(plan: &ChildPlan<'_>) -> Result<(), &'static str> {
    let check = |rc: c_int, step| if rc < 0 { Err(step) } else { Ok(()) };
    // SAFETY: plain system calls on values and pointers that the caller vouches for.
    unsafe {
        check(libc::setpgid(0, 0), "making a process group")?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), "asking for a death signal")?;
        if libc::getppid() != plan.parent {
            libc::_exit(127);
        }
        if !plan.cpus.is_empty() {
            let mask = plan.cpus.as_ptr().cast::<libc::cpu_set_t>();
            check(libc::sched_setaffinity(0, size_of_val(plan.cpus), mask), BINDING)?;
        }
        for (to, &from) in plan.standard.iter().enumerate() {
            if from != to as RawFd {
                check(libc::dup2(from, to as RawFd), "connecting standard input and output")?;
            }
        }
        if let Some(fd) = plan.keep {
            check(libc::fcntl(fd, libc::F_SETFD, 0), "passing on the PMI connection")?;
        }
        if !plan.directory.is_null() {
            check(libc::chdir(plan.directory), "entering the working directory")?;
        }
        if let Some(limit) = plan.open_files {
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        plan.mask.block();
        check(libc::execve(plan.program, plan.arguments, plan.environment), EXECUTING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    fn run(program: &CStr, script: &CStr) -> (Result<Child, SpawnError>, String) {
        let null = File::open("/dev/null").unwrap();
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let all = Set::full();
        let before = all.block();
        let result = Spawner::new().spawn(&Command {
            program,
            arguments: &[c"sh", c"-c", script],
            environment: &[c"COLOUR=green"],
            directory: Some(c"/"),
            standard: [null.as_fd(), writer.as_fd(), writer.as_fd()],
            keep: None,
            cpus: None,
            mask: &before,
            open_files: None,
        });
        before.block();
        drop(writer);
        let mut text = String::new();
        File::from(reader).read_to_string(&mut text).unwrap();
        (result, text)
    }

    #[test]
    fn a_program_gets_its_environment_directory_and_group() {
        let script = c"echo $COLOUR $PWD; [ $(ps -o pgid= -p $$) = $$ ] && echo leader";
        let (child, text) = run(c"/bin/sh", script);
        let child = child.unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(text, "green /\nleader\n");
        rustix::process::waitpid(
            rustix::process::Pid::from_raw(child.pid),
            rustix::process::WaitOptions::empty(),
        )
        .unwrap();
    }

    #[test]
    fn a_missing_program_is_reported_with_its_step() {
        let (child, _) = run(c"/no/such/program", c"");
        let error = child.err().unwrap();
        assert_eq!((error.step, error.source.raw_os_error()), (EXECUTING, Some(libc::ENOENT)));
    }
}
