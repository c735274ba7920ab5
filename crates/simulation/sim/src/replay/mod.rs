//! Recordings of live runs (`mpiexec -record`), to be replayed by virtual ranks.
//!
//! ```text
//!   DIR/rank.N.rec ─► script: one action a call ─► Job ─► programs::Replay of each virtual rank
//! ```
//!
//! A rank computes for as long as it had a processor between two calls, and calls again; what a call takes is the
//! simulation's. Messages go where they went, collectives are the library's schedules. A recording of `p` ranks can
//! be replayed by `k · p`: then `k` jobs of the recorded kind lie side by side, and the collectives of the world are
//! all ranks'.

mod collective;
mod comms;
mod script;
mod unevenness;

pub(crate) use collective::{Prepared, Schedules};
pub(crate) use comms::CommId;
pub(crate) use script::{Action, Collective, Start};

use crate::error::Error;
use comms::Comms;
use script::Call;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The calls of all ranks of a live run.
pub struct Job {
    pub(crate) scripts: Vec<Arc<[Call]>>,
    pub(crate) comms: Comms,
    /// Names of functions.
    pub(crate) names: Vec<String>,
    /// Names of those that are replayed as computing although they communicate.
    unknown: BTreeMap<String, u64>,
    /// Longest message or collective, in bytes.
    pub(crate) longest: u64,
}

impl Job {
    /// Reads the recordings of a folder.
    ///
    /// # Errors
    /// [`Error::Recording`].
    pub fn read(folder: &Path) -> Result<Job, Error> {
        let bytes = |rank: u32| {
            let path = folder.join(recording::file_name(rank));
            std::fs::read(&path).map_err(|error| Error::Recording(format!("{}: {error}", path.display())))
        };
        let first = bytes(0)?;
        let damaged = |rank: u32, error: recording::Damaged| {
            Error::Recording(format!("{}: {error}", folder.join(recording::file_name(rank)).display()))
        };
        let size = recording::Reader::new(&first).map_err(|error| damaged(0, error))?.size();
        let mut job = Job {
            scripts: Vec::new(),
            comms: Comms::new(size),
            names: Vec::new(),
            unknown: BTreeMap::new(),
            longest: 0,
        };
        let mut scripts = Vec::new();
        for rank in 0..size {
            let bytes = if rank == 0 { first.clone() } else { bytes(rank)? };
            let script = job.parse(rank, &bytes).map_err(|error| damaged(rank, error))?;
            scripts.push(script);
        }
        agree(&mut scripts);
        job.scripts = scripts.into_iter().map(Into::into).collect();
        Ok(job)
    }

    /// Ranks of the live run.
    pub fn ranks(&self) -> u32 {
        self.scripts.len() as u32
    }

    /// Names of the functions that were called.
    pub fn functions(&self) -> &[String] {
        &self.names
    }

    /// Functions that are replayed as if they only computed, and how often they were called.
    pub fn unknown(&self) -> impl Iterator<Item = (&str, u64)> {
        self.unknown.iter().map(|(name, &count)| (name.as_str(), count))
    }

    /// For each function calls and nanoseconds within them, and nanoseconds of the whole recording; summed over the ranks.
    pub fn recorded(&self) -> (Vec<(u64, u64)>, u64) {
        let mut functions = vec![(0, 0); self.names.len()];
        let mut whole = 0;
        for call in self.scripts.iter().flat_map(|script| script.iter()) {
            let (calls, within) = &mut functions[usize::from(call.function)];
            *calls += 1;
            *within += call.duration;
            whole += call.gap + call.duration;
        }
        (functions, whole)
    }

    /// Nanoseconds of the live run by rank 0's clock: when each barrier of the world ended, and the end.
    pub fn marks(&self) -> Vec<u64> {
        let mut now = 0;
        let mut marks = vec![0];
        let Some(script) = self.scripts.first() else { return marks };
        for call in script.iter() {
            now += call.gap + call.duration;
            if self.is_mark(call) {
                marks.push(now);
            }
        }
        marks.push(now);
        marks
    }

    /// Whether a call is a barrier of the world.
    pub(crate) fn is_mark(&self, call: &Call) -> bool {
        matches!(&call.action, Action::Collective(Collective { coll: coll::Coll::Barrier, comm, .. }) if comm.is_world())
    }
}

/// Gives the calls of one collective the same length on all ranks, the longest: blocks of different lengths
/// (`MPI_Gatherv`) and calls in place differ, and the choice of an algorithm must not.
fn agree(scripts: &mut [Vec<Call>]) {
    let mut longest: BTreeMap<(CommId, u32), u64> = BTreeMap::new();
    let each = |scripts: &mut [Vec<Call>], work: &mut dyn FnMut((CommId, u32), &mut Collective)| {
        for script in scripts {
            let mut counts: BTreeMap<CommId, u32> = BTreeMap::new();
            for call in script {
                let (Action::Collective(call) | Action::BeginCollective(_, call)) = &mut call.action else {
                    continue;
                };
                let count = counts.entry(call.comm).or_insert(0);
                *count += 1;
                work((call.comm, *count), call);
            }
        }
    };
    each(scripts, &mut |key, call| {
        let bytes = longest.entry(key).or_insert(0);
        *bytes = (*bytes).max(call.count * call.element);
    });
    each(scripts, &mut |key, call| {
        if call.count * call.element != longest[&key] {
            (call.count, call.element) = (longest[&key], 1);
        }
    });
}
