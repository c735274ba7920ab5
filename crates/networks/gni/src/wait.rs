//! The blocking calls, as loops over the others with the caller's clock.

use crate::{Clock, Cq, CqEntry, CqFault, Datagram, Ep, Error, Gni, PostState, Result, Time};

/// How long a blocking call waits at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Until it happens (`-1` in the C interface).
    Forever,
    /// This many milliseconds; 0 is `INVALID_PARAM`.
    Millis(u32),
}

impl Limit {
    fn deadline(self, now: Time) -> Result<Option<Time>> {
        match self {
            Limit::Forever => Ok(None),
            Limit::Millis(0) => Err(Error::InvalidParam),
            Limit::Millis(ms) => Ok(Some(now + Time::from_millis(ms.into()))),
        }
    }
}

/// `GNI_CqWaitEvent`: waits for an entry. `clock` is asked once per turn and may sleep.
///
/// # Errors
/// As [`Gni::cq_get_event`], with `TIMEOUT`, which is `Ok(None)`, in place of `NOT_DONE`.
pub fn cq_wait_event<N: Gni>(
    nic: &mut N,
    cq: Cq,
    limit: Limit,
    clock: &mut impl Clock,
) -> core::result::Result<Option<CqEntry>, CqFault> {
    let deadline = limit.deadline(clock.now()).map_err(|_| CqFault::InvalidParam)?;
    loop {
        let now = clock.now();
        nic.progress(now);
        match nic.cq_get_event(cq) {
            Err(CqFault::NotDone) if deadline.is_some_and(|end| now >= end) => return Ok(None),
            Err(CqFault::NotDone) => {}
            other => return other.map(Some),
        }
    }
}

/// `GNI_EpPostDataWait` (`id` absent) and `GNI_EpPostDataWaitById`: waits until the exchange is terminal.
///
/// # Errors
/// `INVALID_PARAM` for a limit of 0 ms, `NO_MATCH` for no such exchange, `TIMEOUT`.
pub fn ep_post_data_wait<N: Gni>(
    nic: &mut N,
    ep: Ep,
    id: Option<u64>,
    limit: Limit,
    clock: &mut impl Clock,
) -> Result<Datagram> {
    let deadline = limit.deadline(clock.now())?;
    loop {
        let now = clock.now();
        nic.progress(now);
        let datagram = match id {
            None => nic.ep_post_data_test(ep)?,
            Some(id) => nic.ep_post_data_test_by_id(ep, id)?,
        };
        if datagram.state != PostState::RemoteData && datagram.state.is_terminal() {
            return Ok(datagram);
        }
        if deadline.is_some_and(|end| now >= end) {
            return Err(Error::Timeout);
        }
    }
}
