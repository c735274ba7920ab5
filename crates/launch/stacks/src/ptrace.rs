//! The system calls: threads of another process stopped for a moment, their registers and memory.

use std::ffi::{c_long, c_void};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::time::{Duration, Instant};

use framehop::UnwindRegsNative;

/// The kernel gets so long to stop a thread: one that waits for a disk or a network file system does not stop.
const PATIENCE: Duration = Duration::from_millis(500);

/// Bytes of a stack that are copied at most: some hundred frames of usual size.
const DEPTH: usize = 256 << 10;

/// Registers of a stopped thread.
#[derive(Clone, Copy, Debug)]
pub struct Registers(libc::user_regs_struct);

impl Registers {
    /// The place of the next instruction, and what unwinding begins with.
    #[cfg(target_arch = "x86_64")]
    pub fn start(&self) -> (u64, UnwindRegsNative) {
        (self.0.rip, UnwindRegsNative::new(self.0.rip, self.0.rsp, self.0.rbp))
    }

    #[cfg(target_arch = "x86_64")]
    fn stack_pointer(&self) -> u64 {
        self.0.rsp
    }

    /// The place of the next instruction, and what unwinding begins with.
    #[cfg(target_arch = "aarch64")]
    pub fn start(&self) -> (u64, UnwindRegsNative) {
        (self.0.pc, UnwindRegsNative::new(self.0.regs[30], self.0.sp, self.0.regs[29]))
    }

    #[cfg(target_arch = "aarch64")]
    fn stack_pointer(&self) -> u64 {
        self.0.sp
    }
}

/// What is kept of a stopped thread.
#[derive(Clone, Debug)]
pub struct Copy {
    /// Its registers.
    pub registers: Registers,
    from: u64,
    stack: Vec<u8>,
}

impl Copy {
    /// The word of its stack at an address, if that was copied.
    pub fn word(&self, address: u64) -> Option<u64> {
        let offset = usize::try_from(address.checked_sub(self.from)?).ok()?;
        let bytes = self.stack.get(offset..offset.checked_add(8)?)?;
        bytes.try_into().ok().map(u64::from_ne_bytes)
    }
}

/// The threads of a process.
pub fn threads(pid: i32) -> io::Result<Vec<i32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))?;
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    Ok(entries.flatten().filter_map(number).collect())
}

/// The name of a thread.
pub fn name(pid: i32, thread: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/task/{thread}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// Bytes of the memory of a process; fewer where not all are there.
pub fn memory(pid: i32, address: u64, most: usize) -> io::Result<Vec<u8>> {
    const PAGE: u64 = 4096;
    let memory = File::open(format!("/proc/{pid}/mem"))?;
    let mut bytes = vec![0; most];
    match memory.read_at(&mut bytes, address) {
        Ok(read) => bytes.truncate(read),
        // The kernel copies up to the first page that is not there, if it has copied anything.
        Err(error) => {
            let page = (PAGE - address % PAGE) as usize;
            bytes.truncate(page.min(most));
            memory.read_exact_at(&mut bytes, address).map_err(|_| error)?;
        }
    }
    Ok(bytes)
}

/// Stops a thread, copies what is needed, and lets it go on.
///
/// A thread that ends then has traced it: the kernel takes back what that has asked for and not got. Else a thread that stops only
/// after [`PATIENCE`] would not go on for as long as this process lives.
pub fn copy(pid: i32, thread: i32) -> io::Result<Copy> {
    std::thread::scope(|scope| {
        let tracer = std::thread::Builder::new().spawn_scoped(scope, || trace(pid, thread))?;
        tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn trace(pid: i32, thread: i32) -> io::Result<Copy> {
    seize(thread, 0)?;
    interrupt(thread)?;
    let signal = stop(thread)?;
    let copy = stopped_copy(pid, thread);
    release(thread, signal);
    copy
}

/// What is needed of a thread that the calling one traces, and that is stopped.
///
/// # Errors
/// The system's: it is not stopped, or has ended.
pub fn stopped_copy(pid: i32, thread: i32) -> io::Result<Copy> {
    let registers = registers(thread)?;
    // The red zone of x86-64 is below the stack pointer; unwinding does not need it.
    let from = registers.stack_pointer();
    Ok(Copy { registers, from, stack: memory(pid, from, DEPTH).unwrap_or_default() })
}

/// Waits until a thread that was interrupted stops; the signal that it is to get when it goes on.
fn stop(thread: i32) -> io::Result<i32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut status = 0;
        // SAFETY: the place for the status lives.
        let found = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) };
        match found {
            0 if Instant::now() >= deadline => return Err(io::ErrorKind::TimedOut.into()),
            0 => std::thread::sleep(Duration::from_micros(20)),
            _ if found == thread && libc::WIFSTOPPED(status) => {
                let is_event = status >> 16 != 0;
                return Ok(if is_event { 0 } else { libc::WSTOPSIG(status) });
            }
            _ if found == thread => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            _ => return Err(io::Error::last_os_error()),
        }
    }
}

/// Traces a thread, which does not stop for that, with these options (`PTRACE_O_…`).
fn seize(thread: i32, options: i32) -> io::Result<()> {
    // SAFETY: plain numbers.
    checked(unsafe { libc::ptrace(libc::PTRACE_SEIZE, thread, ptr::null_mut::<c_void>(), options as usize) })
}

/// Traces the first thread of a process to its end, with the threads and processes that it starts.
///
/// # Errors
/// The system's: it has ended, or that is forbidden.
pub fn follow(pid: i32) -> io::Result<()> {
    seize(
        pid,
        libc::PTRACE_O_TRACEEXIT
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACEEXEC,
    )
}

/// A thread that this one traces has stopped.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// The thread.
    pub thread: i32,
    /// Why (`PTRACE_EVENT_…`); 0: for a signal.
    pub event: i32,
    /// The signal.
    pub signal: i32,
}

/// What there is to be answered.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A stop.
    Stop(Stop),
    /// Nothing now.
    Nothing,
    /// Nothing any more: this thread traces no other one.
    NoChild,
}

/// The next stop of what this thread traces, waited for where `waits`. Ends are left alone.
pub fn next_stop(waits: bool) -> Found {
    let options = libc::WSTOPPED | libc::__WALL | libc::__WNOTHREAD | if waits { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: plain data, for which zero is a value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the place for the answer lives.
        if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, options) } == 0 {
            // SAFETY: the kernel has filled it for a child, or it is zero.
            return match unsafe { (info.si_pid(), info.si_status()) } {
                (0, _) => Found::Nothing,
                (thread, status) => Found::Stop(Stop { thread, event: status >> 8, signal: status & 0x7f }),
            };
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return Found::NoChild;
        }
    }
}

/// Whether a thread that this one traces has ended, of which then nothing is left.
pub fn has_ended(thread: i32) -> bool {
    let mut status = 0;
    // SAFETY: the place for the status lives.
    unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG) != 0 }
}

/// A stopped thread goes on, with a signal or with none (0), and stays traced.
pub fn go_on(thread: i32, signal: i32) {
    // SAFETY: plain numbers. It fails for a thread that has ended, which needs nothing.
    let _ = unsafe { libc::ptrace(libc::PTRACE_CONT, thread, ptr::null_mut::<c_void>(), signal as usize) };
}

/// A stopped thread of a stopped process waits for the signal that starts the process again.
pub fn listen(thread: i32) {
    // SAFETY: plain numbers. It fails for a thread that has ended, which needs nothing.
    let _ = unsafe {
        libc::ptrace(libc::PTRACE_LISTEN, thread, ptr::null_mut::<c_void>(), ptr::null_mut::<c_void>())
    };
}

/// What the kernel says about the event that a thread is stopped for.
pub fn message(thread: i32) -> Option<u64> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the place for the answer lives.
    let asked = unsafe {
        libc::ptrace(libc::PTRACE_GETEVENTMSG, thread, ptr::null_mut::<c_void>(), &raw mut message)
    };
    (asked == 0).then_some(message)
}

fn interrupt(thread: i32) -> io::Result<()> {
    // SAFETY: plain numbers.
    checked(unsafe {
        libc::ptrace(libc::PTRACE_INTERRUPT, thread, ptr::null_mut::<c_void>(), ptr::null_mut::<c_void>())
    })
}

/// A stopped thread goes on, with a signal or with none (0), and is traced no more.
fn release(thread: i32, signal: i32) {
    // SAFETY: plain numbers. It fails for a thread that has ended, which needs nothing.
    let _ = unsafe { libc::ptrace(libc::PTRACE_DETACH, thread, ptr::null_mut::<c_void>(), signal as usize) };
}

fn registers(thread: i32) -> io::Result<Registers> {
    // SAFETY: plain data, for which zero is a value.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let mut place =
        libc::iovec { iov_base: (&raw mut registers).cast(), iov_len: size_of::<libc::user_regs_struct>() };
    const GENERAL: usize = libc::NT_PRSTATUS as usize;
    // SAFETY: the place has the length that it names, and both live.
    checked(unsafe { libc::ptrace(libc::PTRACE_GETREGSET, thread, GENERAL, &raw mut place) })?;
    Ok(Registers(registers))
}

fn checked(outcome: c_long) -> io::Result<()> {
    if outcome == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
