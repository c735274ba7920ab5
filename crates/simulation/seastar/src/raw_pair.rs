//! Portals itself: puts into a posted descriptor, as the papers' own modules did.

use crate::error::Error;
use crate::machine::Machine;
use portals::{SetupError, lasting};
use portals_soft::NicConfig;
use portals_timed::{Kernel, Picos, TimedNic, World};
use raw::{OverPortals, Pattern};

/// Messages before time is taken.
const WARM_UP: u32 = 2;

struct Party {
    module: OverPortals<TimedNic>,
    /// When the last message before the timed ones had come.
    begun: Option<Picos>,
}

impl Party {
    fn new(world: &World, nodes: [u32; 2], me: usize, bytes: usize) -> portals::Result<Party> {
        let nic = TimedNic::new(world.attach(World::id(nodes[me], 0)), NicConfig::default());
        let peer = World::id(nodes[1 - me], 0);
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
    let failed = |error| {
        Error::Setup(SetupError { what: "Portals itself", parameters: "portals_", step: "a call", error })
    };
    let world = World::new(machine.mesh, machine.costs, Kernel::Catamount);
    let made = [0, 1].map(|me| Party::new(&world, nodes, me, bytes).map_err(failed));
    let [first, second] = made;
    let mut parties = [first?, second?];
    parties.iter_mut().for_each(|party| party.module.begin(pattern, bytes, messages + WARM_UP));
    let ids = nodes.map(|node| World::id(node, 0));
    let now = |which: usize| world.now(ids[which]);
    while !parties.iter().all(|party| party.module.is_done()) {
        let order = if now(0) <= now(1) { [0, 1] } else { [1, 0] };
        let mut happened = false;
        for which in order {
            happened = parties[which].turn(|| now(which)).map_err(failed)?;
            if happened {
                break;
            }
        }
        if happened {
            continue;
        }
        let wake = |which: usize| world.next_wake(ids[which]).map(|at| (at.max(now(which)), which));
        let next = [wake(0), wake(1)].into_iter().flatten().min();
        let Some((at, which)) = next else { return Err(Error::Stuck { unfinished: 2, first: 0 }) };
        world.idle_until(ids[which], at);
    }
    let begun = parties[1].begun.unwrap_or(0);
    Ok((now(1) - begun) as f64 / 1000.0 / f64::from(messages))
}
