//! Whether a call can use an algorithm, and if not, why.

use core::fmt;

use super::choice::{MOST_SEGMENTS, bounce_segments};
use super::query::{Forced, Placement, Query, WIDE};
use crate::algorithms::registry::{Algorithm, AlgorithmId, Memory};
use crate::params::Coll;
use crate::shared::{MOST_PARTS, PAYLOAD, SLOT_PAYLOAD};

/// What a call lacks that an algorithm needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// It computes another collective, or goes within a group where the call goes between groups, or the reverse.
    Kind,
    /// The operation does not commute.
    Order,
    /// The elements have holes.
    Holes,
    /// `coll_reproducible` wants one association for all counts, roots and placements.
    Association,
    /// The ranks are on several nodes.
    Nodes,
    /// The call has no shared area.
    Area,
    /// The ranks cannot read each other's memory.
    Direct,
    /// The ranks are not known to be bound to several caches or memory nodes.
    Caches,
    /// There are more ranks than so many.
    Ranks(usize),
    /// There is more data than so many bytes, as the table counts them.
    Bytes(u64),
}

/// Why there is no choice for a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// The call cannot use the algorithm that is forced.
    Forced(AlgorithmId, Misfit),
    /// There is no algorithm for it.
    NoAlgorithm,
}

impl Forced {
    /// The forced algorithm, if it prescribes for such calls.
    pub(super) fn in_force(&self, query: &Query) -> Result<Option<AlgorithmId>, Unfit> {
        let Some(id) = self.algorithm else { return Ok(None) };
        match misfit(id.get(), query) {
            None => Ok(Some(id)),
            Some(why) if self.or_table || why == Misfit::Kind || query.ranks == 1 => Ok(None),
            Some(why) => Err(Unfit::Forced(id, why)),
        }
    }
}

/// Whether a call can use an algorithm at all.
pub fn can_use(algorithm: &Algorithm, query: &Query) -> bool {
    misfit(algorithm, query).is_none()
}

/// What a call lacks to use an algorithm; `None`: nothing.
fn misfit(algorithm: &Algorithm, query: &Query) -> Option<Misfit> {
    let needs = &algorithm.needs;
    if algorithm.coll != query.coll || needs.inter != query.inter {
        return Some(Misfit::Kind);
    }
    let otherwise = |holds: bool, misfit: Misfit| if holds { None } else { Some(misfit) };
    otherwise(needs.canonical || !query.canonical || !reduces(query.coll), Misfit::Association)
        .or(otherwise(query.commutative || !needs.commutative, Misfit::Order))
        .or(otherwise(query.dense || !needs.dense, Misfit::Holes))
        .or_else(|| misfit_of_memory(needs.memory, query))
}

/// As [`misfit`], of the shared memory that an algorithm uses.
fn misfit_of_memory(memory: Memory, query: &Query) -> Option<Misfit> {
    let one_node = matches!(query.placement, Placement::Node { .. });
    let most = match memory {
        Memory::None => return None,
        Memory::Slots | Memory::SlotsByCache | Memory::SlotsPerNode => Some(slot_limit(query)),
        _ => None,
    };
    if !one_node && memory != Memory::SlotsPerNode {
        return Some(Misfit::Nodes);
    }
    if !query.area {
        return Some(Misfit::Area);
    }
    match memory {
        Memory::Parts if query.ranks as usize > MOST_PARTS => Some(Misfit::Ranks(MOST_PARTS)),
        Memory::BounceBuffers if bounce_segments(query) > MOST_SEGMENTS.into() => {
            Some(Misfit::Bytes(u64::from(MOST_SEGMENTS) * PAYLOAD as u64))
        }
        Memory::SlotsByCache if !query.caches => Some(Misfit::Caches),
        Memory::Direct if !query.direct => Some(Misfit::Direct),
        _ => most.filter(|&most| query.bytes > most).map(Misfit::Bytes),
    }
}

/// Bytes up to which what a rank publishes fits a slot: all its blocks, where it has one for each rank.
pub(super) fn slot_limit(query: &Query) -> u64 {
    match query.coll {
        Coll::Scatter | Coll::Alltoall => PAYLOAD as u64 / u64::from(query.ranks.max(1)),
        // The result may be published at the release flag.
        Coll::Allreduce => SLOT_PAYLOAD as u64,
        _ => PAYLOAD as u64,
    }
}

fn reduces(coll: Coll) -> bool {
    use Coll::{Allreduce, Exscan, Reduce, ReduceScatter, ReduceScatterBlock, Scan};
    matches!(coll, Reduce | Allreduce | ReduceScatter | ReduceScatterBlock | Scan | Exscan)
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Kind => write!(f, "it is for another kind of communicator"),
            Misfit::Order => write!(f, "it reorders operands, and the operation does not commute"),
            Misfit::Holes => write!(f, "it combines elements in shared memory, and the elements have holes"),
            Misfit::Association => {
                write!(f, "coll_reproducible wants an algorithm that always combines in one way")
            }
            Misfit::Nodes => write!(f, "it needs all ranks on one node"),
            Misfit::Area => {
                write!(
                    f,
                    "it needs a shared area, which the communicator or the persistent call does not have"
                )
            }
            Misfit::Direct => write!(f, "it needs ranks that can read each other's memory"),
            Misfit::Caches => {
                write!(f, "it needs more than {WIDE} ranks, bound to several caches (see coll_tuned_caches)")
            }
            Misfit::Ranks(most) => write!(f, "it is for at most {most} ranks"),
            Misfit::Bytes(most) => write!(f, "it is for at most {most} bytes"),
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unfit::Forced(id, why) = self else {
            return write!(f, "no algorithm of the collective suits the call");
        };
        let (coll, name) = (id.get().coll.name(), id.get().name);
        write!(
            f,
            "coll_tuned_{coll}_algorithm is {name}, which the call cannot use: {why}; unset it, \
             or let the table decide by coll_tuned_fallback"
        )
    }
}

impl core::error::Error for Unfit {}
