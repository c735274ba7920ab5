//! This host's clock beside that of rank 0's host.
//!
//! ```text
//!   first rank of another host        rank 0
//!     sent ─────── question ──────▶  looks at its clock
//!     back ◀────── the time ───────
//! ```
//!
//! The time was read between `sent` and `back`, so their middle is wrong by half of what passed at most. Of several looks the
//! shortest counts (F. Cristian, "Probabilistic clock synchronization", 1989). One look is taken after `MPI_Init`, and one before
//! `MPI_Finalize`: between them the clocks drift apart evenly.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use interpose::shared::host_number;
use interpose::{ask, clock};

use crate::events::Look;

/// Looks of which the shortest counts.
const LOOKS: usize = 20;

/// Who looks at whose clock.
struct Parties {
    comm: usize,
    own: u32,
    /// The first ranks of hosts that are not rank 0's.
    others: Vec<u32>,
}

static PARTIES: Mutex<Option<Parties>> = Mutex::new(None);

/// All ranks of the job have initialized MPI: takes the first look, where there are several hosts.
pub fn begin(words: &[AtomicU64], at: usize) {
    let (own, size) = (ask::comm_rank(ask::COMM_WORLD), ask::comm_size(ask::COMM_WORLD));
    let hosts = ask::allgather(host_number(), size.max(0) as usize);
    let first_of = |host: u64| hosts.iter().position(|&other| other == host).unwrap_or(0) as u32;
    let mut others: Vec<u32> = hosts.iter().map(|&host| first_of(host)).filter(|&rank| rank != 0).collect();
    others.sort_unstable();
    others.dedup();
    if others.is_empty() {
        return;
    }
    let parties = Parties { comm: ask::comm_dup(ask::COMM_WORLD), own: own as u32, others };
    parties.look(words, at);
    *PARTIES.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(parties);
}

/// All ranks of the job finalize MPI: takes the last look.
pub fn end(words: &[AtomicU64], at: usize) {
    let parties = PARTIES.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    if let Some(parties) = parties {
        parties.look(words, at);
        ask::comm_free(parties.comm);
    }
}

impl Parties {
    fn look(&self, words: &[AtomicU64], at: usize) {
        if self.own == 0 {
            for &other in &self.others {
                for _ in 0..LOOKS {
                    ask::receive(self.comm, other);
                    ask::send(self.comm, other, clock::now());
                }
            }
        } else if self.others.contains(&self.own) {
            let looks = (0..LOOKS).map(|_| self.one());
            if let Some(best) = looks.min_by_key(|look| look.uncertainty) {
                best.leave(words, at);
            }
        }
    }

    fn one(&self) -> Look {
        let sent = clock::now();
        ask::send(self.comm, 0, 0);
        let shown = ask::receive(self.comm, 0);
        let back = clock::now();
        let when = sent + (back - sent) / 2;
        Look { when, ahead: shown as i64 - when as i64, uncertainty: (back - sent).div_ceil(2) }
    }
}
