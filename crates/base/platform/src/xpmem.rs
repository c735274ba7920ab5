//! The kernel module xpmem: memory of another process mapped into this one, so that copies need no system call.
//!
//! ```text
//!   owner    make ──▶ segment id of its whole address space ──(sent to the others)──▶ get ──▶ access id
//!   user     attach(access id, address, length) ──▶ address of the owner's memory here, until detach
//! ```
//!
//! The module follows the owner's mappings: an attachment shows what the owner has at these addresses now. An access
//! where the owner has nothing mapped ends the process by SIGBUS, so a process that attaches must trust the owner not
//! to unmap what it has exposed.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;

/// What xpmem does, as a trait so that tests can put a device of their own in its place.
pub trait Device: Debug + Send {
    /// Lets processes of the same user attach any memory of this one; the name of the permission.
    ///
    /// # Errors
    /// Of the device.
    fn make(&self) -> io::Result<i64>;

    /// Asks to attach memory of the process that gave this name.
    ///
    /// # Errors
    /// Of the device: not permitted, or the process is gone.
    fn get(&self, segment: i64) -> io::Result<i64>;

    /// Maps `len` bytes at `address` of that process, both multiples of the page size; where they are here.
    ///
    /// # Errors
    /// Of the device.
    fn attach(&self, access: i64, address: u64, len: usize) -> io::Result<usize>;

    /// Unmaps what [`Device::attach`] has mapped.
    fn detach(&self, here: usize);
}

const PATH: &str = "/dev/xpmem";

/// `_IO('x', number)`.
const fn request(number: u64) -> u64 {
    (b'x' as u64) << 8 | number
}
const MAKE: u64 = request(1);
const GET: u64 = request(3);
const ATTACH: u64 = request(5);
const DETACH: u64 = request(6);

const READ_WRITE: i32 = 2;
/// Permission as for a file.
const PERMIT_MODE: i32 = 1;
const OWNER_ONLY: u64 = 0o600;
const WHOLE_ADDRESS_SPACE: usize = usize::MAX;

#[repr(C)]
struct Make {
    address: u64,
    size: usize,
    permit_type: i32,
    permit_value: u64,
    segment: i64,
}

#[repr(C)]
struct Get {
    segment: i64,
    flags: i32,
    permit_type: i32,
    permit_value: u64,
    access: i64,
}

#[repr(C)]
struct Attach {
    access: i64,
    offset: i64,
    size: usize,
    address: u64,
    fd: i32,
    flags: i32,
}

#[repr(C)]
struct Detach {
    address: u64,
}

/// `/dev/xpmem`.
#[derive(Debug)]
pub struct Xpmem(File);

impl Xpmem {
    /// Whether this host has the device, and lets this user open it.
    pub fn is_present() -> bool {
        Xpmem::open().is_ok()
    }

    /// # Errors
    /// The module is not loaded, or the device not open to this user.
    pub fn open() -> io::Result<Xpmem> {
        OpenOptions::new().read(true).write(true).open(PATH).map(Xpmem)
    }

    fn ioctl<T>(&self, request: u64, argument: &mut T) -> io::Result<()> {
        // SAFETY: each request is passed with the structure that it takes.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), request, core::ptr::from_mut(argument)) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Device for Xpmem {
    fn make(&self) -> io::Result<i64> {
        let mut make = Make {
            address: 0,
            size: WHOLE_ADDRESS_SPACE,
            permit_type: PERMIT_MODE,
            permit_value: OWNER_ONLY,
            segment: 0,
        };
        self.ioctl(MAKE, &mut make)?;
        Ok(make.segment)
    }

    fn get(&self, segment: i64) -> io::Result<i64> {
        let mut get =
            Get { segment, flags: READ_WRITE, permit_type: PERMIT_MODE, permit_value: OWNER_ONLY, access: 0 };
        self.ioctl(GET, &mut get)?;
        Ok(get.access)
    }

    fn attach(&self, access: i64, address: u64, len: usize) -> io::Result<usize> {
        let offset = i64::try_from(address).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut attach = Attach { access, offset, size: len, address: 0, fd: self.0.as_raw_fd(), flags: 0 };
        self.ioctl(ATTACH, &mut attach)?;
        Ok(attach.address as usize)
    }

    fn detach(&self, here: usize) {
        // An attachment that cannot be ended stays until the process ends.
        let _ = self.ioctl(DETACH, &mut Detach { address: here as u64 });
    }
}

#[cfg(test)]
mod tests {
    use super::{Device, Xpmem};

    /// Only where the module is loaded; see `btl-vader` for a device of the tests' own.
    #[test]
    fn a_process_attaches_its_own_memory() {
        let Ok(device) = Xpmem::open() else { return };
        let page = Box::new([7u8; 8192]);
        let start = (page.as_ptr() as usize).next_multiple_of(4096);
        let access = device.make().and_then(|segment| device.get(segment)).expect("access to oneself");
        let here = device.attach(access, start as u64, 4096).expect("an attachment");
        // SAFETY: the attachment shows a page of `page`.
        assert_eq!(unsafe { (here as *const u8).read_volatile() }, 7);
        device.detach(here);
    }
}
