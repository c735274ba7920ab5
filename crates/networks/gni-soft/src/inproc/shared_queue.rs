//! Shared message queues of nodes.

use super::network::{Network, SharedQueue};
use gni::{Error, HwStatus, InstId, MsgqAttr, MsgqMessage, PeAddr, Result};
use std::collections::HashMap;

impl Network {
    pub(super) fn join_shared(&mut self, pe: PeAddr, attr: &MsgqAttr) -> Result<()> {
        let node = self.nodes.entry(pe).or_default();
        let queue = node.shared.get_or_insert_with(|| SharedQueue {
            attr: *attr,
            members: 0,
            credits: HashMap::new(),
            messages: HashMap::new(),
            held: 0,
            promised: 0,
        });
        if queue.attr != *attr || queue.members >= attr.instances {
            return Err(Error::InvalidParam);
        }
        queue.members += 1;
        Ok(())
    }

    pub(super) fn connect_shared(&mut self, from: PeAddr, to: PeAddr) -> Result<()> {
        let own = self.nodes.get(&from).and_then(|node| node.shared.as_ref()).ok_or(Error::InvalidState)?;
        if own.credits.contains_key(&to) {
            return Ok(());
        }
        let attr = own.attr;
        let other = self.nodes.get_mut(&to).and_then(|node| node.shared.as_mut()).ok_or(Error::NotDone)?;
        if other.attr != attr {
            return Err(Error::InvalidParam);
        }
        if other.promised + attr.credits > other.attr.pool {
            return Err(Error::Resource);
        }
        other.promised += attr.credits;
        if let Some(own) = self.nodes.get_mut(&from).and_then(|node| node.shared.as_mut()) {
            own.credits.insert(to, attr.credits);
        }
        Ok(())
    }

    pub(super) fn take_shared_credit(&mut self, from: PeAddr, to: PeAddr) -> Result<()> {
        let own =
            self.nodes.get_mut(&from).and_then(|node| node.shared.as_mut()).ok_or(Error::InvalidState)?;
        let credits = own.credits.get_mut(&to).ok_or(Error::InvalidState)?;
        *credits = credits.checked_sub(1).ok_or(Error::NotDone)?;
        Ok(())
    }

    pub(super) fn return_shared_credit(&mut self, from: PeAddr, to: PeAddr) {
        let own = self.nodes.get_mut(&from).and_then(|node| node.shared.as_mut());
        if let Some(credits) = own.and_then(|queue| queue.credits.get_mut(&to)) {
            *credits += 1;
        }
    }

    /// Puts a message of the NIC `from` into the queue of the node of `to`.
    pub(super) fn put_shared(
        &mut self,
        from: u32,
        to: u32,
        tag: u8,
        bytes: &[u8],
    ) -> core::result::Result<(), HwStatus> {
        let sender = &self.nics[from as usize];
        let target = &self.nics[to as usize];
        if sender.key != target.key {
            return Err(HwStatus::Protection);
        }
        let message = MsgqMessage::new(sender.inst, sender.pe, tag, bytes);
        let inst = target.inst;
        let queue = self.nodes.get_mut(&target.pe).and_then(|node| node.shared.as_mut());
        let queue = queue.ok_or(HwStatus::MddInvalid)?;
        if queue.held >= queue.attr.pool {
            return Err(HwStatus::MemoryBounds);
        }
        queue.held += 1;
        queue.messages.entry(inst).or_default().push_back(message);
        Ok(())
    }

    pub(super) fn next_shared(&mut self, pe: PeAddr, inst: InstId) -> Option<MsgqMessage> {
        let queue = self.nodes.get_mut(&pe)?.shared.as_mut()?;
        let of_inst = queue.messages.get_mut(&inst)?;
        let message = of_inst.pop_front()?;
        if of_inst.is_empty() {
            queue.messages.remove(&inst);
        }
        queue.held -= 1;
        self.return_shared_credit(message.pe, pe);
        Some(message)
    }
}
