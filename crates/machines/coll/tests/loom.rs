//! Exchanges under loom, which tries all interleavings and all values that loads may see, over two slots for each process.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p alhena-coll --test loom`
#![cfg(loom)]

use coll::exchange::{Exchange, ExchangePlan, Meeting, NoPlaces, Operands, Participant, Slots, Tell};
use coll::schedule::Slot;
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use mem::UserMem;

const MEMBERS: usize = 2;
/// Slots of each member, and of the flag.
const DEPTH: usize = 2;

/// A slot of one word.
struct Kept {
    epoch: AtomicU64,
    payload: UnsafeCell<[u64; 1]>,
}

/// The least area.
struct Area {
    slots: [[Kept; DEPTH]; MEMBERS + 1],
    arrived: [AtomicU64; DEPTH],
    retired: [AtomicU64; MEMBERS],
}

impl Area {
    fn new() -> Area {
        let slot = || Kept { epoch: AtomicU64::new(0), payload: UnsafeCell::new([0]) };
        Area {
            slots: core::array::from_fn(|_| core::array::from_fn(|_| slot())),
            arrived: core::array::from_fn(|_| AtomicU64::new(0)),
            retired: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// A member's end.
struct End {
    area: Arc<Area>,
    me: usize,
    /// The epoch that it has published last, and that of the flag.
    published: [u64; 2],
}

// SAFETY: loom checks each access to a payload.
unsafe impl Sync for Area {}
// SAFETY: as above.
unsafe impl Send for Area {}

impl End {
    fn slot(&self, slot: Slot, epoch: u64) -> &Kept {
        let group = match slot {
            Slot::Of(member) => member as usize,
            Slot::Flag => MEMBERS,
        };
        &self.area.slots[group][epoch as usize % DEPTH]
    }

    /// Which entry of `published` stands for a slot that this process writes.
    fn entry(&self, slot: Slot) -> Option<usize> {
        match slot {
            Slot::Of(member) if member as usize == self.me => Some(0),
            Slot::Of(_) => None,
            Slot::Flag => Some(1),
        }
    }
}

impl Slots for End {
    type Kernel = ();

    fn members(&self) -> usize {
        MEMBERS
    }

    fn me(&self) -> usize {
        self.me
    }

    fn has_room(&mut self, epoch: u64, _bytes: usize) -> bool {
        // Acquire: pairs with the Release in `retire`.
        self.area.retired.iter().all(|retired| retired.load(Ordering::Acquire) + DEPTH as u64 >= epoch)
    }

    fn payload(&mut self, slot: Slot, epoch: u64, bytes: usize) -> UserMem {
        let seen = self.slot(slot, epoch).epoch.load(Ordering::Acquire) == epoch;
        let is_writer = self.entry(slot).is_some_and(|entry| self.published[entry] < epoch);
        let slot = self.slot(slot, epoch);
        let address = match is_writer && !seen {
            true => slot.payload.with_mut(|words| words as usize),
            false => slot.payload.with(|words| words as usize),
        };
        // SAFETY: the area outlives the call; loom has checked the access.
        unsafe { UserMem::new(address, bytes) }
    }

    fn publish(&mut self, slot: Slot, epoch: u64, _words: &[u64]) {
        let entry = self.entry(slot).expect("an own slot, or the flag");
        self.published[entry] = epoch;
        self.slot(slot, epoch).epoch.store(epoch, Ordering::Release);
    }

    fn publish_more(&mut self, _epoch: u64) {
        unreachable!("no prefix is run");
    }

    fn carries(&mut self, slot: Slot, epoch: u64) -> bool {
        self.slot(slot, epoch).epoch.load(Ordering::Acquire) == epoch
    }

    fn carries_more(&mut self, _member: usize, _epoch: u64) -> bool {
        unreachable!("no prefix is run");
    }

    fn observe(&mut self, _member: usize, _epoch: u64, _words: &mut [u64]) -> bool {
        unreachable!("there are no parts");
    }

    fn arrive(&mut self, epoch: u64) -> bool {
        let counter = &self.area.arrived[epoch as usize % DEPTH];
        let last = counter.fetch_add(1, Ordering::AcqRel) + 1 == MEMBERS as u64;
        if last {
            counter.store(0, Ordering::Relaxed);
        }
        last
    }

    fn retire(&mut self, epoch: u64) {
        self.area.retired[self.me].store(epoch, Ordering::Release);
    }

    fn ring(&mut self, _tell: Tell) {}

    fn combine(&mut self, (): (), into: UserMem, left: UserMem, right: UserMem, _count: u64) {
        let word = |memory: UserMem| u64::from_ne_bytes(memory.as_bytes().to_vec().try_into().unwrap());
        let mut sum = (word(left) + word(right)).to_ne_bytes();
        // SAFETY: the bytes outlive the view.
        into.write(unsafe { UserMem::of(&mut sum) }.as_bytes());
    }
}

/// Both members make `calls` calls, of which `call` gives plan and check.
fn run(
    calls: u64,
    call: impl Fn(usize, u64, UserMem) -> (ExchangePlan<(), NoPlaces>, u64) + Copy + Send + Sync + 'static,
) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let area = Arc::new(Area::new());
        let make = move |me: usize, area: Arc<Area>| {
            let mut end = End { area, me, published: [0; 2] };
            for epoch in 1..=calls {
                let mut data = [0u8; 8];
                // SAFETY: the bytes outlive the call.
                let (plan, wanted) = call(me, epoch, unsafe { UserMem::of(&mut data) });
                let mut exchange = Exchange::new(end, epoch, plan);
                while !exchange.poll() {
                    thread::yield_now();
                }
                end = exchange.into_slots();
                assert_eq!(u64::from_ne_bytes(data), wanted);
            }
        };
        let other = {
            let area = Arc::clone(&area);
            thread::spawn(move || make(1, area))
        };
        make(0, area);
        other.join().unwrap();
    });
}

fn set(memory: UserMem, value: u64) {
    let mut bytes = value.to_ne_bytes();
    // SAFETY: the bytes outlive the view.
    memory.write(unsafe { UserMem::of(&mut bytes) }.as_bytes());
}

fn allreduce(meeting: Meeting) {
    run(3, move |me, epoch, data| {
        set(data, epoch * 10 + me as u64);
        let place = Participant { me, members: MEMBERS, meeting };
        let operands = Operands { kernel: (), count: 1, own: data, into: data, in_place: true };
        (place.allreduce(operands), epoch * 20 + 1)
    });
}

/// What the members wrote before is read after, and slots are not written while others read them.
#[test]
fn an_allreduce_by_slots() {
    allreduce(Meeting::Slots);
}

#[test]
fn an_allreduce_at_the_flag() {
    allreduce(Meeting::Flag);
}

/// The root runs ahead until its slots are used up.
#[test]
fn broadcasts() {
    run(4, |me, epoch, data| {
        if me == 0 {
            set(data, epoch);
        }
        (Participant { me, members: MEMBERS, meeting: Meeting::Slots }.bcast(0, data), epoch)
    });
}
