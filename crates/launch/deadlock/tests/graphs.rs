//! The reduction beside an oracle, the shapes of dead-locks, and what must never look like one.

use std::time::Duration;

use deadlock::graph::{Blocked, Graph, Node};
use deadlock::{Does, Finder, Found, Rank, text};
use observe::{Begun, Kind, Need, Part, Slot, Targets, Wait};
use proptest::prelude::*;

fn part(kind: Kind, need: Need, targets: &[u32]) -> Part {
    let targets = Targets::others(targets.iter().copied(), u32::MAX);
    Part { kind, need, targets, tag: Some(7), context: 1, round: None }
}

fn wait(need: Need, parts: Vec<Part>) -> Wait {
    Wait { thread: 1, since: 0, call: "MPI_Recv".to_owned(), frames: vec![], origins: vec![], need, parts }
}

/// A rank with these waits, which has begun nothing else.
fn waits_in(waits: Vec<Wait>) -> Node {
    Node::Waits(Blocked { waits, begun: Begun { is_whole: true, ..Begun::default() } })
}

/// A receive from this rank.
fn from(rank: u32) -> Node {
    waits_in(vec![wait(Need::All, vec![part(Kind::Receive, Need::All, &[rank])])])
}

/// A receive from any of these.
fn from_any(ranks: &[u32]) -> Node {
    waits_in(vec![wait(Need::All, vec![part(Kind::Receive, Need::Any, ranks)])])
}

/// Meeting `number` of these ranks in a collective call.
fn collective(number: u32, ranks: &[u32]) -> Node {
    let part = Part { round: Some(number), ..part(Kind::Collective, Need::All, ranks) };
    waits_in(vec![wait(Need::All, vec![part])])
}

/// Collective call `tag`, in which steps of these ranks are lacked.
fn call(tag: i32, ranks: &[u32]) -> Part {
    Part { tag: Some(tag), ..part(Kind::Collective, Need::All, ranks) }
}

/// A rank that waits for this, and has begun these collective calls.
fn meanwhile(node: Node, calls: &[Part]) -> Node {
    let Node::Waits(blocked) = node else { panic!("it runs") };
    Node::Waits(Blocked { begun: Begun { calls: calls.to_vec(), ..blocked.begun }, ..blocked })
}

/// A rank that waits for a collective call.
fn within(call: Part) -> Node {
    waits_in(vec![wait(Need::All, vec![call])])
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
    assert_eq!(dead(vec![waits_in(vec![both]), from(0), from(1), Node::Runs]), [0, 1, 2]);
}

#[test]
fn what_the_outside_may_bring_is_never_dead() {
    let outside = Part { targets: Targets::Outside, ..part(Kind::Other, Need::All, &[]) };
    let waits = |need, parts| waits_in(vec![wait(need, parts)]);
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
        waits_in(vec![wait(Need::All, vec![part])])
    };
    assert_eq!(dead(vec![of(1, 1), of(2, 0)]), [0, 1]);
}

#[test]
fn a_call_that_a_rank_has_begun_goes_on_whatever_it_waits_for() {
    // Rank 1 lacks nothing in it, or a rank that runs.
    assert_eq!(dead(vec![within(call(1, &[1])), meanwhile(from(0), &[call(1, &[])])]), [0u32; 0]);
    let (first, second) = (within(call(1, &[1])), meanwhile(from(0), &[call(1, &[2])]));
    assert_eq!(dead(vec![first.clone(), second.clone(), Node::Runs]), [0u32; 0]);
    // It has not begun it, it has begun another one, or what it lacks there never comes.
    assert_eq!(dead(vec![first.clone(), from(0)]), [0, 1]);
    assert_eq!(dead(vec![first.clone(), meanwhile(from(0), &[call(2, &[])])]), [0, 1]);
    assert_eq!(dead(vec![first.clone(), second.clone(), from(0)]), [0, 1, 2]);
    assert_eq!(dead(vec![first.clone(), second, Node::Ended]), [0, 1]);
    // Each waits for a call of which the other one has begun another.
    assert_eq!(dead(vec![first, within(call(2, &[0]))]), [0, 1]);
}

#[test]
fn ranks_that_have_come_to_a_meeting_are_not_lacked_there() {
    let meeting = |tag, round, ranks: &[u32]| Part { round: Some(round), ..call(tag, ranks) };
    let (first, third) = (within(meeting(1, 5, &[1, 2])), meanwhile(from(0), &[meeting(1, 5, &[0, 1])]));
    assert_eq!(dead(vec![first.clone(), Node::Runs, third.clone()]), [0u32; 0]);
    assert_eq!(dead(vec![first.clone(), from(0), third]), [0, 1, 2]);
    // At an earlier one it goes on if that can be.
    let earlier = meanwhile(from(0), &[meeting(1, 4, &[3])]);
    assert_eq!(dead(vec![first.clone(), first.clone(), earlier.clone(), Node::Runs]), [0u32; 0]);
    assert_eq!(dead(vec![first.clone(), first, earlier, from(0)]), [0, 1, 2, 3]);
}

#[test]
fn a_rank_that_does_not_show_all_its_calls_may_have_begun_any() {
    let Node::Waits(mut blocked) = from(0) else { panic!() };
    blocked.begun.is_whole = false;
    let hides = Node::Waits(blocked);
    assert_eq!(dead(vec![within(call(1, &[1])), hides.clone()]), [0u32; 0]);
    assert_eq!(dead(vec![from(1), hides]), [0, 1]);
}

#[test]
fn a_report_names_the_rank_that_has_not_begun_a_call() {
    let nodes = vec![within(call(1, &[1])), meanwhile(from(2), &[call(1, &[2])]), from(0)];
    let graph = Graph(nodes);
    let report = text(&graph, &graph.dead(), |_, wait| (wait.call.clone(), String::new()));
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "  rank 0 waits in MPI_Recv for rank 2",
            "  rank 2 waits in MPI_Recv for a message of rank 0 with tag 7"
        ]
    );
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_rank_goes_on_by_any_of_its_threads() {
    let of = |rank| wait(Need::All, vec![part(Kind::Receive, Need::All, &[rank])]);
    let both = waits_in(vec![of(1), of(2)]);
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
        Node::Waits(Blocked { waits, begun }) => {
            let slot = |(number, wait)| Slot { number, turn, wait };
            Does::Waits { slots: waits.into_iter().enumerate().map(slot).collect(), begun, busy }
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
    let round = proptest::option::of(0..2u32);
    let part = (kind, need(), targets, any::<bool>(), (0..3, round)).prop_map(
        |(kind, need, targets, outside, (tag, round))| {
            let mut part = Part { tag: Some(tag), round, ..part(kind, need, &targets) };
            if outside && tag == 2 {
                part.targets = Targets::Outside;
            }
            part
        },
    );
    let calls = proptest::collection::vec(part.clone(), 0..3);
    let one = (need(), proptest::collection::vec(part, 0..4)).prop_map(|(need, parts)| wait(need, parts));
    prop_oneof![
        1 => Just(Node::Runs),
        1 => Just(Node::Ended),
        6 => (proptest::collection::vec(one, 1..3), calls, proptest::bool::weighted(0.9)).prop_map(|(waits, mut calls, is_whole)| {
            calls.iter_mut().for_each(|call| call.kind = Kind::Collective);
            Node::Waits(Blocked { waits, begun: Begun { turn: 2, calls, is_whole } })
        }),
    ]
}

/// What a rank has begun.
fn begun(node: &Node) -> Vec<&Part> {
    let Node::Waits(blocked) = node else { return Vec::new() };
    let waited =
        blocked.waits.iter().flat_map(|wait| &wait.parts).filter(|part| part.kind == Kind::Collective);
    waited.chain(&blocked.begun.calls).collect()
}

/// Whether a part can come if exactly the ranks of `free` can go on, and exactly these calls of each rank, by the words of the
/// definition.
fn comes(nodes: &[Node], part: &Part, free: &[bool], goes: &[Vec<bool>]) -> bool {
    let comes_from = |other: usize| {
        let (all, same) =
            (begun(&nodes[other]), |its: &Part| (its.tag, its.context) == (part.tag, part.context));
        let hides = match &nodes[other] {
            Node::Waits(blocked) => {
                !blocked.begun.is_whole && part.tag.is_some() && !all.iter().any(|its| same(its))
            }
            _ => false,
        };
        let goes_on_there = all
            .iter()
            .zip(&goes[other])
            .any(|(its, &goes)| same(its) && (goes || part.round.is_some() && its.round == part.round));
        free[other] || part.kind == Kind::Collective && (hides || goes_on_there)
    };
    match (&part.targets, part.need) {
        (Targets::Outside, _) => true,
        (targets, Need::Any) => targets.ranks(nodes.len() as u32).any(|other| free[other as usize]),
        (targets, Need::All) => targets.ranks(nodes.len() as u32).all(|other| comes_from(other as usize)),
    }
}

proptest! {
    #[test]
    fn the_reduction_is_what_one_rank_after_the_other_comes_to(
        nodes in proptest::collection::vec(any_node(7), 7),
        order in Just((0..7usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut free = vec![false; 7];
        let mut goes: Vec<Vec<bool>> = nodes.iter().map(|node| vec![false; begun(node).len()]).collect();
        for _ in 0..=7 * 10 {
            for &rank in &order {
                for (at, call) in begun(&nodes[rank]).into_iter().enumerate() {
                    goes[rank][at] |= comes(&nodes, call, &free, &goes);
                }
                free[rank] |= match &nodes[rank] {
                    Node::Runs => true,
                    Node::Ended => false,
                    Node::Waits(blocked) => blocked.waits.iter().any(|wait| {
                        let mut parts = wait.parts.iter().map(|part| comes(&nodes, part, &free, &goes));
                        if wait.need == Need::All { parts.all(|comes| comes) } else { parts.any(|comes| comes) }
                    }),
                };
            }
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
