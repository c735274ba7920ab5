//! Blocks of memory that frames arrive in.

use mem::UserMem;
use portals::{
    Descriptor, Eq, Me, NewEntry, Options, Portals, Position, ProcessMatch, Result, Threshold, Unlink,
};

/// Index of the portal table for frames, as Open MPI had it.
pub(crate) const FRAMES: u32 = 30;

/// The blocks of one process.
pub(crate) struct Blocks {
    memory: Vec<UserMem>,
    /// The entry behind all blocks.
    reject: Me,
    /// Frames that one block takes at most.
    frames: u32,
    /// Bytes of the longest frame.
    longest: usize,
    eq: Eq,
}

impl Blocks {
    /// Sets `count` blocks of `bytes` up, whose events go to `eq`, a queue of `events`.
    pub(crate) fn new<N: Portals>(
        nic: &mut N,
        (count, bytes): (usize, usize),
        (eq, events): (Eq, u32),
        longest: usize,
    ) -> Result<Blocks> {
        let reject = reject(nic, FRAMES, Options::OP_PUT)?;
        let memory: Vec<UserMem> = (0..count).map(|_| portals::lasting(bytes.max(longest))).collect();
        // Each frame has one event, and the block's end one more; half of the queue stays free.
        let frames = (events / (2 * count as u32)).max(1);
        let blocks = Blocks { memory, reject, frames, longest, eq };
        for block in 0..count {
            blocks.arm(nic, block)?;
        }
        Ok(blocks)
    }

    /// Puts a block, whose frames have all been taken, at the end of the list.
    pub(crate) fn arm<N: Portals>(&self, nic: &mut N, block: usize) -> Result<()> {
        let any = ProcessMatch::ANY;
        let me =
            nic.me_insert(self.reject, NewEntry::new(any, 0, u64::MAX, Unlink::Unlink), Position::Before)?;
        let descriptor = Descriptor {
            threshold: Threshold::Count(self.frames),
            max_size: self.longest,
            options: Options::OP_PUT | Options::MAX_SIZE | Options::EVENT_START_DISABLE,
            user: block as u64,
            eq: Some(self.eq),
            ..Descriptor::of(self.memory[block])
        };
        nic.md_attach(me, &descriptor, Unlink::Unlink).map(drop)
    }

    /// The bytes of a frame.
    pub(crate) fn frame(&self, block: u64, offset: usize, len: usize) -> UserMem {
        self.memory.get(block as usize).map_or(UserMem::EMPTY, |memory| memory.part(offset, len))
    }
}

/// An entry at the end of a list that takes what nothing before it takes, down to nothing.
pub(crate) fn reject<N: Portals>(nic: &mut N, index: u32, accepts: Options) -> Result<Me> {
    let me =
        nic.me_attach(index, NewEntry::new(ProcessMatch::ANY, 0, u64::MAX, Unlink::Retain), Position::After)?;
    let silent = Options::EVENT_START_DISABLE | Options::EVENT_END_DISABLE;
    let options = accepts | Options::TRUNCATE | silent;
    nic.md_attach(me, &Descriptor { options, ..Descriptor::of(UserMem::EMPTY) }, Unlink::Retain)?;
    Ok(me)
}
