//! Hints of communicators (MPI-5.0 section 7.4.4), and kinds of memory (section 11.4.3).
//!
//! Assertions change nothing: what they rule out costs the library nothing, and memory of every kind that it knows is treated
//! alike. So each is taken, kept and shown, as a program may ask what is in force. In a job that goes on after failures
//! [`RANGE`] says which of them revoke the communicator, and [`UNIFORM`] which calls end alike on all processes.

use crate::tables::infos::Info;

/// Promises of the program, each "false" until it is made.
const ASSERTIONS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
];

/// Which failures make calls on the communicator fail: those that they need, all of its processes, or all that are known (user-level
/// failure mitigation, which is no part of MPI-5.0). The latter two revoke it.
const RANGE: &str = "mpi_error_range";

/// Which blocking calls end with the same error on all processes: none, those that make communicators, or all collectives.
const UNIFORM: &str = "mpi_error_uniform";
/// The values of the hints that have some to choose from, the one in force without a choice first.
const CHOICES: [(&str, [&str; 3]); 2] =
    [(RANGE, ["local", "group", "universe"]), (UNIFORM, ["local", "create", "coll"])];

/// The kinds of memory that may be used: the answer to what was asked for.
pub const KINDS: &str = "mpi_memory_alloc_kinds";
/// The promise to use no other kinds.
pub const ONLY_KINDS: &str = "mpi_assert_memory_alloc_kinds";
/// How memory of MPI may have been allocated.
const RESTRICTORS: [&str; 3] = ["alloc_mem", "win_allocate", "win_allocate_shared"];

/// The hints of a communicator: whatever a program gives, only those that are known and make sense are in it.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Hints(Info);

impl Hints {
    /// Those of `given` that are known and make sense.
    pub fn known(given: &Info) -> Hints {
        let mut known = Hints::default();
        known.take(given);
        known
    }

    /// Those of a communicator that the failure of a member revokes.
    pub fn of_whole_group() -> Hints {
        let mut hints = Hints::default();
        hints.0.set(RANGE, "group");
        hints
    }

    /// Takes those of `given` that are known and make sense.
    pub fn take(&mut self, given: &Info) {
        for name in ASSERTIONS {
            if let Some(value @ ("true" | "false")) = given.get(name) {
                self.0.set(name, value);
            }
        }
        for (name, choices) in CHOICES {
            if let Some(choice) = given.get(name).filter(|choice| choices.contains(choice)) {
                self.0.set(name, choice);
            }
        }
        if let Some(kinds) = given.get(ONLY_KINDS).filter(|kinds| are_known_kinds(kinds)) {
            self.0.set(ONLY_KINDS, kinds);
        }
    }

    /// Whether the failure of a process revokes the communicator, which contains it or not.
    pub fn is_revoked_by_failure(&self, contains: bool) -> bool {
        match self.0.get(RANGE) {
            Some("group") => contains,
            range => range == Some("universe"),
        }
    }

    /// Whether blocking collectives, or, by `makes`, calls that make communicators, end with the same error on all processes.
    pub fn are_errors_uniform(&self, makes: bool) -> bool {
        match self.0.get(UNIFORM) {
            Some("create") => makes,
            uniform => uniform == Some("coll"),
        }
    }

    /// All hints in force, with those that were never given.
    pub fn in_force(&self, kinds: &str) -> Info {
        let mut all = self.0.clone();
        let usual = ASSERTIONS.map(|name| (name, "false"));
        let chosen = CHOICES.map(|(name, [first, ..])| (name, first));
        for (name, value) in usual.into_iter().chain(chosen) {
            if all.get(name).is_none() {
                all.set(name, value);
            }
        }
        all.set(KINDS, kinds);
        all
    }
}

/// The kinds of memory that a program may use which asked for `requested`: those that are always there, and the
/// others among those asked for that the library knows.
pub fn kinds_for(requested: Option<&str>) -> String {
    let mut kinds = vec!["system", "mpi"];
    for kind in requested.into_iter().flat_map(|list| list.split(',')).map(str::trim) {
        if is_known(kind) && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(",")
}

/// Whether all kinds of memory of a list are known.
pub fn are_known_kinds(list: &str) -> bool {
    list.split(',').all(is_known)
}

fn is_known(kind: &str) -> bool {
    match kind.trim().split_once(':') {
        Some(("mpi", restrictors)) => restrictors.split(':').all(|word| RESTRICTORS.contains(&word)),
        Some(_) => false,
        None => matches!(kind.trim(), "system" | "mpi"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(entries: &[(&str, &str)]) -> Info {
        entries.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    #[test]
    fn only_hints_that_make_sense_are_taken() {
        let given = info(&[
            ("mpi_assert_no_any_tag", "true"),
            ("mpi_assert_no_any_source", "maybe"),
            ("mpi_assert_memory_alloc_kinds", "system,cuda"),
            ("mpi_error_range", "galaxy"),
            ("mpi_error_uniform", "yes"),
            ("somebody_elses", "1"),
        ]);
        let hints = Hints::known(&given);
        assert_eq!(hints, Hints(info(&[("mpi_assert_no_any_tag", "true")])));
        let shown = hints.in_force("system,mpi");
        assert_eq!(shown.get("mpi_assert_exact_length"), Some("false"));
        assert_eq!(shown.get("mpi_error_range"), Some("local"));
        assert_eq!(shown.get("mpi_error_uniform"), Some("local"));
        assert_eq!(shown.get("mpi_memory_alloc_kinds"), Some("system,mpi"));
    }

    #[test]
    fn failures_revoke_what_is_in_their_range() {
        let revoked = |range| {
            let hints = Hints::known(&info(&[(RANGE, range)]));
            [true, false].map(|contains| hints.is_revoked_by_failure(contains))
        };
        assert_eq!(["local", "group", "universe"].map(revoked), [[false; 2], [true, false], [true; 2]]);
    }

    #[test]
    fn errors_are_uniform_where_the_hint_says_so() {
        let uniform = |value| {
            let hints = Hints::known(&info(&[(UNIFORM, value)]));
            [true, false].map(|makes| hints.are_errors_uniform(makes))
        };
        assert_eq!(["local", "create", "coll"].map(uniform), [[false; 2], [true, false], [true; 2]]);
    }

    #[test]
    fn unknown_kinds_of_memory_are_left_out() {
        assert_eq!(kinds_for(None), "system,mpi");
        assert_eq!(kinds_for(Some("mpi,cuda:device,system")), "system,mpi");
        assert_eq!(kinds_for(Some("mpi:alloc_mem,mpi:magic")), "system,mpi,mpi:alloc_mem");
    }
}
