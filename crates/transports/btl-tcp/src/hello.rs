//! Who is at the other end of a connection: the exchange of the crate `connect`, and the verdict that follows it.
//!
//! ```text
//!   caller                        owner of the port
//!    │ ── hello ───────────────────►  is it for this process?
//!    │ ◄─ challenge with a proof ───  so the address is right
//!    │ ── proof ───────────────────►  a candidate (crate::pair)
//!    │ ◄─ verdict ──────────────────
//! ```
//!
//! The key came through the launcher's key space, which only ranks of the job can read; it is never sent here.

use crate::numbers::{lane_of, peer_of};
use connect::{Role, Secret, Who};

/// Lanes between two processes at most.
pub(crate) const LANES: u32 = 8;
/// Bytes of a verdict.
pub(crate) const VERDICT: usize = 2;
const MARK: u8 = 0x56;

/// What only the processes of a job know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobProof {
    /// The job's number.
    pub id: u64,
    /// Its random key.
    pub key: u128,
}

impl JobProof {
    /// The key as the exchange wants it.
    pub(crate) fn secret(&self) -> Secret {
        Secret::new(self.key)
    }

    /// What process `from` sends when it calls process `to`; for a lane, what makes it one is added to `from`.
    pub(crate) fn call(&self, from: u32, to: u32) -> Who {
        Who { role: Role::Process, job: self.id, from, to }
    }

    /// Whether a caller that claims to be `who` may be a peer of process `me` of `size`; why not, where to be reported.
    pub(crate) fn expects(&self, who: &Who, me: u32, size: u32) -> Result<(), Option<&'static str>> {
        match who {
            _ if who.role != Role::Process || who.job != self.id => Err(Some("it is of another job")),
            // It tries the addresses of another process, of which this one leads here.
            _ if who.to != me => Err(None),
            _ if peer_of(who.from) == me || peer_of(who.from) >= size || lane_of(who.from) >= LANES => {
                Err(Some("it is of this job, and no process of it"))
            }
            _ => Ok(()),
        }
    }
}

/// The answer of a port's owner about a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The connection may be used.
    Accepted,
    /// The other side's own connection will be.
    Yield,
}

impl Verdict {
    pub(crate) fn to_bytes(self) -> [u8; VERDICT] {
        [MARK, matches!(self, Verdict::Yield).into()]
    }

    /// What [`Verdict::to_bytes`] made.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Verdict> {
        match bytes {
            [MARK, 0] => Some(Verdict::Accepted),
            [MARK, 1] => Some(Verdict::Yield),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::lane_to;

    #[test]
    fn verdicts_survive_the_wire() {
        for verdict in [Verdict::Accepted, Verdict::Yield] {
            assert_eq!(Verdict::from_bytes(&verdict.to_bytes()), Some(verdict));
        }
        for bytes in [&[][..], &[MARK], &[MARK, 2], &[0, 0], &[MARK, 0, 0]] {
            assert_eq!(Verdict::from_bytes(bytes), None);
        }
    }

    #[test]
    fn only_peers_are_expected() {
        let job = JobProof { id: 7, key: 1 << 100 };
        assert_eq!(job.expects(&job.call(1, 2), 2, 4), Ok(()));
        assert_eq!(job.expects(&job.call(1, 3), 2, 4), Err(None));
        assert_eq!(job.expects(&job.call(lane_to(1, 7), 2), 2, 4), Ok(()), "a lane");
        let of_another = Who { job: 8, ..job.call(1, 2) };
        for who in [
            job.call(2, 2),
            job.call(lane_to(2, 1), 2),
            job.call(lane_to(1, 8), 2),
            job.call(4, 2),
            of_another,
        ] {
            assert!(job.expects(&who, 2, 4).is_err_and(|why| why.is_some()), "{who:?}");
        }
        let daemon = Who { role: Role::Daemon, ..job.call(1, 2) };
        assert!(job.expects(&daemon, 2, 4).is_err());
    }
}
