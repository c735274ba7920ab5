//! The table of choices and the reading of rule files.

use coll::Coll;
use coll::algorithms::registry::{self, ALGORITHMS, Memory};
use coll::tuned::{Forced, Misfit, Placement, Query, RuleTable, Unfit, can_use};

const OVERSUBSCRIBED: Placement = Placement::Node { oversubscribed: true };
const NODE: Placement = Placement::Node { oversubscribed: false };

fn query(coll: Coll, ranks: u32, bytes: u64, placement: Placement) -> Query {
    Query { bytes, element: 8, area: true, direct: true, ..Query::new(coll, ranks, placement) }
}

fn chosen(table: &RuleTable, query: &Query) -> &'static str {
    table.select(query, &Forced::default()).expect("an algorithm").algorithm.get().name
}

#[test]
fn names_are_unique_and_found() {
    for (i, a) in ALGORITHMS.iter().enumerate() {
        assert_eq!(registry::find(a.coll, a.name).map(|id| usize::from(id.0)), Some(i), "{}", a.name);
    }
    assert!(Coll::ALL.into_iter().all(|c| Coll::from_name(c.name()) == Some(c)));
}

#[test]
fn the_builtin_table_is_whole() {
    let text = include_str!("../src/tuned/tuned.toml");
    let table = RuleTable::parse(text).unwrap();
    assert_eq!(format!("{table:?}"), format!("{:?}", RuleTable::builtin()));
}

/// Whatever the call, something is chosen that it can use, in any number of segments that fits.
#[test]
fn every_call_gets_a_usable_algorithm() {
    let table = RuleTable::builtin();
    for coll in Coll::ALL {
        for ranks in [1, 2, 3, 5, 8, 31, 64, 1000, 100_000] {
            for bytes in [0, 1, 8, 56, 57, 4096, 40_000, 1 << 20, 1 << 30, 1 << 45] {
                for placement in [NODE, OVERSUBSCRIBED, Placement::Spread, Placement::Cluster] {
                    for bits in 0..256 {
                        let flag = |i: u32| bits >> i & 1 == 1;
                        let query = Query {
                            inter: flag(0) && !matches!(coll, Coll::Scan | Coll::Exscan) && !neighbour(coll),
                            commutative: flag(1),
                            dense: flag(2),
                            area: flag(3),
                            direct: flag(4),
                            canonical: flag(5),
                            near: flag(6),
                            caches: flag(7),
                            ..query(coll, ranks, bytes, placement)
                        };
                        let choice = table.select(&query, &Forced::default());
                        let choice = choice.unwrap_or_else(|why| panic!("{why} for {query:?}"));
                        assert!(can_use(choice.algorithm.get(), &query), "{query:?}");
                        assert!((1..=768).contains(&choice.segments), "{query:?} {choice:?}");
                    }
                }
            }
        }
    }
}

fn neighbour(coll: Coll) -> bool {
    coll.name().starts_with("neighbor")
}

#[test]
fn shared_memory_where_there_is_some() {
    let table = RuleTable::builtin();
    assert_eq!(chosen(&table, &query(Coll::Allreduce, 2, 8, NODE)), "slots_all");
    assert_eq!(chosen(&table, &query(Coll::Barrier, 8, 0, OVERSUBSCRIBED)), "slots_flag");
    assert_eq!(chosen(&table, &query(Coll::Bcast, 8, 1 << 20, NODE)), "direct");
    let without = Query { area: false, ..query(Coll::Allreduce, 2, 8, NODE) };
    assert_eq!(without.element, 8);
    assert_eq!(chosen(&table, &without), "recursive_doubling");
    let unreadable = Query { direct: false, ..query(Coll::Bcast, 8, 1 << 20, NODE) };
    assert_eq!(unreadable.placement, NODE);
    let name = chosen(&table, &unreadable);
    assert_ne!(registry::find(Coll::Bcast, name).unwrap().get().needs.memory, Memory::Direct);
}

#[test]
fn bounce_buffers_get_segments_that_fit() {
    let table = RuleTable::builtin();
    for bytes in (0..200_000).step_by(777) {
        let query = query(Coll::Allreduce, 4, bytes * 8, NODE);
        let forced = Forced { algorithm: registry::find(Coll::Allreduce, "bounce"), ..Forced::default() };
        let choice = table.select(&query, &forced).unwrap();
        assert_eq!(choice.algorithm.get().name, "bounce");
        let longest = bytes.div_ceil(choice.segments.into()) * 8;
        assert!(longest <= coll::shared::BOUNCE_BYTES as u64, "{bytes} {choice:?}");
    }
}

#[test]
fn forcing() {
    let table = RuleTable::builtin();
    let query = query(Coll::Allreduce, 8, 1 << 20, Placement::Spread);
    let force = |name: &str| Forced {
        algorithm: registry::find(Coll::Allreduce, name),
        segment: Some(1 << 17),
        fanout: Some(3),
        or_table: false,
    };
    let tree = table.select(&query, &force("tree")).unwrap();
    assert_eq!((tree.algorithm.get().name, tree.segments, tree.fanout), ("tree", 8, 3));
    let doubling = table.select(&query, &force("recursive_doubling")).unwrap();
    assert_eq!(
        (doubling.segments, doubling.fanout),
        (1, 0),
        "what an algorithm does not use is not in the key"
    );
    let passed_over = table.select(&query, &Forced { or_table: true, ..force("slots_all") }).unwrap();
    assert_ne!(passed_over.algorithm.get().name, "slots_all");
}

/// A forced algorithm runs, or the error names what the call lacks; for other kinds of communicators and for one rank
/// the table decides.
#[test]
fn what_does_not_fit_is_an_error() {
    let table = RuleTable::builtin();
    let on_node = query(Coll::Allreduce, 8, 64, NODE);
    let choose = |name: &str, query: Query| {
        let forced = Forced { algorithm: registry::find(query.coll, name), ..Forced::default() };
        table.select(&query, &forced).map(|choice| choice.algorithm.get().name)
    };
    let why = |name: &str, query: Query| match choose(name, query) {
        Err(Unfit::Forced(id, why)) => {
            assert_eq!(Some(id), registry::find(query.coll, name));
            why
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(choose("slots_flag", on_node), Ok("slots_flag"));
    assert_eq!(why("slots_flag", Query { bytes: 4161, ..on_node }), Misfit::Bytes(4160));
    assert_eq!(why("slots_flag", Query { area: false, ..on_node }), Misfit::Area);
    assert_eq!(why("slots_flag", Query { placement: Placement::Cluster, ..on_node }), Misfit::Nodes);
    assert_eq!(why("direct", Query { direct: false, ..on_node }), Misfit::Direct);
    assert_eq!(why("ring", Query { commutative: false, ..on_node }), Misfit::Order);
    assert_eq!(why("bounce", Query { dense: false, ..on_node }), Misfit::Holes);
    assert_eq!(why("bounce", Query { bytes: 1 << 40, ..on_node }), Misfit::Bytes(768 << 15));
    assert_eq!(why("tree", Query { canonical: true, ..on_node }), Misfit::Association);
    assert_eq!(why("slots_flag", query(Coll::Alltoallv, 33, 0, NODE)), Misfit::Ranks(32));
    assert_eq!(choose("slots_flag", Query { inter: true, ..on_node }), Ok("inter"));
    assert!(choose("inter", on_node).is_ok_and(|name| name != "inter"));
    assert!(choose("slots_flag", Query { ranks: 1, area: false, ..on_node }).is_ok());
}

#[test]
fn a_users_rules_come_first() {
    let text = r#"
        # comment
        [allreduce]
        rules = [
          { ranks = "4..8", bytes = "1K..2K", use = "linear" },   # another
          { bytes = "1M", on = "spread", use = "tree", segment = "64K", fanout = 3 },
        ]
        [barrier]
        rules = [ ]
    "#
    .replace("[ ]", "[\n]");
    let table = RuleTable::parse(&text).unwrap().before(RuleTable::builtin());
    assert_eq!(chosen(&table, &query(Coll::Allreduce, 4, 1024, NODE)), "linear");
    assert_eq!(chosen(&table, &query(Coll::Allreduce, 8, 2048, NODE)), "linear");
    assert_ne!(chosen(&table, &query(Coll::Allreduce, 9, 2048, NODE)), "linear");
    assert_ne!(chosen(&table, &query(Coll::Allreduce, 8, 2049, NODE)), "linear");
    let spread = query(Coll::Allreduce, 100, 1 << 20, Placement::Spread);
    let choice = table.select(&spread, &Forced::default()).unwrap();
    assert_eq!((choice.algorithm.get().name, choice.segments, choice.fanout), ("tree", 16, 3));
}

#[test]
fn mistakes_are_told_with_their_line() {
    for (text, line, part) in [
        ("[allreduce]\n{ use = \"quick\" },", 2, "has no algorithm `quick`; there are recursive_doubling"),
        ("\n[all]", 2, "no collective is named `all`"),
        ("{ use = \"ring\" }", 1, "before any [collective]"),
        ("[bcast]\n{ bytes = \"..\", use = \"chain\"", 2, "must end with `}`"),
        ("[bcast]\n{ bytes = \"x..\", use = \"chain\" }", 2, "`x` is not a number"),
        ("[bcast]\n{ on = \"moon\", use = \"chain\" }", 2, "no placement is named `moon`"),
        ("[bcast]\n{ sizes = \"1\", use = \"chain\" }", 2, "no key is named `sizes`"),
        ("[bcast]\n{ bytes = \"1\" }", 2, "which algorithm"),
        ("[bcast]\nbinomial", 2, "neither a header nor a rule"),
    ] {
        let error = RuleTable::parse(text).unwrap_err();
        assert_eq!(error.line, line, "{text}");
        assert!(error.what.contains(part), "{text}: {}", error.what);
        assert_eq!(error.to_string().lines().count(), 3);
    }
}
