//! `MPIX_Comm_revoke`: if one process that lives has revoked a communicator, or has heard of that, all that live do.
//!
//! Each process passes the word on once, to those that lie 1, 2, 4 … places before and behind it in the order of the members. The ring of
//! all that live stays whole: a process that learns of a failure passes the word on to the neighbours that it has then.

use std::collections::BTreeSet;

use abi::Result;
use btl::Peer;

use crate::frames::{self, REVOKE};
use crate::members::Members;
use objects::domain::Token;
use objects::state::State;

/// `MPIX_Comm_revoke`
pub fn revoke(t: &mut Token, comm: abi::Comm) -> Result<()> {
    let mut state = t.lock();
    state.comm(comm)?;
    revoke_for_all(&mut state, comm);
    Ok(())
}

/// `MPIX_Comm_is_revoked`
pub fn is_revoked(t: &mut Token, comm: abi::Comm, flag: &mut i32) -> Result<()> {
    objects::wait::make_progress(t);
    *flag = i32::from(t.lock().comm(comm)?.is_revoked);
    Ok(())
}

/// Revokes a communicator here, and passes that on if it is new.
pub fn revoke_for_all(state: &mut State, comm: abi::Comm) {
    if !state.revoke(comm) {
        return;
    }
    collectives::refuse(state, comm);
    pass_on(state, comm, neighbours);
}

fn pass_on(state: &mut State, comm: abi::Comm, to: fn(&Members, &[Peer]) -> BTreeSet<u32>) {
    let Ok(found) = state.comm(comm) else { return };
    let (context, members) = (found.context, Members::of(state, found));
    for peer in to(&members, &state.failures.announced) {
        frames::send(state, Peer(peer), REVOKE, [u64::from(context), 0, 0], Vec::new());
    }
}

/// Another process has revoked a communicator, perhaps one that is not here yet.
pub fn hear(state: &mut State, context: u32, from: Peer) {
    // A group that makes a communicator has one in its parent's context meanwhile.
    let is_concerned = |comm: &&objects::comm::Comm| comm.context == context;
    let here: Vec<_> =
        state.comms.iter().filter(is_concerned).map(|comm| (comm.handle, comm.contains(from))).collect();
    if here.is_empty() {
        // Its making may not have begun here, or may have its id already.
        if !state.contexts.is_gone(context >> 1) {
            state.failures.revoke_early(context, from);
        }
        // This process may have left the making with an error, so that no call would take what others have sent.
        state.p2p.drop_kept(context, from);
    }
    here.into_iter().filter(|&(_, is_member)| is_member).for_each(|(comm, _)| revoke_for_all(state, comm));
}

/// The launcher has announced a failure: the ring around it is closed.
pub fn has_failed(state: &mut State, peer: Peer) {
    let is_concerned = |comm: &&objects::comm::Comm| comm.is_revoked && comm.contains(peer);
    let revoked: Vec<abi::Comm> = state.comms.iter().filter(is_concerned).map(|comm| comm.handle).collect();
    revoked.into_iter().for_each(|comm| pass_on(state, comm, next_to));
}

/// A process has failed: communicators whose range of errors (`mpi_error_range`) has it are revoked.
pub fn in_range(state: &mut State, peer: Peer) {
    let is_concerned = |comm: &&objects::comm::Comm| comm.hints.is_revoked_by_failure(comm.contains(peer));
    let concerned: Vec<abi::Comm> = state.comms.iter().filter(is_concerned).map(|comm| comm.handle).collect();
    concerned.into_iter().for_each(|comm| revoke_for_all(state, comm));
}

/// The members that lie powers of two away, and the next ones that live.
fn neighbours(members: &Members, failed: &[Peer]) -> BTreeSet<u32> {
    let count = members.peers.len();
    let steps = std::iter::successors(Some(1), |step| Some(step * 2)).take_while(|&step| step < count);
    let at = |step: usize| {
        let me = members.me as usize;
        [(me + step) % count, (me + count - step) % count]
    };
    let far = steps.flat_map(at).map(|place| members.peers[place]);
    let mut all = next_to(members, failed);
    all.extend(far.filter(|&peer| !failed.contains(&Peer(peer))));
    all
}

/// The next members that live in either direction.
fn next_to(members: &Members, failed: &[Peer]) -> BTreeSet<u32> {
    let (count, me) = (members.peers.len(), members.me as usize);
    let lives = |place: &usize| !failed.contains(&Peer(members.peers[*place]));
    let ahead = (1..count).map(|step| (me + step) % count).find(lives);
    let behind = (1..count).map(|step| (me + count - step) % count).find(lives);
    ahead.into_iter().chain(behind).map(|place| members.peers[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(me: u32, count: u32) -> Members {
        Members { peers: (0..count).collect(), is_second: false, me }
    }

    /// The word goes on from one that lives, and nothing is passed on by the dead: it reaches all others.
    #[test]
    fn the_word_reaches_all_that_live() {
        for count in 1..=12_u32 {
            for dead in 0..1_u32 << count {
                let lives = |rank: &u32| dead & 1 << rank == 0;
                let failed: Vec<Peer> = (0..count).filter(|rank| !lives(rank)).map(Peer).collect();
                let Some(first) = (0..count).find(lives) else { continue };
                let (mut reached, mut next) = (BTreeSet::from([first]), vec![first]);
                while let Some(rank) = next.pop() {
                    let to = neighbours(&members(rank, count), &failed);
                    next.extend(to.into_iter().filter(lives).filter(|&rank| reached.insert(rank)));
                }
                assert_eq!(reached, (0..count).filter(lives).collect(), "{count} members, dead {dead:b}");
            }
        }
    }

    #[test]
    fn each_passes_the_word_on_to_a_logarithmic_number() {
        let count = neighbours(&members(77, 49_152), &[]).len();
        assert!(count <= 32, "{count}");
    }
}
