//! Joint copies: the owner of exposed memory pushes chunks of it while the receiver pulls others.
//!
//! Pulling alone, a core moves what one core can move, and the other one watches. With both, long messages go
//! up to three times as fast as long as they fit in the caches. The owner helps whenever it is inside MPI and
//! has no copy of its own to make; see [`shm::joint`] for how chunks are claimed.

use btl::{Access, Peer};
use mem::UserMem;
use node::{CopyDirection, Node, Process, Runs, ring};
use platform::cma;
use shm::joint::{Control, GENERATIONS, Generation, Job};

use crate::single_copy::TABLE;
use crate::transport::Vader;

/// Exposed memory that its owner may help to copy.
#[derive(Debug)]
pub(crate) struct Offer {
    index: u32,
    generation: Generation,
    /// The only process that may open it, by its place on the node.
    receiver: u32,
    memory: Exposed,
    /// Where the receiver wants it, read from its table, by the table's address.
    target: Option<(u64, Runs)>,
    /// Chunks pushed.
    pushed: u64,
}

/// Memory open to a peer.
#[derive(Debug)]
pub(crate) enum Exposed {
    One(UserMem),
    Many(Runs),
}

impl Exposed {
    fn len(&self) -> u64 {
        match self {
            Exposed::One(memory) => memory.len() as u64,
            Exposed::Many(runs) => runs.len(),
        }
    }
}

/// The owner's side.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    controls: &'static [Control],
    /// Indices of unused control blocks.
    free: Vec<u32>,
    /// The next generation of each block.
    generations: Vec<Generation>,
    open: Vec<Offer>,
    /// Shortest memory for which help is offered; 0: never.
    least: usize,
}

impl Offers {
    /// No offers yet; with `least` 0 there never are.
    pub fn new(controls: &'static [Control], least: usize) -> Offers {
        let count = controls.len() as u32;
        let free = if least == 0 { Vec::new() } else { (0..count).rev().collect() };
        Offers { controls, free, generations: vec![1; controls.len()], open: Vec::new(), least }
    }

    /// Offers help with memory of `len` bytes; the third word of its key, 0 without.
    pub fn offer(&mut self, receiver: u32, len: usize, memory: impl FnOnce() -> Exposed) -> u64 {
        if len < self.least {
            return 0;
        }
        let Some(index) = self.free.pop() else { return 0 };
        let generation = self.generations[index as usize];
        self.generations[index as usize] = (generation + 1) % GENERATIONS;
        self.controls[index as usize].prepare(generation);
        self.open.push(Offer { index, generation, receiver, memory: memory(), target: None, pushed: 0 });
        u64::from(generation) << 32 | u64::from(index + 1)
    }

    /// Ends an offer by the third word of its key.
    pub fn withdraw(&mut self, word: u64) {
        let known = |offer: &Offer| u64::from(offer.generation) << 32 | u64::from(offer.index + 1) == word;
        if let Some(place) = self.open.iter().position(known) {
            let offer = self.open.swap_remove(place);
            // A latecomer finds another generation.
            self.controls[offer.index as usize].prepare(self.generations[offer.index as usize]);
            self.free.push(offer.index);
        }
    }

    /// Whether there is anything to look after.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a receiver waits for chunks that could be pushed now.
    pub fn has_work(&self) -> bool {
        self.open.iter().any(|offer| self.controls[offer.index as usize].job(offer.generation).is_some())
    }
}

impl Vader {
    /// Pushes one chunk, if a receiver has opened an offer; whether one was pushed.
    pub(crate) fn push_chunk(&mut self) -> bool {
        let Offers { controls, open, .. } = &mut self.offers;
        for offer in open {
            let control = &controls[offer.index as usize];
            let Some(job) = control.job(offer.generation) else { continue };
            let Some(process) = self.node.reached(offer.receiver) else { continue };
            if !offer.allows(&job) {
                continue;
            }
            let Some(chunk) = control.claim(offer.generation, job.chunks()) else { continue };
            match offer.push(&self.node, process, &job, chunk) {
                Ok(()) => {
                    offer.pushed += 1;
                    control.pushed(offer.generation, offer.pushed);
                }
                Err(_) => {
                    control.push_failed(chunk);
                    // The receiver copies the rest alone.
                    offer.memory = Exposed::One(UserMem::EMPTY);
                }
            }
            return true;
        }
        false
    }
}

impl Offer {
    /// Whether the job is one that the exposed memory and its receiver allow; a peer has written it.
    fn allows(&self, job: &Job) -> bool {
        let end = job.offset.checked_add(job.len);
        let within = end.is_some_and(|end| end <= self.memory.len());
        within && job.receiver == self.receiver && job.chunk > 0
    }

    fn push(&mut self, node: &Node, process: Process, job: &Job, chunk: u64) -> Result<(), cma::Failure> {
        let (start, len) = job.part(chunk);
        if let Exposed::One(memory) = self.memory
            && job.target & TABLE == 0
        {
            let part = memory.part((job.offset + start) as usize, len as usize);
            return node.copy(process, job.target.wrapping_add(start), part, Access::Write);
        }
        if self.target.as_ref().is_none_or(|(address, _)| *address != job.target) {
            let runs = match job.target & TABLE {
                0 => Runs::one(job.target, job.len),
                _ => node.fetch_runs(process, job.target & !TABLE).map_err(|_| cma::Failure::Fault)?,
            };
            self.target = Some((job.target, runs));
        }
        let (_, theirs) =
            self.target.as_ref().filter(|(_, runs)| runs.len() >= job.len).ok_or(cma::Failure::Fault)?;
        let alone;
        let ours = match &self.memory {
            Exposed::Many(runs) => runs,
            Exposed::One(memory) => {
                alone = Runs::of(&[*memory]);
                &alone
            }
        };
        // SAFETY: the memory's constructor vouches that each run may be read until it is concealed, which ends the
        // offer.
        unsafe {
            node.copy_runs(process, CopyDirection::Push, (ours, job.offset + start), (theirs, start), len)
        }
    }
}

/// The receiver's side of a joint copy.
#[derive(Debug)]
pub(crate) struct Share {
    control: &'static Control,
    generation: Generation,
    job: Job,
    opened: bool,
    /// Chunks that were claimed for pulling, and pulled.
    pulled: u64,
    /// The chunk that the owner could not push was pulled.
    repaired: bool,
    /// Looks for the owner's chunks that found some missing.
    idle: u32,
}

/// How a joint copy stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyProgress {
    /// This chunk is the receiver's to pull.
    Pull(u64),
    /// The owner still pushes.
    Wait,
    /// All chunks are there.
    Done,
    /// The owner has ended the exposure before its time.
    Ended,
    /// The owner is dead.
    Lost,
}

/// Looks that find the owner still pushing before it is asked whether the owner lives: a system call.
const POLLS_PER_CHECK: u32 = 4096;

impl Share {
    pub fn new(control: &'static Control, generation: Generation, job: Job) -> Share {
        Share { control, generation, job, opened: false, pulled: 0, repaired: false, idle: 0 }
    }

    /// Whether the owner may have begun to help.
    pub fn is_open(&self) -> bool {
        self.opened
    }

    /// What the receiver has to do next. After [`CopyProgress::Pull`] it calls [`Share::pulled`] or [`Share::give_up`].
    /// `owner_ended`: whether the owner's process has.
    pub fn step(&mut self, owner_ended: impl Fn() -> bool, wake_owner: impl FnOnce()) -> CopyProgress {
        if !self.opened {
            self.opened = true;
            if !self.control.open(self.generation, &self.job) {
                return CopyProgress::Ended;
            }
            wake_owner();
        }
        let chunks = self.job.chunks();
        if let Some(chunk) = self.control.claim(self.generation, chunks) {
            return CopyProgress::Pull(chunk);
        }
        let Some((pushed, failed)) = self.control.progress(self.generation) else {
            return CopyProgress::Ended;
        };
        if let Some(chunk) = failed
            && !self.repaired
            && chunk < chunks
        {
            self.repaired = true;
            return CopyProgress::Pull(chunk);
        }
        if self.pulled + pushed >= chunks {
            return CopyProgress::Done;
        }
        self.idle += 1;
        if self.idle.is_multiple_of(POLLS_PER_CHECK) && owner_ended() {
            CopyProgress::Lost
        } else {
            CopyProgress::Wait
        }
    }

    /// Offset and length of a chunk.
    pub fn part(&self, chunk: u64) -> (usize, usize) {
        let (start, len) = self.job.part(chunk);
        (start as usize, len as usize)
    }

    pub fn pulled(&mut self) {
        self.pulled += 1;
    }

    /// Ends the copy early and waits until the owner, if it pushes a chunk at the moment, has finished: the
    /// memory is the caller's again. A push is one system call of microseconds, and a dead owner pushes nothing.
    pub fn give_up(&mut self, owner_ended: impl Fn() -> bool) {
        let Some(claimed) = self.control.close(self.generation) else { return };
        let ours = self.pulled + 1;
        let mut polls = 0u32;
        loop {
            // A use that the owner has ended has no push under way.
            let Some((pushed, failed)) = self.control.progress(self.generation) else { return };
            if ours + pushed + u64::from(failed.is_some()) >= claimed {
                return;
            }
            polls += 1;
            if polls.is_multiple_of(POLLS_PER_CHECK) && owner_ended() {
                return;
            }
            platform::waiter::give_way();
        }
    }
}

impl Vader {
    /// The share in a joint copy that the third word of `peer`'s key offers, if it is one.
    pub(crate) fn share(&self, peer: Peer, word: u64, job: Job) -> Option<Share> {
        let index = (word as u32).checked_sub(1)?;
        let owner = self.local_of[peer.0 as usize] as usize;
        let control = self.segment.joints(owner).get(index as usize)?;
        let generation = (word >> 32) as Generation;
        (generation < GENERATIONS).then(|| Share::new(control, generation, job))
    }

    /// Wakes the owner of memory that is being copied, so that it helps.
    pub(crate) fn wake_owner(&self, local: u32) {
        ring(self.links[local as usize].doorbell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: Job = Job { target: 7, offset: 0, len: 30, chunk: 10, receiver: 3 };

    /// A share that is open and whose first chunk the owner has claimed.
    fn share(control: &'static Control) -> Share {
        control.prepare(1);
        let mut share = Share::new(control, 1, JOB);
        assert_eq!(share.step(|| false, || {}), CopyProgress::Pull(0));
        share.pulled();
        assert_eq!(control.claim(1, 3), Some(1));
        share
    }

    fn control() -> &'static Control {
        Box::leak(Box::default())
    }

    #[test]
    fn a_receiver_waits_for_no_owner_that_has_ended_the_use() {
        let control = control();
        let mut share = share(control);
        assert_eq!(share.step(|| false, || {}), CopyProgress::Pull(2));
        share.pulled();
        assert_eq!(share.step(|| false, || {}), CopyProgress::Wait);
        control.prepare(2);
        assert_eq!(share.step(|| false, || {}), CopyProgress::Ended);
    }

    #[test]
    fn a_receiver_that_gives_up_late_leaves_the_next_use_alone() {
        let control = control();
        let mut share = share(control);
        control.prepare(2);
        share.give_up(|| false);
        let mut next = Share::new(control, 2, JOB);
        assert_eq!(next.step(|| false, || {}), CopyProgress::Pull(0));
    }

    #[test]
    fn the_wait_for_an_owner_that_is_dead_ends() {
        let mut share = share(control());
        assert_eq!(share.step(|| true, || {}), CopyProgress::Pull(2));
        share.pulled();
        let steps = std::iter::repeat_with(|| share.step(|| true, || {}));
        let last = steps.take(2 * POLLS_PER_CHECK as usize).find(|step| *step != CopyProgress::Wait);
        assert_eq!(last, Some(CopyProgress::Lost));
    }
}
