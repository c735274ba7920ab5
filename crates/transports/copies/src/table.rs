//! What a transport does about its copies and those of its peers, question by question.

use btl::{Event, Peer, Refusal, RemoteKey};
use mem::{PeerBytes, UserMem};

use crate::exposed::Exposed;
use crate::question::{Question, of_payload, to_payload};
use crate::{Copies, Copy, Difference, Verdict};

/// The copies of a process and the memory that it has exposed.
#[derive(Debug, Default)]
pub struct Table {
    exposed: Exposed,
    /// Those of this process.
    pub copies: Copies,
    equal: u64,
}

/// A frame about a copy, for a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Letter {
    /// Who gets it.
    pub peer: Peer,
    /// The words of its header.
    pub header: Vec<u64>,
    /// Its payload.
    pub payload: Vec<u8>,
}

impl Letter {
    fn new(peer: Peer, question: Question, sums: &[u32]) -> Letter {
        Letter { peer, header: question.header(), payload: to_payload(sums) }
    }
}

/// What is to be done next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing.
    Nothing,
    /// This frame is to leave.
    Tell(Letter),
    /// A copy is over.
    Over(Event),
    /// The copy of this name differs. It is as it was when it began.
    Differs(u32, Difference),
}

impl Table {
    /// As [`Exposed::add`].
    pub fn expose(&mut self, peer: Peer, key: RemoteKey, runs: Vec<UserMem>, is_sealed: bool) {
        self.exposed.add(peer, key, runs, is_sealed);
    }

    /// Ends that. Whether the transport still exposes the memory.
    pub fn conceal(&mut self, peer: Peer, key: &RemoteKey) -> bool {
        self.exposed.remove(peer, key)
    }

    /// Copies that were compared and were equal.
    pub fn equal(&self) -> u64 {
        self.equal
    }

    /// A copy begins by `begin`, which is given its name.
    ///
    /// # Errors
    /// What `begin` answers; [`Refusal::Busy`] where too many are under way.
    pub fn begin(
        &mut self,
        copy: Copy,
        begin: impl FnOnce(&Copy, u64) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let name = self.copies.begin(copy).ok_or(Refusal::Busy)?;
        let begun = self.copies.get(name).map_or(Ok(()), |copy| begin(copy, u64::from(name)));
        if begun.is_err() {
            self.copies.end(name);
        }
        begun
    }

    /// The transport has moved the bytes of a copy: its owner is asked.
    pub fn moved(&mut self, name: u32) -> Step {
        let ask = self.copies.moved(name);
        ask.map_or(Step::Nothing, |ask| Step::Tell(Letter::new(ask.peer, Question::Ask(ask), &[])))
    }

    /// A copy has failed, or counts as that.
    pub fn failed(&mut self, name: u32) -> Step {
        self.copies.end(name).map_or(Step::Nothing, |copy| Step::Over(Event::Failed(copy.cookie)))
    }

    /// The memory that a question is about, where its peer puts into it.
    pub fn stored(&self, question: &Question) -> Option<UserMem> {
        match question {
            Question::Ask(ask) => self.exposed.stored(ask),
            Question::Answer { .. } => None,
        }
    }

    /// A question or an answer of `peer` has come. Memory that is sealed by it is concealed by `conceal`.
    pub fn take(
        &mut self,
        peer: Peer,
        question: Question,
        payload: PeerBytes<'_>,
        conceal: impl FnOnce(RemoteKey),
    ) -> Step {
        let name = match question {
            Question::Ask(ask) => {
                let sums = self.exposed.answer(&ask, || conceal(ask.key));
                return Step::Tell(Letter::new(peer, Question::Answer { name: ask.name }, &sums));
            }
            Question::Answer { name } => name,
        };
        match self.copies.answered(peer, name, &of_payload(payload)) {
            Verdict::Stray => Step::Nothing,
            Verdict::Next(ask) => Step::Tell(Letter::new(peer, Question::Ask(ask), &[])),
            Verdict::Equal(cookie) => {
                self.equal += 1;
                Step::Over(Event::Done(cookie))
            }
            Verdict::Gone(cookie) => Step::Over(Event::Failed(cookie)),
            Verdict::Differs(found) => Step::Differs(name, found),
        }
    }
}
