//! Transfers through the registration cache, over NICs whose registrations hold the pages of registration time.

use btl::{Access, Btl, Event, Peer, Refusal};
use btl_ugni::{Job, PeerAddress, Ugni, UgniParams};
use gni::{InstId, JobKey, Modes, PeAddr, Time};
use gni_soft::inproc::{InProc, NetworkConfig, SharedNetwork};
use gni_soft::{NicConfig, NodeLimits, SoftNic};
use mem::UserMem;
use rcache::{Monitor, Trusting, Watch};
use std::io::Write;
use std::sync::Arc;

type End = Ugni<SoftNic<InProc>, fn() -> Time>;

const LEN: usize = 64 << 10;

fn clock() -> Time {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    Time(START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64)
}

/// Two transports, each on a node with `mdds` memory descriptors; `None` where io_uring is missing.
fn pair(watch: &Arc<dyn Watch>, mdds: u32) -> Option<[End; 2]> {
    let limits = NodeLimits { mdds, ..NodeLimits::default() };
    let world = SharedNetwork::new(NetworkConfig { limits, pinned: true, ..NetworkConfig::default() });
    let nic = |rank| {
        let (pe, inst, key) = (PeAddr(rank), InstId(rank), JobKey::for_job(0));
        world.attach(pe, inst, key, Modes::default(), NicConfig::default()).ok()
    };
    let (Some(first), Some(second)) = (nic(0), nic(1)) else {
        // Past the test harness, which shows nothing of a test that passes; scripts/test counts the line.
        let _ = writeln!(std::io::stderr(), "skip: kept registrations: io_uring is missing");
        return None;
    };
    let nics = [first, second];
    let peers: Arc<[PeerAddress]> = nics.iter().map(PeerAddress::of).collect();
    let mut rank = 0;
    Some(nics.map(|nic| {
        let job = Job { me: Peer(rank), peers: Arc::clone(&peers), local_ranks: 1 };
        rank += 1;
        let params = UgniParams { eager_num: 1, ..UgniParams::default() };
        let mut end = Ugni::new(nic, clock as fn() -> Time, job, params).expect("a transport");
        end.cache_registrations(Arc::clone(watch));
        end
    }))
}

fn view(bytes: &mut [u8]) -> UserMem {
    // SAFETY: used within the call that borrows the bytes.
    unsafe { UserMem::of(bytes) }
}

/// The second end fetches `from` of the first into `to`.
fn fetch(ends: &mut [End; 2], from: &mut [u8], to: &mut [u8]) {
    let key = ends[0].expose(Peer(1), view(from), Access::Read).expect("a registration");
    let mut begun = Err(Refusal::Busy);
    loop {
        if begun.is_err() {
            begun = ends[1].get(Peer(0), view(to), &key, 0, 7);
            assert_ne!(begun, Err(Refusal::Unfit));
        }
        assert_eq!(ends[0].next_event(), None);
        match ends[1].next_event() {
            Some(event) => break assert_eq!(event, Event::Done(7)),
            None => assert!(ends.iter_mut().all(|end| end.next_arrival().is_none())),
        }
    }
    ends[0].conceal(Peer(1), key);
}

/// Twelve buffers in turn on each side, with room for few registrations: evicted, and every byte right.
#[test]
fn few_descriptors_are_shared_by_many_buffers() {
    let trusting: Arc<dyn Watch> = Arc::new(Trusting);
    let Some(mut ends) = pair(&trusting, 32) else { return };
    let make = |fill: u8| (0..12u8).map(|number| vec![fill + number; LEN]).collect::<Vec<_>>();
    let (mut from, mut to) = (make(1), make(101));
    for round in 0..20u8 {
        for (number, (from, to)) in from.iter_mut().zip(&mut to).enumerate() {
            from.fill(round ^ number as u8);
            fetch(&mut ends, from, to);
            assert!(from == to, "round {round}, buffer {number}");
        }
    }
    for end in &mut ends {
        let stats = *end.cache_stats();
        assert_eq!(stats.hits + stats.misses, 240);
        assert!(stats.registrations_peak <= 32, "{stats:?}");
        end.cache_registrations(Arc::clone(&trusting));
        assert_eq!(end.cache_stats().registrations, 0, "nothing was in use");
    }
}

/// The same buffer again costs no registration; new buffers at old addresses are registered anew.
#[test]
fn buffers_come_and_go() {
    let monitor = match Monitor::start() {
        Ok(monitor) => monitor,
        Err(refused) => return eprintln!("skipped: {refused}"),
    };
    let watch: Arc<dyn Watch> = Arc::new(monitor);
    let Some(mut ends) = pair(&watch, 4096) else { return };
    for round in 0..50u8 {
        // Large enough that the allocator maps and unmaps them.
        let (mut from, mut to) = (vec![0; 16 * LEN], vec![0xffu8; 16 * LEN]);
        for again in 0..3 {
            from.fill(round.wrapping_mul(3) + again);
            fetch(&mut ends, &mut from, &mut to);
            assert!(from == to, "round {round}, use {again}");
        }
    }
    for end in &ends {
        let stats = end.cache_stats();
        assert!(stats.hits >= 100, "{stats:?}");
        assert_eq!((stats.misses, stats.unwatched), (150 - stats.hits, 0));
        assert!(stats.registrations <= 2, "what is gone is not registered any more: {stats:?}");
    }
}

/// Kept memory is found at any place in it, without a watch.
#[test]
fn kept_memory_needs_no_registration() {
    let unwatched: Arc<dyn Watch> = Arc::new(rcache::Unwatched);
    let Some(mut ends) = pair(&unwatched, 4096) else { return };
    let (mut from, mut to) = (vec![3u8; 8 * LEN], vec![0u8; 8 * LEN]);
    let kept = [ends[0].keep_memory(view(&mut from)), ends[1].keep_memory(view(&mut to))];
    for at in (0..8).map(|part| part * LEN) {
        fetch(&mut ends, &mut from[at..at + LEN], &mut to[at..at + LEN]);
    }
    assert!(from == to);
    for (end, handle) in ends.iter_mut().zip(kept) {
        assert_eq!((end.cache_stats().hits, end.cache_stats().misses), (8, 0));
        end.forget_memory(handle.expect("room"));
        assert_eq!(end.cache_stats().registrations, 0);
    }
}
