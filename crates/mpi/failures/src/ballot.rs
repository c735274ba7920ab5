//! What processes agree on, and the bytes of the messages by which they do.

use communicators::agreement::{Question, WORDS};
use consensus::{Body, Decision, Message, Value};

/// One process's part, or that of several, combined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ballot {
    /// Bits that all processes of a group must have set: of the first group, and of the second one.
    pub flags: [u32; 2],
    /// The members whose failure all have acknowledged, ascending; `None`: nothing was said of that.
    pub acknowledged: Option<Vec<u32>>,
    /// What a communicator in the making asks.
    pub question: Option<Question>,
    /// The first call of the communicator that is not over on one of them.
    pub first_open: u32,
}

impl Ballot {
    /// One that changes nothing.
    pub fn new() -> Ballot {
        Ballot { flags: [u32::MAX; 2], acknowledged: None, question: None, first_open: u32::MAX }
    }
}

impl Value for Ballot {
    fn combine(&mut self, other: &Ballot) {
        self.flags[0] &= other.flags[0];
        self.flags[1] &= other.flags[1];
        self.first_open = self.first_open.min(other.first_open);
        if let (Some(own), Some(other)) = (&mut self.acknowledged, &other.acknowledged) {
            own.retain(|place| other.binary_search(place).is_ok());
        }
        if let (Some(own), Some(other)) = (&mut self.question, &other.question) {
            *own = own.with(&other.words);
        }
    }
}

const REPORT: u32 = 0;
const DECISION: u32 = 1;
/// In the place of a list that is not there.
const NONE: u32 = u32::MAX;

/// Most bytes of a message between so many processes.
pub fn longest(members: usize) -> usize {
    let (lists, others) = (3, 16 + 2 * WORDS);
    4 * (lists * members + others)
}

/// The bytes of a message.
pub fn encode(message: &Message<Ballot>) -> Vec<u8> {
    let mut words = Vec::new();
    let list = |words: &mut Vec<u32>, list: &[u32]| {
        words.push(list.len() as u32);
        words.extend(list);
    };
    list(&mut words, &message.dead);
    let ballot = match &message.body {
        Body::Report(ballot) => {
            words.push(REPORT);
            ballot
        }
        Body::Decision(decision) => {
            words.push(DECISION);
            list(&mut words, &decision.dead);
            &decision.value
        }
    };
    words.extend(ballot.flags);
    words.push(ballot.first_open);
    match &ballot.acknowledged {
        Some(places) => list(&mut words, places),
        None => words.push(NONE),
    }
    if let Some(question) = &ballot.question {
        words.push(u32::from(question.op == abi::MAX));
        words.extend(question.words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]));
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// What the bytes of a message mean; `None`: no honest process sends them.
pub fn decode(bytes: &[u8]) -> Option<Message<Ballot>> {
    let words: Vec<u32> =
        bytes.chunks_exact(4).filter_map(|four| Some(u32::from_le_bytes(four.try_into().ok()?))).collect();
    let mut rest = &words[..];
    let dead = list(&mut rest)??;
    let kind = next(&mut rest)?;
    let agreed_dead = if kind == DECISION { list(&mut rest)?? } else { Vec::new() };
    let flags = [next(&mut rest)?, next(&mut rest)?];
    let first_open = next(&mut rest)?;
    let acknowledged = list(&mut rest)?;
    let question = match rest.split_first() {
        None => None,
        Some((&largest, rest)) => {
            let words: Vec<u64> =
                rest.chunks_exact(2).map(|two| u64::from(two[0]) | u64::from(two[1]) << 32).collect();
            let words: [u64; WORDS] = words.try_into().ok()?;
            Some(Question { op: if largest == 1 { abi::MAX } else { abi::BAND }, words })
        }
    };
    let ballot = Ballot { flags, acknowledged, question, first_open };
    let body = match kind {
        REPORT => Body::Report(ballot),
        DECISION => Body::Decision(Decision { value: ballot, dead: agreed_dead }),
        _ => return None,
    };
    Some(Message { dead, body })
}

fn next(rest: &mut &[u32]) -> Option<u32> {
    let (&first, behind) = rest.split_first()?;
    *rest = behind;
    Some(first)
}

/// A list with its length before it, ascending; inside `None` where there is none.
fn list(rest: &mut &[u32]) -> Option<Option<Vec<u32>>> {
    let count = next(rest)?;
    if count == NONE {
        return Some(None);
    }
    let (list, behind) = rest.split_at_checked(count as usize)?;
    *rest = behind;
    list.is_sorted().then(|| Some(list.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<Message<Ballot>> {
        let question = Question { op: abi::BAND, words: [1, u64::MAX, 3 << 40, 4, 5] };
        let full =
            Ballot { flags: [7, 9], acknowledged: Some(vec![1, 4]), question: Some(question), first_open: 3 };
        let decision = Decision { value: full.clone(), dead: vec![0, 5] };
        vec![
            Message { dead: vec![], body: Body::Report(Ballot::new()) },
            Message { dead: vec![1, 2, 3], body: Body::Report(full) },
            Message { dead: vec![5], body: Body::Decision(decision) },
        ]
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for message in messages() {
            assert_eq!(decode(&encode(&message)), Some(message));
        }
    }

    #[test]
    fn a_message_that_is_cut_or_has_wrong_lengths_is_none() {
        for message in messages() {
            let bytes = encode(&message);
            // Cut behind the acknowledged, the question is missing, and that is a message.
            for end in 0..bytes.len() {
                let _ = decode(&bytes[..end]);
            }
            let mut wrong = bytes.clone();
            wrong[0] = 0xff;
            wrong[1] = 0xff;
            assert_eq!(decode(&wrong), None);
        }
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[1, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0]), None);
    }

    #[test]
    fn ballots_are_combined_whatever_the_order() {
        let ballot = |flags, acknowledged: &[u32], first_open| Ballot {
            flags,
            acknowledged: Some(acknowledged.to_vec()),
            question: None,
            first_open,
        };
        let (one, two) = (ballot([0b110, 1], &[1, 2, 5], 8), ballot([0b011, 3], &[2, 5, 6], 7));
        let (mut left, mut right) = (one.clone(), two.clone());
        left.combine(&two);
        right.combine(&one);
        assert_eq!(left, right);
        assert_eq!(left, ballot([0b010, 1], &[2, 5], 7));
    }
}
