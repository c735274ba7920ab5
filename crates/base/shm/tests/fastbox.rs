//! What is sent through a fastbox arrives in order and whole, whatever its lengths, wherever the ends stand.
#![cfg(not(loom))]

use std::collections::VecDeque;

use mem::UserMem;
use proptest::prelude::*;
use shm::fastbox::{Block, Fastbox, Full, Item, Progress, Receiver, Sender, Slot};

#[derive(Clone, Copy, Debug)]
enum Step {
    Send { words: usize, len: usize },
    Note,
    Receive,
    Idle,
}

fn step() -> impl Strategy<Value = Step> {
    // Up to a slot, up to the near part's longest, beyond.
    let len = prop_oneof![0usize..130, 100usize..2200, 2000usize..9000];
    prop_oneof![
        6 => (1usize..=8, len).prop_map(|(words, len)| Step::Send { words, len }),
        1 => Just(Step::Note),
        6 => Just(Step::Receive),
        1 => Just(Step::Idle),
    ]
}

fn payload(number: u64, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at as u64 * 31 + number * 7) as u8).collect()
}

fn run(blocks: usize, steps: Vec<Step>) {
    let slots: Vec<Slot> = (0..16).map(|_| Slot::default()).collect();
    let blocks: Vec<Block> = (0..blocks).map(|_| Block::default()).collect();
    let progress = Progress::default();
    let memory = Fastbox { slots: &slots, blocks: &blocks, progress: &progress };
    let (mut sender, mut receiver) = (Sender::new(memory), Receiver::new(memory));
    let mut under_way: VecDeque<(u64, Option<(usize, usize)>)> = VecDeque::new();
    for (number, step) in (0..).zip(steps) {
        match step {
            Step::Send { words, len } => {
                let len = len.min(sender.largest());
                let mut bytes = payload(number, len);
                // SAFETY: the bytes outlive the call.
                let mut source = unsafe { UserMem::of(&mut bytes) };
                let sent = sender.send(&vec![number; words], &mut source);
                assert!(sent.is_ok() || !under_way.is_empty(), "an empty fastbox is never full");
                under_way.extend(sent.ok().map(|()| (number, Some((words, len)))));
            }
            Step::Note => match sender.send_note(number) {
                Ok(()) => under_way.push_back((number, None)),
                Err(Full) => assert!(!under_way.is_empty()),
            },
            Step::Receive => match (receiver.poll(), under_way.pop_front()) {
                (Some(word), Some((number, message))) => {
                    match (receiver.open(word), message) {
                        (Item::Message(views), Some((words, len))) => {
                            assert_eq!(views.header.len(), words * 8);
                            assert_eq!(views.header.word(words - 1), number);
                            assert!(views.payload.to_vec() == payload(number, len));
                        }
                        (Item::Note(note), None) => assert_eq!(note, number),
                        (item, message) => panic!("{item:?} for {message:?}"),
                    }
                    receiver.advance();
                }
                (found, expected) => assert!(found.is_none() && expected.is_none()),
            },
            Step::Idle => {
                receiver.idle();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn undivided_data_arrives_in_order(steps in prop::collection::vec(step(), 1..400)) {
        run(64, steps);
    }

    #[test]
    fn divided_data_arrives_in_order(steps in prop::collection::vec(step(), 1..400)) {
        run(1024, steps);
    }
}
