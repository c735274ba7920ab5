//! What one sees of a campaign while it runs: a bar on a terminal, a line for each operation into a pipe.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::campaign::Subject;

/// How far a campaign is.
pub struct Progress {
    bar: ProgressBar,
    is_shown: bool,
    began: Instant,
    begun: usize,
    subjects: usize,
    /// Steps of one subject.
    steps: usize,
}

impl Progress {
    /// Of so many subjects, each in so many steps.
    pub fn new(subjects: usize, steps: usize) -> Self {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {eta} left  {wide_msg}");
        let bar = ProgressBar::new((subjects * steps) as u64);
        Self {
            bar: bar.with_style(style.expect("the template is well-formed")),
            is_shown: stderr().is_terminal(),
            began: Instant::now(),
            begun: 0,
            subjects,
            steps,
        }
    }

    /// The next subject begins.
    pub fn begin(&mut self, subject: &Subject) {
        if !self.is_shown {
            let left = left(self.began.elapsed(), self.begun, self.subjects);
            let (number, of) = (self.begun + 1, self.subjects);
            eprintln!("{number} of {of}: {} on {} ranks{left}", subject.mode.name, subject.ranks);
        }
        self.bar.set_position((self.begun * self.steps) as u64);
        self.begun += 1;
    }

    /// What runs now.
    pub fn show(&self, what: &str) {
        self.bar.set_message(what.to_string());
    }

    /// One step more is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// All is done.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// The time that is left if each subject takes as long as those before, as the end of a line.
fn left(elapsed: Duration, done: usize, of: usize) -> String {
    match u32::try_from(done) {
        Ok(done @ 1..) => {
            let seconds = (elapsed / done).as_secs_f64() * (of - done as usize) as f64;
            format!(", about {:.0} min left", (seconds / 60.0).ceil())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_subjects_before() {
        assert_eq!(left(Duration::from_secs(1), 0, 5), "");
        assert_eq!(left(Duration::from_secs(60), 2, 5), ", about 2 min left");
    }
}
