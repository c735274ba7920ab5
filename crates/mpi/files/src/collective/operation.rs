//! A collective access that progress advances: nonblocking and split calls.

use std::sync::{Arc, Mutex, PoisonError};

use abi::{Address, Result};
use engine::{Advance, Afterlife, Operation, Work};
use pml::Done;

use super::part::{Part, WORDS};
use crate::access::{Moved, Transfer, convert, note_failure};
use crate::exchange::{Exchange, forget_views};
use crate::{FILES, elsewhere, of_member};
use collectives::Running;
use objects::comm::Held;
use objects::handle::RequestKey;
use objects::memory::exposed;
use objects::state::State;

/// A collective access that progress advances.
pub struct Collective {
    file: abi::File,
    part: Part,
    step: Stage,
    /// What this process announces, and behind it what all announce.
    words: Box<[u64]>,
    /// What the others are asked at the moment.
    running: Option<Box<Running>>,
    /// Two-phase access.
    exchange: Option<Box<Exchange>>,
    /// An access by this process alone.
    alone: Alone,
    /// The first error of this process.
    mine: Result<()>,
    ended: Option<Result<()>>,
    number: u32,
    /// Moving bytes has got on.
    moves: bool,
    /// The program has been asked to convert what was read.
    waits: bool,
    #[expect(dead_code, reason = "keeps the communicator until the operation is over")]
    held: Held,
}

/// What another thread moves, since it may block.
#[derive(Default)]
struct Alone {
    started: bool,
    moved: Arc<Mutex<Option<Moved>>>,
}

impl Alone {
    /// Has the bytes of an access moved, or takes them back; whether anything happened.
    fn go_on(&mut self, transfer: &mut Transfer) -> bool {
        let place = |place: &Mutex<Option<_>>| place.lock().unwrap_or_else(PoisonError::into_inner).take();
        if std::mem::replace(&mut self.started, true) {
            let moved = place(&self.moved);
            let happened = moved.is_some();
            moved.into_iter().for_each(|moved| transfer.come_back(moved));
            return happened;
        }
        let results = self.moved.clone();
        let (lane, moving) = (transfer.lane(), transfer.take_moving());
        let started = engine::run_blocking(
            lane,
            |blocking| moving.run(blocking),
            move |_: &mut State, moved| {
                *results.lock().unwrap_or_else(PoisonError::into_inner) = Some(moved);
            },
        );
        if let Err(error) = started {
            transfer.end_with(Err(error));
        }
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Gather,
    Place,
    Move,
    Agree,
}

/// Tags of what an operation asks all processes: above those of ordinary collectives.
const TAGS: u32 = 3 << 29;

pub(super) fn start(state: &mut State, fh: abi::File, part: Part) -> Result<abi::Request> {
    let comm = part.comm;
    let size = state.comm(comm)?.size() as usize;
    let held = state.hold(comm)?;
    let file = FILES.get_mut(&mut state.tables).get_mut(fh)?;
    file.collectives.number = file.collectives.number.wrapping_add(1);
    let number = file.collectives.number;
    let operation = Collective {
        file: fh,
        part,
        step: Stage::Gather,
        words: vec![0; WORDS * (size + 1)].into(),
        running: None,
        exchange: None,
        alone: Alone::default(),
        mine: Ok(()),
        ended: None,
        number,
        moves: true,
        waits: false,
        held,
    };
    let key = state.requests.add(operation)?;
    let queue = &mut FILES.get_mut(&mut state.tables).get_mut(fh)?.collectives.queue;
    queue.push_back(key);
    if queue.len() == 1 {
        state.requests.register(key);
        engine::advance_all(state);
    }
    Ok(RequestKey::Operation(key).handle())
}

impl Collective {
    /// This process's part, if its arguments were right.
    pub fn transfer(&mut self) -> Option<&mut Transfer> {
        self.part.transfer.as_mut().ok()
    }

    /// Takes steps until something has to be waited for; whether any was taken.
    fn go_on(&mut self, state: &mut State, key: u32) -> Result<bool> {
        let mut moved = false;
        while self.ended.is_none() {
            if !self.take_step(state, key)? {
                return Ok(moved);
            }
            moved = true;
            if self.step == Stage::Move {
                return Ok(!self.waits && self.moves);
            }
        }
        Ok(true)
    }

    fn take_step(&mut self, state: &mut State, key: u32) -> Result<bool> {
        if self.step == Stage::Move {
            self.move_some(state, key);
            return Ok(true);
        }
        if self.running.is_none() {
            self.ask(state)?;
        }
        let Some(running) = &mut self.running else { return Ok(false) };
        running.step(state);
        if !running.is_complete() {
            return Ok(false);
        }
        running.result()?;
        self.running = None;
        self.take_answer(state);
        Ok(true)
    }

    /// Asks all processes what the present step needs.
    fn ask(&mut self, state: &mut State) -> Result<()> {
        let comm = self.part.comm;
        if self.step == Stage::Gather {
            let words = self.part.words();
            self.words[..WORDS].copy_from_slice(&words);
        } else {
            self.words[0] = match self.step {
                Stage::Place => {
                    let (word, moved) = self.part.move_pointer(state, self.file, &self.words[WORDS..]);
                    self.mine = self.mine.and(moved);
                    word
                }
                _ => self.mine.err().map_or(0, |error| error.class as u64),
            };
        }
        let own = exposed(&mut self.words);
        let mut running = match self.step {
            Stage::Gather => Running::gathering(state, comm, own, WORDS as i64, Address(own.0 + 8 * WORDS))?,
            _ => Running::of_words(state, comm, own, 1, abi::MAX)?,
        };
        let asked = 4 * self.number + self.step as u32;
        running.begin_apart((TAGS | asked & ((1 << 29) - 1)) as i32)?;
        self.running = Some(running);
        Ok(())
    }

    /// Goes on with the answer.
    fn take_answer(&mut self, state: &mut State) {
        self.step = match self.step {
            Stage::Gather => {
                self.mine = self.part.hear(&self.words[WORDS..]);
                match (self.mine, self.part.ordered) {
                    // All ranks know of the error already.
                    (Err(error), _) => {
                        self.ended = Some(Err(error));
                        Stage::Agree
                    }
                    (Ok(()), true) => Stage::Place,
                    (Ok(()), false) => {
                        self.exchange = self.part.exchange(state, self.file, &self.words[WORDS..]);
                        Stage::Move
                    }
                }
            }
            Stage::Place => {
                let heard = self.words[1];
                let placed = self.part.take_place(heard, &self.words[WORDS..]);
                self.mine = self.mine.and(placed);
                if self.mine.is_ok() { Stage::Move } else { Stage::Agree }
            }
            Stage::Move | Stage::Agree => {
                let agreed = if self.words[1] == 0 { Ok(()) } else { Err(elsewhere(self.words[1])) };
                if agreed.is_err() {
                    forget_views(state, self.file);
                }
                self.ended = Some(self.mine.and(agreed));
                Stage::Agree
            }
        };
    }

    fn move_some(&mut self, state: &mut State, key: u32) {
        if let Ok(transfer) = &mut self.part.transfer {
            if self.waits {
                // The program converts what was read.
            } else if let Some(exchange) = &mut self.exchange {
                self.moves = exchange.advance(state, transfer);
                if let Some(job) = exchange.take_job() {
                    job.start_apart();
                }
            } else {
                self.moves = self.alone.go_on(transfer);
            }
            if transfer.is_due() && !std::mem::replace(&mut self.waits, true) {
                convert(state, key);
            }
            if !transfer.has_ended() {
                return;
            }
            self.mine = transfer.result();
        }
        self.step = Stage::Agree;
    }

    /// The next collective access of the file begins.
    fn hand_on(&self, state: &mut State) {
        let Ok(file) = FILES.get_mut(&mut state.tables).get_mut(self.file) else { return };
        file.collectives.queue.pop_front();
        if let Some(&next) = file.collectives.queue.front() {
            state.requests.register(next);
        }
    }
}

impl Operation<State> for Collective {
    fn work(&self) -> Option<Work> {
        Some(Work::File)
    }

    fn is_over(&mut self, _state: &mut State) -> bool {
        self.ended.is_some()
    }

    fn outcome(&self) -> Done {
        let result = self.ended.unwrap_or(Ok(())).map_err(of_member);
        let error = result.map_or_else(|error| error.class, |()| abi::SUCCESS);
        Done { status: self.part.status(), error, owner: self.file.0 as u32 }
    }

    fn advance(&mut self, state: &mut State, key: u32) -> Advance {
        let moved = self.go_on(state, key).unwrap_or_else(|error| {
            self.ended = Some(Err(error));
            true
        });
        if let Some(result) = self.ended {
            note_failure(state, self.file, result);
            self.hand_on(state);
            return Advance::Finished;
        }
        if moved { Advance::Moved } else { Advance::Idle }
    }

    /// It is in the registry, or will be when its turn comes.
    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        if self.ended.is_some() { Afterlife::Gone } else { Afterlife::UntilOver { register: false } }
    }
}
