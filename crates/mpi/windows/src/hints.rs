//! Hints of windows (MPI-5.0 section 12.2.1).

use objects::comm::hints::{KINDS, ONLY_KINDS, are_known_kinds};
use objects::info::Info;

/// Hints that are true or false.
const FLAGS: [&str; 4] = ["no_locks", "same_size", "same_disp_unit", NONCONTIGUOUS_KEY];
const NONCONTIGUOUS_KEY: &str = "alloc_shared_noncontig";
const ORDERING: &str = "accumulate_ordering";
const ORDERS: [&str; 4] = ["rar", "raw", "war", "waw"];
const OPERATIONS: &str = "accumulate_ops";
const GRANULARITY: &str = "mpi_accumulate_granularity";
const ALIGNMENT: &str = "mpi_minimum_memory_alignment";

/// In [`flags`]: the memory of a shared window need not be contiguous.
pub(super) const NONCONTIGUOUS: u64 = 1;
/// Beside those: other processes of the node can map the memory.
pub(super) const LENDS: u64 = 2;

/// Alignment in bytes of memory that the library makes, if nothing else decides: a page.
pub(super) const ALIGNMENT_OF_PARTS: u64 = 4096;

/// Those of `hints` that creation must know of, for all processes.
pub(super) fn flags(hints: &Info) -> u64 {
    if hints.get(NONCONTIGUOUS_KEY) == Some("true") { NONCONTIGUOUS } else { 0 }
}

/// Whether the program may lock targets.
pub(super) fn locks_are_used(hints: &Info) -> bool {
    hints.get("no_locks") != Some("true")
}

/// Takes those of `hints` that are known and make sense. `alignment`: what the memory of every rank has, if the library has
/// made it; one that is asked for beyond is refused.
pub(super) fn take(into: &mut Info, hints: &Info, alignment: Option<u64>) {
    for name in FLAGS {
        if let Some(value @ ("true" | "false")) = hints.get(name) {
            into.set(name, value);
        }
    }
    if let Some(order) = hints.get(ORDERING) {
        let orders: Vec<&str> = order.split(',').map(str::trim).collect();
        if orders == ["none"] || orders.iter().all(|order| ORDERS.contains(order)) {
            into.set(ORDERING, &orders.join(","));
        }
    }
    if let Some(value @ ("same_op" | "same_op_no_op")) = hints.get(OPERATIONS) {
        into.set(OPERATIONS, value);
    }
    if let Some(bytes) = hints.get(GRANULARITY).and_then(|text| text.trim().parse::<u64>().ok()) {
        into.set(GRANULARITY, &bytes.to_string());
    }
    let asked = hints.get(ALIGNMENT).and_then(|text| text.trim().parse::<u64>().ok());
    let is_kept =
        |bytes: &u64| bytes.is_power_of_two() && alignment.is_some_and(|alignment| *bytes <= alignment);
    if let Some(bytes) = asked.filter(is_kept) {
        into.set(ALIGNMENT, &bytes.to_string());
    }
    if let Some(kinds) = hints.get(ONLY_KINDS).filter(|kinds| are_known_kinds(kinds)) {
        into.set(ONLY_KINDS, kinds);
    }
}

/// Those of `hints` that are known and make sense.
pub(super) fn known(hints: &Info, alignment: Option<u64>) -> Info {
    let mut known = Info::default();
    take(&mut known, hints, alignment);
    known
}

/// Sets of a window whether its memory need not be contiguous.
pub(super) fn set_noncontiguous(known: &mut Info, is: bool) {
    known.set(NONCONTIGUOUS_KEY, if is { "true" } else { "false" });
}

/// All hints in force, with those that were never given; `alignment` as in [`take`].
pub(super) fn in_force(own: &Info, kinds: &str, alignment: Option<u64>) -> Info {
    let mut all = Info::default();
    for name in FLAGS {
        all.set(name, "false");
    }
    all.set(ORDERING, &ORDERS.join(","));
    all.set(OPERATIONS, "same_op_no_op");
    all.set(GRANULARITY, "0");
    if let Some(bytes) = alignment {
        all.set(ALIGNMENT, &bytes.to_string());
    }
    all.merge(own);
    all.set(KINDS, kinds);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(entries: &[(&str, &str)]) -> Info {
        entries.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    #[test]
    fn a_hint_without_sense_keeps_its_old_value() {
        let mut hints = info(&[("accumulate_ordering", "none")]);
        take(
            &mut hints,
            &info(&[("accumulate_ordering", "rar,sometimes"), ("no_locks", "perhaps"), ("other", "1")]),
            None,
        );
        assert_eq!(hints, info(&[("accumulate_ordering", "none")]));
        take(&mut hints, &info(&[("accumulate_ordering", "rar, waw"), ("no_locks", "true")]), None);
        let shown = in_force(&hints, "system,mpi", None);
        assert_eq!(shown.get(ALIGNMENT), None);
        assert_eq!(shown.get("accumulate_ordering"), Some("rar,waw"));
        assert_eq!(shown.get("no_locks"), Some("true"));
        assert_eq!(shown.get("accumulate_ops"), Some("same_op_no_op"));
        assert_eq!(shown.get("same_size"), Some("false"));
    }
    #[test]
    fn an_alignment_that_memory_has_not_is_refused() {
        let asked = |bytes: &str| info(&[(ALIGNMENT, bytes)]);
        let shown = |asked: &Info, is| in_force(&known(asked, is), "", is).get(ALIGNMENT).map(str::to_string);
        assert_eq!(shown(&asked("64"), Some(4096)).as_deref(), Some("64"));
        assert_eq!(shown(&asked("8192"), Some(4096)).as_deref(), Some("4096"));
        assert_eq!(shown(&asked("64"), Some(4)).as_deref(), Some("4"));
        assert_eq!(shown(&asked("48"), Some(4096)).as_deref(), Some("4096"));
        assert_eq!(shown(&asked("64"), None), None);
    }
}
