//! The pointer that all processes of a file share (MPI-5.0 section 14.4.4): a word in memory that they share.
//!
//! Where the processes of a file are on one node, rank 0 lends a word of a page that it shares with them; the page serves
//! all files that it is rank 0 of, so opening a file costs no system call for it. Elsewhere rank 0 keeps the word, and the
//! others ask it by active messages (`questions`). Nothing is left behind.
//!
//! ```text
//!   rank 3 ──MOVE word, by how much──► rank 0: adds      answer ──► where the pointer was: there rank 3 begins
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abi::{Error, Result};
use btl::Peer;
use node::{Node, SegmentTicket, SharedSegment};

use super::elsewhere;
use super::questions::{Answer, Asker, MOVE, answer, ask};
use super::{FILES, file_of};
use collectives::{gather_words, share_words};
use objects::domain::Token;
use objects::state::State;

/// Words by which a process finds the pointer that another one has made.
pub const WORDS: usize = 6;

/// Words on a page.
const EACH: usize = 512;

/// Where the shared pointer of a file is.
#[derive(Clone)]
pub enum SharedPointer {
    /// One process has the file open.
    Alone(Arc<AtomicU64>),
    /// A word of a page that they share; `mine`: this process lends it.
    Node { page: Arc<SharedSegment>, index: usize, mine: bool },
    /// This process keeps it for others, under a number.
    Kept { word: Arc<AtomicU64>, number: u64 },
    /// Another process keeps it.
    Far { keeper: Peer, number: u64 },
    /// This process cannot reach the word that was made; before the file is open, all go on by messages.
    Absent,
}

/// Pages of shared pointers, and what is kept for other hosts.
pub struct Pages {
    /// Pointers that this process keeps for others, by number.
    kept: BTreeMap<u64, Arc<AtomicU64>>,
    /// The last number that was given.
    numbers: u64,
    /// The pages that this process lends words of.
    own: Vec<Own>,
    /// Pages of other processes, by what names them.
    others: BTreeMap<[u64; 4], Arc<SharedSegment>>,
}

struct Own {
    page: Arc<SharedSegment>,
    free: Vec<usize>,
}

impl Pages {
    pub const fn new() -> Pages {
        Pages { kept: BTreeMap::new(), numbers: 0, own: Vec::new(), others: BTreeMap::new() }
    }

    /// A word that no file has.
    fn lend(&mut self, node: Option<&Node>) -> std::io::Result<SharedPointer> {
        if self.own.iter().all(|own| own.free.is_empty()) {
            let Some(node) = node else { return Ok(SharedPointer::Absent) };
            let page = Arc::new(node.create_segment(EACH * 8, 0)?);
            self.own.push(Own { page, free: (0..EACH).rev().collect() });
        }
        let found = self.own.iter_mut().find_map(|own| Some((own.free.pop()?, own.page.clone())));
        let Some((index, page)) = found else { return Ok(SharedPointer::Absent) };
        Ok(SharedPointer::Node { page, index, mine: true })
    }

    /// Keeps a pointer for processes of other hosts.
    fn keep(&mut self) -> SharedPointer {
        self.numbers += 1;
        let word = Arc::new(AtomicU64::new(0));
        self.kept.insert(self.numbers, word.clone());
        SharedPointer::Kept { word, number: self.numbers }
    }

    /// Takes a word back whose file is closed.
    pub fn give_back(&mut self, pointer: &SharedPointer) {
        if let SharedPointer::Kept { number, .. } = pointer {
            self.kept.remove(number);
        }
        if let SharedPointer::Node { page, index, mine: true } = pointer
            && let Some(own) = self.own.iter_mut().find(|own| Arc::ptr_eq(&own.page, page))
        {
            own.free.push(*index);
        }
    }
}

/// Whether all processes of a communicator are on this host.
pub(crate) fn shares_host(state: &State, comm: abi::Comm) -> bool {
    let Ok(comm) = state.comm(comm) else { return false };
    let here = |&peer: &u32| state.node.as_ref().is_some_and(|node| node.place_of(Peer(peer)).is_some());
    comm.size() == 1 || comm.group.members().iter().all(here)
}

impl SharedPointer {
    /// For a file that one process opens.
    pub fn alone() -> SharedPointer {
        SharedPointer::Alone(Arc::default())
    }

    /// Made by rank 0, for all.
    pub fn create(t: &mut Token, comm: abi::Comm) -> SharedPointer {
        let mut state = t.lock();
        if !shares_host(&state, comm) {
            return FILES.get_mut(&mut state.tables).pages.keep();
        }
        let State { tables, node, .. } = &mut *state;
        let pointer = FILES.get_mut(tables).pages.lend(node.as_deref()).unwrap_or(SharedPointer::Absent);
        pointer.set(0);
        pointer
    }

    /// Kept by rank 0, which all others ask: where they cannot reach a word of it. To be called by all.
    pub fn by_messages(t: &mut Token, comm: abi::Comm, rank: u32) -> Result<SharedPointer> {
        let kept = (rank == 0).then(|| FILES.get_mut(&mut t.lock().tables).pages.keep());
        let mut words = kept.as_ref().map_or([0; WORDS], SharedPointer::words);
        share_words(t, comm, 0, &mut words)?;
        Ok(kept.unwrap_or_else(|| SharedPointer::open(t, comm, &words)))
    }

    /// What the others find it by.
    pub fn words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        if let SharedPointer::Node { page, index, .. } = self
            && let Some(ticket) = page.ticket()
        {
            words[0] = 1;
            words[1] = *index as u64;
            words[2..].copy_from_slice(&ticket.words());
        }
        if let SharedPointer::Kept { number, .. } = self {
            words[..2].copy_from_slice(&[2, *number]);
        }
        words
    }

    /// The one that rank 0 has made.
    pub fn open(t: &mut Token, comm: abi::Comm, words: &[u64]) -> SharedPointer {
        let (Some(&index), Some(&ticket)) = (words.get(1), words.last_chunk::<4>()) else {
            return SharedPointer::Absent;
        };
        let mut state = t.lock();
        if words[0] == 2 {
            let keeper = state.comm(comm).ok().and_then(|comm| comm.group.members().first().copied());
            return keeper.map_or(SharedPointer::Absent, |keeper| SharedPointer::Far {
                keeper: Peer(keeper),
                number: index,
            });
        }
        let index = index as usize;
        if words[0] != 1 || index >= EACH {
            return SharedPointer::Absent;
        }
        let page = match FILES.get(&state.tables).pages.others.get(&ticket) {
            Some(page) => Some(page.clone()),
            None => map_page(&mut state, comm, ticket),
        };
        page.map_or(SharedPointer::Absent, |page| SharedPointer::Node { page, index, mine: false })
    }

    pub fn is_there(&self) -> bool {
        !matches!(self, SharedPointer::Absent)
    }

    fn word(&self) -> Option<&AtomicU64> {
        match self {
            SharedPointer::Alone(word) | SharedPointer::Kept { word, .. } => Some(word),
            SharedPointer::Node { page, index, .. } => page.word(*index),
            SharedPointer::Far { .. } | SharedPointer::Absent => None,
        }
    }

    /// Its keeper and number, if another process keeps it.
    pub fn far(&self) -> Option<(Peer, u64)> {
        match *self {
            SharedPointer::Far { keeper, number } => Some((keeper, number)),
            _ => None,
        }
    }

    /// Puts it somewhere, in etypes.
    pub fn set(&self, offset: i64) {
        if let Some(word) = self.word() {
            word.store(offset as u64, Ordering::Release);
        }
    }

    /// Where it is, if no other process keeps it.
    ///
    /// # Errors
    /// `MPI_ERR_UNSUPPORTED_OPERATION` if memory that should be shared is not.
    pub fn get(&self) -> Result<i64> {
        Ok(self.word().ok_or(ABSENT)?.load(Ordering::Acquire) as i64)
    }

    /// Moves it by so many etypes, if no other process keeps it; where it was.
    ///
    /// # Errors
    /// As [`SharedPointer::get`].
    pub fn take(&self, etypes: i64) -> Result<i64> {
        Ok(self.word().ok_or(ABSENT)?.fetch_add(etypes as u64, Ordering::AcqRel) as i64)
    }
}

const ABSENT: Error = Error::new(
    abi::ERR_UNSUPPORTED_OPERATION,
    "the processes cannot reach the memory that their shared file pointer is in",
);

/// Maps the page that rank 0 of `comm` lends words of.
fn map_page(state: &mut State, comm: abi::Comm, ticket: [u64; 4]) -> Option<Arc<SharedSegment>> {
    let first = *state.comm(comm).ok()?.group.members().first()?;
    let known = SegmentTicket::from_words(ticket)?;
    let page = Arc::new(state.node.as_ref()?.map_segment(Peer(first), &known).ok()?);
    FILES.get_mut(&mut state.tables).pages.others.insert(ticket, page.clone());
    Some(page)
}

/// `MPI_File_seek_shared`
pub fn seek_shared(t: &mut Token, fh: abi::File, offset: i64, whence: i32) -> Result<()> {
    let end = super::view::end_for(t, fh, whence);
    let now = current(t, fh);
    let (comm, target) = {
        let state = t.lock();
        let file = file_of(&state, fh)?;
        let target = file.refuse_sequential().and(now);
        (
            file.comm,
            end.and_then(|end| target.and_then(|now| super::view::sought(file, now, offset, whence, end))),
        )
    };
    let class = target.as_ref().err().map_or(0, |error| error.class as u64);
    let all = gather_words(t, comm, &[class, offset as u64, whence as u64])?;
    let target = target?;
    if let Some(rank) = all.chunks(3).find(|rank| rank[0] != 0) {
        return Err(elsewhere(rank[0]));
    }
    if all.chunks(3).any(|rank| rank[1..] != all[1..3]) {
        return Err(Error::new(abi::ERR_NOT_SAME, "the processes give different offsets"));
    }
    {
        let state = t.lock();
        if state.comm(comm)?.rank == 0 {
            file_of(&state, fh)?.shared.set(target);
        }
    }
    collectives::barrier(t, collectives::Mode::Own, comm)
}

/// Where the shared pointer of a file is, whichever process keeps it.
pub(super) fn current(t: &mut Token, fh: abi::File) -> Result<i64> {
    moved(t, fh, 0)
}

/// Moves the shared pointer by so many etypes, whichever process keeps it; where it was.
pub(super) fn moved(t: &mut Token, fh: abi::File, etypes: i64) -> Result<i64> {
    let (keeper, number) = {
        let state = t.lock();
        let shared = &file_of(&state, fh)?.shared;
        match shared.far() {
            None => return shared.take(etypes),
            Some(far) => far,
        }
    };
    let answer = ask(t, keeper, MOVE, [number, etypes as u64, 0])?;
    answer.map(|answer| answer.words[0] as i64).ok_or(UNKNOWN)
}

const UNKNOWN: Error =
    Error::new(abi::ERR_FILE, "the process that keeps the shared file pointer does not know it");

/// Another process moves a pointer that is kept here.
pub(super) fn serve(state: &mut State, asker: Asker, number: u64, etypes: u64) {
    let word = FILES.get(&state.tables).pages.kept.get(&number);
    let was = word.map(|word| word.fetch_add(etypes, Ordering::AcqRel));
    answer(state, asker, was.map(|was| Answer { words: [was, 0], bytes: Vec::new() }));
}

/// `MPI_File_get_position_shared`
pub fn get_position_shared(t: &mut Token, fh: abi::File, offset: &mut i64) -> Result<()> {
    file_of(&t.lock(), fh)?.refuse_sequential()?;
    *offset = current(t, fh)?;
    Ok(())
}
