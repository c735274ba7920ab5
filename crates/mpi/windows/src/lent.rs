//! Created windows over memory of `MPI_Alloc_mem`, which the other processes of the node map.
//!
//! ```text
//!   each process   announces in the first exchange whether its memory is such    (create.rs)
//!   if any is      ticket and place ─► each maps what the others of its node have, and announces that with the rest
//!   all could?     the memory is used as that of an allocated window; else as any other
//! ```
//! One block holds many parts, and the memory of many windows: a process maps another one's block once, as long as some
//! window needs it.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use abi::Result;
use btl::Peer;
use node::{SegmentTicket, SharedSegment};

use super::WINDOWS;
use super::create::Part;
use crate::alloc::MEMORY;
use collectives::gather_words;
use objects::domain::Token;
use objects::group::Group;

/// Words that a process sends about its memory: a ticket, and where its memory is in there, plus 1; all 0 for memory
/// that cannot be mapped.
const SAID: usize = 5;

/// The memory of the ranks of this node, as far as processes lend it to each other.
#[derive(Default)]
pub(super) struct Lent {
    /// Address of each local rank's memory here; `None`: it is not lent, or empty.
    addresses: Vec<Option<usize>>,
    /// What is mapped for that.
    pub segments: Box<[Arc<SharedSegment>]>,
    /// Whether this process has mapped all that others lend.
    pub is_mapped: bool,
}

impl Lent {
    /// Where a local rank's memory is here.
    pub fn address(&self, local: usize) -> Option<usize> {
        self.addresses.get(local).copied().flatten()
    }
}

/// Blocks of other processes that are mapped here, by their owner and the words of their ticket.
pub struct Mapped(BTreeMap<(u32, [u64; 4]), Weak<SharedSegment>>);

impl Mapped {
    pub const fn new() -> Mapped {
        Mapped(BTreeMap::new())
    }

    /// The block if it is mapped, or else what `map` maps.
    fn find(
        &mut self,
        owner: u32,
        ticket: &SegmentTicket,
        map: impl FnOnce() -> Option<SharedSegment>,
    ) -> Option<Arc<SharedSegment>> {
        let key = (owner, ticket.words());
        if let Some(known) = self.0.get(&key).and_then(Weak::upgrade) {
            return Some(known);
        }
        let segment = Arc::new(map()?);
        self.0.retain(|_, other| other.strong_count() > 0);
        self.0.insert(key, Arc::downgrade(&segment));
        Some(segment)
    }
}

/// Whether others can map the memory of `part`, which this process has got from `MPI_Alloc_mem`.
pub(super) fn can_lend(t: &mut Token, part: &Part) -> bool {
    part.flavor == abi::WIN_FLAVOR_CREATE && part.size > 0 && said_of(t, part) != [0; SAID]
}

fn said_of(t: &mut Token, part: &Part) -> [u64; SAID] {
    let lent = MEMORY.get(&t.lock().tables).lend(part.base, part.size as usize);
    lent.map_or([0; SAID], |(ticket, place)| {
        let [first, second, third, fourth] = ticket.words();
        [first, second, third, fourth, place as u64 + 1]
    })
}

/// Exchanges what the processes lend, and maps what the others of this node do. To be called by all processes if one of
/// them can lend. `sizes`: the bytes of each rank; `near`: the ranks of this node.
pub(super) fn exchange(
    t: &mut Token,
    comm: abi::Comm,
    part: &Part,
    group: &Group,
    sizes: impl Fn(u32) -> u64,
    near: &[u32],
) -> Result<Lent> {
    let said = said_of(t, part);
    let all = gather_words(t, comm, &said)?;
    let me = group.rank.unwrap_or(0);
    let mut state = t.lock();
    let node = state.node.clone();
    let mut lent = Lent { is_mapped: true, ..Lent::default() };
    let mut segments = Vec::new();
    for &rank in near {
        let words = &all[SAID * rank as usize..][..SAID];
        let address = if words[SAID - 1] == 0 || sizes(rank) == 0 {
            None
        } else if rank == me {
            Some(part.base)
        } else {
            let peer = group.members()[rank as usize];
            let ticket = words.first_chunk().and_then(|&words| SegmentTicket::from_words(words));
            let mapped = ticket.and_then(|ticket| {
                let map = || node.as_ref()?.map_segment(Peer(peer), &ticket).ok();
                WINDOWS.get_mut(&mut state.tables).mapped.find(peer, &ticket, map)
            });
            let place = mapped.and_then(|segment| {
                let place = usize::try_from(words[SAID - 1] - 1).ok()?;
                let end = place.checked_add(usize::try_from(sizes(rank)).ok()?)?;
                let address = (end <= segment.len()).then(|| segment.address() + place);
                segments.push(segment);
                address
            });
            lent.is_mapped &= place.is_some();
            place
        };
        lent.addresses.push(address);
    }
    lent.segments = segments.into();
    Ok(lent)
}
