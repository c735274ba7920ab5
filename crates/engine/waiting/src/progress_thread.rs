//! The thread that makes progress while the program computes.
//!
//! ```text
//!   the program waits inside MPI      stand by: sleep until it leaves
//!   the program comes and goes        pause, each time longer, and see whether it still does
//!   the program is away               poll; sleep on the doorbell when nothing comes
//! ```
//! The program's threads never wait for this one: it takes no role from them and polls only where no other thread does.
//! While they come and go, it keeps off the lock and the doorbell, so a message does not pay for a second sleeper. The
//! price is that a program that goes away for less than [`LONGEST`] may answer that much later. A pause is no
//! substitute for a wake-up: whatever comes during it is found by the poll after it, and then the doorbell is rung.

use std::time::{Duration, Instant};

use crate::sync::{Arc, AtomicU32, give_way};
use crate::threads::{Parked, Threads};
use crate::wait::{Host, wake_up};

/// The first pause. Under loom, where time does not pass, none.
const SHORTEST: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 500 });
/// The longest pause.
const LONGEST: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 8000 });

/// What the progress thread does next.
enum NextAction<A> {
    /// No caller needs it any more.
    Over,
    /// Something may have happened.
    Again,
    Pause(Arc<Parked<()>>),
    StandBy(Arc<Parked<()>>),
    /// Nothing to sleep on, or work that wants another turn.
    Yield,
    Sleep(A),
}

/// Makes progress where the program does not, until no caller needs that any more ([`Threads::release`]).
pub fn progress_thread<H: Host>(host: &mut H) {
    let mut seen = host.visits();
    let mut pause = SHORTEST;
    let mut rung = false;
    loop {
        let visits = host.visits();
        let was_here = std::mem::replace(&mut seen, visits) != visits;
        let step = host.with(|state| step::<H>(state, was_here, std::mem::take(&mut rung)));
        match step {
            NextAction::Over => return,
            NextAction::Again => {
                if H::is_wanted() {
                    give_way();
                }
            }
            NextAction::Pause(parked) => {
                rest(host, &parked, Some(Instant::now() + pause));
                pause = (pause * 2).min(LONGEST);
                continue;
            }
            NextAction::StandBy(parked) => rest(host, &parked, None),
            NextAction::Yield => give_way(),
            NextAction::Sleep(armed) => {
                host.sleep(armed, None);
                host.with(wake_up::<H>);
                rung = true;
            }
        }
        pause = SHORTEST;
    }
}

/// Whether a thread of the program is inside MPI and sees to progress.
fn is_attended<I>(threads: &Threads<I>) -> bool {
    threads.is_polled() || threads.sleeps()
}

/// `was_here`: the program has had the state since the last step. `rung`: this thread slept on the doorbell, and was
/// woken.
fn step<H: Host>(state: &mut H::State, was_here: bool, rung: bool) -> NextAction<H::Armed> {
    let threads = H::threads(state);
    if threads.ends_progress_thread() {
        return NextAction::Over;
    }
    match (is_attended(threads), was_here) {
        (true, false) => return NextAction::StandBy(threads.stand_by(true)),
        (true, true) => return NextAction::Pause(threads.stand_by(false)),
        (false, true) => {
            // What rang is for this thread to take, also if the program has looked in meanwhile.
            if rung {
                H::progress(state);
            }
            return NextAction::Pause(H::threads(state).stand_by(false));
        }
        (false, false) => {}
    }
    if H::progress(state) {
        return NextAction::Again;
    }
    let armed = if H::wants_turn(state) { None } else { H::arm(state) };
    let Some(armed) = armed else { return NextAction::Yield };
    H::threads(state).falls_asleep();
    // The poll between arming and sleeping: whatever was sent before the word changed is seen here. A call of the program
    // that becomes due is the program's to make.
    let awake = H::progress(state) || H::wants_turn(state) || H::must_arm_again(state);
    if !awake && H::threads(state).is_needed() {
        return NextAction::Sleep(armed);
    }
    wake_up::<H>(state);
    NextAction::Again
}

/// Sleeps until the program leaves, this thread is needed no more, or `deadline` passes.
fn rest<H: Host>(host: &mut H, parked: &Parked<()>, deadline: Option<Instant>) {
    parked.sleep(deadline, |word: &AtomicU32, value| host.sleep_parked(word, value, deadline));
    host.with(|state| H::threads(state).stands_by_no_more());
}
