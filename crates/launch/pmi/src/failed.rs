//! How a launcher names what has failed to the processes that it informs.

use crate::protocol::FAILED;
use crate::wire::Line;

/// What has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// A rank of the job that is informed.
    Rank(u32),
    /// A process of another job.
    Process {
        /// That job's number.
        job: u64,
        /// Its rank there.
        rank: u32,
    },
    /// All processes of another job that had not left.
    Job(u64),
}

impl Failed {
    /// The line by which a rank is informed, without its end.
    pub(crate) fn line(self) -> String {
        match self {
            Failed::Rank(rank) => format!("cmd={FAILED} rank={rank}"),
            Failed::Process { job, rank } => format!("cmd={FAILED} rank={rank} job={job}"),
            Failed::Job(job) => format!("cmd={FAILED} job={job}"),
        }
    }

    /// What such a line says.
    pub(crate) fn parse(line: Line<'_>) -> Option<Failed> {
        if line.command() != FAILED {
            return None;
        }
        match (line.get("rank"), line.get("job")) {
            (Some(rank), None) => Some(Failed::Rank(rank.parse().ok()?)),
            (Some(rank), Some(job)) => {
                Some(Failed::Process { job: job.parse().ok()?, rank: rank.parse().ok()? })
            }
            (None, Some(job)) => Some(Failed::Job(job.parse().ok()?)),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_as_they_were_written() {
        let job = 1 << 63 | 5;
        for failed in [Failed::Rank(7), Failed::Process { job, rank: 7 }, Failed::Job(job)] {
            assert_eq!(Failed::parse(Line::from_text(&failed.line())), Some(failed));
        }
        for text in [FAILED, "rank=-1", "rank=1 job=x", "job="] {
            assert_eq!(Failed::parse(Line::from_text(&format!("cmd={FAILED} {text}"))), None, "{text}");
        }
        assert_eq!(Failed::parse(Line::from_text("cmd=other rank=1")), None);
    }
}
