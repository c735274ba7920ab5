//! Mailboxes from pooled, registered blocks.

use crate::params::MailboxSteps;
use crate::registration::Room;
use gni::{Cq, Gni, MemFlags, Result, SmsgAttr};
use mem::{PeerBytes, UserMem};
use rdma::{Quota, Use};

/// Mailboxes of equal shape; a block of them is one registration.
#[derive(Debug)]
pub(crate) struct MailboxPool {
    shape: SmsgAttr,
    /// Bytes from one mailbox to the next.
    stride: usize,
    steps: MailboxSteps,
    made: u32,
    arrivals: Cq,
    free: Vec<Mailbox>,
}

/// One mailbox, in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mailbox {
    pub(crate) attr: SmsgAttr,
    memory: UserMem,
}

impl MailboxPool {
    /// A pool of mailboxes of `shape`, whose arrivals make entries in `arrivals`; none is made yet.
    ///
    /// # Errors
    /// `INVALID_PARAM` for a shape that no mailbox can have.
    pub(crate) fn new<N: Gni>(
        nic: &N,
        shape: SmsgAttr,
        steps: MailboxSteps,
        arrivals: Cq,
    ) -> Result<MailboxPool> {
        let size = nic.smsg_buffer_size_needed(&shape)?;
        Ok(MailboxPool {
            shape: SmsgAttr { size, ..shape },
            stride: (size as usize).next_multiple_of(64),
            steps,
            made: 0,
            arrivals,
            free: Vec::new(),
        })
    }

    /// Bytes of the first block.
    pub(crate) fn first_block(&self) -> usize {
        self.stride * self.next_count(self.steps.steps.unwrap_or(u32::MAX)) as usize
    }

    /// Mailboxes of the next block, with which so many may yet be made; offsets in it have 32 bits.
    fn next_count(&self, left: u32) -> u32 {
        self.steps.next(self.made, left).min((u32::MAX as usize / self.stride) as u32)
    }

    /// There are so many peers by now.
    pub(crate) fn expect(&mut self, peers: u32) {
        self.steps.all = self.steps.all.max(peers);
    }

    /// Whether no mailbox is free, and none will be: those in use stay so, and their share of the registrations is used up.
    pub(crate) fn are_used_up(&self, quota: &Quota) -> bool {
        self.made > 0 && self.free.is_empty() && quota.left(Use::Mailboxes) == 0
    }

    /// Takes a zeroed mailbox.
    ///
    /// # Errors
    /// `ERROR_RESOURCE`, `ERROR_NOMEM`: none is free, and no more can be made now.
    pub(crate) fn take<N: Gni>(&mut self, room: &mut Room<'_, N>) -> Result<Mailbox> {
        if self.free.is_empty() {
            let extra = self.made > 0;
            let left = room.quota.left(Use::Mailboxes) + u32::from(!extra);
            if extra && !room.quota.take(Use::Mailboxes) {
                return Err(gni::Error::Resource);
            }
            // Memory may be scarce and the blocks large; one mailbox is better than none.
            let grown = self.grow(room, self.next_count(left)).or_else(|_| self.grow(room, 1));
            if let (Err(error), true) = (grown, extra) {
                room.quota.give(Use::Mailboxes);
                return Err(error);
            }
        }
        self.free.pop().ok_or(gni::Error::Resource)
    }

    fn grow<N: Gni>(&mut self, room: &mut Room<'_, N>, count: u32) -> Result<()> {
        let bytes = self.stride * count as usize;
        let (memory, handle) = room.block(bytes, Some(self.arrivals), MemFlags::STRICT_PI_ORDERING)?;
        self.made += count;
        self.free.extend((0..count as usize).rev().map(|index| Mailbox {
            attr: SmsgAttr {
                buffer: memory.address() as u64,
                handle,
                offset: (index * self.stride) as u32,
                ..self.shape
            },
            memory: memory.part(index * self.stride, self.stride),
        }));
        Ok(())
    }

    /// Takes back a mailbox that no peer knows of.
    pub(crate) fn give(&mut self, mailbox: Mailbox) {
        const ZEROS: [u8; 4096] = [0; 4096];
        for at in (0..mailbox.memory.len()).step_by(ZEROS.len()) {
            mailbox.memory.part(at, ZEROS.len()).write(PeerBytes::of(&ZEROS));
        }
        self.free.push(mailbox);
    }
}
