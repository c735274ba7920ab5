//! All ranks of a job, and the order in which they run.

use crate::error::Error;
use crate::machine::Machine;
use crate::rank::Rank;
use crate::system::{Software, System};
use portals::lasting;
use portals_soft::NicConfig;
use portals_timed::{Kernel, Picos, TimedNic, World};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a virtual rank does. A program never blocks: it is asked again when something has happened.
pub trait Program {
    /// Bytes of memory it needs.
    fn memory(&self) -> usize;

    /// Goes on as far as possible.
    ///
    /// # Errors
    /// Whatever the message layer reports.
    fn step(&mut self, rank: &mut Rank) -> abi::Result<Step>;
}

/// Answer of [`Program::step`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// It waits for a message.
    Waiting,
    /// It has done something and goes on when its clock is the earliest.
    Going,
    /// It computes for so many nanoseconds, and longer by what interrupts take meanwhile.
    Computing(f64),
    /// It is over; the rank goes on answering others.
    Done,
}

struct Slot<P> {
    rank: Rank,
    program: P,
    done: bool,
    /// Until when it computes.
    computes: Option<Picos>,
    /// The pause before the next poll of its own accord.
    pause: Picos,
}

/// What a rank wants after a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// News.
    News,
    /// To go on at a moment.
    At(Picos),
}

/// First and longest pause before a poll of a rank's own accord, in picoseconds.
const PAUSES: (Picos, Picos) = (2_000_000, 200_000_000);

/// Virtual ranks on one machine.
pub struct Cluster<P> {
    world: World,
    slots: Vec<Slot<P>>,
    queue: BinaryHeap<Reverse<(Picos, u32)>>,
    unfinished: usize,
    /// By node: the rank there.
    ranks: std::collections::HashMap<u32, u32>,
}

impl<P: Program> Cluster<P> {
    /// A job of as many ranks as there are `nodes`, rank i on `nodes[i]`, with the programs that `make` gives them.
    ///
    /// # Errors
    /// What setting a rank up reports.
    pub fn new(
        machine: &Machine,
        nodes: &[u32],
        (system, software): (System, Software),
        mut make: impl FnMut(u32) -> P,
    ) -> Result<Cluster<P>, Error> {
        let of_machine = machine.mesh.nodes();
        if nodes.len() as u32 > of_machine {
            return Err(Error::TooSmall { ranks: nodes.len() as u32, nodes: of_machine });
        }
        let world = World::new(machine.mesh, machine.costs, Kernel::Catamount);
        let ids: Vec<_> = nodes.iter().map(|&node| World::id(node)).collect();
        let fabrics: Vec<_> = nodes.iter().map(|&node| world.attach(node)).collect();
        let mut slots = Vec::with_capacity(nodes.len());
        for (me, fabric) in (0..).zip(fabrics) {
            let program = make(me);
            let nic = TimedNic::new(fabric, NicConfig::default());
            let mpi = system.make(nic, &ids, me).map_err(Error::Setup)?;
            let own = lasting(program.memory());
            let rank = Rank::new(mpi, world.clone(), (ids[me as usize], me), own, (system, software));
            slots.push(Slot { rank, program, done: false, computes: None, pause: PAUSES.0 });
        }
        // Setting up takes no time: all begin at the moment when the last one is ready.
        let begin = slots.iter().map(|slot| slot.rank.now()).max().unwrap_or(0);
        slots.iter().for_each(|slot| world.idle_until(slot.rank.id, begin));
        Ok(Cluster {
            world,
            unfinished: slots.len(),
            queue: (0..slots.len() as u32).map(|rank| Reverse((begin, rank))).collect(),
            ranks: nodes.iter().copied().zip(0..).collect(),
            slots,
        })
    }

    /// A rank with its program, for its results.
    pub fn rank(&mut self, rank: u32) -> (&mut Rank, &P) {
        let slot = &mut self.slots[rank as usize];
        (&mut slot.rank, &slot.program)
    }

    /// The programs of all ranks.
    pub fn programs(&self) -> impl Iterator<Item = &P> {
        self.slots.iter().map(|slot| &slot.program)
    }

    /// Runs until every rank's program is over.
    ///
    /// # Errors
    /// [`Error::Mpi`], [`Error::Stuck`].
    pub fn run(&mut self) -> Result<(), Error> {
        let mut wakes = Vec::new();
        while self.unfinished > 0 {
            let Some(Reverse((at, rank))) = self.queue.pop() else {
                let first = self.slots.iter().position(|slot| !slot.done).unwrap_or(0) as u32;
                return Err(Error::Stuck { unfinished: self.unfinished, first });
            };
            let slot = &mut self.slots[rank as usize];
            let now = slot.rank.now();
            if now > at {
                // It looks when it has time, and others whose moment comes before that go first.
                self.queue.push(Reverse((now, rank)));
                continue;
            }
            self.world.idle_until(slot.rank.id, at);
            let was_done = slot.done;
            if let Next::At(moment) = slot.turn().map_err(|error| Error::Mpi { rank, error })? {
                self.queue.push(Reverse((moment, rank)));
            }
            self.unfinished -= usize::from(slot.done && !was_done);
            self.world.take_wakes(&mut wakes);
            for (node, at) in wakes.drain(..) {
                if let Some(&rank) = self.ranks.get(&node.0) {
                    self.queue.push(Reverse((at, rank)));
                }
            }
        }
        Ok(())
    }
}

impl<P: Program> Slot<P> {
    /// Makes progress and goes on with the program until nothing happens.
    fn turn(&mut self) -> abi::Result<Next> {
        if let Some(until) = self.computes {
            let before = self.rank.now();
            if before < until {
                self.rank.mpi.interrupt();
                let until = until + (self.rank.now() - before);
                self.computes = Some(until);
                return Ok(Next::At(until));
            }
            self.computes = None;
        }
        let mut happened_at_all = false;
        loop {
            let happened = self.rank.mpi.progress();
            happened_at_all |= happened > 0;
            if !self.done {
                match self.program.step(&mut self.rank)? {
                    Step::Waiting => {}
                    Step::Going => return Ok(Next::At(self.rank.now())),
                    Step::Computing(nanoseconds) => {
                        let until = self.rank.now() + (nanoseconds * 1000.0) as Picos;
                        self.computes = Some(until);
                        return Ok(Next::At(until));
                    }
                    Step::Done => self.done = true,
                }
            }
            // What the program has begun may be over at once.
            if happened == 0 && self.rank.mpi.progress() == 0 {
                return Ok(self.poll_later(happened_at_all));
            }
        }
    }

    fn poll_later(&mut self, happened: bool) -> Next {
        if !self.rank.mpi.needs_polling() {
            return Next::News;
        }
        self.pause = if happened { PAUSES.0 } else { (2 * self.pause).min(PAUSES.1) };
        Next::At(self.rank.now() + self.pause)
    }
}
