//! The last collective: all processes of the world wait for each other.

use abi::{Error, Result};

use super::check::{DIFFERENT, FINALIZING, alert};
use super::{Mode, kept};
use objects::domain::Token;

/// Waits in `MPI_Finalize` for all processes of the job. Should one of them do something else, the others learn that
/// this one is gone.
///
/// # Errors
/// The processes have made different collective calls before, which is reported.
pub fn meet_to_finalize(t: &mut Token) -> Result<()> {
    let log = |t: &mut Token, gone| {
        let state = t.lock();
        let (Some(node), Ok(world)) = (&state.node, state.comm(abi::COMM_WORLD)) else { return };
        node.log_call(FINALIZING, [u64::from(gone), 0, 0, 0]);
        if gone {
            alert(&state, world);
        }
    };
    log(t, false);
    if let Ok(world) = kept::find(&mut t.lock(), abi::COMM_WORLD) {
        // Too late to ask which ranks can read whose memory.
        world.direct.get_or_insert(false);
    }
    let Err(error) = super::barrier(t, Mode::Own, abi::COMM_WORLD) else { return Ok(()) };
    log(t, true);
    // A process that is lost is the launcher's to report.
    if error.what == DIFFERENT { Err(Error { on: abi::COMM_WORLD, ..error }) } else { Ok(()) }
}
