//! Reading rule files: the subset of TOML that `tuned.toml` uses.

use super::query::{Placement, Query};
use crate::algorithms::registry::{self, AlgorithmId};
use crate::params::Coll;
use core::fmt;

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) coll: Coll,
    ranks: (u64, u64),
    bytes: (u64, u64),
    place: Option<Condition>,
    pub(super) algorithm: AlgorithmId,
    /// Bytes per segment; 0: not cut.
    pub(super) segment: u64,
    /// 0: the algorithm's own.
    pub(super) fanout: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Node,
    Near,
    Caches,
    Oversubscribed,
    Spread,
    Cluster,
}

impl Rule {
    /// The numbers of bytes from which on the rule may begin or cease to fit.
    pub(super) fn changes(&self) -> [u64; 2] {
        [self.bytes.0, self.bytes.1.saturating_add(1)]
    }

    pub(super) fn matches(&self, query: &Query) -> bool {
        let within = |(lo, hi): (u64, u64), n: u64| (lo..=hi).contains(&n);
        self.coll == query.coll
            && within(self.ranks, query.ranks.into())
            && within(self.bytes, query.bytes)
            && match (self.place, query.placement) {
                (None, _) => true,
                (Some(Condition::Node), Placement::Node { .. }) => true,
                (Some(Condition::Near), Placement::Node { .. }) => query.near,
                (Some(Condition::Caches), Placement::Node { oversubscribed }) => {
                    query.caches && !oversubscribed
                }
                (Some(Condition::Oversubscribed), Placement::Node { oversubscribed }) => oversubscribed,
                (Some(Condition::Spread), Placement::Spread) => true,
                (Some(Condition::Cluster), Placement::Cluster) => true,
                _ => false,
            }
    }
}

/// A rule file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "reading the rules for choosing collective algorithms failed")?;
        writeln!(f, "line {}: {}", self.line, self.what)?;
        write!(f, "see `alhena info --param coll_tuned_rules` for the format, or unset the parameter")
    }
}

impl core::error::Error for ParseError {}

/// Reads `[collective]` headers, `rules = [`, one `{ key = "value", … },` a line, `]`, and comments.
pub(super) fn parse(text: &str) -> Result<Vec<Rule>, ParseError> {
    let (mut rules, mut coll) = (vec![], None);
    for (i, line) in text.lines().enumerate() {
        let fail = |what: String| ParseError { line: i + 1, what };
        let line = line.split('#').next().unwrap_or("").trim();
        if let Some(row) = line.strip_prefix('{') {
            let coll = coll.ok_or_else(|| fail("a rule before any [collective]".into()))?;
            let row = row.trim_end_matches(',').trim_end().strip_suffix('}');
            let row = row.ok_or_else(|| fail("a rule must end with `}` on its line".into()))?;
            rules.push(parse_rule(coll, row).map_err(fail)?);
        } else if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            let name = name.trim();
            coll =
                Some(Coll::from_name(name).ok_or_else(|| fail(format!("no collective is named `{name}`")))?);
        } else if !matches!(line.replace(' ', "").as_str(), "" | "rules=[" | "]" | "],") {
            return Err(fail(format!("`{line}` is neither a header nor a rule")));
        }
    }
    Ok(rules)
}

fn parse_rule(coll: Coll, row: &str) -> Result<Rule, String> {
    let (mut ranks, mut bytes, mut place) = ((0, u64::MAX), (0, u64::MAX), None);
    let (mut algorithm, mut segment, mut fanout) = (None, 0, 0);
    for field in row.split(',').map(str::trim).filter(|f| !f.is_empty()) {
        let (key, value) = field.split_once('=').ok_or_else(|| format!("`{field}` is not `key = value`"))?;
        let value = value.trim().trim_matches('"');
        match key.trim() {
            "ranks" => ranks = range(value)?,
            "bytes" => bytes = range(value)?,
            "on" => place = Some(placement(value)?),
            "use" => algorithm = Some(named(coll, value)?),
            "segment" => segment = amount(value)?,
            "fanout" => {
                fanout = u32::try_from(amount(value)?).map_err(|_| format!("fanout {value} is too large"))?
            }
            key => {
                return Err(format!(
                    "no key is named `{key}`; there are ranks, bytes, on, use, segment, fanout"
                ));
            }
        }
    }
    let algorithm = algorithm.ok_or("the rule does not say which algorithm to `use`")?;
    Ok(Rule { coll, ranks, bytes, place, algorithm, segment, fanout })
}

fn named(coll: Coll, name: &str) -> Result<AlgorithmId, String> {
    registry::find(coll, name).ok_or_else(|| {
        let known: Vec<&str> = registry::of(coll).map(|(_, a)| a.name).collect();
        format!("{} has no algorithm `{name}`; there are {}", coll.name(), known.join(", "))
    })
}

fn placement(name: &str) -> Result<Condition, String> {
    match name {
        "node" => Ok(Condition::Node),
        "near" => Ok(Condition::Near),
        "caches" => Ok(Condition::Caches),
        "oversubscribed" => Ok(Condition::Oversubscribed),
        "spread" => Ok(Condition::Spread),
        "cluster" => Ok(Condition::Cluster),
        _ => Err(format!(
            "no placement is named `{name}`; there are node, near, caches, oversubscribed, spread, cluster"
        )),
    }
}

/// `n`, `a..b` (both included), `a..` or `..b`.
fn range(text: &str) -> Result<(u64, u64), String> {
    let end = |t: &str, open: u64| if t.is_empty() { Ok(open) } else { amount(t) };
    match text.split_once("..") {
        Some((lo, hi)) => Ok((end(lo, 0)?, end(hi, u64::MAX)?)),
        None => amount(text).map(|n| (n, n)),
    }
}

/// A number, with K, M or G for powers of 1024.
fn amount(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.trim().split_at_checked(text.trim().len().saturating_sub(1)) {
        Some((digits, "K")) => (digits, 1 << 10),
        Some((digits, "M")) => (digits, 1 << 20),
        Some((digits, "G")) => (digits, 1 << 30),
        _ => (text.trim(), 1u64),
    };
    let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    number.ok_or_else(|| format!("`{text}` is not a number (K, M and G may follow)"))
}
