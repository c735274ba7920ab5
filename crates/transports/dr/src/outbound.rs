//! What has been sent and is not acknowledged.

use std::collections::VecDeque;

use crate::config::Time;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// It is to leave, for the first time or again.
    Queued,
    /// It has left.
    Out,
    /// The peer has it.
    Acked,
}

#[derive(Debug)]
pub(crate) struct Slot {
    pub body: Vec<u8>,
    /// Words of the carried header.
    pub words: u8,
    /// The payload's checksum, once it was made.
    pub sum: Option<u32>,
    pub stage: Stage,
    /// How often it has left, up to 255.
    pub attempt: u8,
    pub path: u8,
    /// Its number on that path.
    pub departure: u64,
    /// `None`: it left when no time was at hand.
    pub sent_at: Option<Time>,
}

/// The slots, by sequence.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// The sequence of the first slot.
    base: u64,
    slots: VecDeque<Slot>,
    bytes: usize,
    queued: u32,
    /// No slot before this sequence is queued.
    queued_from: u64,
    /// Memory of slots, used again, and its bytes.
    spare: Vec<Vec<u8>>,
    spare_bytes: usize,
}

const MOST_SPARE: usize = 16;
/// More is given back.
const SPARE_BYTES: usize = 512 << 10;

impl Outbound {
    pub(crate) fn new(first: u64) -> Outbound {
        Outbound {
            base: first,
            slots: VecDeque::new(),
            bytes: 0,
            queued: 0,
            queued_from: first,
            spare: Vec::new(),
            spare_bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn has_queued(&self) -> bool {
        self.queued > 0
    }

    /// The oldest sequence that is not acknowledged, or the next one.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The sequence of the next frame.
    pub(crate) fn next(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    /// Memory for a body of `len` bytes, of whatever content.
    pub(crate) fn memory(&mut self, len: usize) -> Vec<u8> {
        let mut body = self.spare.pop().unwrap_or_default();
        self.spare_bytes -= body.capacity();
        // What is longer is not cleared first.
        body.resize(len, 0);
        body
    }

    pub(crate) fn push(&mut self, body: Vec<u8>, words: u8) {
        self.bytes += body.len();
        self.queued += 1;
        let slot = Slot {
            body,
            words,
            sum: None,
            stage: Stage::Queued,
            attempt: 0,
            path: 0,
            departure: 0,
            sent_at: None,
        };
        self.slots.push_back(slot);
    }

    pub(crate) fn get(&mut self, sequence: u64) -> Option<&mut Slot> {
        let index = sequence.checked_sub(self.base)?;
        self.slots.get_mut(usize::try_from(index).ok()?)
    }

    /// The first frame that is to leave.
    pub(crate) fn first_queued(&mut self) -> Option<(u64, &mut Slot)> {
        if self.queued == 0 {
            return None;
        }
        let from = (self.queued_from.max(self.base) - self.base) as usize;
        let index = (from..self.slots.len()).find(|&at| self.slots[at].stage == Stage::Queued)?;
        self.queued_from = self.base + index as u64;
        Some((self.queued_from, &mut self.slots[index]))
    }

    /// The frame that [`Outbound::first_queued`] gave has left.
    pub(crate) fn left(&mut self) {
        self.queued -= 1;
        self.queued_from += 1;
    }

    /// All frames that are out, oldest first.
    pub(crate) fn out(&mut self) -> impl Iterator<Item = (u64, &mut Slot)> {
        let base = self.base;
        let all = self.slots.iter_mut().enumerate();
        all.filter(|(_, slot)| slot.stage == Stage::Out).map(move |(at, slot)| (base + at as u64, slot))
    }

    /// The frame, which is out, is to leave again.
    pub(crate) fn requeue(&mut self, sequence: u64) {
        let slot = self.get(sequence).expect("a frame that is out has a slot");
        slot.stage = Stage::Queued;
        self.queued += 1;
        self.queued_from = self.queued_from.min(sequence);
    }

    /// The peer has this frame. What it was if that is new: whether it was out.
    pub(crate) fn acknowledge(&mut self, sequence: u64) -> Option<Stage> {
        let slot = self.get(sequence)?;
        let before = core::mem::replace(&mut slot.stage, Stage::Acked);
        match before {
            Stage::Acked => return None,
            Stage::Queued => self.queued -= 1,
            Stage::Out => {}
        }
        Some(before)
    }

    /// Frees what is acknowledged without a gap.
    pub(crate) fn free(&mut self) {
        while self.slots.front().is_some_and(|slot| slot.stage == Stage::Acked) {
            let slot = self.slots.pop_front().expect("it has just been seen");
            self.base += 1;
            self.bytes -= slot.body.len();
            let spare_bytes = self.spare_bytes + slot.body.capacity();
            if self.spare.len() < MOST_SPARE && spare_bytes <= SPARE_BYTES {
                self.spare_bytes = spare_bytes;
                self.spare.push(slot.body);
            }
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.base = self.next();
        self.slots.clear();
        (self.bytes, self.queued) = (0, 0);
    }
}
