//! Puts of Portals into a posted descriptor.

use super::{Exchange, Pattern};
use mem::UserMem;
use portals::{
    Ack, Descriptor, Eq, Error, EventKind, Md, NewEntry, Options, Portals, Position, ProcessId, ProcessMatch,
    Result, Target, Unlink,
};

/// Index and bits of the descriptor. Nothing of Open MPI's has this index.
const INDEX: u32 = 4;
const BITS: u64 = 1;
/// Events that are not taken yet, at most: an exchange never has so many.
const EVENTS: u32 = 4096;

/// One side.
pub struct OverPortals<N> {
    nic: N,
    eq: Eq,
    from: Md,
    target: Target,
    exchange: Exchange,
}

impl<N: Portals> OverPortals<N> {
    /// The side of this NIC, which sends the start of `from` to `peer` and receives at the start of `into`.
    ///
    /// # Errors
    /// The NIC's, where it has no room for three objects.
    pub fn new(mut nic: N, peer: ProcessId, first: bool, from: UserMem, into: UserMem) -> Result<Self> {
        let eq = nic.eq_alloc(EVENTS, None)?;
        let entry = NewEntry::new(ProcessMatch::ANY, BITS, 0, Unlink::Retain);
        let me = nic.me_attach(INDEX, entry, Position::After)?;
        let options = Options::OP_PUT | Options::MANAGE_REMOTE | Options::EVENT_START_DISABLE;
        nic.md_attach(me, &Descriptor { options, eq: Some(eq), ..Descriptor::of(into) }, Unlink::Retain)?;
        let options = Options::EVENT_START_DISABLE;
        let from = Descriptor { options, eq: Some(eq), ..Descriptor::of(from) };
        let from = nic.md_bind(&from, Unlink::Retain)?;
        let target = Target { id: peer, index: INDEX, access: 0, match_bits: BITS, offset: 0 };
        Ok(OverPortals { nic, eq, from, target, exchange: Exchange::none(first) })
    }

    /// Begins to exchange so many messages of `bytes`, as the other side does, too.
    pub fn begin(&mut self, pattern: Pattern, bytes: usize, messages: u32) {
        self.exchange.begin(pattern, bytes, messages);
    }

    /// Messages of this exchange that have come.
    pub fn received(&self) -> u32 {
        self.exchange.received
    }

    /// Whether all messages of the exchange have left and come, as far as this side sends and receives.
    pub fn is_done(&self) -> bool {
        self.exchange.is_done()
    }

    /// Goes on; whether anything happened.
    ///
    /// # Errors
    /// The NIC's error.
    pub fn turn(&mut self) -> Result<bool> {
        if self.exchange.may_send() {
            let ack = if self.exchange.pattern == Pattern::PingPong { Ack::None } else { Ack::Wanted };
            match self.nic.put_region(self.from, 0, self.exchange.bytes, ack, &self.target, 0) {
                Ok(()) => {
                    self.exchange.sent += 1;
                    self.exchange.waits = ack == Ack::Wanted;
                    return Ok(true);
                }
                // What is under way makes room.
                Err(Error::NoSpace) => {}
                Err(error) => return Err(error),
            }
        }
        match self.nic.eq_get(self.eq) {
            Ok(taken) => {
                match taken.event.kind {
                    EventKind::PutEnd => self.exchange.received += 1,
                    EventKind::Ack => self.exchange.waits = false,
                    _ => {}
                }
                Ok(true)
            }
            Err(Error::EqEmpty) => Ok(self.nic.progress() > 0),
            Err(error) => Err(error),
        }
    }
}
