//! Memory for short messages that come before their receive.

use crate::device::{Device, Kept, List};
use mem::UserMem;
use portals::{
    Descriptor, Eq, Me, NewEntry, Options, Portals, Position, ProcessMatch, Result, Threshold, Unlink,
};

/// Index of the portal table for messages, as Open MPI had it.
pub(crate) const MESSAGES: u32 = 32;

/// Where the protocol stands in the match bits.
const PROTOCOL_AT: u32 = 60;
/// The bits that are the user's.
pub(crate) const USER_BITS: u64 = (1 << PROTOCOL_AT) - 1;
/// A message that is kept.
pub(crate) const SHORT: u64 = 1 << PROTOCOL_AT;
/// A message that is fetched.
pub(crate) const LONG: u64 = 2 << PROTOCOL_AT;

/// The owner's word of the entry for long messages.
pub(crate) const LONG_ENTRY: u64 = 1 << 40;
/// The owner's word of the entry behind all others.
pub(crate) const CATCH_ALL: u64 = 1 << 41;

struct Block {
    memory: UserMem,
    /// Messages in it that no receive has taken.
    pending: u32,
    /// It has unlinked itself.
    full: bool,
}

/// The list's end: what is behind the posted receives.
pub(crate) struct Blocks {
    /// Receives go before it.
    pub(crate) base: Me,
    /// Blocks go before it.
    behind: Me,
    blocks: Vec<Block>,
    /// What each accepts.
    shape: Descriptor,
}

impl Blocks {
    pub(crate) fn new<N: Portals>(nic: &mut N, device: &Device, eq: Eq) -> Result<Blocks> {
        let mut attach = |bits| {
            let position = Position::After;
            nic.me_attach(
                MESSAGES,
                NewEntry::new(ProcessMatch::ANY, bits, USER_BITS, Unlink::Retain),
                position,
            )
        };
        let (base, behind, long, catch_all) = match device.list {
            List::LongFirst => {
                let (long, catch_all) = (attach(LONG)?, attach(SHORT)?);
                (long, catch_all, long, catch_all)
            }
            List::Marker => {
                // Without a descriptor it accepts nothing.
                let (marker, long, catch_all) = (attach(0)?, attach(LONG)?, attach(SHORT)?);
                (marker, long, long, catch_all)
            }
        };
        let options = Options::OP_PUT | Options::TRUNCATE | Options::ACK_DISABLE;
        for (me, user) in [(long, LONG_ENTRY), (catch_all, CATCH_ALL)] {
            let nothing = Descriptor { options, user, eq: Some(eq), ..Descriptor::of(UserMem::EMPTY) };
            nic.md_attach(me, &nothing, Unlink::Retain)?;
        }
        let (count, bytes, threshold) = match device.kept {
            Kept::Blocks { count, bytes } => (count, bytes.max(device.eager_limit), Threshold::Infinite),
            Kept::Buffers { count } => (count, device.eager_limit, Threshold::Count(1)),
        };
        let shape = Descriptor {
            max_size: device.eager_limit,
            threshold,
            options: Options::OP_PUT | Options::MAX_SIZE | Options::ACK_DISABLE,
            eq: Some(eq),
            ..Descriptor::of(UserMem::EMPTY)
        };
        let block = |_| Block { memory: portals::lasting(bytes), pending: 0, full: true };
        let mut all = Blocks { base, behind, blocks: (0..count).map(block).collect(), shape };
        (0..count).try_for_each(|block| all.arm(nic, block))?;
        Ok(all)
    }

    /// Puts a block that is empty and unlinked back to the end of the list.
    fn arm<N: Portals>(&mut self, nic: &mut N, number: usize) -> Result<()> {
        let Some(block) = self.blocks.get_mut(number).filter(|block| block.full && block.pending == 0) else {
            return Ok(());
        };
        let any = ProcessMatch::ANY;
        let me = nic.me_insert(
            self.behind,
            NewEntry::new(any, SHORT, USER_BITS, Unlink::Unlink),
            Position::Before,
        )?;
        let memory = portals::Memory::One(block.memory);
        let descriptor = Descriptor { memory, user: number as u64, ..self.shape.clone() };
        nic.md_attach(me, &descriptor, Unlink::Unlink)?;
        block.full = false;
        Ok(())
    }

    /// A message has come.
    pub(crate) fn came(&mut self, number: u64) {
        if let Some(block) = self.blocks.get_mut(number as usize) {
            block.pending += 1;
        }
    }

    /// It has been received.
    pub(crate) fn gone<N: Portals>(&mut self, nic: &mut N, number: u64) -> Result<()> {
        if let Some(block) = self.blocks.get_mut(number as usize) {
            block.pending -= 1;
        }
        self.arm(nic, number as usize)
    }

    /// A block has unlinked itself.
    pub(crate) fn filled<N: Portals>(&mut self, nic: &mut N, number: u64) -> Result<()> {
        if let Some(block) = self.blocks.get_mut(number as usize) {
            block.full = true;
        }
        self.arm(nic, number as usize)
    }

    pub(crate) fn bytes(&self, number: u64, offset: usize, len: usize) -> UserMem {
        self.blocks.get(number as usize).map_or(UserMem::EMPTY, |block| block.memory.part(offset, len))
    }
}
