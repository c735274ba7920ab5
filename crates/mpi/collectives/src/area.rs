//! The shared area of a communicator whose processes are on one node: what `coll::shared` promises, over the
//! slots of the node's segment.

use abi::{Error, Result};
use coll::schedule::{Slot, Wake};
use coll::shared::SLOT_PAYLOAD;
use mem::UserMem;
use node::NodeArea;
use pml::Data;
use shm::area::Owner;

const _: () = {
    assert!(SLOT_PAYLOAD == shm::area::PAYLOAD && coll::shared::DEPTH == shm::area::DEPTH);
    assert!(coll::shared::SHORT == shm::area::SHORT && coll::shared::MEDIUM == shm::area::MEDIUM);
    assert!(
        coll::shared::BOUNCE_BUFFERS == shm::area::BOUNCE_BUFFERS[0]
            && coll::shared::BOUNCE_BYTES == shm::area::BOUNCE_BYTES
    );
};

/// Room for `bytes` bytes of payload of a slot, which the caller may write or read now: in the slot, or in its owner's
/// bounce buffer.
#[inline(always)]
pub(super) fn payload(area: &mut NodeArea, owner: Owner, epoch: u64, bytes: usize) -> UserMem {
    area.payload(owner, epoch, bytes, bytes > SLOT_PAYLOAD)
}

/// Whether a slot with `bytes` bytes of payload may be written; if not, this process is woken when that may have
/// changed.
#[inline(always)]
pub(super) fn has_room(area: &mut NodeArea, epoch: u64, bytes: usize) -> bool {
    if bytes > SLOT_PAYLOAD {
        area.has_bounce(epoch) && area.has_room(epoch, 0)
    } else {
        area.has_room(epoch, bytes)
    }
}

/// Writes so many bytes of `data` into a slot and wakes members by `wake`. `false`: the slot is still in use.
pub(super) fn publish(
    area: &mut NodeArea,
    slot: Slot,
    epoch: u64,
    (data, bytes): (Data, usize),
    wake: Wake,
) -> bool {
    if !has_room(area, epoch, bytes) {
        return false;
    }
    let owner = match slot {
        Slot::Of(_) => area.own(),
        Slot::Flag => Owner::Flag,
    };
    fill(payload(area, owner, epoch, bytes).part(0, bytes), data);
    announce(area, owner, epoch, &[], wake)
}

/// Writes all of `data` into room of that length.
pub(super) fn fill(room: UserMem, data: Data) {
    match data {
        Data::Contiguous(memory) => {
            memory.copy_to(room);
        }
        Data::Typed(mut stream) => {
            stream.fill(room.as_space());
        }
    }
}

/// Copies what a slot holds into `data` of that length.
pub(super) fn drain(slot: UserMem, data: Data) {
    match data {
        Data::Contiguous(memory) => {
            slot.copy_to(memory);
        }
        Data::Typed(mut stream) => {
            stream.drain(slot.as_bytes());
        }
    }
}

/// Publishes where a buffer of this process is. `false`: the slot is still in use.
pub(super) fn expose(area: &mut NodeArea, epoch: u64, data: Data, wake: Wake) -> Result<bool> {
    let Data::Contiguous(memory) = data else { return Err(NOT_ONE_RUN) };
    let own = area.own();
    Ok(announce(area, own, epoch, &[memory.address() as u64, memory.len() as u64], wake))
}

/// Publishes a slot that begins with these words and wakes members by `wake`. `false`: the slot is still in use.
pub(super) fn announce(area: &mut NodeArea, owner: Owner, epoch: u64, words: &[u64], wake: Wake) -> bool {
    if !area.has_room(epoch, 0) {
        return false;
    }
    area.slots().publish(owner, epoch, words);
    match wake {
        Wake::One(member) => area.ring(member as usize),
        Wake::All => area.ring_all(),
        Wake::None => {}
    }
    true
}

/// Once a slot carries `epoch`, copies its payload to the data of `into`, as many bytes as that gives; whether it does.
pub(super) fn observe(
    area: &mut NodeArea,
    slot: Slot,
    epoch: u64,
    into: impl FnOnce() -> Result<(Data, usize)>,
) -> Result<bool> {
    let owner = match slot {
        Slot::Of(member) => Owner::Member(member as usize),
        Slot::Flag => Owner::Flag,
    };
    if !area.slots().carries(owner, epoch) {
        return Ok(false);
    }
    let (data, bytes) = into()?;
    drain(payload(area, owner, epoch, bytes).part(0, bytes), data);
    Ok(true)
}

/// Copies from the buffer that `owner` exposed, `offset` bytes from its start, what fits `into`.
pub(super) fn get(
    area: &mut NodeArea,
    (owner, peer): (u32, btl::Peer),
    epoch: u64,
    offset: i64,
    into: Data,
) -> Result<()> {
    let Data::Contiguous(into) = into else { return Err(NOT_ONE_RUN) };
    let mut words = [0; 2];
    if !area.slots().observe(Owner::Member(owner as usize), epoch, &mut words) {
        return Err(Error::new(abi::ERR_INTERN, "a buffer was read before its owner exposed it"));
    }
    let [address, bytes] = words;
    let end = u64::try_from(offset).ok().and_then(|offset| offset.checked_add(into.len() as u64));
    if end.is_none_or(|end| end > bytes) {
        return Err(Error::new(
            abi::ERR_TRUNCATE,
            "a process gave less data to a collective than others expect",
        ));
    }
    let refused =
        Error::new(abi::ERR_PROC_ABORTED, "the memory of a process of this node cannot be read any more");
    area.node().read(peer, address.wrapping_add_signed(offset), into).map_err(|_| refused)
}

const NOT_ONE_RUN: Error = Error::new(abi::ERR_INTERN, "a buffer with holes was to be read directly");

/// The answer where a schedule wants an area that the communicator does not have.
pub(super) const NONE: Error = Error::new(abi::ERR_INTERN, "the communicator has no shared area");
