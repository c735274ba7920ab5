//! Blocks for short messages that come before their receive.

use mem::UserMem;
use portals::{Descriptor, Eq, Me, Options, Portals, Position, ProcessMatch, Result, Unlink};

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

pub(crate) struct Block {
    memory: UserMem,
    /// Messages in it that nobody has received.
    pub(crate) pending: u32,
    /// It has unlinked itself.
    pub(crate) full: bool,
}

/// The list's end: what is behind the posted receives.
pub(crate) struct Blocks {
    /// Receives go before it.
    pub(crate) long: Me,
    catch_all: Me,
    blocks: Vec<Block>,
    eager: usize,
    eq: Eq,
}

impl Blocks {
    pub(crate) fn new<N: Portals>(
        nic: &mut N,
        count: usize,
        bytes: usize,
        eager: usize,
        eq: Eq,
    ) -> Result<Blocks> {
        let nothing = Options::OP_PUT | Options::TRUNCATE | Options::ACK_DISABLE;
        let mut last = |bits, user| {
            let me =
                nic.me_attach(MESSAGES, ProcessMatch::ANY, bits, USER_BITS, Unlink::Retain, Position::After)?;
            let descriptor =
                Descriptor { options: nothing, user, eq: Some(eq), ..Descriptor::of(UserMem::EMPTY) };
            nic.md_attach(me, &descriptor, Unlink::Retain).map(|_| me)
        };
        let (long, catch_all) = (last(LONG, LONG_ENTRY)?, last(SHORT, CATCH_ALL)?);
        let block = |_| Block { memory: portals::lasting(bytes.max(eager)), pending: 0, full: true };
        let mut all = Blocks { long, catch_all, blocks: (0..count).map(block).collect(), eager, eq };
        (0..count).try_for_each(|block| all.arm(nic, block))?;
        Ok(all)
    }

    /// Puts a block that is empty and unlinked back to the end of the list.
    fn arm<N: Portals>(&mut self, nic: &mut N, number: usize) -> Result<()> {
        let Some(block) = self.blocks.get_mut(number).filter(|block| block.full && block.pending == 0) else {
            return Ok(());
        };
        let any = ProcessMatch::ANY;
        let me = nic.me_insert(self.catch_all, any, SHORT, USER_BITS, Unlink::Unlink, Position::Before)?;
        let descriptor = Descriptor {
            max_size: self.eager,
            options: Options::OP_PUT | Options::MAX_SIZE | Options::ACK_DISABLE,
            user: number as u64,
            eq: Some(self.eq),
            ..Descriptor::of(block.memory)
        };
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
