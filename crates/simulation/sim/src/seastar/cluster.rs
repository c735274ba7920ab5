//! All ranks of a job, and the order in which they run.

use crate::error::Error;
use crate::seastar::machine::Machine;
use crate::seastar::rank::Rank;
use crate::seastar::system::{Software, System};
use portals::{ProcessId, lasting};
use portals_soft::NicConfig;
use portals_timed::{Kernel, Network, Picos, TimedNic};
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
    /// When it goes on of its own accord.
    own: Option<Picos>,
    /// When something new arrives for it.
    news: BinaryHeap<Reverse<Picos>>,
    /// The moment of its only valid entry in the queue of all ranks.
    queued: Option<Picos>,
}

/// What a rank wants after a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Next {
    /// To go on at a moment; otherwise it waits for news.
    at: Option<Picos>,
    /// Whether it has polled all news there are until now.
    has_polled: bool,
}

/// First and longest pause before a poll of a rank's own accord, in picoseconds.
const PAUSES: (Picos, Picos) = (2_000_000, 200_000_000);

/// Virtual ranks on one machine.
pub struct Cluster<P> {
    world: Network,
    slots: Vec<Slot<P>>,
    /// One valid entry for each rank that has a moment, and some that are no longer valid.
    queue: BinaryHeap<Reverse<(Picos, u32)>>,
    unfinished: usize,
    /// By process: its rank.
    ranks: std::collections::HashMap<ProcessId, u32>,
}

impl<P: Program> Cluster<P> {
    /// A job of as many ranks as there are `nodes`, rank i on `nodes[i]` as its next process, with the programs that `make` gives them.
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
            return Err(Error::TooSmall { needed: nodes.len() as u64, nodes: of_machine });
        }
        let world = Network::new(machine.mesh, machine.costs, Kernel::Catamount);
        let mut processes = std::collections::HashMap::new();
        let mut next = |node| {
            let process = processes.entry(node).or_insert(0);
            *process += 1;
            Network::id(node, *process - 1)
        };
        let ids: Vec<_> = nodes.iter().map(|&node| next(node)).collect();
        let fabrics: Vec<_> = ids.iter().map(|&id| world.attach(id)).collect();
        let mut slots = Vec::with_capacity(nodes.len());
        for (me, fabric) in (0..).zip(fabrics) {
            let program = make(me);
            let nic = TimedNic::new(fabric, NicConfig::default());
            let mpi = system.make(nic, &ids, me).map_err(Error::Portals)?;
            let own = lasting(program.memory());
            let rank = Rank::new(mpi, world.clone(), (ids[me as usize], me), own, (system, software));
            let (own, news, queued) = (None, BinaryHeap::new(), None);
            slots.push(Slot {
                rank,
                program,
                done: false,
                computes: None,
                pause: PAUSES.0,
                own,
                news,
                queued,
            });
        }
        // Setting up takes no time: all begin at the moment when the last one is ready.
        let begin = slots.iter().map(|slot| slot.rank.now()).max().unwrap_or(0);
        slots.iter_mut().for_each(|slot| {
            world.idle_until(slot.rank.id, begin);
            slot.own = Some(begin);
        });
        let all = 0..slots.len() as u32;
        let mut cluster = Cluster {
            world,
            unfinished: slots.len(),
            queue: BinaryHeap::new(),
            ranks: ids.iter().copied().zip(0..).collect(),
            slots,
        };
        all.for_each(|rank| cluster.schedule(rank));
        Ok(cluster)
    }

    /// Puts a rank into the queue for the first of its moments, or for its clock's if that is past: it polls when it has
    /// time, and others whose moment comes before that go first.
    fn schedule(&mut self, rank: u32) {
        let slot = &mut self.slots[rank as usize];
        let news = slot.news.peek().map(|&Reverse(at)| at);
        let Some(first) = [slot.own, news].into_iter().flatten().min() else { return };
        let at = first.max(slot.rank.now());
        if slot.queued.is_none_or(|queued| at < queued) {
            slot.queued = Some(at);
            self.queue.push(Reverse((at, rank)));
        }
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
                let at = self.slots.iter().map(|slot| slot.rank.now()).max().unwrap_or(0) / 1000;
                return Err(Error::Stuck { unfinished: self.unfinished, first, at });
            };
            let slot = &mut self.slots[rank as usize];
            if slot.queued != Some(at) {
                continue;
            }
            slot.queued = None;
            self.world.idle_until(slot.rank.id, at);
            let was_done = slot.done;
            let next = slot.turn().map_err(|error| Error::Mpi { rank, error })?;
            self.unfinished -= usize::from(slot.done && !was_done);
            slot.own = next.at;
            let now = slot.rank.now();
            while next.has_polled && slot.news.peek().is_some_and(|&Reverse(at)| at <= now) {
                slot.news.pop();
            }
            self.schedule(rank);
            self.world.take_wakes(&mut wakes);
            for (process, at) in wakes.drain(..) {
                if let Some(&rank) = self.ranks.get(&process) {
                    self.slots[rank as usize].news.push(Reverse(at));
                    self.schedule(rank);
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
            let until = until + self.rank.world.take_stolen(self.rank.id);
            if before < until {
                self.rank.mpi.interrupt();
                let took = self.rank.now() - before;
                // Interrupts for other processes of the node run on the first one's processor.
                let longer = if self.rank.id.pid.0 == 0 { took } else { 0 };
                self.computes = Some(until + longer);
                return Ok(Next { at: self.computes, has_polled: took == 0 });
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
                    Step::Going => {
                        return Ok(Next { at: Some(self.rank.now()), has_polled: false });
                    }
                    Step::Computing(nanoseconds) => {
                        let until = self.rank.now() + (nanoseconds * 1000.0) as Picos;
                        self.rank.world.take_stolen(self.rank.id);
                        self.computes = Some(until);
                        return Ok(Next { at: self.computes, has_polled: false });
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
        let at = self.rank.mpi.needs_polling().then(|| {
            self.pause = if happened { PAUSES.0 } else { (2 * self.pause).min(PAUSES.1) };
            self.rank.now() + self.pause
        });
        Next { at, has_polled: true }
    }
}
