//! Processes of different jobs become known to each other: each gets a number for each member of the other group.
//!
//! ```text
//!   group A                     leaders                       group B
//!     gather the cards ───────► swap the sides ◄───────────── gather the cards
//!     share B's side ◄─────────                    ─────────► share A's side
//!     meet B's members                                        meet A's members
//! ```
//! A card has a key of its process. From the keys of two processes both make the secret by which they know each other at their
//! ports (`btl_tcp`). A process that is known already keeps its number and its way.

use std::sync::Arc;

use abi::{Error, Result};
use engine::Process;

use collectives::{gather_words, largest, share_words};
use objects::domain::Token;
use objects::group::Group;
use objects::state::State;

/// A process, and how others reach it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Which process it is.
    pub process: Process,
    /// Its card; see [`engine::P2p::listen`].
    pub card: String,
}

/// One of two groups that meet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// Its processes, in rank order.
    pub members: Vec<Member>,
}

/// Most processes of a group of another job.
pub(crate) const MOST: usize = 1 << 24;
/// Longest text that describes a member, in bytes.
const LONGEST: usize = 2048;

impl Side {
    /// As text, a line for each member.
    pub fn encode(&self) -> String {
        self.members.iter().map(|member| member.encode() + "\n").collect()
    }

    /// What [`Side::encode`] has written.
    pub fn parse(text: &str) -> Option<Side> {
        let members = text.lines().map(Member::parse).collect::<Option<Vec<Member>>>()?;
        (!members.is_empty() && members.len() <= MOST).then_some(Side { members })
    }
}

impl Member {
    fn encode(&self) -> String {
        let Member { process: Process { job, rank }, card } = self;
        format!("{job:016x} {rank} {card}")
    }

    fn parse(line: &str) -> Option<Member> {
        let (job, rest) = line.split_once(' ')?;
        let (rank, card) = rest.split_once(' ')?;
        let process = Process { job: u64::from_str_radix(job, 16).ok()?, rank: rank.parse().ok()? };
        (line.len() <= LONGEST).then(|| Member { process, card: card.to_owned() })
    }
}

/// Text as words, whose first one is its length.
pub fn words_of(text: &str) -> Vec<u64> {
    let bytes = text.as_bytes();
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    std::iter::once(bytes.len() as u64).chain(bytes.chunks(8).map(word)).collect()
}

/// What [`words_of`] made, and perhaps more words behind it.
pub fn text_of(words: &[u64]) -> Option<String> {
    let (&length, words) = words.split_first()?;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(usize::try_from(length).ok().filter(|&length| length <= bytes.len())?);
    String::from_utf8(bytes).ok()
}

/// Gives all of an intra-communicator the root's text.
///
/// # Errors
/// The communicator's.
pub fn share_text(t: &mut Token, comm: abi::Comm, root: u32, text: &mut String) -> Result<()> {
    let mut words = words_of(text);
    let mut count = [words.len() as u64];
    share_words(t, comm, root, &mut count)?;
    words.resize(count[0] as usize, 0);
    share_words(t, comm, root, &mut words)?;
    *text = text_of(&words).ok_or(GARBLED)?;
    Ok(())
}

const GARBLED: Error = Error::new(abi::ERR_INTERN, "a rank has shared what is no text");

/// What the processes of an intra-communicator are for those of another job: all of them, on all of them.
///
/// # Errors
/// For all alike: a process cannot be reached by others; or the communicator's.
pub fn side(t: &mut Token, comm: abi::Comm) -> Result<Side> {
    let (process, card) = own(t);
    let (card, why) = match card {
        Ok(card) => (card, None),
        Err(lines) => (String::new(), Some(lines)),
    };
    let mut words = words_of(&Member { process, card }.encode());
    let length = largest(t, comm, words.len() as u64)?;
    words.resize(length as usize, 0);
    let all = gather_words(t, comm, &words)?;
    let members = all.chunks(length as usize).map(|words| Member::parse(&text_of(words)?));
    let members = members.collect::<Option<Vec<Member>>>().ok_or(GARBLED)?;
    if let Some(rank) = members.iter().position(|member| member.card.is_empty()) {
        let error = Error::new(abi::ERR_OTHER, "a process cannot be reached by those of other jobs");
        return Err(error
            .described(|| why.unwrap_or_else(|| format!("rank {rank} has no card; see what it reports"))));
    }
    Ok(Side { members })
}

/// This process, and its card or the lines that say why it has none.
fn own(t: &mut Token) -> (Process, std::result::Result<String, String>) {
    let mut state = t.lock();
    let State { p2p, params, world, .. } = &mut *state;
    let (job, rank) = world.as_ref().map_or((0, 0), |world| (world.job.job_id, world.job.rank));
    (Process { job, rank }, p2p.listen(job, &params.values).map_err(|lines| lines.0))
}

/// An encounter of two groups, as one of them sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encounter {
    /// A random number, the same for both groups.
    pub id: u64,
    /// The group comes first, where an order of the two is wanted.
    pub is_first: bool,
}

impl Encounter {
    /// A new one, in which the group of this process comes first.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new() -> Result<Encounter> {
        let failed = |_| Error::new(abi::ERR_OTHER, "the system gives no random number");
        Ok(Encounter { id: platform::random::number().map_err(failed)?, is_first: true })
    }
}

/// Makes the members of the other side known to this process: the group that they are. The process holds them
/// ([`engine::P2p::hold`]), until the caller releases them.
///
/// # Errors
/// A member cannot be reached.
pub fn meet(t: &mut Token, other: &Side) -> Result<Arc<Group>> {
    let mut state = t.lock();
    let mut peers = Vec::with_capacity(other.members.len());
    for member in &other.members {
        let State { p2p, groups, .. } = &mut *state;
        // A group of the program may still name a process that has ended.
        let met = p2p.meet(member.process, &member.card, |peer| !groups.contain(peer.0));
        let Ok((peer, is_new)) = met else {
            p2p.release(&peers);
            let error = Error::new(abi::ERR_OTHER, "a process of another job cannot be reached");
            return Err(
                error.described(|| "its card makes no sense, or this process does not listen".to_owned())
            );
        };
        if is_new {
            state.forget_losses_of(peer);
        }
        state.p2p.hold(&[peer.0]);
        peers.push(peer.0);
    }
    state.announce_met(&peers);
    let me = state.me();
    Ok(Arc::new(Group::new(peers.into(), me)))
}

/// Which processes peers are, as words.
pub(crate) fn identities(state: &State, peers: &[u32]) -> Vec<u64> {
    let table = state.p2p.peers();
    let process = |&peer: &u32| table.process(btl::Peer(peer)).unwrap_or(Process { job: 0, rank: peer });
    peers.iter().map(process).flat_map(|Process { job, rank }| [job, u64::from(rank)]).collect()
}

/// The peers that the words of [`identities`] name; `None`: one is not known here.
pub(crate) fn known(state: &State, words: &[u64]) -> Option<Vec<u32>> {
    let table = state.p2p.peers();
    let find = |words: &[u64]| table.find(Process { job: words[0], rank: u32::try_from(words[1]).ok()? });
    words.chunks_exact(2).map(|words| find(words).map(|peer| peer.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_read_as_they_were_written() {
        let member =
            |rank| Member { process: Process { job: 7 << 60, rank }, card: format!("47{rank} ::1 10.0.0.1") };
        let side = Side { members: (0..3).map(member).collect() };
        assert_eq!(Side::parse(&side.encode()), Some(side));
        for text in ["", "\n", "7 1\n", "x 1 card\n", "7 -1 card\n"] {
            assert_eq!(Side::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn text_survives_words() {
        for text in ["", "a", "12345678", "123456789"] {
            let mut words = words_of(text);
            words.push(7);
            assert_eq!(text_of(&words).as_deref(), Some(text));
        }
        for words in [&[][..], &[1], &[9, 0], &[u64::MAX, 0]] {
            assert_eq!(text_of(words), None);
        }
    }
}
