//! NICs of one process.
//!
//! What is sent lies in the target's inbox at once, copied, and waits there for a turn of the target.

use crate::fabric::{Arrival, Data, End, Fabric, Header, Identity, Sent};
use crate::{NicConfig, SoftNic};
use mem::{PeerBytes, UserMem};
use portals::{Armed, Error, Jid, Nid, ProcessId, Result, Uid};
use shm::doorbell::Doorbell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Message = (Identity, Header, Vec<u8>);

/// What has been sent to a process, and what its owner sleeps on.
type Inbox = (VecDeque<Message>, Arc<Doorbell>);

/// Processes that reach each other: their inboxes.
#[derive(Clone, Default)]
pub struct Inboxes(Arc<Mutex<BTreeMap<ProcessId, Inbox>>>);

impl Inboxes {
    /// A world without processes.
    pub fn new() -> Inboxes {
        Inboxes::default()
    }

    fn inboxes(&self) -> MutexGuard<'_, BTreeMap<ProcessId, Inbox>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `PtlNIInit`: the NIC of a process.
    ///
    /// # Errors
    /// `IFACE_DUP`: it has one.
    pub fn attach(&self, id: ProcessId, uid: Uid, jid: Jid, config: NicConfig) -> Result<SoftNic<InProc>> {
        let mut inboxes = self.inboxes();
        if inboxes.contains_key(&id) {
            return Err(Error::IfaceDup);
        }
        let doorbell: Arc<Doorbell> = Arc::default();
        if !platform::membarrier::register() {
            doorbell.ask_for_fences();
        }
        inboxes.insert(id, (VecDeque::new(), Arc::clone(&doorbell)));
        drop(inboxes);
        let who = Identity { id, uid, jid };
        Ok(SoftNic::new(InProc::new(self.clone(), who, doorbell), config))
    }
}

/// The fabric of one NIC.
pub struct InProc {
    world: Inboxes,
    who: Identity,
    doorbell: Arc<Doorbell>,
    /// The data of the last arrival.
    current: Vec<u8>,
    /// Processes to which something was sent, or from which something came, while they were there.
    met: BTreeSet<ProcessId>,
    /// Those that are gone and not reported yet.
    lost: VecDeque<ProcessId>,
}

impl InProc {
    fn new(world: Inboxes, who: Identity, doorbell: Arc<Doorbell>) -> InProc {
        let (current, met, lost) = (Vec::new(), BTreeSet::new(), VecDeque::new());
        InProc { world, who, doorbell, current, met, lost }
    }
}

impl Drop for InProc {
    fn drop(&mut self) {
        self.world.inboxes().remove(&self.who.id);
    }
}

impl Fabric for InProc {
    fn identity(&self) -> Identity {
        self.who
    }

    /// Nodes stand in a row.
    fn distance(&self, nid: Nid) -> Result<u32> {
        let known = self.world.inboxes().keys().any(|id| id.nid == nid);
        if known { Ok(nid.0.abs_diff(self.who.id.nid.0)) } else { Err(Error::ProcessInvalid) }
    }

    /// A peer that is absent may come later; messages sent to it meanwhile are lost.
    fn knows(&self, _id: ProcessId) -> bool {
        true
    }

    fn send(&mut self, to: ProcessId, header: &Header, data: Data<'_>, _ticket: u32) -> Sent {
        let mut inboxes = self.world.inboxes();
        let Some((inbox, doorbell)) = inboxes.get_mut(&to) else { return Sent::Done };
        inbox.push_back((self.who, *header, data.gather()));
        let doorbell = Arc::clone(doorbell);
        drop(inboxes);
        self.met.insert(to);
        doorbell.ring(|word| platform::futex::wake(word, i32::MAX));
        Sent::Done
    }

    fn waiting(&self) -> usize {
        0
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        let (from, header, data) = self.world.inboxes().get_mut(&self.who.id)?.0.pop_front()?;
        self.current = data;
        self.met.insert(from.id);
        Some(Arrival { from, header })
    }

    fn deliver(&mut self, into: &[UserMem], _walked: u32, _ticket: u32) -> bool {
        scatter(into, PeerBytes::of(&self.current));
        true
    }

    fn bytes(&mut self, _walked: u32) -> Vec<u8> {
        core::mem::take(&mut self.current)
    }

    fn discard(&mut self, _walked: u32) {}

    fn next_end(&mut self) -> Option<End> {
        None
    }

    fn lost(&mut self) -> Option<ProcessId> {
        self.lost.pop_front()
    }

    fn must_look_for_losses(&self) -> bool {
        true
    }

    /// What a process had sent lies in the inbox, and the NIC takes it before its owner asks for the lost.
    fn look_for_losses(&mut self, awaited: &[ProcessId]) -> bool {
        self.met.extend(awaited);
        let inboxes = self.world.inboxes();
        self.lost.extend(self.met.extract_if(.., |id| !inboxes.contains_key(id)));
        !self.lost.is_empty()
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn arm(&mut self) -> Option<Armed> {
        let expected = self.doorbell.arm(platform::membarrier::barrier)?;
        Some(Armed::Word(self.doorbell.address(), expected))
    }

    fn disarm(&mut self) {
        self.doorbell.disarm();
    }
}

/// Stores bytes into memory in several runs, as far as there is room.
pub(crate) fn scatter(into: &[UserMem], mut bytes: PeerBytes<'_>) {
    for run in into {
        let written = run.write(bytes);
        bytes = bytes.part(written, bytes.len() - written);
    }
}
