//! Mapping the node's segment.

use core::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::area;
use crate::bounce::BounceHead;
use crate::doorbell::Doorbell;
use crate::fastbox::{self, Block, Fastbox, Progress};
use crate::joint;
use crate::layout::Layout;
use crate::queue::{self, Queue};
use crate::record;
use crate::sync::AtomicU64;

/// Types that may lie in the segment.
///
/// # Safety
/// Every bit pattern is a valid value, all fields that peers write are atomics or `UnsafeCell`, and the
/// type owns nothing.
unsafe trait Shared {}

// SAFETY: atomics and bounce buffers of integers.
unsafe impl Shared for fastbox::Slot {}
// SAFETY: a bounce buffer of integers.
unsafe impl Shared for Block {}
// SAFETY: one atomic, for which any bytes are a value.
unsafe impl Shared for Progress {}
// SAFETY: one atomic, for which any bytes are a value.
unsafe impl Shared for queue::Slot {}
// SAFETY: one atomic, for which any bytes are a value.
unsafe impl Shared for queue::Tail {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for Doorbell {}
// SAFETY: atomics and a bounce buffer of integers.
unsafe impl Shared for BounceHead {}
// SAFETY: an atomic and a bounce buffer of integers.
unsafe impl Shared for area::Slot {}
// SAFETY: one atomic, for which any bytes are a value.
unsafe impl Shared for area::Word {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for area::Entry {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for joint::Control {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for record::Record {}
// SAFETY: one atomic, for which any bytes are a value.
unsafe impl Shared for record::Alerts {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for Identity {}
// SAFETY: nothing but atomics, for which any bytes are a value.
unsafe impl Shared for Head {}

/// The first line of the segment.
#[repr(C, align(128))]
#[derive(Debug)]
struct Head {
    /// Fingerprint of the shape, set by the first process that attaches.
    shape: AtomicU64,
    /// Bytes of the file behind the layout that processes have taken parts of, in the order in which they asked.
    taken: AtomicU64,
}

/// How a rank proves that a process id is its own: a secret number at an address of its memory.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Identity {
    /// Address of the number in the rank's own memory; zero until it has attached.
    pub address: AtomicU64,
    /// The secret number.
    pub nonce: AtomicU64,
    /// Name by which xpmem lets others attach the rank's memory; zero without it. Written before the address.
    pub xpmem: AtomicU64,
    /// 1 if the rank holds its lock of the node's file, which it has as long as it lives. Written before the address.
    pub present: AtomicU64,
    /// 1 while the rank has left MPI: its end is no loss for the others.
    pub away: AtomicU64,
}

/// The mapped segment. It stays mapped until the process ends: views of it are `'static`.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    base: *mut u8,
    layout: Layout,
}

// SAFETY: the base address is constant, and what it points to is only handed out as `Sync` types or raw.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// Why the segment cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum MapError {
    /// The memory file is shorter than the layout.
    TooShort {
        /// Bytes of the file.
        have: u64,
        /// Bytes of the layout.
        need: u64,
    },
    /// Another process of the job uses other sizes.
    OtherShape,
    /// A system call failed.
    System(&'static str, io::Error),
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = "start all processes of the job by one mpiexec and with the same btl_vader_* parameters";
        match self {
            MapError::TooShort { have, need } => write!(
                f,
                "mapping the node's shared segment failed\nit has {have} bytes and {need} are needed\n{next}"
            ),
            MapError::OtherShape => write!(
                f,
                "attaching to the node's shared segment failed\nanother process laid it out in other sizes\n{next}"
            ),
            MapError::System(call, error) => write!(
                f,
                "mapping memory that processes of this node share failed\n{call}: {error}\nfree memory or raise its limit (ulimit -v)"
            ),
        }
    }
}

impl std::error::Error for MapError {}

impl Segment {
    /// Maps `file`, a memory file all of zeros at first, that the processes of a node share.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn map(file: BorrowedFd<'_>, layout: Layout) -> Result<Segment, MapError> {
        let have = file_bytes(file)?;
        let need = layout.bytes() as u64;
        if have < need {
            return Err(MapError::TooShort { have, need });
        }
        let base = map_shared(file, 0..need, 0)?;
        let segment = Segment { base, layout };
        segment.agree_on_shape()?;
        Ok(segment)
    }

    /// The segment at `base`, in a mapping of at least `layout.bytes()` bytes, page-aligned, that is never unmapped.
    pub(crate) fn at(base: *mut u8, layout: Layout) -> Segment {
        Segment { base, layout }
    }

    fn agree_on_shape(&self) -> Result<(), MapError> {
        use crate::sync::Ordering::Relaxed;
        let ours = self.layout.shape().fingerprint();
        match self.one::<Head>(0).shape.compare_exchange(0, ours, Relaxed, Relaxed) {
            Err(theirs) if theirs != ours => Err(MapError::OtherShape),
            _ => Ok(()),
        }
    }

    /// The layout it was mapped with.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The doorbell of `rank`.
    pub fn doorbell(&self, rank: usize) -> &'static Doorbell {
        &self.many(self.layout.doorbells(), self.layout.shape().ranks)[rank]
    }

    /// The identity of `rank`.
    pub fn identity(&self, rank: usize) -> &'static Identity {
        &self.many(self.layout.identities(), self.layout.shape().ranks)[rank]
    }

    /// How many bytes of the file behind the layout were taken.
    pub fn taken(&self) -> &'static AtomicU64 {
        &self.one::<Head>(0).taken
    }

    /// The records of `rank`'s last calls.
    pub fn records(&self, rank: usize) -> &'static [record::Record] {
        self.many(self.layout.records(rank), record::KEPT)
    }

    /// How often `rank` was alerted.
    pub fn alerts(&self, rank: usize) -> &'static record::Alerts {
        &self.many(self.layout.alerts(), self.layout.shape().ranks)[rank]
    }

    /// The receive queue of `rank`.
    pub fn queue(&self, rank: usize) -> Queue<'static> {
        let shape = self.layout.shape();
        let tail = &self.many::<queue::Tail>(self.layout.tails(), shape.ranks)[rank];
        Queue::new(self.many(self.layout.slots(rank), shape.queue), tail)
    }

    /// Fastbox `number` of `receiver`.
    pub fn fastbox(&self, receiver: usize, number: usize) -> Fastbox<'static> {
        let shape = self.layout.shape();
        let [progress, slots, blocks] = self.layout.fastbox(receiver, number);
        Fastbox {
            progress: self.one(progress),
            slots: self.many(slots, shape.slots),
            blocks: self.many(blocks, shape.blocks),
        }
    }

    /// The heads of `rank`'s bounce buffers.
    pub fn bounce_heads(&self, rank: usize) -> &'static [BounceHead] {
        self.many(self.layout.bounce_heads(rank), self.layout.shape().bounce_buffers_per_rank())
    }

    /// The control blocks of joint copies of `rank`'s memory.
    pub fn joints(&self, rank: usize) -> &'static [joint::Control] {
        self.many(self.layout.joints(rank), self.layout.shape().joints)
    }

    /// Address and length of the payload of `rank`'s bounce buffer `bounce`, which is below `bounce_buffers_per_rank`.
    pub fn bounce(&self, rank: usize, bounce: usize) -> (*mut u8, usize) {
        let (offset, len) = self.layout.bounce(rank, bounce);
        assert!(offset + len <= self.layout.bytes(), "a bounce buffer of the layout");
        (self.base.wrapping_add(offset), len)
    }

    /// Who holds which area for collectives; empty where there are too many ranks for areas.
    pub fn area_directory(&self) -> &'static [area::Entry] {
        self.layout
            .directory()
            .map_or(&[], |directory| self.many(directory, area::areas(self.layout.shape().ranks)))
    }

    /// The memory of area `number`, which the directory has.
    pub fn area(&self, number: usize) -> area::Memory {
        assert!(
            number < area::areas(self.layout.shape().ranks) && self.layout.directory().is_some(),
            "an area of the layout"
        );
        let ranks = self.layout.shape().ranks;
        let [slots, words, payloads, bounce_buffers] = self.layout.area(number);
        let bounce_count = ranks * area::bounce_buffers(ranks);
        let bounce_buffers_end = bounce_buffers + bounce_count * area::BOUNCE_BYTES;
        assert!(bounce_buffers_end <= self.layout.bytes(), "a part of the layout");
        area::Memory {
            slots: self.many(slots, area::slots(ranks)),
            words: self.many(words, area::words(ranks)),
            payloads: self.base.wrapping_add(payloads) as usize,
            bounce_buffers: self.base.wrapping_add(bounce_buffers) as usize,
            bounce_count,
        }
    }

    fn one<T: Shared>(&self, offset: usize) -> &'static T {
        &self.many(offset, 1)[0]
    }

    fn many<T: Shared>(&self, offset: usize, count: usize) -> &'static [T] {
        assert!(offset + count * size_of::<T>() <= self.layout.bytes(), "a part of the layout");
        assert!(offset.is_multiple_of(align_of::<T>()), "an aligned part of the layout");
        // SAFETY: the range lies within the mapping, which is never unmapped and page-aligned; the file cannot
        // shrink (sealed by its creator); any bits are a valid `T`, which peers may change (`Shared`).
        unsafe { core::slice::from_raw_parts(self.base.add(offset).cast(), count) }
    }
}

fn file_bytes(file: BorrowedFd<'_>) -> Result<u64, MapError> {
    // SAFETY: `stat` is plain data that the call fills.
    let mut stat: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: a valid descriptor and a valid place for the answer.
    if unsafe { libc::fstat(file.as_raw_fd(), &mut stat) } != 0 {
        return Err(MapError::System("fstat", io::Error::last_os_error()));
    }
    Ok(stat.st_size as u64)
}

/// Maps a part of `file` that begins at a page. `wish`: where the kernel tries to put the mapping, a multiple of a page;
/// 0: anywhere.
pub(crate) fn map_shared(file: BorrowedFd<'_>, part: Range<u64>, wish: usize) -> Result<*mut u8, MapError> {
    let (bytes, offset) = ((part.end - part.start) as usize, part.start as libc::off_t);
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let wish = core::ptr::without_provenance_mut(wish);
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing; a wish is no order.
    let base = unsafe { libc::mmap(wish, bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), offset) };
    if base == libc::MAP_FAILED {
        return Err(MapError::System("mmap", io::Error::last_os_error()));
    }
    // A forked child must not take part in the job's traffic; it never touches the segment.
    advise(base.cast(), bytes, libc::MADV_DONTFORK)?;
    Ok(base.cast())
}

/// Sets what becomes of a mapping that this crate has made in forked children.
pub(crate) fn advise(base: *mut u8, bytes: usize, advice: i32) -> Result<(), MapError> {
    // SAFETY: the range is such a mapping, and the two kinds of advice change nothing in this process.
    if unsafe { libc::madvise(base.cast(), bytes, advice) } != 0 {
        return Err(MapError::System("madvise", io::Error::last_os_error()));
    }
    Ok(())
}
