//! Random lists and random operations, against the oracle.

use crate::oracle::{Oracle, OracleEntry, OracleMd, Outcome};
use crate::pair::{INDEX, Pair, buffer, bytes_of, pattern};
use crate::{Rig, Wanted};
use chance::Rng;
use mem::UserMem;
use portals::{
    Ack, Descriptor, EventKind, Md, Me, NewEntry, Options, Portals, Position, ProcessMatch, Status, Target,
    Threshold, Unlink,
};
use std::collections::HashMap;

const ROUNDS: u64 = 24;
const STEPS: u32 = 120;

/// Whatever is done, the NIC does what the oracle does: which descriptor takes an operation, how much of it, what goes.
pub fn against_the_oracle<R: Rig>(rig: &mut R) {
    for seed in 1..=ROUNDS {
        let faults = if seed % 3 == 0 { "seed=4,defer=0.4" } else { "" };
        let wanted = Wanted { faults_of_target: faults, ..Wanted::default() };
        let Some(pair) = Pair::wanted(rig, &wanted) else { return };
        Game { pair, oracle: Oracle::default(), handles: HashMap::new(), rng: Rng::new(seed), names: 0 }
            .play();
    }
}

struct Game<N> {
    pair: Pair<N>,
    oracle: Oracle,
    /// By the name of an entry.
    handles: HashMap<u64, (Me, Option<(Md, UserMem)>)>,
    rng: Rng,
    names: u64,
}

impl<N: Portals> Game<N> {
    fn below(&mut self, bound: usize) -> usize {
        (self.rng.next() >> 20) as usize % bound.max(1)
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn play(mut self) {
        for _ in 0..STEPS {
            match self.below(12) {
                0..=2 => self.add(),
                3 => self.remove(),
                4 => self.attach(),
                5 => self.update(),
                6..=9 => self.put(),
                _ => self.get(),
            }
            let dropped = self.pair.b.nic.status(Status::DropCount);
            assert_eq!(dropped, Ok(self.oracle.dropped));
            assert_eq!(self.pair.b.nic.status(Status::MatchEntries), Ok(self.oracle.list.len() as u64));
        }
        for entry in &self.oracle.list {
            let (_, md) = &self.handles[&entry.name];
            match (&entry.md, md) {
                (Some(model), Some((md, memory))) => {
                    assert!(bytes_of(*memory) == model.memory, "equal memory");
                    let left = self.pair.b.nic.md_read(*md).expect("it is there").threshold;
                    assert_eq!(left, model.threshold);
                }
                (None, None) => {}
                _ => panic!("a descriptor is there for one and not for the other"),
            }
        }
    }

    fn bits(&mut self) -> u64 {
        self.below(3) as u64 | (self.below(2) as u64) << 40
    }

    fn add(&mut self) {
        let (bits, ignore) = (self.bits(), if self.one_in(3) { 0xff } else { 0 });
        let source = if self.one_in(3) { self.pair.a.id().into() } else { ProcessMatch::ANY };
        let unlink = if self.one_in(2) { Unlink::Unlink } else { Unlink::Retain };
        let position = if self.one_in(2) { Position::Before } else { Position::After };
        self.names += 1;
        let name = self.names;
        let entry = OracleEntry { name, source, bits, ignore, unlink, md: None };
        let count = self.oracle.list.len();
        let base = (count > 0 && self.one_in(2)).then(|| self.below(count));
        let nic = &mut self.pair.b.nic;
        let me = match base {
            Some(at) => {
                let (beside, _) = self.handles[&self.oracle.list[at].name];
                let place = if position == Position::Before { at } else { at + 1 };
                self.oracle.list.insert(place, entry);
                nic.me_insert(beside, NewEntry::new(source, bits, ignore, unlink), position)
            }
            None => {
                let place = if position == Position::Before { 0 } else { count };
                self.oracle.list.insert(place, entry);
                nic.me_attach(INDEX, NewEntry::new(source, bits, ignore, unlink), position)
            }
        };
        self.handles.insert(name, (me.expect("an entry"), None));
        if !self.one_in(5) {
            self.attach_to(name);
        }
    }

    fn some(&mut self) -> Option<usize> {
        let count = self.oracle.list.len();
        (count > 0).then(|| self.below(count))
    }

    fn remove(&mut self) {
        let Some(at) = self.some() else { return };
        let entry = self.oracle.list.remove(at);
        let (me, _) = self.handles.remove(&entry.name).expect("known");
        self.pair.b.nic.me_unlink(me).expect("it is there and idle");
    }

    fn attach(&mut self) {
        let Some(at) = self.some() else { return };
        if self.oracle.list[at].md.is_none() {
            let name = self.oracle.list[at].name;
            self.attach_to(name);
        }
    }

    fn descriptor(&mut self, user: u64) -> (OracleMd, Descriptor, UserMem) {
        let len = [0, 1, 5, 16, 40][self.below(5)];
        let threshold = match self.below(4) {
            0 => Threshold::Infinite,
            some => Threshold::Count(some as u32 - 1),
        };
        let mut options = Options(self.below(4) as u32);
        for option in [Options::MANAGE_REMOTE, Options::TRUNCATE, Options::MAX_SIZE] {
            if self.one_in(2) {
                options = options | option;
            }
        }
        let unlink = if self.one_in(2) { Unlink::Unlink } else { Unlink::Retain };
        let max_size = self.below(10);
        let memory = pattern(user, len);
        let view = buffer(memory.clone());
        let model =
            OracleMd { user, memory, offset: 0, threshold, max_size, options, unlink, exhausted: false };
        let descriptor = Descriptor { threshold, max_size, user, ..self.pair.b.descriptor(view, options) };
        (model, descriptor, view)
    }

    fn attach_to(&mut self, name: u64) {
        let (model, descriptor, view) = self.descriptor(name);
        let (me, _) = self.handles[&name];
        let md = self.pair.b.nic.md_attach(me, &descriptor, model.unlink).expect("a descriptor");
        self.handles.insert(name, (me, Some((md, view))));
        let entry = self.oracle.list.iter_mut().find(|entry| entry.name == name);
        entry.expect("known").md = Some(model);
    }

    fn update(&mut self) {
        let Some(at) = self.some() else { return };
        let Some(old) = self.oracle.list[at].md.clone() else { return };
        let name = self.oracle.list[at].name;
        let (model, descriptor, view) = self.descriptor(name);
        let (me, md) = self.handles[&name];
        let (md, _) = md.expect("both have one");
        self.pair.b.nic.md_update(md, &descriptor, Some(self.pair.b.eq)).expect("nothing is under way");
        self.handles.insert(name, (me, Some((md, view))));
        self.oracle.list[at].md = Some(OracleMd { unlink: old.unlink, ..model });
    }

    fn target(&mut self) -> Target {
        let bits = self.bits();
        Target { offset: self.below(20), ..self.pair.target(bits) }
    }

    fn put(&mut self) {
        let (target, len) = (self.target(), self.below(12));
        let data = pattern(self.rng.next(), len);
        let md = self.pair.a.bind(buffer(data.clone()), Threshold::Count(1));
        self.pair.a.nic.put(md, Ack::None, &target, 0).expect("a put");
        self.pair.settle();
        let from = self.pair.a.id();
        let expected = self.oracle.operate(from, target.match_bits, target.offset, Some(&data), len);
        self.check(expected, [EventKind::PutStart, EventKind::PutEnd]);
        self.pair.a.events();
    }

    fn get(&mut self) {
        let (target, len) = (self.target(), self.below(12));
        let into = buffer(vec![0; len]);
        let md = self.pair.a.bind(into, Threshold::Count(1));
        self.pair.a.nic.get(md, &target).expect("a get");
        self.pair.settle();
        let from = self.pair.a.id();
        let expected = self.oracle.operate(from, target.match_bits, target.offset, None, len);
        if let Some(outcome) = &expected {
            assert_eq!(bytes_of(into)[..outcome.mlength], outcome.data);
        }
        self.check(expected, [EventKind::GetStart, EventKind::GetEnd]);
        self.pair.a.events();
    }

    /// Compares what the target saw, and forgets what went.
    fn check(&mut self, expected: Option<Outcome>, kinds: [EventKind; 2]) {
        let events = self.pair.b.events();
        let seen: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
        let Some(outcome) = expected else {
            assert_eq!(seen, [], "nothing accepts it");
            return;
        };
        let mut all = kinds.to_vec();
        all.extend(outcome.unlinked.then_some(EventKind::Unlink));
        assert_eq!(seen, all);
        let end = &events[1];
        assert_eq!(
            (end.descriptor.user, end.offset, end.mlength),
            (outcome.user, outcome.offset, outcome.mlength)
        );
        if outcome.unlinked {
            let stays = self.oracle.list.iter().any(|entry| entry.name == outcome.user);
            let (me, _) = self.handles.remove(&outcome.user).expect("known");
            if stays {
                self.handles.insert(outcome.user, (me, None));
            }
        }
    }
}
