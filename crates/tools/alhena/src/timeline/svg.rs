//! A picture: a row for each thread of each rank, time across, a bar for each call, an arrow for each message.
//!
//! ```text
//!   rank 0 ▒▒▒ Send ▒▒▒      ██ Recv ██
//!               ╲              ╱
//!   rank 1 ░░ compute ░░ ██ Recv ██ ▒▒ Send ▒▒
//! ```
//! The dark end of a bar is the time for which the call has waited. What is narrower than a pixel is drawn once for each pixel: a picture of a
//! million calls is as large as one of ten thousand.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use interpose::FUNCTIONS;

use super::{Call, Timeline};
use crate::numbers;
use crate::profile::escape;

/// In pixels.
const WIDTH: f64 = 1200.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 46.0;
const ROW: f64 = 26.0;
const BAR: f64 = 18.0;
/// Arrows at most: more cover all else.
const MOST_ARROWS: usize = 2000;

/// What a call is about, its colour, and that of its waiting.
const KINDS: [(&str, &str, &str); 5] = [
    ("messages", "#8ab6e8", "#2f6db5"),
    ("collectives", "#9fd19a", "#3b8a3a"),
    ("windows", "#e8c07a", "#b07d1e"),
    ("files", "#d6a3d8", "#8f4a94"),
    ("other", "#cfcfcf", "#8a8a8a"),
];
const OTHER: usize = KINDS.len() - 1;

/// The kind of each function, by the chapter of MPI-5.0 that describes it.
fn kinds() -> HashMap<&'static str, usize> {
    let kind = |chapter| match chapter {
        3 | 4 => 0,
        6 | 8 => 1,
        12 => 2,
        14 => 3,
        _ => OTHER,
    };
    FUNCTIONS.iter().map(|function| (function.name, kind(function.chapter))).collect()
}

/// Where a row is, and which times the picture spans.
struct Scale {
    from: u64,
    nanoseconds: f64,
    /// The first row of each rank.
    rows: Vec<usize>,
    count: usize,
}

impl Scale {
    fn of(timeline: &Timeline) -> Scale {
        let times = || timeline.ranks.iter().flat_map(|rank| &rank.calls).map(|call| call.time);
        let from = times().map(|time| time.0).min().unwrap_or(0);
        let to = times().map(|time| time.1).max().unwrap_or(from);
        let (mut rows, mut count) = (Vec::new(), 0);
        for rank in &timeline.ranks {
            rows.push(count);
            count += rank.threads().len().max(1);
        }
        Scale { from, nanoseconds: to.saturating_sub(from).max(1) as f64, rows, count }
    }

    fn x(&self, time: u64) -> f64 {
        LEFT + time.saturating_sub(self.from) as f64 / self.nanoseconds * (WIDTH - LEFT - 10.0)
    }

    fn y(&self, row: usize) -> f64 {
        TOP + row as f64 * ROW
    }

    fn height(&self) -> f64 {
        self.y(self.count) + 34.0
    }
}

/// The file.
pub fn write(timeline: &Timeline) -> String {
    let scale = Scale::of(timeline);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <defs><marker id=\"head\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
         <path d=\"M0 0 6 3 0 6z\" fill=\"#333\"/></marker></defs>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n",
        height = scale.height()
    );
    legend(&mut out);
    axis(&mut out, &scale);
    let kinds = kinds();
    for (place, rank) in timeline.ranks.iter().enumerate() {
        let threads = rank.threads();
        let y = scale.y(scale.rows[place]) + BAR - 4.0;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">rank {}</text>",
            LEFT - 8.0,
            rank.rank
        );
        let mut drawn = HashSet::new();
        for call in &rank.calls {
            let thread = threads.iter().position(|&thread| thread == call.thread).unwrap_or(0);
            let kind = kinds.get(&*call.name).copied().unwrap_or(OTHER);
            bar(&mut out, &scale, (scale.rows[place] + thread, kind), call, &mut drawn);
        }
    }
    arrows(&mut out, &scale, timeline);
    out + "</svg>\n"
}

fn legend(out: &mut String) {
    let mut x = LEFT;
    for (name, colour, dark) in KINDS {
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"8\" width=\"16\" height=\"11\" fill=\"{colour}\"/><rect x=\"{}\" y=\"8\" width=\"8\" height=\"11\" \
             fill=\"{dark}\"/><text x=\"{}\" y=\"18\">{name}</text>",
            x + 16.0,
            x + 29.0
        );
        x += 130.0;
    }
    let _ = writeln!(out, "<text x=\"{x}\" y=\"18\" fill=\"#555\">dark: the call waited</text>");
}

fn axis(out: &mut String, scale: &Scale) {
    let (top, bottom) = (TOP - 6.0, scale.y(scale.count));
    for tenth in 0..=10 {
        let time = scale.nanoseconds * f64::from(tenth) / 10.0;
        let x = scale.x(scale.from + time as u64);
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#e4e4e4\"/><text x=\"{x:.1}\" y=\"{}\" text-anchor=\"{}\" fill=\"#555\">{}</text>",
            bottom + 18.0,
            if tenth < 10 { "middle" } else { "end" },
            numbers::time(time as u64)
        );
    }
}

fn bar(
    out: &mut String,
    scale: &Scale,
    (row, kind): (usize, usize),
    call: &Call,
    drawn: &mut HashSet<(usize, usize, i64)>,
) {
    let (from, to) = (scale.x(call.time.0), scale.x(call.time.1));
    let width = (to - from).max(0.6);
    if width < 1.0 && !drawn.insert((row, kind, from as i64)) {
        return;
    }
    let (_, colour, dark) = KINDS[kind];
    let y = scale.y(row);
    let mut about = format!("{}, {}", call.name, numbers::time(call.time.1 - call.time.0));
    if call.waited > 0 {
        about += &format!(", waited {}", numbers::time(call.waited));
    }
    if !call.place.is_empty() {
        about += &format!(", {}", call.place);
    }
    let _ = write!(
        out,
        "<g><title>{}</title><rect x=\"{from:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>",
        escape(&about)
    );
    let waited = scale.x(scale.from + call.waited.min(call.time.1 - call.time.0)) - LEFT;
    if waited >= 0.6 {
        let _ = write!(
            out,
            "<rect x=\"{from:.1}\" y=\"{y}\" width=\"{waited:.1}\" height=\"{BAR}\" fill=\"{dark}\"/>"
        );
    }
    out.push_str("</g>\n");
}

fn arrows(out: &mut String, scale: &Scale, timeline: &Timeline) {
    let step = timeline.messages.len().div_ceil(MOST_ARROWS).max(1);
    for message in timeline.messages.iter().step_by(step) {
        let (from, to) = (timeline.call(message.from), timeline.call(message.to));
        let row = |(rank, _): (usize, usize)| scale.y(scale.rows[rank]);
        let (above, below) = (row(message.from), row(message.to));
        let edge = |own: f64, other: f64| if own < other { own + BAR } else { own };
        let _ = writeln!(
            out,
            "<path d=\"M{:.1} {}L{:.1} {}\" stroke=\"#333\" stroke-width=\"0.8\" marker-end=\"url(#head)\"><title>{} with tag {}</title></path>",
            scale.x(from.time.0),
            edge(above, below),
            scale.x(to.time.1),
            edge(below, above),
            numbers::bytes(message.bytes),
            message.tag
        );
    }
    if step > 1 {
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"34\" fill=\"#555\">every {step}th of {} messages has its arrow</text>",
            LEFT,
            timeline.messages.len()
        );
    }
}
