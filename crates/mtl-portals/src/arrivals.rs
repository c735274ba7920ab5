//! Messages that came before their receive, and receives.

use crate::blocks::USER_BITS;
use crate::events::{Operation, word};
use crate::network::PortalsMtl;
use crate::sends::READ;
use mem::UserMem;
use mtl::{Busy, Event, Message, Peer, Posted, Want};
use portals::{
    Descriptor, Error, EventKind, Me, Options, Portals, Position, ProcessMatch, Result, Target, Threshold,
    Unlink,
};

/// A message without a receive.
#[derive(Clone, Copy)]
pub(crate) struct Unexpected {
    /// Names it, from its arrival until it is received.
    pub(crate) link: u64,
    pub(crate) message: Message,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// In a block, from an offset on; whether all of it is there.
    Short { block: u64, offset: usize, here: bool },
    /// With its sender, under this number on [`READ`].
    Long { number: u32 },
}

impl Unexpected {
    /// Whether it is still with its sender.
    pub(crate) fn is_long(&self) -> bool {
        matches!(self.kind, Kind::Long { .. })
    }
}

/// A message that was taken before all of it was there: where it goes, and for whom; `None`: nobody wants it.
pub(crate) struct Taken {
    unexpected: Unexpected,
    goal: Option<(UserMem, u64)>,
}

/// A receive in the NIC's list.
pub(crate) struct Receive {
    pub(crate) me: Me,
    pub(crate) from: Option<Peer>,
    cookie: u64,
}

/// A long message that is being fetched.
pub(crate) struct Fetch {
    pub(crate) message: Message,
    cookie: Option<u64>,
}

impl<N: Portals> PortalsMtl<N> {
    pub(crate) fn short_came(&mut self, event: &portals::Event) {
        let block = event.descriptor.user;
        self.blocks.came(block);
        let kind = Kind::Short { block, offset: event.offset, here: false };
        self.waiting.push_back(Unexpected { link: event.link, message: self.message(event), kind });
    }

    pub(crate) fn long_came(&mut self, event: &portals::Event) {
        let kind = Kind::Long { number: (event.hdr_data >> 32) as u32 };
        self.waiting.push_back(Unexpected { link: event.link, message: self.message(event), kind });
    }

    /// All of a short message is there; one that was taken before goes to its receive.
    pub(crate) fn short_is_here(&mut self, event: &portals::Event) {
        let claimed = self.claimed.iter_mut().map(|(_, unexpected)| unexpected);
        let whole = self.waiting.iter_mut().chain(claimed).find(|unexpected| unexpected.link == event.link);
        if let Some(Unexpected { kind: Kind::Short { here, .. }, .. }) = whole {
            *here = event.failure.is_none();
            return;
        }
        let Some(place) = self.taken.iter().position(|taken| taken.unexpected.link == event.link) else {
            return;
        };
        let Taken { unexpected, goal } = self.taken.swap_remove(place);
        self.move_out(&unexpected, goal, event.failure.is_some());
    }

    /// Copies a message out of its block, which it leaves.
    fn move_out(&mut self, unexpected: &Unexpected, goal: Option<(UserMem, u64)>, failed: bool) {
        let Kind::Short { block, offset, .. } = unexpected.kind else { return };
        let message = unexpected.message;
        if let Some((into, cookie)) = goal {
            let stored = into.write(self.blocks.bytes(block, offset, message.len as usize).as_bytes()) as u64;
            let received = Event::Received { cookie, message, stored };
            self.events.push_back(if failed { Event::Failed(cookie) } else { received });
        }
        let gone = self.blocks.gone(&mut self.nic, block);
        self.need_entry(gone);
    }

    /// The oldest message without a receive that `want` takes.
    pub(crate) fn find(&self, want: &Want) -> Option<usize> {
        self.waiting
            .iter()
            .position(|unexpected| want.takes(unexpected.message.from, unexpected.message.bits))
    }

    /// Receives a message that has come, or drops it.
    ///
    /// # Errors
    /// [`Busy`]: it could not be fetched now.
    pub(crate) fn consume(
        &mut self,
        unexpected: &Unexpected,
        goal: Option<(UserMem, u64)>,
    ) -> core::result::Result<(), Busy> {
        match unexpected.kind {
            Kind::Short { here: true, .. } => self.move_out(unexpected, goal, false),
            Kind::Short { here: false, .. } => self.taken.push(Taken { unexpected: *unexpected, goal }),
            Kind::Long { number } => self.fetch(&unexpected.message, number, goal).map_err(|_| Busy)?,
        }
        Ok(())
    }

    /// Fetches a long message from its sender; nothing of it if nobody wants it, which tells the sender all the same.
    fn fetch(&mut self, message: &Message, number: u32, goal: Option<(UserMem, u64)>) -> Result<()> {
        let (into, cookie) = goal.map_or((UserMem::EMPTY, None), |(into, cookie)| (into, Some(cookie)));
        let fetch = self.fetches.insert(Fetch { message: *message, cookie }).map_err(|_| Error::NoSpace)?;
        let descriptor = Descriptor {
            threshold: Threshold::Count(1),
            options: Options::EVENT_START_DISABLE,
            user: word(Operation::Fetch, fetch),
            eq: Some(self.expected),
            ..Descriptor::of(into.part(0, message.len as usize))
        };
        let begun = self.nic.md_bind(&descriptor, Unlink::Unlink).and_then(|md| {
            let id = *self.ids.get(message.from.0 as usize).ok_or(Error::ProcessInvalid)?;
            let target = Target { id, index: READ, access: 0, match_bits: number.into(), offset: 0 };
            self.nic.get(md, &target).inspect_err(|_| {
                // Nothing was begun on it.
                let _ = self.nic.md_unlink(md);
            })
        });
        if begun.is_err() {
            self.fetches.discard(fetch);
        }
        begun
    }

    pub(crate) fn on_fetch(&mut self, number: u32, event: &portals::Event) {
        if event.kind == EventKind::ReplyEnd {
            self.end_fetch(number, event.mlength as u64, event.failure.is_some());
        }
    }

    pub(crate) fn end_fetch(&mut self, number: u32, stored: u64, failed: bool) {
        let Some(Fetch { message, cookie: Some(cookie) }) = self.fetches.remove(number) else { return };
        let received = Event::Received { cookie, message, stored };
        self.events.push_back(if failed { Event::Failed(cookie) } else { received });
    }

    /// Posts a receive, or receives what has come.
    pub(crate) fn post(
        &mut self,
        want: &Want,
        into: UserMem,
        cookie: u64,
    ) -> core::result::Result<Posted, Busy> {
        loop {
            if let Some(place) = self.find(want) {
                let unexpected = self.waiting[place];
                self.consume(&unexpected, Some((into, cookie)))?;
                self.waiting.remove(place);
                // A name of no receive: this one is over, but for its event.
                return Ok(Posted(u32::MAX));
            }
            if self.take_unexpected() {
                continue;
            }
            match self.post_entry(want, into, cookie) {
                Ok(posted) => return Ok(posted),
                // An event has come, or one is to come of a message that is arriving.
                Err(Error::MdNoUpdate) if self.take_unexpected() => {}
                Err(_) => return Err(Busy),
            }
        }
    }

    fn post_entry(&mut self, want: &Want, into: UserMem, cookie: u64) -> Result<Posted> {
        let from = want.from;
        let source = match from {
            Some(peer) => (*self.ids.get(peer.0 as usize).ok_or(Error::ProcessInvalid)?).into(),
            None => ProcessMatch::ANY,
        };
        let receive = Receive { me: self.blocks.long, from, cookie };
        let number = self.receives.insert(receive).map_err(|_| Error::NoSpace)?;
        let descriptor = Descriptor {
            threshold: Threshold::Count(1),
            options: Options::OP_PUT | Options::TRUNCATE | Options::EVENT_START_DISABLE,
            user: word(Operation::Receive, number),
            eq: Some(self.expected),
            ..Descriptor::of(into)
        };
        let posted = self.nic.me_md_post(
            self.blocks.long,
            source,
            want.bits,
            want.ignore | !USER_BITS,
            Unlink::Unlink,
            Position::Before,
            &descriptor,
            Unlink::Unlink,
            self.unexpected,
        );
        match (posted, self.receives.get_mut(number)) {
            (Ok((me, _)), Some(receive)) => {
                receive.me = me;
                Ok(Posted(number))
            }
            (posted, _) => {
                self.receives.discard(number);
                posted.map(|_| Posted(number))
            }
        }
    }

    pub(crate) fn on_receive(&mut self, number: u32, event: &portals::Event) {
        if event.kind != EventKind::PutEnd {
            return;
        }
        let Some(Receive { cookie, .. }) = self.receives.remove(number) else { return };
        let (message, stored) = (self.message(event), event.mlength as u64);
        let received = Event::Received { cookie, message, stored };
        self.events.push_back(if event.failure.is_some() { Event::Failed(cookie) } else { received });
    }

    /// Takes a receive out of the list, unless its message is arriving.
    pub(crate) fn withdraw(&mut self, number: u32) {
        let Some(receive) = self.receives.get(number) else { return };
        if self.nic.me_unlink(receive.me).is_ok()
            && let Some(receive) = self.receives.remove(number)
        {
            self.events.push_back(Event::Cancelled(receive.cookie));
        }
    }
}
