//! This NIC's part of the queues that nodes share.

use super::nic::{HostNic, Who};
use super::node_segment::SLOTS;
use super::own::{About, SHARED_QUEUE};
use super::wire::{Ask, Request};
use crate::fabric::Arrived;
use gni::{Error, HwStatus, MemHandle, MsgqAttr, MsgqMessage, PeAddr, Result};

impl HostNic {
    pub(super) fn join_shared_queue(&mut self, attr: &MsgqAttr) -> Result<()> {
        let queue = self.make_queue(SLOTS as usize)?;
        if let Err(error) = self.own.node.join(attr) {
            self.own.drop_block(queue.block);
            return Err(error);
        }
        self.own.core.set_queue(SHARED_QUEUE, Some(queue.block), queue.entries as u64);
        self.shared = Some(queue);
        self.attr = Some(*attr);
        Ok(())
    }

    pub(super) fn connect_shared_queue(&mut self, pe: PeAddr) -> Result<()> {
        let attr = self.attr.ok_or(Error::InvalidState)?;
        if !self.own.node.claim_connection(pe)? {
            return Ok(());
        }
        if pe == self.own.pe {
            let promised = self.own.node.promise(attr.credits, attr.pool);
            self.connected(pe, if promised.is_ok() { HwStatus::Ok } else { HwStatus::MemoryBounds });
            return promised;
        }
        let neighbour = self.known.keys().chain(self.index.keys()).find(|who| who.0 == pe).copied();
        let ask = Ask::Connect { attr };
        let request = Request { ask, id: 0, data: 0, handle: MemHandle::default(), addr: 0, event: None };
        let asked = neighbour.and_then(|who| self.send_request(who, request, &[], Some(About::Connect(pe))));
        if asked.is_none() {
            self.own.node.answered(pe, None);
        }
        Err(Error::NotDone)
    }

    /// A node's answer to the wish to connect the shared queues.
    pub(super) fn connected(&mut self, pe: PeAddr, status: HwStatus) {
        let credits = self.attr.filter(|_| status == HwStatus::Ok).map(|attr| attr.credits);
        self.own.node.answered(pe, credits);
    }

    pub(super) fn next_shared_message(&mut self) -> Option<MsgqMessage> {
        let Arrived::Entry(slot) = self.shared.as_mut()?.take(self.now) else { return None };
        let message = self.own.node.get(slot as u32);
        if message.pe == self.own.pe {
            self.own.node.give_credit(message.pe);
            return Some(message);
        }
        if !self.send_credit((message.pe, message.inst)) {
            self.owed.push((message.pe, message.inst));
        }
        Some(message)
    }

    /// Gives senders back what their messages took, now that it is known where `pe` is.
    pub(super) fn pay_owed(&mut self, pe: PeAddr) {
        let (payable, kept) = core::mem::take(&mut self.owed).into_iter().partition(|who| who.0 == pe);
        self.owed = kept;
        let payable: Vec<Who> = payable;
        for who in payable {
            if !self.send_credit(who) {
                self.owed.push(who);
            }
        }
    }

    /// Gives a node's queue a credit back, by way of the sender or of any other NIC of its node; whether one is
    /// known.
    fn send_credit(&mut self, sender: Who) -> bool {
        let others = self.known.keys().chain(self.index.keys()).filter(|who| who.0 == sender.0);
        let ways: Vec<Who> = core::iter::once(sender).chain(others.copied()).collect();
        let addr = self.own.pe.0.into();
        let request =
            || Request { ask: Ask::Credit, id: 0, data: 0, handle: MemHandle::default(), addr, event: None };
        ways.into_iter().any(|who| self.send_request(who, request(), &[], None).is_some())
    }
}
