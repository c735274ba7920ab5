//! The records of datagram exchanges, found by whatever the rules ask for: the root of a large job has tens of
//! thousands of them at once.

use gni::{Error, InstId, PeAddr, PostState, Result, Time, limits};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A NIC, as packets name it.
pub(super) type Who = (PeAddr, InstId);
/// A datagram's bytes and how many of them count.
pub(super) type Data = ([u8; limits::DATAGRAM_MAX], u8);

/// Answers that are kept for requests that come again.
const ANSWERS: usize = 64;

/// All exchanges of one NIC.
#[derive(Default)]
pub(super) struct Exchanges {
    /// By number, which is the order of posting. Boxed: most NICs have one, and a leaf of the map has room for eleven.
    records: BTreeMap<u32, Box<Record>>,
    next: u32,
    /// By endpoint and id.
    posted: BTreeMap<(u32, Option<u64>), u32>,
    /// Pending for a peer.
    directed: BTreeSet<(Who, u32)>,
    /// Pending for any peer.
    wildcards: BTreeSet<u32>,
    /// Terminal: without an id, with one.
    over: [BTreeSet<u32>; 2],
    /// When to send which again.
    due: BTreeSet<(Time, u32)>,
    held: Held,
    /// What was answered to the latest requests.
    answered: VecDeque<(Who, u32, Box<[u8]>)>,
}

/// A post of this side.
pub(super) struct Record {
    pub(super) ep: u32,
    pub(super) id: Option<u64>,
    /// The peer; `None` for a wildcard that has not matched.
    pub(super) peer: Option<Who>,
    pub(super) state: PostState,
    pub(super) out: Data,
    pub(super) back: Data,
    pub(super) tries: Tries,
    /// When to send again; `None`: never.
    again: Option<Time>,
}

/// How often a request has been sent.
#[derive(Clone, Copy, Default)]
pub(super) struct Tries {
    /// Without an answer.
    pub(super) unanswered: u32,
    /// To a peer that is there and had no room.
    pub(super) refused: u32,
}

/// A peer's request.
#[derive(Clone, Copy)]
pub(super) struct Offer {
    pub(super) from: Who,
    pub(super) sequence: u32,
    pub(super) data: Data,
}

/// Requests that came before anything was posted for them.
#[derive(Default)]
struct Held {
    /// By arrival, oldest first.
    offers: BTreeMap<u64, Offer>,
    /// By peer and the peer's number.
    by_peer: BTreeMap<(Who, u32), u64>,
    arrived: u64,
}

impl Held {
    fn keep(&mut self, offer: Offer) {
        let key = (offer.from, offer.sequence);
        if !self.by_peer.contains_key(&key) {
            self.by_peer.insert(key, self.arrived);
            self.offers.insert(self.arrived, offer);
            self.arrived += 1;
        }
    }

    /// The oldest of `peer`, or of all.
    fn take(&mut self, peer: Option<Who>) -> Option<Offer> {
        let arrival = match peer {
            None => *self.offers.first_key_value()?.0,
            Some(peer) => {
                self.by_peer.range((peer, 0)..=(peer, u32::MAX)).map(|(_, &arrival)| arrival).min()?
            }
        };
        let offer = self.offers.remove(&arrival)?;
        self.by_peer.remove(&(offer.from, offer.sequence));
        Some(offer)
    }

    fn drop_one(&mut self, from: Who, sequence: u32) {
        if let Some(arrival) = self.by_peer.remove(&(from, sequence)) {
            self.offers.remove(&arrival);
        }
    }
}

impl Exchanges {
    /// Whether nothing will be sent again.
    pub(super) fn is_idle(&self) -> bool {
        self.due.is_empty()
    }

    /// Whether an exchange of `ep` exists.
    pub(super) fn names(&self, ep: u32) -> bool {
        self.posted.range((ep, None)..=(ep, Some(u64::MAX))).next().is_some()
    }

    /// The exchange of an endpoint with this id.
    ///
    /// # Errors
    /// `NO_MATCH`.
    pub(super) fn find(&self, ep: u32, id: Option<u64>) -> Result<u32> {
        self.posted.get(&(ep, id)).copied().ok_or(Error::NoMatch)
    }

    pub(super) fn get(&self, number: u32) -> Option<&Record> {
        self.records.get(&number).map(Box::as_ref)
    }

    /// Adds a pending exchange, with `peer` or with the first that calls.
    ///
    /// # Errors
    /// `ERROR_RESOURCE`: the endpoint has one with this id, or the peer has one that is pending.
    pub(super) fn post(
        &mut self,
        ep: u32,
        id: Option<u64>,
        peer: Option<Who>,
        out: Data,
        now: Time,
    ) -> Result<u32> {
        let pending = |peer| self.directed.range((peer, 0)..=(peer, u32::MAX));
        let mut twice = peer.into_iter().flat_map(pending);
        if self.posted.contains_key(&(ep, id)) || twice.any(|(_, number)| self.records[number].id == id) {
            return Err(Error::Resource);
        }
        while self.records.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = number.wrapping_add(1);
        let again = peer.map(|_| now);
        let back = ([0; limits::DATAGRAM_MAX], 0);
        let record =
            Record { ep, id, peer, state: PostState::Pending, out, back, tries: Tries::default(), again };
        self.records.insert(number, Box::new(record));
        self.posted.insert((ep, id), number);
        match peer {
            Some(peer) => self.directed.insert((peer, number)),
            None => self.wildcards.insert(number),
        };
        self.due.extend(again.map(|again| (again, number)));
        Ok(number)
    }

    /// Whether `number` is an exchange with `peer` that is still pending.
    pub(super) fn is_pending(&self, peer: Who, number: u32) -> bool {
        self.directed.contains(&(peer, number))
    }

    /// What a request of `peer` completes: the first exchange with it, else the first wildcard.
    pub(super) fn matching(&self, peer: Who) -> Option<u32> {
        let exact = self.directed.range((peer, 0)..=(peer, u32::MAX)).next();
        exact.map(|&(_, number)| number).or_else(|| self.wildcards.first().copied())
    }

    /// The first terminal exchange with an id, or without one.
    pub(super) fn first_over(&self, with_id: bool) -> Option<&Record> {
        self.over[usize::from(with_id)].first().map(|number| &*self.records[number])
    }

    /// What is to be sent by `now`.
    pub(super) fn due(&self, now: Time) -> Vec<u32> {
        if self.due.first().is_none_or(|&(again, _)| again > now) {
            return Vec::new();
        }
        self.due.range(..=(now, u32::MAX)).map(|&(_, number)| number).collect()
    }

    /// Sets how often an exchange has been tried and when it is tried again.
    pub(super) fn try_again(&mut self, number: u32, tries: Tries, again: Time) {
        let Some(record) = self.records.get_mut(&number) else { return };
        if let Some(before) = record.again.replace(again) {
            self.due.remove(&(before, number));
        }
        record.tries = tries;
        self.due.insert((again, number));
    }

    /// Both sides have each other's bytes.
    pub(super) fn complete(&mut self, number: u32, with: Who, back: Data) {
        self.end(number, PostState::Completed);
        if let Some(record) = self.records.get_mut(&number) {
            (record.peer, record.back) = (Some(with), back);
        }
    }

    /// A pending exchange becomes terminal.
    pub(super) fn end(&mut self, number: u32, state: PostState) {
        self.forget_pending(number);
        if let Some(record) = self.records.get_mut(&number) {
            record.state = state;
            self.over[usize::from(record.id.is_some())].insert(number);
        }
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.forget_pending(number);
        if let Some(record) = self.records.remove(&number) {
            self.posted.remove(&(record.ep, record.id));
            self.over[usize::from(record.id.is_some())].remove(&number);
        }
    }

    fn forget_pending(&mut self, number: u32) {
        let Some(record) = self.records.get_mut(&number) else { return };
        match record.peer {
            Some(peer) => self.directed.remove(&(peer, number)),
            None => self.wildcards.remove(&number),
        };
        if let Some(again) = record.again.take() {
            self.due.remove(&(again, number));
        }
    }

    // ---- requests of others ----

    /// Keeps a request that nothing was posted for, once.
    pub(super) fn hold(&mut self, offer: Offer) {
        self.held.keep(offer);
    }

    /// Takes the oldest request that was kept, of `peer` or of any peer.
    pub(super) fn take_held(&mut self, peer: Option<Who>) -> Option<Offer> {
        self.held.take(peer)
    }

    /// A request that was kept has been cancelled.
    pub(super) fn drop_held(&mut self, from: Who, sequence: u32) {
        self.held.drop_one(from, sequence);
    }

    /// Remembers what was answered to a peer's request.
    pub(super) fn remember(&mut self, from: Who, sequence: u32, answer: &Data) {
        if self.answered.len() == ANSWERS {
            self.answered.pop_front();
        }
        let (bytes, len) = answer;
        self.answered.push_back((from, sequence, bytes[..usize::from(*len)].into()));
    }

    /// What was answered to a request before.
    pub(super) fn answer_to(&self, from: Who, sequence: u32) -> Option<Data> {
        let known = self.answered.iter().find(|known| (known.0, known.1) == (from, sequence))?;
        let mut bytes = [0; limits::DATAGRAM_MAX];
        bytes[..known.2.len()].copy_from_slice(&known.2);
        Some((bytes, known.2.len() as u8))
    }
}
