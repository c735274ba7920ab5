//! The report as one HTML page that needs no other file and no network.
//!
//! Everything is there without script: pictures are SVG, and all numbers are in tables. The script sorts tables. The whole
//! report is in the page as JSON.

use std::fmt::Write;

use super::data::{End, Report, Site};
use super::picture;
use crate::numbers::{bytes, date, percent, range, time};

/// Places that the page shows; the text and the JSON have all.
const PLACES: usize = 100;
/// Ranks of the table of those with the largest share of MPI.
const WORST: usize = 10;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page; `json` is the report.
pub fn page(report: &Report, json: &str) -> String {
    let mut out = String::new();
    let title = escape(super::data::base(report.command.split(' ').next().unwrap_or_default()));
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Profile of {title}</title>\n<style>\n{STYLE}</style></head>\n<body>\n\
         <h1>Profile of <code>{title}</code></h1>\n"
    );
    facts(&mut out, report);
    broken(&mut out, report);
    section(&mut out, "Time by function", "Each bar is a rank, from MPI_Init to MPI_Finalize.", |out| {
        out.push_str(&picture::legend(report));
        out.push_str(&picture::stacks(report));
    });
    let note = "Share of MPI of each rank, the darker part of it waiting; the line is the mean.";
    section(&mut out, "Imbalance", note, |out| {
        out.push_str(&picture::imbalance(report));
        worst(out, report);
    });
    collectives(&mut out, report);
    section(&mut out, "Places", "Where the time goes: a click on a heading sorts.", |out| {
        places(out, report)
    });
    functions(&mut out, report);
    sizes(&mut out, report);
    if let Some(svg) = picture::matrix(report) {
        let note = "Bytes of messages and one-sided calls; a darker cell has more, by orders of magnitude.";
        section(&mut out, "From rank to rank", note, |out| {
            out.push_str(&svg);
            pairs(out, report);
        });
    }
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"report\">{}</script>\n<script>\n{SCRIPT}</script>\n</body></html>\n",
        json.replace("</", "<\\/")
    );
    out
}

/// Text as HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn section(out: &mut String, title: &str, note: &str, content: impl FnOnce(&mut String)) {
    let _ = writeln!(out, "<section><h2>{title}</h2><p class=\"note\">{note}</p>");
    content(out);
    out.push_str("\n</section>\n");
}

fn facts(out: &mut String, report: &Report) {
    let longest = report.ranks.iter().map(|rank| rank.app_time).max().unwrap_or(0);
    let sent: u64 = report.sites.iter().map(|site| site.total(|one| one.sent).sum).sum();
    let calls: u64 = report.sites.iter().map(|site| site.total(|one| one.time).count).sum();
    let mut hosts: Vec<&str> = report.ranks.iter().map(|rank| rank.host.as_str()).collect();
    hosts.dedup();
    let share = percent(report.mpi_time(), report.app_time());
    let rows = [
        ("Command", format!("<code>{}</code>", escape(&report.command))),
        ("Started", format!("{} UTC", date(report.started))),
        ("Ranks", format!("{} of {} on {}", report.ranks.len(), report.size, escape(&hosts.join(", ")))),
        ("Longest rank", time(longest)),
        (
            "In MPI",
            format!("{share:.1} % of all ranks' time, {} calls at {} places", calls, report.sites.len()),
        ),
        (
            "Waited",
            report.waited().map_or("not measured".to_owned(), |waited| {
                format!("{}, {:.1} % of the time in MPI", time(waited), percent(waited, report.mpi_time()))
            }),
        ),
        ("Sent", bytes(sent)),
        ("Exit code", report.exit_code.to_string()),
    ];
    out.push_str("<table class=\"facts\">");
    for (name, value) in rows {
        let _ = write!(out, "<tr><th>{name}</th><td>{value}</td></tr>");
    }
    out.push_str("</table>\n");
}

fn broken(out: &mut String, report: &Report) {
    let broken: Vec<_> = report.ranks.iter().filter(|rank| rank.end != End::Finalized).collect();
    if broken.is_empty() {
        return;
    }
    let note = "These ranks did not call MPI_Finalize. Their numbers reach to the last call that ended.";
    section(out, "Ended early", note, |out| {
        out.push_str("<table><thead><tr><th>Rank</th><th>Last MPI call</th></tr></thead><tbody>");
        for rank in broken.iter().take(PLACES) {
            let last = match (rank.end, rank.last_in.map(|site| &report.sites[site])) {
                (_, Some(site)) => {
                    format!("in <code>MPI_{}</code> at {}", escape(&site.call), escape(&site.place()))
                }
                (End::Aborted, None) => "<code>MPI_Abort</code>".to_owned(),
                (End::Before, None) => "before <code>MPI_Init</code> had returned".to_owned(),
                _ => "outside of MPI".to_owned(),
            };
            let _ = write!(out, "<tr><td>{}</td><td>{last}</td></tr>", rank.rank);
        }
        out.push_str("</tbody></table>");
    });
}

/// A table that can be sorted: headings, and rows of a text and a number to sort by.
fn table(out: &mut String, headings: &[&str], rows: impl Iterator<Item = Vec<(String, f64)>>) {
    out.push_str("<table class=\"sortable\"><thead><tr>");
    for heading in headings {
        let _ = write!(out, "<th>{heading}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (text, number) in row {
            let _ = match number.is_nan() {
                true => write!(out, "<td>{text}</td>"),
                false => write!(out, "<td class=\"number\" data-value=\"{number}\">{text}</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table>\n");
}

fn text(text: &str) -> (String, f64) {
    (escape(text), f64::NAN)
}

fn times(nanoseconds: u64) -> (String, f64) {
    (time(nanoseconds), nanoseconds as f64)
}

fn share(value: f64) -> (String, f64) {
    (format!("{value:.1} %"), value)
}

fn count(value: u64) -> (String, f64) {
    (value.to_string(), value as f64)
}

fn sized(value: u64) -> (String, f64) {
    (bytes(value), value as f64)
}

fn worst(out: &mut String, report: &Report) {
    let mut ranks: Vec<_> = report.ranks.iter().collect();
    let of = |rank: &super::data::Rank| percent(rank.mpi_time, rank.app_time);
    ranks.sort_by(|a, b| of(b).total_cmp(&of(a)));
    let first = ranks.iter().take(WORST);
    table(
        out,
        &["Rank", "Host", "Time", "In MPI", "Share", "Waited", "Most of it in"],
        first.map(|rank| {
            let time_of = |site: &Site| {
                site.ranks.iter().find(|one| one.rank == rank.rank).map_or(0, |one| one.time.sum)
            };
            let most = report.sites.iter().max_by_key(|site| time_of(site)).filter(|site| time_of(site) > 0);
            vec![
                count(rank.rank.into()),
                text(&rank.host),
                times(rank.app_time),
                times(rank.mpi_time),
                share(of(rank)),
                rank.waited.map_or_else(|| text(""), times),
                text(&most.map_or(String::new(), |site| format!("{} at {}", site.call, site.place()))),
            ]
        }),
    );
}

/// Collective calls at which some ranks are much longer than others.
fn collectives(out: &mut String, report: &Report) {
    let all = report.imbalances();
    if all.is_empty() {
        return;
    }
    let note = "The rank with the least time comes last, and the others wait for it. What they spend beyond it is waiting where \
                it is always the same rank; else they waited for longer.";
    section(out, "Imbalance of collective calls", note, |out| {
        let headings = [
            "Call",
            "Place",
            "Calls",
            "Waited",
            "Least",
            "of rank",
            "Most",
            "of rank",
            "Beyond the least",
            "of MPI",
        ];
        table(
            out,
            &headings,
            all.iter().take(PLACES).map(|(site, imbalance)| {
                vec![
                    text(&site.call),
                    text(&site.place()),
                    count(site.total(|one| one.time).count),
                    times(site.waited().0),
                    times(imbalance.least.1),
                    count(imbalance.least.0.into()),
                    times(imbalance.most.1),
                    count(imbalance.most.0.into()),
                    times(imbalance.beyond),
                    share(percent(imbalance.beyond, report.mpi_time())),
                ]
            }),
        );
    });
}

fn places(out: &mut String, report: &Report) {
    let headings = [
        "Call",
        "Place",
        "In",
        "Time",
        "of MPI",
        "Waited",
        "Calls",
        "Mean",
        "Max",
        "Slowest rank / mean",
        "Sent",
        "Mean size",
    ];
    let whole = report.mpi_time();
    let sites = report.sites.iter().filter(|site| !site.ranks.is_empty()).take(PLACES);
    table(
        out,
        &headings,
        sites.map(|site| {
            let (all, sent) = (site.total(|one| one.time), site.total(|one| one.sent));
            let slowest = site.ranks.iter().map(|one| one.time.sum).max().unwrap_or(0) as f64;
            let ratio = slowest * report.ranks.len() as f64 / all.sum.max(1) as f64;
            vec![
                text(&site.call),
                text(&site.place()),
                text(site.function.as_deref().unwrap_or("")),
                times(all.sum),
                share(percent(all.sum, whole)),
                times(site.waited().0),
                count(all.count),
                times(all.mean() as u64),
                times(all.max),
                (format!("{ratio:.2}"), ratio),
                sized(sent.sum),
                sized(sent.mean() as u64),
            ]
        }),
    );
    if report.sites.len() > PLACES {
        let _ = write!(out, "<p class=\"note\">The first {PLACES} of {} places.</p>", report.sites.len());
    }
}

fn functions(out: &mut String, report: &Report) {
    let whole = report.mpi_time();
    section(out, "Functions", "All places of a function together.", |out| {
        let rows = report.by_call().into_iter().map(|(call, by_rank)| {
            let all: u64 = by_rank.iter().sum();
            let of = || report.sites.iter().filter(|site| site.call == call);
            let calls: u64 = of().map(|site| site.total(|one| one.time).count).sum();
            let sent: u64 = of().map(|site| site.total(|one| one.sent).sum).sum();
            let moved: u64 =
                of().map(|site| site.total(|one| one.io).and(site.total(|one| one.one_sided)).sum).sum();
            let (least, most) = (by_rank.iter().min().copied(), by_rank.iter().max().copied());
            vec![
                text(&call),
                times(all),
                share(percent(all, whole)),
                count(calls),
                times(least.unwrap_or(0)),
                times(all / by_rank.len().max(1) as u64),
                times(most.unwrap_or(0)),
                sized(sent),
                sized(moved),
            ]
        });
        let headings = [
            "Call",
            "Time",
            "of MPI",
            "Calls",
            "Least of a rank",
            "Mean",
            "Most",
            "Sent",
            "Files and windows",
        ];
        table(out, &headings, rows);
    });
}

fn sizes(out: &mut String, report: &Report) {
    let Some(svg) = picture::sizes(report) else { return };
    section(
        out,
        "Sizes",
        "Calls by the size of their data: messages, windows and files, and collective calls.",
        |out| {
            out.push_str(
                "<p class=\"legend\"><span><i class=\"c0\"></i>point-to-point, windows, files</span> ",
            );
            out.push_str("<span><i class=\"c2\"></i>collective</span></p>");
            out.push_str(&svg);
            table(
                out,
                &["Call", "Size", "Processes", "Calls", "Bytes", "Time"],
                report.bins.iter().map(|bin| {
                    let span = |of: (u64, u64), show: fn(u64) -> String| (range(of, show), of.0 as f64);
                    vec![
                        text(&bin.call),
                        span(bin.size, bytes),
                        span(bin.processes, |value| value.to_string()),
                        count(bin.count),
                        sized(bin.bytes),
                        times(bin.time),
                    ]
                }),
            );
        },
    );
}

fn pairs(out: &mut String, report: &Report) {
    let mut pairs: Vec<_> = report.pairs.iter().collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.bytes + pair.one_sided));
    table(
        out,
        &["From", "To", "Messages", "Bytes", "One-sided"],
        pairs.iter().take(PLACES).map(|pair| {
            vec![
                count(pair.from.into()),
                count(pair.to.into()),
                count(pair.messages),
                sized(pair.bytes),
                sized(pair.one_sided),
            ]
        }),
    );
    if pairs.len() > PLACES {
        let _ = write!(out, "<p class=\"note\">The first {PLACES} of {} pairs.</p>", pairs.len());
    }
}
