//! What a process keeps of the ranks whose memory the network reaches, and of what it has under way there.
//!
//! One record for each rank, found by its number: an operation allocates nothing.

use std::collections::HashMap;

use abi::Error;
use bml::Bml;
use btl::{Class, Flushed, Peer, Refusal, Remote, RemoteKey, RemoteMemory};
use mem::Slab;
use osc::Operations;

use super::Window;
use super::far::number;
use super::remote::Registered;

/// The memory of a rank that the network reaches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub key: RemoteKey,
    /// The address there.
    base: usize,
    pub remote: Remote,
    /// Whether the network is to change it by atomic operations: it may, and messages are not faster.
    pub atomics: bool,
}

/// A rank, and what is under way there.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankTraffic {
    pub peer: Peer,
    pub reached: Reached,
    /// Reads and fetches under way.
    reading: u32,
    /// There are writes or updates since the last flush.
    written: bool,
    /// It is in the list of written ranks.
    listed: bool,
    /// There are accumulates of the network that messages have not waited for.
    changed: bool,
}

/// The end of a read or fetch that is under way.
struct Read {
    rank: u32,
    /// Of the data that waits for it, or [`osc::NO_TOKEN`]: nothing but a flush does.
    token: u64,
}

/// Bits of a read's number in its cookie, index and generation; that of the window has the others.
const NUMBERS: u32 = INDEX + GENERATION;
const INDEX: u32 = 20;
const GENERATION: u32 = 4;

/// What a process keeps of a window some of whose ranks are reached so.
#[derive(Default)]
pub struct Network {
    registered: Option<Registered>,
    /// By rank; empty if there is none.
    targets: Box<[Option<RankTraffic>]>,
    reads: Slab<Read, INDEX, GENERATION>,
    /// Ranks that were written since they were last all asked for; some may be flushed already.
    written: Vec<u32>,
    /// Copies of what is written, by rank, and their bytes in all.
    copies: Vec<(u32, Vec<u8>)>,
    copied: usize,
    /// Puts with a request whose origin is in use, by token.
    puts: HashMap<u64, u32>,
}

impl Reached {
    /// Where an address of the rank lies in what it has registered.
    pub fn offset(&self, address: usize) -> u64 {
        address.wrapping_sub(self.base) as u64
    }
}

impl Network {
    /// Of a process that has offered `registered`, with what the ranks of other nodes have offered: each the peer and
    /// where its memory begins.
    pub fn new<'a>(
        bml: &Bml,
        registered: Option<Registered>,
        offers: impl Iterator<Item = Option<(Peer, usize, &'a [u64])>>,
    ) -> Network {
        let targets: Box<[Option<RankTraffic>]> = offers
            .map(|offer| {
                let (peer, base, &[about, first, second, third]) = offer? else { return None };
                let remote = bml.remote(peer).filter(|remote| u64::from(remote.network) == about & 0xff)?;
                let atomics = about >> 8 != 0 && remote.is_for_atomics();
                let reached = Reached { key: RemoteKey([first, second, third]), base, remote, atomics };
                Some(RankTraffic { peer, reached, reading: 0, written: false, listed: false, changed: false })
            })
            .collect();
        let targets = if targets.iter().any(Option::is_some) { targets } else { Box::default() };
        Network { registered, targets, ..Network::default() }
    }

    /// The window is gone, for all its processes.
    pub fn close(&self, bml: &mut Bml) {
        if let Some(registered) = self.registered {
            registered.withdraw(bml);
        }
    }

    #[inline]
    pub(super) fn target(&self, rank: u32) -> Option<&RankTraffic> {
        self.targets.get(rank as usize)?.as_ref()
    }

    #[inline]
    fn target_mut(&mut self, rank: u32) -> Option<&mut RankTraffic> {
        self.targets.get_mut(rank as usize)?.as_mut()
    }

    /// Whether reads and fetches of a rank, or of any, are under way.
    #[inline]
    pub fn reads(&self, rank: Option<u32>) -> bool {
        match rank {
            Some(rank) => self.target(rank).is_some_and(|target| target.reading > 0),
            None => !self.reads.is_empty(),
        }
    }

    /// Begins a read or fetch of a rank's memory by `operation`, which gets a cookie; for data that waits under `token`.
    #[inline]
    pub fn read(
        &mut self,
        win: abi::Win,
        (rank, token): (u32, u64),
        operation: impl FnOnce(Peer, u64) -> Begun,
    ) -> Begun {
        let Some(Some(target)) = self.targets.get_mut(rank as usize) else { return Err(Refusal::Unfit) };
        let Ok(read) = self.reads.insert(Read { rank, token }) else { return Err(Refusal::Busy) };
        let cookie = Class::Osc.cookie(number(win) << NUMBERS | u64::from(read));
        let begun = operation(target.peer, cookie);
        match begun {
            Ok(()) => target.reading += 1,
            Err(_) => self.reads.discard(read),
        }
        begun
    }

    /// A write or update of a rank's memory has begun.
    #[inline]
    pub fn writes(&mut self, rank: u32) {
        let Some(target) = self.target_mut(rank) else { return };
        target.written = true;
        if !std::mem::replace(&mut target.listed, true) {
            self.written.push(rank);
        }
    }

    /// An accumulate on a rank has begun.
    pub fn changes(&mut self, rank: u32) {
        if let Some(target) = self.target_mut(rank) {
            target.changed = true;
        }
    }

    /// Whether there are accumulates on a rank that messages have not waited for; from now on they have.
    pub fn take_changed(&mut self, rank: u32) -> bool {
        self.target_mut(rank).is_some_and(|target| std::mem::take(&mut target.changed))
    }

    /// Whether writes and updates of a rank's memory are over; what has become of them is noted in `operations`.
    #[inline]
    fn is_flushed(&mut self, bml: &mut Bml, rank: u32, operations: &mut Operations) -> bool {
        let Some(target) = self.target_mut(rank).filter(|target| target.written) else { return true };
        let result = match bml.flush(target.peer) {
            Flushed::Pending => return false,
            Flushed::Done => Ok(()),
            Flushed::Failed => Err(UNREACHED),
        };
        target.written = false;
        if let Err(error) = result {
            operations.fail(rank, error);
        }
        if !self.copies.is_empty() {
            self.copies.retain(|(of, _)| *of != rank);
            self.copied = self.copies.iter().map(|(_, copy)| copy.len()).sum();
        }
        if !self.puts.is_empty() {
            self.puts.retain(|&token, of| {
                if *of == rank {
                    operations.ended(rank, token, result);
                }
                *of != rank
            });
        }
        true
    }

    /// As [`Network::is_flushed`], of all ranks.
    fn are_all_flushed(&mut self, bml: &mut Bml, operations: &mut Operations) -> bool {
        while let Some(&rank) = self.written.last() {
            if !self.is_flushed(bml, rank, operations) {
                return false;
            }
            self.written.pop();
            if let Some(target) = self.target_mut(rank) {
                target.listed = false;
            }
        }
        true
    }

    /// Whether one more copy of so many bytes may be kept.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.copied + bytes <= COPIES
    }

    /// Keeps a copy of what is being written to a rank until a flush.
    pub fn keep(&mut self, rank: u32, copy: Vec<u8>) {
        self.copied += copy.len();
        self.copies.push((rank, copy));
        self.writes(rank);
    }

    /// The origin of a put to a rank is in use under a token, until a flush.
    pub fn uses(&mut self, token: u64, rank: u32) {
        self.puts.insert(token, rank);
    }

    /// The rank whose put with this token is not known to be over.
    pub fn put(&self, token: u64) -> Option<u32> {
        if self.puts.is_empty() { None } else { self.puts.get(&token).copied() }
    }

    /// Whether writes or updates of a rank's memory have begun since the last flush.
    pub fn has_written(&self, rank: u32) -> bool {
        self.target(rank).is_some_and(|target| target.written)
    }

    /// The read with the number in a cookie is over: its rank and its token.
    #[inline]
    pub fn read_over(&mut self, cookie: u64) -> Option<(u32, u64)> {
        let Read { rank, token } = self.reads.remove((cookie & ((1 << NUMBERS) - 1)) as u32)?;
        if let Some(target) = self.target_mut(rank) {
            target.reading -= 1;
        }
        Some((rank, token))
    }

    /// The number of the window in a cookie.
    pub fn window_of(cookie: u64) -> u64 {
        cookie >> NUMBERS
    }
}

/// The error of accesses that the network could not carry out: their place was checked, so it is not that.
pub(super) const UNREACHED: Error =
    Error::new(abi::ERR_PROC_ABORTED, "the network does not reach the target of an operation any more");

/// A transport's answer to an access.
pub(super) type Begun = std::result::Result<(), Refusal>;

/// Most bytes of copies: then the next one waits.
const COPIES: usize = 1 << 20;

impl Window {
    /// The network between this process and a rank, if it reaches its memory.
    pub(super) fn network(&self, rank: u32) -> Option<Reached> {
        Some(self.far.as_ref()?.network.target(rank)?.reached)
    }

    /// Whether writes and updates of a rank's memory, or of any, are over; failures are recorded.
    #[inline]
    pub(super) fn is_flushed(&mut self, bml: &mut Bml, rank: Option<u32>) -> bool {
        let Some(far) = &mut self.far else { return true };
        match rank {
            Some(rank) => far.network.is_flushed(bml, rank, &mut far.operations),
            None => far.network.are_all_flushed(bml, &mut far.operations),
        }
    }

    /// Whether nothing that the network does in a rank's memory for this process is under way.
    pub(super) fn is_settled(&mut self, bml: &mut Bml, rank: u32) -> bool {
        let reads = self.far.as_ref().is_some_and(|far| far.network.reads(Some(rank)));
        !reads && self.is_flushed(bml, Some(rank))
    }
}
