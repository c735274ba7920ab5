//! Which algorithm a call uses: rows of one table, which parameters override.
//!
//! [`RuleTable::builtin`] is the file `tuned.toml` next to this one; a user's rule file ([`RuleTable::parse`]) is
//! asked first. The first row that fits the call and whose algorithm the call can use decides. All ranks of
//! a call ask with the same [`Query`], so all choose alike; nothing that may differ between ranks (buffer
//! addresses, layouts of types in data movement) is in it.

mod choice;
mod fit;
mod params;
mod query;
mod rules;

pub use choice::{Choice, block_class};
pub use fit::{Misfit, Unfit, can_use};
pub use params::{Caches, CollParams, Level, Tuned, TunedParams};
pub use query::{Forced, Placement, Query, WIDE};
pub use rules::ParseError;

use crate::algorithms::registry::{self, AlgorithmId};
use choice::choice;
use fit::slot_limit;
use rules::Rule;

/// Rows by collective.
#[derive(Clone, Debug, Default)]
pub struct RuleTable {
    rules: Vec<Rule>,
}

impl RuleTable {
    /// The table that comes with the library.
    pub fn builtin() -> RuleTable {
        RuleTable::parse(include_str!("tuned.toml")).unwrap_or_default()
    }

    /// Reads a rule file; see `tuned.toml` for the format.
    pub fn parse(text: &str) -> Result<RuleTable, ParseError> {
        Ok(RuleTable { rules: rules::parse(text)? })
    }

    /// This table's rows before `other`'s.
    pub fn before(mut self, other: RuleTable) -> RuleTable {
        self.rules.extend(other.rules);
        self
    }

    /// The choice for a call: what is forced, else the first row that fits, else the collective's first
    /// algorithm that can be used.
    ///
    /// # Errors
    /// Why the call cannot use what is forced, or has no algorithm.
    pub fn select(&self, query: &Query, forced: &Forced) -> Result<Choice, Unfit> {
        let usable = |id: &AlgorithmId| can_use(id.get(), query);
        let rule = self.rules.iter().find(|rule| rule.matches(query) && usable(&rule.algorithm));
        let by_default = || registry::of(query.coll).map(|(id, _)| id).find(usable);
        let forced_one = forced.in_force(query)?;
        let algorithm =
            forced_one.or(rule.map(|r| r.algorithm)).or_else(by_default).ok_or(Unfit::NoAlgorithm)?;
        let rule = rule.filter(|r| r.algorithm == algorithm);
        let segment = forced.segment.or(rule.map(|r| r.segment)).unwrap_or(0);
        let fanout = forced.fanout.or(rule.map(|r| r.fanout)).unwrap_or(0);
        Ok(choice(algorithm, query, segment, fanout))
    }

    /// As [`RuleTable::select`]: the algorithm for a call, and the most bytes up to which calls that are the same
    /// otherwise use it.
    pub fn select_up_to(&self, query: &Query, forced: &Forced) -> Option<(AlgorithmId, u64)> {
        let of = |bytes| self.select(&Query { bytes, ..*query }, forced).ok().map(|choice| choice.algorithm);
        let algorithm = of(query.bytes)?;
        // What is chosen changes only at these.
        let rules = self.rules.iter().filter(|rule| rule.coll == query.coll);
        let mut changes: Vec<u64> = rules.flat_map(|rule| rule.changes()).collect();
        changes.push(slot_limit(query) + 1);
        changes.sort_unstable();
        let later = changes.into_iter().filter(|&bytes| bytes > query.bytes);
        let end = later.into_iter().find(|&bytes| of(bytes) != Some(algorithm));
        Some((algorithm, end.map_or(u64::MAX, |bytes| bytes - 1)))
    }
}
