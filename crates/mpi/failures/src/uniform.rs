//! The same error of a call on all processes of a communicator whose info key `mpi_error_uniform` wants that: each call ends with an agreement
//! on what kinds of errors there were.
//!
//! A revocation ends the agreement, too. It is no error of the call, and processes have it wherever they are.

use abi::{Error, Result};

use crate::ballot::Ballot;
use crate::decisions::{self, Decisions, Series};
use objects::domain::Token;
use objects::failures::{REVOKED, outward};
use objects::wait::wait_for;

const FAILED: Error = Error::new(
    abi::ERR_PROC_FAILED,
    "a process of the communicator has failed: the call has not ended well on all others",
);
const ELSEWHERE: Error = Error::new(abi::ERR_OTHER, "the call has failed on another process");

/// Bits of a ballot: the call has ended well, without an error by a failure, without any other.
const NO_FAILURE: u32 = 1;
const NO_OTHER: u32 = 2;

/// The error that all processes give, of which `own` is this one's.
///
/// # Errors
/// `MPIX_ERR_PROC_FAILED`, `MPIX_ERR_REVOKED`; its own, or `MPI_ERR_OTHER` for that of another process.
pub fn agree_on(t: &mut Token, comm: abi::Comm, own: Result<()>) -> Result<()> {
    let call = {
        let mut state = t.lock();
        if state.comm(comm)?.is_revoked {
            return Err(REVOKED);
        }
        let ballot = Ballot { flags: [bits(&own); 2], ..Ballot::new() };
        Decisions::begin(&mut state, comm, Series::Errors, ballot)?
    };
    engine::see_to_connections(t);
    let decided = wait_for(t, |state| match decisions::take(state, call) {
        Some(decision) => Some(Some(decision.value.flags)),
        None if state.comms.find(comm).is_none_or(|comm| comm.is_revoked) => {
            decisions::end(state, call);
            Some(None)
        }
        None => None,
    });
    let flags = decided.ok_or(REVOKED)?;
    judge(own, flags[0] & flags[1])
}

fn bits(own: &Result<()>) -> u32 {
    match own {
        Ok(()) => u32::MAX,
        Err(error) if outward(error.class) == abi::ERR_PROC_FAILED => !NO_FAILURE,
        Err(_) => !NO_OTHER,
    }
}

fn judge(own: Result<()>, all: u32) -> Result<()> {
    match own {
        _ if all & NO_FAILURE == 0 => Err(FAILED),
        Ok(()) if all & NO_OTHER == 0 => Err(ELSEWHERE),
        own => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_is_that_of_all() {
        let wrong = Err(Error::new(abi::ERR_COUNT, "a count"));
        let failed = Err(FAILED);
        let class = |own, others: &[Result<()>]| {
            let all = others.iter().fold(bits(&own), |all, one| all & bits(one));
            judge(own, all).map_or_else(|error| error.class, |()| abi::SUCCESS)
        };
        assert_eq!(class(Ok(()), &[Ok(())]), abi::SUCCESS);
        assert_eq!(class(Ok(()), &[failed, Ok(())]), abi::ERR_PROC_FAILED);
        assert_eq!(class(wrong, &[failed]), abi::ERR_PROC_FAILED);
        assert_eq!(class(wrong, &[Ok(())]), abi::ERR_COUNT);
        assert_eq!(class(Ok(()), &[wrong]), abi::ERR_OTHER);
    }
}
