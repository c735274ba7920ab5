//! Dead-locks among the ranks: what they wait for is in the observation memory, what else they do the system tells.
//!
//! ```text
//!   every second ──► has one waited for mpi_deadlock_s? ── no ──► once more in a second
//!                      │ yes
//!                      ▼
//!   snapshot ──► reduction ──► nothing is left: once more in a second
//!                      │ something is left
//!                      ▼
//!   a second snapshot, some 100 ms later ──► the same waits are left ──► report once; end the job, or go on
//! ```
//! Over hosts no single one sees all ranks: there this proxy reports that one has waited for long, and mpiexec looks
//! (`head::deadlocks`).

use std::time::Duration;

use deadlock::{Does, Found, Rank, Snapshot};
use live::call_site;
use observe::{Section, Slot, State};

use super::Proxy;
use super::clock::no_later_than;
use crate::deadlocks::{self, AGAIN, LOOK, WaitSite};
use crate::task;

impl Proxy {
    /// Ranks have begun that show what they wait for.
    pub(super) fn watch_for_deadlocks(&mut self) {
        self.deadlocks = deadlock::Finder::default();
        self.reported_long_wait = false;
        if self.observation.is_some() {
            no_later_than(&mut self.clock.deadlock, LOOK);
        }
    }

    /// Looks, and looks again.
    pub(super) fn look_for_deadlocks(&mut self) {
        if self.ending {
            return;
        }
        if self.up.is_some() {
            self.report_long_wait();
            return no_later_than(&mut self.clock.deadlock, LOOK);
        }
        let delay = match self.deadlocked() {
            None | Some(Found::Nothing) => LOOK,
            Some(Found::LookAgain) => AGAIN,
            Some(Found::Dead(graph, dead)) => return self.report_deadlock(&graph, &dead),
        };
        no_later_than(&mut self.clock.deadlock, delay);
    }

    /// What a look finds; `None`: dead-locks are not looked for, or no rank has waited for long.
    fn deadlocked(&mut self) -> Option<Found> {
        let sections = self.sections();
        let (after, _) = settings(&sections)?;
        let now = platform::clock::nanoseconds();
        let is_old = sections.iter().any(|section| oldest(&section.waits(), now) >= after);
        let snapshot = is_old.then(|| self.snapshot(&sections, now))?;
        Some(self.deadlocks.look(snapshot, after))
    }

    pub(super) fn sections(&self) -> Vec<Section> {
        let area = self.observation.as_ref().map(|memory| memory.area());
        let section = |slot| area.and_then(|area| area.section(slot));
        (0..self.ranks.len()).filter_map(section).collect()
    }

    fn snapshot(&self, sections: &[Section], now: u64) -> Snapshot {
        let rank = |(slot, section): (usize, &Section)| {
            let slots = section.waits();
            let waited = oldest(&slots, now);
            let state = &self.ranks[slot];
            let does = match (state.is_over(), section.state()) {
                (true, State::Finalized) => Does::Ended,
                // Whatever waits for a rank that has died learns of it.
                (true, _) => Does::Runs,
                (false, _) => does(section, slots, state.pid()),
            };
            Rank { does, waited }
        };
        sections.iter().enumerate().map(rank).collect()
    }

    /// mpiexec looks once a rank has waited for long.
    fn report_long_wait(&mut self) {
        let sections = self.sections();
        let Some((after, ends)) = settings(&sections) else { return };
        let now = platform::clock::nanoseconds();
        let is_old = || sections.iter().any(|section| oldest(&section.waits(), now) >= after);
        if let (Some(up), false) = (&mut self.up, self.reported_long_wait)
            && is_old()
        {
            self.reported_long_wait = true;
            up.long_wait(after, ends);
        }
    }

    /// mpiexec looks.
    pub(super) fn show_ranks(&mut self, number: u32) {
        let sections = self.sections();
        let mut snapshot = self.snapshot(&sections, platform::clock::nanoseconds());
        let after = settings(&sections).map_or(Duration::MAX, |(after, _)| after);
        self.reported_long_wait = snapshot.iter().any(|rank| rank.waited >= after);
        for rank in &mut snapshot {
            // Addresses mean nothing elsewhere.
            if let Does::Waits { slots, .. } = &mut rank.does {
                for slot in slots {
                    slot.wait.frames.clear();
                    slot.wait.origins.clear();
                }
            }
        }
        let ranks = self.job.world.iter().copied().zip(snapshot).collect();
        if let Some(up) = &mut self.up {
            up.seen(number, ranks);
        }
    }

    /// mpiexec has found a dead-lock.
    pub(super) fn name_waits(&mut self, ranks: &[u32]) {
        let mut resolver = symbols::Resolver::new();
        let mut sites = Vec::new();
        for (slot, section) in self.sections().iter().enumerate() {
            let rank = self.job.world[slot];
            if !ranks.contains(&rank) {
                continue;
            }
            for Slot { wait, .. } in section.waits() {
                let (call, place) = site_of(&mut resolver, section, &wait);
                sites.push(WaitSite { rank, thread: wait.thread, call, place });
            }
        }
        if let Some(up) = &mut self.up {
            up.wait_sites(sites);
        }
    }

    fn report_deadlock(&mut self, graph: &deadlock::graph::Graph, dead: &[u32]) {
        let sections = self.sections();
        let now = platform::clock::nanoseconds();
        let dead_sections = dead.iter().filter_map(|&rank| sections.get(rank as usize));
        let waited = dead_sections.map(|section| oldest(&section.waits(), now)).min().unwrap_or_default();
        let mut resolver = symbols::Resolver::new();
        let failure = deadlocks::failure(graph, dead, waited, |rank, wait| {
            site_of(&mut resolver, &sections[rank as usize], wait)
        });
        match settings(&sections) {
            Some((_, true)) => self.fail(None, failure),
            _ => self.note(&inquest::message(&failure, None, 0, None)),
        }
    }
}

/// The call that a rank waits in, and its place.
fn site_of(resolver: &mut symbols::Resolver, section: &Section, wait: &observe::Wait) -> (String, String) {
    let modules = section.modules();
    let site = call_site::of(resolver, &modules, &wait.frames);
    let place = site.in_words() + &call_site::origins_in_words(resolver, &modules, &wait.origins);
    (site.call.unwrap_or_else(|| wait.call.clone()), place)
}

/// After which time a wait counts, and whether a dead-lock ends the job, as the ranks have it.
fn settings(sections: &[Section]) -> Option<(Duration, bool)> {
    sections.iter().find_map(Section::deadlocks)
}

/// How long the oldest of a rank's waits has lasted.
fn oldest(waits: &[Slot], now: u64) -> Duration {
    let since = waits.iter().map(|slot| slot.wait.since).min();
    since.map_or(Duration::ZERO, |since| Duration::from_nanos(now.saturating_sub(since)))
}

/// Whether a rank that lives, and waits in these slots, may do anything.
fn does(section: &Section, slots: Vec<Slot>, pid: i32) -> Does {
    if section.state() != State::Running || section.unseen() != 0 || slots.is_empty() {
        return Does::Runs;
    }
    let (Some(begun), Some(tasks)) = (section.begun(), task::all(pid)) else { return Does::Runs };
    let waits = |task: &task::Task| slots.iter().any(|slot| slot.wait.thread == task.thread);
    let are_there = slots.iter().all(|slot| tasks.iter().any(|task| task.thread == slot.wait.thread));
    let others = tasks.iter().filter(|task| !waits(task));
    let is_still = |task: &task::Task| {
        section.level() != abi::THREAD_MULTIPLE || task.is_librarys || task::waits_for_own_process(pid, task)
    };
    if !are_there || !tasks.iter().all(|task| task.sleeps) || !others.clone().all(is_still) {
        return Does::Runs;
    }
    Does::Waits { busy: others.map(|task| task.ticks).sum(), slots, begun }
}
