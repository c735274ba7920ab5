//! Gemini itself between two nodes, without a message layer.

use crate::error::Error;
use crate::raw::pair::{self, Pair};
use crate::raw::{Carrier, OverGemini};
use crate::setup::Setup;
use btl_ugni::SetupError;
use gni::{Clock, InstId, Modes};
use gni_soft::NicConfig;
use gni_soft::inproc::Wake;
use gni_timed::{RankClock, TimedNic, TimedWorld};

/// Round trips before time is taken, and in all.
const WARM_UP: u32 = 2;
const ROUNDS: u32 = 4;

struct Sides {
    world: TimedWorld,
    modules: [OverGemini<TimedNic>; 2],
    clocks: [RankClock; 2],
    /// News that have been announced and not been waited for.
    wakes: Vec<Wake>,
}

/// Nanoseconds of half a round trip of `bytes` by the calls of the network interface, as [`super::latency`] has it of MPI.
///
/// # Errors
/// [`Error`].
pub fn raw_latency(setup: &Setup, carrier: Carrier, bytes: usize) -> Result<f64, Error> {
    let failed = |step| move |error| Error::Transport(SetupError::Nic(step, error));
    let world = TimedWorld::new(setup.world(2)?);
    let party = |me: u32| {
        let peer = (setup.node_of(1 - me), InstId(1 - me));
        let nic = world.attach(setup.node_of(me), InstId(me), Modes::default(), NicConfig::default())?;
        let module = OverGemini::new(nic, peer, me == 0, carrier, bytes)?;
        Ok((module, world.clock(InstId(me))))
    };
    let [first, second] = [party(0), party(1)].map(|party| party.map_err(failed("attaching")));
    let ((first, its), (second, others)) = (first?, second?);
    let mut sides = Sides { world, modules: [first, second], clocks: [its, others], wakes: Vec::new() };
    let cards = [0, 1].map(|me: usize| sides.modules[me].card());
    for me in 0..2 {
        sides.modules[me].meet(&cards[1 - me]).map_err(failed("connecting"))?;
    }
    sides.run(bytes, WARM_UP)?;
    let before = sides.clocks[0].read();
    sides.run(bytes, ROUNDS)?;
    let took = sides.clocks[0].read() - before;
    Ok(took.0 as f64 / f64::from(2 * ROUNDS))
}

impl Sides {
    /// So many round trips.
    fn run(&mut self, bytes: usize, rounds: u32) -> Result<(), Error> {
        self.modules.iter_mut().for_each(|module| module.begin(bytes, rounds));
        self.wakes.clear();
        pair::run(self)
    }
}

impl Pair for Sides {
    fn now(&self, side: usize) -> u64 {
        self.clocks[side].read().0
    }

    fn is_done(&self, side: usize) -> bool {
        self.modules[side].is_done()
    }

    fn turn(&mut self, side: usize) -> Result<bool, Error> {
        let clock = &mut self.clocks[side];
        let turn = self.modules[side].turn(|| clock.now());
        turn.map_err(|error| Error::Transport(SetupError::Nic("a call", error)))
    }

    fn idle(&mut self) -> bool {
        self.world.take_wakes(&mut self.wakes);
        let next = self.wakes.iter().enumerate().min_by_key(|(_, wake)| wake.at).map(|(place, _)| place);
        let Some(place) = next else { return false };
        let wake = self.wakes.swap_remove(place);
        self.clocks[wake.inst.0 as usize].idle_until(wake.at);
        true
    }

    fn nanoseconds(&self) -> u64 {
        self.now(0)
    }
}
