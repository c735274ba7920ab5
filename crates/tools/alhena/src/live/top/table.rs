//! The rows of `alhena top`.

use std::borrow::Cow;

use live::{Description, RankOf};
use observe::State;
use serde::{Deserialize, Serialize};

use super::super::elsewhere::Pages;
use super::sample::{Moment, RankAt};
use crate::live::process::ticks_per_second;

/// What rows are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// The rank
    Rank,
    /// The share of waiting, the largest first
    Waiting,
    /// Bytes in a second, the most first
    Bytes,
}

impl Order {
    /// The next one, for a key.
    pub fn next(self) -> Order {
        match self {
            Order::Rank => Order::Waiting,
            Order::Waiting => Order::Bytes,
            Order::Bytes => Order::Rank,
        }
    }
}

/// A rank between two looks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub rank: u32,
    /// Its host.
    pub host: String,
    pub pid: i32,
    /// `computes`, `waits`, `stopped`, `ended` …
    pub state: Cow<'static, str>,
    /// The call that it is in; empty: in none.
    pub call: String,
    /// The place of the call, or where it computes.
    pub place: String,
    /// Bytes in a second.
    pub bytes: f64,
    /// Messages in a second.
    pub messages: f64,
    /// Share of the time in which it waited, from 0 to 1.
    pub waiting: f64,
    /// Processors that it kept busy.
    pub processors: f64,
}

/// All rows, and what goes for all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub title: String,
    pub rows: Vec<Row>,
    /// A line for each host of which there are no rows.
    pub missing: Vec<String>,
    /// Sums of all rows.
    pub bytes: f64,
    pub messages: f64,
    /// Mean share of waiting.
    pub waiting: f64,
    /// By how much the rank that waits least works more than the mean, as a share of its work: what would be won if all worked
    /// alike.
    pub imbalance: f64,
}

impl Table {
    /// What has happened between two looks, and the tables of other hosts.
    pub fn new(
        job: &Description,
        (before, now): (&Moment, &Moment),
        others: &Pages<Table>,
        order: Order,
    ) -> Table {
        let seconds = (now.at.saturating_sub(before.at) as f64 / 1e9).max(1e-3);
        let ranks = job.ranks.iter().zip(before.ranks.iter().zip(&now.ranks));
        let own = ranks.map(|(it, (then, now))| row(job, it, (then, now), seconds));
        let mut rows: Vec<Row> = own.chain(others.pages.iter().flat_map(|page| page.rows.clone())).collect();
        let live: Vec<f64> = rows.iter().filter(|row| row.state != "ended").map(|row| row.waiting).collect();
        let waiting = live.iter().sum::<f64>() / live.len().max(1) as f64;
        let most = live.iter().map(|share| 1.0 - share).fold(0.0, f64::max);
        match order {
            Order::Rank => rows.sort_by_key(|row| row.rank),
            Order::Waiting => rows.sort_by(|a, b| b.waiting.total_cmp(&a.waiting).then(a.rank.cmp(&b.rank))),
            Order::Bytes => rows.sort_by(|a, b| b.bytes.total_cmp(&a.bytes).then(a.rank.cmp(&b.rank))),
        }
        Table {
            title: title(job, rows.len()),
            missing: others.missing.clone(),
            bytes: rows.iter().map(|row| row.bytes).sum(),
            messages: rows.iter().map(|row| row.messages).sum(),
            waiting,
            imbalance: if most > 0.0 { (most - (1.0 - waiting)) / most } else { 0.0 },
            rows,
        }
    }
}

fn title(job: &Description, rows: usize) -> String {
    let ranks = match (rows == job.size as usize, job.hosts) {
        (true, 0 | 1) => format!("{} ranks", job.size),
        (true, hosts) => format!("{} ranks on {hosts} hosts", job.size),
        (false, hosts) => format!("{rows} of {} ranks, on {hosts} hosts", job.size),
    };
    let time = crate::live::jobs::since(job.began);
    format!("job {} on {}: {ranks} of {}, {time}", job.number, job.host, job.programs().join(" : "))
}

fn row(job: &Description, it: &RankOf, (then, now): (&RankAt, &RankAt), seconds: f64) -> Row {
    let rate = |then: u64, now: u64| now.saturating_sub(then) as f64 / seconds;
    let ticks = |at: &RankAt| at.process.map_or(0, |process| process.ticks);
    // What it has counted before its first answer is not of this time.
    let figures = then.figures.zip(now.figures).unwrap_or_default();
    let counted = rate(then.waited, now.waited) / 1e9;
    Row {
        rank: it.rank,
        host: job.host.clone(),
        pid: it.pid,
        state: state(now).into(),
        call: now.call.clone().unwrap_or_default(),
        place: now.place.clone().unwrap_or_default(),
        bytes: rate(figures.0.bytes, figures.1.bytes),
        messages: rate(figures.0.messages, figures.1.messages),
        waiting: if now.sleeps && then.sleeps && now.waiting == 0 { 1.0 } else { counted.clamp(0.0, 1.0) },
        processors: rate(ticks(then), ticks(now)) / ticks_per_second() as f64,
    }
}

fn state(rank: &RankAt) -> &'static str {
    let Some(process) = rank.process else { return "ended" };
    match (process.state, rank.state) {
        ('T' | 't', _) => "stopped",
        (_, Some(State::Finalized)) => "finalized",
        (_, Some(State::Before) | None) => "no MPI yet",
        _ if rank.sleeps || rank.waiting > 0 => "waits",
        ('D', _) => "waits for disk",
        _ if rank.call.is_some() => "in MPI",
        ('S', _) => "sleeps",
        _ => "computes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::process::Process;
    use observe::Figures;

    const SECOND: u64 = 1_000_000_000;

    fn moment(at: u64, share: u64) -> Moment {
        let rank = |rank: u64| RankAt {
            state: Some(State::Running),
            process: Some(Process { state: 'R', ticks: share }),
            figures: Some(Figures {
                messages: 10 * share,
                bytes: (rank + 1) * 1000 * share,
                ..Figures::default()
            }),
            waited: rank * share * 500_000_000,
            ..RankAt::default()
        };
        Moment { at, ranks: vec![rank(0), rank(1)] }
    }

    fn job() -> Description {
        let rank = |rank| RankOf { rank, pid: 100 + rank as i32, is_over: false, program: "./a".into() };
        Description {
            number: 7,
            host: "here".into(),
            size: 2,
            hosts: 1,
            ranks: vec![rank(0), rank(1)],
            ..Description::default()
        }
    }

    #[test]
    fn rates_are_those_between_two_looks() {
        let (before, now) = (moment(SECOND, 0), moment(3 * SECOND, 2));
        let table = Table::new(&job(), (&before, &now), &Pages::default(), Order::Waiting);
        let [first, second] = &table.rows[..] else { panic!() };
        assert_eq!((first.rank, first.waiting, first.bytes, first.messages), (1, 0.5, 2000.0, 10.0));
        assert_eq!((second.rank, second.waiting, &*second.state), (0, 0.0, "computes"));
        assert_eq!((table.waiting, table.imbalance, table.messages), (0.25, 0.25, 20.0));
        assert!(table.title.starts_with("job 7 on here: 2 ranks of ./a"), "{}", table.title);
    }

    #[test]
    fn a_rank_that_answers_for_the_first_time_has_no_rate_yet() {
        let (mut before, now) = (moment(SECOND, 1), moment(3 * SECOND, 2));
        before.ranks[0].figures = None;
        let table = Table::new(&job(), (&before, &now), &Pages::default(), Order::Rank);
        let rates: Vec<(f64, f64)> = table.rows.iter().map(|row| (row.bytes, row.messages)).collect();
        assert_eq!(rates, [(0.0, 0.0), (1000.0, 5.0)]);
    }

    #[test]
    fn nothing_divides_by_nothing() {
        let now = Moment { at: SECOND, ranks: vec![RankAt::default(); 2] };
        let table = Table::new(&job(), (&now, &now), &Pages::default(), Order::Bytes);
        assert_eq!((&*table.rows[0].state, table.imbalance), ("ended", 0.0));
    }

    #[test]
    fn ranks_of_other_hosts_are_rows_as_well() {
        let (before, now) = (moment(SECOND, 0), moment(3 * SECOND, 2));
        let there = Table::new(&job(), (&before, &now), &Pages::default(), Order::Rank);
        let other = |row: &Row| Row { rank: row.rank + 2, host: "there".into(), ..row.clone() };
        let there = Table { rows: there.rows.iter().map(other).collect(), ..there };
        let text = serde_json::to_string(&there).unwrap();
        let pages = vec![serde_json::from_str(&text).unwrap()];
        let job = Description { size: 5, hosts: 3, ..job() };
        let missing = vec!["host n3: its ranks are left out: it sleeps".to_owned()];
        let table =
            Table::new(&job, (&before, &now), &Pages { pages, missing: missing.clone() }, Order::Waiting);
        let rows: Vec<_> = table.rows.iter().map(|row| (row.rank, &*row.host)).collect();
        assert_eq!(rows, [(1, "here"), (3, "there"), (0, "here"), (2, "there")]);
        assert_eq!((table.messages, table.waiting, table.missing), (40.0, 0.25, missing));
        assert!(table.title.contains("4 of 5 ranks, on 3 hosts"), "{}", table.title);
    }
}
