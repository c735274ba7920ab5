//! How far apart the processors of two processes are: the time in which a cache line crosses.
//!
//! ```text
//!   member 0   publish ──┐       ┌─→ see        the time of the round trip
//!   member 1            see → publish
//! ```
//!
//! What the system says of caches need not hold for virtual processors, so it is measured: once for a communicator of
//! two, by its first blocking call. The fastest round trip counts; the others were disturbed.

use std::time::{Duration, Instant};

use node::NodeArea;
use shm::area::Owner;

/// Round trips that are timed.
const ROUND_TRIPS: u64 = 64;
/// Looks for the other's line, after which it is not worth while: the other one is not on a processor.
const LOOKS: u32 = 200_000;

/// The time that a line takes between the two members of an area, who call this together; zero for member 1, which
/// only answers, and `None` if it takes long.
pub(super) fn of_two(area: &mut NodeArea) -> Option<Duration> {
    area.set_mark(0);
    let first = area.take_epochs(ROUND_TRIPS);
    let times: Option<Vec<Duration>> =
        (first..first + ROUND_TRIPS).map(|epoch| round_trip(area, epoch)).collect();
    area.retire(first + ROUND_TRIPS - 1);
    times?.into_iter().min().map(|time| time / 2)
}

fn round_trip(area: &mut NodeArea, epoch: u64) -> Option<Duration> {
    let own = area.own();
    let leads = own == Owner::Member(0);
    let other = Owner::Member(usize::from(leads));
    if !soon(|| area.has_room(epoch, 0)) {
        return None;
    }
    let begun = Instant::now();
    if leads {
        area.lines().publish(own, epoch, &[]);
    }
    let seen = soon(|| area.lines().carries(other, epoch));
    let time = if leads { begun.elapsed() } else { Duration::ZERO };
    if !leads {
        area.lines().publish(own, epoch, &[]);
    }
    area.retire(epoch);
    seen.then_some(time)
}

fn soon(mut happens: impl FnMut() -> bool) -> bool {
    (0..LOOKS).any(|_| {
        std::hint::spin_loop();
        happens()
    })
}
