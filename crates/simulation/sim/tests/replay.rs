//! Replays of recordings: computing takes as long as it did, and calls as long as in the simulation.

use recording::Writer;
use sim::experiments::replay;
use sim::paper::{FITTED, setup};
use sim::replay::Job;
use sim::{Error, Setup};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const WORLD: i64 = 0x101;
const DUPLICATE: i64 = 0x5000;
const RANKS: u32 = 4;

fn machine(ranks_per_node: u32) -> Setup {
    Setup { ranks_per_node, node_spacing: 1, ..setup(FITTED) }
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("alhena-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, rank: u32, bytes: &[u8]) {
        std::fs::write(self.0.join(recording::file_name(rank)), bytes).expect("a file");
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `rounds` of: compute 1 ms, exchange 1,000 words with both neighbours of a ring, reduce; rank 1 computes longer by
/// `late`.
fn ring(folder: &Folder, rounds: u32, late: u64) {
    for rank in 0..RANKS {
        let mut writer = Writer::new(rank, RANKS);
        writer.comm(WORLD, &[0, 1, 2, 3]);
        let names = [
            "MPI_Comm_dup",
            "MPI_Irecv",
            "MPI_Isend",
            "MPI_Waitall",
            "MPI_Iallreduce",
            "MPI_Wait",
            "MPI_Barrier",
        ];
        names.iter().enumerate().for_each(|(number, name)| writer.name(number as u64, name));
        writer.comm(DUPLICATE, &[0, 1, 2, 3]);
        writer.call(0, 0, 0, 0, &[WORLD, DUPLICATE]);
        writer.call(6, 0, 0, 0, &[WORLD]);
        let [left, right] = [(rank + RANKS - 1) % RANKS, (rank + 1) % RANKS].map(i64::from);
        for _ in 0..rounds {
            let gap = 1_000_000 + if rank == 1 { late } else { 0 };
            writer.call(1, gap, gap, 0, &[1000, 8, left, 1, DUPLICATE, 1]);
            writer.call(1, 0, 0, 0, &[1000, 8, right, 2, DUPLICATE, 2]);
            writer.call(2, 0, 0, 0, &[1000, 8, right, 1, DUPLICATE, 3]);
            writer.call(2, 0, 0, 0, &[1000, 8, left, 2, DUPLICATE, 4]);
            writer.call(3, 0, 0, 0, &[4, 4, 1, 2, 3, 4]);
            writer.call(4, 0, 0, 0, &[1, 8, DUPLICATE, 5]);
            writer.call(5, 0, 0, 0, &[5]);
        }
        writer.call(6, 0, 0, 0, &[WORLD]);
        folder.write(rank, &writer.take());
    }
}

#[test]
fn a_replay_computes_as_recorded_and_communicates_as_simulated() {
    let folder = Folder::new("ring");
    ring(&folder, 10, 0);
    let job = Arc::new(Job::read(folder.path()).expect("a recording"));
    for ranks_per_node in [4, 1] {
        let even = replay(&machine(ranks_per_node), &job, 1).expect("a replay");
        assert!((even.longest[0] - 0.010).abs() < 1e-9, "{even:?}");
        assert!(even.longest[1] > 0.010 && even.longest[1] < 0.0105, "{even:?}");
        let waits = even.shares.iter().find(|share| share.name == "MPI_Waitall").expect("a function");
        assert!(waits.calls == 40 && waits.seconds[1] > 10.0 * 2e-6, "{waits:?}");
        assert_eq!(replay(&machine(ranks_per_node), &job, 1).expect("a replay"), even);
    }
}

#[test]
fn one_late_rank_makes_the_others_wait() {
    let folder = Folder::new("late");
    ring(&folder, 10, 500_000);
    let job = Arc::new(Job::read(folder.path()).expect("a recording"));
    let late = replay(&machine(4), &job, 1).expect("a replay");
    assert!(late.longest[1] > 0.015, "{late:?}");
}

#[test]
fn ranks_wait_for_processors() {
    let folder = Folder::new("cores");
    ring(&folder, 10, 0);
    let job = Arc::new(Job::read(folder.path()).expect("a recording"));
    let seconds = |cores| replay(&Setup { cores, ..machine(4) }, &job, 1).expect("a replay").longest[1];
    assert!(seconds(Some(2)) > 0.020 && seconds(Some(2)) < 0.021, "{}", seconds(Some(2)));
    assert_eq!(seconds(Some(4)), seconds(None));
}

#[test]
fn copies_share_the_worlds_collectives() {
    let folder = Folder::new("copies");
    ring(&folder, 3, 0);
    let job = Arc::new(Job::read(folder.path()).expect("a recording"));
    let [one, many] = [1, 16].map(|copies| replay(&machine(4), &job, copies).expect("a replay"));
    assert!(many.whole[1] > one.whole[1], "{one:?} {many:?}");
    assert!(many.report.turns > 10 * one.report.turns);
}

#[test]
fn what_is_no_recording_is_refused() {
    let folder = Folder::new("damaged");
    let refused = || Job::read(folder.path()).err().expect("no recording").to_string();
    assert_eq!(refused().lines().count(), 3);
    folder.write(0, b"something else");
    assert_eq!(refused().lines().count(), 3);
    folder.write(0, &Writer::new(0, 2).take());
    assert!(matches!(Job::read(folder.path()), Err(Error::Recording(_))), "rank 1 is missing");
}
