//! Memory that processes of the node share beside its segment: made when it is wanted, given back when it is not.
//!
//! ```text
//!   |<------------ a page ------------>|<---- what was asked for ---->|
//!   nonce (two words), users, unused    memory
//! ```
//!
//! | made by                    | memory                          | others map it by                          |
//! |----------------------------|---------------------------------|-------------------------------------------|
//! | [`Node::create_segment`]   | a part of the node's file       | that file, which they have (`arena`)      |
//! | [`SharedSegment::create`]  | a sealed memory file of its own | the maker's descriptor, if the system lets them |
//!
//! The first serves all processes of the node. The second stays as long as a process has it mapped, forked children
//! included, and its makers do not wait for each other in the kernel; whether others can map it is found out by trying:
//! by `pidfd_getfd`, or else through `/proc`, which is allowed where Yama forbids
//! processes that do not descend from each other to read each other's memory, as without a proxy. The system refuses both
//! between users, between user namespaces, and for programs that their user may not read.
//!
//! Which way it came and what a number or place means by now matters not: memory is the right one if it has the length and
//! holds the nonce, and a file is sealed.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use btl::Peer;
use platform::memory_file::MemoryFile;
use platform::pidfd::reopen_file;
use shm::{MapError, SharedMemory};

use crate::descriptors::Owner;
use crate::{Node, TakeError, arena};

/// Before the memory.
const HEAD: usize = 4096;

/// Memory that this process shares with others of the node. It is mapped as long as this lives, in each process for
/// itself.
#[derive(Debug)]
pub struct SharedSegment {
    /// Unmapped before what it is in is given back, since the system takes longer to take mapped pages.
    memory: SharedMemory,
    nonce: [u64; 2],
    is_in: In,
    /// Whether this is its maker's, which offers it.
    is_offered: bool,
}

/// What the memory belongs to.
#[derive(Debug)]
enum In {
    /// A file of its own, which its maker holds open as long as it offers it.
    File(Option<OwnedFd>),
    /// The node's file.
    Node(Part),
}

/// A part of the node's file.
#[derive(Debug)]
struct Part {
    file: Arc<MemoryFile>,
    at: Range<u64>,
    /// Whether its last user is gone.
    is_over: bool,
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.is_over {
            self.file.drop_part(self.at.clone());
        }
    }
}

/// Words of the head.
const NONCE: Range<usize> = 0..2;
const USERS: usize = 2;
const WORDS: usize = 3;

/// What a process must know to map a shared segment: four words that any message may carry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SegmentTicket {
    place: Backing,
    /// The head included.
    bytes: u64,
    nonce: [u64; 2],
}

/// Where the memory is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Backing {
    /// In the file that its maker has open under this number.
    Descriptor(i32),
    /// In the node's file, from this byte on.
    Node(u64),
}

/// Of the first word of a ticket: what follows is a page of the node's file.
const IN_NODE: u64 = 1 << 63;
const PAGE: u64 = HEAD as u64;

impl SharedSegment {
    /// Makes `bytes` of memory, all zero, and all there: no page of it can be missing later.
    ///
    /// # Errors
    /// The system's: no memory.
    pub fn create(bytes: usize) -> io::Result<SharedSegment> {
        SharedSegment::create_near(bytes, 0)
    }

    /// As [`SharedSegment::create`], the memory at `wish` if nothing is there, a multiple of a page; 0: anywhere.
    ///
    /// # Errors
    /// The system's: no memory.
    pub fn create_near(bytes: usize, wish: usize) -> io::Result<SharedSegment> {
        let file = MemoryFile::create(with_head(bytes)?)?;
        file.allocate()?;
        let memory = SharedMemory::map_near(&file, wish.saturating_sub(HEAD)).map_err(cause)?;
        SharedSegment::begin(memory, In::File(Some(file.fd)))
    }

    /// As [`SharedSegment::create_near`], in this part of the node's file, whose pages are there.
    fn in_node(file: &Arc<MemoryFile>, part: Range<u64>, wish: usize) -> io::Result<SharedSegment> {
        let mut part = Part { file: Arc::clone(file), at: part, is_over: true };
        let memory =
            SharedMemory::map_part(file, part.at.clone(), wish.saturating_sub(HEAD)).map_err(cause)?;
        part.is_over = false;
        SharedSegment::begin(memory, In::Node(part))
    }

    /// Writes the head of new memory.
    fn begin(memory: SharedMemory, is_in: In) -> io::Result<SharedSegment> {
        let mut made = SharedSegment { memory, nonce: [0; 2], is_in, is_offered: true };
        made.memory.words(WORDS)[USERS].store(1, Ordering::Release);
        made.nonce = [platform::random::number()?, platform::random::number()?];
        for (word, part) in made.memory.words(WORDS)[NONCE].iter().zip(made.nonce) {
            word.store(part, Ordering::Relaxed);
        }
        Ok(made)
    }

    /// Lets processes that this one forks from now on have the memory, too, which then is the same memory: the program's
    /// own must not be missing there.
    ///
    /// # Errors
    /// The system's error.
    pub fn leave_to_children(&self) -> io::Result<()> {
        self.memory.leave_to_children().map_err(cause)
    }

    /// What the others map it by; its maker has one until it withdraws the segment.
    pub fn ticket(&self) -> Option<SegmentTicket> {
        let place = match &self.is_in {
            _ if !self.is_offered => return None,
            In::File(fd) => Backing::Descriptor(fd.as_ref()?.as_raw_fd()),
            In::Node(part) => Backing::Node(part.at.start),
        };
        Some(SegmentTicket { place, bytes: self.memory.len() as u64, nonce: self.nonce })
    }

    /// No process is to map the memory from now on. Those that did keep it.
    pub fn withdraw(&mut self) {
        self.is_offered = false;
        if let In::File(fd) = &mut self.is_in {
            *fd = None;
        }
    }

    /// Where the memory is in this process, a multiple of a page.
    pub fn address(&self) -> usize {
        self.memory.address() + HEAD
    }

    /// A word of the memory, if it has that many.
    pub fn word(&self, index: usize) -> Option<&AtomicU64> {
        let index = HEAD / 8 + index;
        (index < self.memory.len() / 8).then(|| &self.memory.words(index + 1)[index])
    }

    /// The first `count` words.
    pub fn words(&self, count: usize) -> &[AtomicU64] {
        &self.memory.words(HEAD / 8 + count)[HEAD / 8..]
    }

    /// The memory as an area for `ranks` processes, which has [`shm::area_bytes`].
    ///
    /// # Safety
    /// The result, and what is made of it, is used only as long as `self` lives.
    pub(crate) unsafe fn area(&self, ranks: usize) -> shm::area::Memory {
        // SAFETY: the caller's promise.
        unsafe { self.memory.area(HEAD, ranks) }
    }

    /// Bytes, a multiple of a page.
    pub fn len(&self) -> usize {
        self.memory.len() - HEAD
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for SharedSegment {
    /// The last user of a part gives its pages back.
    fn drop(&mut self) {
        if let In::Node(part) = &mut self.is_in {
            part.is_over = arena::leave(&self.memory.words(WORDS)[USERS]);
        }
    }
}

/// Bytes with the head, whole pages.
fn with_head(bytes: usize) -> io::Result<u64> {
    let all = bytes.checked_next_multiple_of(HEAD).and_then(|bytes| bytes.checked_add(HEAD));
    let all = all.filter(|&all| isize::try_from(all).is_ok());
    all.map(|all| all as u64).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// The system's error.
fn cause(error: MapError) -> io::Error {
    match error {
        MapError::System(_, error) => error,
        error => io::Error::other(error),
    }
}

impl SegmentTicket {
    /// The words for a message.
    pub fn words(&self) -> [u64; 4] {
        let first = match self.place {
            Backing::Descriptor(number) => number as u64,
            Backing::Node(start) => IN_NODE | (start / PAGE),
        };
        [first, self.bytes, self.nonce[0], self.nonce[1]]
    }

    /// From the words of a message; `None` for what no segment gives.
    pub fn from_words([place, bytes, first, second]: [u64; 4]) -> Option<SegmentTicket> {
        let fits = bytes >= PAGE && bytes.is_multiple_of(PAGE) && i64::try_from(bytes).is_ok();
        let place = match place & IN_NODE {
            0 => Backing::Descriptor(i32::try_from(place).ok()?),
            _ => Backing::Node((place & !IN_NODE).checked_mul(PAGE)?),
        };
        fits.then_some(SegmentTicket { place, bytes, nonce: [first, second] })
    }

    /// The part of the node's file that it names, if that has it.
    fn part(&self, start: u64, room: &Range<u64>) -> Option<Range<u64>> {
        let part = start..start.checked_add(self.bytes)?;
        (part.start >= room.start && part.end <= room.end).then_some(part)
    }

    /// Whether memory holds the nonce.
    fn is_of(&self, memory: &SharedMemory) -> bool {
        let words = &memory.words(WORDS)[NONCE];
        words.iter().map(|word| word.load(Ordering::Relaxed)).eq(self.nonce)
    }

    /// The file behind a descriptor, mapped, if it is the one.
    fn map(&self, fd: OwnedFd, wish: usize) -> Result<SharedSegment, TakeError> {
        let file = MemoryFile::adopt(fd).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => TakeError::NotOffered("it is no sealed memory file"),
            _ => TakeError::Refused(error),
        })?;
        if file.bytes != self.bytes {
            return Err(TakeError::NotOffered("it has another length"));
        }
        let memory = SharedMemory::map_near(&file, wish.saturating_sub(HEAD)).map_err(TakeError::Unmapped)?;
        if !self.is_of(&memory) {
            return Err(TakeError::NotOffered("it has another nonce"));
        }
        Ok(SharedSegment { memory, nonce: self.nonce, is_in: In::File(None), is_offered: false })
    }

    /// The part of the node's file that begins at `start`, mapped, if it is the one.
    fn map_part(
        &self,
        file: &Arc<MemoryFile>,
        room: &Range<u64>,
        start: u64,
        wish: usize,
    ) -> Result<SharedSegment, TakeError> {
        let part = self.part(start, room).ok_or(TakeError::NotOffered("the node's file has no such part"))?;
        // To look into a hole would allocate a page of it.
        if file.is_hole(part.start..part.start + PAGE) == Some(true) {
            return Err(TakeError::NotOffered("its memory was given back"));
        }
        let mapped = SharedMemory::map_part(file, part.clone(), wish.saturating_sub(HEAD));
        let memory = mapped.map_err(TakeError::Unmapped)?;
        if !self.is_of(&memory) {
            return Err(TakeError::NotOffered("it has another nonce"));
        }
        if !arena::join(&memory.words(WORDS)[USERS]) {
            return Err(TakeError::NotOffered("its memory was given back"));
        }
        let is_in = In::Node(Part { file: Arc::clone(file), at: part, is_over: false });
        Ok(SharedSegment { memory, nonce: self.nonce, is_in, is_offered: false })
    }

    fn take_directly(&self, owner: &Owner, number: i32, wish: usize) -> Result<SharedSegment, TakeError> {
        owner.take(number).and_then(|fd| self.map(fd, wish))
    }

    fn take_through_proc(&self, owner: &Owner, number: i32, wish: usize) -> Result<SharedSegment, TakeError> {
        let fd = reopen_file(owner.pid, number).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => TakeError::NotOffered("it is no file"),
            _ => owner.failure(error),
        })?;
        self.map(fd, wish)
    }
}

impl Node {
    /// Makes `bytes` of memory that every process of the node can map, all zero, and all there; at `wish` if nothing is
    /// there, a multiple of a page; 0: anywhere. Where the node's file has no room for it, it is a file of its own.
    ///
    /// # Errors
    /// The system's: no memory.
    pub fn create_segment(&self, bytes: usize, wish: usize) -> io::Result<SharedSegment> {
        let part = self.file.as_ref().map(|file| arena::take(file, &self.segment, with_head(bytes)?));
        match (part.transpose()?.flatten(), &self.file) {
            (Some(part), Some(file)) => SharedSegment::in_node(file, part, wish),
            _ => SharedSegment::create_near(bytes, wish),
        }
    }

    /// Maps memory that `peer`, a process of this node, has made and not withdrawn.
    ///
    /// # Errors
    /// [`TakeError`].
    pub fn map_segment(&self, peer: Peer, ticket: &SegmentTicket) -> Result<SharedSegment, TakeError> {
        self.map_segment_near(peer, ticket, 0)
    }

    /// As [`Node::map_segment`], the memory at `wish` if nothing is there, a multiple of a page; 0: anywhere.
    ///
    /// # Errors
    /// [`TakeError`].
    pub fn map_segment_near(
        &self,
        peer: Peer,
        ticket: &SegmentTicket,
        wish: usize,
    ) -> Result<SharedSegment, TakeError> {
        let number = match ticket.place {
            Backing::Descriptor(number) => number,
            Backing::Node(start) => {
                let file = self.file.as_ref().filter(|_| self.place_of(peer).is_some());
                let file = file.ok_or(TakeError::Unknown)?;
                return ticket.map_part(file, &arena::room(file, self.segment.layout()), start, wish);
            }
        };
        let owner = self.owner(peer)?;
        match ticket.take_directly(&owner, number, wish) {
            Err(TakeError::Refused(_)) => ticket.take_through_proc(&owner, number, wish),
            taken => taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::pidfd::Pidfd;
    use std::fs::File;

    /// This process as its own peer, which every system allows.
    fn ourselves() -> Owner {
        let pid = std::process::id() as i32;
        Owner::new(pid, Pidfd::open(pid).unwrap())
    }

    fn number_of(ticket: &SegmentTicket) -> i32 {
        match ticket.place {
            Backing::Descriptor(number) => number,
            Backing::Node(_) => panic!("a file of its own"),
        }
    }

    fn word(segment: &SharedSegment) -> &AtomicU64 {
        assert!(segment.word(segment.len() / 8 - 1).is_some() && segment.word(segment.len() / 8).is_none());
        segment.word(0).unwrap()
    }

    #[test]
    fn both_ways_lead_to_the_same_memory() {
        let made = SharedSegment::create(5000).unwrap();
        assert_eq!(made.len(), 8192);
        let ticket = SegmentTicket::from_words(made.ticket().unwrap().words()).unwrap();
        for (number, take) in [
            (1, SegmentTicket::take_directly as fn(&_, &_, _, _) -> _),
            (2, SegmentTicket::take_through_proc),
        ] {
            match take(&ticket, &ourselves(), number_of(&ticket), 0) {
                Ok(taken) => {
                    word(&made).store(number, Ordering::Relaxed);
                    assert_eq!(word(&taken).load(Ordering::Relaxed), number);
                    assert!(taken.ticket().is_none());
                }
                Err(error) => assert!(matches!(error, TakeError::Refused(_)), "{error}"),
            }
        }
    }

    #[test]
    fn memory_comes_where_it_is_wished_if_nothing_is_there() {
        let first = SharedSegment::create(8192).unwrap();
        let wish = first.address();
        let elsewhere = SharedSegment::create_near(8192, wish).unwrap();
        assert_ne!(elsewhere.address(), wish);
        // No process has memory there but by chance; what it gets is right in any case.
        let wish = 0x2345_6789_0000;
        let made = SharedSegment::create_near(8192, wish).unwrap();
        assert_eq!(made.address(), wish);
    }

    #[test]
    fn what_is_not_the_segment_is_refused() {
        let mut made = SharedSegment::create(4096).unwrap();
        let ticket = made.ticket().unwrap();
        let refused = |ticket: &SegmentTicket, expected: &str| {
            for taken in [
                ticket.take_directly(&ourselves(), number_of(ticket), 0),
                ticket.take_through_proc(&ourselves(), number_of(ticket), 0),
            ] {
                match taken {
                    Err(TakeError::NotOffered(why)) => assert_eq!(why, expected),
                    Err(TakeError::Refused(_)) => {}
                    other => panic!("{expected}: {other:?}"),
                }
            }
        };
        refused(&SegmentTicket { nonce: [1, 2], ..ticket }, "it has another nonce");
        refused(&SegmentTicket { bytes: 1 << 40, ..ticket }, "it has another length");
        let other = SharedSegment::create(4096).unwrap();
        refused(&SegmentTicket { place: other.ticket().unwrap().place, ..ticket }, "it has another nonce");
        let open = MemoryFile::create(8192).unwrap();
        open.allocate_step(0).unwrap();
        refused(
            &SegmentTicket { place: Backing::Descriptor(open.fd.as_raw_fd()), ..ticket },
            "it is no sealed memory file",
        );
        let text = File::open("/proc/self/maps").unwrap();
        assert!(ticket.map(text.into(), 0).is_err());
        made.withdraw();
        assert!(made.ticket().is_none());
    }

    #[test]
    fn words_that_no_segment_gives_make_no_ticket() {
        for words in [[u64::MAX, 4096, 0, 0], [3, 4095, 0, 0], [3, 0, 0, 0], [3, 1 << 63, 0, 0]] {
            assert_eq!(SegmentTicket::from_words(words), None);
        }
    }
}
