//! The pictures of the page, as SVG inside it: colours come from the page's style, each mark has its numbers as a title.

use std::fmt::Write;

use super::data::Report;
use super::page::escape;
use crate::numbers::{bytes, percent, range, time};

/// Functions that have a colour of their own; the others share one.
const COLOURS: usize = 9;
/// Bars of a picture at most: beyond, several ranks share one.
const BARS: usize = 64;
/// Cells of a row of the matrix at most.
const CELLS: usize = 64;
const WIDTH: f64 = 900.0;

/// Time of each function, stacked over ranks.
pub fn stacks(report: &Report) -> String {
    let calls = report.by_call();
    let groups = groups(report.ranks.len(), BARS);
    let longest = report.ranks.iter().map(|rank| rank.app_time).max().unwrap_or(0).max(1) as f64;
    let (height, left, bottom) = (260.0, 60.0, 36.0);
    let step = (WIDTH - left) / groups.len() as f64;
    let scale = (height - 10.0) / longest;
    let mut svg = open(WIDTH, height + bottom, "Time of each function, stacked over ranks");
    axis(&mut svg, left, height, longest / 1e9);
    for (bar, ranks) in groups.iter().enumerate() {
        let mean = |values: &dyn Fn(usize) -> u64| {
            ranks.clone().map(values).map(|value| value as f64).sum::<f64>() / ranks.len() as f64
        };
        let label = labelled(report, ranks);
        let x = left + bar as f64 * step + step * 0.1;
        let mut y = height;
        let mut part = |class: &str, name: &str, value: f64| {
            let tall = value * scale;
            y -= tall;
            if tall > 0.05 {
                let _ = write!(
                    svg,
                    "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"><title>{label}: {} \
                     {}</title></rect>",
                    step * 0.8,
                    escape(name),
                    time(value as u64)
                );
            }
        };
        for (index, (call, times)) in calls.iter().enumerate() {
            part(&class(index), call, mean(&|rank| times[rank]));
        }
        let outside = mean(&|rank| report.ranks[rank].app_time.saturating_sub(report.ranks[rank].mpi_time));
        part("outside", "outside MPI", outside);
        if groups.len() <= 32 || bar % (groups.len() / 16) == 0 {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x + step * 0.4,
                height + 14.0,
                report.ranks[ranks.start].rank
            );
        }
    }
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">rank</text></svg>",
        WIDTH / 2.0,
        height + 30.0
    );
    svg
}

/// The functions with the colours that the stacks have.
pub fn legend(report: &Report) -> String {
    let calls = report.by_call();
    let mut out = String::from("<p class=\"legend\">");
    for (index, (call, _)) in calls.iter().take(COLOURS).enumerate() {
        let _ = write!(out, "<span><i class=\"{}\"></i>{}</span> ", class(index), escape(call));
    }
    if calls.len() > COLOURS {
        out.push_str("<span><i class=\"c9\"></i>other MPI</span> ");
    }
    out.push_str("<span><i class=\"outside\"></i>outside MPI</span></p>");
    out
}

/// Bytes from whom to whom: rows send.
pub fn matrix(report: &Report) -> Option<String> {
    let most_rank = report.pairs.iter().map(|pair| pair.to.max(pair.from)).max()?;
    let size = report.size.max(most_rank.saturating_add(1)) as usize;
    let groups = groups(size, CELLS);
    let each = size.div_ceil(groups.len());
    let mut cells = vec![(0u64, 0u64); groups.len() * groups.len()];
    for pair in &report.pairs {
        let cell = &mut cells[pair.from as usize / each * groups.len() + pair.to as usize / each];
        *cell = (cell.0 + pair.messages, cell.1 + pair.bytes + pair.one_sided);
    }
    let most = cells.iter().map(|&(_, bytes)| bytes).max().filter(|&most| most > 0)? as f64;
    let (left, top) = (50.0, 20.0);
    let side = (480.0 / groups.len() as f64).min(48.0);
    let whole = side * groups.len() as f64;
    let mut svg = open(left + whole + 10.0, top + whole + 30.0, "Bytes from rank (row) to rank (column)");
    for (row, from) in groups.iter().enumerate() {
        for (column, to) in groups.iter().enumerate() {
            let (messages, sent) = cells[row * groups.len() + column];
            if sent == 0 && messages == 0 {
                continue;
            }
            // By magnitude: a factor of a thousand still shows.
            let share = (1.0 + (sent.max(1) as f64 / most).log10() / 4.0).clamp(0.08, 1.0);
            let name = |range: &std::ops::Range<usize>| match range.len() {
                1 => format!("{}", range.start),
                _ => format!("{}–{}", range.start, range.end - 1),
            };
            let _ = write!(
                svg,
                "<rect class=\"cell\" fill-opacity=\"{share:.2}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
                 <title>{} → {}: {messages} messages, {}</title></rect>",
                left + column as f64 * side,
                top + row as f64 * side,
                side - 0.5,
                side - 0.5,
                name(from),
                name(to),
                bytes(sent)
            );
        }
        if groups.len() <= 16 || row % (groups.len() / 8) == 0 {
            let (middle, name) = ((row as f64 + 0.5) * side, from.start);
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{name}</text>",
                left - 5.0,
                top + middle + 4.0,
                left + middle,
                top - 6.0,
            );
        }
    }
    let _ = write!(
        svg,
        "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{whole:.1}\" height=\"{whole:.1}\"/><text x=\"{:.1}\" \
         y=\"{:.1}\" text-anchor=\"middle\">to rank (rows: from rank)</text></svg>",
        left + whole / 2.0,
        top + whole + 20.0
    );
    Some(svg)
}

/// Messages and collective calls by the size of their data.
pub fn sizes(report: &Report) -> Option<String> {
    let mut classes: Vec<((u64, u64), [u64; 2])> = Vec::new();
    for bin in &report.bins {
        let at = classes.iter().position(|(size, _)| *size == bin.size).unwrap_or_else(|| {
            classes.push((bin.size, [0; 2]));
            classes.len() - 1
        });
        classes[at].1[usize::from(bin.collective)] += bin.count;
    }
    classes.sort_by_key(|(size, _)| *size);
    let most = classes.iter().map(|(_, counts)| counts[0] + counts[1]).max().filter(|&most| most > 0)? as f64;
    let row = 18.0;
    let left = 190.0;
    let mut svg = open(WIDTH, row * classes.len() as f64 + 4.0, "Calls by size of their data");
    for (index, (size, counts)) in classes.iter().enumerate() {
        let y = index as f64 * row + 2.0;
        let label = range(*size, bytes);
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            left - 8.0,
            y + 12.0
        );
        let mut x = left;
        for (kind, (count, class)) in counts.iter().zip(["c0", "c2"]).enumerate() {
            let wide = *count as f64 / most * (WIDTH - left - 90.0);
            if *count > 0 {
                let what = ["calls of point-to-point, windows and files", "collective calls"][kind];
                let _ = write!(
                    svg,
                    "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{}\"><title>{count} {what}</title>\
                     </rect>",
                    wide.max(1.0),
                    row - 4.0
                );
            }
            x += wide;
        }
        let _ =
            write!(svg, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 6.0, y + 12.0, counts[0] + counts[1]);
    }
    svg.push_str("</svg>");
    Some(svg)
}

/// The share of MPI of each rank, against the mean.
pub fn imbalance(report: &Report) -> String {
    let groups = groups(report.ranks.len(), 256);
    let (height, left) = (70.0, 60.0);
    let step = (WIDTH - left) / groups.len() as f64;
    let share = |rank: usize| percent(report.ranks[rank].mpi_time, report.ranks[rank].app_time).min(100.0);
    let waited =
        |rank: usize| Some(percent(report.ranks[rank].waited?, report.ranks[rank].app_time).min(100.0));
    let all: f64 = (0..report.ranks.len()).map(share).sum::<f64>() / report.ranks.len().max(1) as f64;
    let mut svg = open(WIDTH, height + 4.0, "Share of MPI of each rank");
    for (bar, ranks) in groups.iter().enumerate() {
        let most = ranks.clone().map(share).fold(0.0, f64::max);
        let waits = ranks.clone().filter_map(waited).fold(0.0, f64::max);
        let parts = [("c1", most, "in MPI"), ("waits", waits, "waiting in MPI")];
        for (class, share, what) in &parts[..if waits > 0.0 { 2 } else { 1 }] {
            let tall = share / 100.0 * height;
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"><title>{}: {share:.1} % \
                 {what}</title></rect>",
                left + bar as f64 * step,
                height - tall,
                step * 0.9,
                labelled(report, ranks)
            );
        }
    }
    let y = height - all / 100.0 * height;
    let _ = write!(
        svg,
        "<line class=\"mean\" x1=\"{left}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{}\" y=\"{:.1}\" \
         text-anchor=\"end\">{all:.1} %</text></svg>",
        left - 6.0,
        (y + 4.0).clamp(12.0, height)
    );
    svg
}

fn open(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" style=\"max-width:{width:.0}px\"><title>{title}</title>"
    )
}

/// Seconds at the left edge.
fn axis(svg: &mut String, left: f64, height: f64, longest: f64) {
    for part in 0..=4 {
        let y = height - (height - 10.0) * f64::from(part) / 4.0;
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            left - 6.0,
            y + 4.0,
            time((longest * f64::from(part) / 4.0 * 1e9) as u64)
        );
    }
}

fn class(index: usize) -> String {
    format!("c{}", index.min(COLOURS))
}

fn labelled(report: &Report, ranks: &std::ops::Range<usize>) -> String {
    let (first, last) = (report.ranks[ranks.start].rank, report.ranks[ranks.end - 1].rank);
    if first == last { format!("rank {first}") } else { format!("mean of ranks {first} to {last}") }
}

/// `count` things in at most `most` groups of neighbours.
fn groups(count: usize, most: usize) -> Vec<std::ops::Range<usize>> {
    let each = count.div_ceil(most).max(1);
    (0..count).step_by(each).map(|begin| begin..(begin + each).min(count)).collect()
}
