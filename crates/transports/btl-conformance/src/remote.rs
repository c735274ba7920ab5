//! Memory registered for all peers: reads, writes, atomic operations and flushes.

use btl::{Atomic, Atomics, Btl, Event, Flushed, Peer, Refusal, Remote, RemoteKey};
use mem::UserMem;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::world::{Endpoints, calls, next_event, view};
use crate::{fill, verify};

const SIZES: [usize; 11] = [1, 2, 3, 8, 61, 4096, 4099, 8193, 65_536, 100_001, 1 << 20];

/// Where accesses begin: in the owner's memory, and in the user's.
const PLACES: [(usize, usize); 5] = [(0, 0), (1, 3), (4, 8), (7, 0), (2, 6)];

/// An owner of registered memory, the first endpoint, and a user, the last.
struct Pair<B> {
    world: Endpoints<B>,
    at: usize,
    remote: Remote,
    key: RemoteKey,
}

const OWNER: Peer = Peer(0);

impl<B: Btl> Pair<B> {
    /// `None`: the transport has no such memory, or no registration left for it.
    fn of(mut world: Endpoints<B>, memory: UserMem) -> Option<Pair<B>> {
        let at = world.receiver();
        let user = Peer(at as u32);
        let remote = world.ends[at].remote(OWNER)?;
        let key = world.ends[0].register(user, memory).ok()?;
        Some(Pair { world, at, remote, key })
    }

    /// Begins an operation, letting all work while it is refused as busy.
    fn begin(&mut self, mut operation: impl FnMut(&mut B, &RemoteKey) -> Result<(), Refusal>) {
        for _ in calls() {
            match operation(&mut self.world.ends[self.at], &self.key) {
                Ok(()) => return,
                Err(Refusal::Busy) => self.work(),
                Err(Refusal::Unfit) => panic!("an operation is refused that the transport offers"),
            }
        }
        panic!("an operation stays busy");
    }

    fn work(&mut self) {
        for end in &mut self.world.ends {
            assert_eq!(next_event(end), None);
            assert!(end.next_arrival().is_none());
        }
    }

    fn flush(&mut self) {
        for _ in calls() {
            match self.world.ends[self.at].flush(OWNER) {
                Flushed::Done => return,
                Flushed::Pending => self.work(),
                Flushed::Failed => panic!("a write or update has failed"),
            }
        }
        panic!("writes and updates do not end");
    }

    fn read(&mut self, into: UserMem, offset: u64) {
        self.begin(|end, key| end.read(OWNER, into, key, offset, 5));
        assert_eq!(self.world.event(self.at), Event::Done(5));
    }

    fn fetch(&mut self, change: Atomic, offset: u64) -> u64 {
        let mut before = [0; 8];
        let into = view(&mut before);
        self.begin(|end, key| end.fetch(OWNER, change, into, key, offset, 6));
        assert_eq!(self.world.event(self.at), Event::Done(6));
        u64::from_ne_bytes(before)
    }

    fn end(mut self) {
        let user = Peer(self.at as u32);
        self.world.ends[0].deregister(user, self.key);
        self.world.ends[0].deregister(user, self.key);
    }
}

/// Reads and writes of any length reach any place, and nothing beside it.
pub fn registered_memory_is_read_and_written_anywhere<B: Btl>(world: Endpoints<B>) {
    let mut memory = vec![0; (1 << 20) + 64];
    let Some(mut pair) = Pair::of(world, view(&mut memory)) else { return };
    let remote = pair.remote;
    for (round, (len, (there, here))) in
        SIZES.into_iter().flat_map(|len| PLACES.map(|place| (len, place))).enumerate()
    {
        let (len, seed) = (len.min(remote.max), round as u64);
        memory.fill(7);
        let mut local = vec![9; here + len + 8];
        local[here..here + len].copy_from_slice(&fill(seed, len));
        let part = view(&mut local).part(here, len);
        pair.begin(|end, key| end.write(OWNER, part, key, there as u64));
        pair.flush();
        verify(seed, 0, &memory[there..there + len]);
        assert!(
            memory[..there].iter().chain(&memory[there + len..]).all(|&byte| byte == 7),
            "{len} at {there}"
        );
        let straight = [local.as_ptr() as usize + here, memory.as_ptr() as usize + there, len];
        if straight.iter().any(|number| !number.is_multiple_of(remote.align)) && len > remote.max_unaligned {
            continue;
        }
        local.fill(9);
        pair.read(view(&mut local).part(here, len), there as u64);
        verify(seed, 0, &local[here..here + len]);
        assert!(local[..here].iter().chain(&local[here + len..]).all(|&byte| byte == 9), "{len} into {here}");
    }
    pair.end();
}

/// One registration serves all peers, each with many writes under way at a time.
pub fn registered_memory_serves_all_peers<B: Btl>(world: Endpoints<B>) {
    const PIECE: usize = 640;
    const PIECES: usize = 40;
    let ends = world.ends.len();
    let mut memory = vec![0; ends * PIECES * PIECE];
    let Some(mut pair) = Pair::of(world, view(&mut memory)) else { return };
    let mut data: Vec<Vec<u8>> = (0..ends).map(|end| fill(end as u64, PIECES * PIECE)).collect();
    let users: Vec<usize> = (0..ends).filter(|&end| pair.world.ends[end].remote(OWNER).is_some()).collect();
    for piece in 0..PIECES {
        for &user in &users {
            pair.at = user;
            let from = view(&mut data[user]).part(piece * PIECE, PIECE);
            let offset = ((user * PIECES + piece) * PIECE) as u64;
            pair.begin(|end, key| end.write(OWNER, from, key, offset));
        }
    }
    for &user in &users {
        pair.at = user;
        pair.flush();
        verify(user as u64, 0, &memory[user * PIECES * PIECE..(user + 1) * PIECES * PIECE]);
    }
    pair.at = pair.world.receiver();
    pair.end();
}

/// Words that windows of these checks have.
type Words = [AtomicU64; 4];

#[allow(unsafe_code)]
fn view_words(words: &Words) -> UserMem {
    // SAFETY: the words outlive their use in these checks, and are read and written by atomic operations only.
    unsafe { UserMem::new(words.as_ptr() as usize, size_of::<Words>()) }
}

/// Each atomic operation does what its name promises, whether it fetches or not, at every word.
pub fn atomics_change_words<B: Btl>(world: Endpoints<B>) {
    let words = Words::default();
    let Some(mut pair) = Pair::of(world, view_words(&words)) else { return };
    if pair.remote.atomics == Atomics::None {
        return;
    }
    let (old, operand) = (0xf0f0_0000_1234_5678, 0x0ff0_8000_0000_9999);
    let changes = [
        Atomic::Add(operand),
        Atomic::Add(u64::MAX),
        Atomic::Swap(operand),
        Atomic::And(operand),
        Atomic::Or(operand),
        Atomic::Xor(operand),
        Atomic::CompareSwap { expected: old, new: operand },
        Atomic::CompareSwap { expected: operand, new: 1 },
    ];
    for (change, index) in changes.into_iter().flat_map(|change| (0..4).map(move |index| (change, index))) {
        let offset = 8 * index as u64;
        words.iter().for_each(|word| word.store(old, Ordering::SeqCst));
        assert_eq!(pair.fetch(change, offset), old, "{change:?}");
        assert_eq!(words[index].load(Ordering::SeqCst), change.apply(old), "{change:?} at {offset}");
        words[index].store(old, Ordering::SeqCst);
        pair.begin(|end, key| end.update(OWNER, change, key, offset));
        pair.flush();
        assert_eq!(words[index].load(Ordering::SeqCst), change.apply(old), "{change:?} at {offset}");
        let others = words.iter().enumerate().filter(|&(other, _)| other != index);
        others.for_each(|(_, word)| assert_eq!(word.load(Ordering::SeqCst), old));
    }
    for offset in [1, 4, 25, 32, u64::MAX - 6] {
        let end = &mut pair.world.ends[pair.at];
        assert_eq!(end.update(OWNER, Atomic::Add(1), &pair.key, offset), Err(Refusal::Unfit), "at {offset}");
    }
    pair.end();
}

/// No addition of any endpoint is lost, nor of the owner's processor where the transport promises that.
pub fn atomics_of_all_add_up<B: Btl>(world: Endpoints<B>) {
    const ROUNDS: u64 = 50;
    let words = Words::default();
    let Some(mut pair) = Pair::of(world, view_words(&words)) else { return };
    if pair.remote.atomics == Atomics::None {
        return;
    }
    let ends = pair.world.ends.len();
    let users: Vec<usize> = (0..ends).filter(|&end| pair.world.ends[end].remote(OWNER).is_some()).collect();
    let mut expected = 0;
    for round in 0..ROUNDS {
        for &user in &users {
            pair.at = user;
            pair.begin(|end, key| end.update(OWNER, Atomic::Add(round), key, 8));
            expected += round;
            if round % 8 == 0 {
                pair.fetch(Atomic::Add(3), 8);
                expected += 3;
            }
        }
        if pair.remote.atomics == Atomics::Processor {
            words[1].fetch_add(1000, Ordering::SeqCst);
            expected += 1000;
        }
    }
    for &user in &users {
        pair.at = user;
        pair.flush();
    }
    assert_eq!(words[1].load(Ordering::SeqCst), expected);
    pair.at = pair.world.receiver();
    pair.end();
}

/// Atomic operations of one endpoint on one word are done in the order in which they were begun, without waiting between.
pub fn atomics_on_a_word_keep_their_order<B: Btl>(world: Endpoints<B>) {
    const ROUNDS: usize = 40;
    let words = Words::default();
    let Some(mut pair) = Pair::of(world, view_words(&words)) else { return };
    if pair.remote.atomics == Atomics::None {
        return;
    }
    let mut seen = vec![[0u8; 8]; ROUNDS];
    let (mut before, mut expected) = (Vec::new(), 0);
    let mut events = 0;
    for (round, seen) in seen.iter_mut().enumerate() {
        let change = match round % 3 {
            0 => Atomic::Swap(round as u64 * 100),
            1 => Atomic::Add(7),
            _ => Atomic::Xor(0x55),
        };
        let (fetches, into) = (round % 4 != 3, view(seen));
        let begun = calls().any(|_| {
            let end = &mut pair.world.ends[pair.at];
            let begun = match fetches {
                true => end.fetch(OWNER, change, into, &pair.key, 24, round as u64),
                false => end.update(OWNER, change, &pair.key, 24),
            };
            assert_ne!(begun, Err(Refusal::Unfit));
            // What it may not overtake ends by an event, or without one.
            events += take_events(&mut pair.world);
            begun.is_ok()
        });
        assert!(begun, "an operation stays busy");
        if fetches {
            before.push((round, expected));
        }
        expected = change.apply(expected);
    }
    while pair.world.ends[pair.at].flush(OWNER) == Flushed::Pending {
        events += take_events(&mut pair.world);
    }
    for _ in calls() {
        if events == before.len() {
            break;
        }
        events += take_events(&mut pair.world);
    }
    assert_eq!(events, before.len());
    for (round, expected) in before {
        assert_eq!(u64::from_ne_bytes(seen[round]), expected, "before operation {round}");
    }
    assert_eq!(words[3].load(Ordering::SeqCst), expected);
    pair.end();
}

/// Lets all work; how many events that brought.
fn take_events<B: Btl>(world: &mut Endpoints<B>) -> usize {
    let mut count = 0;
    for end in &mut world.ends {
        assert!(end.next_arrival().is_none());
        if let Some(event) = next_event(end) {
            assert!(matches!(event, Event::Done(_)), "{event:?}");
            count += 1;
        }
    }
    count
}

/// What lies outside the memory is refused, and what names none moves nothing.
pub fn what_was_not_registered_is_refused<B: Btl>(world: Endpoints<B>) {
    let mut memory = vec![0; 4096];
    let Some(mut pair) = Pair::of(world, view(&mut memory)) else { return };
    let mut local = fill(3, 64);
    let part = view(&mut local);
    let end = &mut pair.world.ends[pair.at];
    for offset in [4096, 4033, u64::MAX, u64::MAX - 63] {
        assert_eq!(end.read(OWNER, part, &pair.key, offset, 1), Err(Refusal::Unfit), "at {offset}");
        assert_eq!(end.write(OWNER, part, &pair.key, offset), Err(Refusal::Unfit), "at {offset}");
    }
    // A made-up key may only be noticed by trying, and is then a failure.
    for words in [[0; 3], [u64::MAX; 3]] {
        let key = RemoteKey(words);
        if pair.world.ends[pair.at].read(OWNER, part, &key, 0, 2).is_ok() {
            assert_eq!(pair.world.event(pair.at), Event::Failed(2));
        }
        if pair.world.ends[pair.at].write(OWNER, part, &key, 0).is_ok() {
            let ended = calls().find_map(|_| match pair.world.ends[pair.at].flush(OWNER) {
                Flushed::Pending => {
                    pair.work();
                    None
                }
                ended => Some(ended),
            });
            assert_eq!(ended, Some(Flushed::Failed));
            assert_eq!(pair.world.ends[pair.at].flush(OWNER), Flushed::Done);
        }
    }
    verify(3, 0, &local);
    assert!(memory.iter().all(|&byte| byte == 0));
    pair.end();
}
