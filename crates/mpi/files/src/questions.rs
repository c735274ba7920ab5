//! What processes of a file ask each other by active messages, which the library answers whenever it is called, or by its
//! thread: the shared pointer, where one process keeps it for other hosts, and what is staged.
//!
//! ```text
//!   asks ──kind, question, words──► on_message: does what is asked ──answer: question, words, bytes──► wakes the one that asks
//! ```

use std::collections::BTreeMap;

use abi::{Error, Result};
use btl::{Class, Peer};
use engine::{Handler, Head, Message};
use mem::PeerBytes;

use super::{FILES, shared, staged};
use objects::domain::Token;
use objects::state::State;
use objects::wait::{wait_actively, wait_for};

/// Kinds of messages: what is asked.
pub(super) const MOVE: u8 = 0;
pub(super) const DRAIN: u8 = 1;
pub(super) const COUNTS: u8 = 2;
pub(super) const PEEK: u8 = 3;
/// An answer, and that there is none.
const ANSWER: u8 = 4;
const NONE: u8 = 5;

/// What this process has asked others, by a number of the question.
pub struct Questions {
    last: u64,
    asked: BTreeMap<u64, Asked>,
}

impl Questions {
    pub const fn new() -> Questions {
        Questions { last: 0, asked: BTreeMap::new() }
    }
}

struct Asked {
    peer: Peer,
    /// `None` inside: the other process does not know what it was asked for.
    answer: Option<Result<Option<Answer>>>,
}

/// What another process has answered.
#[derive(Clone, Default)]
pub(super) struct Answer {
    pub words: [u64; 2],
    pub bytes: Vec<u8>,
}

/// Asks a process; `None` if it does not know what it is asked for.
///
/// # Errors
/// `MPI_ERR_PROC_ABORTED`: it is lost.
pub(super) fn ask(t: &mut Token, peer: Peer, kind: u8, [a, b, c]: [u64; 3]) -> Result<Option<Answer>> {
    let question = {
        let mut state = t.lock();
        let questions = &mut FILES.get_mut(&mut state.tables).questions;
        questions.last += 1;
        questions.asked.insert(questions.last, Asked { peer, answer: None });
        questions.last
    };
    let words = [question, a, b, c];
    let head = Head { class: Class::Io, kind, words: &words };
    let asked = wait_actively(t, |state| match state.p2p.request(peer, head, &mut PeerBytes::of(&[])) {
        Ok(()) => Some(Ok(())),
        Err(engine::Refused::Busy) => None,
        Err(engine::Refused::Lost) => Some(Err(LOST)),
    });
    let answer = asked.and_then(|()| {
        wait_for(t, |state| match FILES.get_mut(&mut state.tables).questions.asked.get_mut(&question) {
            Some(asked) => asked.answer.take(),
            None => Some(Err(LOST)),
        })
    });
    FILES.get_mut(&mut t.lock().tables).questions.asked.remove(&question);
    answer
}

const LOST: Error = Error::new(abi::ERR_PROC_ABORTED, "a process that has the file open is lost");

/// Where an answer goes.
#[derive(Clone, Copy)]
pub(super) struct Asker {
    peer: Peer,
    question: u64,
}

impl Asker {
    /// The process that asks.
    pub fn peer(self) -> Peer {
        self.peer
    }
}

/// Answers a question; `None`: there is nothing of the kind here.
pub(super) fn answer(state: &mut State, asker: Asker, answer: Option<Answer>) {
    let kind = if answer.is_some() { ANSWER } else { NONE };
    let Answer { words: [a, b], bytes } = answer.unwrap_or_default();
    let words = [asker.question, a, b];
    let head = Head { class: Class::Io, kind, words: &words };
    state.p2p.answer(asker.peer, head, &mut PeerBytes::of(&bytes));
}

/// The handler of files' frames.
pub struct Serve;

impl Handler<State> for Serve {
    const CLASS: Class = Class::Io;

    fn on_message(state: &mut State, message: &Message<'_>) {
        match (message.is_answer, message.words()) {
            (false, &[question, a, b, c]) => {
                let asker = Asker { peer: message.from, question };
                match message.kind {
                    MOVE => shared::serve(state, asker, a, b),
                    DRAIN => staged::serve_drain(state, asker, a),
                    COUNTS => staged::serve_counts(state, asker, a),
                    PEEK => staged::serve_peek(state, asker, a, b, c),
                    _ => {}
                }
            }
            (true, &[question, a, b]) => {
                let answer = Answer { words: [a, b], bytes: message.payload.to_vec() };
                if let Some(asked) = FILES.get_mut(&mut state.tables).questions.asked.get_mut(&question)
                    && asked.peer == message.from
                {
                    asked.answer = Some(Ok((message.kind == ANSWER).then_some(answer)));
                    state.threads.changed();
                }
            }
            _ => {}
        }
    }

    fn on_lost(state: &mut State, peer: Peer) {
        let asked = FILES.get_mut(&mut state.tables).questions.asked.values_mut();
        asked.filter(|asked| asked.peer == peer).for_each(|asked| asked.answer = Some(Err(LOST)));
        state.threads.changed();
    }
}
