//! What a process has asked of ranks that messages or the network reach, and what has become of it.
//!
//! ```text
//!   begin ─► a token, which messages and accesses of the network carry
//!   an answer, the end of an access, the loss of the rank ─► the record of the operation, and the tally of its rank
//!   a request, the wait for a lock ◄── the record         a flush ◄── the tally of a rank, or of all
//! ```
//! Both are written in one place, so that a request and a flush never report different things of one operation. A
//! record is made where a caller reads it: the operation fetches, has a request, or is a lock. Whatever else was asked
//! counts in the tally alone.
//!
//! Ranks are not trusted. An answer counts only for the rank that gave it: it settles nothing that another one was asked
//! for, and no more answers count than were asked for. So neither table grows by what others send.

use abi::{Error, Result};
use mem::Slab;

use crate::side::Side;

/// Bits of a token: the place of a record, and how often that was used.
const INDEX: u32 = 24;
const GENERATION: u32 = 8;

/// The token of what has no record.
pub const NO_TOKEN: u64 = 0;

/// The operations of one process with one window.
#[derive(Debug, Default)]
pub struct Operations {
    /// Answers that are still to come, by rank, and in all.
    due: Box<[u32]>,
    all_due: u64,
    /// The first failure of each rank that no flush has reported yet.
    failures: Vec<(u32, Error)>,
    records: Slab<Record, INDEX, GENERATION>,
    lost: Vec<u32>,
}

/// What is to come for an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// Answers by messages.
    pub answers: u64,
    /// Ends of accesses of the network.
    pub ends: u64,
}

impl Parts {
    /// So many answers, and no ends.
    pub const fn answers(answers: u64) -> Parts {
        Parts { answers, ends: 0 }
    }

    /// So many ends, and no answers.
    pub const fn ends(ends: u64) -> Parts {
        Parts { answers: 0, ends }
    }

    fn is_empty(self) -> bool {
        self == Parts::default()
    }
}

/// An operation that a caller reads the result of, or that fetches.
#[derive(Debug)]
struct Record {
    rank: u32,
    kind: Kind,
    left: Parts,
    result: Result<()>,
    /// Its result is to be taken.
    claimed: bool,
}

#[derive(Debug)]
enum Kind {
    /// Fetched data goes there, if any is fetched.
    Access(Option<Side>),
    Lock,
}

const TOO_MANY: Error = Error::new(abi::ERR_NO_MEM, "2^24 operations are under way");

impl Operations {
    /// None, of a process of a window of so many ranks.
    pub fn new(ranks: usize) -> Operations {
        Operations { due: vec![0; ranks].into(), ..Operations::default() }
    }

    /// A request was sent to `rank`, which answers at once: a flush waits for that.
    #[inline]
    pub fn asked(&mut self, rank: u32) {
        if let Some(due) = self.due.get_mut(rank as usize) {
            *due += 1;
            self.all_due += 1;
        }
    }

    /// An operation on `rank` begins, of which `parts` are to come; `claimed`: [`Operations::take`] gives its result,
    /// which is to be called until it does. The token of it.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`.
    pub fn begin(&mut self, rank: u32, side: Option<Side>, parts: Parts, claimed: bool) -> Result<u64> {
        self.add(Record { rank, kind: Kind::Access(side), left: parts, result: Ok(()), claimed })
    }

    /// As [`Operations::begin`], of a lock, which is decided on in one answer some time.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`.
    pub fn begin_lock(&mut self, rank: u32) -> Result<u64> {
        self.add(Record { rank, kind: Kind::Lock, left: Parts::answers(1), result: Ok(()), claimed: true })
    }

    fn add(&mut self, record: Record) -> Result<u64> {
        self.records.insert(record).map(|key| u64::from(key) + 1).map_err(|_| TOO_MANY)
    }

    fn record(&mut self, rank: u32, token: u64) -> Option<&mut Record> {
        self.records.get_mut(key(token)?).filter(|record| record.rank == rank)
    }

    /// Of an operation, `answers` messages are to come in place of so many `ends`.
    pub fn redirect(&mut self, rank: u32, token: u64, ends: u64, answers: u64) {
        self.settle(rank, token, |record| {
            record.left.ends = record.left.ends.saturating_sub(ends);
            record.left.answers += answers;
        });
    }

    /// The call that began an operation has failed, so no call waits for it. What was sent of it counts for a flush.
    pub fn abandon(&mut self, token: u64) {
        if let Some(key) = key(token) {
            self.records.discard(key);
        }
    }

    /// `rank` has answered a request; whether it had one to answer.
    #[inline]
    pub fn answered(&mut self, rank: u32) -> bool {
        let Some(due) = self.due.get_mut(rank as usize).filter(|due| **due > 0) else { return false };
        *due -= 1;
        self.all_due -= 1;
        true
    }

    /// `rank` has answered with data, which is for byte `position` of what the operation fetches.
    pub fn fetched(&mut self, rank: u32, token: u64, position: u64, data: &[u8]) {
        if !self.answered(rank) {
            return;
        }
        self.settle(rank, token, |record| {
            if record.left.answers > 0
                && let Kind::Access(Some(side)) = &mut record.kind
            {
                side.write(position, data);
                record.left.answers -= 1;
            }
        });
    }

    /// `rank` has answered that it could not do what it was asked for, which was an access or a lock.
    pub fn refused(&mut self, rank: u32, token: u64, error: Error, of_lock: Error) {
        if matches!(self.record(rank, token), Some(Record { kind: Kind::Lock, .. })) {
            return self.decided(rank, token, Err(of_lock));
        }
        if !self.answered(rank) {
            return;
        }
        self.fail(rank, error);
        self.settle(rank, token, |record| {
            if record.left.answers > 0 {
                record.left.answers -= 1;
                record.result = record.result.and(Err(error));
            }
        });
    }

    /// `rank` has decided on a lock.
    pub fn decided(&mut self, rank: u32, token: u64, result: Result<()>) {
        self.settle(rank, token, |record| {
            if let (Kind::Lock, 1) = (&record.kind, record.left.answers) {
                (record.left, record.result) = (Parts::default(), result);
            }
        });
    }

    /// An access of the network for an operation on `rank` is over.
    #[inline]
    pub fn ended(&mut self, rank: u32, token: u64, result: Result<()>) {
        if let Err(error) = result {
            self.fail(rank, error);
        }
        self.settle(rank, token, |record| {
            record.left.ends = record.left.ends.saturating_sub(1);
            record.result = record.result.and(result);
        });
    }

    /// Something that was asked of `rank` has failed: the next flush reports it.
    pub fn fail(&mut self, rank: u32, error: Error) {
        if !self.failures.iter().any(|&(of, _)| of == rank) {
            self.failures.push((rank, error));
        }
    }

    /// No more messages come from `rank`; the network still ends its accesses.
    pub fn lose(&mut self, rank: u32, error: Error) {
        if !self.is_lost(rank) {
            self.lost.push(rank);
        }
        let due = self.due.get_mut(rank as usize).map_or(0, std::mem::take);
        self.all_due -= u64::from(due);
        if due > 0 {
            self.fail(rank, error);
        }
        let mut over = Vec::new();
        for (key, record) in self.records.iter_mut().filter(|(_, record)| record.rank == rank) {
            // What is over has its result.
            if !record.left.is_empty() {
                record.left.answers = 0;
                record.result = record.result.and(Err(error));
            }
            if record.left.is_empty() && !record.claimed {
                over.push(key);
            }
        }
        over.into_iter().for_each(|key| self.records.discard(key));
    }

    /// Whether messages from `rank` come no more.
    pub fn is_lost(&self, rank: u32) -> bool {
        self.lost.contains(&rank)
    }

    /// Changes a record, which is removed when all is over that no call takes.
    #[inline]
    fn settle(&mut self, rank: u32, token: u64, change: impl FnOnce(&mut Record)) {
        let Some(record) = self.record(rank, token) else { return };
        change(record);
        if record.left.is_empty() && !record.claimed {
            self.abandon(token);
        }
    }

    /// Whether answers are to come from `rank`, or from any.
    #[inline]
    pub fn are_due(&self, rank: Option<u32>) -> bool {
        match rank {
            Some(rank) => self.due.get(rank as usize).is_some_and(|&due| due > 0),
            None => self.all_due > 0,
        }
    }

    /// What has become of the operations on `rank`, or on all, since this was asked last.
    ///
    /// # Errors
    /// That of the first one that has failed.
    #[inline]
    pub fn take_failure(&mut self, rank: Option<u32>) -> Result<()> {
        if self.failures.is_empty() {
            return Ok(());
        }
        let failure = self.failures.iter().find(|&&(of, _)| rank.is_none_or(|rank| rank == of)).copied();
        self.failures.retain(|&(of, _)| rank.is_some_and(|rank| rank != of));
        failure.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The rank that an operation is on, if it is not over.
    pub fn target(&self, token: u64) -> Option<u32> {
        self.records.get(key(token)?).map(|record| record.rank)
    }

    /// What has become of a claimed operation, once; `None`: it is not over.
    pub fn take(&mut self, token: u64) -> Option<Result<()>> {
        let record = key(token).and_then(|key| self.records.get(key));
        let Some(Record { left, result, .. }) = record else { return Some(Ok(())) };
        let result = left.is_empty().then_some(*result)?;
        self.abandon(token);
        Some(result)
    }
}

/// The key of a token's record.
#[inline]
fn key(token: u64) -> Option<u32> {
    u32::try_from(token.checked_sub(1)?).ok()
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use mem::UserMem;

    const WRONG: Error = Error::new(abi::ERR_RMA_RANGE, "wrong");
    const LOST: Error = Error::new(abi::ERR_PROC_ABORTED, "lost");

    fn side(bytes: &mut [u8]) -> Option<Side> {
        // SAFETY: the callers keep the bytes until their operations are over.
        Some(Side::Run(unsafe { UserMem::new(bytes.as_mut_ptr().expose_provenance(), bytes.len()) }))
    }

    /// An operation that fetches by so many answers, which were asked for.
    fn get(all: &mut Operations, rank: u32, bytes: &mut [u8], answers: u64, claimed: bool) -> u64 {
        let token = all.begin(rank, side(bytes), Parts::answers(answers), claimed).unwrap();
        (0..answers).for_each(|_| all.asked(rank));
        token
    }

    #[test]
    fn request_and_flush_tell_the_same_of_an_operation_and_nothing_of_others() {
        let (mut all, mut here, mut there) = (Operations::new(3), [0; 4], [0; 2]);
        let good = get(&mut all, 1, &mut here, 2, true);
        let bad = get(&mut all, 2, &mut there, 1, true);
        assert!(all.are_due(Some(1)) && all.are_due(Some(2)) && !all.are_due(Some(0)));
        all.fetched(1, good, 2, &[3, 4]);
        assert_eq!((all.take(good), all.target(good)), (None, Some(1)));
        all.fetched(1, good, 0, &[1, 2]);
        all.refused(2, bad, WRONG, WRONG);
        assert!(!all.are_due(None));
        assert_eq!((here, all.take(good), all.take(bad)), ([1, 2, 3, 4], Some(Ok(())), Some(Err(WRONG))));
        assert_eq!(all.target(good), None);
        assert_eq!(all.take_failure(Some(1)), Ok(()), "the failure is another rank's");
        assert_eq!(all.take_failure(Some(2)), Err(WRONG));
        assert_eq!(all.take_failure(None), Ok(()), "it is reported once");
    }

    #[test]
    fn a_flush_of_all_tells_of_the_first_failure_and_takes_all() {
        let mut all = Operations::new(3);
        [2, 1].into_iter().for_each(|rank| all.asked(rank));
        all.refused(2, NO_TOKEN, WRONG, WRONG);
        all.lose(1, LOST);
        assert_eq!(all.take_failure(None), Err(WRONG));
        assert_eq!(all.take_failure(None), Ok(()));
    }

    #[test]
    fn a_loss_ends_all_that_the_rank_was_asked_for_by_messages() {
        let (mut all, mut bytes, mut other) = (Operations::new(2), [0; 2], [0; 2]);
        let token = get(&mut all, 1, &mut bytes, 2, true);
        let unclaimed = get(&mut all, 1, &mut other, 2, false);
        let lock = all.begin_lock(1).unwrap();
        let put = all.begin(1, None, Parts::ends(1), true).unwrap();
        all.fetched(1, token, 0, &[7]);
        all.lose(1, LOST);
        assert!(all.is_lost(1) && !all.is_lost(0) && !all.are_due(None));
        assert_eq!((all.take(token), all.take(lock)), (Some(Err(LOST)), Some(Err(LOST))));
        assert_eq!(all.take(put), None, "the network may still read its memory");
        all.ended(1, put, Ok(()));
        assert_eq!(all.take(put), Some(Err(LOST)));
        all.fetched(1, unclaimed, 0, &[9]);
        assert_eq!((other, all.records.len()), ([0, 0], 0));
        assert_eq!(all.take_failure(Some(1)), Err(LOST));
    }

    #[test]
    fn what_was_over_before_a_loss_succeeded() {
        let (mut all, mut bytes) = (Operations::new(2), [0; 1]);
        let token = get(&mut all, 1, &mut bytes, 1, true);
        all.fetched(1, token, 0, &[7]);
        all.lose(1, LOST);
        assert_eq!((all.take(token), all.take_failure(None)), (Some(Ok(())), Ok(())));
    }

    #[test]
    fn messages_take_the_place_of_the_network() {
        let (mut all, mut bytes) = (Operations::new(2), [0; 4]);
        let token = all.begin(1, side(&mut bytes), Parts::ends(2), true).unwrap();
        all.redirect(1, token, 1, 2);
        (0..2).for_each(|_| all.asked(1));
        all.ended(1, token, Ok(()));
        all.fetched(1, token, 0, &[1]);
        assert_eq!(all.take(token), None);
        all.fetched(1, token, 1, &[2]);
        assert_eq!(all.take(token), Some(Ok(())));
        all.ended(1, NO_TOKEN, Err(WRONG));
        assert_eq!(all.take_failure(Some(1)), Err(WRONG));
    }

    #[test]
    fn unasked_answers_change_nothing() {
        let (mut all, mut bytes) = (Operations::new(3), [0; 2]);
        for token in 0..1000 {
            all.fetched(2, token, 0, &[9; 64]);
            all.refused(2, token, WRONG, WRONG);
            all.decided(2, token, Ok(()));
        }
        assert_eq!((all.records.len(), all.take_failure(None), all.are_due(None)), (0, Ok(()), false));

        let token = get(&mut all, 1, &mut bytes, 1, true);
        let lock = all.begin_lock(1).unwrap();
        // Another rank, though it was asked for something itself.
        (0..4).for_each(|_| all.asked(2));
        all.fetched(2, token, 0, &[9; 2]);
        all.refused(2, token, WRONG, WRONG);
        all.decided(2, lock, Ok(()));
        all.refused(2, lock, WRONG, WRONG);
        // The same rank, as for something else.
        all.decided(1, token, Ok(()));
        all.fetched(1, lock, 0, &[9; 2]);
        assert_eq!((bytes, all.take(token), all.take(lock)), ([0; 2], None, None));
        assert_eq!(all.take_failure(Some(1)), Ok(()));

        all.asked(1);
        all.fetched(1, token, u64::MAX, &[1; 64]);
        assert_eq!((bytes, all.take(token)), ([0; 2], Some(Ok(()))), "nothing lies there");
        // Once more than it was asked for, while the operation waits for the call that takes it.
        let token = get(&mut all, 1, &mut bytes, 1, true);
        all.asked(1);
        all.fetched(1, token, 0, &[1, 2]);
        all.fetched(1, token, 0, &[3, 4]);
        assert_eq!((bytes, all.take(token)), ([1, 2], Some(Ok(()))), "the memory is the program's again");
        all.decided(1, lock, Err(LOST));
        all.decided(1, lock, Ok(()));
        assert_eq!(all.take(lock), Some(Err(LOST)), "the first answer counts");
    }

    /// Every order of answers, ends and losses: as many as were asked for count, and no record is left.
    #[test]
    fn nothing_is_left_behind() {
        let mut random = chance::Rng::new(7);
        let mut draw = |below: u64| random.below(below);
        for _ in 0..200 {
            let mut all = Operations::new(4);
            let mut memory = vec![[0u8; 8]; 40];
            let mut claimed = Vec::new();
            let mut tokens = Vec::new();
            for bytes in &mut memory {
                let (rank, claims, answers) = (draw(4) as u32, draw(2) == 0, 1 + draw(3));
                if all.is_lost(rank) {
                    continue;
                }
                let token = get(&mut all, rank, bytes, answers, claims);
                tokens.push((rank, token));
                if claims {
                    claimed.push(token);
                }
                for _ in 0..draw(6) {
                    let (rank, token) = tokens[draw(tokens.len() as u64) as usize];
                    match draw(20) {
                        0 => all.lose(rank, LOST),
                        1..4 => all.refused(rank, token, WRONG, WRONG),
                        _ => all.fetched(rank, token, draw(9), &[1; 8]),
                    }
                }
            }
            (0..4).for_each(|rank| all.lose(rank, LOST));
            assert!(!all.are_due(None));
            assert!(claimed.iter().all(|&token| all.take(token).is_some()));
            assert_eq!(all.records.len(), 0);
        }
    }
}
