//! As much of io_uring as it takes to hold pages and copy from and to them: fixed buffers, and one request at a
//! time.
//!
//! The kernel pins the pages of a fixed buffer when the buffer is registered (`pin_user_pages`, as the drivers of
//! network interfaces do), and requests then reach these pages whatever the process has mapped at their address
//! meanwhile.

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const ENTRIES: u32 = 1;
/// Both rings in one mapping: Linux 5.4.
const FEATURE_SINGLE_MMAP: u32 = 1;
const OFFSET_OF_RINGS: libc::off_t = 0;
const OFFSET_OF_ENTRIES: libc::off_t = 0x1000_0000;

const WAIT_FOR_COMPLETION: libc::c_uint = 1;
const REGISTER_BUFFERS: libc::c_uint = 15;
const UPDATE_BUFFERS: libc::c_uint = 16;
const SPARSE: u32 = 1;

/// What a request does with a fixed buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Copy {
    /// From the file into the buffer.
    Into = 4,
    /// From the buffer into the file.
    OutOf = 5,
}

#[repr(C)]
#[derive(Default)]
struct Params {
    sq_entries: u32,
    cq_entries: u32,
    flags: u32,
    sq_thread_cpu: u32,
    sq_thread_idle: u32,
    features: u32,
    wq_fd: u32,
    reserved: [u32; 3],
    sq: Offsets,
    cq: Offsets,
}

/// Where things are in the rings' mapping; the seventh entry is the index array of the one ring, the flags of the
/// other.
#[repr(C)]
#[derive(Default)]
struct Offsets {
    head: u32,
    tail: u32,
    mask: u32,
    entries: u32,
    /// `flags` of submissions, `overflow` of completions.
    fifth: u32,
    /// `dropped` of submissions, the entries of completions.
    sixth: u32,
    /// The index array of submissions.
    seventh: u32,
    reserved: u32,
    user_addr: u64,
}

#[repr(C)]
#[derive(Default)]
struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    addr: u64,
    len: u32,
    op_flags: u32,
    user_data: u64,
    buffer: u16,
    personality: u16,
    splice_fd: i32,
    reserved: [u64; 2],
}

#[repr(C)]
struct Completion {
    user_data: u64,
    result: i32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct RegisterBuffers {
    count: u32,
    flags: u32,
    reserved: u64,
    data: u64,
    tags: u64,
}

#[repr(C)]
struct UpdateBuffers {
    offset: u32,
    reserved: u32,
    data: u64,
    tags: u64,
    count: u32,
    reserved2: u32,
}

/// An io_uring with room for `slots` fixed buffers.
pub(super) struct Uring {
    fd: OwnedFd,
    rings: Area,
    entries: Area,
    params: Params,
}

/// A mapping of the kernel's, unmapped when dropped.
struct Area {
    base: *mut u8,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone, in whichever thread that is.
unsafe impl Send for Area {}

impl Area {
    fn map(fd: &OwnedFd, offset: libc::off_t, len: usize) -> io::Result<Area> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, fd.as_raw_fd(), offset) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Area { base: base.cast(), len })
    }

    fn at(&self, offset: u32, len: usize) -> *mut u8 {
        assert!(offset as usize + len <= self.len, "the kernel's offsets lie in its own mapping");
        self.base.wrapping_add(offset as usize)
    }

    fn counter(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: within the mapping, which lives as long as `self`; the kernel aligns its counters.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

impl Uring {
    /// # Errors
    /// Of the system calls: io_uring may be missing or forbidden.
    pub(super) fn new(slots: u32) -> io::Result<Uring> {
        let mut params = Params::default();
        // SAFETY: `params` is a valid `io_uring_params`.
        let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, ENTRIES, &raw mut params) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        if params.features & FEATURE_SINGLE_MMAP == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let submissions = params.sq.seventh as usize + params.sq_entries as usize * 4;
        let completions = params.cq.sixth as usize + params.cq_entries as usize * size_of::<Completion>();
        let rings = Area::map(&fd, OFFSET_OF_RINGS, submissions.max(completions))?;
        let entries =
            Area::map(&fd, OFFSET_OF_ENTRIES, params.sq_entries as usize * size_of::<Submission>())?;
        let uring = Uring { fd, rings, entries, params };
        let sparse = RegisterBuffers { count: slots, flags: SPARSE, ..RegisterBuffers::default() };
        uring.register(REGISTER_BUFFERS, &raw const sparse as usize, size_of::<RegisterBuffers>())?;
        Ok(uring)
    }

    /// Pins `len` bytes at `addr` as the buffer `slot`; nothing with a length of 0, which lets the old one go.
    ///
    /// # Errors
    /// For instance memory that is not mapped writable, more than 1 GiB, or the limit of lockable memory.
    pub(super) fn set_buffer(&self, slot: u32, addr: u64, len: u64) -> io::Result<()> {
        let vector = libc::iovec { iov_base: addr as usize as *mut _, iov_len: len as usize };
        let update = UpdateBuffers {
            offset: slot,
            reserved: 0,
            data: &raw const vector as u64,
            tags: 0,
            count: 1,
            reserved2: 0,
        };
        self.register(UPDATE_BUFFERS, &raw const update as usize, size_of::<UpdateBuffers>())
    }

    fn register(&self, what: libc::c_uint, argument: usize, size: usize) -> io::Result<()> {
        // SAFETY: the callers pass a structure of the kind that `what` takes, with its size; the kernel reads it
        // and checks the addresses in it.
        let done =
            unsafe { libc::syscall(libc::SYS_io_uring_register, self.fd.as_raw_fd(), what, argument, size) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Copies `len` bytes between `file` at its beginning and the buffer `slot` at `addr`, an address as it was
    /// when the buffer was pinned. Returns when that is done.
    ///
    /// # Errors
    /// Of the kernel; a range that is not within the buffer.
    pub(super) fn copy(
        &mut self,
        how: Copy,
        file: BorrowedFd<'_>,
        slot: u32,
        addr: u64,
        len: u32,
    ) -> io::Result<u32> {
        self.submit(Submission {
            opcode: how as u8,
            fd: file.as_raw_fd(),
            addr,
            len,
            buffer: slot as u16,
            ..Submission::default()
        });
        loop {
            // SAFETY: no pointers but a null signal mask.
            let entered = unsafe {
                let none = ptr::null::<libc::sigset_t>();
                let fd = self.fd.as_raw_fd();
                libc::syscall(libc::SYS_io_uring_enter, fd, 1, 1, WAIT_FOR_COMPLETION, none, 0)
            };
            if let Some(result) = self.completed() {
                return u32::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            }
            let error = io::Error::last_os_error();
            if entered < 0 && error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn submit(&mut self, entry: Submission) {
        let at = self.entries.at(0, size_of::<Submission>());
        // SAFETY: the first entry of the array, which the kernel reads only during `io_uring_enter`; the index
        // array's first element names it.
        unsafe {
            at.cast::<Submission>().write(entry);
            self.rings.at(self.params.sq.seventh, 4).cast::<u32>().write(0);
        }
        self.rings.counter(self.params.sq.tail).fetch_add(1, Ordering::Release);
    }

    fn completed(&mut self) -> Option<i32> {
        let head = self.rings.counter(self.params.cq.head);
        let at = head.load(Ordering::Relaxed);
        if self.rings.counter(self.params.cq.tail).load(Ordering::Acquire) == at {
            return None;
        }
        let index = at & (self.params.cq_entries - 1);
        let size = size_of::<Completion>();
        let entry = self.rings.at(self.params.cq.sixth + index * size as u32, size);
        // SAFETY: a completion that the kernel has published by the tail just read.
        let result = unsafe { entry.cast::<Completion>().read().result };
        head.store(at.wrapping_add(1), Ordering::Release);
        Some(result)
    }
}
