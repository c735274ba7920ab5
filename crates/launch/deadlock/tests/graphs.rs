//! The reduction beside an oracle, the shapes of dead-locks, and what must never look like one.

use std::time::Duration;

use deadlock::graph::{Graph, Node};
use deadlock::{Does, Finder, Found, Rank, text};
use observe::{Kind, Need, Part, Slot, Targets, Wait};
use proptest::prelude::*;

fn part(kind: Kind, need: Need, targets: &[u32]) -> Part {
    let targets = Targets::others(targets.iter().copied(), u32::MAX);
    Part { kind, need, targets, tag: Some(7), context: 1 }
}

fn wait(need: Need, parts: Vec<Part>) -> Wait {
    Wait { thread: 1, since: 0, call: "MPI_Recv".to_owned(), frames: vec![], need, parts }
}

/// A receive from this rank.
fn from(rank: u32) -> Node {
    Node::Waits(vec![wait(Need::All, vec![part(Kind::Receive, Need::All, &[rank])])])
}

/// A receive from any of these.
fn from_any(ranks: &[u32]) -> Node {
    Node::Waits(vec![wait(Need::All, vec![part(Kind::Receive, Need::Any, ranks)])])
}

/// Call number `number` of a collective of these ranks.
fn collective(number: i32, ranks: &[u32]) -> Node {
    let part = Part { tag: Some(number), ..part(Kind::Collective, Need::All, ranks) };
    Node::Waits(vec![wait(Need::All, vec![part])])
}

fn dead(nodes: Vec<Node>) -> Vec<u32> {
    Graph(nodes).dead()
}

#[test]
fn circles_are_dead_and_chains_are_not() {
    assert_eq!(dead(vec![from(1), from(0)]), [0, 1]);
    assert_eq!(dead(vec![from(1), from(2), Node::Runs]), [0u32; 0]);
    assert_eq!(dead(vec![from(1), from(2), from(0), Node::Runs]), [0, 1, 2]);
    assert_eq!(dead(vec![from(1), from(0), from(0), from(4), Node::Runs]), [0, 1, 2]);
    assert_eq!(dead(vec![from(1), Node::Ended]), [0]);
    assert_eq!(dead(vec![from(0)]), [0]);
}

#[test]
fn a_choice_is_dead_only_if_all_of_it_is() {
    assert_eq!(dead(vec![from_any(&[1, 2]), from(0), Node::Runs]), [0u32; 0]);
    assert_eq!(dead(vec![from_any(&[1, 2]), from(0), from(0)]), [0, 1, 2]);
    assert_eq!(dead(vec![from_any(&[1, 2]), from_any(&[0, 2]), from_any(&[0, 1])]), [0, 1, 2]);
    assert_eq!(dead(vec![from_any(&[1, 2]), from(0), Node::Ended]), [0, 1]);
    assert_eq!(dead(vec![from_any(&[])]), [0]);
    // A cycle that is no knot: neither a cycle nor a knot alone decides.
    let both =
        wait(Need::All, vec![part(Kind::Receive, Need::Any, &[1, 3]), part(Kind::Receive, Need::All, &[2])]);
    assert_eq!(dead(vec![Node::Waits(vec![both]), from(0), from(1), Node::Runs]), [0, 1, 2]);
}

#[test]
fn what_the_outside_may_bring_is_never_dead() {
    let outside = Part { targets: Targets::Outside, ..part(Kind::Other, Need::All, &[]) };
    let waits = |need, parts| Node::Waits(vec![wait(need, parts)]);
    assert_eq!(dead(vec![waits(Need::All, vec![outside.clone()]), from(0)]), [0u32; 0]);
    let other = part(Kind::Receive, Need::All, &[1]);
    assert_eq!(dead(vec![waits(Need::Any, vec![other.clone(), outside.clone()]), from(0)]), [0u32; 0]);
    assert_eq!(dead(vec![waits(Need::All, vec![other, outside]), from(0)]), [0, 1]);
}

#[test]
fn members_of_one_collective_call_wait_for_those_outside_alone() {
    assert_eq!(dead(vec![collective(3, &[1, 2]), collective(3, &[0, 2]), Node::Runs]), [0u32; 0]);
    assert_eq!(dead(vec![collective(3, &[1, 2]), collective(3, &[0, 2]), from(0)]), [0, 1, 2]);
    assert_eq!(dead(vec![collective(3, &[1, 2]), collective(3, &[0, 2]), Node::Ended]), [0, 1]);
    // Two communicators in different order.
    let of = |context, other| {
        let part = Part { context, ..part(Kind::Collective, Need::All, &[other]) };
        Node::Waits(vec![wait(Need::All, vec![part])])
    };
    assert_eq!(dead(vec![of(1, 1), of(2, 0)]), [0, 1]);
}

#[test]
fn a_rank_goes_on_by_any_of_its_threads() {
    let Node::Waits(one) = from(1) else { panic!() };
    let Node::Waits(two) = from(2) else { panic!() };
    let both = Node::Waits([one, two].concat());
    assert_eq!(dead(vec![both.clone(), from(0), Node::Runs]), [0u32; 0]);
    assert_eq!(dead(vec![both, from(0), from(0)]), [0, 1, 2]);
}

#[test]
fn a_report_names_the_smallest_circle_first() {
    let graph = Graph(vec![from(1), from(2), from(0), from(4), from(3), from(0)]);
    let dead = graph.dead();
    assert_eq!(dead, [0, 1, 2, 3, 4, 5]);
    let report = text(&graph, &dead, |rank, wait| (wait.call.clone(), format!(" at place {rank}")));
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines[0], "  rank 3 waits in MPI_Recv for a message of rank 4 with tag 7 at place 3");
    assert_eq!(lines[1], "  rank 4 waits in MPI_Recv for a message of rank 3 with tag 7 at place 4");
    assert_eq!(lines.len(), 6);
    let graph = Graph(vec![from(1), Node::Ended]);
    let report = text(&graph, &graph.dead(), |_, _| Default::default());
    assert!(report.ends_with("  rank 1 has ended\n"), "{report}");
    let many = Graph((0..100).map(|rank| from((rank + 1) % 100)).collect());
    assert!(text(&many, &many.dead(), |_, _| Default::default()).lines().count() <= 17);
}

fn rank(node: Node, turn: u64, busy: u64, waited: u64) -> Rank {
    let does = match node {
        Node::Runs => Does::Runs,
        Node::Ended => Does::Ended,
        Node::Waits(waits) => {
            let slot = |(number, wait)| Slot { number, turn, wait };
            Does::Waits { slots: waits.into_iter().enumerate().map(slot).collect(), busy }
        }
    };
    Rank { does, waited: Duration::from_secs(waited) }
}

#[test]
fn only_waits_that_lasted_from_look_to_look_count() {
    let after = Duration::from_secs(10);
    let look = |finder: &mut Finder, turns: [u64; 2], busy: u64, waited: u64| {
        finder.look(vec![rank(from(1), turns[0], 0, waited), rank(from(0), turns[1], busy, 0)], after)
    };
    let mut finder = Finder::default();
    assert_eq!(look(&mut finder, [2, 2], 0, 9), Found::Nothing);
    assert_eq!(look(&mut finder, [2, 2], 0, 10), Found::LookAgain);
    assert!(matches!(look(&mut finder, [2, 2], 0, 11), Found::Dead(_, dead) if dead == [0, 1]));
    // One has left its wait, or another thread of it computes.
    assert_eq!(look(&mut finder, [2, 4], 0, 12), Found::LookAgain);
    assert_eq!(look(&mut finder, [2, 4], 1, 13), Found::LookAgain);
    assert!(matches!(look(&mut finder, [2, 4], 1, 14), Found::Dead(..)));
    assert_eq!(finder.look(vec![rank(from(1), 2, 0, 20), rank(Node::Runs, 0, 0, 0)], after), Found::Nothing);
    assert_eq!(look(&mut finder, [2, 4], 1, 20), Found::LookAgain);
}

fn any_node(size: u32) -> impl Strategy<Value = Node> {
    let need = || any::<bool>().prop_map(|all| if all { Need::All } else { Need::Any });
    let kind = prop_oneof![Just(Kind::Receive), Just(Kind::Send), Just(Kind::Collective)];
    let targets = proptest::collection::vec(0..size, 0..4);
    let part =
        (kind, need(), targets, any::<bool>(), 0..3).prop_map(|(kind, need, targets, outside, tag)| {
            let mut part = Part { tag: Some(tag), ..part(kind, need, &targets) };
            if outside && tag == 2 {
                part.targets = Targets::Outside;
            }
            part
        });
    let one = (need(), proptest::collection::vec(part, 0..4)).prop_map(|(need, parts)| wait(need, parts));
    prop_oneof![
        1 => Just(Node::Runs),
        1 => Just(Node::Ended),
        6 => proptest::collection::vec(one, 1..3).prop_map(Node::Waits),
    ]
}

/// Whether a rank can go on if exactly the ranks of `free` can, by the words of the definition.
fn goes_on(nodes: &[Node], rank: usize, free: &[bool]) -> bool {
    let Node::Waits(waits) = &nodes[rank] else { return nodes[rank] == Node::Runs };
    let in_call = |part: &Part, other: u32| match &nodes[other as usize] {
        Node::Waits(waits) => waits
            .iter()
            .flat_map(|wait| &wait.parts)
            .any(|its| its.kind == Kind::Collective && its.tag == part.tag && its.context == part.context),
        _ => false,
    };
    let comes = |part: &Part| match (&part.targets, part.need) {
        (Targets::Outside, _) => true,
        (targets, Need::Any) => targets.ranks(nodes.len() as u32).any(|other| free[other as usize]),
        (targets, Need::All) => targets
            .ranks(nodes.len() as u32)
            .all(|other| free[other as usize] || part.kind == Kind::Collective && in_call(part, other)),
    };
    waits.iter().any(|wait| match wait.need {
        Need::All => wait.parts.iter().all(comes),
        Need::Any => wait.parts.iter().any(comes),
    })
}

proptest! {
    #[test]
    fn the_reduction_is_what_one_rank_after_the_other_comes_to(
        nodes in proptest::collection::vec(any_node(7), 7),
        order in Just((0..7usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut free = vec![false; 7];
        for _ in 0..=7 {
            order.iter().for_each(|&rank| free[rank] |= goes_on(&nodes, rank, &free));
        }
        let expected: Vec<u32> = (0..7u32)
            .filter(|&rank| !free[rank as usize] && matches!(nodes[rank as usize], Node::Waits(_)))
            .collect();
        let graph = Graph(nodes);
        prop_assert_eq!(graph.dead(), expected.clone());
        // Dead ranks alone do not help each other, and a report always comes to an end.
        let circle = graph.circle(&expected);
        prop_assert!(circle.iter().all(|link| expected.contains(&link.rank)));
        let _ = text(&graph, &expected, |_, _| Default::default());
    }
}
