//! The lock-free structures under loom, which tries all interleavings and all values that relaxed loads may see.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p alhena-shm --test loom`
#![cfg(loom)]

use loom::model::Builder;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use mem::UserMem;
use shm::doorbell::Doorbell;
use shm::fastbox::{self, Block, Fastbox, Item, Slot};
use shm::queue::{self, Queue};

/// Runs `body` in all interleavings with at most three involuntary switches, which bounds the time.
fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

/// Memory of a fastbox with two slots and the least data, forgotten at the end of each run.
fn fastbox() -> Fastbox<'static> {
    Fastbox {
        slots: Vec::leak((0..2).map(|_| Slot::default()).collect()),
        blocks: Vec::leak((0..4).map(|_| Block::default()).collect()),
        progress: Box::leak(Box::default()),
    }
}

/// `len` bytes of value `fill`.
fn payload(fill: u8, len: usize) -> UserMem {
    // SAFETY: the bytes are leaked, hence valid.
    unsafe { UserMem::of(Vec::leak(vec![fill; len])) }
}

/// Short messages, notes and messages with data lap the ring, in order and whole.
#[test]
fn fastbox_messages_arrive_whole_and_in_order() {
    // A block holds 64 bytes, and six header words leave no room for them in the slot.
    const LENS: [usize; 4] = [8, 64, 0, 64];
    model(|| {
        let memory = fastbox();
        let sending = thread::spawn(move || {
            let mut sender = fastbox::Sender::new(memory);
            for (number, len) in LENS.into_iter().enumerate() {
                let header = vec![number as u64; if len == 64 { 8 } else { 2 }];
                while sender.send(&header, &mut payload(number as u8, len)).is_err() {
                    thread::yield_now();
                }
            }
        });
        let mut receiver = fastbox::Receiver::new(memory);
        for (number, len) in LENS.into_iter().enumerate() {
            let word = loop {
                match receiver.poll() {
                    Some(word) => break word,
                    None => thread::yield_now(),
                }
            };
            let Item::Message(views) = receiver.open(word) else { panic!("a message") };
            assert_eq!(views.header.word(1), number as u64);
            assert_eq!(views.payload.to_vec(), vec![number as u8; len]);
            receiver.advance();
        }
        sending.join().unwrap();
    });
}

/// Two senders share two slots: what was accepted arrives once, and in order per sender. A sender gives up when it
/// finds the queue full and the receiver looks a few times only, so that no run is endless.
#[test]
fn queue_entries_arrive_once_and_in_order() {
    model(|| {
        let slots: &[queue::Slot] = Vec::leak((0..2).map(|_| queue::Slot::default()).collect());
        let queue = Queue::new(slots, Box::leak(Box::default()));
        let send = move |entries: &'static [u64]| {
            let mut accepted = Vec::new();
            for &entry in entries {
                if let Ok(place) = queue.claim() {
                    queue.publish(place, entry);
                    accepted.push(entry);
                }
            }
            accepted
        };
        let one = thread::spawn(move || send(&[11, 12]));
        let other = thread::spawn(move || send(&[21, 22]));
        let mut receiver = queue::Receiver::new(queue);
        let mut got: Vec<u64> = (0..3).filter_map(|_| receiver.take()).collect();
        let accepted = [one.join().unwrap(), other.join().unwrap()];
        got.extend(core::iter::from_fn(|| receiver.take()));
        for (sender, accepted) in accepted.into_iter().enumerate() {
            let tens = sender as u64 + 1;
            let of_sender: Vec<u64> = got.iter().copied().filter(|entry| entry / 10 == tens).collect();
            assert_eq!(of_sender, accepted);
        }
        // Everything was taken: both slots are free.
        let places = [queue.claim(), queue.claim()];
        assert!(places.iter().all(Result::is_ok) && queue.claim().is_err());
    });
}

/// What the kernel does for a futex word, in terms that loom knows.
#[derive(Default)]
struct Futex {
    wakes: Mutex<u32>,
    woken: Condvar,
}

impl Futex {
    fn wait(&self, bell: &Doorbell, expected: u32) {
        let mut wakes = self.wakes.lock().unwrap();
        let before = *wakes;
        // As in the kernel, the word is compared under the lock that a wake takes.
        while bell.current() == expected && *wakes == before {
            wakes = self.woken.wait(wakes).unwrap();
        }
    }

    fn wake(&self) {
        *self.wakes.lock().unwrap() += 1;
        self.woken.notify_all();
    }
}

/// A receiver that sleeps whenever it finds nothing gets all messages of two senders: a lost wake-up would leave
/// it asleep for good, which loom reports as a deadlock.
///
/// The senders execute fences here; membarrier is by its definition the same, ordered by the sleeper instead.
#[test]
fn doorbell_loses_no_wake_up() {
    model(|| {
        let bell = Arc::new(Doorbell::default());
        let futex = Arc::new(Futex::default());
        let arrived = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        bell.ask_for_fences();
        let senders: Vec<_> = (0..2)
            .map(|sender| {
                let (bell, futex, arrived) = (bell.clone(), futex.clone(), arrived.clone());
                thread::spawn(move || {
                    arrived[sender].store(1, Ordering::Release);
                    bell.ring(|_| futex.wake());
                })
            })
            .collect();
        let all_here = || arrived.iter().all(|flag| flag.load(Ordering::Acquire) == 1);
        while !all_here() {
            let expected = bell.arm(|| unreachable!("senders execute fences")).unwrap();
            if !all_here() {
                futex.wait(&bell, expected);
            }
            bell.disarm();
        }
        for sender in senders {
            sender.join().unwrap();
        }
    });
}

/// A sender that sleeps for want of room is woken by the receiver that makes room, and not only by messages.
#[test]
fn doorbell_loses_no_room() {
    model(|| {
        let bell = Arc::new(Doorbell::default());
        let futex = Arc::new(Futex::default());
        let room = Arc::new(AtomicU32::new(0));
        bell.ask_for_fences();
        let receiver = {
            let (bell, futex, room) = (bell.clone(), futex.clone(), room.clone());
            thread::spawn(move || {
                room.store(1, Ordering::Release);
                bell.ring_for_room(|_| futex.wake());
            })
        };
        while room.load(Ordering::Acquire) == 0 {
            let expected = bell.arm_for_room(|| true).unwrap();
            if room.load(Ordering::Acquire) == 0 {
                futex.wait(&bell, expected);
            }
            bell.disarm();
        }
        receiver.join().unwrap();
    });
}

/// A thread that completes what another one waits for ends its sleep, also when that one has only armed.
#[test]
fn doorbell_wakes_threads_of_its_owner() {
    model(|| {
        let bell = Arc::new(Doorbell::default());
        let futex = Arc::new(Futex::default());
        let done = Arc::new(Mutex::new(false));
        bell.ask_for_fences();
        let other = {
            let (bell, futex, done) = (bell.clone(), futex.clone(), done.clone());
            thread::spawn(move || {
                // This thread sleeps for something of its own in between, and arms the same word.
                bell.arm(|| true);
                bell.disarm();
                *done.lock().unwrap() = true;
                bell.wake_own(|_| futex.wake());
            })
        };
        loop {
            let expected = bell.arm(|| true).unwrap();
            if *done.lock().unwrap() {
                break;
            }
            futex.wait(&bell, expected);
            bell.disarm();
        }
        other.join().unwrap();
    });
}

/// Two threads of the owner sleep, each for a message of its own. The first that wakes must not end the announcement of
/// the other, which may have armed again: the owner counts them, and the last disarms.
#[test]
fn doorbell_rings_for_two_sleeping_threads() {
    model(|| {
        let bell = Arc::new(Doorbell::default());
        let futex = Arc::new(Futex::default());
        let sleepers = Arc::new(Mutex::new(0u32));
        let arrived = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        bell.ask_for_fences();
        let sender = {
            let (bell, futex, arrived) = (bell.clone(), futex.clone(), arrived.clone());
            thread::spawn(move || {
                for flag in arrived.iter() {
                    flag.store(1, Ordering::Release);
                    bell.ring(|_| futex.wake());
                }
            })
        };
        let waiter = |which: usize| {
            let (bell, futex, sleepers, arrived) =
                (bell.clone(), futex.clone(), sleepers.clone(), arrived.clone());
            move || {
                loop {
                    let expected = {
                        let mut sleepers = sleepers.lock().unwrap();
                        let expected = bell.arm(|| true).unwrap();
                        if arrived[which].load(Ordering::Acquire) == 1 {
                            if *sleepers == 0 {
                                bell.disarm();
                            }
                            return;
                        }
                        *sleepers += 1;
                        expected
                    };
                    futex.wait(&bell, expected);
                    let mut sleepers = sleepers.lock().unwrap();
                    *sleepers -= 1;
                    if *sleepers == 0 {
                        bell.disarm();
                    }
                }
            }
        };
        let other = thread::spawn(waiter(0));
        waiter(1)();
        other.join().unwrap();
        sender.join().unwrap();
    });
}

/// A bounce buffer goes to a receiver and back; the owner does not fill it while it is read.
#[test]
fn a_bounce_is_not_reused_while_it_is_read() {
    use shm::bounce::{BounceHead, Pool};
    model(|| {
        let heads: &'static [BounceHead] = Vec::leak((0..1).map(|_| BounceHead::default()).collect());
        let slots: &[queue::Slot] = Vec::leak((0..2).map(|_| queue::Slot::default()).collect());
        let queue = Queue::new(slots, Box::leak(Box::default()));
        let sending = thread::spawn(move || {
            let mut pool = Pool::new(heads);
            for number in 0..2 {
                let bounce = loop {
                    match pool.take() {
                        Some(bounce) => break bounce,
                        None => thread::yield_now(),
                    }
                };
                heads[bounce as usize].fill(&[number], 0);
                queue.publish(queue.claim().unwrap(), u64::from(bounce) + 1);
            }
        });
        let mut receiver = queue::Receiver::new(queue);
        for number in 0..2 {
            let entry = loop {
                match receiver.take() {
                    Some(entry) => break entry,
                    None => thread::yield_now(),
                }
            };
            let head = &heads[entry as usize - 1];
            let (header, len) = head.read(0).unwrap();
            assert_eq!((header.word(0), len), (number, 0));
            head.free();
        }
        sending.join().unwrap();
    });
}

/// A bounce buffer that was read carries an answer, unless its owner has taken it again: one of both gets it.
#[test]
fn a_free_bounce_is_borrowed_or_taken() {
    use shm::bounce::{BounceHead, Pool};
    model(|| {
        let heads: &'static [BounceHead] = Vec::leak((0..1).map(|_| BounceHead::default()).collect());
        let slots: &[queue::Slot] = Vec::leak((0..2).map(|_| queue::Slot::default()).collect());
        let queue = Queue::new(slots, Box::leak(Box::default()));
        let mut pool = Pool::new(heads);
        assert_eq!(pool.take(), Some(0));
        heads[0].fill(&[1], 0);
        let answering = thread::spawn(move || {
            let (header, _) = heads[0].read(0).unwrap();
            assert_eq!(header.word(0), 1);
            heads[0].free();
            if heads[0].borrow() {
                heads[0].fill(&[2], 0);
                queue.publish(queue.claim().unwrap(), 1);
                return true;
            }
            false
        });
        let taken = pool.take().is_some();
        if taken {
            heads[0].fill(&[3], 0);
        }
        let answered = answering.join().unwrap();
        assert_ne!(answered, taken);
        if answered {
            assert_eq!(queue::Receiver::new(queue).take(), Some(1));
            assert!(heads[0].is_borrowed());
            assert_eq!(heads[0].read(0).unwrap().0.word(0), 2);
            heads[0].free();
            assert_eq!(pool.take(), Some(0));
        }
    });
}

/// A record that is replaced while it is read is whole or not taken.
#[test]
fn a_record_is_of_one_call() {
    use shm::record::{Record, WORDS};
    model(|| {
        let record: &'static Record = Box::leak(Box::default());
        let owner = thread::spawn(move || {
            for call in 1..=3 {
                record.write(call, [call; WORDS]);
            }
        });
        if let Some(words) = record.read(2) {
            assert_eq!(words, [2; WORDS]);
        }
        owner.join().unwrap();
        assert_eq!(record.read(3), Some([3; WORDS]));
    });
}

/// A dead member's part in an area is given back once, however many processes see that it is dead.
#[test]
fn a_dead_member_is_released_once() {
    use shm::area::Entry;
    model(|| {
        let entry: &'static Entry = Box::leak(Box::default());
        assert_eq!(entry.claim(&[0, 1, 2]), Some(0));
        let releases = [(0, 5), (2, 4)].map(|(own, epoch)| {
            thread::spawn(move || {
                entry.release(1, epoch);
                entry.release(own, epoch);
            })
        });
        releases.into_iter().for_each(|release| release.join().unwrap());
        assert!(entry.claim(&[0, 2]).is_some());
        entry.release(1, 7);
        assert!(entry.claim(&[0]).is_none(), "it is none of those that hold it now");
    });
}

/// Members leave an area in any order; the next one that takes it begins after all their epochs.
#[test]
fn an_area_begins_after_its_last_members() {
    use shm::area::{Entry, SLOTS};
    model(|| {
        let entry: &'static Entry = Box::leak(Box::default());
        assert_eq!(entry.claim(&[0, 70]), Some(0));
        let members =
            [(0, 5), (70, 9)].map(|(place, epoch)| thread::spawn(move || entry.release(place, epoch)));
        if let Some(base) = entry.claim(&[1]) {
            assert_eq!(base, 9 + SLOTS as u64);
        }
        for member in members {
            member.join().unwrap();
        }
    });
}

/// Owner and receiver of a joint copy claim each chunk once, and the owner sees the whole job or none.
#[test]
fn chunks_of_a_joint_copy_are_claimed_once() {
    use shm::joint::{Control, Job};
    const JOB: Job = Job { target: 7, offset: 8, len: 20, chunk: 10, receiver: 3 };
    model(|| {
        let control: &'static Control = Box::leak(Box::default());
        control.prepare(1);
        let receiver = thread::spawn(move || {
            assert!(control.open(1, &JOB));
            let mut taken = 0;
            while control.claim(1, JOB.chunks()).is_some() {
                taken += 1;
            }
            (taken, control.close(1))
        });
        let mut pushed = 0;
        if let Some(job) = control.job(1) {
            assert_eq!(job, JOB);
            while control.claim(1, job.chunks()).is_some() {
                pushed += 1;
                control.pushed(1, pushed);
            }
        }
        let (taken, claimed) = receiver.join().unwrap();
        assert_eq!((taken + pushed, claimed), (2, Some(2)));
        assert_eq!(control.progress(1), Some((pushed, None)));
    });
}
