//! The semantics: one file for each kind of object, one for each side of an operation.

mod calls;
mod descriptors;
mod entries;
mod initiator;
mod queues;
mod target;

use crate::NicConfig;
use crate::config::{Mode, SCRATCH};
use crate::fabric::{End, Fabric, Identity};
use crate::fault::Faults;
use descriptors::Attached;
use entries::{Entry, List};
use mem::Slab;
use portals::{AccessEntry, Error, Event, Failure, Limits, Md, Result};
use queues::Ring;

/// Objects of one kind: up to 2^20, named by numbers whose other bits tell a stale one.
type Objects<T> = Slab<T, 20, 12>;

/// A Portals NIC over a fabric. See the crate's documentation.
pub struct SoftNic<F: Fabric> {
    fabric: F,
    who: Identity,
    mode: Mode,
    limits: Limits,
    operations: u32,
    faults: Faults,
    entries: Objects<Entry>,
    /// By index of the portal table.
    lists: Vec<List>,
    descriptors: Objects<Attached>,
    rings: Objects<Ring>,
    access: Vec<Option<AccessEntry>>,
    /// Operations whose END is still to come.
    flights: Objects<Flight>,
    /// Those of them whose data is where it belongs and whose END comes later: turns left, ticket.
    deferred: Vec<(u32, u32)>,
    /// Numbers operations, for the link of their events.
    links: u64,
    counts: Counts,
    nic_bytes: usize,
    /// Memory of an operation, kept for the next one.
    runs: Vec<mem::UserMem>,
    /// Something happened in a turn since the owner has last armed.
    worked: bool,
}

/// What the status registers count.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    dropped: [u64; 2],
    received: [u64; 2],
    sent: [u64; 2],
    walked: u64,
}

/// An operation between its START and its END.
struct Flight {
    md: Md,
    /// The START event; the END event is the same but for its kind and how the descriptor is then.
    event: Event,
    /// The descriptor for which an acknowledgement is due, at the process that put.
    ack: Option<u32>,
}

/// Arrivals that one turn takes at most.
const ARRIVALS: usize = 64;

impl<F: Fabric> SoftNic<F> {
    /// A NIC on a fabric that is attached.
    pub fn new(fabric: F, config: NicConfig) -> SoftNic<F> {
        let limits = config.limits;
        let mut access = vec![None; limits.max_ac_index as usize + 1];
        access[0] = Some(AccessEntry::ANY);
        SoftNic {
            who: fabric.identity(),
            fabric,
            mode: config.mode,
            limits,
            operations: config.operations,
            faults: Faults::new(config.faults),
            entries: Slab::new(),
            lists: vec![List::default(); limits.max_pt_index as usize + 1],
            descriptors: Slab::new(),
            rings: Slab::new(),
            access,
            flights: Slab::new(),
            deferred: Vec::new(),
            links: 0,
            counts: Counts::default(),
            nic_bytes: 0,
            runs: Vec::new(),
            worked: false,
        }
    }

    /// The fabric below.
    pub fn fabric(&self) -> &F {
        &self.fabric
    }

    /// The fabric below.
    pub fn fabric_mut(&mut self) -> &mut F {
        &mut self.fabric
    }

    /// Sets bytes of the NIC's memory aside.
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        if self.mode == Mode::Accelerated && self.nic_bytes + bytes > SCRATCH {
            return Err(Error::NoSpace);
        }
        self.nic_bytes += bytes;
        Ok(())
    }

    fn unreserve(&mut self, bytes: usize) {
        self.nic_bytes -= bytes;
    }

    fn next_link(&mut self) -> u64 {
        self.links += 1;
        self.links
    }

    /// One turn: what arrived, what ended; how many things happened.
    fn turn(&mut self) -> usize {
        let mut happened = 0;
        for _ in 0..ARRIVALS {
            let Some(arrival) = self.fabric.next_arrival() else { break };
            self.take(&arrival);
            happened += 1;
        }
        while let Some(End { ticket, fine }) = self.fabric.next_end() {
            self.land(ticket, fine);
            happened += 1;
        }
        happened += self.end_deferred();
        self.worked |= happened > 0;
        happened
    }

    fn end_deferred(&mut self) -> usize {
        let mut ended = 0;
        let mut at = 0;
        while let Some((left, ticket)) = self.deferred.get_mut(at) {
            *left -= 1;
            if *left > 0 {
                at += 1;
                continue;
            }
            let ticket = *ticket;
            self.deferred.remove(at);
            self.finish(ticket, None);
            ended += 1;
        }
        ended
    }

    /// The data of an operation has left or is where it belongs.
    fn land(&mut self, ticket: u32, fine: bool) {
        let late = if fine { self.faults.late() } else { 0 };
        if late > 0 {
            self.deferred.push((late, ticket));
        } else {
            self.finish(ticket, (!fine).then_some(Failure::Unreachable));
        }
    }
}
