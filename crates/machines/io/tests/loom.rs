//! The hand-over of staged data under loom, which tries all interleavings: nothing is lost, nothing is written out of
//! order, no thread waits for ever, and there is always a thread that writes.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p alhena-io --test loom`
#![cfg(loom)]

use std::ops::Range;

use datatype::Datatype;
use io::{Piece, Refusal, Sink, Stage, Storage, View, Worked};
use loom::model::Builder;
use loom::sync::{Arc, Mutex};
use loom::thread;
use mem::{PeerBytes, PeerSpace};

/// Runs `body` in all interleavings with at most `switches` involuntary switches, which bounds the time.
fn model(switches: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(switches);
    builder.max_branches = 10_000;
    builder.check(body);
}

/// A file of one byte at each place; knows the order of its writes.
struct Bytes(Mutex<Vec<(u64, u8)>>);

impl Bytes {
    fn new() -> Arc<Bytes> {
        Arc::new(Bytes(Mutex::new(Vec::new())))
    }

    fn written(&self) -> Vec<(u64, u8)> {
        self.0.lock().unwrap().clone()
    }
}

impl Storage for Bytes {
    fn read(&self, _into: PeerSpace<'_>, _at: u64) -> std::io::Result<usize> {
        Ok(0)
    }
}

impl Sink for Bytes {
    fn write(&self, from: PeerBytes<'_>, at: u64) -> std::io::Result<usize> {
        self.0.lock().unwrap().push((at, from.to_vec()[0]));
        Ok(from.len())
    }

    fn lock(&self, _range: Range<u64>, _exclusive: bool) -> std::io::Result<()> {
        Ok(())
    }

    fn unlock(&self, _range: Range<u64>) -> std::io::Result<()> {
        Ok(())
    }
}

fn piece(at: u64) -> Vec<Piece> {
    let view = View::of_bytes(Datatype::predefined(abi::BYTE).unwrap());
    vec![Piece { view: std::sync::Arc::new(view), positions: at..at + 1 }]
}

/// What the thread does that is started when a stage asks for it.
fn write_behind(stage: &Arc<Stage>, file: &Arc<Bytes>) -> thread::JoinHandle<()> {
    let (stage, file) = (stage.clone(), file.clone());
    thread::spawn(move || while stage.work(&*file) == Worked::More {})
}

/// A program stages two bytes while a thread writes behind. It starts a thread where the stage asks for one, and that
/// is enough.
#[test]
fn a_thread_is_always_there_to_write() {
    model(3, || {
        let (stage, file) = (Arc::new(Stage::new(10, None)), Bytes::new());
        let mut threads = Vec::new();
        for at in 0..2 {
            if stage.take(piece(at), vec![at as u8 + 1]).unwrap() {
                threads.push(write_behind(&stage, &file));
            }
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(file.written(), [(0, 1), (1, 2)]);
    });
}

/// The program waits for its bytes while the thread writes: they are there, once each and in order.
#[test]
fn waiting_and_writing_behind_do_not_collide() {
    model(3, || {
        let (stage, file) = (Arc::new(Stage::new(10, None)), Bytes::new());
        assert!(stage.take(piece(0), vec![1]).unwrap());
        let behind = write_behind(&stage, &file);
        let starts = stage.take(piece(0), vec![2]).unwrap();
        stage.settle(&*file, &(0..1));
        assert_eq!(file.written(), [(0, 1), (0, 2)]);
        behind.join().unwrap();
        if starts {
            write_behind(&stage, &file).join().unwrap();
        }
        assert_eq!(file.written().len(), 2);
    });
}

/// Two threads share room for one byte: both get on.
#[test]
fn room_is_found_by_both() {
    model(2, || {
        let (stage, file) = (Arc::new(Stage::new(1, None)), Bytes::new());
        let other = {
            let (stage, file) = (stage.clone(), file.clone());
            thread::spawn(move || stage.put(&*file, &piece(5), vec![9]).map(drop).unwrap())
        };
        stage.put(&*file, &piece(0), vec![1]).unwrap();
        other.join().unwrap();
        assert!(matches!(stage.take(piece(7), vec![1]), Err(Refusal::Full(_))));
        stage.drain(&*file);
        let mut written = file.written();
        written.sort_unstable();
        assert_eq!(written, [(0, 1), (5, 9)]);
    });
}
