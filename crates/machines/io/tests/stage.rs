//! Staged writes: threads that take data over, one that writes behind, and some that wait, against a plain copy byte by
//! byte.
#![cfg(not(loom))]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use datatype::{Datatype, Form};
use io::{Log, Piece, Refusal, Sink, Stage, Storage, View, Worked};
use mem::{PeerBytes, PeerSpace};

/// A file in memory, whose writes are short and fail now and then.
#[derive(Default)]
struct Simulated {
    bytes: Mutex<Vec<u8>>,
    state: AtomicU64,
    /// A write of a byte behind this place fails.
    room: Option<u64>,
}

impl Simulated {
    fn draw(&self, below: u64) -> u64 {
        draw(&self.state, below)
    }
}

fn draw(state: &AtomicU64, below: u64) -> u64 {
    let step = |word: u64| {
        Some(word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    let word = state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap();
    (word >> 33) % below
}

impl Storage for Simulated {
    fn read(&self, into: PeerSpace<'_>, at: u64) -> std::io::Result<usize> {
        let bytes = self.bytes.lock().unwrap();
        let there = &bytes[bytes.len().min(at as usize)..];
        let moved = into.len().min(there.len());
        into.write(PeerBytes::of(&there[..moved]));
        Ok(moved)
    }
}

impl Sink for Simulated {
    fn write(&self, from: PeerBytes<'_>, at: u64) -> std::io::Result<usize> {
        match self.draw(8) {
            0 => return Err(std::io::Error::from(std::io::ErrorKind::Interrupted)),
            1 => platform::waiter::give_way(),
            _ => {}
        }
        if self.room.is_some_and(|room| at + from.len() as u64 > room) {
            return Err(std::io::Error::from_raw_os_error(28));
        }
        let (at, len) = (at as usize, 1 + self.draw(from.len() as u64) as usize);
        let mut bytes = self.bytes.lock().unwrap();
        if bytes.len() < at + len {
            bytes.resize(at + len, 0);
        }
        from.part(0, len).copy_to(&mut bytes[at..at + len]);
        Ok(len)
    }

    fn lock(&self, _range: Range<u64>, _exclusive: bool) -> std::io::Result<()> {
        Ok(())
    }

    fn unlock(&self, _range: Range<u64>) -> std::io::Result<()> {
        Ok(())
    }
}

/// Views whose items are 16 bytes long: of all bytes, of some, of none but two far ones.
fn views() -> Vec<Arc<View>> {
    let byte = Datatype::predefined(abi::BYTE).unwrap();
    let wide = |filetype| {
        let wide = Datatype::resized(&Arc::new(filetype), 0, 16, Form::Classic).unwrap();
        Arc::new(View::new(3, byte, &wide).unwrap())
    };
    vec![
        Arc::new(View::of_bytes(byte)),
        wide(Datatype::vector(3, 2, 5, byte, Form::Classic).unwrap()),
        wide(Datatype::indexed((&[1, 3][..]).into(), (&[2, 7][..]).into(), byte, Form::Classic).unwrap()),
        Arc::new(View::new(8, byte, &Datatype::resized(byte, 0, 9000, Form::Classic).unwrap()).unwrap()),
    ]
}

fn places(piece: &Piece) -> Vec<usize> {
    let mut all = Vec::new();
    piece.view.for_each(piece.positions.clone(), |place, len| {
        all.extend(place as usize..(place + len) as usize);
        true
    });
    all
}

/// What a program has written, where each byte is known.
struct Oracle(Vec<u8>);

impl Oracle {
    fn write(&mut self, pieces: &[Piece], bytes: &[u8]) {
        for (place, &byte) in pieces.iter().flat_map(places).zip(bytes) {
            if self.0.len() <= place {
                self.0.resize(place + 1, 0);
            }
            self.0[place] = byte;
        }
    }
}

fn log(limit: u64, wanted: bool) -> Option<Log> {
    wanted.then(|| Log::create(&std::env::temp_dir(), limit).unwrap())
}

/// A thread writes behind, another one asks what is held: the file is what the writes in their order make of it, and
/// what is read through the stage is so at any time.
#[test]
fn what_is_staged_is_read_at_once_and_written_in_order() {
    let views = views();
    for seed in 0..24u64 {
        let state = AtomicU64::new(seed * 77 + 1);
        let limit = 600;
        let stage = Stage::new(limit, log(limit, seed % 2 == 1));
        let file = Simulated { state: AtomicU64::new(seed), ..Simulated::default() };
        let mut oracle = Oracle(Vec::new());
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    if stage.work(&file) == Worked::Done {
                        platform::waiter::give_way();
                    }
                }
            });
            for step in 0..120u64 {
                let pieces: Vec<Piece> = (0..1 + draw(&state, 3))
                    .map(|_| {
                        let first = draw(&state, 300);
                        let len = 1 + draw(&state, if seed % 4 == 3 { 4 } else { 60 });
                        let view = views[draw(&state, views.len() as u64) as usize].clone();
                        Piece { view, positions: first..first + len }
                    })
                    .collect();
                let len: u64 = pieces.iter().map(|piece| piece.positions.end - piece.positions.start).sum();
                let bytes: Vec<u8> = (0..len).map(|i| (1 + (step * 31 + i) % 255) as u8).collect();
                oracle.write(&pieces, &bytes);
                stage.put(&file, &pieces, bytes).unwrap();
                let counts = stage.counts();
                assert!(counts.taken - counts.written <= limit, "seed {seed}: more is held than allowed");
                check(&stage, &file, &oracle, draw(&state, 400), &format!("seed {seed} step {step}"));
                if draw(&state, 10) == 0 {
                    let span = io::span_of(pieces.iter().map(|piece| (&*piece.view, &piece.positions)));
                    stage.settle(&file, &span);
                    let now = file.bytes.lock().unwrap();
                    for place in pieces.iter().flat_map(places) {
                        assert_eq!(now[place], oracle.0[place], "seed {seed}: settled");
                    }
                }
            }
            stage.drain(&file);
            over.store(true, Ordering::Release);
        });
        assert!(stage.is_empty() && stage.take_error().is_none());
        assert_eq!(*file.bytes.lock().unwrap(), oracle.0, "seed {seed}");
    }
}

/// Some places, as they are read through the stage: asked first, then read from the file.
fn check(stage: &Stage, file: &Simulated, oracle: &Oracle, from: u64, name: &str) {
    let (mut held, mut marks) = (vec![0; 100], [false; 100]);
    stage.peek(from, &mut held, |run| marks[run].fill(true)).unwrap();
    let now = file.bytes.lock().unwrap();
    for i in 0..100 {
        let place = from as usize + i;
        let seen = if marks[i] { held[i] } else { now.get(place).copied().unwrap_or(0) };
        assert_eq!(seen, oracle.0.get(place).copied().unwrap_or(0), "{name}: place {place}");
    }
}

/// Several threads stage bytes of their own and wait for them, without any thread that was started for writing.
#[test]
fn waiting_threads_write_for_each_other() {
    const THREADS: u64 = 4;
    let view = views().swap_remove(0);
    let stage = Stage::new(300, None);
    let file = Simulated::default();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (stage, file, view) = (&stage, &file, &view);
            scope.spawn(move || {
                for step in 0..200u64 {
                    let at = thread * 100 + step % 7;
                    let piece = Piece { view: view.clone(), positions: at..at + 50 };
                    stage.put(file, std::slice::from_ref(&piece), vec![step as u8; 50]).unwrap();
                    if step % 3 == 0 {
                        stage.settle(file, &(at..at + 50));
                        let now = file.bytes.lock().unwrap();
                        assert!(now[at as usize..][..50].iter().all(|&byte| byte == step as u8));
                    }
                }
            });
        }
    });
    stage.drain(&file);
    assert!(stage.is_empty());
}

#[test]
fn an_error_is_told_once_and_later_entries_are_written() {
    let view = views().swap_remove(0);
    let stage = Stage::new(1000, None);
    let file = Simulated { room: Some(50), ..Simulated::default() };
    let put = |at: u64| {
        let piece = Piece { view: view.clone(), positions: at..at + 10 };
        stage.put(&file, std::slice::from_ref(&piece), vec![1; 10]).unwrap();
    };
    put(100);
    put(0);
    stage.drain(&file);
    assert_eq!(io::class_of(&stage.take_error().unwrap()), abi::ERR_NO_SPACE);
    assert!(stage.take_error().is_none());
    assert_eq!(file.bytes.lock().unwrap()[..], [1; 10]);
    let counts = stage.counts();
    assert_eq!((counts.taken, counts.written), (20, 20));
}

#[test]
fn what_never_fits_is_given_back() {
    let view = views().swap_remove(0);
    let piece = Piece { view, positions: 0..20 };
    let (stage, file) = (Stage::new(10, None), Simulated::default());
    assert!(
        matches!(stage.take(vec![piece.clone()], vec![1; 20]), Err(Refusal::Never(bytes)) if bytes.len() == 20)
    );
    assert_eq!(stage.put(&file, &[piece], vec![1; 20]).unwrap_err().len(), 20);
    assert!(stage.is_empty());
}
