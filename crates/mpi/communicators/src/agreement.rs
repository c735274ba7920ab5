//! How the members of a new communicator agree on context ids that all of them have free.
//!
//! ```text
//!   Here?   ── all look at one position, and offer an id there ──────► done
//!     │ no
//!   Where?  ── largest position ──► Which?  ── ids that all offer ──► one: done
//!                                     ▲                              │ none
//!                                     └── another part of the ids ◄──┘
//! ```
//!
//! Each question is one reduction over the members, and the answer is the same on all of them; so all go the same way.
//! What a member offers is kept for this communicator until the answer is there ([`Offer`]): so an id that all offer is free,
//! and no vote need follow. Where several communicators are made at once, by threads or by `MPI_Comm_idup`, what is offered to one
//! is withheld from another. Therefore
//!
//! * each is offered a small part of the ids first, which follows from its [`Party`], so that those made at once rarely
//!   want the same ones;
//! * one that has failed a few times is offered all ids, and those that come after it none until it has its own;
//! * where ids are few, members keep some for it only when all members are in the call: so what is withheld is
//!   withheld for as long as answers are on their way, and not for as long as a program takes. Where there are millions, each
//!   communicator in the making may have a few at once, and then one question is mostly enough.
//!
//! Only when all ids were offered, and none was withheld anywhere, has a member no id left.

use abi::{Error, Op, Result};

use objects::comm::contexts::{Contexts, Offer};

/// Words of a question and of its answer.
pub const WORDS: usize = 5;
/// Words that are a mask of positions; the last word states that nothing was withheld.
const MASKS: usize = WORDS - 1;
/// Positions that one question is about.
const WINDOW: u64 = 64 * MASKS as u64;
/// Positions that a party is offered first.
const LANE: u64 = 8;
/// Ids from which on communicators in the making cannot use them up.
const MANY: u64 = 1 << 16;
/// How often a party meets others before it is offered everything.
const LANES_TRIED: u32 = 4;

/// A new communicator that agrees on ids: equal in all its members, and different for others made at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Party(u64);

impl Party {
    /// The party that `words` stand for: the context over which it agrees, and what distinguishes it there.
    pub fn of(words: &[u64]) -> Party {
        Party(words.iter().fold(0x9e37_79b9_7f4a_7c15, |mixed, &word| chance::mix(mixed ^ word)))
    }

    /// What stands for the party in words.
    pub fn word(self) -> u64 {
        self.0
    }
}

/// What the members are to reduce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// `MPI_MAX` or `MPI_BAND`.
    pub op: Op,
    /// This member's part.
    pub words: [u64; WORDS],
}

impl Question {
    /// Its own and another part, reduced.
    pub fn with(&self, other: &[u64; WORDS]) -> Question {
        let mut words = self.words;
        for (word, other) in words.iter_mut().zip(other) {
            *word = if self.op == abi::MAX { (*word).max(*other) } else { *word & *other };
        }
        Question { op: self.op, words }
    }
}

/// One member's way to the ids of a new communicator.
pub struct Agreement {
    party: Party,
    /// Consecutive ids that the communicator needs.
    count: u32,
    step: SearchStage,
    /// What is kept for the communicator, once it has asked.
    offer: Option<Offer>,
}

#[derive(Clone, Copy)]
enum SearchStage {
    /// Whether all look at one position, and have an id of a part of the window there.
    Here,
    /// Where to look is asked.
    Where,
    /// A part of the window from `base` on, the `attempt`th one, is asked for.
    Lane { base: u64, attempt: u32 },
    /// All positions from `base` on, window by window; `clean`: nothing was withheld in those before.
    All { base: u64, window: u64, clean: bool },
}

const NONE_LEFT: Error = Error::new(
    abi::ERR_OTHER,
    "all context ids are in use: free communicators, or let the library match (--mca pml ob1)",
);

impl Agreement {
    /// Of a communicator that needs `count` consecutive ids.
    pub fn new(party: Party, count: u32) -> Agreement {
        Agreement { party, count, step: SearchStage::Here, offer: None }
    }

    /// The next question.
    pub fn ask(&mut self, contexts: &Contexts) -> Question {
        let window = WINDOW.min(contexts.lap());
        // All members have as many ids, and so skip the first question alike.
        if contexts.lap() < MANY && matches!(self.step, SearchStage::Here) {
            self.step = SearchStage::Where;
        }
        match self.step {
            SearchStage::Here => {
                // All have one position if the bits that all have, and those that none has, are all of them.
                let (position, from) = (contexts.position(), self.lane(window, 0));
                let Question { op, words } = self.offer(contexts, position, from, from + LANE);
                let mask = words[from as usize / 64] >> (from % 64);
                Question { op, words: [mask, position, !position, 0, words[MASKS]] }
            }
            SearchStage::Where => {
                let mut words = [0; WORDS];
                words[0] = contexts.position();
                Question { op: abi::MAX, words }
            }
            SearchStage::Lane { base, attempt } => {
                let from = self.lane(window, attempt);
                self.offer(contexts, base, from, (from + LANE).min(window))
            }
            SearchStage::All { base, window: number, .. } => {
                self.offer(contexts, base.wrapping_add(number * window), 0, window)
            }
        }
    }

    /// Where in a window the party's `attempt`th lane begins.
    fn lane(&self, window: u64, attempt: u32) -> u64 {
        chance::mix(self.party.0 ^ u64::from(attempt)) % (window / LANE).max(1) * LANE
    }

    /// Offers what is free at the positions from `base + from` to `base + to`.
    fn offer(&mut self, contexts: &Contexts, base: u64, from: u64, to: u64) -> Question {
        let (mut words, mut ids) = ([0; WORDS], Vec::new());
        let makings = contexts.makings();
        let (mut withheld, behind) = (false, makings.comes_first(self.party.0));
        for place in from..to {
            let Some(id) = contexts.at(base.wrapping_add(place), self.count) else { continue };
            if !contexts.is_free(id, self.count) {
                continue;
            }
            if behind || makings.is_offered(id, self.count) {
                withheld = true;
                continue;
            }
            words[place as usize / 64] |= 1 << (place % 64);
            ids.extend(id..id + self.count);
        }
        drop(makings);
        self.offer.get_or_insert_with(|| contexts.offer()).add(&ids);
        words[MASKS] = if withheld { 0 } else { u64::MAX };
        Question { op: abi::BAND, words }
    }

    /// Takes the answer: the first id, if there is one that all offer.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER`, for all members alike: a process has none left.
    pub fn hear(&mut self, contexts: &mut Contexts, answer: &[u64; WORDS]) -> Result<Option<u32>> {
        if let Some(offer) = &mut self.offer {
            offer.withdraw();
        }
        let (base, clean) = match self.step {
            SearchStage::Here => {
                let [mask, position, none_has, ..] = *answer;
                let is_one = position ^ none_has == u64::MAX;
                if is_one && mask != 0 {
                    let place = self.lane(WINDOW, 0) + u64::from(mask.trailing_zeros());
                    return self.found(contexts, position, place).map(Some);
                }
                self.step = if is_one {
                    SearchStage::Lane { base: position, attempt: 1 }
                } else {
                    SearchStage::Where
                };
                return Ok(None);
            }
            SearchStage::Where => {
                self.step = SearchStage::Lane { base: answer[0], attempt: 0 };
                return Ok(None);
            }
            SearchStage::Lane { base, .. } | SearchStage::All { base, .. } => (base, answer[MASKS] != 0),
        };
        let first = answer[..MASKS].iter().position(|&word| word != 0);
        if let Some(word) = first {
            let place = 64 * word as u64 + u64::from(answer[word].trailing_zeros());
            return self.found(contexts, base, place).map(Some);
        }
        self.step = match self.step {
            SearchStage::Lane { attempt, .. } if !clean && attempt + 1 < LANES_TRIED => {
                SearchStage::Lane { base, attempt: attempt + 1 }
            }
            SearchStage::All { window, clean: before, .. } => {
                let (window, clean) = (window + 1, clean && before);
                match window * WINDOW < contexts.lap() {
                    true => SearchStage::All { base, window, clean },
                    false if clean => {
                        self.give_up();
                        return Err(NONE_LEFT);
                    }
                    false => SearchStage::All { base, window: 0, clean: true },
                }
            }
            _ => {
                self.offer.get_or_insert_with(|| contexts.offer()).claim(self.party.0);
                SearchStage::All { base, window: 0, clean: true }
            }
        };
        Ok(None)
    }

    /// Takes the ids at a place of the present window.
    fn found(&mut self, contexts: &mut Contexts, base: u64, place: u64) -> Result<u32> {
        let window = match self.step {
            SearchStage::All { window, .. } => window * WINDOW.min(contexts.lap()),
            _ => 0,
        };
        self.give_up();
        let position = base.wrapping_add(window).wrapping_add(place);
        // What a peer answers is not trusted.
        let id = contexts.at(position, self.count).filter(|&id| contexts.is_free(id, self.count));
        let id =
            id.ok_or(Error::new(abi::ERR_INTERN, "the members agreed on a context id that is in use"))?;
        contexts.take(id, self.count);
        contexts.go_on(base.wrapping_add(window + u64::from(self.count)));
        Ok(id)
    }

    /// Nothing is kept for the communicator any more: it has its ids, or the members cannot go on.
    pub fn give_up(&mut self) {
        self.offer = None;
        self.step = SearchStage::Where;
    }
}

#[cfg(test)]
mod tests {
    use super::{Agreement, Party, Question};
    use objects::comm::contexts::Contexts;

    /// The contexts of each process, and the order in which members ask.
    struct World {
        processes: Vec<Contexts>,
        random: chance::Rng,
    }

    struct Making {
        members: Vec<usize>,
        agreements: Vec<Agreement>,
        asked: Vec<Option<Question>>,
        questions: u32,
        got: Option<abi::Result<u32>>,
    }

    impl World {
        fn new(processes: usize, contexts: u32) -> World {
            let limited = |_| {
                let mut new = Contexts::new();
                new.limit(contexts);
                new
            };
            World { processes: (0..processes).map(limited).collect(), random: chance::Rng::new(7) }
        }

        fn below(&mut self, n: usize) -> usize {
            self.random.index(n)
        }

        fn making(&self, number: u64, count: u32, members: &[usize]) -> Making {
            let party = Party::of(&[1, number]);
            Making {
                members: members.to_vec(),
                agreements: members.iter().map(|_| Agreement::new(party, count)).collect(),
                asked: members.iter().map(|_| None).collect(),
                questions: 0,
                got: None,
            }
        }

        /// Members of all communicators ask in any order; the last one of a communicator to ask ends the question.
        fn run(&mut self, makings: &mut [Making]) {
            let mut steps = 0;
            while makings.iter().any(|making| making.got.is_none()) {
                steps += 1;
                assert!(steps < 1_000_000, "they ask for ever");
                let chosen = self.below(makings.len());
                let making = &mut makings[chosen];
                let member = self.below(making.members.len());
                self.ask(making, member);
                self.answer(making);
            }
        }

        /// A member asks, if it has not since the last answer.
        fn ask(&self, making: &mut Making, member: usize) {
            if making.got.is_none() && making.asked[member].is_none() {
                let contexts = &self.processes[making.members[member]];
                making.asked[member] = Some(making.agreements[member].ask(contexts));
            }
        }

        /// Once all members have asked, they hear the answer.
        fn answer(&mut self, making: &mut Making) {
            let Some(all) = making.asked.iter().copied().collect::<Option<Vec<Question>>>() else { return };
            let answer = all[1..].iter().fold(all[0], |sum, part| sum.with(&part.words)).words;
            making.questions += 1;
            making.asked.fill(None);
            let heard: Vec<_> = making
                .agreements
                .iter_mut()
                .zip(&making.members)
                .map(|(agreement, &process)| agreement.hear(&mut self.processes[process], &answer))
                .collect();
            assert!(heard.iter().all(|one| *one == heard[0]), "members hear the same");
            making.got = heard[0].transpose();
        }
    }

    #[test]
    fn one_communicator_takes_one_question_and_three_where_members_look_elsewhere() {
        let mut world = World::new(3, 1 << 28);
        let (mut together, mut questions) = (0, 0);
        for number in 0..300 {
            let alone = number % 7 == 6;
            let mut making =
                [world.making(number, 1 + number as u32 % 2, if alone { &[1] } else { &[0, 1, 2] })];
            let is_one = world.processes.iter().all(|one| one.position() == world.processes[0].position());
            world.run(&mut making);
            assert!(making[0].got.as_ref().is_some_and(Result::is_ok));
            // A part of the ids may be used up.
            assert!(making[0].questions <= if is_one || alone { 3 } else { 5 }, "number {number}");
            if is_one {
                (together, questions) = (together + 1, questions + making[0].questions);
            }
        }
        assert!(questions * 10 < together * 13, "{questions} questions for {together} communicators");
    }

    #[test]
    fn many_at_once_take_few_questions_and_get_different_ids() {
        let mut world = World::new(4, 1 << 28);
        let (mut questions, rounds) = (0, 50);
        for round in 0..rounds {
            let mut makings: Vec<Making> =
                (0..24).map(|number| world.making(round * 100 + number, 1, &[0, 1, 2, 3])).collect();
            world.run(&mut makings);
            let ids: std::collections::BTreeSet<u32> =
                makings.iter().filter_map(|making| making.got?.ok()).collect();
            assert_eq!(ids.len(), 24);
            questions += makings.iter().map(|making| making.questions).sum::<u32>();
        }
        assert!(
            questions < 24 * rounds as u32 * 5,
            "{questions} questions for {} communicators",
            24 * rounds
        );
    }

    #[test]
    fn what_is_scarce_is_found_and_told_when_it_is_gone() {
        for seed in 0..200 {
            let mut world = World::new(4, 32);
            world.random = chance::Rng::new(seed);
            // Of 13 ids each process has some for itself; 3 are free everywhere.
            for (process, contexts) in world.processes.iter_mut().enumerate() {
                (0..10)
                    .filter(|id| id % 4 == process as u32 || process == 0)
                    .for_each(|id| contexts.take(2 + id, 1));
            }
            let groups: [&[usize]; 6] = [&[0, 1, 2, 3], &[0, 1], &[1, 2, 0], &[3, 0], &[0, 2, 3], &[0, 3, 1]];
            let mut makings: Vec<Making> = groups
                .iter()
                .enumerate()
                .map(|(number, members)| world.making(number as u64, 1, members))
                .collect();
            world.run(&mut makings);
            let got = makings.iter().filter(|making| matches!(making.got, Some(Ok(_)))).count();
            assert_eq!(got, 3, "seed {seed}: process 0 has three ids");
            assert!(world.processes.iter().all(|contexts| contexts.kept_for_makings() == 0));
        }
    }

    /// Two communicators of the same two processes, which ask in opposite orders each time: each of them is offered all ids of one
    /// process and none of the other's, until the one that comes first has claimed them.
    #[test]
    fn of_two_that_take_ids_from_each_other_one_comes_first() {
        let mut world = World::new(2, 32);
        let mut makings = [world.making(1, 1, &[0, 1]), world.making(2, 1, &[0, 1])];
        let mut rounds = 0;
        while makings.iter().any(|making| making.got.is_none()) {
            rounds += 1;
            assert!(rounds < 100, "they take ids from each other for ever");
            for (making, member) in [(0, 0), (1, 1), (1, 0), (0, 1)] {
                world.ask(&mut makings[making], member);
            }
            makings.iter_mut().for_each(|making| world.answer(making));
        }
        let ids = makings.map(|making| making.got.unwrap().unwrap());
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn ids_of_a_narrow_layer_come_back_lap_after_lap() {
        let mut world = World::new(2, 512);
        let mut own: Vec<u32> = Vec::new();
        for round in 0..3000 {
            // Process 1 has communicators of its own, which change.
            if own.len() == 4 {
                let old = own.remove(world.below(4));
                world.processes[1].release(old, 1);
            }
            let mut alone = [world.making(2 * round, 1, &[1])];
            world.run(&mut alone);
            own.extend(alone[0].got.and_then(Result::ok));
            let mut both = [world.making(2 * round + 1, 1, &[0, 1])];
            world.run(&mut both);
            let id = both[0].got.and_then(Result::ok).unwrap();
            assert!(both[0].questions < 8);
            world.processes.iter_mut().for_each(|contexts| contexts.release(id, 1));
        }
    }

    /// A call that fails between question and answer drops its agreement.
    #[test]
    fn what_was_offered_to_a_communicator_that_is_given_up_is_free_again() {
        for contexts in [1 << 28, 32] {
            let mut world = World::new(1, contexts);
            let mut agreement = Agreement::new(Party::of(&[1]), 2);
            // The first answers mean that the members have no id in common, so that it claims all in the end.
            for _ in 0..8 {
                agreement.ask(&world.processes[0]);
                assert_eq!(agreement.hear(&mut world.processes[0], &[0; 5]), Ok(None));
            }
            agreement.ask(&world.processes[0]);
            assert!(world.processes[0].kept_for_makings() > 1);
            drop(agreement);
            assert_eq!(world.processes[0].kept_for_makings(), 0);
        }
    }

    #[test]
    fn answers_of_no_member_are_refused() {
        let mut contexts = Contexts::new();
        contexts.take(2, 400);
        let mut agreement = Agreement::new(Party::of(&[1]), 1);
        agreement.ask(&contexts);
        assert!(agreement.hear(&mut contexts, &[1, 5, !5, 0, 0]).is_err(), "an id in use");
        let mut agreement = Agreement::new(Party::of(&[1]), 1);
        agreement.ask(&contexts);
        assert_eq!(agreement.hear(&mut contexts, &[u64::MAX; 5]), Ok(None), "not one position");
        agreement.ask(&contexts);
        assert_eq!(agreement.hear(&mut contexts, &[0; 5]), Ok(None));
        agreement.ask(&contexts);
        assert!(agreement.hear(&mut contexts, &[1, 0, 0, 0, 0]).is_err());
        assert!(agreement.hear(&mut contexts, &[u64::MAX; 5]).is_ok());
        agreement.ask(&contexts);
        assert!(agreement.hear(&mut contexts, &[0; 5]).is_ok());
    }
}
