//! Exposed memory, gets and puts.

use crate::transport::Portals;
use btl::{Access, Event, Peer, Refusal, RemoteKey};
use mem::UserMem;
use portals::{
    Ack, Descriptor, Error, EventKind, Md, Me, NewEntry, Options, Portals as Nic, Position, ProcessMatch,
    Target, Threshold, Unlink,
};

/// Index of the portal table for exposed memory, as Open MPI had it.
pub(crate) const EXPOSED: u32 = 31;

/// The third word of every key.
const MARK: u64 = u64::from_be_bytes(*b"portals3");

/// Marks the owner's word of a transfer's descriptor; buffers of frames have their number alone.
pub(crate) const TRANSFER: u64 = 1 << 32;

/// How the end of a get or put is reported.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report {
    /// By an event with this cookie.
    Event(u64),
    /// By the flush of what was written to the peer.
    Flush,
}

/// A get or put under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    report: Report,
    peer: Peer,
    md: Md,
    len: usize,
    /// Of a put: its memory has been read.
    left: bool,
    /// How much the target gave or took.
    moved: Option<usize>,
}

/// Exposed memory, by the first word of its key.
pub(crate) type Exposed = std::collections::HashMap<u64, Me>;

impl<N: Nic> Portals<N> {
    pub(crate) fn expose_memory(
        &mut self,
        peer: Peer,
        memory: UserMem,
        access: Access,
    ) -> Result<RemoteKey, Refusal> {
        let accepts = match access {
            Access::Read => Options::OP_GET,
            Access::Write => Options::OP_PUT,
        };
        self.expose_to(self.ids[peer.0 as usize].into(), memory, accepts)
    }

    /// Makes memory reachable for `source`, for what `accepts` names.
    pub(crate) fn expose_to(
        &mut self,
        source: ProcessMatch,
        memory: UserMem,
        accepts: Options,
    ) -> Result<RemoteKey, Refusal> {
        self.retire_concealed();
        self.next_key += 1;
        let bits = self.next_key;
        let me = self.nic.me_insert(
            self.rdma_reject,
            NewEntry::new(source, bits, 0, Unlink::Retain),
            Position::Before,
        );
        let me = me.map_err(|_| Refusal::Busy)?;
        let silent = Options::EVENT_START_DISABLE | Options::EVENT_END_DISABLE;
        let options = accepts | Options::MANAGE_REMOTE | silent;
        let descriptor = Descriptor { options, ..Descriptor::of(memory) };
        if self.nic.md_attach(me, &descriptor, Unlink::Retain).is_err() {
            // It has no descriptor, so nothing uses it.
            let _ = self.nic.me_unlink(me);
            return Err(Refusal::Busy);
        }
        self.exposed.insert(bits, me);
        Ok(RemoteKey([bits, memory.len() as u64, MARK]))
    }

    pub(crate) fn conceal_memory(&mut self, key: &RemoteKey) {
        let Some(me) = self.exposed.remove(&key.0[0]) else { return };
        if self.nic.me_unlink(me) == Err(Error::MeInUse) {
            // The peer has reported that the data has left or is here; the NIC's next turn sees that.
            self.nic.progress();
            if self.nic.me_unlink(me) == Err(Error::MeInUse) {
                self.concealed.push(me);
            }
        }
    }

    /// Unlinks concealed memory that was in use.
    pub(crate) fn retire_concealed(&mut self) {
        let nic = &mut self.nic;
        self.concealed.retain(|&me| nic.me_unlink(me) == Err(Error::MeInUse));
    }

    /// Begins a get (`put` false) or put of `local`.
    pub(crate) fn transfer(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        (report, put): (Report, bool),
    ) -> Result<(), Refusal> {
        let [match_bits, exposed, mark] = key.0;
        let inside = offset.checked_add(local.len() as u64).is_some_and(|end| end <= exposed);
        if mark != MARK || !inside || self.is_lost(peer) {
            return Err(Refusal::Unfit);
        }
        if self.operations() >= self.most_operations {
            return Err(Refusal::Busy);
        }
        let transfer = Transfer { report, peer, md: Md(0), len: local.len(), left: !put, moved: None };
        let number = self.transfers.insert(transfer).map_err(|_| Refusal::Busy)?;
        let begun = self.begin_transfer(peer, local, match_bits, offset, (number, put));
        if begun.is_err() {
            self.transfers.discard(number);
        }
        begun
    }

    fn begin_transfer(
        &mut self,
        peer: Peer,
        local: UserMem,
        match_bits: u64,
        offset: u64,
        (number, put): (u32, bool),
    ) -> Result<(), Refusal> {
        let descriptor = Descriptor {
            threshold: Threshold::Count(if put { 2 } else { 1 }),
            options: Options::EVENT_START_DISABLE | Options::TRUNCATE,
            user: TRANSFER | u64::from(number),
            eq: Some(self.send_eq),
            ..Descriptor::of(local)
        };
        let md = self.nic.md_bind(&descriptor, Unlink::Retain).map_err(|_| Refusal::Busy)?;
        let id = self.ids[peer.0 as usize];
        let target = Target { id, index: EXPOSED, access: 0, match_bits, offset: offset as usize };
        let begun = if put { self.nic.put(md, Ack::Wanted, &target, 0) } else { self.nic.get(md, &target) };
        if begun.is_err() {
            // Nothing was begun on it.
            let _ = self.nic.md_unlink(md);
            return Err(Refusal::Busy);
        }
        if let Some(transfer) = self.transfers.get_mut(number) {
            transfer.md = md;
        }
        Ok(())
    }

    /// An event of a transfer's descriptor.
    pub(crate) fn on_transfer(&mut self, number: u32, event: &portals::Event) {
        let Some(transfer) = self.transfers.get_mut(number) else { return };
        match event.kind {
            EventKind::SendEnd => {
                transfer.left = true;
                if event.failure.is_some() {
                    transfer.moved = Some(usize::MAX);
                }
            }
            EventKind::Ack | EventKind::ReplyEnd => {
                transfer.moved = Some(if event.failure.is_none() { event.mlength } else { usize::MAX });
            }
            _ => {}
        }
        let Transfer { len, left: true, moved: Some(moved), .. } = *transfer else { return };
        self.end_transfer(number, moved == len);
        self.stats.moved_bytes += if moved == len { len as u64 } else { 0 };
    }

    fn end_transfer(&mut self, number: u32, succeeded: bool) {
        let Some(Transfer { report, peer, md, .. }) = self.transfers.remove(number) else { return };
        // In use only if its operation is: then the NIC has not reported its end, and neither have we.
        let _ = self.nic.md_unlink(md);
        let event = match report {
            Report::Event(cookie) if succeeded => Event::Done(cookie),
            Report::Event(cookie) => Event::Failed(cookie),
            Report::Flush if self.writes[peer.0 as usize].end(succeeded) => Event::Flushed(peer),
            Report::Flush => return,
        };
        self.events.push_back(event);
    }

    /// The peer is gone: nothing answers its transfers any more.
    pub(crate) fn fail_transfers(&mut self, peer: Peer) {
        let of_peer = |(number, transfer): (u32, &Transfer)| (transfer.peer == peer).then_some(number);
        let all: Vec<_> = self.transfers.iter().filter_map(of_peer).collect();
        all.into_iter().for_each(|number| self.end_transfer(number, false));
        self.writes[peer.0 as usize].lose();
    }
}
