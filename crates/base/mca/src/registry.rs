//! All parameters of a program together.

use std::fmt;

use crate::{Param, Source, Values};

/// The parameters of all crates, in one sequence; the index of a parameter is its MPI_T control variable.
#[derive(Clone, Debug)]
pub struct Registry {
    params: Vec<&'static Param>,
}

impl Registry {
    /// Puts the crates' tables together.
    pub fn new(rooms: &[&'static [Param]]) -> Self {
        Self { params: rooms.iter().flat_map(|room| room.iter()).collect() }
    }

    /// All parameters, in the crates' order.
    pub fn all(&self) -> &[&'static Param] {
        &self.params
    }

    /// The parameter of that full name.
    pub fn find(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().copied().find(|param| param.name == name)
    }

    /// The full name behind a name known from Open MPI: the own name or a declared alias.
    pub fn translate(&self, name: &str) -> Option<&'static Param> {
        self.find(name).or_else(|| self.params.iter().copied().find(|param| param.aliases.contains(&name)))
    }

    /// Every setting that names no parameter, with the nearest name.
    ///
    /// One process per job prints them: the launcher, or a program started alone. Variables of Open MPI are
    /// left out, since they may be meant for Open MPI.
    pub fn unknown(&self, values: &Values) -> Vec<Unknown> {
        let is_known = |name: &str| self.params.iter().any(|param| param.name == name);
        let entries = values.entries().iter().filter(|entry| !entry.is_foreign() && !is_known(&entry.name));
        entries
            .map(|entry| Unknown {
                name: entry.name.clone(),
                source: entry.setting.source.clone(),
                nearest: self.nearest(&entry.name),
            })
            .collect()
    }

    /// The name most like `name`, if any is like it at all.
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.params.iter().map(|param| param.name))
    }
}

/// The one of `known` that is most like `name`, if any is like it at all: for "did you mean".
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, nearest) = known.into_iter().map(|known| (distance(name, known), known)).min()?;
    (distance <= 1 + name.len() / 4).then_some(nearest)
}

/// A setting that names no parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The name.
    pub name: String,
    /// Where it stands.
    pub source: Source,
    /// The parameter probably meant.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "alhena: there is no parameter {} ({})", self.name, self.source)?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean {nearest}?"),
            None => write!(f, "; `alhena info --params` lists them"),
        }
    }
}

/// The one of `known` from which `name` differs by one or two characters: what a typing error for it gives.
pub fn mistyped<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = if name.len() < 6 { 1 } else { 2 };
    let (distance, known) = known.into_iter().map(|known| (distance(name, known), known)).min()?;
    (1..=most).contains(&distance).then_some(known)
}

/// Number of single-character insertions, deletions, replacements and swaps of neighbours between two names
/// (optimal string alignment distance).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Rows i-2, i-1 and i of the table of distances between a[..i] and b[..j].
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("", "", 0), ("", "abc", 3), ("btl", "btl", 0), ("vadre", "vader", 1), ("pml", "bml", 1)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn a_typing_error_is_near_its_word_and_not_the_word() {
        let words = ["vader", "btl_tcp_if_include"];
        assert_eq!(mistyped("btl_tcp_if_inclde", words), Some("btl_tcp_if_include"));
        assert_eq!(mistyped("vadre", words), Some("vader"));
        assert_eq!((mistyped("vader", words), mistyped("openib", words)), (None, None));
    }

    proptest! {
        #[test]
        fn distance_is_symmetric_and_bounded(a in "[a-c_]{0,8}", b in "[a-c_]{0,8}") {
            prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            prop_assert!(distance(&a, &b) <= a.len().max(b.len()));
            prop_assert_eq!(distance(&a, &b) == 0, a == b);
        }
    }
}
