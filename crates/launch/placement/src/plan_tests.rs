//! Placements on a made-up machine: two packages, two cores each, two threads per core (see
//! [`Sample::two_packages`]).

use crate::words::{Bind, Map, MapOptions, Placement};
use hardware::sample::Sample;
use hardware::{CpuSet, Unit};

fn plan(name: &str, size: usize, placement: &Placement) -> Result<Vec<String>, String> {
    plan_on("0-7", None, name, size, placement)
}

fn plan_on(
    allowed: &str,
    quota: Option<f64>,
    name: &str,
    size: usize,
    placement: &Placement,
) -> Result<Vec<String>, String> {
    let machine = Sample::two_packages(name, allowed);
    let plan = placement.plan(size, &machine, quota).map_err(|e| e.to_string())?;
    Ok(plan.cpus.iter().map(|cpus| cpus.as_ref().map_or("-".to_owned(), CpuSet::to_string)).collect())
}

fn ask(bind: &str, map: &str) -> Placement {
    let options = if map.is_empty() { MapOptions::default() } else { Map::parse(map).unwrap() };
    Placement {
        bind: (!bind.is_empty()).then(|| Bind::parse(bind).unwrap()),
        map: options.map,
        oversubscribe: options.oversubscribe,
        threads_count: options.threads_count,
        ..Placement::default()
    }
}

#[test]
fn by_default_the_cores_are_split_evenly() {
    let default = Placement::default();
    assert_eq!(plan("d1", 1, &default).unwrap(), ["0-7"]);
    assert_eq!(plan("d2", 2, &default).unwrap(), ["0-1,4-5", "2-3,6-7"]);
    assert_eq!(plan("d3", 3, &default).unwrap(), ["0,4", "1,5", "2-3,6-7"]);
    assert_eq!(plan("d4", 4, &default).unwrap(), ["0,4", "1,5", "2,6", "3,7"]);
    assert_eq!(plan("d8", 8, &default).unwrap().len(), 8);
}

#[test]
fn processors_take_turns_when_oversubscribed_evenly() {
    let default = Placement::default();
    assert_eq!(plan("e16", 16, &default).unwrap(), ["0", "1", "2", "3", "4", "5", "6", "7"].repeat(2));
    assert_eq!(plan_on("2,6", None, "e4", 4, &default).unwrap(), ["2", "6", "2", "6"]);
    assert_eq!(plan("en", 16, &ask("none", "")).unwrap(), ["-"; 16]);
}

#[test]
fn no_rank_is_bound_when_oversubscribed_unevenly_or_under_a_quota() {
    let default = Placement::default();
    assert_eq!(plan("o9", 9, &default).unwrap(), ["-"; 9]);
    assert_eq!(plan_on("0-7", Some(1.5), "oq", 2, &default).unwrap(), ["-"; 2]);
    assert_eq!(plan_on("2,6", None, "oa", 3, &default).unwrap(), ["-"; 3]);
    assert_eq!(plan_on("2,6", None, "ob", 1, &default).unwrap(), ["2,6"]);
}

#[test]
fn mapping_goes_round_robin_and_ppr_fills() {
    assert_eq!(plan("m1", 4, &ask("core", "socket")).unwrap(), ["0,4", "2,6", "1,5", "3,7"]);
    assert_eq!(plan("m2", 4, &ask("core", "ppr:2:socket")).unwrap(), ["0,4", "1,5", "2,6", "3,7"]);
    assert_eq!(plan("m3", 2, &ask("socket", "socket")).unwrap(), ["0-1,4-5", "2-3,6-7"]);
    assert_eq!(plan("m4", 2, &ask("socket", "core")).unwrap(), ["0-1,4-5", "0-1,4-5"]);
    assert_eq!(plan("m5", 2, &ask("", "socket:PE=2")).unwrap(), ["0-1,4-5", "2-3,6-7"]);
    assert_eq!(plan("m6", 3, &ask("hwthread", "")).unwrap(), ["0", "1", "2"]);
    assert_eq!(plan("m8", 2, &ask("", "slot:PE=2")).unwrap(), ["0-1,4-5", "2-3,6-7"]);
    assert_eq!(plan("m9", 2, &ask("core", "core:PE=2")).unwrap(), ["0-1,4-5", "2-3,6-7"]);
    assert_eq!(plan("m10", 2, &ask("core:2", "")).unwrap(), ["0-1,4-5", "2-3,6-7"]);
    assert_eq!(plan("m11", 2, &ask("hwthread:2", "socket")).unwrap(), ["0-1", "2-3"]);
    let filled = Placement { fill: true, ..ask("core", "socket") };
    assert_eq!(plan("m7", 4, &filled).unwrap(), ["0,4", "1,5", "2,6", "3,7"]);
}

#[test]
fn contradictions_are_refused_in_three_lines() {
    let many = [
        ("c1", 5, ask("core", "")),
        ("c2", 5, ask("core", "ppr:2:socket")),
        ("c3", 1, ask("none", "core:PE=2")),
        ("c4", 1, ask("socket", "core:PE=2")),
        ("c5", 9, ask("", "slot:NOOVERSUBSCRIBE")),
        ("c6", 2, ask("", "socket:PE=3")),
        ("c9", 3, ask("core:2", "")),
        ("c7", 1, Placement { by_rank: vec![None], ..ask("core", "") }),
        ("c8", 1, Placement { bind: None, ..Placement::default() }),
    ];
    for (name, size, placement) in many {
        let allowed = if name == "c8" { "" } else { "0-7" };
        let message = plan_on(allowed, None, name, size, &placement).unwrap_err();
        assert_eq!(message.lines().count(), 3, "{message}");
    }
}

#[test]
fn ranks_share_where_that_was_asked_for() {
    let shared = plan("s1", 5, &ask("core:overload-allowed", "")).unwrap();
    assert_eq!(shared, ["0,4", "1,5", "2,6", "3,7", "0,4"]);
    assert_eq!(plan("s2", 3, &ask("socket", "")).unwrap(), ["0-1,4-5", "2-3,6-7", "0-1,4-5"]);
    assert_eq!(plan("s3", 5, &ask("core", "core:OVERSUBSCRIBE")).unwrap().len(), 5);
}

#[test]
fn processors_by_rank_are_taken_as_they_are() {
    let placement = Placement { by_rank: vec![CpuSet::parse("3"), None], ..Placement::default() };
    assert_eq!(plan("r1", 3, &placement).unwrap(), ["3", "-", "-"]);
    let in_turn = Placement { by_rank_in_turn: true, ..placement };
    assert_eq!(plan("r2", 3, &in_turn).unwrap(), ["3", "-", "3"]);
}

#[test]
fn arguments_are_read_as_open_mpi_and_mpich_write_them() {
    let pe = Map::parse("ppr:2:package:PE=4").unwrap().map.unwrap();
    assert_eq!((pe.unit, pe.per_object, pe.per_rank), (Unit::Package, Some(2), Some(4)));
    assert_eq!(Map::parse("slot:OVERSUBSCRIBE").unwrap().oversubscribe, Some(true));
    assert!(Map::parse("hwthread:HWTCPUS").unwrap().threads_count);
    assert_eq!(Bind::parse("l3cache"), Some(Bind::To { unit: Unit::L3, overload: false, count: 1 }));
    assert_eq!(Bind::parse("core:2"), Some(Bind::To { unit: Unit::Core, overload: false, count: 2 }));
    for bad in ["ppr:0:core", "ppr:2", "moon", "core:PE=0", "core:XX"] {
        assert_eq!(Map::parse(bad), None, "{bad}");
    }
    for bad in ["moon", "core:0", "core:x", ""] {
        assert_eq!(Bind::parse(bad), None, "{bad}");
    }
}
