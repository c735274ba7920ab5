//! The processes that have spawned this job (MPI-5.0 section 11.7).

use abi::Result;
use objects::domain::Token;

use crate::call::connect_to;
use crate::meeting::Group;
use crate::table::TABLE;

/// The name that the inter-communicator with the parents has.
const NAME: &str = "MPI_COMM_PARENT";

/// A spawned job joins its parents, in `MPI_Init`: all its processes call this.
///
/// # Errors
/// The parents are gone.
pub fn join_parent(t: &mut Token) -> Result<()> {
    let port = t.lock().world.as_ref().and_then(|world| world.job.parent.clone());
    let Some(port) = port else { return Ok(()) };
    let group = Group::of(t, abi::COMM_WORLD, 0)?;
    let parent = group.meet(t, |t| connect_to(t, &group, &port, None))?;
    let mut state = t.lock();
    NAME.clone_into(&mut state.comms.get_mut(parent)?.name);
    TABLE.get_mut(&mut state.tables).parent = Some(parent);
    Ok(())
}

/// `MPI_Comm_get_parent`: the null communicator where the job was not spawned, or the program has freed it.
pub fn get_parent(t: &mut Token, parent: &mut abi::Comm) -> Result<()> {
    let state = t.lock();
    let known = TABLE.get(&state.tables).parent;
    *parent = known.filter(|&comm| state.comms.find(comm).is_some()).unwrap_or(abi::COMM_NULL);
    Ok(())
}
