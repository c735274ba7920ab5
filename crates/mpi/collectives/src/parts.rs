//! Data of any layout in slots with a part for each member ([`coll::exchange::Parts`]).

use abi::Result;
use coll::exchange::{Parts, TOO_LONG};
use coll::schedule::Wake;
use node::NodeArea;
use pml::Data;

use super::area::{announce, drain, fill};
use super::slots::OfNode;

/// Writes the parts that `part` gives into the own slot and wakes members by `wake`. `false`: the slot is still in use.
pub(super) fn publish(
    area: &mut NodeArea,
    epoch: u64,
    parts: &Parts,
    wake: Wake,
    part: impl Fn(usize) -> Result<Data>,
) -> Result<bool> {
    let Some(room) = parts.room(&mut OfNode(&mut *area), epoch) else { return Ok(false) };
    for member in 0..area.members() {
        let room = parts.part(room, member);
        if !room.is_empty() {
            fill(room, part(member)?);
        }
    }
    let own = area.own();
    Ok(announce(area, own, epoch, parts.words(), wake))
}

/// Copies the own part of a slot into `data` once it carries `epoch`; whether it does.
pub(super) fn observe(
    area: &mut NodeArea,
    member: usize,
    epoch: u64,
    into: impl FnOnce() -> Result<Data>,
) -> Result<bool> {
    let Some(part) = Parts::own_in(&mut OfNode(area), member, epoch) else { return Ok(false) };
    let data = into()?;
    if data.total() < part.len() as u64 {
        return Err(TOO_LONG);
    }
    drain(part, data);
    Ok(true)
}
