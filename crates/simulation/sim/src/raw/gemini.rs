//! Messages into a mailbox of Gemini, or puts into registered memory, to and fro.

use super::{Exchange, Pattern};
use gni::{
    ANY_TAG, Cq, CqFault, CqMode, Ep, Error, Gni, InstId, MemFlags, MemHandle, PeAddr, PostDescriptor,
    PostKind, Result, SmsgAttr, SmsgType, Time,
};
use mem::UserMem;

/// What carries a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// A mailbox; the receiver copies the message out of it.
    Smsg,
    /// A put through a window of the processor.
    Fma,
    /// A put by the block transfer engine.
    Bte,
}

impl Carrier {
    /// All of them.
    pub const ALL: [Carrier; 3] = [Carrier::Smsg, Carrier::Fma, Carrier::Bte];

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Carrier::Smsg => "SMSG",
            Carrier::Fma => "FMA put",
            Carrier::Bte => "BTE put",
        }
    }

    /// Whether a message may be so long. The block transfer engine takes no empty one.
    pub const fn takes(self, bytes: usize) -> bool {
        match self {
            Carrier::Smsg => bytes <= gni::limits::SMSG_MAX as usize,
            Carrier::Fma => bytes as u64 <= gni::limits::RDMA_MAX_LENGTH,
            Carrier::Bte => bytes > 0 && bytes as u64 <= gni::limits::RDMA_MAX_LENGTH,
        }
    }
}

/// Messages that a mailbox holds.
const CREDITS: u16 = 4;
/// Entries of each queue: more than one message in each direction makes.
const ENTRIES: u32 = 64;
/// Bytes of a card.
const CARD: usize = 24 + SmsgAttr::WIRE;

/// One side.
pub struct OverGemini<N> {
    nic: N,
    carrier: Carrier,
    ep: Ep,
    local: Cq,
    arrivals: Cq,
    from: (UserMem, MemHandle),
    into: (UserMem, MemHandle),
    mailbox: SmsgAttr,
    /// The peer's memory for messages.
    target: (u64, MemHandle),
    exchange: Exchange,
    /// Messages whose local entry has not been taken. The NIC may still need turns for them.
    unretired: u32,
}

impl<N: Gni> OverGemini<N> {
    /// The side of this NIC, for messages of at most `most` bytes. Its buffers are memory of the NIC.
    ///
    /// # Errors
    /// The NIC's, where it has no room for that.
    pub fn new(
        mut nic: N,
        peer: (PeAddr, InstId),
        first: bool,
        carrier: Carrier,
        most: usize,
    ) -> Result<OverGemini<N>> {
        let local = nic.cq_create(ENTRIES)?;
        let arrivals = nic.cq_create(ENTRIES)?;
        let ep = nic.ep_create(Some(local))?;
        nic.ep_bind(ep, peer.0, peer.1)?;
        let mut registered = |bytes: usize, flags| {
            let memory = nic.mem_alloc(bytes.max(1))?;
            nic.mem_register(memory, Some(arrivals), flags).map(|handle| (memory, handle))
        };
        let from = registered(most, MemFlags::RELAXED_PI_ORDERING)?;
        let into = registered(most, MemFlags::RELAXED_PI_ORDERING)?;
        let mut mailbox = SmsgAttr::default();
        if carrier == Carrier::Smsg {
            let (kind, max_size) = (SmsgType::MboxAutoRetransmit, most.max(1) as u32);
            mailbox = SmsgAttr { kind, credits: CREDITS, max_size, ..mailbox };
            mailbox.size = nic.smsg_buffer_size_needed(&mailbox)?;
            let memory = nic.mem_alloc(mailbox.size as usize)?;
            mailbox.handle = nic.mem_register(memory, Some(arrivals), MemFlags::STRICT_PI_ORDERING)?;
            mailbox.buffer = memory.address() as u64;
        }
        let (target, exchange) = ((0, MemHandle([0; 2])), Exchange::none(first));
        Ok(OverGemini {
            nic,
            carrier,
            ep,
            local,
            arrivals,
            from,
            into,
            mailbox,
            target,
            exchange,
            unretired: 0,
        })
    }

    /// The card of this side, which the other side needs.
    pub fn card(&self) -> Vec<u8> {
        let (memory, MemHandle(handle)) = self.into;
        let words = [memory.address() as u64, handle[0], handle[1]].map(u64::to_ne_bytes);
        [words.as_flattened(), &self.mailbox.to_bytes()].concat()
    }

    /// Takes the other side's card. Both sides do that before either of them begins.
    ///
    /// # Errors
    /// `INVALID_PARAM` for what is no card of a side with this carrier; the NIC's.
    pub fn meet(&mut self, card: &[u8]) -> Result<()> {
        let (words, rest) = card.as_chunks::<8>();
        let [address, first, second, ..] = *words else { return Err(Error::InvalidParam) };
        if card.len() != CARD || rest.len() != CARD % 8 {
            return Err(Error::InvalidParam);
        }
        let handle = MemHandle([first, second].map(u64::from_ne_bytes));
        self.target = (u64::from_ne_bytes(address), handle);
        if self.carrier == Carrier::Smsg {
            let theirs = SmsgAttr::from_bytes(&card[24..]).ok_or(Error::InvalidParam)?;
            self.nic.smsg_init(self.ep, &self.mailbox, &theirs)?;
        }
        Ok(())
    }

    /// Begins to send so many messages of `bytes` to and fro, as the other side does, too.
    pub fn begin(&mut self, bytes: usize, messages: u32) {
        self.exchange.begin(Pattern::PingPong, bytes, messages);
    }

    /// Whether all messages of the exchange have left and come. One has left when its local entry was taken: until then a
    /// NIC in software may need turns for it.
    pub fn is_done(&self) -> bool {
        self.exchange.is_done() && self.unretired == 0
    }

    /// What is sent from, and what is received into.
    pub fn buffers(&self) -> [UserMem; 2] {
        [self.from.0, self.into.0]
    }

    /// Goes on; whether anything happened. `now` is asked for when nothing has.
    ///
    /// # Errors
    /// The NIC's error.
    pub fn turn(&mut self, now: impl FnOnce() -> Time) -> Result<bool> {
        if self.exchange.may_send() {
            self.retire()?;
            match self.send() {
                Ok(()) => {
                    self.exchange.sent += 1;
                    self.unretired += 1;
                    return Ok(true);
                }
                // What is under way makes room.
                Err(Error::NotDone | Error::Resource) => {}
                Err(error) => return Err(error),
            }
        }
        if self.take_arrivals()? {
            return Ok(true);
        }
        self.nic.progress(now());
        Ok(self.take_arrivals()? | self.retire()?)
    }

    fn send(&mut self) -> Result<()> {
        let mut data = self.from.0.part(0, self.exchange.bytes);
        let kind = match self.carrier {
            Carrier::Smsg => return self.nic.smsg_send_wtag(self.ep, &[], &mut data, 0, 0),
            Carrier::Fma => PostKind::FmaPut,
            Carrier::Bte => PostKind::RdmaPut,
        };
        let descriptor = PostDescriptor {
            events: CqMode::LOCAL | CqMode::REMOTE,
            local: data,
            local_handle: self.from.1,
            remote_addr: self.target.0,
            remote_handle: self.target.1,
            src_cq: Some(self.local),
            ..PostDescriptor::new(kind)
        };
        match kind {
            PostKind::FmaPut => self.nic.post_fma(self.ep, &descriptor),
            _ => self.nic.post_rdma(self.ep, &descriptor),
        }
    }

    /// Takes the messages that are there; whether there were any.
    fn take_arrivals(&mut self) -> Result<bool> {
        if self.carrier == Carrier::Smsg {
            return self.empty_mailbox();
        }
        match self.nic.cq_get_event(self.arrivals) {
            Ok(_) => {
                self.exchange.received += 1;
                Ok(true)
            }
            Err(CqFault::NotDone) => Ok(false),
            Err(fault) => Err(fault.error()),
        }
    }

    /// As [`Self::take_arrivals`]. An entry may be seen before its message or stand for credits alone, so the mailbox is
    /// asked, and entries are only taken away.
    fn empty_mailbox(&mut self) -> Result<bool> {
        let mut any = false;
        loop {
            let message = match self.nic.smsg_get_next_wtag(self.ep, ANY_TAG) {
                Ok(message) => message,
                Err(Error::NotDone) => break,
                Err(error) => return Err(error),
            };
            self.into.0.write(message.bytes);
            self.nic.smsg_release(self.ep)?;
            self.exchange.received += 1;
            any = true;
        }
        while any && self.nic.cq_get_event(self.arrivals).is_ok() {}
        Ok(any)
    }

    /// Takes the entries of what has left; whether there were any.
    fn retire(&mut self) -> Result<bool> {
        let mut any = false;
        loop {
            match self.nic.cq_get_event(self.local) {
                Ok(entry) if self.carrier != Carrier::Smsg => {
                    self.nic.get_completed(self.local, entry)?;
                }
                Ok(_) => {}
                Err(CqFault::NotDone) => return Ok(any),
                Err(fault) => return Err(fault.error()),
            }
            self.unretired -= 1;
            any = true;
        }
    }
}
