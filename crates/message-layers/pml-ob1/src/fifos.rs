//! Many queues in one hash table: one first-in first-out queue per envelope.
//!
//! ```text
//!   buckets      chains (one per envelope in use)         links (one per queued node)
//!   ┌───┐      ┌─────────────────────┐   head            ┌───┐     ┌───┐     ┌───┐
//!   │   │─────►│ context source tag  │──────────────────►│ 7 │◄───►│ 2 │◄───►│ 9 │
//!   ├───┤      └──────────┬──────────┘   tail            └───┘     └───┘     └───┘
//!   │ - │                 ▼ next in bucket                                     ▲
//!   ├───┤      ┌─────────────────────┐                                         │ tail
//!   │   │      │ context source tag  │──────── ...                             └──
//! ```
//!
//! Append, first and remove take constant time, whatever the number of nodes and envelopes; the table grows
//! with the number of envelopes in use. A node is a name whose lowest `INDEX_BITS` bits are unique among the
//! queued ones, and find its links.
//!
//! Programs use the same envelope over and over: the chain used last is looked at before the table, and stays
//! there when it runs empty. It is the only one that may be empty.

use pml::Envelope;

use crate::pool::{NONE, Pool};

pub(crate) struct Fifos<const INDEX_BITS: u32> {
    buckets: Vec<u32>,
    chains: Pool<Chain>,
    links: Vec<Link>,
    len: usize,
    /// The chain used last, or `NONE`.
    recent: u32,
}

struct Chain {
    envelope: Envelope,
    head: u32,
    tail: u32,
    next: u32,
}

#[derive(Clone, Copy)]
struct Link {
    /// When it was queued; from the caller.
    stamp: u64,
    prev: u32,
    next: u32,
    chain: u32,
}

const UNLINKED: Link = Link { stamp: 0, prev: NONE, next: NONE, chain: NONE };
const FIRST_BUCKETS: usize = 64;

impl<const INDEX_BITS: u32> Fifos<INDEX_BITS> {
    pub const fn new() -> Self {
        Fifos { buckets: Vec::new(), chains: Pool::new(), links: Vec::new(), len: 0, recent: NONE }
    }

    pub const fn len(&self) -> usize {
        self.len
    }

    /// The oldest node of the queue of `envelope`, and its stamp.
    pub fn first(&self, envelope: &Envelope) -> Option<(u64, u32)> {
        match self.chains.get(self.find(envelope)?)?.head {
            NONE => None,
            head => Some((self.link(head).stamp, head)),
        }
    }

    /// Takes out the oldest node of the queue of `envelope`.
    #[inline]
    pub fn pop(&mut self, envelope: &Envelope) -> Option<u32> {
        let chain = self.find(envelope)?;
        let ends = self.chains.get_mut(chain)?;
        let head = ends.head;
        if head == NONE {
            return None;
        }
        let link = self.links.get_mut(Self::index(head))?;
        let next = link.next;
        *link = UNLINKED;
        self.len -= 1;
        ends.head = next;
        if next == NONE {
            ends.tail = NONE;
            self.ran_empty(chain);
        } else {
            self.links[Self::index(next)].prev = NONE;
        }
        Some(head)
    }

    /// The queue of `envelope`, oldest first.
    pub fn queue(&self, envelope: &Envelope) -> impl Iterator<Item = u32> {
        let head = self.first(envelope).map(|(_, head)| head);
        core::iter::successors(head, |&node| match self.link(node).next {
            NONE => None,
            next => Some(next),
        })
    }

    /// Whether `node` is in any queue.
    pub fn contains(&self, node: u32) -> bool {
        self.links.get(Self::index(node)).is_some_and(|link| link.chain != NONE)
    }

    /// Appends `node`, which is not queued, to the queue of `envelope`.
    pub fn push(&mut self, envelope: &Envelope, node: u32, stamp: u64) {
        let chain = match self.find(envelope) {
            Some(chain) => chain,
            None => self.add_chain(*envelope),
        };
        let index = Self::index(node);
        if index >= self.links.len() {
            self.links.resize((index + 1).next_power_of_two(), UNLINKED);
        }
        let Some(ends) = self.chains.get_mut(chain) else { return };
        let prev = core::mem::replace(&mut ends.tail, node);
        if prev == NONE {
            ends.head = node;
        } else {
            self.links[Self::index(prev)].next = node;
        }
        self.links[index] = Link { stamp, prev, next: NONE, chain };
        self.len += 1;
        self.make_recent(chain);
    }

    /// Takes `node` out of its queue; does nothing if it is in none.
    pub fn remove(&mut self, node: u32) {
        let Some(slot) = self.links.get_mut(Self::index(node)) else { return };
        let Link { prev, next, chain, .. } = core::mem::replace(slot, UNLINKED);
        let Some(ends) = self.chains.get_mut(chain) else { return };
        self.len -= 1;
        if prev == NONE {
            ends.head = next;
        }
        if next == NONE {
            ends.tail = prev;
        }
        if prev == NONE && next == NONE {
            return self.ran_empty(chain);
        }
        if prev != NONE {
            self.links[Self::index(prev)].next = next;
        }
        if next != NONE {
            self.links[Self::index(next)].prev = prev;
        }
    }

    /// The last node of `chain` was taken out: the chain stays for the next one, unless there are so many that
    /// their memory is better given back.
    #[inline]
    fn ran_empty(&mut self, chain: u32) {
        if chain != self.recent {
            self.make_recent(chain);
        }
        if self.len == 0 && self.chains.is_large() {
            self.recent = NONE;
            self.remove_chain(chain);
        }
    }

    /// Notes that `chain` was used, and removes the one used before if it is empty.
    #[inline(always)]
    fn make_recent(&mut self, chain: u32) {
        let before = core::mem::replace(&mut self.recent, chain);
        if before != chain && self.chains.get(before).is_some_and(|chain| chain.head == NONE) {
            self.remove_chain(before);
        }
    }

    const fn index(node: u32) -> usize {
        (node & ((1 << INDEX_BITS) - 1)) as usize
    }

    fn link(&self, node: u32) -> &Link {
        &self.links[Self::index(node)]
    }

    /// Multiplicative hashing: the product's high bits depend on every bit below.
    fn bucket(&self, envelope: &Envelope) -> usize {
        let low = (envelope.source as u32 as u64) << 32 | envelope.tag as u32 as u64;
        let mixed = low ^ (envelope.context as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let product = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (product >> 32) as usize & (self.buckets.len() - 1)
    }

    #[inline(always)]
    fn find(&self, envelope: &Envelope) -> Option<u32> {
        match self.chains.get(self.recent) {
            Some(recent) if recent.envelope == *envelope => Some(self.recent),
            _ => self.look_up(envelope),
        }
    }

    fn look_up(&self, envelope: &Envelope) -> Option<u32> {
        if self.buckets.is_empty() {
            return None;
        }
        let mut chain = self.buckets[self.bucket(envelope)];
        while let Some(candidate) = self.chains.get(chain) {
            if candidate.envelope == *envelope {
                return Some(chain);
            }
            chain = candidate.next;
        }
        None
    }

    fn add_chain(&mut self, envelope: Envelope) -> u32 {
        if self.chains.len() >= self.buckets.len() {
            self.grow();
        }
        let bucket = self.bucket(&envelope);
        let chain =
            self.chains.insert(Chain { envelope, head: NONE, tail: NONE, next: self.buckets[bucket] });
        self.buckets[bucket] = chain;
        chain
    }

    fn remove_chain(&mut self, chain: u32) {
        let Some(gone) = self.chains.remove(chain) else { return };
        let bucket = self.bucket(&gone.envelope);
        if self.buckets[bucket] == chain {
            self.buckets[bucket] = gone.next;
            return;
        }
        let mut before = self.buckets[bucket];
        while let Some(candidate) = self.chains.get_mut(before) {
            if candidate.next == chain {
                candidate.next = gone.next;
                return;
            }
            before = candidate.next;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.buckets.len() * 2).max(FIRST_BUCKETS);
        self.buckets.clear();
        self.buckets.resize(size, NONE);
        let chains: Vec<(u32, Envelope)> =
            self.chains.iter().map(|(chain, held)| (chain, held.envelope)).collect();
        for (chain, envelope) in chains {
            let bucket = self.bucket(&envelope);
            let next = core::mem::replace(&mut self.buckets[bucket], chain);
            if let Some(held) = self.chains.get_mut(chain) {
                held.next = next;
            }
        }
    }
}
