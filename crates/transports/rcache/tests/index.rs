//! The index against a naive model: a list of ranges, looked through from end to end.

use proptest::prelude::*;
use rcache::{Extent, Hold, Index, Key, WatchId};

#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire(usize, usize),
    Release(usize),
    Evict,
    Retire(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..40usize, 1..12usize).prop_map(|(start, len)| Step::Acquire(start, len)),
        4 => any::<usize>().prop_map(Step::Release),
        1 => Just(Step::Evict),
        1 => any::<usize>().prop_map(Step::Retire),
    ]
}

/// An entry of the model; the list is in the order of last use, oldest first.
#[derive(Clone, Debug)]
struct Model {
    key: Key,
    extent: Extent,
    users: u32,
    kept: bool,
}

fn check(index: &Index<u64>, model: &[Model]) {
    assert_eq!(index.len(), model.len());
    for start in 0..52 {
        for len in 1..8 {
            let wanted = Extent { start, end: start + len };
            let covered = model.iter().any(|entry| entry.kept && entry.extent.covers(wanted));
            assert_eq!(index.find(wanted).is_some(), covered, "{wanted:?} in {model:?}");
            if let Some(key) = index.find(wanted) {
                assert!(model.iter().any(|entry| entry.key == key && entry.extent.covers(wanted)));
            }
        }
    }
    let oldest = model.iter().find(|entry| entry.kept && entry.users == 0).map(|entry| entry.key);
    assert_eq!(index.oldest(), oldest);
}

fn retire(index: &mut Index<u64>, model: &mut Vec<Model>, key: Key) {
    let at = model.iter().position(|entry| entry.key == key).expect("known");
    let idle = model[at].users == 0;
    model[at].kept = false;
    assert_eq!(index.retire(key), idle);
    if idle {
        assert!(index.remove(key).is_some());
        model.remove(at);
    }
}

fn acquire(index: &mut Index<u64>, model: &mut Vec<Model>, extent: Extent) {
    if let Some(key) = index.find(extent) {
        index.use_entry(key);
        let at = model.iter().position(|entry| entry.key == key).expect("known");
        model[at].users += 1;
        return;
    }
    while let Some(key) = index.within(extent) {
        assert!(model.iter().any(|entry| entry.key == key && extent.covers(entry.extent)));
        retire(index, model, key);
    }
    assert!(!model.iter().any(|entry| entry.kept && extent.covers(entry.extent)));
    let key = index.insert(extent, 0, Hold::Watched(WatchId(0))).expect("room");
    model.push(Model { key, extent, users: 1, kept: true });
}

fn release(index: &mut Index<u64>, model: &mut Vec<Model>, at: usize) {
    let key = model[at].key;
    model[at].users -= 1;
    let gone = model[at].users == 0 && !model[at].kept;
    assert_eq!(index.release(key), gone);
    let entry = model.remove(at);
    if gone {
        assert!(index.remove(key).is_some());
    } else if entry.users == 0 {
        model.push(entry);
    } else {
        model.insert(at, entry);
    }
}

fn run(steps: &[Step]) {
    let (mut index, mut model) = (Index::<u64>::default(), Vec::new());
    for &step in steps {
        match step {
            Step::Acquire(start, len) => {
                acquire(&mut index, &mut model, Extent { start, end: start + len });
            }
            Step::Release(pick) => {
                let used: Vec<usize> = (0..model.len()).filter(|&at| model[at].users > 0).collect();
                if !used.is_empty() {
                    release(&mut index, &mut model, used[pick % used.len()]);
                }
            }
            Step::Evict => {
                if let Some(key) = index.oldest() {
                    retire(&mut index, &mut model, key);
                }
            }
            Step::Retire(pick) => {
                let kept: Vec<Key> = model.iter().filter(|entry| entry.kept).map(|entry| entry.key).collect();
                if !kept.is_empty() {
                    retire(&mut index, &mut model, kept[pick % kept.len()]);
                }
            }
        }
        check(&index, &model);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn agrees_with_a_list(steps in prop::collection::vec(step(), 1..80)) {
        run(&steps);
    }
}
