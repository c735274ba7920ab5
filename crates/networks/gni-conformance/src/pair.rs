//! Two NICs and what most cases do with them.

use crate::{Rig, Wanted};
use gni::{
    Cq, CqEntry, CqFault, Ep, Error, Gni, MemFlags, MemHandle, PostDescriptor, PostKind, Result, SmsgAttr,
    SmsgType, Time,
};
use mem::{PeerBytes, UserMem};

/// Turns after which something that must happen is given up.
const TURNS: u32 = 40 * 20_000;

/// One side of a pair.
pub struct Side<N> {
    /// The NIC.
    pub nic: N,
    /// Queue for local entries, 64 entries.
    pub local: Cq,
    /// Queue for arrivals, 64 entries.
    pub arrivals: Cq,
    /// An endpoint bound to the other side.
    pub ep: Ep,
}

/// Two NICs bound to each other; `a` is the one with faults.
pub struct Pair<'r, R: Rig> {
    /// The rig, for time.
    pub rig: &'r mut R,
    /// The first side.
    pub a: Side<R::Nic>,
    /// The second side.
    pub b: Side<R::Nic>,
}

/// Attributes of the mailboxes that most cases use.
pub struct SmallMailbox {
    /// Messages it holds.
    pub credits: u16,
    /// Largest message.
    pub max_size: u32,
    /// What happens to lost messages.
    pub kind: SmsgType,
}

impl Default for SmallMailbox {
    fn default() -> Self {
        SmallMailbox { credits: 4, max_size: 256, kind: SmsgType::MboxAutoRetransmit }
    }
}

impl<N: Gni> Side<N> {
    fn new(mut nic: N, peer: (gni::PeAddr, gni::InstId)) -> Side<N> {
        let local = nic.cq_create(64).expect("a queue");
        let arrivals = nic.cq_create(64).expect("a queue");
        let ep = nic.ep_create(Some(local)).expect("an endpoint");
        nic.ep_bind(ep, peer.0, peer.1).expect("binding");
        Side { nic, local, arrivals, ep }
    }

    /// Registers `memory` with the arrival queue.
    pub fn register(&mut self, memory: UserMem) -> MemHandle {
        self.nic.mem_register(memory, Some(self.arrivals), MemFlags::READWRITE).expect("a registration")
    }

    /// Posts by the engine that the kind needs.
    pub fn post(&mut self, descriptor: &PostDescriptor) -> Result<()> {
        if matches!(descriptor.kind, PostKind::RdmaPut | PostKind::RdmaGet) {
            self.nic.post_rdma(self.ep, descriptor)
        } else {
            self.nic.post_fma(self.ep, descriptor)
        }
    }
}

impl<'r, R: Rig> Pair<'r, R> {
    /// A pair with these wishes, if the rig can meet them.
    pub fn wanted(rig: &'r mut R, wanted: &Wanted) -> Option<Pair<'r, R>> {
        let (mut a, mut b) = rig.attach(wanted)?;
        let who_a = (a.local_pe(), a.local_inst());
        let who_b = (b.local_pe(), b.local_inst());
        let (locator_a, locator_b) = (a.locator().to_vec(), b.locator().to_vec());
        a.learn_peer(who_b.0, who_b.1, &locator_b).expect("a locator");
        b.learn_peer(who_a.0, who_a.1, &locator_a).expect("a locator");
        let (a, b) = (Side::new(a, who_b), Side::new(b, who_a));
        Some(Pair { rig, a, b })
    }

    /// A pair without special wishes.
    pub fn new(rig: &'r mut R) -> Pair<'r, R> {
        Pair::wanted(rig, &Wanted::default()).expect("two NICs")
    }

    /// Gives both sides a turn.
    pub fn turn(&mut self) {
        let now = self.rig.pause(Time(1_000));
        self.a.nic.progress(now);
        self.b.nic.progress(now);
    }

    /// Gives turns to the second side alone until `done` answers.
    pub fn until_at_b<T>(&mut self, what: &str, mut done: impl FnMut(&mut Side<R::Nic>) -> Option<T>) -> T {
        for _ in 0..TURNS {
            if let Some(value) = done(&mut self.b) {
                return value;
            }
            let now = self.rig.pause(Time(1_000));
            self.b.nic.progress(now);
        }
        panic!("{what} did not happen");
    }

    /// Gives turns until `done` answers.
    pub fn until<T>(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Option<T>) -> T {
        for _ in 0..TURNS {
            if let Some(value) = done(self) {
                return value;
            }
            self.turn();
        }
        panic!("{what} did not happen");
    }

    /// The next local entry of `a`.
    pub fn local_event(&mut self) -> core::result::Result<CqEntry, CqFault> {
        self.until("a local entry", |pair| match pair.a.nic.cq_get_event(pair.a.local) {
            Err(CqFault::NotDone) => None,
            other => Some(other),
        })
    }

    /// The next arrival entry of `b`.
    pub fn arrival(&mut self) -> CqEntry {
        self.until("an arrival", |pair| match pair.b.nic.cq_get_event(pair.b.arrivals) {
            Err(CqFault::NotDone) => None,
            other => Some(other.expect("an arrival entry")),
        })
    }

    /// Posts from `a`, waits for one LOCAL event and returns the descriptor.
    pub fn complete(&mut self, descriptor: &PostDescriptor) -> PostDescriptor {
        self.a.post(descriptor).expect("a post");
        let entry = match self.local_event() {
            Ok(entry) | Err(CqFault::Failed(entry)) => entry,
            Err(fault) => panic!("no entry: {fault:?}"),
        };
        self.a.nic.get_completed(self.a.local, entry).expect("the descriptor")
    }

    /// Asserts that the transaction is refused: by the call, or by an entry that reports its failure.
    pub fn refused(&mut self, descriptor: &PostDescriptor) {
        if self.a.post(descriptor).is_err() {
            return;
        }
        let Err(CqFault::Failed(entry)) = self.local_event() else {
            panic!("{descriptor:?} was carried out")
        };
        assert!(!self.a.nic.cq_error_recoverable(entry), "{}", self.a.nic.cq_error_str(entry));
        self.a.nic.get_completed(self.a.local, entry).expect("the descriptor");
    }

    /// Registered memory of both sides, `bytes` each.
    pub fn buffers(&mut self, bytes: usize) -> ((UserMem, MemHandle), (UserMem, MemHandle)) {
        let at_a = self.rig.memory(&mut self.a.nic, bytes);
        let at_b = self.rig.memory(&mut self.b.nic, bytes);
        ((at_a, self.a.register(at_a)), (at_b, self.b.register(at_b)))
    }

    /// Mailboxes on both sides, not yet connected.
    pub fn mailboxes(&mut self, small: &SmallMailbox) -> (SmsgAttr, SmsgAttr) {
        let mut attr = SmsgAttr {
            kind: small.kind,
            credits: small.credits,
            max_size: small.max_size,
            ..SmsgAttr::default()
        };
        attr.size = self.a.nic.smsg_buffer_size_needed(&attr).expect("a size");
        let (at_a, at_b) = self.buffers(attr.size as usize + 64);
        let at = |(memory, handle): (UserMem, MemHandle)| SmsgAttr {
            buffer: memory.address() as u64,
            handle,
            offset: 64,
            ..attr
        };
        (at(at_a), at(at_b))
    }

    /// Connects the endpoints with small mailboxes.
    pub fn connect(&mut self, small: &SmallMailbox) {
        let (at_a, at_b) = self.mailboxes(small);
        self.a.nic.smsg_init(self.a.ep, &at_a, &at_b).expect("connecting");
        self.b.nic.smsg_init(self.b.ep, &at_b, &at_a).expect("connecting");
    }

    /// Sends `bytes` from `a` with the first two as header.
    pub fn send(&mut self, bytes: &[u8], msg_id: u32, tag: u8) -> Result<()> {
        send(&mut self.a, bytes, msg_id, tag)
    }

    /// The next message at `b`, if it is there, released.
    pub fn receive(&mut self) -> Option<(u8, Vec<u8>)> {
        receive(&mut self.b)
    }

    /// Takes local entries of `a` until there is none.
    pub fn drain_local(&mut self) -> Vec<core::result::Result<CqEntry, CqFault>> {
        let mut entries = Vec::new();
        loop {
            match self.a.nic.cq_get_event(self.a.local) {
                Err(CqFault::NotDone) => return entries,
                entry => entries.push(entry),
            }
        }
    }
}

/// Sends `bytes` with the first two (or fewer) as header.
pub(crate) fn send<N: Gni>(side: &mut Side<N>, bytes: &[u8], msg_id: u32, tag: u8) -> Result<()> {
    let (header, data) = bytes.split_at(bytes.len().min(2));
    side.nic.smsg_send_wtag(side.ep, header, &mut Payload(data), msg_id, tag)
}

/// The next message of a side, if it is there, released.
pub(crate) fn receive<N: Gni>(side: &mut Side<N>) -> Option<(u8, Vec<u8>)> {
    let message = match side.nic.smsg_get_next_wtag(side.ep, gni::ANY_TAG) {
        Err(Error::NotDone) => return None,
        other => other.expect("a message"),
    };
    let bytes = message.bytes.to_vec();
    side.nic.smsg_release(side.ep).expect("a release");
    Some((message.tag, bytes))
}

/// Borrowed bytes as a message's payload.
pub(crate) struct Payload<'a>(pub(crate) &'a [u8]);

impl mem::Source for Payload<'_> {
    fn remaining(&self) -> usize {
        self.0.len()
    }

    fn fill(&mut self, space: mem::PeerSpace<'_>) {
        let (now, later) = self.0.split_at(space.len());
        space.write(PeerBytes::of(now));
        self.0 = later;
    }

    fn contiguous(&self) -> Option<UserMem> {
        None
    }
}

/// Bytes that depend on `seed`.
pub(crate) fn pattern(len: usize, seed: u32) -> Vec<u8> {
    (0..len as u32)
        .map(|i| (i.wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b)).to_be_bytes()[1])
        .collect()
}

/// Fills `memory` with a pattern and returns it.
pub(crate) fn paint(memory: UserMem, seed: u32) -> Vec<u8> {
    let bytes = pattern(memory.len(), seed);
    memory.write(PeerBytes::of(&bytes));
    bytes
}

/// The bytes of `memory`.
pub(crate) fn bytes_of(memory: UserMem) -> Vec<u8> {
    memory.as_bytes().to_vec()
}

/// The 64-bit word at the start of `memory`.
pub(crate) fn word_of(memory: UserMem) -> u64 {
    memory.as_bytes().word(0)
}

/// Stores a 64-bit word at the start of `memory`.
pub(crate) fn set_word(memory: UserMem, value: u64) {
    memory.write(PeerBytes::of(&value.to_ne_bytes()));
}

/// A descriptor between two registered buffers of the same length, with a queue for block transfers.
pub(crate) fn between(
    kind: PostKind,
    cq: Cq,
    local: (UserMem, MemHandle),
    remote: (UserMem, MemHandle),
) -> PostDescriptor {
    PostDescriptor {
        local: local.0,
        local_handle: local.1,
        remote_addr: remote.0.address() as u64,
        remote_handle: remote.1,
        src_cq: Some(cq),
        ..PostDescriptor::new(kind)
    }
}
