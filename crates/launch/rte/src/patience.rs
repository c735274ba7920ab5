//! How long a job that the user wants ended waits for the readers of its output.
//!
//! Otherwise mpiexec waits without end: a pager reads when its user does. After SIGINT, SIGTERM or SIGHUP a reader that
//! takes something has time, and one that has stopped loses the rest.

use std::time::{Duration, Instant};

use crate::console::Writer;
use crate::console::name_of;

/// A console whose reader takes nothing for this long is given up.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is known of the readers.
#[derive(Default)]
pub(crate) struct Patience {
    /// The signal by which the user ends the job.
    signal: Option<i32>,
    /// Of each console that has something to write: what its reader had taken, and when it is given up.
    waits: Vec<Option<(u64, Instant)>>,
}

impl Patience {
    /// The user ends the job.
    pub fn is_over_soon(&mut self, signal: i32) {
        self.signal.get_or_insert(signal);
    }

    /// When to look next.
    pub fn deadline(&self) -> Option<Instant> {
        self.waits.iter().flatten().map(|(_, until)| *until).min()
    }

    /// Looks after console number `which`; what is to be printed once it is given up.
    pub fn look(&mut self, which: usize, writer: &mut Writer, now: Instant) -> Option<String> {
        let signal = self.signal?;
        if self.waits.len() <= which {
            self.waits.resize(which + 1, None);
        }
        let wait = &mut self.waits[which];
        match *wait {
            _ if !writer.is_pending() => *wait = None,
            Some((taken, until)) if taken == writer.taken() => {
                if until <= now {
                    *wait = None;
                    return Some(message(&name_of(which, writer), signal, writer.give_up()));
                }
            }
            _ => *wait = Some((writer.taken(), now + PATIENCE)),
        }
        None
    }
}

fn message(name: &str, signal: i32, bytes: usize) -> String {
    format!(
        "mpiexec: lost output: the reader of {name} takes nothing\n  seen: after {} {bytes} bytes have waited for it \
         for {} s\n  next: see why it has stopped; a terminal goes on after ^Q\n",
        inquest::signal::name(signal),
        PATIENCE.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::os::fd::AsFd;

    #[test]
    fn a_reader_that_takes_something_has_time_and_one_that_has_stopped_has_not() {
        let (reader, end) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let mut writer = Writer::new(end.as_fd()).unwrap();
        writer.put(0, |out| out.resize(1 << 20, b'x'));
        writer.flush();
        let (mut patience, now) = (Patience::default(), Instant::now());
        assert_eq!(patience.look(0, &mut writer, now + 9 * PATIENCE), None);
        patience.is_over_soon(15);
        assert_eq!(patience.look(0, &mut writer, now), None);
        assert_eq!(patience.deadline(), Some(now + PATIENCE));
        rustix::io::read(&reader, &mut [0; 8192]).unwrap();
        writer.flush();
        assert_eq!(patience.look(0, &mut writer, now + PATIENCE), None);
        let said = patience.look(0, &mut writer, now + 2 * PATIENCE).unwrap();
        assert!(said.contains("SIGTERM") && said.lines().count() == 3, "{said}");
        writer.put(0, |out| out.push(b'x'));
        assert!(!writer.is_pending() && !writer.is_broken());
        assert_eq!(patience.deadline(), None);
    }
}
