//! How a process names a rank that it has lost, in the message with which it ends the job, and one whose host it suspects.
//! Its launcher looks for what happened to that rank before it believes that the rank is lost.

use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::time::Duration;

use mem::hex;

use crate::protocol::SUSPECT;
use crate::wire::Line;

/// What follows the rank's name.
pub const IS_LOST: &str = "is lost";

/// The rank of this job that a line of such a message names.
pub fn rank(line: &str) -> Option<u32> {
    let (rank, rest) = line.strip_prefix("rank ")?.split_once(' ')?;
    rest.starts_with(IS_LOST).then(|| rank.parse().ok()).flatten()
}

/// What such a message says of a connection that the other process, or the kernel at that one's end, has closed.
const CLOSED: [&str; 3] = ["it closed the connection", "Connection reset by peer", "Broken pipe"];

/// Whether the end of the lost rank explains what such a message says. It does not explain that a host is silent.
pub fn is_closed(message: &str) -> bool {
    CLOSED.iter().any(|words| message.contains(words))
}

/// Addresses of a suspicion at most.
const MOST: usize = 16;
/// Bytes of a greeting at most.
const GREETING: usize = 256;

/// A rank whose host does not answer another rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suspicion {
    /// The rank.
    pub rank: u32,
    /// For so long its host has owed an answer.
    pub silent: Duration,
    /// The network may be silent for so long at least.
    pub patience: Duration,
    /// Where the rank listens.
    pub places: Vec<SocketAddr>,
    /// What a process that calls there sends before it closes the connection: the rank takes it for no stranger's.
    pub greeting: Vec<u8>,
}

impl Suspicion {
    fn encode(&self) -> String {
        let places: Vec<String> = self.places.iter().take(MOST).map(SocketAddr::to_string).collect();
        let Suspicion { rank, silent, patience, greeting, .. } = self;
        let (silent, patience, places) = (silent.as_millis(), patience.as_millis(), places.join(","));
        let greeting = hex::text(greeting);
        format!(
            "cmd={SUSPECT} rank={rank} silent={silent} patience={patience} places={places} greeting={greeting}\n"
        )
    }

    /// What a rank has sent.
    pub(crate) fn parse(line: Line<'_>) -> Option<Suspicion> {
        let time = |key| Some(Duration::from_millis(line.number::<u32>(key)?.into()));
        let places = line.get("places")?.split(',').take(MOST).map(|place| place.parse().ok());
        Some(Suspicion {
            rank: line.number("rank")?,
            silent: time("silent")?,
            patience: time("patience")?,
            places: places.collect::<Option<_>>()?,
            greeting: hex::bytes(line.get("greeting").filter(|text| text.len() <= 2 * GREETING)?)?,
        })
    }
}

/// The way of suspicions to a launcher of our own.
#[derive(Debug)]
pub struct Suspicions {
    /// Its connection, which stays open as long as the process lives.
    pub(crate) launcher: RawFd,
}

impl Suspicions {
    /// Reports to the launcher, unless it is too busy to take that now.
    pub fn tell(&self, suspicion: &Suspicion) {
        let line = suspicion.encode();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the bytes are readable for their length. A Unix socket takes a line shorter than a page whole or not at
        // all.
        let _ = unsafe { libc::send(self.launcher, line.as_ptr().cast(), line.len(), flags) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspicion_is_read_as_it_was_written() {
        let suspicion = Suspicion {
            rank: 7,
            silent: Duration::from_millis(1200),
            patience: Duration::ZERO,
            places: vec!["10.0.0.1:4711".parse().unwrap(), "[fd00::1]:80".parse().unwrap()],
            greeting: vec![0, 0x5a, 0xff],
        };
        let text = suspicion.encode();
        assert_eq!(Suspicion::parse(Line::new(text.trim_end().as_bytes()).unwrap()), Some(suspicion));
        for wrong in [
            "rank=7 silent=1 patience=2 places= greeting=",
            "rank=7 silent=1 patience=2 places=10.0.0.1 greeting=",
            "rank=-1 silent=1 patience=2 places=10.0.0.1:9 greeting=",
            "rank=7 silent=1 patience=2 places=10.0.0.1:9",
            "rank=7 silent=1 patience=2 places=10.0.0.1:9 greeting=5",
            "rank=7 silent=1 patience=2 places=10.0.0.1:9 greeting=+5",
            "rank=7 silent=1",
        ] {
            let line = format!("cmd={SUSPECT} {wrong}");
            assert_eq!(Suspicion::parse(Line::new(line.as_bytes()).unwrap()), None, "{wrong}");
        }
    }

    #[test]
    fn the_rank_is_read_as_it_was_written() {
        assert_eq!(rank(&format!("rank 17 {IS_LOST}: messages do not arrive")), Some(17));
        for other in ["rank 3 of the job 77 is lost", "rank x is lost", "MPI_Send failed", "rank 3"] {
            assert_eq!(rank(other), None, "{other}");
        }
    }
}
