//! What one sees while simulations run: a bar on a terminal, a line for each into a pipe.

use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use sim::{Setup, Shown, Watch};

/// Between two looks at a simulation.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs a simulation of `what` on `ranks` ranks and shows how far it is.
pub fn shown<T>(setup: &Setup, ranks: u32, what: &str, run: impl FnOnce(&Setup) -> T) -> T {
    if !stderr().is_terminal() {
        eprintln!("simulating {what} on {ranks} ranks");
        return run(setup);
    }
    let watch = Arc::new(Watch::default());
    let setup = Setup { watch: Some(Arc::clone(&watch)), ..setup.clone() };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| follow(&watch, &format!("{what} on {ranks} ranks"), &over));
        let result = run(&setup);
        over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        result
    })
}

/// Does the same with all items, as many at a time as there are processors; the results in order.
pub fn side_by_side<T: Sync, R: Send>(items: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return done };
            done.push((index, run(item)));
        }
    };
    let mut all: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    all.sort_by_key(|&(index, _)| index);
    all.into_iter().map(|(_, result)| result).collect()
}

fn follow(watch: &Watch, what: &str, over: &AtomicBool) {
    let bar = ProgressBar::new(1000);
    // The template is ours; one that does not parse would only cost the picture.
    if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.set_prefix(what.to_string());
    let begun = Instant::now();
    while !over.load(Ordering::Relaxed) {
        let Shown { ranks, made, turns, share } = watch.shown();
        if made < ranks {
            bar.set_position(u64::from(made) * 1000 / u64::from(ranks));
            bar.set_message(format!("setting up {made} of {ranks} ranks"));
        } else {
            bar.set_position((share * 1000.0) as u64);
            bar.set_message(format!("{:.0} turns/s", turns as f64 / begun.elapsed().as_secs_f64()));
        }
        thread::park_timeout(PAUSE);
    }
    bar.finish_and_clear();
}
