//! `alhena sim seastar`: Red Storm and the XT4.

use std::error::Error;

use clap::{Args, ValueEnum};
use figures::curves::{Curve, Over, Panel};
use figures::significant;
use serde::Serialize;
use sim::seastar::applications::{self, ALLREDUCES, Application, Job};
use sim::seastar::experiments::{bandwidth, latency, nic_use, raw_bandwidth, raw_latency};
use sim::seastar::paper;
use sim::seastar::{Machine, Mode, System};

use super::output::{Output, percent, row};

/// The message layers over Portals on Red Storm and on the XT4.
#[derive(Args)]
pub struct Seastar {
    /// What to draw
    #[arg(value_enum)]
    figure: Figure,
    /// On which machine
    #[arg(long, value_enum, default_value_t = Which::RedStorm)]
    machine: Which,
    /// Longest message in bytes
    #[arg(long, default_value_t = 1 << 20)]
    max: usize,
    /// Sizes of the job, for applications
    #[arg(long, value_delimiter = ',', default_values_t = [4, 16, 64])]
    ranks: Vec<u32>,
    /// Which applications: pop, vh-1, gtc, s3d
    #[arg(long, value_delimiter = ',', value_parser = application, default_values = ["pop", "vh-1", "gtc", "s3d"])]
    programs: Vec<Application>,
    /// Ranks of an application on each node, which share its port and whose interrupts its first core treats [default: 1 on
    /// Red Storm, 2 on the XT4]
    #[arg(long)]
    cores: Option<std::num::NonZeroU32>,
    /// A factor of the assumed differences between the times that ranks of an application compute
    #[arg(long, default_value_t = 1.0)]
    imbalance: f64,
    /// Rate of copies in bytes per nanosecond [default: 2, one core of an Opteron]
    #[arg(long)]
    copy_rate: Option<f64>,
    #[command(flatten)]
    output: Output,
}

/// A figure of the papers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Figure {
    /// Half round trips, receives posted before
    Latency,
    /// Half round trips of blocking calls
    Blocking,
    /// Bandwidth of messages to and fro, receives posted before
    Bandwidth,
    /// The same of blocking calls
    BlockingBandwidth,
    /// A message each way at once
    Bidirectional,
    /// Messages one after the other
    Stream,
    /// What operations under way take of the NIC
    Nic,
    /// Skeletons of POP, VH-1, GTC and S3D
    Applications,
    /// POP with four allreduce algorithms, over CM and Cray-MPI
    Allreduce,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Which {
    RedStorm,
    Xt4,
}

/// A part of a step: what its name adds to the program's, and its time.
type Part = (&'static str, fn(&applications::Times) -> f64);

/// One figure of a curve.
#[derive(Serialize)]
struct Point {
    curve: &'static str,
    at: f64,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<f64>,
}

const PLAIN: System = System::Mpich1 { very_short: false, rendezvous: false };
const RENDEZVOUS: System = System::Mpich1 { very_short: true, rendezvous: true };

/// Half round trips of 0 bytes that the papers print, in microseconds.
fn printed(which: Which, system: Option<System>) -> Option<f64> {
    let nanoseconds = match (which, system) {
        (Which::RedStorm, None) => paper::PORTALS,
        (Which::RedStorm, Some(System::MPICH1)) => paper::MPICH1,
        (Which::RedStorm, Some(PLAIN)) => paper::MPICH1_PLAIN,
        (Which::RedStorm, Some(System::Mpich2)) => paper::MPICH2,
        (Which::RedStorm, Some(System::Shmem)) => paper::SHMEM,
        (Which::Xt4, Some(System::Cm)) => paper::CM,
        (Which::Xt4, Some(System::Ob1)) => paper::OB1,
        (Which::Xt4, Some(System::Cray)) => paper::CRAY,
        _ => return None,
    };
    Some(nanoseconds / 1000.0)
}

impl Seastar {
    /// Simulates and shows.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        let mut machine = match self.machine {
            Which::RedStorm => Machine::red_storm()?,
            Which::Xt4 => Machine::xt4()?,
        };
        machine.cores = self.cores.map_or(machine.cores, std::num::NonZeroU32::get);
        machine.copy_rate = self.copy_rate.unwrap_or(machine.copy_rate);
        match self.figure {
            Figure::Nic => self.nic(&machine),
            Figure::Applications => self.applications(&machine),
            Figure::Allreduce => self.allreduce(&machine),
            _ => self.curves(&machine),
        }
    }

    /// Portals itself, and what stands on it.
    fn systems(&self) -> Vec<Option<System>> {
        let layers: &[System] = match self.machine {
            Which::RedStorm => {
                &[System::MPICH1, PLAIN, RENDEZVOUS, System::Mpich2, System::Shmem, System::Cm, System::Ob1]
            }
            Which::Xt4 => &[System::Cm, System::Ob1, System::Cray],
        };
        std::iter::once(None).chain(layers.iter().copied().map(Some)).collect()
    }

    /// Microseconds, or MB/s of 10^6 bytes.
    fn measure(&self, machine: &Machine, system: Option<System>, bytes: usize) -> Result<f64, sim::Error> {
        let trip = |mode| match system {
            Some(system) => latency(machine, system, bytes, mode),
            None => raw_latency(machine, bytes),
        };
        let stream = |both| match system {
            Some(system) => bandwidth(machine, system, bytes, both),
            None => raw_bandwidth(machine, bytes, both),
        };
        Ok(match self.figure {
            Figure::Latency => trip(Mode::Posted)? / 1000.0,
            Figure::Blocking => trip(Mode::Blocking)? / 1000.0,
            Figure::Bandwidth => bytes as f64 / trip(Mode::Posted)? * 1000.0,
            Figure::BlockingBandwidth => bytes as f64 / trip(Mode::Blocking)? * 1000.0,
            Figure::Bidirectional => stream(true)? * 1000.0,
            _ => stream(false)? * 1000.0,
        })
    }

    fn curves(&self, machine: &Machine) -> Result<(), Box<dyn Error>> {
        let times = matches!(self.figure, Figure::Latency | Figure::Blocking);
        let sizes: Vec<usize> = match times {
            true => [0, 1, 8, 12, 13, 32, 64, 128, 320, 512, 1024, 4096, 8192].to_vec(),
            false => (0..30).map(|exponent| 1 << exponent).filter(|size| *size >= 64).collect(),
        };
        let systems = self.systems();
        let mut points = Vec::new();
        let mut rows = Vec::new();
        for bytes in sizes.into_iter().filter(|size| *size <= self.max) {
            let mut line = vec![bytes.to_string()];
            for &system in &systems {
                let value = self.measure(machine, system, bytes)?;
                let paper =
                    printed(self.machine, system).filter(|_| self.figure == Figure::Latency && bytes == 0);
                line.push(match paper {
                    Some(paper) => format!("{value:.2} ({})", percent(value / paper - 1.0)),
                    None => significant(value),
                });
                points.push(Point { curve: name(system), at: bytes as f64, value, paper });
            }
            rows.push(line);
        }
        let head = std::iter::once("bytes".to_string()).chain(systems.iter().map(|&s| name(s).to_string()));
        rows.insert(0, head.collect());
        let unit = if times { "µs" } else { "MB/s" };
        let title = format!("{} on virtual time, {unit}; in brackets: off the paper's", machine.name);
        let panel = Panel { title: title.clone(), over: Over::Bytes, unit, curves: drawn(&points) };
        self.output.show(&title, &rows, &points, &[panel])
    }

    fn nic(&self, machine: &Machine) -> Result<(), Box<dyn Error>> {
        let mut rows =
            vec![row(["layer", "receives and long sends", "entries", "descriptors", "queues", "bytes"])];
        let mut points = Vec::new();
        for system in self.systems().into_iter().flatten() {
            for number in [0, 10, 100, 1000] {
                let used = nic_use(machine, system, number, number)?;
                rows.push(vec![
                    system.name().to_string(),
                    format!("{number} each"),
                    used.entries.to_string(),
                    used.descriptors.to_string(),
                    used.queues.to_string(),
                    used.bytes.to_string(),
                ]);
                let (at, value) = (f64::from(number), used.bytes as f64);
                points.push(Point { curve: system.name(), at, value, paper: None });
            }
        }
        let title =
            "what operations under way take of a NIC (entries of 48 bytes, descriptors of 80, events of 128)";
        let unit = "bytes";
        let panel = Panel { title: title.into(), over: Over::Ranks, unit, curves: drawn(&points) };
        self.output.show(title, &rows, &points, &[panel])
    }

    fn applications(&self, machine: &Machine) -> Result<(), Box<dyn Error>> {
        let systems = [System::Cm, System::Ob1, System::Cray];
        let mut rows = vec![row(["program", "ranks", "CM", "OB1", "Cray-MPI", "best"])];
        let (mut points, mut panels) = (Vec::new(), Vec::new());
        let tree = algorithm("tree")?;
        for &application in &self.programs {
            let mut own = Vec::new();
            for &ranks in &self.ranks {
                eprintln!("simulating {} on {ranks} ranks", application.name());
                let job = Job { application, ranks, allreduce: tree, imbalance: self.imbalance };
                let all = systems.map(|system| applications::run(machine, system, &job));
                let all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
                let parts: [Part; 3] =
                    [("", |t| t.step), (" baroclinic", |t| t.first), (" barotropic", |t| t.second)];
                let parts = if application == Application::Pop { &parts[..] } else { &parts[..1] };
                for (part, of) in parts {
                    let ms: Vec<f64> = all.iter().map(|times| of(times) * 1000.0).collect();
                    let best = (0..3).min_by(|a, b| ms[*a].total_cmp(&ms[*b])).unwrap_or(0);
                    let mut line = vec![format!("{}{part}", application.name()), ranks.to_string()];
                    line.extend(ms.iter().map(|value| format!("{value:.3}")));
                    line.push(systems[best].name().to_string());
                    rows.push(line);
                }
                for (system, times) in systems.iter().zip(&all) {
                    let (at, value) = (f64::from(ranks), times.step * 1000.0);
                    own.push(Point { curve: system.name(), at, value, paper: None });
                }
            }
            let title = format!("{}: a step", application.name());
            panels.push(Panel { title, over: Over::Ranks, unit: "ms", curves: drawn(&own) });
            points.extend(own);
        }
        let title =
            format!("skeletons on the {}, ms a step; lengths and computing are assumed", machine.name);
        self.output.show(&title, &rows, &points, &panels)
    }

    fn allreduce(&self, machine: &Machine) -> Result<(), Box<dyn Error>> {
        let mut rows = vec![row(["ranks", "algorithm", "CM", "Cray-MPI"])];
        let mut points = Vec::new();
        for &ranks in &self.ranks {
            for (library, text) in ALLREDUCES {
                eprintln!("simulating POP on {ranks} ranks: {text}");
                let mut line = vec![ranks.to_string(), text.to_string()];
                for system in [System::Cm, System::Cray] {
                    let (application, imbalance) = (Application::Pop, self.imbalance);
                    let job = Job { application, ranks, allreduce: algorithm(library)?, imbalance };
                    let times = applications::run(machine, system, &job)?;
                    line.push(format!("{:.3}", times.step * 1000.0));
                    if system == System::Cm {
                        let (at, value) = (f64::from(ranks), times.step * 1000.0);
                        points.push(Point { curve: text, at, value, paper: None });
                    }
                }
                rows.push(line);
            }
        }
        let title = format!("POP's step by allreduce algorithm on the {}, ms", machine.name);
        let panel = Panel { title: title.clone(), over: Over::Ranks, unit: "ms", curves: drawn(&points) };
        self.output.show(&title, &rows, &points, &[panel])
    }
}

fn application(name: &str) -> Result<Application, String> {
    let all = [Application::Pop, Application::Vh1, Application::Gtc, Application::S3d];
    let found = all.into_iter().find(|application| application.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| format!("{name} is none of pop, vh-1, gtc, s3d"))
}

fn algorithm(name: &str) -> Result<&'static coll::algorithms::registry::Algorithm, String> {
    applications::allreduce(name).ok_or_else(|| {
        format!(
            "alhena: choosing an allreduce failed\n  seen: the library has no {name}\n  next: this is a defect; please \
             report the command"
        )
    })
}

fn name(system: Option<System>) -> &'static str {
    system.map_or("Portals", System::name)
}

/// The curves of points, each in the order in which its first point comes.
fn drawn(points: &[Point]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    // Axes are logarithmic.
    for point in points.iter().filter(|point| point.at > 0.0) {
        let place = curves.iter().position(|curve| curve.label == point.curve).unwrap_or_else(|| {
            curves.push(Curve { label: point.curve.to_string(), points: Vec::new(), joined: true });
            curves.len() - 1
        });
        curves[place].points.push((point.at, point.value));
    }
    curves
}
