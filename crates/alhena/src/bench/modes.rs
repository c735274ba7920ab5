//! The measurements: which program, and what its figures mean.

use super::error::Error;

/// One measuring program of `bench/`, and how its lines are read.
#[derive(Debug)]
pub struct Mode {
    /// The program's name: `bench/NAME.c`.
    pub name: &'static str,
    /// What it does, for the tables.
    pub title: &'static str,
    /// What is shown of it; the first view is what the program prints.
    pub views: &'static [View],
    /// Whether the program takes the size limits of the command line.
    pub sized: bool,
    /// Whether it needs two ranks, rather than as many as asked for.
    pub pair: bool,
}

/// One way to show a mode's figures.
#[derive(Debug)]
pub struct View {
    /// Key in the JSON.
    pub key: &'static str,
    /// What is shown.
    pub title: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
    /// The value to show, from size and printed value.
    pub of: fn(u64, f64) -> f64,
}

const fn as_printed(
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    more_is_better: bool,
) -> View {
    View { key, title, unit, more_is_better, of: |_, value| value }
}

/// All modes. The first five are the papers'.
pub static MODES: [Mode; 8] = [
    Mode {
        name: "pingpong",
        title: "ping-pong",
        views: &[
            as_printed("latency", "half round trip", "µs", false),
            View {
                key: "bandwidth",
                title: "bandwidth",
                unit: "MB/s",
                more_is_better: true,
                of: |bytes, microseconds| bytes as f64 / microseconds,
            },
        ],
        sized: true,
        pair: true,
    },
    Mode {
        name: "preposted",
        title: "ping-pong, receives pre-posted",
        views: &[as_printed("latency", "half round trip", "µs", false)],
        sized: true,
        pair: true,
    },
    Mode {
        name: "bidirectional",
        title: "both directions at once",
        views: &[as_printed("bandwidth", "bandwidth of both", "MB/s", true)],
        sized: true,
        pair: true,
    },
    Mode {
        name: "streaming",
        title: "streaming, one direction",
        views: &[as_printed("bandwidth", "bandwidth, 64 messages in flight", "MB/s", true)],
        sized: true,
        pair: true,
    },
    Mode {
        name: "rate",
        title: "message rate",
        views: &[as_printed("rate", "messages in windows of 256", "msg/s", true)],
        sized: false,
        pair: true,
    },
    Mode {
        name: "barrier",
        title: "MPI_Barrier",
        views: &[as_printed("time", "time of one", "µs", false)],
        sized: false,
        pair: false,
    },
    Mode {
        name: "ring",
        title: "ring exchange (MPI_Sendrecv with both neighbours)",
        views: &[as_printed("time", "time of one", "µs", false)],
        sized: false,
        pair: false,
    },
    Mode {
        name: "allreduce",
        title: "MPI_Allreduce, sum of doubles",
        views: &[as_printed("time", "time of one", "µs", false)],
        sized: false,
        pair: false,
    },
];

/// What is measured when nothing is chosen: the papers' point-to-point modes.
pub const PAPERS: [&str; 5] = ["pingpong", "preposted", "bidirectional", "streaming", "rate"];

/// The modes of these names, in the order given.
pub fn named(names: &[String]) -> Result<Vec<&'static Mode>, Error> {
    let find = |name: &String| {
        MODES.iter().find(|mode| mode.name == name).ok_or_else(|| Error::NoMode {
            name: name.clone(),
            known: MODES.iter().map(|mode| mode.name).collect::<Vec<_>>().join(", "),
        })
    };
    names.iter().map(find).collect()
}
