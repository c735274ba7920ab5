//! What is seen of the ranks at a moment.

use std::time::Duration;

use live::call_site::{self, CallSite};
use live::{Connection, Description};
use observe::{Figures, Section, State};
use stacks::Sampler as Stacks;
use symbols::{Place, Resolver};

use crate::live::process::{self, Process};

/// Ranks of which stacks are taken each time; beyond, that would take longer than it is true.
const MOST_STACKS: usize = 64;

/// Ranks that make progress answer within this time; the counts of others are those that they have shown last.
const PATIENCE: Duration = Duration::from_millis(20);

/// All ranks of this host at a moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When all counts were read, in nanoseconds of the monotonic clock.
    pub at: u64,
    /// The ranks, in order.
    pub ranks: Vec<RankAt>,
}

/// A rank at a moment.
#[derive(Clone, Debug, Default)]
pub struct RankAt {
    /// Whether it is between `MPI_Init` and `MPI_Finalize`; `None`: it shows nothing.
    pub state: Option<State>,
    /// Its process; `None`: it has ended.
    pub process: Option<Process>,
    /// What it has counted; `None`: it has not answered yet, or writes just now.
    pub figures: Option<Figures>,
    /// Threads that wait.
    pub waiting: u64,
    /// Nanoseconds for which its threads have waited.
    pub waited: u64,
    /// It has waited for longer than the tool looks, so that this is not in `waited`.
    pub sleeps: bool,
    /// The call that it is in, and its place.
    pub call: Option<String>,
    /// The place of that call, or where it computes.
    pub place: Option<String>,
}

/// Looks at a job.
pub struct Sampler {
    connection: Connection,
    sections: Vec<Section>,
    stacks: Option<Stacks>,
    resolver: Resolver,
}

impl Sampler {
    /// Looks at the job of a connection. `stacks`: its ranks may be stopped for some microseconds.
    pub fn new(connection: Connection, stacks: bool) -> Sampler {
        let sections = connection.sections().collect();
        let stacks = stacks && connection.description.ranks.len() <= MOST_STACKS;
        Sampler { connection, sections, stacks: stacks.then(Stacks::new), resolver: Resolver::new() }
    }

    /// What the job is.
    pub fn description(&self) -> &Description {
        &self.connection.description
    }

    /// The job.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.connection.is_over()
    }

    /// The ranks now.
    pub fn sample(&mut self) -> Moment {
        let question = platform::clock::nanoseconds().max(1);
        self.sections.iter().for_each(|section| section.ask(question));
        std::thread::sleep(PATIENCE);
        let at = platform::clock::nanoseconds();
        let slots = 0..self.connection.description.ranks.len();
        let mut ranks: Vec<RankAt> = slots.map(|slot| self.counts(slot, at)).collect();
        // Places take long where an object's debug information is read for the first time: the counts of all ranks are there.
        ranks.iter_mut().enumerate().for_each(|(slot, rank)| self.find_place(slot, rank));
        Moment { at, ranks }
    }

    fn counts(&self, slot: usize, now: u64) -> RankAt {
        let pid = self.connection.description.ranks[slot].pid;
        let mut rank = RankAt { process: process::of(pid), ..RankAt::default() };
        if let Some(section) = self.sections.get(slot) {
            rank.state = Some(section.state());
            rank.figures = section.shown().map(|shown| shown.figures);
            (rank.waiting, rank.waited) = section.blocked(now);
        }
        rank
    }

    fn find_place(&mut self, slot: usize, rank: &mut RankAt) {
        let pid = self.connection.description.ranks[slot].pid;
        let mut shown = CallSite::default();
        if let Some(section) = self.sections.get(slot)
            && let Some(first) = section.waits().first()
        {
            rank.sleeps = true;
            shown = call_site::of(&mut self.resolver, &section.modules(), &first.wait.frames);
            shown.call.get_or_insert_with(|| first.wait.call.clone());
        }
        // What it has shown itself needs no stop.
        let site =
            if rank.sleeps || rank.process.is_none() { shown } else { self.stack(pid).unwrap_or(shown) };
        rank.place = site.places.first().cloned();
        rank.call = site.call.filter(|call| !call.is_empty());
    }

    fn stack(&mut self, pid: i32) -> Option<CallSite> {
        let stack = self.stacks.as_mut()?.thread(pid, pid).ok()?;
        let places: Vec<Place> = stack.frames.iter().map(|frame| frame.place(&mut self.resolver)).collect();
        Some(call_site::of_stack(&places))
    }
}
