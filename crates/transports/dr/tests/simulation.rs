//! Two processes and the paths between them, on virtual time, with faults that follow from a seed.

use std::ops::Range;

use dr::{Config, PathConfig, PathState};
use dr_mock::{Cut, Faults, MILLISECOND, SECOND, World, frames_of};

/// Number of seeds of each test, or FROM..TO. The long form of the suite sets more.
fn seeds() -> Range<u64> {
    let set = std::env::var("DR_SEEDS").unwrap_or("60".into());
    let (from, to) = set.split_once("..").unwrap_or(("0", &set));
    let number = |text: &str| text.parse().expect("DR_SEEDS is N or FROM..TO");
    number(from)..number(to)
}

fn host(max: usize) -> PathConfig {
    PathConfig { payload_crc: true, ..PathConfig::of_host(max) }
}

fn datagrams(max: usize) -> PathConfig {
    PathConfig { datagrams: true, ..PathConfig::of_network(max) }
}

fn bad(seed: u64) -> Faults {
    // Each seed has its own mixture.
    let some = |bits: u64, most: f64| f64::from((seed >> bits & 3) as u32) / 3.0 * most;
    Faults {
        loss: some(0, 0.1),
        twice: some(2, 0.05),
        damage: some(4, 0.05),
        late: some(6, 0.2),
        ..Faults::default()
    }
}

/// Everything arrives once, unharmed, whatever the paths do.
#[test]
fn all_arrives_once_whatever_the_paths_do() {
    for seed in seeds() {
        let count = 1 + seed as usize % 4;
        let paths: Vec<PathConfig> = (0..count)
            .map(|at| if (seed as usize + at).is_multiple_of(2) { datagrams(1400) } else { host(4000) })
            .collect();
        let config = Config { first_sequence: (1 << 48) - 100, ..Config::default() };
        let mut world = World::new(seed, config, &paths, bad(seed));
        world.run(300, 60 * SECOND);
    }
}

/// Without faults nothing is sent twice, and no path is suspected.
#[test]
fn a_good_network_costs_nothing() {
    for paths in [vec![host(4000)], vec![datagrams(1400)], vec![host(4000), datagrams(1400)]] {
        let mut world = World::new(1, Config::default(), &paths, Faults::default());
        world.run(2000, 60 * SECOND);
        for end in &world.ends {
            let counts = end.pair.counts();
            assert_eq!((counts.resent, counts.duplicates, counts.nonsense, counts.falls), (0, 0, 0, 0));
        }
    }
}

/// Where 1 % is lost, hardly any loss waits for a path's whole time: later frames overtake the lost one, and where none follows, the peer
/// is asked soon.
#[test]
fn few_losses_wait_for_their_time() {
    for pause in [0, 100 * MILLISECOND] {
        let faults = Faults { loss: 0.01, ..Faults::default() };
        let mut world = World::new(11, Config::default(), &[datagrams(1400)], faults);
        world.pause = pause;
        world.run(10_000, 1100 * SECOND);
        let sum =
            |of: fn(&dr::Counts) -> u64| world.ends.iter().map(|end| of(&end.pair.counts())).sum::<u64>();
        let (resent, duplicates, timeouts) =
            (sum(|one| one.resent), sum(|one| one.duplicates), sum(|one| one.timeouts));
        let seen =
            format!("pause {pause}: {resent} again, {duplicates} twice, {timeouts} time-outs, {}", world.now);
        assert!((150..400).contains(&resent) && duplicates <= resent / 10, "{seen}");
        assert!(timeouts <= resent / 10, "{seen}");
    }
}

/// One bit of each frame of a kind is damaged, each bit in its turn: never handed up, always repaired.
#[test]
fn every_damaged_bit_of_a_frame_is_repaired() {
    for bit in 0..8 * 80 {
        let faults = Faults { damaged_bit: Some(bit), ..Faults::default() };
        let mut world = World::new(bit, Config::default(), &[host(1000)], faults);
        world.run(20, 60 * SECOND);
    }
}

/// A path is cut in one direction, or both, and comes back: the other one takes over, and the first one returns.
#[test]
fn another_path_takes_over_and_the_first_one_returns() {
    for seed in seeds() {
        for directions in [[true, true], [true, false], [false, true]] {
            let cut = Cut { path: 0, from: 5 * MILLISECOND, to: 8 * SECOND, directions };
            let faults = Faults { cuts: vec![cut], ..Faults::default() };
            let mut world = World::new(seed, Config::default(), &[host(4000), host(4000)], faults);
            world.pause = 20 * MILLISECOND;
            world.run(1200, 600 * SECOND);
            for end in &world.ends {
                let counts = end.pair.counts();
                assert!(counts.resent <= 4 * 256, "{counts:?}");
                assert_eq!(end.pair.path_state(0), PathState::Up, "{directions:?} {seed}");
            }
            let falls: u64 = world.ends.iter().map(|end| end.pair.counts().falls).sum();
            assert!(falls > 0, "{directions:?}");
        }
    }
}

/// A path that goes and comes, with periods near those of the protocol.
#[test]
fn a_path_that_flaps_loses_nothing() {
    for seed in seeds().step_by(5) {
        for period in [2, 20, 50, 200, 900, 1100].map(|period| period * MILLISECOND) {
            let cut = |at: u64| Cut {
                path: 0,
                from: at * 2 * period,
                to: (at * 2 + 1) * period,
                directions: [true, !at.is_multiple_of(3)],
            };
            let faults = Faults { cuts: (0..500).map(cut).collect(), ..bad(seed) };
            let mut world = World::new(seed, Config::default(), &[datagrams(1400), host(1400)], faults);
            world.pause = 2 * MILLISECOND;
            world.run(300, 3600 * SECOND);
        }
    }
}

/// All paths are down for 30 s: the program goes on afterwards, and what was sent again meanwhile is bounded.
#[test]
fn all_paths_down_for_a_while() {
    for paths in [vec![host(4000)], vec![host(4000), host(4000), datagrams(1400)]] {
        let cuts =
            (0..3).map(|path| Cut { path, from: MILLISECOND, to: 30 * SECOND, directions: [true, true] });
        let faults = Faults { cuts: cuts.collect(), ..Faults::default() };
        let mut world = World::new(7, Config::default(), &paths, faults);
        world.run(500, 300 * SECOND);
        for end in &world.ends {
            assert!(end.pair.counts().resent <= 2 * 256, "{:?}", end.pair.counts());
        }
    }
}

/// Everything is there, and the last acknowledgements are lost; or both processes are about to end and one of them computes for
/// 10 s first: no path is suspected, nothing is handed up twice, and both know in the end that all was delivered.
#[test]
fn the_last_acknowledgements_may_be_lost_or_late() {
    for seed in seeds() {
        for (directions, busy) in
            [([true, false], 0), ([false, true], 0), ([true, true], 0), ([false, false], 10 * SECOND)]
        {
            for paths in [vec![host(4000)], vec![datagrams(1400), host(4000)]] {
                let mut world = World::new(seed, Config::default(), &paths, Faults::default());
                world.begin(20 + seed % 30);
                while !world.all_is_there() {
                    let next = world.now + 1;
                    world.go_on_until(next);
                }
                let now = world.now;
                for path in 0..paths.len() as u8 {
                    world.cut(path, 200 * MILLISECOND, directions);
                }
                world.ends[1].busy = (busy > 0).then_some((now, now + busy));
                world.finish(60 * SECOND);
                for end in &world.ends {
                    let counts = end.pair.counts();
                    assert!(counts.resent <= 4 && counts.falls == 0, "{directions:?} {busy} {counts:?}");
                }
            }
        }
    }
}

/// A peer computes for 60 s: no path is suspected, and less is sent again than the window holds.
#[test]
fn a_peer_that_computes_is_not_blamed() {
    for paths in [vec![host(4000)], vec![host(4000), datagrams(1400)], vec![datagrams(1400)]] {
        let mut world = World::new(3, Config::default(), &paths, Faults::default());
        world.ends[1].busy = Some((MILLISECOND, 60 * SECOND));
        world.run(1000, 300 * SECOND);
        let counts = world.ends[0].pair.counts();
        assert_eq!(counts.falls, 0, "{counts:?}");
        assert!(counts.resent <= 300 && counts.nonsense == 0, "{counts:?}");
        assert!(counts.resent_bytes <= Config::default().window_bytes as u64, "{counts:?}");
    }
}

/// A transport reports a path lost, and later that it reaches the peer again.
#[test]
fn a_lost_path_comes_back_by_trial() {
    let mut world = World::new(5, Config::default(), &[host(4000), host(2000)], Faults::default());
    world.pause = MILLISECOND;
    world.begin(600);
    world.go_on_until(20 * MILLISECOND);
    let now = world.now;
    assert!(!world.ends[0].pair.path_lost(0, now));
    world.go_on_until(100 * MILLISECOND);
    assert_eq!(world.ends[0].pair.path_state(0), PathState::Lost);
    let now = world.now;
    world.ends[0].pair.path_returned(0, now);
    world.finish(60 * SECOND);
    assert_eq!(world.ends[0].pair.path_state(0), PathState::Up);
    let now = world.now;
    assert!(!world.ends[0].pair.path_lost(1, now) && world.ends[0].pair.path_lost(0, now));
}

/// What a peer that lies may send: nothing is freed, nothing is handed up.
#[test]
fn lies_change_nothing() {
    let mut world = World::new(9, Config::default(), &[host(4000)], Faults::default());
    world.begin(0);
    // Frames of another epoch, of another job, and acknowledgements of what was not sent, made by other pairs.
    for (config, job, sent) in [
        (Config { epoch: 2, ..Config::default() }, 77, 3),
        (Config::default(), 78, 3),
        (Config { first_sequence: 900, ..Config::default() }, 77, 3),
    ] {
        let frames = frames_of(config, job, sent);
        for (header, body) in frames {
            let before = world.ends[1].pair.counts();
            let taken = world.ends[1].pair.take(1, 0, &header, &body);
            assert_eq!(taken, dr::Taken::Nothing);
            let after = world.ends[1].pair.counts();
            assert!(after.bad_headers + after.nonsense > before.bad_headers + before.nonsense);
        }
    }
    world.finish(60 * SECOND);
}
