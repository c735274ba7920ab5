//! What mpiexec and the daemons of a job on several hosts send each other, once they are connected.
//!
//! ```text
//!   daemon                                       mpiexec
//!    │ ── Ready, or Refused ─────────────────────►  until all are ready
//!    │ ◄─ Start ─────────────────────────────────
//!    │ ── Started(processes) ─────────────────────►  the ranks of the host run
//!    │ ── Hello ─────────────────────────────────►  a rank has called MPI_Init, in each program
//!    │ ── Fence(new keys, record) ───────────────►  until all hosts are there
//!    │ ◄─ Fence(keys of all hosts, table) ───────
//!    │ ── Output … ◄─ OutputTaken                   bounded by credit, as is standard input the other way
//!    │ ── Failure ───────────────────────────────►  may follow from one that another host knows of
//!    │ ◄─ Settle ────────────────────────────────   to all hosts
//!    │ ── Failure …, Settled ────────────────────►  until all have answered; the first one is printed
//!    │ ── Ask ───────────────────────────────────►  a tool wants to see the ranks of all hosts
//!    │ ◄─ Ask, ── Answer ────────────────────────►  to the other hosts
//!    │ ◄─ Answers ───────────────────────────────  all have answered, or have had their time
//!    │ ◄─ End ───────────────────────────────────  to all hosts
//!    │ ── Ended … Tables … Finished ─────────────►  every rank, what they left for tools, then the host
//! ```

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use inquest::{Culprit, Failure, Status};
use placement::Placement;

use crate::HostName;
use crate::deadlocks::WaitSite;
use crate::far_failure::FarFailure;
use crate::spec::{App, Environment, Inherit, Output, Stdin, Verbosity};
use crate::wire::{Bytes, wire_enum, wire_struct};

/// Keys and values of the key space.
pub(crate) type Pairs = Vec<(String, String)>;

/// From a daemon.
#[derive(Debug)]
pub(crate) enum Up {
    /// All that the ranks need was found on this host.
    Ready,
    /// Something was not: mpiexec's exit code and the three lines.
    Refused(u8, String),
    /// The ranks of this host were started: their processes.
    Started(Vec<(u32, i32)>),
    /// The first rank of this host has called `MPI_Init` in the how many-th MPI program in its place, from 1 on.
    Hello(u32),
    /// All ranks of this host are in a barrier of the key space, and have put these keys since the last one,
    /// and this record (`pmi::wireup`).
    Fence(Pairs, Bytes),
    /// A rank asks the name service.
    Name(u32, String),
    /// Bytes for mpiexec's standard output (0) or error (1), of this stream.
    Output(u8, u32, Bytes),
    /// Text of the daemon for standard error.
    Note(String),
    /// So many bytes of standard input were passed on.
    StdinTaken(u32),
    /// No rank of the host reads standard input any more.
    StdinUnwanted,
    /// Something that may end the job.
    Failure(Box<Report>),
    /// A rank is over, and so many MPI programs have run in its place.
    Ended(u32, Status, u32),
    /// A rank of this host has failed, and the job goes on.
    RankFailed(u32),
    /// A process of a job that is connected with this one has failed.
    FailedAbroad(FarFailure),
    /// The first rank, of this host, does not reach the second one any more.
    Accused(u32, u32),
    /// The call stacks that were asked for were sent.
    Traced,
    /// All that had happened to the ranks of this host when it was asked is reported.
    Settled,
    /// Bytes that a rank has left in the how many-th memory of tools, from this place in its part on. Zeros are left out.
    Tables(u32, u32, u64, Bytes),
    /// A rank has waited for that long, after which a wait counts for dead-locks; whether one ends the job.
    LongWait(Duration, bool),
    /// What each rank of this host did when [`Down::Look`] of that number came.
    Seen(u32, Vec<(u32, deadlock::Rank)>),
    /// Where the ranks of [`Down::NameWaits`] wait.
    WaitSites(Vec<WaitSite>),
    /// A tool, in that place of the proxy's and by this number of its own, asks all other hosts (`live::Question`), which have so much
    /// time.
    Ask(u32, u64, Duration, String),
    /// The answer to [`Down::Ask`] of this number: why there is none, or the page.
    Answer(u32, Option<String>, Bytes),
    /// All ranks of this host are over, and nothing of them is left. The daemon's own exit code, if it has one.
    Finished(Option<u8>),
}

/// To a daemon.
#[derive(Debug)]
pub(crate) enum Down {
    /// Number of the host and what is to be done, for a daemon that has not read it from standard input.
    Order(u32, Box<Order>),
    /// Start the ranks.
    Start,
    /// All hosts have come to the barrier; these are the keys of all of them, and the table of their records (crate
    /// `pmi::wireup`), empty where none holds anything.
    Fence(Pairs, Bytes),
    /// What the name service answers a rank.
    Reply(u32, String),
    /// So many bytes of output were written.
    OutputTaken(u32),
    /// Standard output (0) or error (1) takes nothing any more.
    OutputBroken(u8),
    /// Standard input.
    Stdin(Bytes),
    /// The end of standard input.
    StdinEnd,
    /// mpiexec got this signal.
    Signal(i32),
    /// The terminal has a new size: rows and columns.
    Window(u16, u16),
    /// End all ranks.
    End,
    /// A rank of the job has failed, and the job goes on.
    RankFailed(u32),
    /// A process of a job that is connected with this one has failed.
    FailedAbroad(FarFailure),
    /// End the second of these ranks: the first one does not reach it.
    Kill(u32, u32),
    /// Send the call stack of each rank.
    Traces,
    /// Send what each rank does.
    Look(u32),
    /// Send where these ranks wait, as far as they are of this host.
    NameWaits(Vec<u32>),
    /// A tool on another host asks this (`live::Question`), and waits for so long.
    Ask(u32, Duration, String),
    /// What the other hosts have answered to [`Up::Ask`] (`live::Answer`).
    Answers(u32, u64, Bytes),
    /// Something has failed: report all that has happened to the ranks of this host, then send [`Up::Settled`].
    Settle,
}

/// A failure as a daemon reports it.
#[derive(Debug)]
pub(crate) struct Report {
    pub failure: Failure,
    pub culprit: Option<Culprit>,
    /// What the host knows of the reason.
    pub cause: Option<String>,
    /// The job goes on all the same.
    pub goes_on: bool,
}

impl Report {
    /// A failure without a rank that is to blame. The job ends.
    pub fn of(failure: Failure) -> Report {
        Report { failure, culprit: None, cause: None, goes_on: false }
    }
}

/// The order to the daemons of a job. Same for each of them.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub job: u64,
    /// Names of the hosts.
    pub hosts: Vec<HostName>,
    /// Host of each rank, as `PMI_process_mapping`.
    pub mapping: String,
    pub apps: Vec<App>,
    /// mpiexec's working directory.
    pub directory: PathBuf,
    /// Variables of mpiexec's environment that go along.
    pub variables: Vec<(OsString, OsString)>,
    /// Memory that the ranks fill for tools: the variable that names it, and bytes of each rank.
    pub tables: Vec<(String, u64)>,
    pub universe_size: Option<u32>,
    pub placement: Placement,
    pub report_bindings: bool,
    pub output: Output,
    pub stdin: Stdin,
    pub host_silence: Duration,
    pub stack_traces: bool,
    pub stacks_on_crash: bool,
    pub cleanup: bool,
    pub survives: bool,
    /// The words that start a command on another host.
    pub launcher: Vec<String>,
    /// Where the processes that have spawned the job wait for its own.
    pub parent: Option<String>,
    pub verbosity: Verbosity,
    /// mpiexec's outputs (one where both are the same), with rows and columns where they are terminals.
    pub outputs: Vec<Option<(u16, u16)>>,
}

/// What a daemon reads from its standard input.
#[derive(Debug)]
pub(crate) struct Summons {
    /// The job's secret, as [`connect::Secret::encode`] gives it.
    pub secret: String,
    /// Where mpiexec listens: literal addresses with ports.
    pub addresses: Vec<String>,
    /// Number of the daemon's host.
    pub host: u32,
    pub order: Order,
}

wire_enum! { Up {
    0 Ready, 1 Refused(code, text), 2 Hello(program), 3 Fence(pairs, record), 4 Name(rank, line), 5 Output(channel, stream, bytes),
    6 Note(text), 7 StdinTaken(bytes), 8 StdinUnwanted, 9 Failure(report), 10 Ended(rank, status, programs), 11 Traced,
    12 Finished(code), 13 Settled, 14 Tables(index, rank, offset, bytes),
    15 LongWait(after, ends), 16 Seen(number, ranks), 17 WaitSites(sites), 18 RankFailed(rank), 19 Accused(by, rank),
    20 Started(processes), 21 FailedAbroad(failure), 22 Ask(tool, number, patience, words), 23 Answer(number, why, page),
} }

wire_enum! { Down {
    0 Order(host, order), 1 Start, 2 Fence(pairs, table), 3 Reply(rank, text), 4 OutputTaken(bytes), 5 OutputBroken(channel),
    6 Stdin(bytes), 7 StdinEnd, 8 Signal(number), 9 Window(rows, columns), 10 End, 11 Traces, 12 Settle,
    13 Look(number), 14 NameWaits(ranks), 15 RankFailed(rank), 16 Kill(by, rank), 17 FailedAbroad(failure),
    18 Ask(number, patience, words), 19 Answers(tool, number, answers),
} }

wire_enum! { Inherit { 0 Usual, 1 All, 2 None, 3 Only(names), } }
wire_enum! { Stdin { 0 Rank(rank), 1 All, 2 None, } }
wire_enum! { Verbosity { 0 Quiet, 1 Normal, 2 Verbose, } }

wire_struct! {
    Report { failure, culprit, cause, goes_on }
    Order {
        job, hosts, mapping, apps, directory, variables, tables, universe_size, placement, report_bindings, output, stdin,
        host_silence, stack_traces, stacks_on_crash, cleanup, survives, launcher, parent, verbosity, outputs,
    }
    Summons { secret, addresses, host, order }
    App { program, arguments, count, environment, directory, search_path, info }
    Environment { inherit, set }
    Output {
        rank_prefix, stream_prefix, prefix_pattern, timestamp, stdout_pattern, stderr_pattern, make_directories, copy, merge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{decode, encode};
    use proptest::prelude::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let failure = Failure::Abort { code: 3, message: "no luck".to_owned() };
        let culprit = Culprit {
            rank: 2,
            also: vec![3],
            pid: 7,
            host: "n1".to_owned(),
            program: "./a".to_owned(),
            place: String::new(),
        };
        let report = Report { failure: failure.clone(), culprit: Some(culprit), cause: None, goes_on: false };
        let Some(Up::Failure(read)) = decode(&encode(&Up::Failure(Box::new(report)))) else { panic!() };
        assert_eq!((read.failure, read.culprit.unwrap().rank), (failure, 2));
        let fence = Down::Fence(vec![("a".into(), "b".into())], Bytes(vec![7]));
        let Some(Down::Fence(pairs, table)) = decode(&encode(&fence)) else { panic!() };
        assert_eq!((pairs, table.0), (vec![("a".to_owned(), "b".to_owned())], vec![7]));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0u8..24) {
            let bytes: Vec<u8> = std::iter::once(kind).chain(bytes).collect();
            let _ = decode::<Up>(&bytes);
            let _ = decode::<Down>(&bytes);
            let _ = decode::<Summons>(&bytes[1..]);
        }
    }
}
