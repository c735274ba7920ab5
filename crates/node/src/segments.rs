//! Memory that processes of the node share beside its segment: made when it is wanted, given back when it is not.
//!
//! ```text
//!   |<------------ a page ------------>|<---- what was asked for ---->|
//!   nonce (two words), unused           memory
//! ```
//!
//! The maker allocates and seals a memory file and writes a nonce into it. The process that gets the ticket opens the
//! file through the maker's process: by `pidfd_getfd`, or else through `/proc`, which is allowed where Yama forbids
//! processes that do not descend from each other to read each other's memory, as without a guard. Which way it came and
//! what the number means by now matters not: a file is the right one if it is sealed, has the length, and holds the
//! nonce.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use btl::Peer;
use platform::memory_file::MemoryFile;
use platform::pidfd::reopen_file;
use shm::{MapError, SharedMemory};

use crate::descriptors::Owner;
use crate::{Node, TakeError};

/// Before the memory.
const HEAD: usize = 4096;

/// Memory that this process shares with others of the node. It is mapped as long as this lives, in each process for
/// itself.
#[derive(Debug)]
pub struct SharedSegment {
    memory: SharedMemory,
    nonce: [u64; 2],
    /// Its maker's: others open the file through it.
    fd: Option<OwnedFd>,
}

/// What a process must know to map a shared segment: four words that any message may carry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SegmentTicket {
    number: i32,
    /// Of the file, the head included.
    bytes: u64,
    nonce: [u64; 2],
}

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
    /// As above.
    pub fn create_near(bytes: usize, wish: usize) -> io::Result<SharedSegment> {
        let too_long = || io::Error::from(io::ErrorKind::OutOfMemory);
        let all = bytes.checked_next_multiple_of(HEAD).and_then(|bytes| bytes.checked_add(HEAD));
        let all = all.filter(|&all| isize::try_from(all).is_ok()).ok_or_else(too_long)?;
        let file = MemoryFile::create(all as u64)?;
        file.allocate()?;
        let memory = SharedMemory::map_near(&file, wish.saturating_sub(HEAD)).map_err(cause)?;
        let nonce = [platform::random::number()?, platform::random::number()?];
        for (word, part) in memory.words(2).iter().zip(nonce) {
            word.store(part, Ordering::Relaxed);
        }
        Ok(SharedSegment { memory, nonce, fd: Some(file.fd) })
    }

    /// Lets processes that this one forks from now on have the memory, too, which then is the same memory: the program's
    /// own must not be missing there.
    ///
    /// # Errors
    /// The system's.
    pub fn leave_to_children(&self) -> io::Result<()> {
        self.memory.leave_to_children().map_err(cause)
    }

    /// What the others map it by; its maker has one until it withdraws the segment.
    pub fn ticket(&self) -> Option<SegmentTicket> {
        let number = self.fd.as_ref()?.as_raw_fd();
        Some(SegmentTicket { number, bytes: self.memory.len() as u64, nonce: self.nonce })
    }

    /// Closes the maker's descriptor: nobody else can map the memory from now on. Those that did keep it.
    pub fn withdraw(&mut self) {
        self.fd = None;
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

    /// Bytes, a multiple of a page.
    pub fn len(&self) -> usize {
        self.memory.len() - HEAD
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What the system said.
fn cause(error: MapError) -> io::Error {
    match error {
        MapError::System(_, error) => error,
        error => io::Error::other(error),
    }
}

impl SegmentTicket {
    /// The words for a message.
    pub fn words(&self) -> [u64; 4] {
        [self.number as u64, self.bytes, self.nonce[0], self.nonce[1]]
    }

    /// From the words of a message; `None` for what no segment gives.
    pub fn from_words([number, bytes, first, second]: [u64; 4]) -> Option<SegmentTicket> {
        let number = i32::try_from(number).ok()?;
        let fits = bytes >= HEAD as u64 && bytes.is_multiple_of(HEAD as u64) && i64::try_from(bytes).is_ok();
        fits.then_some(SegmentTicket { number, bytes, nonce: [first, second] })
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
        let found = [0, 1].map(|word| memory.words(2)[word].load(Ordering::Relaxed));
        if found != self.nonce {
            return Err(TakeError::NotOffered("it has another nonce"));
        }
        Ok(SharedSegment { memory, nonce: found, fd: None })
    }

    fn take_directly(&self, owner: &Owner, wish: usize) -> Result<SharedSegment, TakeError> {
        owner.take(self.number).and_then(|fd| self.map(fd, wish))
    }

    fn take_through_proc(&self, owner: &Owner, wish: usize) -> Result<SharedSegment, TakeError> {
        let fd = reopen_file(owner.pid, self.number).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => TakeError::NotOffered("it is no file"),
            _ => owner.failure(error),
        })?;
        self.map(fd, wish)
    }
}

impl Node {
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
    /// As above.
    pub fn map_segment_near(
        &self,
        peer: Peer,
        ticket: &SegmentTicket,
        wish: usize,
    ) -> Result<SharedSegment, TakeError> {
        let owner = self.owner(peer)?;
        match ticket.take_directly(&owner, wish) {
            Err(TakeError::Refused(_)) => ticket.take_through_proc(&owner, wish),
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

    fn word(segment: &SharedSegment) -> &AtomicU64 {
        assert!(segment.word(segment.len() / 8 - 1).is_some() && segment.word(segment.len() / 8).is_none());
        segment.word(0).unwrap()
    }

    #[test]
    fn both_ways_lead_to_the_same_memory() {
        let made = SharedSegment::create(5000).unwrap();
        assert_eq!(made.len(), 8192);
        let ticket = SegmentTicket::from_words(made.ticket().unwrap().words()).unwrap();
        for (number, take) in
            [(1, SegmentTicket::take_directly as fn(&_, &_, _) -> _), (2, SegmentTicket::take_through_proc)]
        {
            match take(&ticket, &ourselves(), 0) {
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
            for taken in [ticket.take_directly(&ourselves(), 0), ticket.take_through_proc(&ourselves(), 0)] {
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
        refused(&SegmentTicket { number: other.ticket().unwrap().number, ..ticket }, "it has another nonce");
        let open = MemoryFile::create(8192).unwrap();
        open.allocate_step(0).unwrap();
        refused(&SegmentTicket { number: open.fd.as_raw_fd(), ..ticket }, "it is no sealed memory file");
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
