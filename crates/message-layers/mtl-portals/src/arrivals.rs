//! Messages that came before their receive, and receives.

use crate::blocks::{LONG, USER_BITS};
use crate::device::Post;
use crate::events::{Operation, word};
use crate::network::PortalsMtl;
use crate::sends::READ;
use mem::UserMem;
use mtl::{Busy, Event, Message, Peer, Posted, Want};
use portals::{
    Descriptor, Eq, Error, EventKind, Me, NewEntry, Options, Portals, Position, ProcessMatch, Result, Target,
    Threshold, Unlink,
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

/// A message that was taken before all of it was there: where it goes, and for which receive; `None`: for none.
pub(crate) struct Taken {
    unexpected: Unexpected,
    goal: Option<(UserMem, u64)>,
}

/// A receive in the NIC's list.
pub(crate) struct Receive {
    pub(crate) me: Me,
    pub(crate) from: Option<Peer>,
    into: UserMem,
    cookie: u64,
    eq: Eq,
}

/// A long message of which only the header came to its receive.
pub(crate) struct Unfetched {
    pub(crate) message: Message,
    number: u32,
    into: UserMem,
    pub(crate) cookie: u64,
}

/// A long message that is being fetched.
pub(crate) struct Fetch {
    pub(crate) message: Message,
    cookie: Option<u64>,
    eq: Eq,
}

impl<N: Portals> PortalsMtl<N> {
    pub(crate) fn short_came(&mut self, event: &portals::Event) {
        let block = event.descriptor.user;
        self.blocks.came(block);
        let kind = Kind::Short { block, offset: event.offset, here: false };
        self.waiting.push_back(Unexpected { link: event.link, message: self.message(event), kind });
    }

    pub(crate) fn long_came(&mut self, event: &portals::Event) {
        let kind = Kind::Long { number: entry_of(event) };
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

    /// Fetches a long message from its sender; nothing of it without a `goal`, which ends the send all the same.
    fn fetch(&mut self, message: &Message, number: u32, goal: Option<(UserMem, u64)>) -> Result<()> {
        let (into, cookie) = goal.map_or((UserMem::EMPTY, None), |(into, cookie)| (into, Some(cookie)));
        let eq = self.queues.open(&mut self.nic)?;
        let fetch = Fetch { message: *message, cookie, eq };
        let Ok(fetch) = self.fetches.insert(fetch) else {
            self.queues.close(&mut self.nic, eq);
            return Err(Error::NoSpace);
        };
        let descriptor = Descriptor {
            threshold: Threshold::Count(1),
            options: Options::EVENT_START_DISABLE,
            user: word(Operation::Fetch, fetch),
            eq: Some(eq),
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
            self.queues.close(&mut self.nic, eq);
        }
        begun
    }

    pub(crate) fn on_fetch(&mut self, number: u32, event: &portals::Event) {
        if event.kind == EventKind::ReplyEnd {
            self.end_fetch(number, event.mlength as u64, event.failure.is_some());
        }
    }

    pub(crate) fn end_fetch(&mut self, number: u32, stored: u64, failed: bool) {
        let Some(Fetch { message, cookie, eq }) = self.fetches.remove(number) else { return };
        self.queues.close(&mut self.nic, eq);
        let Some(cookie) = cookie else { return };
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
        let eq = self.queues.open(&mut self.nic)?;
        let receive = Receive { me: self.blocks.base, from, into, cookie, eq };
        let Ok(number) = self.receives.insert(receive) else {
            self.queues.close(&mut self.nic, eq);
            return Err(Error::NoSpace);
        };
        let descriptor = Descriptor {
            threshold: Threshold::Count(1),
            options: Options::OP_PUT | Options::TRUNCATE | Options::EVENT_START_DISABLE,
            user: word(Operation::Receive, number),
            eq: Some(eq),
            ..Descriptor::of(into)
        };
        let posted = match self.device.post {
            Post::AtOnce => self.post_at_once(source, want, &descriptor),
            Post::Armed => self.post_armed(source, want, &descriptor),
        };
        match (posted, self.receives.get_mut(number)) {
            (Ok(me), Some(receive)) => receive.me = me,
            (posted, _) => {
                self.receives.discard(number);
                self.queues.close(&mut self.nic, eq);
                posted?;
            }
        }
        Ok(Posted(number))
    }

    fn post_at_once(&mut self, source: ProcessMatch, want: &Want, descriptor: &Descriptor) -> Result<Me> {
        let posted = self.nic.me_md_post(
            self.blocks.base,
            NewEntry::new(source, want.bits, want.ignore | !USER_BITS, Unlink::Unlink),
            Position::Before,
            descriptor,
            Unlink::Unlink,
            self.queues.unexpected,
        );
        posted.map(|(me, _)| me)
    }

    /// Nothing matches the entry until its descriptor is armed.
    fn post_armed(&mut self, source: ProcessMatch, want: &Want, descriptor: &Descriptor) -> Result<Me> {
        let (ignore, position) = (want.ignore | !USER_BITS, Position::Before);
        let me = self.nic.me_insert(
            self.blocks.base,
            NewEntry::new(source, want.bits, ignore, Unlink::Unlink),
            position,
        )?;
        let idle = Descriptor { threshold: Threshold::Count(0), ..descriptor.clone() };
        let armed = self
            .nic
            .md_attach(me, &idle, Unlink::Unlink)
            .and_then(|md| self.nic.md_update(md, descriptor, Some(self.queues.unexpected)));
        armed.map(|()| me).inspect_err(|_| {
            // No operation uses it: it has accepted none.
            let _ = self.nic.me_unlink(me);
        })
    }

    pub(crate) fn on_receive(&mut self, number: u32, event: &portals::Event) {
        if event.kind != EventKind::PutEnd {
            return;
        }
        let Some(Receive { into, cookie, eq, .. }) = self.receives.remove(number) else { return };
        self.queues.close(&mut self.nic, eq);
        let (message, stored) = (self.message(event), event.mlength as u64);
        if event.failure.is_some() {
            self.events.push_back(Event::Failed(cookie));
        } else if event.match_bits & LONG != 0 && (event.rlength as u64) < message.len {
            self.unfetched.push_back(Unfetched { message, number: entry_of(event), into, cookie });
        } else {
            self.events.push_back(Event::Received { cookie, message, stored });
        }
    }

    /// Fetches what came as a header, as far as that can begin.
    pub(crate) fn fetch_again(&mut self) {
        while let Some(Unfetched { message, number, into, cookie }) = self.unfetched.pop_front() {
            if self.fetch(&message, number, Some((into, cookie))).is_err() {
                self.unfetched.push_front(Unfetched { message, number, into, cookie });
                return;
            }
        }
    }

    /// Takes a receive out of the list, unless its message is arriving.
    pub(crate) fn withdraw(&mut self, number: u32) {
        let Some(receive) = self.receives.get(number) else { return };
        if self.nic.me_unlink(receive.me).is_ok()
            && let Some(receive) = self.receives.remove(number)
        {
            self.queues.close(&mut self.nic, receive.eq);
            self.events.push_back(Event::Cancelled(receive.cookie));
        }
    }
}

/// The sender's entry of a long message.
fn entry_of(event: &portals::Event) -> u32 {
    (event.hdr_data >> 32) as u32
}
