//! What a communicator keeps for its collectives.

use std::collections::VecDeque;
use std::sync::Arc;

use coll::tuned::Placement;
use coll::{Coll, Key, Locality, Schedule};
use node::NodeArea;

use super::online::Online;
use super::reaches::FastPaths;
use super::run::Running;
use super::signature::Signature;
use objects::comm::{Comm, library_tags};
use objects::topology::Neighbours;

/// What a communicator remembers for its collectives.
#[derive(Default)]
pub struct CollState {
    /// Tag of the latest call.
    sequence: u32,
    /// The tag of calls that borrow another communicator's context.
    apart: Option<i32>,
    /// Persistent collectives made so far.
    persistent: u32,
    /// Choices made so far, latest first.
    pub(super) choices: Vec<(Signature, Arc<Schedule>)>,
    /// Schedules built so far, latest used first.
    pub(super) schedules: Vec<(Key, Arc<Schedule>)>,
    /// Finished calls, latest last.
    #[expect(clippy::vec_box, reason = "a call in flight does not move")]
    spares: Vec<Box<Running>>,
    /// Slots shared by the processes of a communicator on one node; lent to the call that uses them.
    pub area: Option<Box<NodeArea>>,
    /// Whose turn in the area is next.
    pub turns: Turns,
    /// Its processes make an area in memory of its own when they have called often.
    pub wants_area: bool,
    /// Whether all processes that share the area can read each other's memory; `None` until they were asked.
    pub direct: Option<bool>,
    /// Whether both processes that share the area sit on one last-level cache; asked at the same time.
    pub near: bool,
    /// What the ranks of a wide node are bound to; asked at the same time, empty where all are bound to the same.
    pub localities: Arc<[Locality]>,
    /// What goes without a schedule.
    pub fast_paths: FastPaths,
    /// Choices by trial.
    pub online: Online,
    /// How often they were settled; what was chosen before is chosen anew.
    pub(super) settled: u32,
    pub(super) neighbours: Option<Neighbours>,
    pub(super) placement: Option<Placement>,
}

/// Bits of a tag that count calls, above them a digest of the call. The bit above that distinguishes persistent
/// collectives; the others belong to other kinds of messages ([`objects::comm::library_tags`]).
const CALL_BITS: u32 = 16;
const SEQUENCE_BITS: u32 = library_tags::COLLECTIVE_BITS - 1;
const PERSISTENT: u32 = 1 << SEQUENCE_BITS;
/// Persistent collectives may live long: more bits count them.
const PERSISTENT_CALL_BITS: u32 = 20;
const PERSISTENT_CALL: u32 = (1 << PERSISTENT_CALL_BITS) - 1;
const SEQUENCE: u32 = (1 << SEQUENCE_BITS) - 1;
const CALL: u32 = (1 << CALL_BITS) - 1;

/// Finished calls that a communicator keeps.
const SPARES: usize = 16;

/// Calls of a communicator after which an area of its own is made: that takes as long as some hundred of them.
const OFTEN: u32 = 16;

impl CollState {
    /// Whether the area is to be made in this call. All processes find the same in the same one.
    pub(super) fn is_area_due(&self) -> bool {
        self.wants_area && self.sequence >= OFTEN
    }

    /// Number and tag of the next call, the latter with 12 bits that name the call. No other call that may be
    /// under way on the communicator has the same.
    pub(crate) fn next_tag(&mut self, digest: u16) -> (i32, i32) {
        if let Some(tag) = self.apart {
            return (tag, tag);
        }
        self.sequence = self.sequence.wrapping_add(1) & CALL;
        let digest = u32::from(digest) << CALL_BITS & SEQUENCE;
        (self.sequence as i32, (digest | self.sequence) as i32)
    }

    /// Number and tag of a new persistent collective, for all its rounds, the latter with 8 bits that name the call.
    pub(crate) fn next_persistent_tag(&mut self, digest: u16) -> (i32, i32) {
        self.persistent = self.persistent.wrapping_add(1) & PERSISTENT_CALL;
        let digest = u32::from(digest ^ digest >> 8) << PERSISTENT_CALL_BITS & SEQUENCE;
        let number = PERSISTENT | self.persistent;
        (number as i32, (digest | number) as i32)
    }

    /// Calls of this communicator borrow another one's context, all under `tag`, which is not negative. Each begins where
    /// the one before it has ended, so the order of messages distinguishes them.
    pub fn start_apart(&mut self, tag: i32) {
        self.apart = Some(tag);
    }

    /// Whether the calls borrow another communicator's context.
    pub(crate) fn is_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// A finished call to be used again, one of the same kind if there is one.
    pub fn spare(&mut self, coll: Coll, comm: abi::Comm) -> Box<Running> {
        let kept = match self.spares.iter().rposition(|running| running.coll() == coll) {
            Some(index) => Some(index),
            None => (self.spares.len() == SPARES).then_some(0),
        };
        let Some(kept) = kept else { return Box::new(Running::new(coll, comm)) };
        let mut running = self.spares.swap_remove(kept);
        // The local communicator inside an inter-communicator has another handle each time it is used.
        running.move_to(comm);
        running
    }

    /// Keeps a finished call.
    pub fn keep(&mut self, running: Box<Running>) {
        if self.spares.len() < SPARES {
            self.spares.push(running);
        }
    }

    /// Gives `running` what a finished call has prepared for the same signature, if there is one. What `running`
    /// had is kept if only the root differs: roots that take turns find theirs again.
    pub(super) fn trade(&mut self, running: &mut Running, signature: &Signature) {
        let alike = self.spares.iter_mut().find(|spare| spare.is_prepared_for(signature));
        if let Some(spare) = alike {
            return spare.swap_prepared(running);
        }
        let turns = running.signature().is_some_and(|known| known.differs_in_root(signature));
        if turns && self.spares.len() + 1 < SPARES {
            let mut spare = Box::new(Running::new(running.coll(), running.comm()));
            spare.swap_prepared(running);
            self.spares.push(spare);
        }
    }

    /// Calls to come are chosen for anew, also where a call under way keeps what it had prepared.
    pub(crate) fn forget_choices(&mut self) {
        self.settled += 1;
    }

    /// The neighbours of the process, once a neighbourhood collective was called.
    pub fn neighbours(&self) -> Option<&Neighbours> {
        self.neighbours.as_ref()
    }
}

impl CollState {
    /// Looks the neighbours of the process up, for its first neighbourhood collective.
    pub(super) fn meet_neighbours(&mut self, comm: &Comm) {
        if self.neighbours.is_none() {
            self.neighbours = comm.topology.as_ref().map(|topology| topology.neighbours(comm.rank));
        }
    }
}

/// The line of calls that want an area.
#[derive(Default)]
pub struct Turns {
    /// The communicator has an area, at home or lent.
    pub(super) has_area: bool,
    /// Requests of calls that wait for it.
    pub(super) waiting: VecDeque<u32>,
}

impl Turns {
    /// No call waits for the area of a new communicator, if it has one.
    pub fn of(area: &Option<Box<NodeArea>>) -> Turns {
        Turns { has_area: area.is_some(), waiting: VecDeque::new() }
    }

    /// Whether the processes share an area: the same on all of them, at any time.
    pub(crate) fn has_area(&self) -> bool {
        self.has_area
    }
}
