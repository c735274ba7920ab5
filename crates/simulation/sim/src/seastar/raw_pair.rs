//! Portals itself: puts into a posted descriptor, as the papers' own modules did.

use crate::error::Error;
use crate::raw::pair::{self, Pair};
use crate::raw::{OverPortals, Pattern};
use crate::seastar::machine::Machine;
use portals::{ProcessId, SetupError, lasting};
use portals_soft::NicConfig;
use portals_timed::{Kernel, Network, Picos, TimedNic};

/// Messages before time is taken.
const WARM_UP: u32 = 2;

struct Party {
    module: OverPortals<TimedNic>,
    /// When the last message before the timed ones had come.
    begun: Option<Picos>,
}

impl Party {
    fn new(world: &Network, nodes: [u32; 2], me: usize, bytes: usize) -> portals::Result<Party> {
        let nic = TimedNic::new(world.attach(Network::id(nodes[me], 0)), NicConfig::default());
        let peer = Network::id(nodes[1 - me], 0);
        let module = OverPortals::new(nic, peer, me == 0, lasting(bytes), lasting(bytes))?;
        Ok(Party { module, begun: None })
    }

    /// Goes on; whether anything happened.
    fn turn(&mut self, now: impl Fn() -> Picos) -> portals::Result<bool> {
        let happened = self.module.turn()?;
        if self.begun.is_none() && self.module.received() == WARM_UP {
            self.begun = Some(now());
        }
        Ok(happened)
    }
}

/// Nanoseconds from the first timed message's end to the last one's, at a process that receives, for each message.
pub(crate) fn run(
    machine: &Machine,
    nodes: [u32; 2],
    bytes: usize,
    pattern: Pattern,
    messages: u32,
) -> Result<f64, Error> {
    let world = Network::new(machine.mesh, machine.costs, Kernel::Catamount);
    let made = [0, 1].map(|me| Party::new(&world, nodes, me, bytes).map_err(failed));
    let [first, second] = made;
    let mut sides = Sides { world, ids: nodes.map(|node| Network::id(node, 0)), parties: [first?, second?] };
    sides.parties.iter_mut().for_each(|party| party.module.begin(pattern, bytes, messages + WARM_UP));
    pair::run(&mut sides)?;
    let begun = sides.parties[1].begun.unwrap_or(0);
    Ok((sides.now(1) - begun) as f64 / 1000.0 / f64::from(messages))
}

struct Sides {
    world: Network,
    ids: [ProcessId; 2],
    parties: [Party; 2],
}

impl Pair for Sides {
    fn now(&self, side: usize) -> Picos {
        self.world.now(self.ids[side])
    }

    fn is_done(&self, side: usize) -> bool {
        self.parties[side].module.is_done()
    }

    fn turn(&mut self, side: usize) -> Result<bool, Error> {
        let (world, id) = (&self.world, self.ids[side]);
        self.parties[side].turn(|| world.now(id)).map_err(failed)
    }

    fn idle(&mut self) -> bool {
        let wake = |side| self.world.next_wake(self.ids[side]).map(|at| (at.max(self.now(side)), side));
        let Some((at, side)) = [wake(0), wake(1)].into_iter().flatten().min() else { return false };
        self.world.idle_until(self.ids[side], at);
        true
    }

    fn nanoseconds(&self) -> u64 {
        self.now(0).max(self.now(1)) / 1000
    }
}

fn failed(error: portals::Error) -> Error {
    Error::Portals(SetupError { what: "Portals itself", parameters: "portals_", step: "a call", error })
}
