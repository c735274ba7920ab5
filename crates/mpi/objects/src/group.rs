//! The calls on groups (MPI-5.0 section 7.3).

use std::sync::Arc;

use abi::{Error, Result};

use crate::domain::Token;

pub use crate::tables::groups::Group;

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
