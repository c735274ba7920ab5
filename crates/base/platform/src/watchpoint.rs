//! Watchpoints: the processor stops at each access of the calling thread to some bytes, and the kernel notes which code it was.
//!
//! ```text
//!   watch ─► debug registers, at most four of eight bytes each
//!              │ an access, outside the kernel
//!              ▼
//!   take ◄── ring: which code, which watchpoint
//! ```
//!
//! An access takes about a microsecond, one to other bytes nothing.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};

/// Watchpoints that a thread has at most.
pub const MOST: usize = 4;
/// Bytes of one at most.
pub const WIDEST: usize = 8;

/// Bytes to watch. The address is a multiple of `bytes`, which is 1, 2, 4 or 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The first byte.
    pub address: usize,
    /// How many.
    pub bytes: usize,
    /// Loads are none of its business.
    pub stores_alone: bool,
}

impl Watch {
    /// The largest one at the beginning of `length` bytes.
    pub fn first(address: usize, length: usize, stores_alone: bool) -> Option<Watch> {
        let bytes = Self::fitting(address, length)?;
        Some(Watch { address, bytes, stores_alone })
    }

    /// The largest one at their end.
    pub fn last(address: usize, length: usize, stores_alone: bool) -> Option<Watch> {
        let end = address.checked_add(length)?;
        let bytes = Self::fitting(end, length)?;
        Some(Watch { address: end - bytes, bytes, stores_alone })
    }

    fn fitting(edge: usize, length: usize) -> Option<usize> {
        [8, 4, 2, 1].into_iter().find(|bytes| *bytes <= length && edge.is_multiple_of(*bytes))
    }
}

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// [`Watch::address`] of the bytes.
    pub address: usize,
    /// The address behind the instruction.
    pub code: usize,
}

/// The watchpoints of the thread that has opened them.
#[derive(Debug)]
pub struct Watchpoints {
    events: Vec<Event>,
    ring: Ring,
}

#[derive(Debug)]
struct Event {
    descriptor: OwnedFd,
    at: Option<Watch>,
    is_on: bool,
}

/// The kernel's notes: a page about them, and a page of them.
#[derive(Debug)]
struct Ring {
    address: *mut u8,
    /// Children that are forked do not have it.
    process: u32,
}

const PAGE: usize = 4096;
/// Words of the ring's first page: how much the kernel has written, and how much was read.
const HEAD: usize = 1024 / 8;
const TAIL: usize = HEAD + 1;

/// The version of `perf_event_attr` that has breakpoints.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
    length: u64,
}

const BREAKPOINT: u32 = 5;
const CODE_AND_ADDRESS: u64 = 1 | 1 << 3;
const DISABLED_AND_OF_USER_CODE: u64 = 1 | 1 << 5 | 1 << 6;
const STORES: u32 = 2;
const LOADS_AND_STORES: u32 = 3;
const CLOSED_BY_EXEC: u64 = 8;

/// Requests of `ioctl`.
const ENABLE: u64 = 0x2400;
const DISABLE: u64 = 0x2401;
const SHARE_RING: u64 = 0x2405;
const MODIFY: u64 = 0x4008_240b;

/// A record of an access in the ring: kind and length, code, address.
const SAMPLE: u32 = 9;
const SAMPLE_BYTES: usize = 24;

impl Attributes {
    fn of(watch: Watch) -> Attributes {
        Attributes {
            kind: BREAKPOINT,
            size: size_of::<Attributes>() as u32,
            config: 0,
            period: 1,
            sample: CODE_AND_ADDRESS,
            read_format: 0,
            flags: DISABLED_AND_OF_USER_CODE,
            wakeup: 0,
            breakpoint: if watch.stores_alone { STORES } else { LOADS_AND_STORES },
            address: watch.address as u64,
            length: watch.bytes as u64,
        }
    }
}

impl Event {
    fn open() -> io::Result<Event> {
        static NOTHING: AtomicU64 = AtomicU64::new(0);
        let at = Watch { address: NOTHING.as_ptr().addr(), bytes: 8, stores_alone: true };
        let attributes = Attributes::of(at);
        let (this_thread, any_processor, no_group) = (0, -1, -1);
        // SAFETY: the attributes say how long they are.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                this_thread,
                any_processor,
                no_group,
                CLOSED_BY_EXEC,
            )
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
        Ok(Event { descriptor, at: None, is_on: false })
    }

    fn ask(&self, request: u64, argument: usize) -> io::Result<()> {
        // SAFETY: the kernel reads no memory but for MODIFY, whose argument `set` keeps.
        match unsafe { libc::ioctl(self.descriptor.as_raw_fd(), request as _, argument) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn set(&mut self, watch: Watch) -> io::Result<()> {
        if self.at != Some(watch) {
            let attributes = Attributes::of(watch);
            self.ask(MODIFY, (&raw const attributes).addr())?;
            self.at = Some(watch);
        }
        self.ask(ENABLE, 0)?;
        self.is_on = true;
        Ok(())
    }
}

impl Watchpoints {
    /// As many as are free, for the calling thread; none is watching.
    ///
    /// # Errors
    /// The system's: the kernel or the processor has none, another tool uses all, or this user may not use them.
    pub fn open() -> io::Result<Watchpoints> {
        let first = Event::open()?;
        let ring = Ring::of(&first)?;
        let shared = first.descriptor.as_raw_fd() as usize;
        let others = (1..MOST).map_while(|_| Event::open().ok());
        let others = others.filter(|event| event.ask(SHARE_RING, shared).is_ok());
        let events = std::iter::once(first).chain(others).collect();
        Ok(Watchpoints { events, ring })
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.events.len()
    }

    /// Watches these bytes from now on, as many as there are watchpoints for.
    ///
    /// # Errors
    /// The system's, where the kernel cannot move watchpoints (before Linux 4.17) or not watch such bytes. None is watching then.
    pub fn watch(&mut self, all: &[Watch]) -> io::Result<()> {
        self.stop();
        let set = self.events.iter_mut().zip(all).try_for_each(|(event, &watch)| event.set(watch));
        if set.is_err() {
            self.stop();
        }
        set
    }

    /// Watches nothing any more.
    pub fn stop(&mut self) {
        for event in self.events.iter_mut().filter(|event| event.is_on) {
            // It fails for no event that is there.
            let _ = event.ask(DISABLE, 0);
            event.is_on = false;
        }
    }

    /// The accesses since the last time, in order; where there were hundreds, the first of them.
    pub fn take(&mut self) -> Vec<Access> {
        self.ring.take()
    }
}

impl Ring {
    fn of(event: &Event) -> io::Result<Ring> {
        let (any, both, shared) = (null_mut(), libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, wherever the kernel has room.
        let address = unsafe { libc::mmap(any, 2 * PAGE, both, shared, event.descriptor.as_raw_fd(), 0) };
        match address {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            _ => Ok(Ring { address: address.cast(), process: std::process::id() }),
        }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: a word of the first page, which is mapped as long as this lives; the kernel reads and writes it as one.
        unsafe { &*self.address.cast::<AtomicU64>().add(index) }
    }

    /// The word at a position of the notes, which are at multiples of 8.
    fn note(&self, position: u64) -> u64 {
        let within = position as usize % PAGE / 8;
        // SAFETY: a word of the second page. The kernel writes what is not between tail and head, which the caller read.
        unsafe { self.address.add(PAGE).cast::<u64>().add(within).read_volatile() }
    }

    fn take(&self) -> Vec<Access> {
        if std::process::id() != self.process {
            return Vec::new();
        }
        // Acquire: the kernel has written the notes before.
        let head = self.word(HEAD).load(Acquire);
        let mut tail = self.word(TAIL).load(Acquire);
        let mut found = Vec::new();
        while tail < head {
            let about = self.note(tail);
            let (kind, bytes) = (about as u32, about >> 48);
            if kind == SAMPLE && bytes as usize == SAMPLE_BYTES {
                let (code, address) = (self.note(tail + 8) as usize, self.note(tail + 16) as usize);
                // This processor stops before the instruction, of which each has four bytes.
                let code = if cfg!(target_arch = "aarch64") { code + 4 } else { code };
                found.push(Access { address, code });
            }
            tail = if bytes == 0 { head } else { tail + bytes };
        }
        // Release: the kernel may write where the notes were.
        self.word(TAIL).store(head, Release);
        found
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if std::process::id() == self.process {
            // SAFETY: this mapping, which nothing uses any more.
            unsafe { libc::munmap(self.address.cast(), 2 * PAGE) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn a_watch_is_as_wide_as_its_place_and_the_bytes_allow() {
        let first = |address, length| Watch::first(address, length, true).map(|it| (it.address, it.bytes));
        let last = |address, length| Watch::last(address, length, true).map(|it| (it.address, it.bytes));
        assert_eq!(first(64, 100), Some((64, 8)));
        assert_eq!(first(68, 100), Some((68, 4)));
        assert_eq!(first(67, 100), Some((67, 1)));
        assert_eq!(first(64, 6), Some((64, 4)));
        assert_eq!(first(64, 0), None);
        assert_eq!(last(64, 100), Some((160, 4)));
        assert_eq!(last(64, 16), Some((72, 8)));
        assert_eq!(last(64, 3), Some((66, 1)));
    }

    #[test]
    fn accesses_to_the_bytes_are_seen_while_they_are_watched() {
        let mut watchpoints = match Watchpoints::open() {
            Ok(watchpoints) => watchpoints,
            Err(error) => return eprintln!("skip: no watchpoints: {error}"),
        };
        let words: Vec<AtomicU64> = (0..MOST as u64).map(AtomicU64::new).collect();
        let address = |index: usize| words[index].as_ptr().addr();
        let watch = |index, stores_alone| Watch::first(address(index), 8, stores_alone).unwrap();
        let load = |index: usize| black_box(words[index].load(Acquire));
        let store = |index: usize| words[index].store(black_box(7), Release);
        let mut seen = |watched: &[Watch]| {
            watchpoints.watch(watched).unwrap();
            load(0);
            store(1);
            load(1);
            load(2);
            watchpoints.stop();
            store(0);
            watchpoints.take()
        };
        assert_eq!(seen(&[]), []);
        let found = seen(&[watch(0, false)]);
        assert_eq!(found.iter().map(|it| it.address).collect::<Vec<_>>(), [address(0)]);
        assert!(
            crate::image::module_at(found[0].code as u64).unwrap().path == std::env::current_exe().unwrap()
        );
        assert_eq!(seen(&[watch(0, true)]), []);
        if watchpoints.count() > 1 {
            let mut seen = |watched: &[Watch]| {
                watchpoints.watch(watched).unwrap();
                store(1);
                load(2);
                store(2);
                watchpoints.stop();
                watchpoints.take().iter().map(|it| it.address).collect::<Vec<_>>()
            };
            assert_eq!(seen(&[watch(2, false), watch(1, true)]), [address(1), address(2), address(2)]);
        }
    }
}
