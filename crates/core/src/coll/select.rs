//! Which algorithm a call uses, and the schedules that a communicator keeps.

use std::sync::Arc;

use abi::{Error, Result};
use coll::algorithms as a;
use coll::{Coll, Key, Params, Schedule};

use super::call::Call;
use crate::state::State;

/// What a communicator remembers for its collectives.
#[derive(Default)]
pub(crate) struct CollState {
    /// Tag of the latest call.
    sequence: u32,
    /// Schedules built so far, latest used first.
    schedules: Vec<(Coll, Key, Arc<Schedule>)>,
}

/// Bits of a tag that count calls; the bit above sets calls of `MPI_Comm_create_group` apart.
const SEQUENCE_BITS: u32 = 29;
const APART: u32 = 1 << 30;

impl CollState {
    /// The tag of the next call. The program's other calls on the same communicator never have it.
    pub fn next_tag(&mut self) -> i32 {
        let mask = (1 << SEQUENCE_BITS) - 1;
        self.sequence = self.sequence & !mask | self.sequence.wrapping_add(1) & mask;
        self.sequence as i32
    }

    /// Calls of this communicator borrow another one's context, under tags that follow from `tag`.
    pub fn start_apart(&mut self, tag: u32) {
        self.sequence = APART | tag.wrapping_mul(8) & ((1 << SEQUENCE_BITS) - 1);
    }
}

/// The schedule of a call, from the communicator's store or built now.
pub(super) fn schedule(state: &mut State, call: &Call) -> Result<Arc<Schedule>> {
    let comm = state.comms.get_mut(call.comm)?;
    let params = Params {
        remote: comm.remote.as_ref().map(|remote| remote.size()),
        root: call.root,
        in_place: call.in_place,
        commutative: call.commutative(),
        contiguous: call.contiguous(),
        ..Params::new(comm.rank, comm.size())
    };
    let key = params.key(0);
    let store = &mut comm.coll.schedules;
    if let Some(at) = store.iter().position(|(coll, k, _)| *coll == call.coll && *k == key) {
        store[..=at].rotate_right(1);
        return Ok(store[0].2.clone());
    }
    let built = Arc::new(build(call.coll, &params)?);
    store.insert(0, (call.coll, key, built.clone()));
    Ok(built)
}

fn build(coll: Coll, params: &Params<'_>) -> Result<Schedule> {
    Ok(match coll {
        Coll::Barrier => a::barrier::dissemination(params),
        Coll::Bcast => a::bcast::binomial(params),
        Coll::Gather => a::gather::binomial(params),
        Coll::Allgather => a::allgather::ring(params),
        Coll::Reduce => a::reduce::binomial(params),
        Coll::Allreduce => a::allreduce::recursive_doubling(params),
        _ => return Err(Error::unsupported("this collective has no algorithm yet")),
    })
}
