//! What the launcher prints about a failure: three lines, once per job.

use std::fmt::Write;
use std::time::Duration;

use channel::wire::{wire_enum, wire_struct};

use crate::signal;

/// Why a job fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A signal ended a rank.
    Killed(i32),
    /// A rank exited between init and finalize.
    ExitedInMpi(i32),
    /// A rank exited without MPI while others wait for it.
    ExitedBeforeInit(i32),
    /// A rank exited with a code other than 0, and no other rank is hurt.
    Exited(i32),
    /// A rank called `MPI_Abort`.
    Abort {
        /// Its code.
        code: i32,
        /// Its message.
        message: String,
    },
    /// A rank sent something that is no PMI.
    Protocol(String),
    /// The shared memory could not be had.
    Segment {
        /// Bytes needed.
        bytes: u64,
        /// Bytes that the control group's limit leaves, where there is one.
        left: Option<u64>,
        /// The system's error number.
        errno: i32,
    },
    /// The time given by `-timeout` is over.
    Timeout(Duration),
    /// The user sent mpiexec this signal.
    Signalled(i32),
    /// The launcher itself failed.
    Internal(String),
    /// A host of the job is gone, or its daemon.
    HostLost {
        /// Its name.
        host: String,
        /// Its ranks, for people.
        ranks: String,
        /// What was observed.
        seen: String,
    },
    /// A rank's host does not reach another rank's.
    Unreached {
        /// The other rank.
        rank: u32,
        /// Addresses of its host that were called.
        places: Vec<String>,
        /// Nothing has come from it for so long.
        silent: Duration,
    },
    /// Ranks wait for each other for good.
    Deadlock {
        /// How many, and of how many.
        who: String,
        /// A line for each of them, as `deadlock::text` gives it.
        lines: String,
        /// How long they have waited, at least.
        waited: Duration,
    },
    /// Output cannot be written.
    Output {
        /// The file.
        path: String,
        /// The system's error number.
        errno: i32,
    },
    /// Ranks of a host do not run: one of them, or the proxy, could not be started.
    NotStarted {
        /// What failed, with the host.
        what: String,
        /// What was observed.
        seen: String,
        /// What to do next.
        next: String,
        /// mpiexec's exit code.
        code: u8,
    },
}

/// Exit code of mpiexec for a job that is dead-locked.
const DEADLOCK: u8 = 125;

impl Failure {
    /// Exit code of mpiexec for this failure.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Killed(signal) | Failure::Signalled(signal) => 128u8.wrapping_add(*signal as u8),
            Failure::ExitedInMpi(code) | Failure::ExitedBeforeInit(code) | Failure::Exited(code) => {
                pmi::exit_status(*code) as u8
            }
            Failure::Abort { code, .. } => pmi::exit_status(*code) as u8,
            Failure::Timeout(_) => 124,
            Failure::Deadlock { .. } => DEADLOCK,
            Failure::NotStarted { code, .. } => *code,
            Failure::Output { errno: libc::EPIPE, .. } => 128 + libc::SIGPIPE as u8,
            Failure::Protocol(_)
            | Failure::Segment { .. }
            | Failure::Internal(_)
            | Failure::HostLost { .. }
            | Failure::Unreached { .. }
            | Failure::Output { .. } => 1,
        }
    }
}

/// The rank that failed.
#[derive(Clone, Debug)]
pub struct Culprit {
    pub rank: usize,
    /// Ranks that failed in the same way at the same time.
    pub also: Vec<usize>,
    pub pid: i32,
    pub host: String,
    pub program: String,
    /// Where the call is that has failed: `, at solver.c:42 (step)`. Empty where that is not known.
    pub place: String,
}

impl Culprit {
    /// Whether `rank` is the one, or failed in the same way.
    pub fn includes(&self, rank: usize) -> bool {
        self.rank == rank || self.also.contains(&rank)
    }

    fn describe(&self) -> String {
        let Culprit { rank, also, pid, host, program, .. } = self;
        if also.is_empty() {
            return format!("rank {rank} (pid {pid}, {program} on {host})");
        }
        let mut ranks: Vec<usize> = also.iter().chain([rank]).copied().collect();
        ranks.sort_unstable();
        format!("{} (rank {rank}: pid {pid}, {program} on {host})", ranks_in_words(&ranks))
    }
}

/// Ascending ranks for people: `ranks 0 to 3, 7`.
pub fn ranks_in_words(ranks: &[usize]) -> String {
    let runs = ranks.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [first, second] => format!("{first}, {second}"),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    });
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", runs.collect::<Vec<_>>().join(", "))
}

/// The rank that a process has lost, where that is why it called `MPI_Abort` with this message.
fn blamed(message: &str) -> Option<usize> {
    let line = message.lines().next()?;
    pmi::lost::rank(line.strip_prefix("alhena: ")?).map(|rank| rank as usize)
}

/// The rank that has been lost, where that is what failed.
pub fn lost(failure: &Failure) -> Option<usize> {
    match failure {
        Failure::Abort { message, .. } => blamed(message),
        Failure::Unreached { rank, .. } => Some(*rank as usize),
        _ => None,
    }
}

/// The rank that has been lost, where its end explains that.
pub fn lost_by_end(failure: &Failure) -> Option<usize> {
    match failure {
        Failure::Abort { message, .. } if pmi::lost::is_closed(message) => blamed(message),
        _ => None,
    }
}

/// Whether two failures are the same but for the rank: the same error of the same call, addresses apart.
pub fn is_same(one: &Failure, other: &Failure) -> bool {
    match (one, other) {
        (Failure::Abort { code: a, message: x }, Failure::Abort { code: b, message: y }) => {
            a == b && without_addresses(x).eq(without_addresses(y))
        }
        _ => one == other,
    }
}

/// The parts of a message around its hexadecimal numbers.
fn without_addresses(message: &str) -> impl Iterator<Item = &str> {
    let after = |part: &'_ str| part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
    message
        .split("0x")
        .enumerate()
        .map(move |(index, part)| if index == 0 { part } else { &part[after(part)..] })
}

/// The message about `failure`. `others` is the number of ranks that are ended because of it.
pub fn message(failure: &Failure, culprit: Option<&Culprit>, others: usize, cause: Option<&str>) -> String {
    let who = match failure {
        Failure::NotStarted { .. } => String::new(),
        Failure::Deadlock { who, .. } => who.clone(),
        _ => culprit.map_or_else(|| "the job".to_owned(), Culprit::describe),
    };
    let (what, seen, next) = describe(failure);
    let blank = if who.is_empty() || what.starts_with(':') { "" } else { " " };
    let place = match (failure, culprit) {
        (Failure::Abort { .. }, Some(culprit)) => culprit.place.as_str(),
        _ => "",
    };
    let mut text = format!("mpiexec: {who}{blank}{what}{place}\n  seen: {seen}");
    if let Some(cause) = cause {
        let _ = write!(text, "; likely cause: {cause}");
    }
    let _ = match (others, culprit) {
        (0, _) => Ok(()),
        (1, Some(_)) => write!(text, "; the other rank was ended"),
        (_, Some(_)) => write!(text, "; the other {others} ranks were ended"),
        (_, None) => write!(text, "; {others} ranks were ended"),
    };
    let _ = writeln!(text, "\n  next: {next}");
    text
}

fn describe(failure: &Failure) -> (String, String, String) {
    match failure {
        Failure::Killed(signal) => {
            let name = signal::name(*signal);
            (
                format!("was killed by signal {signal} ({name})"),
                signal::meaning(*signal).to_owned(),
                signal::advice(*signal).to_owned(),
            )
        }
        Failure::ExitedInMpi(code) => (
            format!("exited with code {code} between MPI_Init and MPI_Finalize"),
            "its process ended while the other ranks count on it".to_owned(),
            "have every rank call MPI_Finalize before it exits, or MPI_Abort on an error".to_owned(),
        ),
        Failure::ExitedBeforeInit(code) => (
            format!("exited with code {code} without calling MPI_Init"),
            "other ranks wait for it in MPI_Init or a barrier of the launcher".to_owned(),
            "run `ldd` on the program: all ranks need the same MPI library, and all must call MPI_Init"
                .to_owned(),
        ),
        Failure::Exited(code) => (
            format!("exited with code {code}"),
            match signal::behind_code(*code) {
                Some(signal) => format!(
                    "a shell gives that code where signal {signal} ({}) ended its program: {}",
                    signal::name(signal),
                    signal::meaning(signal)
                ),
                None => "no rank depends on it any more, so the job went on".to_owned(),
            },
            signal::behind_code(*code).map_or("see the program's own messages above", signal::advice).to_owned(),
        ),
        Failure::Abort { code, message } => abort(*code, message),
        Failure::Protocol(what) => (
            "sent something that is no PMI".to_owned(),
            what.clone(),
            "run `ldd` on the program to see which MPI library it uses".to_owned(),
        ),
        Failure::Segment { bytes, left, errno } => {
            let error = std::io::Error::from_raw_os_error(*errno);
            let left = left.map_or(String::new(), |left| {
                format!(", the control group's limit leaves {} MiB", left >> 20)
            });
            let next = match *errno {
                // What stands in for the other calls of this step is never refused so.
                libc::ENOSYS | libc::EPERM => {
                    "allow the system call memfd_create (Linux 3.17 and later have it) in the container's seccomp \
                     profile: docker run --security-opt seccomp=PROFILE"
                }
                libc::EMFILE | libc::ENFILE => "raise the limit of open files (`ulimit -n`)",
                libc::EFBIG => {
                    "raise the limit of file sizes, which holds for shared memory, too (`ulimit -f unlimited`)"
                }
                _ => {
                    "start fewer ranks, or give the container or cgroup more memory (docker run --memory=…, \
                     Slurm --mem=…)"
                }
            };
            (
                "has no shared memory".to_owned(),
                format!(
                    "{error}; {} MiB are needed for the ranks of this node{left}",
                    bytes.div_ceil(1 << 20)
                ),
                next.to_owned(),
            )
        }
        Failure::Timeout(time) => (
            format!("ran longer than {} s", time.as_secs_f64()),
            "the limit given by -timeout or MPIEXEC_TIMEOUT".to_owned(),
            "raise the limit, or find out where the ranks wait with -get-stack-traces".to_owned(),
        ),
        Failure::Signalled(signal) => (
            format!("was ended by {}", signal::name(*signal)),
            "mpiexec received that signal and passed it on".to_owned(),
            "start the job again".to_owned(),
        ),
        Failure::Internal(what) => (
            "cannot be watched any more".to_owned(),
            what.clone(),
            "see `ulimit -a`, then start the job again with -v".to_owned(),
        ),
        Failure::HostLost { host, ranks, seen } => (
            format!("lost its host {host} with {ranks}"),
            seen.clone(),
            format!(
                "see whether {host} and the network to it are up, and who may have killed mpiexec -daemon there"
            ),
        ),
        Failure::Unreached { rank, places, silent } => (
            format!("does not reach rank {rank}"),
            format!(
                "no answer of its host for {:.1} s; calls to {} get none",
                silent.as_secs_f64(),
                places.join(", ")
            ),
            format!(
                "see `ping {}` there, and what filters packets between the two hosts",
                places.first().map_or("", String::as_str)
            ),
        ),
        Failure::Deadlock { lines, waited, .. } => (
            format!("wait for each other for good\n{}", lines.trim_end()),
            format!("none of them can go on, whatever the other ranks do; they have waited for {} s", waited.as_secs()),
            "have one of them send, or call, what the other waits for first; `mpiexec -deadlock report` lets the job go on"
                .to_owned(),
        ),
        Failure::NotStarted { what, seen, next, .. } => (what.clone(), seen.clone(), next.clone()),
        Failure::Output { path, errno } => (
            format!("lost output: writing to {path} failed"),
            std::io::Error::from_raw_os_error(*errno).to_string(),
            match *errno {
                libc::EPIPE => {
                    "nothing, if the reader (head, less) was meant to stop; see why it ended otherwise"
                }
                libc::EBADF => "start mpiexec with that output open; `>/dev/null` drops it on purpose",
                libc::EFBIG => "raise `ulimit -f`",
                _ => "make room there (`df`, `quota`), or write to another file",
            }
            .to_owned(),
        ),
    }
}

/// The lines of a failed call, which the library gives in threes, or what an `MPI_Abort` of the program left.
fn abort(code: i32, message: &str) -> (String, String, String) {
    let lines: Vec<&str> =
        message.lines().map(|line| line.strip_prefix("alhena: ").unwrap_or(line)).collect();
    match lines[..] {
        [what, seen, next] if seen.starts_with("seen: ") => {
            (format!(": {what}"), seen["seen: ".len()..].to_owned(), next.to_owned())
        }
        _ => (
            format!("called MPI_Abort with code {code}"),
            if message.is_empty() { "no message was given".to_owned() } else { lines.join(" ") },
            "see the program's own messages above".to_owned(),
        ),
    }
}

wire_enum! { Failure {
    0 Killed(signal), 1 ExitedInMpi(code), 2 ExitedBeforeInit(code), 3 Exited(code), 4 Abort { code, message },
    5 Protocol(text), 6 Segment { bytes, left, errno }, 7 Timeout(time), 8 Signalled(signal), 9 Internal(text),
    10 HostLost { host, ranks, seen }, 11 Output { path, errno },
    12 NotStarted { what, seen, next, code }, 13 Unreached { rank, places, silent },
    14 Deadlock { who, lines, waited },
} }

wire_struct! { Culprit { rank, also, pid, host, program, place } }

#[cfg(test)]
mod tests {
    use super::*;

    fn culprit() -> Culprit {
        Culprit {
            rank: 3,
            also: vec![],
            pid: 77,
            host: "node7".to_owned(),
            program: "./a.out".to_owned(),
            place: String::new(),
        }
    }

    fn failed_call(buffer: &str) -> Failure {
        let message =
            format!("alhena: MPI_Send(buf={buffer}, dest=77) failed: bad\nalhena: seen: x\nalhena: mend it");
        Failure::Abort { code: 6, message }
    }

    #[test]
    fn ranks_that_fail_in_the_same_call_are_named_together() {
        let failure = failed_call("0x7ffe10ab");
        assert!(is_same(&failure, &failed_call("0x7ffdcafe")));
        assert!(!is_same(&failure, &failed_call("NULL")));
        let culprit =
            Culprit { also: vec![0, 1, 2, 7], host: "a".to_owned(), program: "./p".to_owned(), ..culprit() };
        assert_eq!(
            message(&failure, Some(&culprit), 0, None),
            "mpiexec: ranks 0 to 3, 7 (rank 3: pid 77, ./p on a): MPI_Send(buf=0x7ffe10ab, dest=77) failed: bad\n  \
             seen: x\n  next: mend it\n"
        );
    }

    #[test]
    fn every_message_has_three_lines() {
        for failure in [
            Failure::Killed(9),
            Failure::ExitedInMpi(0),
            Failure::ExitedBeforeInit(1),
            Failure::Exited(4),
            Failure::Abort { code: 3, message: String::new() },
            Failure::Protocol("x".to_owned()),
            Failure::Segment { bytes: 1 << 30, left: Some(5), errno: 12 },
            Failure::Timeout(Duration::from_secs(3)),
            Failure::Signalled(15),
            Failure::Internal("x".to_owned()),
            Failure::HostLost {
                host: "b".to_owned(),
                ranks: "ranks 2 to 3".to_owned(),
                seen: "x".to_owned(),
            },
            Failure::Output { path: "standard output".to_owned(), errno: 28 },
            Failure::NotStarted {
                what: "starting rank 1".to_owned(),
                seen: "x".to_owned(),
                next: "y".to_owned(),
                code: 126,
            },
        ] {
            let text = message(&failure, Some(&culprit()), 3, Some("cosmic rays"));
            assert_eq!(text.lines().count(), 3, "{text}");
            assert_ne!(failure.code(), 0, "{failure:?}");
        }
    }

    #[test]
    fn the_message_names_rank_host_and_signal() {
        let text = message(&Failure::Killed(9), Some(&culprit()), 1, Some("out of memory"));
        for part in ["rank 3", "node7", "SIGKILL", "out of memory", "./a.out"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
