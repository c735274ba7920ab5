//! Runs of a window in a file: their bytes are written and no others, by whichever way the driver takes.
#![expect(clippy::disallowed_methods, reason = "a test holds no state")]

use std::path::PathBuf;

use io::{Cover, How, Posix, Sink};
use platform::Blocking;
use proptest::prelude::*;

/// Bytes that the file has before, and bytes of the window.
const BEFORE: u8 = 1;
const GIVEN: u8 = 2;

/// A file in the folder for temporary ones, gone with this.
struct Path(PathBuf);

impl Path {
    fn new(name: &str) -> Path {
        Path(std::env::temp_dir().join(format!("alhena-covered-{name}-{}", std::process::id())))
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What the file of `len` bytes holds after runs of a window were written to it, the window's first byte at `at`.
fn written(path: &Path, len: usize, at: usize, runs: &[(usize, usize)]) -> Vec<u8> {
    std::fs::write(&path.0, vec![BEFORE; len]).unwrap();
    let window = runs.iter().map(|(start, len)| start + len).max().unwrap_or(0);
    let mut cover = Cover::default();
    cover.clear(window);
    runs.iter().for_each(|&(start, len)| cover.mark(start, len));
    let blocking = Blocking::vouch();
    let file = Posix::open(&path.0, How { write: true, ..How::default() }, &blocking).unwrap();
    file.calls(&blocking).write_covered(&vec![GIVEN; window], &cover, at as u64).unwrap();
    std::fs::read(&path.0).unwrap()
}

/// The same, worked out.
fn expected(len: usize, at: usize, runs: &[(usize, usize)]) -> Vec<u8> {
    let mut bytes = vec![BEFORE; len];
    for &(start, len) in runs {
        let (from, to) = (at + start, at + start + len);
        if bytes.len() < to {
            bytes.resize(to, 0);
        }
        bytes[from..to].fill(GIVEN);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Short runs and long ones, few and many, before the end of the file and beyond it.
    #[test]
    fn runs_change_their_own_bytes_alone(
        len in 0usize..200_000,
        at in 0usize..150_000,
        runs in proptest::collection::vec((1usize..600, 1usize..600), 1..900),
        short in any::<bool>(),
    ) {
        let mut place = 0;
        let most = if short { 40 } else { 600 };
        let runs: Vec<_> = runs.into_iter().map(|(gap, run)| {
            let (gap, run) = (1 + gap % most, 1 + run % most);
            place += gap + run;
            (place - run, run)
        }).collect();
        let path = Path::new("runs");
        let (there, wanted) = (written(&path, len, at, &runs), expected(len, at, &runs));
        prop_assert_eq!(there.len(), wanted.len());
        prop_assert!(there == wanted);
    }
}

/// What another opening writes beside short runs, while they are written, stays.
#[test]
fn bytes_between_short_runs_are_others() {
    const RUNS: usize = 2000;
    let path = Path::new("others");
    std::fs::write(&path.0, vec![0; 16 * RUNS]).unwrap();
    let blocking = Blocking::vouch();
    let how = How { write: true, ..How::default() };
    let open = || Posix::open(&path.0, how, &blocking).unwrap();
    let (one, other) = (open(), open());
    std::thread::scope(|scope| {
        for (file, from) in [(one, 0), (other, 8)] {
            scope.spawn(move || {
                let mut cover = Cover::default();
                for round in 1..=50u8 {
                    cover.clear(16 * RUNS);
                    (0..RUNS).for_each(|run| cover.mark(16 * run + from, 8));
                    let blocking = Blocking::vouch();
                    file.calls(&blocking).write_covered(&[round; 16 * RUNS], &cover, 0).unwrap();
                }
            });
        }
    });
    assert!(std::fs::read(&path.0).unwrap().iter().all(|&byte| byte == 50));
}
