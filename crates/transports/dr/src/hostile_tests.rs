//! What a peer that lies, and a network that harms acknowledgements, cannot do.

use crate::config::{Config, Names, PathConfig, Time};
use crate::frame::{Head, Kind};
use crate::mask::Mask;
use crate::pair::{Full, Pair, Port, Taken};

const FRAME: usize = 1000;
const NOW: Time = 1_000_000;

/// Header and body.
type Frame = (Vec<u64>, Vec<u8>);

/// Keeps what leaves.
#[derive(Default)]
struct Kept(Vec<Frame>);

impl Port for Kept {
    fn transmit(&mut self, _path: u8, header: &[u64], body: &[u8]) -> Result<(), Full> {
        self.0.push((header.to_vec(), body.to_vec()));
        Ok(())
    }
}

fn names(me: u32) -> Names {
    Names { me, peer: 1 - me, job: 3 }
}

fn pair(me: u32) -> Pair {
    Pair::new(Config::default(), names(me), &[PathConfig::of_network(4000)])
}

/// A pair that has sent so many frames, and these.
fn sender(frames: u64) -> (Pair, Vec<Frame>) {
    let (mut sender, mut kept) = (pair(0), Kept::default());
    for number in 0..frames {
        sender.send(&[number], FRAME, |to| to.fill(number as u8)).expect("there is room");
        sender.pump(NOW, &mut kept);
    }
    (sender, kept.0)
}

#[test]
fn a_damaged_acknowledgement_frees_nothing() {
    let (mut sender, frames) = sender(4);
    let (mut receiver, mut answers) = (pair(1), Kept::default());
    // The third is missing, so that the acknowledgement has a mask.
    for at in [0, 1, 3] {
        let (header, body) = &frames[at];
        assert_eq!(receiver.take(NOW, 0, header, body), Taken::New { words: 1 });
    }
    receiver.hurry(NOW);
    receiver.pump(NOW, &mut answers);
    let (header, body) = answers.0.pop().expect("an acknowledgement");
    assert!(header.len() > crate::MIN_HEADER_WORDS && body.is_empty());
    for bit in 0..header.len() * 64 {
        let mut harmed = header.clone();
        harmed[bit / 64] ^= 1 << (bit % 64);
        assert_eq!(sender.take(NOW, 0, &harmed, &body), Taken::Nothing);
        assert_eq!((sender.counts().bad_headers, sender.outbound.len()), (bit as u64 + 1, 4), "bit {bit}");
    }
    sender.take(NOW, 0, &header, &body);
    // Slots are freed from the front: the fourth waits for the third.
    assert_eq!(sender.outbound.len(), 2);
    assert_eq!(sender.counts().nonsense, 0);
}

/// Headers whose checksums are good, of a peer that lies.
#[test]
fn acknowledgements_of_what_was_not_sent_are_dropped_and_counted() {
    let (mut sender, _) = sender(4);
    let truth = Head {
        kind: Kind::Ack,
        path: 0,
        epoch: Config::default().epoch,
        sequence: 1,
        attempt: 1,
        words: 0,
        has_crc: false,
        length: 0,
        acked: 0,
        mask: Mask::default(),
    };
    let mask = |words: [u64; 4]| Mask(words);
    let lies = [
        Head { acked: 5, ..truth },
        Head { acked: 300, ..truth },
        Head { acked: (1 << 47) - 9, ..truth },
        // The next after what is acknowledged cannot be there.
        Head { mask: mask([1, 0, 0, 0]), ..truth },
        // Frames 6, 66 and 258 were never sent.
        Head { mask: mask([1 << 5, 0, 0, 0]), ..truth },
        Head { mask: mask([0, 2, 0, 0]), ..truth },
        Head { mask: mask([2, 0, 0, 1 << 63]), ..truth },
        // Answers that nothing has asked for: by number, and by path.
        Head { kind: Kind::Answer, sequence: 77, ..truth },
        Head { kind: Kind::Answer, path: 200, ..truth },
    ];
    for (count, lie) in lies.iter().enumerate() {
        let words = lie.seal(names(1).seed_out(), &[]);
        assert_eq!(sender.take(NOW, 0, words.as_slice(), &[]), Taken::Nothing);
        assert_eq!((sender.counts().nonsense, sender.outbound.len()), (count as u64 + 1, 4), "{lie:?}");
    }
    // Damage of what was never sent, and of an attempt that never was: nothing leaves again.
    for (sequence, attempt) in [(90, 1), (0, 1), (2, 9)] {
        let words = Head { kind: Kind::Damaged, sequence, attempt, ..truth }.seal(names(1).seed_out(), &[]);
        sender.take(NOW, 0, words.as_slice(), &[]);
    }
    let mut kept = Kept::default();
    sender.pump(NOW, &mut kept);
    assert!(kept.0.is_empty(), "a lie has made frames leave again");
    // A path that there is none of.
    let words = truth.seal(names(1).seed_out(), &[]);
    sender.take(NOW, 9, words.as_slice(), &[]);
    assert_eq!((sender.counts().nonsense, sender.outbound.len()), (lies.len() as u64 + 1, 4));
}

/// A peer that never answers: what is kept for it stays within the window.
#[test]
fn memory_is_bounded_by_the_window() {
    let config = Config { window_bytes: 100_000, ..Config::default() };
    for frame in [0, 10, FRAME, 90_000] {
        let mut sender = Pair::new(config, names(0), &[PathConfig::of_network(100_000)]);
        let mut taken = 0;
        while sender.send(&[1, 2], frame, |to| to.fill(1)).is_ok() {
            taken += 1;
            assert!(taken <= config.window, "more frames than the window has");
            sender.pump(NOW, &mut Kept::default());
        }
        assert!(taken > 0 && sender.outbound.bytes() <= config.window_bytes);
        for round in 0..1000 {
            sender.pump(NOW + round * 1_000_000_000, &mut Kept::default());
        }
        assert!(sender.outbound.len() <= config.window as usize && sender.counts().resent <= 1);
    }
}
