//! Exposed memory: get, put, refusals and events.

use btl::{Access, Btl, Event, Peer, Refusal, RemoteKey};
use mem::UserMem;

use crate::world::{Endpoints, view};
use crate::{fill, verify};

const SIZES: [usize; 12] = [1, 4, 8, 60, 4096, 4100, 65_536, 100_000, 262_144, 300_004, 1 << 20, 3_000_000];

/// A get brings exactly the bytes asked for.
pub fn every_size_and_offset_is_fetched<B: Btl>(world: Endpoints<B>) {
    copies_are_exact(world, Access::Read);
}

/// A put stores exactly the bytes given.
pub fn every_size_and_offset_is_stored<B: Btl>(world: Endpoints<B>) {
    copies_are_exact(world, Access::Write);
}

/// The receiver gets from, or puts into, memory that the sender exposed.
fn copies_are_exact<B: Btl>(mut world: Endpoints<B>, access: Access) {
    let at = world.receiver();
    let (owner, user) = (Peer(0), Peer(at as u32));
    let limits = *world.ends[at].limits(owner);
    let (possible, most) = match access {
        Access::Read => (limits.get, limits.max_get),
        Access::Write => (limits.put, limits.max_put),
    };
    if !possible {
        return;
    }
    for (round, total) in SIZES.into_iter().enumerate() {
        let align = if access == Access::Read { limits.get_align } else { 1 };
        let offset = (total / 3).next_multiple_of(align).min(total / align * align);
        let len = ((total - offset) / align * align).min(most);
        let seed = round as u64;
        let (mut exposed, mut local) = match access {
            Access::Read => (fill(seed, total), vec![0; len + 16]),
            Access::Write => (vec![0; total + 16], fill(seed, len)),
        };
        let key = world.ends[0].expose(user, view(&mut exposed), access).expect("memory can be exposed");
        let part = view(&mut local).part(0, len);
        let begun = match access {
            Access::Read => world.ends[at].get(owner, part, &key, offset as u64, seed),
            Access::Write => world.ends[at].put(owner, part, &key, offset as u64, seed),
        };
        assert_eq!(begun, Ok(()));
        assert_eq!(world.event(at), Event::Done(seed));
        world.ends[0].conceal(user, key);
        world.ends[0].conceal(user, key);
        match access {
            Access::Read => {
                verify(seed, offset, &local[..len]);
                assert!(local[len..].iter().all(|&byte| byte == 0), "bytes after the get were written");
            }
            Access::Write => {
                verify(seed, 0, &exposed[offset..offset + len]);
                assert!(exposed[..offset].iter().all(|&byte| byte == 0), "bytes before the put were written");
                assert!(exposed[offset + len..].iter().all(|&byte| byte == 0), "bytes after it were written");
            }
        }
    }
}

/// Memory in several runs is fetched byte for byte into memory in other runs, and what lies between them is left alone.
pub fn runs_of_every_size_are_fetched<B: Btl>(mut world: Endpoints<B>) {
    let at = world.receiver();
    let (owner, user) = (Peer(0), Peer(at as u32));
    if !world.ends[at].takes_runs(owner) {
        return;
    }
    // Lengths of runs on either side; 0 stands for one run of everything.
    let cuts = [(2048, 0), (0, 2048), (2048, 2048), (5000, 3001), (100_000, 2048)];
    for (total, (from, into)) in SIZES.into_iter().flat_map(|total| cuts.map(|cut| (total, cut))) {
        let seed = total as u64;
        let bytes = fill(seed, total);
        let (mut exposed, mut local) = (spread(&bytes, from), spread(&vec![0; total], into));
        let theirs = view_runs(&mut exposed, from, total);
        let ours = view_runs(&mut local, into, total);
        let key = match theirs[..] {
            [one] => world.ends[0].expose(user, one, Access::Read),
            _ => world.ends[0].expose_runs(user, &theirs),
        };
        let key = key.expect("memory can be exposed");
        let begun = match ours[..] {
            [one] => world.ends[at].get(owner, one, &key, 0, seed),
            _ => world.ends[at].get_runs(owner, &ours, &key, seed),
        };
        assert_eq!(begun, Ok(()), "{total} bytes in runs of {from} into runs of {into}");
        assert_eq!(world.event(at), Event::Done(seed));
        world.ends[0].conceal(user, key);
        assert_eq!(local, spread(&bytes, into), "{total} bytes in runs of {from} into runs of {into}");
    }
}

/// What lies between runs.
const HOLE: usize = 64;

/// `bytes` in runs of `run`, holes of 255 between them.
fn spread(bytes: &[u8], run: usize) -> Vec<u8> {
    let runs = bytes.chunks(if run == 0 { bytes.len() } else { run });
    runs.flat_map(|run| run.iter().copied().chain([255; HOLE])).collect()
}

fn view_runs(memory: &mut [u8], run: usize, total: usize) -> Vec<UserMem> {
    let run = if run == 0 { total } else { run };
    let all = view(memory);
    (0..total.div_ceil(run)).map(|i| all.part(i * (run + HOLE), run.min(total - i * run))).collect()
}

/// What lies outside the exposed memory is refused, before anything begins.
pub fn what_was_not_exposed_is_refused<B: Btl>(mut world: Endpoints<B>) {
    let at = world.receiver();
    let (owner, user) = (Peer(0), Peer(at as u32));
    if !world.ends[at].limits(owner).get {
        return;
    }
    let (mut exposed, mut local) = (fill(0, 4096), vec![0; 64]);
    let key = world.ends[0].expose(user, view(&mut exposed), Access::Read).expect("memory can be exposed");
    let part = view(&mut local);
    for offset in [4096, 4092, u64::MAX, u64::MAX - 60] {
        assert_eq!(world.ends[at].get(owner, part, &key, offset, 1), Err(Refusal::Unfit), "at {offset}");
    }
    for words in [[0; 3], [u64::MAX; 3]] {
        // A made-up key may only be noticed by trying, and is then a failure of the get.
        if world.ends[at].get(owner, part, &RemoteKey(words), 0, 2).is_ok() {
            assert_eq!(world.event(at), Event::Failed(2));
        }
    }
    assert!(local.iter().all(|&byte| byte == 0));
    world.ends[0].conceal(user, key);
}

/// Every copy under way is reported once, under its own cookie.
pub fn cookies_and_events_match<B: Btl>(mut world: Endpoints<B>) {
    const COPIES: usize = 40;
    let at = world.receiver();
    let (owner, user) = (Peer(0), Peer(at as u32));
    if !world.ends[at].limits(owner).get {
        return;
    }
    let mut exposed: Vec<Vec<u8>> = (0..COPIES).map(|n| fill(n as u64, 4096 * (1 + n % 40))).collect();
    let mut local: Vec<Vec<u8>> = exposed.iter().map(|bytes| vec![0; bytes.len()]).collect();
    let mut keys = [None; COPIES];
    let mut begun = 0;
    let mut done = [false; COPIES];
    while done.contains(&false) {
        while begun < COPIES {
            let memory = view(&mut exposed[begun]);
            let key = keys[begun].or_else(|| world.ends[0].expose(user, memory, Access::Read).ok());
            keys[begun] = key;
            let Some(key) = key else { break };
            match world.ends[at].get(owner, view(&mut local[begun]), &key, 0, begun as u64 * 1000) {
                Ok(()) => begun += 1,
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::Busy);
                    break;
                }
            }
        }
        let Event::Done(cookie) = world.event(at) else { panic!("a get failed") };
        let number = cookie as usize / 1000;
        assert!(cookie.is_multiple_of(1000) && number < begun && !done[number], "cookie {cookie}");
        done[number] = true;
        verify(number as u64, 0, &local[number]);
        world.ends[0].conceal(user, keys[number].take().expect("exposed before"));
    }
    assert_eq!(world.ends[at].next_event(), None);
}

/// As many gets as a program may ask for at once, while this side takes no answer: each is begun or refused as busy, and
/// all end. What a transport bounds it keeps to by itself; its peer does not take it for hostile.
pub fn any_number_of_gets_may_be_asked_for<B: Btl>(mut world: Endpoints<B>) {
    const GETS: u64 = 50_000;
    const BYTES: usize = 1024;
    let at = world.receiver();
    let (owner, user) = (Peer(0), Peer(at as u32));
    if !world.ends[at].limits(owner).get {
        return;
    }
    let (mut exposed, mut local) = (fill(1, BYTES), vec![0; BYTES]);
    let key = world.ends[0].expose(user, view(&mut exposed), Access::Read).expect("memory can be exposed");
    let into = view(&mut local);
    let (mut begun, mut done) = (0, 0);
    while done < GETS {
        while begun < GETS {
            match world.ends[at].get(owner, into, &key, 0, begun) {
                Ok(()) => begun += 1,
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::Busy);
                    assert!(begun > done, "a get is refused although none is under way");
                    break;
                }
            }
            // One that gets from itself is not let work meanwhile.
            if begun % 64 == 0 && at != 0 {
                assert!(world.ends[0].next_arrival().is_none());
                assert_eq!(world.ends[0].next_event(), None);
            }
        }
        assert!(matches!(world.event(at), Event::Done(cookie) if cookie < begun));
        done += 1;
    }
    verify(1, 0, &local);
    world.ends[0].conceal(user, key);
}
