//! The report as text, with the headings and columns of mpiP, which scripts read.

use std::fmt::Write;

use super::data::{Bin, End, Report, Site, SiteOfRank, Sum};
use crate::numbers::{date, percent, three};

/// Rows of the tables of the most important places.
const TOP: usize = 20;
/// Columns of a page.
const WIDTH: usize = 75;

/// The page.
pub fn page(report: &Report) -> String {
    let mut out = String::new();
    head(&mut out, report);
    times(&mut out, report);
    broken(&mut out, report);
    sites(&mut out, report);
    top_times(&mut out, report);
    waiting(&mut out, report);
    imbalance(&mut out, report);
    top_sizes(
        &mut out,
        report,
        "Aggregate Sent Message Size (top twenty, descending, bytes)",
        "Sent%",
        |one| one.sent,
    );
    top_sizes(&mut out, report, "Aggregate I/O Size (top twenty, descending, bytes)", "I/O%", |one| one.io);
    let origin = "Aggregate RMA Origin Size (top twenty, descending, bytes)";
    top_sizes(&mut out, report, origin, "RMA%", |one| one.one_sided);
    bins(&mut out, report, true);
    bins(&mut out, report, false);
    all_times(&mut out, report);
    all_sizes(&mut out, report, "Callsite Message Sent statistics (all, sent bytes)", |one| one.sent);
    all_sizes(&mut out, report, "Callsite I/O statistics (all, I/O bytes)", |one| one.io);
    all_sizes(&mut out, report, "Callsite RMA statistics (all, origin bytes)", |one| one.one_sided);
    heading(&mut out, "End of Report");
    out
}

fn heading(out: &mut String, text: &str) {
    let line = "-".repeat(WIDTH);
    let title = format!("@--- {text} ");
    let _ = writeln!(out, "{line}\n{title:-<WIDTH$}\n{line}");
}

fn head(out: &mut String, report: &Report) {
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(out, "@ {name:<25}: {value}");
    };
    let first = report.ranks.first();
    let facts = [
        ("Version", format!("alhena {}", report.alhena)),
        ("Start time", date(report.started)),
        ("Stop time", date(report.written)),
        ("Timer Used", "clock_gettime(CLOCK_MONOTONIC)".to_owned()),
        ("Collector Rank", first.map_or(0, |rank| rank.rank).to_string()),
        ("Collector PID", first.map_or(0, |rank| rank.pid).to_string()),
        ("Exit code", report.exit_code.to_string()),
    ];
    facts.iter().for_each(|(name, value)| fact(name, value));
    for rank in &report.ranks {
        fact("MPI Task Assignment", &format!("{} {}", rank.rank, rank.host));
    }
    let command = format!("@ mpiP\n@ Command : {}\n", report.command);
    out.insert_str(0, &command);
    out.push('\n');
}

fn seconds(nanoseconds: u64) -> String {
    three(nanoseconds as f64 / 1e9)
}

fn milliseconds(nanoseconds: f64) -> String {
    three(nanoseconds / 1e6)
}

fn times(out: &mut String, report: &Report) {
    heading(out, "MPI Time (seconds)");
    let _ = writeln!(out, "{:<4} {:>10} {:>10}    {:>5}", "Task", "AppTime", "MPITime", "MPI%");
    let mut row = |task: &str, app: u64, mpi: u64| {
        let _ = writeln!(
            out,
            "{task:>4} {:>10} {:>10}    {:>5.2}",
            seconds(app),
            seconds(mpi),
            percent(mpi, app)
        );
    };
    for rank in &report.ranks {
        row(&rank.rank.to_string(), rank.app_time, rank.mpi_time);
    }
    row("*", report.app_time(), report.mpi_time());
}

/// Ranks that did not reach `MPI_Finalize`; mpiP has no such section, since it leaves no report then.
fn broken(out: &mut String, report: &Report) {
    let broken: Vec<_> = report.ranks.iter().filter(|rank| rank.end != End::Finalized).collect();
    if broken.is_empty() && report.ranks.iter().all(|rank| rank.lost == 0) {
        return;
    }
    heading(out, "Tasks without MPI_Finalize");
    let _ = writeln!(out, "{:<4} {:<10} Last MPI call", "Task", "End");
    for rank in broken {
        let end = match rank.end {
            End::Before => "no init",
            End::Aborted => "MPI_Abort",
            _ => "broken",
        };
        let last = match rank.last_in.map(|site| &report.sites[site]) {
            Some(site) => format!("in {} at {} (site {})", site.call, site.place(), site.id),
            None => "returned".to_owned(),
        };
        let _ = writeln!(out, "{:>4} {end:<10} {last}", rank.rank);
    }
    for rank in report.ranks.iter().filter(|rank| rank.lost > 0) {
        let _ = writeln!(
            out,
            "{:>4} has {} calls ({} s) at places beyond the first {}",
            rank.rank,
            rank.lost,
            seconds(rank.lost_time),
            profile::tables::SITES.rows
        );
    }
}

fn sites(out: &mut String, report: &Report) {
    heading(out, &format!("Callsites: {}", report.sites.len()));
    let places: Vec<String> = report.sites.iter().map(Site::file_or_address).collect();
    let names: Vec<String> = report
        .sites
        .iter()
        .map(|site| site.function.clone().unwrap_or_else(|| "[unknown]".to_owned()))
        .collect();
    let wide =
        |texts: &[String], least: usize| texts.iter().map(String::len).max().unwrap_or(0).clamp(least, 60);
    let (file, parent) = (wide(&places, 18), wide(&names, 20));
    let _ = writeln!(
        out,
        "{:>3} {:>3} {:<file$} {:>5} {:<parent$} MPI_Call",
        "ID", "Lev", "File/Address", "Line", "Parent_Funct"
    );
    for ((site, place), name) in report.sites.iter().zip(&places).zip(&names) {
        let line = site.line.filter(|_| site.file.is_some()).map_or(String::new(), |line| line.to_string());
        let _ =
            writeln!(out, "{:>3} {:>3} {place:<file$} {line:>5} {name:<parent$} {}", site.id, 0, site.call);
    }
}

/// How much a place's times differ between ranks: the standard deviation over the mean.
fn variation(site: &Site) -> f64 {
    let times: Vec<f64> = site.ranks.iter().map(|one| one.time.sum as f64).collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    if times.len() < 2 || mean == 0.0 {
        return 0.0;
    }
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    (squares / (times.len() - 1) as f64).sqrt() / mean
}

fn top_times(out: &mut String, report: &Report) {
    heading(out, "Aggregate Time (top twenty, descending, milliseconds)");
    let _ = writeln!(
        out,
        "{:<20} {:>4} {:>10}  {:>6}  {:>6} {:>10} {:>6}",
        "Call", "Site", "Time", "App%", "MPI%", "Count", "COV"
    );
    let (app, mpi) = (report.app_time(), report.mpi_time());
    // Places are in this order.
    for site in report.sites.iter().filter(|site| !site.ranks.is_empty()).take(TOP) {
        let time = site.total(|one| one.time);
        let _ = writeln!(
            out,
            "{:<20} {:>4} {:>10}  {:>6.2}  {:>6.2} {:>10} {:>6.2}",
            site.call,
            site.id,
            milliseconds(time.sum as f64),
            percent(time.sum, app),
            percent(time.sum, mpi),
            time.count,
            variation(site)
        );
    }
}

/// Where ranks waited; mpiP does not know.
fn waiting(out: &mut String, report: &Report) {
    let Some(all) = report.waited() else { return };
    heading(out, "Waiting Time (seconds)");
    let _ = writeln!(out, "{:<4} {:>10} {:>10}    {:>5}", "Task", "MPITime", "Waited", "MPI%");
    let mut row = |task: &str, mpi: u64, waited: Option<u64>| {
        let share = waited.map_or(String::new(), |waited| format!("{:.2}", percent(waited, mpi)));
        let waited = waited.map_or("-".to_owned(), seconds);
        let _ = writeln!(out, "{task:>4} {:>10} {waited:>10}    {share:>5}", seconds(mpi));
    };
    for rank in &report.ranks {
        row(&rank.rank.to_string(), rank.mpi_time, rank.waited);
    }
    row("*", report.mpi_time(), Some(all));

    heading(out, "Aggregate Waiting Time (top twenty, descending, milliseconds)");
    let _ = writeln!(
        out,
        "{:<20} {:>4} {:>10}  {:>6}  {:>6} {:>10} {:>10}",
        "Call", "Site", "Waited", "Time%", "MPI%", "Count", "Max"
    );
    let mut sites: Vec<_> = report.sites.iter().map(|site| (site, site.waited())).collect();
    sites.retain(|(_, (waited, _))| *waited > 0);
    sites.sort_by_key(|(_, (waited, _))| std::cmp::Reverse(*waited));
    for &(site, (waited, most)) in sites.iter().take(TOP) {
        let time = site.total(|one| one.time);
        let _ = writeln!(
            out,
            "{:<20} {:>4} {:>10}  {:>6.2}  {:>6.2} {:>10} {:>10}",
            site.call,
            site.id,
            milliseconds(waited as f64),
            percent(waited, time.sum),
            percent(waited, report.mpi_time()),
            time.count,
            milliseconds(most as f64)
        );
    }
}

/// Time at collective calls of the rank that comes last, which waits least, and of that which waits most.
fn imbalance(out: &mut String, report: &Report) {
    let all = report.imbalances();
    if all.is_empty() {
        return;
    }
    heading(out, "Collective Imbalance (top twenty, descending, milliseconds)");
    let _ = writeln!(
        out,
        "{:<20} {:>4} {:>5} {:>10} {:>5} {:>10} {:>10}  {:>6}",
        "Call", "Site", "Least", "Time", "Most", "Time", "Beyond", "MPI%"
    );
    for (site, imbalance) in all.iter().take(TOP) {
        let _ = writeln!(
            out,
            "{:<20} {:>4} {:>5} {:>10} {:>5} {:>10} {:>10}  {:>6.2}",
            site.call,
            site.id,
            imbalance.least.0,
            milliseconds(imbalance.least.1 as f64),
            imbalance.most.0,
            milliseconds(imbalance.most.1 as f64),
            milliseconds(imbalance.beyond as f64),
            percent(imbalance.beyond, report.mpi_time())
        );
    }
}

fn top_sizes(out: &mut String, report: &Report, title: &str, share: &str, of: fn(&SiteOfRank) -> Sum) {
    let mut sums: Vec<(&Site, Sum)> = report.sites.iter().map(|site| (site, site.total(of))).collect();
    sums.retain(|(_, sum)| sum.sum > 0);
    if sums.is_empty() {
        return;
    }
    heading(out, title);
    let _ = writeln!(
        out,
        "{:<20} {:>4} {:>10} {:>10} {:>10} {share:>6}",
        "Call", "Site", "Count", "Total", "Avrg"
    );
    let all: u64 = sums.iter().map(|(_, sum)| sum.sum).sum();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.sum));
    for (site, sum) in sums.iter().take(TOP) {
        let _ = writeln!(
            out,
            "{:<20} {:>4} {:>10} {:>10} {:>10} {:>6.2}",
            site.call,
            site.id,
            sum.count,
            three(sum.sum as f64),
            three(sum.mean()),
            percent(sum.sum, all)
        );
    }
}

/// Collective time, or messages sent, by size of communicator and data.
fn bins(out: &mut String, report: &Report, collective: bool) {
    let of = |bin: &Bin| if collective { bin.time } else { bin.bytes };
    let is_message = |bin: &Bin| bin.call.to_lowercase().contains("send") || bin.call.starts_with("Start");
    let mut all: Vec<&Bin> = report
        .bins
        .iter()
        .filter(|bin| bin.collective == collective && of(bin) > 0 && (collective || is_message(bin)))
        .collect();
    if all.is_empty() {
        return;
    }
    let (title, column, whole) = match collective {
        true => ("Aggregate Collective Time (top twenty, descending)", "MPI Time %", report.mpi_time()),
        false => (
            "Aggregate Point-To-Point Sent (top twenty, descending)",
            "MPI Sent %",
            all.iter().map(|bin| bin.bytes).sum(),
        ),
    };
    heading(out, title);
    let _ = writeln!(out, "{:<20} {column:>10} {:>21} {:>21}", "Call", "Comm Size", "Data Size");
    all.sort_by_key(|bin| std::cmp::Reverse(of(bin)));
    for bin in all.iter().take(TOP) {
        let range = |(least, most): (u64, u64)| format!("{least:>8} - {most:>8}");
        let _ = writeln!(
            out,
            "{:<20} {:>10} {:>21} {:>21}",
            bin.call,
            three(percent(of(bin), whole)),
            range(bin.processes),
            range(bin.size)
        );
    }
}

fn all_times(out: &mut String, report: &Report) {
    let rows: usize = report.sites.iter().map(|site| site.ranks.len()).sum();
    heading(out, &format!("Callsite Time statistics (all, milliseconds): {rows}"));
    let _ = writeln!(
        out,
        "{:<17} {:>4} {:>4} {:>6} {:>8} {:>8} {:>8} {:>6} {:>6}",
        "Name", "Site", "Rank", "Count", "Max", "Mean", "Min", "App%", "MPI%"
    );
    for site in by_name(report) {
        let mut row = |rank: &str, time: Sum, app: u64, mpi: u64| {
            let _ = writeln!(
                out,
                "{:<17} {:>4} {rank:>4} {:>6} {:>8} {:>8} {:>8} {:>6.2} {:>6.2}",
                site.call,
                site.id,
                time.count,
                milliseconds(time.max as f64),
                milliseconds(time.mean()),
                milliseconds(time.min as f64),
                percent(time.sum, app),
                percent(time.sum, mpi)
            );
        };
        for one in &site.ranks {
            let found = report.index_of(one.rank).map(|at| &report.ranks[at]);
            let (app, mpi) = found.map_or((0, 0), |rank| (rank.app_time, rank.mpi_time));
            row(&one.rank.to_string(), one.time, app, mpi);
        }
        row("*", site.total(|one| one.time), report.app_time(), report.mpi_time());
        out.push('\n');
    }
}

fn all_sizes(out: &mut String, report: &Report, title: &str, of: fn(&SiteOfRank) -> Sum) {
    let sites: Vec<&Site> = by_name(report).into_iter().filter(|site| site.total(of).sum > 0).collect();
    if sites.is_empty() {
        return;
    }
    heading(out, title);
    let _ = writeln!(
        out,
        "{:<17} {:>4} {:>4} {:>7} {:>9} {:>9} {:>9} {:>9}",
        "Name", "Site", "Rank", "Count", "Max", "Mean", "Min", "Sum"
    );
    for site in sites {
        let mut row = |rank: &str, sum: Sum| {
            let _ = writeln!(
                out,
                "{:<17} {:>4} {rank:>4} {:>7} {:>9} {:>9} {:>9} {:>9}",
                site.call,
                site.id,
                sum.count,
                three(sum.max as f64),
                three(sum.mean()),
                three(sum.min as f64),
                three(sum.sum as f64)
            );
        };
        for one in site.ranks.iter().filter(|one| of(one).sum > 0) {
            row(&one.rank.to_string(), of(one));
        }
        row("*", site.total(of));
        out.push('\n');
    }
}

fn by_name(report: &Report) -> Vec<&Site> {
    let mut all: Vec<&Site> = report.sites.iter().filter(|site| !site.ranks.is_empty()).collect();
    all.sort_by_key(|site| (&site.call, site.id));
    all
}
