//! userfaultfd(2), as far as it reports changes of the address space.
#![allow(unsafe_code, reason = "system calls")]

use crate::extent::Extent;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The features without which changes would be missed.
const FEATURES: u64 = WRITE_PROTECT | REMAP | REMOVE | UNMAP;
const WRITE_PROTECT: u64 = 1;
const REMAP: u64 = 1 << 2;
const REMOVE: u64 = 1 << 3;
const UNMAP: u64 = 1 << 6;

const API: u64 = 0xaa;
const USER_MODE_ONLY: i32 = 1;
const MODE_WRITE_PROTECT: u64 = 1 << 1;

const EVENT_REMAP: u8 = 0x14;
const EVENT_REMOVE: u8 = 0x15;
const EVENT_UNMAP: u8 = 0x16;

/// `_IOWR(0xaa, number, size)`, and `_IOR` for the one call that only reads.
const fn request(direction: u64, number: u64, size: usize) -> u64 {
    direction << 30 | (size as u64) << 16 | API << 8 | number
}
const IOCTL_API: u64 = request(3, 0x3f, size_of::<Handshake>());
const IOCTL_REGISTER: u64 = request(3, 0x00, size_of::<Registration>());
const IOCTL_UNREGISTER: u64 = request(2, 0x01, size_of::<Range>());
const IOCTL_WRITE_PROTECT: u64 = request(3, 0x06, size_of::<Protection>());

#[repr(C)]
struct Handshake {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Range {
    start: u64,
    len: u64,
}

#[repr(C)]
struct Registration {
    range: Range,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Protection {
    range: Range,
    mode: u64,
}

/// `struct uffd_msg`: the event, then its three words.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Message {
    event: u8,
    reserved: [u8; 7],
    words: [u64; 3],
}

/// What has happened to watched memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// It is gone, or its content was given back.
    Gone(Extent),
    /// It was moved, and is watched at its new place as well.
    Moved { from: Extent, to: Extent },
    /// Something else.
    Other,
}

impl Message {
    pub(crate) const EMPTY: Message = Message { event: 0, reserved: [0; 7], words: [0; 3] };

    pub(crate) fn change(&self) -> Change {
        let [first, second, third] = self.words.map(|word| word as usize);
        match self.event {
            EVENT_UNMAP | EVENT_REMOVE => Change::Gone(Extent { start: first, end: second }),
            EVENT_REMAP => Change::Moved {
                from: Extent { start: first, end: first.saturating_add(third) },
                to: Extent { start: second, end: second.saturating_add(third) },
            },
            _ => Change::Other,
        }
    }
}

/// A userfaultfd of this process.
#[derive(Debug)]
pub(crate) struct Uffd(OwnedFd);

impl Uffd {
    /// # Errors
    /// Of the system calls: refused to the user, or a kernel before 5.11.
    pub(crate) fn open() -> io::Result<Uffd> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY;
        // SAFETY: the call takes numbers alone and touches no memory of ours.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        let uffd = Uffd(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        uffd.ioctl(IOCTL_API, &mut Handshake { api: API, features: FEATURES, ioctls: 0 })?;
        Ok(uffd)
    }

    /// Has the kernel tell about changes of `extent`.
    ///
    /// # Errors
    /// Memory that is not mapped, or of a kind that cannot be watched: mapped files.
    pub(crate) fn register(&self, extent: Extent) -> io::Result<()> {
        let mut registration = Registration { range: range(extent), mode: MODE_WRITE_PROTECT, ioctls: 0 };
        self.ioctl(IOCTL_REGISTER, &mut registration)
    }

    /// Ends that. What is not mapped any more is passed over.
    pub(crate) fn unregister(&self, extent: Extent) {
        // An extent of which nothing is mapped, or by memory of another kind now, is not watched either.
        let _ = self.ioctl(IOCTL_UNREGISTER, &mut range(extent));
    }

    /// Whether a change of watched memory is under way whose event has not been read: from the moment at which the
    /// addresses are free until the event is read.
    ///
    /// The kernel answers EAGAIN to calls that change watched memory meanwhile; this one would change none.
    pub(crate) fn is_changing(&self) -> bool {
        let mut nothing = Protection { range: Range { start: 0, len: 0 }, mode: 0 };
        let answer = self.ioctl(IOCTL_WRITE_PROTECT, &mut nothing);
        answer.is_err_and(|error| error.raw_os_error() == Some(libc::EAGAIN))
    }

    /// Reads events, without waiting; how many. Their system calls go on.
    pub(crate) fn read(&self, messages: &mut [Message]) -> usize {
        // SAFETY: the buffer has that many bytes, and any bytes are a `Message`.
        let read =
            unsafe { libc::read(self.0.as_raw_fd(), messages.as_mut_ptr().cast(), size_of_val(messages)) };
        usize::try_from(read).map_or(0, |bytes| bytes / size_of::<Message>())
    }

    fn ioctl<T>(&self, request: u64, argument: &mut T) -> io::Result<()> {
        // SAFETY: each request is passed with the structure whose size it names.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), request, core::ptr::from_mut(argument)) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for Uffd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn range(extent: Extent) -> Range {
    Range { start: extent.start as u64, len: extent.len() as u64 }
}

/// A descriptor that is readable once it has been rung.
///
/// # Errors
/// Of the system call.
pub(crate) fn bell() -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers alone and touches no memory of ours.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Rings a bell.
pub(crate) fn ring(bell: &OwnedFd) {
    // SAFETY: eight bytes are read. The write can only fail when the bell has been rung before.
    unsafe { libc::write(bell.as_raw_fd(), (&raw const ONE).cast(), 8) };
}

static ONE: u64 = 1;

/// Sleeps until one of the descriptors is readable: whether the first one is, and the second one.
pub(crate) fn wait(first: BorrowedFd<'_>, second: BorrowedFd<'_>) -> (bool, bool) {
    let poll = |fd: BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut fds = [poll(first), poll(second)];
    // SAFETY: two entries; no timeout.
    unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) };
    (fds[0].revents != 0, fds[1].revents != 0)
}
