//! Gemini itself between two nodes, without a message layer.

use crate::error::Error;
use crate::setup::Setup;
use btl_ugni::SetupError;
use gni::{Clock, InstId, Modes};
use gni_soft::NicConfig;
use gni_timed::{RankClock, TimedNic, TimedWorld};
use raw::{Carrier, OverGemini};

/// Round trips before time is taken, and in all.
const WARM_UP: u32 = 2;
const ROUNDS: u32 = 4;

struct Party {
    module: OverGemini<TimedNic>,
    clock: RankClock,
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
        Ok(Party { module, clock: world.clock(InstId(me)) })
    };
    let mut parties = [party(0).map_err(failed("attaching"))?, party(1).map_err(failed("attaching"))?];
    let cards = [0, 1].map(|me: usize| parties[me].module.card());
    for me in 0..2 {
        parties[me].module.meet(&cards[1 - me]).map_err(failed("connecting"))?;
    }
    run(&world, &mut parties, bytes, WARM_UP)?;
    let before = parties[0].clock.read();
    run(&world, &mut parties, bytes, ROUNDS)?;
    let took = parties[0].clock.read() - before;
    Ok(took.0 as f64 / f64::from(2 * ROUNDS))
}

/// So many round trips. The side whose clock is earlier has its turn first; when neither gets on, the one that finds
/// something new first is idle until then.
fn run(world: &TimedWorld, parties: &mut [Party; 2], bytes: usize, rounds: u32) -> Result<(), Error> {
    parties.iter_mut().for_each(|party| party.module.begin(bytes, rounds));
    let mut wakes = Vec::new();
    while !parties.iter().all(|party| party.module.is_done()) {
        let order = if parties[0].clock.read() <= parties[1].clock.read() { [0, 1] } else { [1, 0] };
        let mut happened = false;
        for which in order {
            let Party { module, clock } = &mut parties[which];
            let turn = module.turn(|| clock.now());
            happened = turn.map_err(|error| Error::Transport(SetupError::Nic("a call", error)))?;
            if happened {
                break;
            }
        }
        if happened {
            continue;
        }
        world.take_wakes(&mut wakes);
        let next = wakes.iter().enumerate().min_by_key(|(_, wake)| wake.at).map(|(place, _)| place);
        let Some(place) = next else {
            return Err(Error::Stuck { unfinished: 2, first: 0, at: parties[0].clock.read().0 });
        };
        let wake = wakes.swap_remove(place);
        parties[wake.inst.0 as usize].clock.idle_until(wake.at);
    }
    Ok(())
}
