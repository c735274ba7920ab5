//! Buffers that frames leave from, and what becomes of each frame.

use btl::Peer;
use mem::UserMem;
use portals::{Descriptor, Eq, Md, Options, Portals, Result, Unlink};

/// Payload up to which a frame takes a small buffer.
pub(crate) const SMALL: usize = 1024;

/// Bytes of a header but its first word.
pub(crate) const HEADER_ROOM: usize = 8 * (btl::MAX_HEADER_WORDS - 1);

/// A buffer with its descriptor, which takes any number of puts.
pub(crate) struct Slot {
    pub(crate) memory: UserMem,
    pub(crate) md: Md,
    small: bool,
    /// The frame in it.
    pub(crate) frame: Option<Frame>,
}

/// A frame under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) peer: Peer,
    pub(crate) len: usize,
    pub(crate) match_bits: u64,
    pub(crate) hdr_data: u64,
    /// Its memory has been read.
    pub(crate) left: bool,
    /// The target has answered: whether it took all of it.
    pub(crate) taken: Option<bool>,
}

/// All buffers of a process, made when first needed.
pub(crate) struct Slots {
    slots: Vec<Slot>,
    /// Free ones: small, large.
    free: [Vec<u32>; 2],
    made: [usize; 2],
    most: usize,
    bytes: [usize; 2],
    eq: Eq,
    /// Frames under way.
    pub(crate) busy: usize,
}

impl Slots {
    pub(crate) fn new(most: usize, max_send: usize, eq: Eq) -> Slots {
        let bytes = [SMALL.min(max_send) + HEADER_ROOM, max_send + HEADER_ROOM];
        Slots { slots: Vec::new(), free: Default::default(), made: [0; 2], most, bytes, eq, busy: 0 }
    }

    /// Whether a frame with so much payload could have a buffer.
    pub(crate) fn has_room(&self, payload: usize) -> bool {
        let class = usize::from(payload > SMALL);
        !self.free[class].is_empty() || self.made[class] < self.most
    }

    /// A free buffer for a frame with so much payload.
    pub(crate) fn take<N: Portals>(&mut self, nic: &mut N, payload: usize) -> Option<u32> {
        let class = usize::from(payload > SMALL);
        if let Some(slot) = self.free[class].pop() {
            return Some(slot);
        }
        if self.made[class] == self.most {
            return None;
        }
        let slot = self.slots.len() as u32;
        let made = self.make(nic, class, slot).ok()?;
        self.slots.push(made);
        self.made[class] += 1;
        Some(slot)
    }

    fn make<N: Portals>(&self, nic: &mut N, class: usize, slot: u32) -> Result<Slot> {
        let memory = portals::lasting(self.bytes[class]);
        let descriptor = Descriptor {
            options: Options::EVENT_START_DISABLE,
            user: slot.into(),
            eq: Some(self.eq),
            ..Descriptor::of(memory)
        };
        let md = nic.md_bind(&descriptor, Unlink::Retain)?;
        Ok(Slot { memory, md, small: class == 0, frame: None })
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Slot> {
        self.slots.get_mut(slot as usize)
    }

    /// The frame in a buffer is over.
    pub(crate) fn give(&mut self, slot: u32) {
        let Some(place) = self.slots.get_mut(slot as usize) else { return };
        if place.frame.take().is_some() {
            self.busy -= 1;
            self.free[usize::from(!place.small)].push(slot);
        }
    }

    /// Whether no frame's memory is still to be read.
    pub(crate) fn all_left(&self) -> bool {
        self.slots.iter().all(|slot| slot.frame.is_none_or(|frame| frame.left))
    }

    /// Buffers whose frame is for `peer`.
    pub(crate) fn of_peer(&self, peer: Peer) -> Vec<u32> {
        let for_peer = |slot: &Slot| slot.frame.is_some_and(|frame| frame.peer == peer);
        (0..).zip(&self.slots).filter(|(_, slot)| for_peer(slot)).map(|(number, _)| number).collect()
    }
}
