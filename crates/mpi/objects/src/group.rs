//! Groups: ordered sets of processes, and the calls on them (MPI-5.0 section 7.3).

use std::collections::HashMap;
use std::sync::Arc;

use abi::{Error, Result};

use crate::domain::Token;
use crate::handle::{self, Kind, Objects};

/// An ordered set of processes, by their peer index; immutable and shared.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    peers: Arc<[u32]>,
    /// This process's rank, if it is a member.
    pub rank: Option<u32>,
    /// The session that it comes from; `None` in the world model.
    pub session: Option<abi::Session>,
}

impl Group {
    /// The group of `peers`, seen by the process `me`.
    pub fn new(peers: Arc<[u32]>, me: u32) -> Group {
        let rank = peers.iter().position(|&p| p == me).map(|r| r as u32);
        Group { peers, rank, session: None }
    }

    /// The group, come from a session.
    pub fn of_session(self, session: Option<abi::Session>) -> Group {
        Group { session, ..self }
    }

    pub fn peers(&self) -> Arc<[u32]> {
        self.peers.clone()
    }

    pub fn members(&self) -> &[u32] {
        &self.peers
    }

    pub fn size(&self) -> u32 {
        self.peers.len() as u32
    }

    /// Rank of each member, for translating many.
    pub fn index(&self) -> HashMap<u32, i32> {
        self.peers.iter().enumerate().map(|(rank, &peer)| (peer, rank as i32)).collect()
    }

    /// `MPI_IDENT`, `MPI_SIMILAR` or `MPI_UNEQUAL`.
    pub fn compare(&self, other: &Group) -> i32 {
        if self.peers == other.peers {
            return abi::IDENT;
        }
        let mut mine = self.peers.to_vec();
        let mut theirs = other.peers.to_vec();
        mine.sort_unstable();
        theirs.sort_unstable();
        if mine == theirs { abi::SIMILAR } else { abi::UNEQUAL }
    }
}

/// The group objects that have handles. The group of one communicator, window or file has one handle, however often
/// it is asked for: programs that never free it do not use up handles.
pub struct Groups {
    slab: Objects<Held>,
    /// The keys of the groups in the slab, by their addresses, which stay theirs while they are there.
    keys: HashMap<usize, u32>,
    empty: Arc<Group>,
}

/// A group and how often the program has got its handle without freeing it.
struct Held {
    group: Arc<Group>,
    times: u64,
}

impl Groups {
    pub fn new() -> Groups {
        let empty = Arc::new(Group { peers: Arc::new([]), rank: None, session: None });
        Groups { slab: Objects::new(), keys: HashMap::new(), empty }
    }

    pub fn get(&self, handle: abi::Group) -> Result<Arc<Group>> {
        if handle == abi::GROUP_EMPTY {
            return Ok(self.empty.clone());
        }
        handle::key(Kind::Group, handle.0)
            .and_then(|key| self.slab.get(key))
            .map(|held| held.group.clone())
            .ok_or(Error::new(abi::ERR_GROUP, "the handle names no group"))
    }

    /// Whether a group of the program has a peer.
    pub fn contain(&self, peer: u32) -> bool {
        self.slab.iter().any(|(_, held)| held.group.members().contains(&peer))
    }

    /// The handle of `group`, to be freed once for each call; that of the empty group always is `MPI_GROUP_EMPTY`.
    pub fn add(&mut self, group: Arc<Group>) -> Result<abi::Group> {
        if group.size() == 0 {
            return Ok(abi::GROUP_EMPTY);
        }
        let address = Arc::as_ptr(&group).addr();
        let held = self.keys.get(&address).and_then(|&key| Some((key, self.slab.get_mut(key)?)));
        let key = match held {
            Some((key, held)) => {
                held.times += 1;
                key
            }
            None => {
                let full = |_| Error::new(abi::ERR_OTHER, "more than 2^20 groups exist");
                let key = self.slab.insert(Held { group, times: 1 }).map_err(full)?;
                self.keys.insert(address, key);
                key
            }
        };
        Ok(abi::Group(handle::make(Kind::Group, key)))
    }

    pub fn remove(&mut self, handle: abi::Group) -> Result<()> {
        if handle == abi::GROUP_EMPTY {
            return Ok(());
        }
        let held = handle::key(Kind::Group, handle.0).and_then(|key| Some((key, self.slab.get_mut(key)?)));
        let (key, held) = held.ok_or(Error::new(abi::ERR_GROUP, "the handle names no group"))?;
        held.times -= 1;
        if held.times == 0 {
            self.keys.remove(&Arc::as_ptr(&held.group).addr());
            self.slab.remove(key);
        }
        Ok(())
    }
}

/// `MPI_Group_size`
pub fn size(t: &mut Token, group: abi::Group, size: &mut i32) -> Result<()> {
    *size = t.lock().groups.get(group)?.size() as i32;
    Ok(())
}

/// `MPI_Group_rank`
pub fn rank(t: &mut Token, group: abi::Group, rank: &mut i32) -> Result<()> {
    *rank = t.lock().groups.get(group)?.rank.map_or(abi::UNDEFINED, |r| r as i32);
    Ok(())
}

/// `MPI_Group_translate_ranks`
pub fn translate_ranks(
    t: &mut Token,
    group1: abi::Group,
    ranks1: &[i32],
    group2: abi::Group,
    ranks2: &mut [i32],
) -> Result<()> {
    let state = t.lock();
    let from = state.groups.get(group1)?;
    let to = state.groups.get(group2)?.index();
    for (out, &rank) in ranks2.iter_mut().zip(ranks1) {
        *out = match rank {
            abi::PROC_NULL => abi::PROC_NULL,
            _ => to.get(&member(&from, rank)?).copied().unwrap_or(abi::UNDEFINED),
        };
    }
    Ok(())
}

/// `MPI_Group_compare`
pub fn compare(t: &mut Token, group1: abi::Group, group2: abi::Group, result: &mut i32) -> Result<()> {
    let state = t.lock();
    *result = state.groups.get(group1)?.compare(&*state.groups.get(group2)?);
    Ok(())
}

/// `MPI_Group_union`: all of the first, then those of the second that are not in the first.
pub fn union(t: &mut Token, group1: abi::Group, group2: abi::Group, new: &mut abi::Group) -> Result<()> {
    combine(t, group1, group2, new, |one, two| {
        let known = one.index();
        let extra = two.members().iter().copied().filter(|p| !known.contains_key(p));
        one.members().iter().copied().chain(extra).collect()
    })
}

/// `MPI_Group_intersection`: those of the first that are in the second, in the first's order.
pub fn intersection(
    t: &mut Token,
    group1: abi::Group,
    group2: abi::Group,
    new: &mut abi::Group,
) -> Result<()> {
    combine(t, group1, group2, new, |one, two| {
        let known = two.index();
        one.members().iter().copied().filter(|p| known.contains_key(p)).collect()
    })
}

/// `MPI_Group_difference`: those of the first that are not in the second.
pub fn difference(t: &mut Token, group1: abi::Group, group2: abi::Group, new: &mut abi::Group) -> Result<()> {
    combine(t, group1, group2, new, |one, two| {
        let known = two.index();
        one.members().iter().copied().filter(|p| !known.contains_key(p)).collect()
    })
}

/// `MPI_Group_incl`
pub fn incl(t: &mut Token, group: abi::Group, ranks: &[i32], new: &mut abi::Group) -> Result<()> {
    subset(t, group, new, |old| {
        let peers = ranks.iter().map(|&rank| member(old, rank)).collect::<Result<Vec<u32>>>()?;
        distinct(peers)
    })
}

/// `MPI_Group_excl`
pub fn excl(t: &mut Token, group: abi::Group, ranks: &[i32], new: &mut abi::Group) -> Result<()> {
    subset(t, group, new, |old| {
        let out = distinct(ranks.iter().map(|&rank| member(old, rank)).collect::<Result<Vec<u32>>>()?)?;
        Ok(old.members().iter().copied().filter(|p| !out.contains(p)).collect())
    })
}

/// `MPI_Group_range_incl`
pub fn range_incl(t: &mut Token, group: abi::Group, ranges: &[[i32; 3]], new: &mut abi::Group) -> Result<()> {
    let ranks = expand(t, group, ranges)?;
    incl(t, group, &ranks, new)
}

/// `MPI_Group_range_excl`
pub fn range_excl(t: &mut Token, group: abi::Group, ranges: &[[i32; 3]], new: &mut abi::Group) -> Result<()> {
    let ranks = expand(t, group, ranges)?;
    excl(t, group, &ranks, new)
}

/// `MPI_Group_free`
pub fn free(t: &mut Token, group: &mut abi::Group) -> Result<()> {
    t.lock().groups.remove(*group)?;
    *group = abi::GROUP_NULL;
    Ok(())
}

fn combine(
    t: &mut Token,
    group1: abi::Group,
    group2: abi::Group,
    new: &mut abi::Group,
    f: impl FnOnce(&Group, &Group) -> Vec<u32>,
) -> Result<()> {
    let other = t.lock().groups.get(group2)?;
    subset(t, group1, new, |one| Ok(f(one, &other)))
}

fn subset(
    t: &mut Token,
    group: abi::Group,
    new: &mut abi::Group,
    f: impl FnOnce(&Group) -> Result<Vec<u32>>,
) -> Result<()> {
    let mut state = t.lock();
    let old = state.groups.get(group)?;
    let part = Group::new(f(&old)?.into(), state.me()).of_session(old.session);
    *new = state.groups.add(Arc::new(part))?;
    Ok(())
}

fn member(group: &Group, rank: i32) -> Result<u32> {
    usize::try_from(rank)
        .ok()
        .and_then(|rank| group.members().get(rank))
        .copied()
        .ok_or(Error::new(abi::ERR_RANK, "a rank lies outside the group"))
}

fn distinct(peers: Vec<u32>) -> Result<Vec<u32>> {
    let mut sorted = peers.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::new(abi::ERR_RANK, "a rank is named twice"));
    }
    Ok(peers)
}

/// The ranks of `(first, last, stride)` triplets, all of which must lie in the group.
fn expand(t: &mut Token, group: abi::Group, ranges: &[[i32; 3]]) -> Result<Vec<i32>> {
    let size = t.lock().groups.get(group)?.size() as i32;
    let mut ranks = Vec::new();
    for &[first, last, stride] in ranges {
        if stride == 0 || (last - first).signum() * stride.signum() < 0 {
            return Err(Error::new(abi::ERR_ARG, "a range's stride is 0 or leads away from its end"));
        }
        if !(0..size).contains(&first) || !(0..size).contains(&last) {
            return Err(Error::new(abi::ERR_RANK, "a range leaves the group"));
        }
        let steps = (last - first) / stride;
        ranks.extend((0..=steps).map(|i| first + i * stride));
    }
    Ok(ranks)
}
