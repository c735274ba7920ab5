//! Gathers to rank 0, one rank on each node: by the schedule that the library chooses, or by puts with a notice.

use super::one_sided::Meeting;
use super::{is_painted, paint, until_next_second};
use crate::cluster::{Program, Step};
use crate::endpoint::{CONTEXT, Endpoint};
use crate::port::{Group, Places, RankPort};
use crate::replay::Prepared;
use crate::windows::{Access, DataDirection, Interface, Remote};
use abi::Result;
use coll::Execution;
use gni::Time;
use mem::{PeerBytes, UserMem};
use pml::ReqId;

/// Calls before time is taken: an even number, after which all slots are free.
const WARM_UP: u32 = 2;
/// Places for the data of a gather by puts, of which each round uses the next.
const SLOTS: usize = 4;

/// How the calls follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calls {
    /// All ranks begin each call at the same moment, with nothing under way.
    Apart,
    /// All ranks begin the first call at the same moment, and each next one when their part in the last is over.
    BackToBack,
}

/// One rank of repeated gathers of `bytes` from each.
pub struct Gather {
    is_root: bool,
    ranks: u32,
    bytes: usize,
    by: By,
    calls: Calls,
    rounds: u32,
    done: u32,
    stage: Stage,
    begun: Time,
    spent: Time,
    intact: bool,
}

enum By {
    Schedule { prepared: Prepared, execution: Box<Execution<ReqId>> },
    Puts { open: Vec<ReqId>, remote: Option<Remote>, access: Option<Access>, owed: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Connect,
    Connecting,
    Before,
    Begin,
    /// Of a put: its beginning, its end, its notice. At the root: until all data is there.
    Under,
    Ending,
    Telling,
}

const TAG: i32 = 78;

impl Gather {
    /// A rank's part in `rounds` gathers over `ranks`; `prepared`: by a schedule.
    pub(crate) fn new(
        (rank, ranks): (u32, u32),
        bytes: usize,
        prepared: Option<Prepared>,
        calls: Calls,
        rounds: u32,
    ) -> Result<Gather> {
        let by = match prepared {
            Some(prepared) => {
                let mut execution = Box::new(Execution::new());
                // How much scratch memory is needed is known then.
                execution.start(&prepared.schedule, &prepared.shape, std::iter::empty(), 0, false)?;
                By::Schedule { prepared, execution }
            }
            None => By::Puts { open: Vec::new(), remote: None, access: None, owed: 0 },
        };
        let stage = if matches!(by, By::Puts { .. }) { Stage::Connect } else { Stage::Before };
        let (begun, spent) = (Time::START, Time::START);
        let rounds = rounds + WARM_UP;
        Ok(Gather {
            is_root: rank == 0,
            ranks,
            bytes,
            by,
            calls,
            rounds,
            done: 0,
            stage,
            begun,
            spent,
            intact: true,
        })
    }

    /// Nanoseconds of a call; meaningful on rank 0.
    pub fn each(&self) -> f64 {
        self.spent.0 as f64 / f64::from(self.rounds - WARM_UP)
    }

    /// Whether rank 0 has all data.
    pub fn is_intact(&self) -> bool {
        self.intact
    }

    fn stride(&self) -> usize {
        self.bytes.next_multiple_of(Meeting::BYTES)
    }

    fn leaving(&self, end: &Endpoint) -> UserMem {
        end.memory().part(Meeting::BYTES, self.bytes)
    }

    /// Where the data of all ranks lies at the root.
    fn place(&self, slot: usize) -> usize {
        Meeting::BYTES + self.stride() + slot * self.ranks as usize * self.bytes
    }

    /// The place for the data of the present round.
    fn slot(&self) -> usize {
        match self.by {
            By::Schedule { .. } => 0,
            By::Puts { .. } => self.done as usize % SLOTS,
        }
    }

    fn has_all(&self, end: &Endpoint) -> bool {
        let all = end.memory().part(self.place(self.slot()), self.ranks as usize * self.bytes);
        (0..self.ranks).all(|rank| is_painted(all.part(rank as usize * self.bytes, self.bytes), rank))
    }

    /// Begins a call by a schedule, or goes on with it; whether it is over.
    fn goes_on(&mut self, end: &mut Endpoint, begins: bool) -> Result<bool> {
        let (send, recv) = (self.leaving(end), self.place(0));
        let whole = self.ranks as usize * self.bytes;
        let By::Schedule { prepared, execution } = &mut self.by else { return Ok(false) };
        if begins {
            execution.start(&prepared.schedule, &prepared.shape, std::iter::empty(), 0, false)?;
        }
        let memory = end.memory();
        let places = Places {
            send,
            recv: if end.rank() == 0 { memory.part(recv, whole) } else { UserMem::EMPTY },
            arena: memory.part(memory.len() - execution.arena_bytes(), execution.arena_bytes()),
            element: prepared.shape.recv.size as usize,
        };
        let group = Group::Listed(&prepared.group);
        let tag = self.done as i32;
        RankPort { rank: end, places, context: CONTEXT, tag, group }.advance(execution)
    }

    /// The root sends all ranks the place of its memory; `true`: that is over here.
    fn connects(&mut self, end: &mut Endpoint) -> Result<bool> {
        let (me, ranks, begins) = (end.rank(), self.ranks, self.stage == Stage::Connect);
        let said = end.memory().part(0, Remote::BYTES);
        let By::Puts { open, remote, .. } = &mut self.by else { return Ok(true) };
        if begins && me == 0 {
            said.write(PeerBytes::of(&end.expose(1)?));
            for rank in 1..ranks {
                open.extend(end.isend(rank, TAG, said)?);
            }
        } else if begins {
            open.push(end.irecv(0, TAG, said)?);
        }
        open.retain(|&id| !end.take(id));
        let knows = open.is_empty();
        if knows && me != 0 {
            *remote = Some(end.remote(0, said));
        }
        Ok(knows)
    }

    /// A rank puts its block and sends the notice; whether it has.
    fn puts(&mut self, end: &mut Endpoint) -> Result<bool> {
        let (local, slot) = (self.leaving(end), self.place(self.slot()));
        let place = slot + end.rank() as usize * self.bytes;
        let By::Puts { remote: Some(remote), access, .. } = &mut self.by else { return Ok(false) };
        loop {
            match (self.stage, &mut *access) {
                (Stage::Begin, _) => {
                    let rounds = u64::from(self.done);
                    if rounds >= SLOTS as u64 && end.notices() < (rounds - SLOTS as u64 + 2) / 2 {
                        return Ok(false);
                    }
                    *access = Some(end.access((Interface::Light, DataDirection::Put), *remote, local, place));
                    self.stage = Stage::Under;
                }
                (Stage::Under, Some(access)) => {
                    if !end.begin(access)? {
                        return Ok(false);
                    }
                    self.stage = Stage::Ending;
                }
                (Stage::Ending, _) if !end.is_flushed(remote)? => return Ok(false),
                (Stage::Ending, _) => self.stage = Stage::Telling,
                _ => return end.notify(0),
            }
        }
    }

    /// The root waits for all blocks, and gives two slots back after every second call; whether it has.
    fn takes(&mut self, end: &mut Endpoint) -> Result<bool> {
        let (own, bytes) = (self.leaving(end), self.bytes);
        let others = u64::from(self.ranks - 1);
        if self.stage == Stage::Begin {
            own.copy_to(end.memory().part(self.place(self.slot()), bytes));
            end.copies(bytes);
            self.stage = Stage::Under;
        }
        if self.stage == Stage::Under {
            if end.notices() < u64::from(self.done + 1) * others {
                return Ok(false);
            }
            self.stage = Stage::Telling;
        }
        let By::Puts { owed, .. } = &mut self.by else { return Ok(false) };
        while self.done % 2 == 1 && *owed < self.ranks - 1 {
            if !end.notify(*owed + 1)? {
                return Ok(false);
            }
            *owed += 1;
        }
        *owed = 0;
        Ok(true)
    }
}

impl Program for Gather {
    fn memory(&self) -> usize {
        let slots = match &self.by {
            _ if !self.is_root => 0,
            By::Schedule { .. } => 1,
            By::Puts { .. } => SLOTS,
        };
        let root = slots * self.ranks as usize * self.bytes;
        let scratch = match &self.by {
            By::Schedule { execution, .. } => execution.arena_bytes(),
            By::Puts { .. } => 0,
        };
        Meeting::BYTES + self.stride() + root + scratch
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        let is_root = self.is_root;
        loop {
            match self.stage {
                Stage::Connect | Stage::Connecting => {
                    let knows = self.connects(end)?;
                    self.stage = Stage::Connecting;
                    if !knows {
                        return Ok(Step::Waiting);
                    }
                    self.stage = Stage::Before;
                }
                Stage::Before => {
                    if self.done == 0 {
                        paint(self.leaving(end), end.rank());
                    }
                    if self.done == self.rounds {
                        return Ok(Step::Done);
                    }
                    self.stage = Stage::Begin;
                    let together = match self.calls {
                        Calls::Apart => true,
                        Calls::BackToBack => self.done == WARM_UP,
                    };
                    if together {
                        self.begun = Time::START;
                        end.compute(until_next_second(end.now()));
                        return Ok(Step::Computing);
                    }
                }
                _ => {
                    let begins = self.stage == Stage::Begin;
                    if begins && self.begun == Time::START {
                        self.begun = end.now();
                    }
                    let over = match (&self.by, is_root) {
                        (By::Schedule { .. }, _) => {
                            self.stage = Stage::Under;
                            self.goes_on(end, begins)?
                        }
                        (By::Puts { .. }, true) => self.takes(end)?,
                        (By::Puts { .. }, false) => self.puts(end)?,
                    };
                    if !over {
                        return Ok(Step::Waiting);
                    }
                    if self.done >= WARM_UP {
                        self.spent = self.spent + (end.now() - self.begun);
                    }
                    self.begun = end.now();
                    if is_root && self.done + 1 == self.rounds {
                        self.intact = self.has_all(end);
                    }
                    self.done += 1;
                    self.stage = Stage::Before;
                }
            }
        }
    }
}
