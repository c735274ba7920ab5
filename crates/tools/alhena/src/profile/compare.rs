//! Two runs beside each other.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::data::{Report, Sum, base};
use crate::numbers::{bytes, percent, time};

/// What a place is called in both runs: lines move when a program is changed, so functions are what stays. The line is
/// shown of the later run.
type Key = (String, String, String);

/// A place in both runs.
#[derive(Default)]
struct Both {
    line: Option<u32>,
    time: [Sum; 2],
    sent: [Sum; 2],
}

/// The table of what has changed: places whose time differs by at least `threshold` percent of the larger run's MPI time.
pub fn table(before: &Report, after: &Report, threshold: f64) -> String {
    let mut out = String::new();
    let row = |out: &mut String, name: &str, values: [String; 2], change: String| {
        let _ = writeln!(out, "{name:<44} {:>12} {:>12} {change:>9}", values[0], values[1]);
    };
    row(&mut out, "", ["before".into(), "after".into()], "change".into());
    let pair = |of: fn(&Report) -> u64| [of(before), of(after)];
    for (name, values) in [("time of all ranks", pair(Report::app_time)), ("in MPI", pair(Report::mpi_time))]
    {
        row(&mut out, name, values.map(time), change(values));
    }
    if let (Some(before), Some(after)) = (before.waited(), after.waited()) {
        row(&mut out, "waiting in MPI", [before, after].map(time), change([before, after]));
    }
    let shares = [before, after].map(|run| percent(run.mpi_time(), run.app_time()));
    row(
        &mut out,
        "share of MPI",
        shares.map(|share| format!("{share:.1} %")),
        format!("{:+.1}", shares[1] - shares[0]),
    );
    let ranks = [before, after].map(|run| run.ranks.len().to_string());
    row(&mut out, "ranks", ranks, String::new());

    let places = places(before, after);
    let whole = before.mpi_time().max(after.mpi_time());
    let mut changed: Vec<(&Key, &Both)> = places
        .iter()
        .filter(|(_, both)| percent(both.time[0].sum.abs_diff(both.time[1].sum), whole) >= threshold)
        .collect();
    changed.sort_by_key(|(_, both)| std::cmp::Reverse(both.time[0].sum.abs_diff(both.time[1].sum)));
    let _ = writeln!(
        out,
        "\ntime by place, the largest change first ({} of {} places)",
        changed.len(),
        places.len()
    );
    for (key, both) in changed {
        let sums = [both.time[0].sum, both.time[1].sum];
        row(&mut out, &name(key, both), sums.map(time), change(sums));
        for (what, values) in
            [("calls", both.time.map(|sum| sum.count)), ("bytes", both.sent.map(|sum| sum.sum))]
        {
            if values[0] != values[1] {
                let shown =
                    values.map(|value| if what == "bytes" { bytes(value) } else { value.to_string() });
                row(&mut out, &format!("    {what}"), shown, change(values));
            }
        }
    }
    out
}

fn places(before: &Report, after: &Report) -> BTreeMap<Key, Both> {
    let mut all: BTreeMap<Key, Both> = BTreeMap::new();
    for (run, report) in [before, after].into_iter().enumerate() {
        for site in &report.sites {
            let place = base(site.file.as_ref().unwrap_or(&site.object)).to_owned();
            let function = site.function.clone().unwrap_or_else(|| format!("{:#x}", site.offset));
            let both = all.entry((place, function, site.call.clone())).or_default();
            both.line = site.line.or(both.line);
            both.time[run] = both.time[run].and(site.total(|one| one.time));
            both.sent[run] = both.sent[run].and(site.total(|one| one.sent));
        }
    }
    all
}

fn name((place, function, call): &Key, both: &Both) -> String {
    match both.line {
        Some(line) => format!("{call} {place}:{line} ({function})"),
        None => format!("{call} {place} ({function})"),
    }
}

/// How much the second is more than the first.
fn change([before, after]: [u64; 2]) -> String {
    match (before, after) {
        (0, 0) => "0.0 %".to_owned(),
        (0, _) => "new".to_owned(),
        (_, 0) => "gone".to_owned(),
        _ => format!("{:+.1} %", 100.0 * (after as f64 - before as f64) / before as f64),
    }
}
