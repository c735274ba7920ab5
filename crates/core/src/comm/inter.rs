//! Inter-communicators (MPI-5.0 section 7.6): two groups whose leaders talk for them.

use std::sync::Arc;

use abi::{Error, Result};

use super::Comm;
use super::create::{agree, chosen};
use super::exchange::{gather_words, largest, share_words, swap_words};
use crate::domain::Token;
use crate::errhandler::Handler;
use crate::group::Group;

/// What the leaders send each other about their groups: the largest context count, then the members.
const GREETING: usize = 2;

/// `MPI_Intercomm_create`
pub fn create(
    t: &mut Token,
    local_comm: abi::Comm,
    local_leader: i32,
    peer_comm: abi::Comm,
    remote_leader: i32,
    tag: i32,
    new: &mut abi::Comm,
) -> Result<()> {
    let (group, rank, errhandler, next) = {
        let state = t.lock();
        let local = state.comm(local_comm)?;
        if local.is_inter() {
            return Err(Error::new(abi::ERR_COMM, "the local communicator is an inter-communicator"));
        }
        if local_leader < 0 || local_leader as u32 >= local.size() {
            return Err(Error::new(abi::ERR_RANK, "the local leader lies outside the communicator"));
        }
        (local.group.clone(), local.rank, local.errhandler, u64::from(state.next_context))
    };
    let count = largest(t, local_comm, next)?;
    let leader = rank == local_leader as u32;
    let link = leader.then_some(Link { comm: peer_comm, rank: remote_leader, tag });
    let (id, members) = meet(t, local_comm, local_leader as u32, link, count, group.members())?;
    let mut state = t.lock();
    state.next_context = id + 2;
    let remote = Arc::new(Group::new(members.into(), state.me()));
    if group.members().iter().any(|peer| remote.members().contains(peer)) {
        return Err(Error::new(abi::ERR_COMM, "the two groups overlap"));
    }
    let mut comm = Comm::new(id, group, rank, errhandler);
    comm.make_inter(remote, id + 1);
    *new = state.add_comm(comm)?;
    Ok(())
}

/// How a leader reaches the other one.
struct Link {
    comm: abi::Comm,
    rank: i32,
    tag: i32,
}

/// The leaders swap context counts and members and tell their groups; the context id of both and the other
/// group's members.
fn meet(
    t: &mut Token,
    local: abi::Comm,
    leader: u32,
    link: Option<Link>,
    count: u64,
    members: &[u32],
) -> Result<(u32, Vec<u32>)> {
    let mut greeting = [count, members.len() as u64];
    let mut answer = [0; GREETING];
    if let Some(link) = &link {
        swap_words(t, link.comm, link.rank, link.tag, &mut greeting, &mut answer)?;
    }
    share_words(t, local, leader, &mut answer)?;
    let mut theirs = vec![0u64; answer[1] as usize];
    if let Some(link) = &link {
        let mut ours: Vec<u64> = members.iter().map(|&peer| u64::from(peer)).collect();
        swap_words(t, link.comm, link.rank, link.tag, &mut ours, &mut theirs)?;
    }
    share_words(t, local, leader, &mut theirs)?;
    Ok((count.max(answer[0]) as u32, theirs.into_iter().map(|peer| peer as u32).collect()))
}

/// Runs `f` with the local group's communicator in the table, where collectives find it.
fn with_local<R>(t: &mut Token, comm: abi::Comm, f: impl FnOnce(&mut Token, abi::Comm) -> R) -> Result<R> {
    let missing = Error::new(abi::ERR_COMM, "the communicator is not an inter-communicator");
    let local = {
        let mut state = t.lock();
        let local = state.comms.get_mut(comm)?.local.take().ok_or(missing)?;
        state.comms.add(*local)?
    };
    let result = f(t, local);
    let mut state = t.lock();
    let back = state.comms.remove(local);
    state.comms.get_mut(comm)?.local = back;
    Ok(result)
}

/// Swaps words between the two groups: rank 0 of each speaks, everyone hears. `answer` says how many words the
/// other side sends.
fn swap_all(t: &mut Token, comm: abi::Comm, words: &[u64], answer: &mut [u64]) -> Result<()> {
    let rank = t.lock().comm(comm)?.rank;
    if rank == 0 {
        swap_words(t, comm, 0, 0, &mut words.to_vec(), answer)?;
    }
    with_local(t, comm, |t, local| share_words(t, local, 0, answer))?
}

/// The largest of the values of both groups.
pub(super) fn largest_of_both(t: &mut Token, comm: abi::Comm, value: u64) -> Result<u64> {
    let mine = with_local(t, comm, |t, local| largest(t, local, value))??;
    let mut theirs = [0];
    swap_all(t, comm, &[mine], &mut theirs)?;
    Ok(mine.max(theirs[0]))
}

/// Each group tells the other who of it will be in a new communicator.
pub(super) fn swap_groups(t: &mut Token, comm: abi::Comm, group: &Group) -> Result<Arc<Group>> {
    let mut count = [0];
    swap_all(t, comm, &[u64::from(group.size())], &mut count)?;
    let mut theirs = vec![0; count[0] as usize];
    let ours: Vec<u64> = group.members().iter().map(|&peer| u64::from(peer)).collect();
    swap_all(t, comm, &ours, &mut theirs)?;
    let peers: Vec<u32> = theirs.into_iter().map(|peer| peer as u32).collect();
    let me = t.lock().me();
    Ok(Arc::new(Group::new(peers.into(), me)))
}

/// `MPI_Comm_split` of an inter-communicator: the parts of one colour on both sides face each other.
pub(super) fn split(t: &mut Token, comm: abi::Comm, color: i32, key: i32) -> Result<abi::Comm> {
    let id = agree(t, comm, 2)?;
    let words = [color as u32 as u64, key as u32 as u64];
    let ours = with_local(t, comm, |t, local| gather_words(t, local, &words))??;
    let remote = t.lock().comm(comm)?.remote.clone();
    let remote = remote.ok_or(Error::new(abi::ERR_COMM, "the communicator is not an inter-communicator"))?;
    let mut theirs = vec![0; 2 * remote.size() as usize];
    swap_all(t, comm, &ours, &mut theirs)?;
    let mut state = t.lock();
    let old = state.comm(comm)?;
    let (me, errhandler) = (state.me(), old.errhandler);
    let group = Arc::new(Group::new(chosen(&ours, 2, color, old.group.members()), me));
    let remote = Arc::new(Group::new(chosen(&theirs, 2, color, remote.members()), me));
    if color == abi::UNDEFINED || remote.size() == 0 {
        return Ok(abi::COMM_NULL);
    }
    let rank = group.rank.unwrap_or(0);
    let mut part = Comm::new(id, group, rank, errhandler);
    part.make_inter(remote, id + 1);
    state.add_comm(part)
}

/// `MPI_Intercomm_merge`: the group that says `high` comes second; on a tie the one whose first process has the
/// smaller number goes first.
pub fn merge(t: &mut Token, comm: abi::Comm, high: i32, new: &mut abi::Comm) -> Result<()> {
    let id = agree(t, comm, 1)?;
    let mut theirs = [0];
    let ours = u64::from(high != 0);
    swap_all(t, comm, &[ours], &mut theirs)?;
    let mut state = t.lock();
    let old = state.comm(comm)?;
    let remote = old.remote.clone().ok_or(Error::new(abi::ERR_COMM, "not an inter-communicator"))?;
    let (mine, other) = (old.group.members(), remote.members());
    let first = match ours.cmp(&theirs[0]) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => mine.first() < other.first(),
    };
    let peers: Vec<u32> = if first { [mine, other].concat() } else { [other, mine].concat() };
    let errhandler: Handler = old.errhandler;
    let group = Arc::new(Group::new(peers.into(), state.me()));
    let rank = group.rank.unwrap_or(0);
    *new = state.add_comm(Comm::new(id, group, rank, errhandler))?;
    Ok(())
}
