//! Dead-locks of a job on several hosts.
//!
//! ```text
//!   daemon                                       mpiexec
//!    │ ── LongWait ──────────────────────────────►  a rank has waited for mpi_deadlock_s, once each time that comes to be
//!    │ ◄─ Look ──────────────────────────────────  to all hosts
//!    │ ── Seen(what each rank does) ─────────────►  all have answered: reduction
//!    │ ◄─ Look, ── Seen ─────────────────────────►  something is left: once more
//!    │ ◄─ NameWaits(dead ranks) ─────────────────  the same waits are left
//!    │ ── WaitSites ─────────────────────────────►  report once; end the job, or go on
//! ```
//! **Why two looks suffice.** mpiexec asks for the second one when all hosts have answered the first. A rank with the same wait in
//! both has waited from its host's first look to its second; so all such ranks waited at the moment between. None of them shows
//! a wait while something that it has sent is under way (`objects::shown`), and what has arrived wakes its receiver.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use deadlock::graph::Graph;
use deadlock::{Does, Found, Rank};
use inquest::Status;

use super::{Head, Phase};
use crate::deadlocks::{self, AGAIN, LOOK, WaitSite};
use crate::messages::Down;

/// Hosts for which a look has a second more until the next one: each look asks all.
const HOSTS_A_SECOND: usize = 32;

impl Head {
    /// A rank somewhere has waited for `after`.
    pub(super) fn hear_of_long_wait(&mut self, after: Duration, ends: bool) {
        let watch = &mut self.watch;
        watch.settings = (after, ends);
        if !watch.is_reported && watch.open.is_empty() && watch.next.is_none() {
            self.look_for_deadlocks();
        }
    }

    /// Asks all hosts what their ranks do.
    pub(super) fn look_for_deadlocks(&mut self) {
        let watch = &mut self.watch;
        watch.next = None;
        watch.look = watch.look.wrapping_add(1);
        // Ranks of a host that has finished are over.
        let does = |status: &Option<Status>| {
            if *status == Some(Status::Exited(0)) { Does::Ended } else { Does::Runs }
        };
        let rank = |status| Rank { does: does(status), waited: Duration::ZERO };
        watch.seen = self.statuses.iter().map(rank).collect();
        watch.open = (0..self.hosts.len()).filter(|&host| self.hosts[host].phase == Phase::Running).collect();
        let number = watch.look;
        for host in self.watch.open.clone() {
            self.tell(host, &Down::Look(number));
        }
    }

    /// What the ranks of a host do.
    pub(super) fn take_look(&mut self, host: usize, number: u32, ranks: Vec<(u32, Rank)>) {
        let watch = &mut self.watch;
        if number != watch.look || watch.found.is_some() || !watch.open.contains(&host) {
            return;
        }
        for (rank, seen) in ranks.into_iter().filter(|(rank, _)| self.hosts[host].ranks.contains(rank)) {
            watch.seen[rank as usize] = seen;
        }
        watch.open.retain(|&open| open != host);
        if watch.open.is_empty() {
            self.judge_look();
        }
    }

    fn judge_look(&mut self) {
        let watch = &mut self.watch;
        let (after, _) = watch.settings;
        let any_waits = watch.seen.iter().any(|rank| rank.waited >= after);
        let pause = LOOK * (1 + self.hosts.len() / HOSTS_A_SECOND) as u32;
        match watch.finder.look(watch.seen.clone(), after) {
            // Hosts report it when another wait becomes long.
            Found::Nothing => watch.next = any_waits.then(|| Instant::now() + pause),
            Found::LookAgain => watch.next = Some(Instant::now() + AGAIN),
            Found::Dead(graph, dead) => self.ask_for_sites(graph, dead),
        }
    }

    fn ask_for_sites(&mut self, graph: Graph, dead: Vec<u32>) {
        let open: BTreeSet<usize> =
            dead.iter().map(|&rank| self.spec.host_of[rank as usize] as usize).collect();
        for &host in &open {
            self.tell(host, &Down::NameWaits(dead.clone()));
        }
        (self.watch.open, self.watch.sites) = (open.into_iter().collect(), Vec::new());
        self.watch.found = Some((graph, dead));
    }

    /// Where dead-locked ranks of a host wait.
    pub(super) fn take_sites(&mut self, host: usize, sites: Vec<WaitSite>) {
        let watch = &mut self.watch;
        if watch.found.is_none() || !watch.open.contains(&host) {
            return;
        }
        watch.sites.extend(sites.into_iter().filter(|site| self.hosts[host].ranks.contains(&site.rank)));
        watch.open.retain(|&open| open != host);
        if watch.open.is_empty() {
            self.report_deadlock();
        }
    }

    fn report_deadlock(&mut self) {
        let watch = &mut self.watch;
        let Some((graph, dead)) = watch.found.take() else { return };
        watch.is_reported = true;
        let waited = dead.iter().map(|&rank| watch.seen[rank as usize].waited).min().unwrap_or_default();
        let failure = deadlocks::failure(&graph, &dead, waited, |rank, wait| {
            let is_it = |site: &&WaitSite| (site.rank, site.thread) == (rank, wait.thread);
            let site = watch.sites.iter().find(is_it);
            site.map_or_else(
                || (wait.call.clone(), String::new()),
                |site| (site.call.clone(), site.place.clone()),
            )
        });
        match watch.settings {
            (_, true) => self.fail(failure, None, None, false),
            _ => {
                let text = inquest::message(&failure, None, 0, None);
                self.note(&text);
            }
        }
    }

    /// A host answers no more: its ranks are over, or it is lost.
    pub(super) fn forget_look(&mut self, host: usize) {
        if self.watch.open.contains(&host) {
            self.watch.begin_anew(Some(Instant::now() + LOOK));
        }
    }
}
