//! Single copy: long messages move from one process's memory to the other's without a stop in between.
//!
//! A key is `[address, length, offer]` in the memory of the process that exposed it; nothing is registered. The
//! offer names a control block by which the owner helps (see [`crate::joint_copy`]), or is 0. For memory in several runs
//! the address is that of a table ([`node::Runs`]). The node knows whose memory can be reached; where it refuses, the
//! layer above uses another protocol.

use btl::{Access, Event, Peer, Refusal, RemoteKey};
use mem::UserMem;
use node::{CopyDirection, MOST_RUNS, Node, Process, Runs};
use platform::cma;
use shm::joint::Job;

use crate::joint_copy::{CopyProgress, Exposed, Share};
use crate::transport::Vader;

/// Set in an address that is that of a table. No user address of a process has this bit.
pub(crate) const TABLE: u64 = 1 << 63;

/// A get or put under way.
#[derive(Debug)]
pub(crate) struct Copy {
    /// The part in a joint copy, if it is one.
    share: Option<Share>,
    process: Process,
    what: What,
    len: usize,
    done: usize,
    cookie: u64,
}

/// From where to where.
#[derive(Debug)]
enum What {
    /// One run on either side.
    Plain { remote: u64, memory: UserMem, access: Access },
    /// A get with several runs on one side at least.
    Scattered(Box<Scattered>),
}

#[derive(Debug)]
struct Scattered {
    ours: Runs,
    /// Of our runs, kept in place for an owner that helps and reads it; empty for one run.
    _table: Box<[u64]>,
    theirs: Runs,
    /// Of the first byte wanted, in theirs.
    offset: u64,
}

/// Shortest message that both sides copy: below, starting together costs more than it gains.
pub(crate) const LEAST_JOINT: usize = 32 << 10;

/// Chunks that are moved at once when the owner does not help: each call of the kernel costs as much as some
/// kilobytes, and two processes that copy from each other lose step between calls.
const CHUNKS_ALONE: usize = 32;

/// Copies that are made alone after memory of our own was on offer during one: data goes both ways then, and each side
/// has enough to pull. What is pushed would also leave the cache of the process that reads it again and again.
const ALONE_AFTERWARDS: u8 = 16;

impl Vader {
    /// The process of `peer`, if its memory can be reached.
    fn reach(&self, peer: Peer) -> Result<Process, Refusal> {
        self.node.reach(self.local_of[peer.0 as usize]).ok_or(Refusal::Unfit)
    }

    pub(crate) fn make_key(
        &mut self,
        peer: Peer,
        memory: UserMem,
        access: Access,
    ) -> Result<RemoteKey, Refusal> {
        self.node.expect_copies(memory);
        // What we may do with the peer's memory, it may do with ours: same user, same rules.
        self.reach(peer)?;
        let receiver = self.local_of[peer.0 as usize];
        let exposed = || Exposed::One(memory);
        let offer =
            if access == Access::Read { self.offers.offer(receiver, memory.len(), exposed) } else { 0 };
        self.busy |= offer != 0;
        Ok(RemoteKey([memory.address() as u64, memory.len() as u64, offer]))
    }

    pub(crate) fn make_key_of_runs(&mut self, peer: Peer, runs: &[UserMem]) -> Result<RemoteKey, Refusal> {
        self.reach(peer)?;
        if runs.len() > MOST_RUNS {
            return Err(Refusal::Unfit);
        }
        let receiver = self.local_of[peer.0 as usize];
        let runs = Runs::of(runs);
        let (table, len) = (runs.table(), runs.len());
        let address = table.as_ptr() as u64;
        self.tables.push(table);
        let offer = self.offers.offer(receiver, len as usize, || Exposed::Many(runs));
        self.busy |= offer != 0;
        Ok(RemoteKey([address | TABLE, len, offer]))
    }

    /// Ends what a key names.
    pub(crate) fn drop_key(&mut self, key: &RemoteKey) {
        self.offers.withdraw(key.0[2]);
        if key.0[0] & TABLE != 0 {
            self.tables.retain(|table| table.as_ptr() as u64 | TABLE != key.0[0]);
        }
    }

    /// Gets what `key` names into runs of ours.
    pub(crate) fn start_scattered(
        &mut self,
        peer: Peer,
        runs: &[UserMem],
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let process = self.reach(peer)?;
        let [address, exposed, offer] = key.0;
        let ours = Runs::of(runs);
        let len = ours.len();
        let end = offset.checked_add(len).filter(|&end| end <= exposed).ok_or(Refusal::Unfit)?;
        let theirs = match address & TABLE {
            0 => Runs::one(address, exposed),
            _ => self.node.fetch_runs(process, address & !TABLE)?,
        };
        if runs.len() > MOST_RUNS || theirs.len() < end {
            return Err(Refusal::Unfit);
        }
        let (table, target) = match runs {
            [one] => (Box::default(), one.address() as u64),
            _ => {
                let table = ours.table();
                let address = table.as_ptr() as u64;
                (table, address | TABLE)
            }
        };
        let what = What::Scattered(Box::new(Scattered { ours, _table: table, theirs, offset }));
        self.start((peer, process), what, len as usize, cookie, Some((offer, target, offset)));
        Ok(())
    }

    /// Queues a copy; `help` is the owner's offer, where it is to write to, and the first byte wanted.
    fn start(
        &mut self,
        (peer, process): (Peer, Process),
        what: What,
        len: usize,
        cookie: u64,
        help: Option<(u64, u64, u64)>,
    ) {
        let help = help.filter(|_| self.cooperative && len >= LEAST_JOINT);
        let share = help.and_then(|(offer, target, offset)| {
            // Both sides should have something to do.
            let chunk = self.chunk.min((len / 2).next_multiple_of(4096)) as u64;
            self.share(peer, offer, Job { target, offset, len: len as u64, chunk, receiver: self.me })
        });
        self.copies.push_back(Copy { share, process, what, len, done: 0, cookie });
        self.busy = true;
    }

    pub(crate) fn start_copy(
        &mut self,
        peer: Peer,
        memory: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
        access: Access,
    ) -> Result<(), Refusal> {
        let process = self.reach(peer)?;
        self.node.expect_copies(memory);
        let [address, exposed, offer] = key.0;
        let end = offset.checked_add(memory.len() as u64).ok_or(Refusal::Unfit)?;
        if end > exposed {
            return Err(Refusal::Unfit);
        }
        if address & TABLE != 0 {
            let runs = [memory];
            return match access {
                Access::Read => self.start_scattered(peer, &runs, key, offset, cookie),
                Access::Write => Err(Refusal::Unfit),
            };
        }
        let what = What::Plain { remote: address.wrapping_add(offset), memory, access };
        let help = (access == Access::Read).then_some((offer, memory.address() as u64, offset));
        self.start((peer, process), what, memory.len(), cookie, help);
        Ok(())
    }

    /// Reports an event, or moves one piece of the oldest copy, or helps a peer with one of its.
    #[inline(never)]
    pub(crate) fn work(&mut self) -> Option<Event> {
        let event = match self.events.pop_front() {
            Some(event) => Some(event),
            None if self.copies.is_empty() => {
                self.push_chunk();
                None
            }
            None => self.advance_copy(),
        };
        self.busy = !self.events.is_empty() || !self.copies.is_empty() || !self.offers.is_empty();
        event
    }

    fn advance_copy(&mut self) -> Option<Event> {
        let mut copy = self.copies.pop_front()?;
        let link = &mut self.links[copy.process.place() as usize];
        if !self.offers.is_empty() {
            link.alone = ALONE_AFTERWARDS;
        }
        let share = copy.share.take().filter(|share| share.is_open() || link.alone == 0);
        let outcome = match share {
            Some(share) => self.advance_together(&mut copy, share),
            None => copy.advance(&self.node, self.chunk * CHUNKS_ALONE),
        };
        match outcome {
            Ok(false) => {
                self.copies.push_front(copy);
                None
            }
            Ok(true) => {
                self.copied += copy.len as u64;
                let link = &mut self.links[copy.process.place() as usize];
                link.alone = link.alone.saturating_sub(1);
                Some(Event::Done(copy.cookie))
            }
            Err(failure) => {
                let link = &mut self.links[copy.process.place() as usize];
                match failure {
                    cma::Failure::Refused => self.node.refuse(copy.process),
                    cma::Failure::Gone => {
                        let lost = Event::PeerLost(link.peer);
                        self.report(lost);
                    }
                    cma::Failure::Fault => {}
                }
                Some(Event::Failed(copy.cookie))
            }
        }
    }

    /// One step of a joint copy; whether it was the last.
    fn advance_together(&mut self, copy: &mut Copy, mut share: Share) -> Result<bool, cma::Failure> {
        let owner = copy.process.place();
        let owner_ended = || self.node.has_ended_at(owner);
        match share.step(owner_ended, || self.wake_owner(owner)) {
            CopyProgress::Done => return Ok(true),
            CopyProgress::Ended => return Err(cma::Failure::Fault),
            CopyProgress::Lost => return Err(cma::Failure::Gone),
            CopyProgress::Wait => {}
            CopyProgress::Pull(chunk) => {
                let (start, len) = share.part(chunk);
                if let Err(failure) = copy.move_part(&self.node, start, len) {
                    share.give_up(owner_ended);
                    return Err(failure);
                }
                share.pulled();
            }
        }
        copy.share = Some(share);
        Ok(false)
    }
}

impl Copy {
    /// Moves at most `chunk` bytes; whether that was the last of them.
    fn advance(&mut self, node: &Node, chunk: usize) -> Result<bool, cma::Failure> {
        let len = chunk.min(self.len - self.done);
        self.move_part(node, self.done, len)?;
        self.done += len;
        Ok(self.done == self.len)
    }

    /// Moves `len` bytes from `start` on.
    fn move_part(&self, node: &Node, start: usize, len: usize) -> Result<(), cma::Failure> {
        match &self.what {
            What::Plain { remote, memory, access } => {
                let remote = remote.wrapping_add(start as u64);
                node.copy(self.process, remote, memory.part(start, len), *access)
            }
            What::Scattered(scattered) => {
                let Scattered { ours, theirs, offset, .. } = scattered.as_ref();
                let (ours, theirs) = ((ours, start as u64), (theirs, offset + start as u64));
                // SAFETY: the memory's constructor vouches that each run may be written until the copy is reported.
                unsafe { node.copy_runs(self.process, CopyDirection::Pull, ours, theirs, len as u64) }
            }
        }
    }
}
