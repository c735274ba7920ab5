//! Inter-communicators (MPI-5.0 section 7.6): two groups whose leaders exchange words for them.

use std::cell::Cell;
use std::ffi::CStr;
use std::sync::Arc;

use abi::{Error, Result};
use btl::Peer;

use super::acquaint::{self, Encounter, MOST, Side, identities, text_of, words_of};
use super::agreement::{Party, Question, WORDS};
use super::create::{
    agree_by, alike, answer, chosen, drop_from_table, free, give_hints, let_go, make, make_under, open,
    over_group, string_tag,
};
use collectives::{Swap, gather_words, share_words, swap_words, tell_words};
use objects::comm::Comm;
use objects::domain::Token;
use objects::errhandler::Handler;
use objects::group::Group;
use objects::state::State;

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
    let link = Link { comm: peer_comm, rank: remote_leader, tag };
    alike(t, local_comm, new, |t| join_groups(t, local_comm, local_leader, link))
}

fn join_groups(t: &mut Token, local_comm: abi::Comm, local_leader: i32, link: Link) -> Result<abi::Comm> {
    if link.tag < 0 {
        return Err(Error::new(abi::ERR_TAG, "the tag must be between 0 and MPI_TAG_UB"));
    }
    let (group, rank, errhandler, session) = {
        let state = t.lock();
        let local = state.comm(local_comm)?;
        if local.is_inter() {
            return Err(Error::new(abi::ERR_COMM, "the local communicator is an inter-communicator"));
        }
        if local_leader < 0 || local_leader as u32 >= local.size() {
            return Err(Error::new(abi::ERR_RANK, "the local leader lies outside the communicator"));
        }
        (local.group.clone(), local.rank, local.errhandler, local.session)
    };
    let leader = local_leader as u32;
    let meeting = Meeting::of(local_comm, leader, (rank == leader).then_some(link));
    let mut held = Vec::new();
    let made = meeting.members(t, group.members(), &mut held).and_then(|(members, party)| {
        let me = t.lock().me();
        let remote = Arc::new(Group::new(members.into(), me));
        if group.members().iter().any(|peer| remote.members().contains(peer)) {
            return Err(Error::new(abi::ERR_COMM, "the two groups overlap"));
        }
        let id = meeting.agree(t, party, 2)?;
        make_under(t, id, 2, |t, id| {
            let mut comm = Comm::new(id, group.clone(), rank, errhandler);
            comm.session = session;
            comm.make_inter(remote);
            open(t, comm, None)
        })
    });
    t.lock().p2p.release(&held);
    meeting.conclude(t, made)
}

/// The inter-communicator of an intra-communicator and a group of another job, which its processes have met in this
/// `encounter`; `far` is the other leader, a member of that group. All processes of both groups call this.
///
/// # Errors
/// The other leader is lost; a process has no context id left.
pub fn between(
    t: &mut Token,
    (local, leader): (abi::Comm, u32),
    (remote, far): (Arc<Group>, u32),
    encounter: Encounter,
) -> Result<abi::Comm> {
    let (group, rank, errhandler) = {
        let state = t.lock();
        let local = state.comm(local)?;
        (local.group.clone(), local.rank, local.errhandler)
    };
    let bridge = match rank == leader {
        true => Some(leaders(t, remote.members()[far as usize], encounter.is_first)?),
        false => None,
    };
    let link = bridge.map(|bridge| Link::over(bridge, encounter));
    let meeting = Meeting::of(local, leader, link);
    let id = meeting.agree(t, Party::of(&[encounter.id]), 2);
    if let Some(bridge) = bridge {
        drop_from_table(&mut t.lock(), bridge);
    }
    let made = make_under(t, id?, 2, |t, id| {
        let mut comm = Comm::new(id, group, rank, errhandler);
        comm.make_inter(remote);
        open(t, comm, None)
    });
    meeting.conclude(t, made)
}

/// This leader does not go on to [`between`], or has left it with an error: the other one, `far`, does not wait for it.
///
/// # Errors
/// The other leader is lost.
pub fn refuse_between(t: &mut Token, far: u32, encounter: Encounter, error: Error) -> Result<()> {
    let bridge = leaders(t, far, encounter.is_first)?;
    let Link { comm, rank, tag } = Link::over(bridge, encounter);
    // What is revoked is a communicator of this group.
    let class = if error.class == abi::ERR_REVOKED { abi::ERR_PROC_FAILED } else { error.class };
    let told = tell_words(t, comm, rank, Swap::Leaders(tag), &mut [class as u64]);
    drop_from_table(&mut t.lock(), bridge);
    told
}

/// A communicator of this process and another leader, in the context where groups meet; tags distinguish what uses it.
fn leaders(t: &mut Token, other: u32, is_first: bool) -> Result<abi::Comm> {
    let mut state = t.lock();
    let me = state.me();
    let both = if is_first { [me, other] } else { [other, me] };
    let group = Arc::new(Group::new(both.into(), me));
    let context = state.contexts.meeting();
    state.comms.add(Comm::new(context, group, u32::from(!is_first), Handler::Return))
}

/// `MPI_Intercomm_create_from_groups`: the members of both groups meet in a communicator of them all, which goes
/// again.
pub fn create_from_groups(
    t: &mut Token,
    local_group: abi::Group,
    local_leader: i32,
    remote_group: abi::Group,
    remote_leader: i32,
    tag: &CStr,
    info: abi::Info,
    errhandler: abi::Errhandler,
    new: &mut abi::Comm,
) -> Result<()> {
    let (local, remote, me, hints) = {
        let state = t.lock();
        let hints = state.infos.hints(info)?;
        (state.groups.get(local_group)?, state.groups.get(remote_group)?, state.me(), hints)
    };
    let far = usize::try_from(remote_leader).ok().and_then(|leader| remote.members().get(leader)).copied();
    let far = far.ok_or(Error::new(abi::ERR_RANK, "the remote leader lies outside its group"))?;
    let handler = objects::errhandler::initial(t, errhandler, objects::errhandler::ErrhandlerKind::Comm)?;
    let mut everyone = [local.members(), remote.members()].concat();
    in_one_order(&t.lock(), &mut everyone);
    let leader = everyone.iter().position(|&peer| peer == far).unwrap_or(0) as i32;
    let all = Arc::new(Group::new(everyone.into(), me));
    let tag = string_tag(tag);
    let meeting = t.lock().contexts.meeting() << 1;
    let mut own = over_group(t, &local, meeting, tag, handler, local.session)?;
    let mut bridge = match over_group(t, &all, meeting, tag ^ BRIDGE, handler, None) {
        Ok(bridge) => bridge,
        Err(error) => {
            free(t, &mut own)?;
            return Err(error);
        }
    };
    let made =
        create(t, own, local_leader, bridge, leader, 0, new).and_then(|()| give_hints(t, *new, &hints));
    free(t, &mut bridge)?;
    free(t, &mut own)?;
    made
}

/// Distinguishes the communicator of both groups from that of one, both under one string tag.
const BRIDGE: i32 = 0x2545_f491;

/// How a leader reaches the other one.
#[derive(Clone, Copy)]
struct Link {
    comm: abi::Comm,
    rank: i32,
    tag: i32,
}

impl Link {
    /// To the leader with whom `bridge` was made for an encounter.
    fn over(bridge: abi::Comm, encounter: Encounter) -> Link {
        Link { comm: bridge, rank: i32::from(encounter.is_first), tag: encounter.id as i32 & i32::MAX }
    }
}

/// Two groups about to be joined: the leaders swap words and pass them to their groups.
struct Meeting {
    local: abi::Comm,
    leader: u32,
    /// The leader has one.
    link: Option<Link>,
    /// Why the leader's group has not got what the leaders have swapped last.
    unshared: Cell<Option<Error>>,
}

impl Meeting {
    fn of(local: abi::Comm, leader: u32, link: Option<Link>) -> Meeting {
        Meeting { local, leader, link, unshared: Cell::new(None) }
    }

    /// The other group may have what this leader has made and its own group has not: it is revoked for all that have it, since none of
    /// this group would answer in it.
    fn conclude(&self, t: &mut Token, made: Result<abi::Comm>) -> Result<abi::Comm> {
        let (Some(error), Ok(mut new)) = (self.unshared.take(), made) else { return made };
        {
            let mut state = t.lock();
            (state.revoke_for_all)(&mut state, new);
        }
        let_go(t, &mut new)?;
        Err(error)
    }

    /// Swaps words with the other group; all of the group give words of the same length.
    ///
    /// # Errors
    /// The leader's, or that of the other one, for all alike.
    fn swap(&self, t: &mut Token, words: &[u64], answer: &mut [u64]) -> Result<()> {
        let mut heard = self.swap_as_leader(t, words, answer.len());
        share_words(t, self.local, self.leader, &mut heard)?;
        take_heard(&heard, answer)
    }

    /// What the leader gets of the other one: before `count` words an error class, or 0.
    fn swap_as_leader(&self, t: &mut Token, words: &[u64], count: usize) -> Vec<u64> {
        let mut heard = vec![0; 1 + count];
        if let Some(link) = self.link {
            let mut ours = [&[0], words].concat();
            let swapped = swap_words(t, link.comm, link.rank, Swap::Leaders(link.tag), &mut ours, &mut heard);
            if let Err(error) = swapped {
                heard[0] = error.class as u64;
            }
        }
        heard
    }

    /// What stands for this group: its leader, and the communicator and the tag by which it meets the other one.
    fn word(&self, t: &mut Token, ours: &[u32]) -> Result<u64> {
        let Some(link) = self.link else { return Ok(0) };
        let over = t.lock().comm(link.comm)?.context;
        Ok(Party::of(&[u64::from(over), link.tag as u64, u64::from(ours[self.leader as usize])]).word())
    }

    /// The other group's members, and the party of the two groups together. Members from which this process must not part
    /// meanwhile are added to `held`.
    fn members(&self, t: &mut Token, ours: &[u32], held: &mut Vec<u32>) -> Result<(Vec<u32>, Party)> {
        let mut own = [self.word(t, ours)?];
        share_words(t, self.local, self.leader, &mut own)?;
        let mut other = [0; 2];
        self.swap(t, &[ours.len() as u64, own[0]], &mut other)?;
        let ours = identities(&t.lock(), ours);
        let mut theirs = room_for(other[0])?;
        self.swap(t, &ours, &mut theirs)?;
        let party = Party::of(&[own[0] ^ other[1]]);
        // Both groups see both lists, so both go the same way.
        let is_one_job = ours.iter().step_by(2).chain(theirs.iter().step_by(2)).all(|&job| job == ours[0]);
        if !is_one_job {
            self.acquaint(t, &theirs, held)?;
        }
        Ok((acquaint::known(&t.lock(), &theirs).ok_or(STRANGE)?, party))
    }

    /// Groups of several jobs: has the two meet if some of them have not, or have parted since.
    fn acquaint(&self, t: &mut Token, theirs: &[u64], held: &mut Vec<u32>) -> Result<()> {
        let are_met = {
            let mut state = t.lock();
            let known = acquaint::known(&state, theirs).unwrap_or_default();
            let are_met = !known.is_empty() && known.iter().all(|&peer| !state.p2p.is_apart(Peer(peer)));
            state.p2p.hold(&known);
            held.extend(known);
            are_met
        };
        let strangers = collectives::largest(t, self.local, u64::from(!are_met))?;
        let mut there = [0];
        self.swap(t, &[strangers], &mut there)?;
        if strangers == 0 && there == [0] {
            return Ok(());
        }
        let ours = acquaint::side(t, self.local)?;
        let words = words_of(&ours.encode());
        let mut count = [0];
        self.swap(t, &[words.len() as u64], &mut count)?;
        if count[0] > LONGEST_SIDE {
            return Err(STRANGE);
        }
        let mut text = vec![0; count[0] as usize];
        self.swap(t, &words, &mut text)?;
        let other = text_of(&text).and_then(|text| Side::parse(&text)).ok_or(STRANGE)?;
        held.extend(acquaint::meet(t, &other)?.members());
        Ok(())
    }

    /// Context ids that are free in both groups. The leader has those that the other one has, also where its own group has them not:
    /// [`Meeting::conclude`].
    fn agree(&self, t: &mut Token, party: Party, count: u32) -> Result<u32> {
        agree_by(t, party, count, |t, question| {
            self.unshared.take().map_or(Ok(()), Err)?;
            let ours = Question { words: answer(t, self.local, question)?, ..question };
            let mut heard = self.swap_as_leader(t, &ours.words, WORDS);
            let shared = share_words(t, self.local, self.leader, &mut heard);
            match self.link {
                Some(_) => self.unshared.set(shared.err()),
                None => shared?,
            }
            let mut theirs = [0; WORDS];
            take_heard(&heard, &mut theirs)?;
            Ok(ours.with(&theirs).words)
        })
    }
}

/// Takes the words of [`Meeting::swap_as_leader`].
fn take_heard(heard: &[u64], answer: &mut [u64]) -> Result<()> {
    let (class, words) = heard.split_at(1);
    if class[0] != 0 {
        let class = i32::try_from(class[0]).unwrap_or(abi::ERR_OTHER);
        return Err(Error::new(class, "the other group, or the way to it, has failed"));
    }
    answer.copy_from_slice(words);
    Ok(())
}

const STRANGE: Error = Error::new(abi::ERR_OTHER, "the other group names processes that are not known");

/// Words of a group's text at most.
const LONGEST_SIDE: u64 = (MOST as u64) << 6;

/// Room for what names the `count` members that the other group announces.
fn room_for(count: u64) -> Result<Vec<u64>> {
    if count > MOST as u64 { Err(STRANGE) } else { Ok(vec![0; 2 * count as usize]) }
}

/// Sorts peers in the order that all processes see alike, whatever their numbers are: by job and rank.
fn in_one_order(state: &State, peers: &mut [u32]) {
    let table = state.p2p.peers();
    peers.sort_unstable_by_key(|&peer| table.process(Peer(peer)).map(|process| (process.job, process.rank)));
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

/// Swaps words between the two groups: rank 0 of each swaps, all ranks receive. The other side sends as many words as
/// `answer` holds.
fn swap_all(t: &mut Token, comm: abi::Comm, words: &[u64], answer: &mut [u64]) -> Result<()> {
    let rank = t.lock().comm(comm)?.rank;
    if rank == 0 {
        swap_words(t, comm, 0, Swap::Groups, &mut words.to_vec(), answer)?;
    }
    with_local(t, comm, |t, local| share_words(t, local, 0, answer))?
}

/// A question of an agreement, reduced over both groups.
pub(super) fn answer_of_both(t: &mut Token, comm: abi::Comm, question: Question) -> Result<[u64; WORDS]> {
    let ours = with_local(t, comm, |t, local| answer(t, local, question))??;
    let ours = Question { words: ours, ..question };
    let mut theirs = [0; WORDS];
    swap_all(t, comm, &ours.words, &mut theirs)?;
    Ok(ours.with(&theirs).words)
}

/// Each group sends the other one its members of a new communicator.
pub(super) fn swap_groups(t: &mut Token, comm: abi::Comm, group: &Group) -> Result<Arc<Group>> {
    let mut count = [0];
    swap_all(t, comm, &[u64::from(group.size())], &mut count)?;
    let mut theirs = room_for(count[0])?;
    let ours = identities(&t.lock(), group.members());
    swap_all(t, comm, &ours, &mut theirs)?;
    let peers = acquaint::known(&t.lock(), &theirs).ok_or(STRANGE)?;
    let me = t.lock().me();
    Ok(Arc::new(Group::new(peers.into(), me)))
}

/// `MPI_Comm_split` of an inter-communicator: the parts of one colour on both sides face each other.
pub(super) fn split(t: &mut Token, comm: abi::Comm, color: i32, key: i32) -> Result<abi::Comm> {
    make(t, comm, 2, |t, id| part(t, comm, (color, key), id))
}

/// This process's part of a split, if it gets one.
fn part(t: &mut Token, comm: abi::Comm, (color, key): (i32, i32), id: u32) -> Result<abi::Comm> {
    let words = [color as u32 as u64, key as u32 as u64];
    let ours = with_local(t, comm, |t, local| gather_words(t, local, &words))??;
    let remote = t.lock().comm(comm)?.remote.clone();
    let remote = remote.ok_or(Error::new(abi::ERR_COMM, "the communicator is not an inter-communicator"))?;
    let mut theirs = vec![0; 2 * remote.size() as usize];
    swap_all(t, comm, &ours, &mut theirs)?;
    let state = t.lock();
    let old = state.comm(comm)?;
    let (me, errhandler) = (state.me(), old.errhandler);
    let group = Group::new(chosen(&ours, color, old.group.members()), me).of_session(old.session);
    let group = Arc::new(group);
    let remote = Arc::new(Group::new(chosen(&theirs, color, remote.members()), me));
    if color == abi::UNDEFINED || remote.size() == 0 {
        return Ok(abi::COMM_NULL);
    }
    let rank = group.rank.unwrap_or(0);
    let mut part = Comm::new(id, group, rank, errhandler);
    part.make_inter(remote);
    drop(state);
    open(t, part, Some(comm))
}

/// `MPI_Intercomm_merge`: the group that gives `high` comes second; on a tie the one whose first process has the
/// smaller rank goes first, of different jobs that of the job with the smaller number.
pub fn merge(t: &mut Token, comm: abi::Comm, high: i32, new: &mut abi::Comm) -> Result<()> {
    alike(t, comm, new, |t| union(t, comm, high))
}

/// As [`merge`], for the library itself.
pub(super) fn union(t: &mut Token, comm: abi::Comm, high: i32) -> Result<abi::Comm> {
    make(t, comm, 1, |t, id| merged(t, comm, high, id))
}

fn merged(t: &mut Token, comm: abi::Comm, high: i32, id: u32) -> Result<abi::Comm> {
    let mut theirs = [0];
    let ours = u64::from(high != 0);
    swap_all(t, comm, &[ours], &mut theirs)?;
    let state = t.lock();
    let old = state.comm(comm)?;
    let remote = old.remote.clone().ok_or(Error::new(abi::ERR_COMM, "not an inter-communicator"))?;
    let (mine, other) = (old.group.members(), remote.members());
    let first = match ours.cmp(&theirs[0]) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => {
            let mut firsts = [mine[0], other[0]];
            in_one_order(&state, &mut firsts);
            firsts[0] == mine[0]
        }
    };
    let peers: Vec<u32> = if first { [mine, other].concat() } else { [other, mine].concat() };
    let errhandler: Handler = old.errhandler;
    let group = Arc::new(Group::new(peers.into(), state.me()).of_session(old.session));
    let rank = group.rank.unwrap_or(0);
    drop(state);
    open(t, Comm::new(id, group, rank, errhandler), Some(comm))
}
