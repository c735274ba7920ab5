//! Two sides over a simulated network that delivers late, in any order between connections, to addresses that refuse,
//! swallow, or lead elsewhere.

use super::*;
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

/// What an address leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Right,
    /// Refused after a while.
    Refused,
    /// Never an answer, not even a connection.
    Silent,
    /// No route: refused at once.
    Nowhere,
    /// Another process, which closes the connection.
    Elsewhere,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Stands,
    Hello,
    Challenge,
    Proof,
    Answer(Verdict),
    Confirm,
    End,
}

/// Connections: who connected, to what, and the words on their way to side 0 and side 1.
#[derive(Default)]
struct Net {
    places: [Vec<Place>; 2],
    wires: HashMap<u32, (usize, Place, [VecDeque<Word>; 2])>,
    /// Wires that each side has closed.
    closed: [Vec<u32>; 2],
    last: u32,
    /// How often each side has no room for a connection.
    refusals: [u32; 2],
}

fn failure(why: &str, is_refusal: bool) -> Failure {
    Failure { why: why.into(), is_refusal }
}

struct Side<'a>(&'a mut Net, usize);

impl Side<'_> {
    fn tell(&mut self, wire: u32, word: Word) {
        let (_, place, queues) = self.0.wires.get_mut(&wire).expect("a wire");
        if *place == Place::Right {
            queues[1 - self.1].push_back(word);
        }
    }
}

impl Wires for Side<'_> {
    fn connect(&mut self, _peer: u32, at: usize) -> Result<Option<u32>, Failure> {
        if self.0.refusals[self.1] > 0 {
            self.0.refusals[self.1] -= 1;
            return Ok(None);
        }
        let place = self.0.places[self.1][at];
        if place == Place::Nowhere {
            return Err(failure("no route", false));
        }
        self.0.last += 1;
        let mut queues = [VecDeque::new(), VecDeque::new()];
        match place {
            Place::Right => queues[self.1].push_back(Word::Stands),
            Place::Refused => queues[self.1].push_back(Word::End),
            Place::Elsewhere => queues[self.1].extend([Word::Stands, Word::End]),
            Place::Silent | Place::Nowhere => {}
        }
        self.0.wires.insert(self.0.last, (self.1, place, queues));
        Ok(Some(self.0.last))
    }

    fn hello(&mut self, wire: u32) {
        self.tell(wire, Word::Hello);
    }

    fn answer(&mut self, wire: u32, verdict: Verdict) {
        self.tell(wire, Word::Answer(verdict));
    }

    fn confirm(&mut self, wire: u32) {
        self.tell(wire, Word::Confirm);
    }

    fn close(&mut self, wire: u32) {
        self.0.closed[self.1].push(wire);
        self.tell(wire, Word::End);
    }
}

struct World {
    pairs: [Pair; 2],
    net: Net,
    wanted: [bool; 2],
    now: Instant,
}

impl World {
    fn new(places: [Vec<Place>; 2]) -> World {
        let now = Instant::now();
        let connect_limits =
            ConnectLimits { address: Duration::from_millis(100), rounds: 1000, refusals: 1000 };
        // Side 1 has the lower rank.
        let pair =
            |me, peer, side: usize| Pair::new(peer, me > peer, places[side].len(), connect_limits, now);
        let pairs = [pair(5, 2, 0), pair(2, 5, 1)];
        World { pairs, net: Net { places, ..Net::default() }, wanted: [false; 2], now }
    }

    fn want(&mut self, side: usize) {
        self.wanted[side] = true;
        self.pairs[side].want(self.now, &mut Side(&mut self.net, side));
    }

    /// The words that are first on their connection, with it and the side that they go to.
    fn firsts(&self) -> Vec<(u32, usize, Word)> {
        let mut firsts = Vec::new();
        for (&wire, (_, _, queues)) in &self.net.wires {
            firsts.extend((0..2).filter_map(|side| Some((wire, side, *queues[side].front()?))));
        }
        firsts.sort_unstable_by_key(|&(wire, side, _)| (wire, side));
        firsts
    }

    /// Delivers one of those words, by `choice`; `false`: there is none.
    fn deliver(&mut self, choice: usize) -> bool {
        let firsts = self.firsts();
        if firsts.is_empty() {
            return false;
        }
        let (wire, side, _) = firsts[choice % firsts.len()];
        let word = self.net.wires.get_mut(&wire).expect("a wire").2[side].pop_front().expect("a word");
        if self.net.closed[side].contains(&wire) {
            return true;
        }
        let (pair, now, wanted) = (&mut self.pairs[side], self.now, self.wanted[side]);
        let mut wires = Side(&mut self.net, side);
        match word {
            Word::Stands => pair.connected(wire, &mut wires),
            // Owners of ports answer without asking the pair.
            Word::Hello => wires.tell(wire, Word::Challenge),
            Word::Challenge => {
                if pair.challenged(wire) {
                    wires.tell(wire, Word::Proof);
                }
            }
            Word::Proof => {
                if !pair.called(wire, &mut wires) {
                    wires.close(wire);
                }
            }
            Word::Answer(verdict) => pair.answered(wire, verdict, now, &mut wires),
            Word::Confirm => pair.confirmed(wire, &mut wires),
            Word::End => {
                let is_refusal = wires.0.wires[&wire].1 == Place::Refused;
                let was_open = pair.broke(wire, &failure("it ended", is_refusal), now, wanted, &mut wires);
                assert!(!was_open, "the connection itself was closed");
            }
        }
        true
    }

    fn tick(&mut self, step: Duration) {
        self.now += step;
        for side in 0..2 {
            self.pairs[side].tick(self.now, self.wanted[side], &mut Side(&mut self.net, side));
        }
    }

    fn is_one(&self) -> bool {
        matches!((self.pairs[0].state(), self.pairs[1].state()), (State::Open(a), State::Open(b)) if a == b)
    }
}

fn place() -> impl Strategy<Value = Place> {
    let all = [Place::Right, Place::Refused, Place::Silent, Place::Nowhere, Place::Elsewhere];
    proptest::sample::select(all.to_vec())
}

proptest! {
    /// Whichever side begins, whatever is late: both end with the same connection, if one address is right.
    #[test]
    fn both_sides_end_with_one_connection(
        mut places in [proptest::collection::vec(place(), 1..4), proptest::collection::vec(place(), 1..4)],
        right in 0usize..2,
        both in any::<bool>(),
        refusals in [0u32..4, 0u32..4],
        steps in proptest::collection::vec((0u8..12, any::<usize>()), 0..200),
    ) {
        if !places[right].contains(&Place::Right) {
            places[right].push(Place::Right);
        }
        let mut world = World::new(places);
        world.net.refusals = refusals;
        if both {
            world.want(1 - right);
        }
        for (what, choice) in steps {
            match what {
                0 => world.want(right),
                1 => world.tick(Duration::from_millis(choice as u64 % 150)),
                _ => drop(world.deliver(choice)),
            }
        }
        world.want(right);
        for round in 0..100_000 {
            if world.is_one() && !world.deliver(round) {
                break;
            }
            if !world.deliver(round * 7) {
                world.tick(Duration::from_millis(50));
            }
        }
        prop_assert!(world.is_one(), "{:?}", world.pairs);
        // Nothing else is left open on either side.
        let State::Open(kept) = world.pairs[0].state() else { unreachable!() };
        for (&wire, &(_, place, _)) in &world.net.wires {
            let ended = wire == kept || place != Place::Right;
            prop_assert!(ended || world.net.closed.iter().any(|closed| closed.contains(&wire)), "{wire} is open");
        }
    }
}

#[test]
fn a_peer_without_a_way_is_lost() {
    let mut world = World::new([vec![Place::Refused, Place::Nowhere], vec![]]);
    world.pairs[0].connect_limits.rounds = 3;
    world.want(0);
    for _ in 0..1000 {
        while world.deliver(0) {}
        world.tick(REST);
    }
    assert_eq!(world.pairs[0].state(), State::Lost);
    assert_eq!(world.pairs[0].failures(), "it ended; no route");
}

#[test]
fn a_peer_that_refuses_by_every_address_is_given_up_sooner() {
    let rounds_of = |places: Vec<Place>| {
        let mut world = World::new([places, vec![]]);
        world.pairs[0].connect_limits =
            ConnectLimits { rounds: 7, refusals: 2, ..world.pairs[0].connect_limits };
        world.want(0);
        for _ in 0..1000 {
            while world.deliver(0) {}
            world.tick(REST);
        }
        assert_eq!(world.pairs[0].state(), State::Lost);
        world.pairs[0].failed_rounds
    };
    assert_eq!(rounds_of(vec![Place::Refused]), 2);
    assert_eq!(rounds_of(vec![Place::Refused, Place::Refused]), 2);
    // A network that does not lead there may recover, and another process at an address is no word of the peer's host.
    assert_eq!(rounds_of(vec![Place::Refused, Place::Nowhere]), 7);
    assert_eq!(rounds_of(vec![Place::Elsewhere, Place::Refused]), 7);
    assert_eq!(rounds_of(vec![]), 7);
}

/// The lower rank calls at the same time as the higher one, over an address that leads elsewhere, and learns that too
/// late: so the higher one yields, but not for ever.
#[test]
fn a_peer_whose_own_calls_go_elsewhere_is_reached() {
    let mut world = World::new([vec![Place::Right], vec![Place::Elsewhere]]);
    world.want(0);
    world.want(1);
    for _ in 0..100 {
        // The connection to elsewhere stands before any call comes, and ends after it.
        let late = |word: &Word| {
            [Word::Stands, Word::Hello, Word::Challenge, Word::Proof]
                .iter()
                .position(|early| early == word)
                .unwrap_or(2)
        };
        while let Some((choice, _)) =
            world.firsts().iter().enumerate().min_by_key(|(_, (_, _, word))| late(word))
        {
            world.deliver(choice);
        }
        world.tick(Duration::from_millis(50));
    }
    assert!(world.is_one(), "{:?}", world.pairs);
}

#[test]
fn the_lower_ranks_connection_wins() {
    let mut world = World::new([vec![Place::Right], vec![Place::Right]]);
    world.want(0);
    world.want(1);
    // Both proofs are on their way before one arrives.
    while let Some(choice) = world.firsts().iter().position(|&(_, _, word)| word != Word::Proof) {
        world.deliver(choice);
    }
    assert_eq!(world.firsts().len(), 2);
    while world.deliver(0) {}
    assert!(world.is_one());
    // Side 1 has the lower rank and connected second.
    assert_eq!(world.pairs[0].state(), State::Open(2));
}
