//! `alhena sim dr`: data reliability (`--mca pml dr`) over paths that lose, repeat, damage, stall and die.
//!
//! Two processes send each other messages over the library's own machine (`dr`), on virtual time; each message is checked. A path
//! carries 4 GB/s and takes 10 µs. Efficiency is the time without faults divided by that with them. Then many ranks exchange in rounds over
//! a network like Gemini's (1.5 µs, 5 GB/s) that loses frames: under data reliability, and where the network itself sends them again.

use std::error::Error;

use clap::Args;
use dr::{Config, PathConfig, Time};
use dr_mock::{Crowd, Cut, Faults, MICROSECOND, MILLISECOND, Repair, SECOND, World};
use figures::aligned;
use figures::curves::{Curve, Over, Panel};
use serde::Serialize;

use super::output::{Output, row};

/// Data reliability under faults.
#[derive(Args)]
pub struct DataReliability {
    /// One frame of so many is lost; each of these is tried
    #[arg(long, value_delimiter = ',', default_values_t = [4096, 1024, 256, 64, 16, 8])]
    lost_of: Vec<u32>,
    /// Messages that each of the two processes sends
    #[arg(long, default_value_t = 4000)]
    messages: u64,
    /// Runs of each case, each with a seed of its own
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Ranks that exchange in rounds over a lossy Gemini
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(2..=65536))]
    ranks: u32,
    /// Bytes that each of them sends in a round
    #[arg(long, default_value_t = 8192)]
    bytes: usize,
    /// Microseconds after which the network itself sends a lost frame again, where it does
    #[arg(long, default_value_t = 5)]
    retry_us: u64,
    #[command(flatten)]
    output: Output,
}

/// Paths of one kind of case.
struct Paths {
    name: &'static str,
    paths: Vec<PathConfig>,
}

#[derive(Serialize)]
struct Loss {
    paths: &'static str,
    lost_of: u32,
    milliseconds: f64,
    efficiency: f64,
    frames: u64,
    resent: u64,
}

#[derive(Serialize)]
struct Trouble {
    name: &'static str,
    seconds_of_trouble: f64,
    seconds_in_all: f64,
    frames: u64,
    resent: u64,
    resent_bytes: u64,
    falls: u64,
}

/// Many ranks over a lossy Gemini: times in milliseconds.
#[derive(Serialize)]
struct Many {
    lost_of: u32,
    dr_milliseconds: f64,
    dr_efficiency: f64,
    dr_resent: u64,
    network_milliseconds: f64,
    network_efficiency: f64,
    network_resent: u64,
}

#[derive(Serialize)]
struct Figures {
    losses: Vec<Loss>,
    many: Vec<Many>,
    troubles: Vec<Trouble>,
}

/// No case takes as long.
const LIMIT: Time = 3600 * SECOND;

fn stream(max: usize) -> PathConfig {
    PathConfig::of_network(max)
}

fn datagrams(max: usize) -> PathConfig {
    PathConfig { datagrams: true, ..PathConfig::of_network(max) }
}

fn all_paths() -> [Paths; 4] {
    [
        Paths { name: "one stream", paths: vec![stream(8000)] },
        Paths { name: "datagrams", paths: vec![datagrams(1400)] },
        Paths { name: "two streams", paths: vec![stream(8000), stream(8000)] },
        Paths { name: "stream, datagrams", paths: vec![stream(1400), datagrams(1400)] },
    ]
}

impl DataReliability {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let mut losses = Vec::new();
        for Paths { name, paths } in all_paths() {
            eprintln!("simulating losses on {name}");
            let good = self.lose(name, &paths, 0, None);
            let whole = good.milliseconds;
            losses.push(good);
            losses.extend(self.lost_of.iter().map(|&lost_of| self.lose(name, &paths, lost_of, Some(whole))));
        }
        eprintln!("simulating paths that are cut and a peer that computes");
        let troubles = self.troubles();
        eprintln!("simulating {} ranks over a lossy Gemini", self.ranks);
        let figures = Figures { losses, many: self.many(), troubles };
        println!(
            "{} ranks in rounds of {} bytes over a lossy Gemini: under data reliability (dr), and where the network sends a lost frame \
             again after {} µs\n{}",
            self.ranks,
            self.bytes,
            self.retry_us,
            aligned(&many(&figures.many))
        );
        println!("what paths and peers do, and what follows\n{}", aligned(&of_troubles(&figures.troubles)));
        let title = format!(
            "losses: {} messages each way, {} runs of each case; efficiency is the time without losses over that with them",
            self.messages, self.seeds
        );
        self.output.show(&title, &rows(&figures.losses), &figures, &panels(&figures))
    }

    /// Runs of one case: means over the seeds.
    fn lose(&self, name: &'static str, paths: &[PathConfig], lost_of: u32, good: Option<f64>) -> Loss {
        let loss = loss(lost_of);
        let (mut time, mut frames, mut resent) = (0, 0, 0);
        for seed in 0..self.seeds.max(1) {
            let faults = Faults { loss, ..Faults::default() };
            let mut world = World::new(seed, Config::default(), paths, faults);
            world.run(self.messages, LIMIT);
            time += world.now;
            let counts = world.ends.iter().map(|end| end.pair.counts());
            counts.for_each(|counts| (frames, resent) = (frames + counts.sent, resent + counts.resent));
        }
        let runs = self.seeds.max(1);
        let milliseconds = (time / runs) as f64 / MILLISECOND as f64;
        let efficiency = good.unwrap_or(milliseconds) / milliseconds;
        Loss { paths: name, lost_of, milliseconds, efficiency, frames: frames / runs, resent: resent / runs }
    }

    /// Each loss rate over both kinds of repair; efficiency is beside the network without losses and without data reliability.
    fn many(&self) -> Vec<Many> {
        let gemini = Crowd {
            ranks: self.ranks,
            passes: 3,
            bytes: self.bytes.max(1),
            frame: 4000,
            latency: 3 * MICROSECOND / 2,
            bandwidth: 5000,
            loss: 0.0,
            seed: 1,
        };
        let repairs =
            [Repair::Pairs(PathConfig::of_network(4000)), Repair::Network(self.retry_us * MICROSECOND)];
        let whole = gemini.run(repairs[1]).time as f64;
        let all = std::iter::once(0).chain(self.lost_of.iter().copied());
        let one = |lost_of: u32| {
            let loss = loss(lost_of);
            let [dr, network] = repairs.map(|repair| Crowd { loss, ..gemini }.run(repair));
            let (milliseconds, efficiency) =
                (|time: Time| time as f64 / MILLISECOND as f64, |time: Time| whole / time as f64);
            Many {
                lost_of,
                dr_milliseconds: milliseconds(dr.time),
                dr_efficiency: efficiency(dr.time),
                dr_resent: dr.resent,
                network_milliseconds: milliseconds(network.time),
                network_efficiency: efficiency(network.time),
                network_resent: network.resent,
            }
        };
        all.map(one).collect()
    }

    fn troubles(&self) -> Vec<Trouble> {
        let both = vec![stream(4000), stream(4000)];
        let cut = |path, from, to, directions| Cut { path, from, to, directions };
        let (begin, all) = (5 * MILLISECOND, [true, true]);
        let flaps = |at: u64| cut(0, at * 400 * MILLISECOND, (at * 2 + 1) * 200 * MILLISECOND, all);
        let everywhere = |path| cut(path, begin, 30 * SECOND, all);
        let bad = Faults { loss: 0.01, twice: 0.01, damage: 0.01, late: 0.02, ..Faults::default() };
        let cuts = |cuts: Vec<Cut>| Faults { cuts, ..Faults::default() };
        vec![
            trouble("nothing", 0, &both, Faults::default(), None),
            trouble("1 % lost, twice, damaged, 2 % late", 0, &both, bad, None),
            trouble("first path cut", 8 * SECOND, &both, cuts(vec![cut(0, begin, 8 * SECOND, all)]), None),
            trouble(
                "the same one way",
                8 * SECOND,
                &both,
                cuts(vec![cut(0, begin, 8 * SECOND, [true, false])]),
                None,
            ),
            trouble(
                "first path flaps, 0.2 s each",
                20 * SECOND,
                &both,
                cuts((0..50).map(flaps).collect()),
                None,
            ),
            trouble("all paths cut", 30 * SECOND, &both, cuts(vec![everywhere(0), everywhere(1)]), None),
            trouble("peer computes", 60 * SECOND, &both, Faults::default(), Some((begin, 60 * SECOND))),
        ]
    }
}

/// Messages of a case that takes seconds: one each 20 ms.
const SLOW: u64 = 500;

fn trouble(
    name: &'static str,
    lasts: Time,
    paths: &[PathConfig],
    faults: Faults,
    busy: Option<(Time, Time)>,
) -> Trouble {
    let mut world = World::new(1, Config::default(), paths, faults);
    world.pause = 20 * MILLISECOND;
    world.ends[1].busy = busy;
    world.run(SLOW, LIMIT);
    let counts = || world.ends.iter().map(|end| end.pair.counts());
    Trouble {
        name,
        seconds_of_trouble: lasts as f64 / SECOND as f64,
        seconds_in_all: world.now as f64 / SECOND as f64,
        frames: counts().map(|counts| counts.sent).sum(),
        resent: counts().map(|counts| counts.resent).sum(),
        resent_bytes: counts().map(|counts| counts.resent_bytes).sum(),
        falls: counts().map(|counts| counts.falls).sum(),
    }
}

fn of_troubles(all: &[Trouble]) -> Vec<Vec<String>> {
    let head =
        row(["trouble", "lasts s", "all arrived s", "frames", "again", "bytes again", "falls of a path"]);
    let line = |one: &Trouble| {
        let times = [one.seconds_of_trouble, one.seconds_in_all].map(|time| format!("{time:.2}"));
        let counts = [one.frames, one.resent, one.resent_bytes, one.falls].map(|count| count.to_string());
        [one.name.to_string()].into_iter().chain(times).chain(counts).collect()
    };
    std::iter::once(head).chain(all.iter().map(line)).collect()
}

/// The share of frames that is lost; 0 stands for none.
fn loss(lost_of: u32) -> f64 {
    if lost_of == 0 { 0.0 } else { 1.0 / f64::from(lost_of) }
}

/// The same as text.
fn lost(lost_of: u32) -> String {
    if lost_of == 0 { "none".to_string() } else { format!("1 in {lost_of}") }
}

fn many(all: &[Many]) -> Vec<Vec<String>> {
    let head = row(["lost", "dr ms", "efficiency", "again", "network ms", "efficiency", "again"]);
    let line = |one: &Many| {
        let half = |time: f64, efficiency: f64, again: u64| {
            [format!("{time:.3}"), format!("{:.1} %", efficiency * 100.0), again.to_string()]
        };
        let dr = half(one.dr_milliseconds, one.dr_efficiency, one.dr_resent);
        let network = half(one.network_milliseconds, one.network_efficiency, one.network_resent);
        [lost(one.lost_of)].into_iter().chain(dr).chain(network).collect()
    };
    std::iter::once(head).chain(all.iter().map(line)).collect()
}

fn rows(losses: &[Loss]) -> Vec<Vec<String>> {
    let head = row(["paths", "lost", "ms", "efficiency", "frames", "again"]);
    let line = |one: &Loss| {
        let numbers = [format!("{:.2}", one.milliseconds), format!("{:.1} %", one.efficiency * 100.0)];
        let counts = [one.frames, one.resent].map(|count| count.to_string());
        [one.paths.to_string(), lost(one.lost_of)].into_iter().chain(numbers).chain(counts).collect()
    };
    std::iter::once(head).chain(losses.iter().map(line)).collect()
}

fn panels(figures: &Figures) -> Vec<Panel> {
    let curve = |paths: &Paths| {
        let of_paths = figures.losses.iter().filter(|one| one.paths == paths.name && one.lost_of > 0);
        let points = of_paths.map(|one| (f64::from(one.lost_of), one.efficiency * 100.0)).collect();
        Curve { label: paths.name.to_string(), points, joined: true }
    };
    let many = |label: &str, efficiency: fn(&Many) -> f64| {
        let points = figures.many.iter().filter(|one| one.lost_of > 0);
        let points = points.map(|one| (f64::from(one.lost_of), efficiency(one) * 100.0)).collect();
        Curve { label: label.to_string(), points, joined: true }
    };
    let panel = |title: &str, curves| Panel {
        title: title.to_string(),
        over: Over::LostOf,
        unit: "efficiency [%]",
        curves,
    };
    vec![
        panel("data reliability under losses, two processes", all_paths().iter().map(curve).collect()),
        panel(
            "many ranks in rounds over a lossy Gemini",
            vec![
                many("data reliability", |one| one.dr_efficiency),
                many("the network sends again", |one| one.network_efficiency),
            ],
        ),
    ]
}
