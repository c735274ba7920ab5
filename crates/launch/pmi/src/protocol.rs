//! The one answer that brings a rank into its job: everything `MPI_Init` must know, in one round trip.
//!
//! ```text
//!   rank                                     proxy (PMI server of the node)
//!    │  cmd=alhena_hello protocol=1 …  ───────►  notes the sender's pid (SCM_CREDENTIALS)
//!    │                                           … until every local rank has sent its hello
//!    │  ◄─────── cmd=alhena_job rc=0 bytes=N, N bytes of body; the node's memfd and the
//!    │           observation memory (SCM_RIGHTS), as far as the body names them
//! ```
//!
//! The body is text, one `key=value` per line, values escaped as everywhere on this wire.

use crate::mapping;
use crate::wire::{escape, unescape};

/// Version of this exchange; both sides name it and refuse another.
pub(crate) const PROTOCOL: u32 = 1;
/// The rank's message.
pub const HELLO: &str = "alhena_hello";
/// The launcher's answer.
pub(crate) const JOB: &str = "alhena_job";
/// MPI was finalized (`active=0`) or initialized again (`active=1`). Not answered.
pub(crate) const STATE: &str = "alhena_state";
/// What a rank puts for the others: `key=… value=…`. Not answered.
pub const PUT: &str = "alhena_put";
/// A rank waits until all others have come here, too.
pub(crate) const FENCE: &str = "alhena_fence";
/// The answer to [`FENCE`]: `bytes=N`, and unless that is 0 a memory file with the table ([`crate::wireup`]) of what all ranks
/// have put since the last one.
pub const TABLE: &str = "alhena_table";
/// Which transport carries messages to which ranks (`text=`), for `mpiexec -report`. Not answered.
pub const REPORT: &str = "alhena_report";
/// The host of a rank does not answer: `rank=`, `silent=` and `patience=` in milliseconds, `places=` with addresses between
/// commas. Not answered; repeated as long as it is so.
pub(crate) const SUSPECT: &str = "alhena_suspect";
/// A rank does not reach another one any more, which has not said goodbye: `rank=`. Not answered. In a job that goes on without ranks that
/// fail, the launcher ends that one.
pub(crate) const ACCUSE: &str = "alhena_accuse";
/// A process has failed: `rank=` of the job, or of another one, `job=`, that is connected with it; without `rank=` all of that one. From the
/// launcher, at any time, in a job that goes on then.
pub const FAILED: &str = "alhena_failed";
/// Another job is to be started: the socket by which its mpiexec gets the order comes along ([`crate::launch`]). Not answered.
pub(crate) const LAUNCH: &str = "alhena_launch";
/// Environment variable of the native connection: `descriptor:inode:socket`. The inode distinguishes a connection that
/// was handed down by mpiexec from an unrelated descriptor that happens to have the same number. The socket is the
/// proxy's, for a program that has not inherited the connection ([`crate::socket`]).
pub const VARIABLE: &str = "ALHENA_PMI";
/// Longest body that is accepted, in bytes: enough for some millions of ranks.
pub(crate) const MAX_BODY: usize = 64 << 20;

/// The body of the answer. Same for all ranks of a node, but for `app_num` and `info`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRecord {
    /// Random number of the job.
    pub job_id: u64,
    /// Node index of each rank; its length is the size of `MPI_COMM_WORLD`.
    pub node_of: Vec<u32>,
    /// Process ids of the ranks of the receiver's node, in rank order, vouched for by the kernel.
    pub local_pids: Vec<i32>,
    /// The proxy: subreaper and ancestor of the ranks of this node.
    pub proxy_pid: Option<i32>,
    /// Size in bytes of the shared memory whose descriptor comes with the message.
    pub segment_bytes: Option<u64>,
    /// Size in bytes of the observation memory, whose descriptor comes after that one.
    pub observation_bytes: Option<u64>,
    /// `MPI_APPNUM`: index of the program in an MPMD job.
    pub app_num: i32,
    /// `MPI_UNIVERSE_SIZE`, where one was given.
    pub universe_size: Option<u32>,
    /// More ranks on this node than processors it may use.
    pub oversubscribed: bool,
    /// Where the parents wait, of a job that was spawned.
    pub parent: Option<String>,
    /// Entries of `MPI_INFO_ENV` (MPI-5.0 section 11.2.1): command, argv, maxprocs, host, wdir, …
    pub info: Vec<(String, String)>,
}

impl JobRecord {
    /// The body as text.
    pub fn encode(&self) -> String {
        use std::fmt::Write;
        let pids: Vec<String> = self.local_pids.iter().map(i32::to_string).collect();
        let mut text = format!(
            "job={:016x}\nsize={}\nmapping={}\npids={}\napp={}\noversubscribed={}\n",
            self.job_id,
            self.node_of.len(),
            mapping::format(&self.node_of),
            pids.join(","),
            self.app_num,
            u8::from(self.oversubscribed)
        );
        let mut optional = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = writeln!(text, "{key}={value}");
            }
        };
        optional("proxy", self.proxy_pid.map(|p| p.to_string()));
        optional("segment", self.segment_bytes.map(|b| b.to_string()));
        optional("observation", self.observation_bytes.map(|b| b.to_string()));
        optional("parent", self.parent.as_deref().map(|port| escape(port).into_owned()));
        optional("universe", self.universe_size.map(|u| u.to_string()));
        for (key, value) in &self.info {
            let _ = writeln!(text, "info={} {}", escape(key), escape(value));
        }
        text
    }

    /// Reads a body. `None` where a field is missing or makes no sense.
    pub fn parse(text: &str) -> Option<JobRecord> {
        let mut record = JobRecord::default();
        let (mut size, mut mapping_text) = (0, "");
        for line in text.lines() {
            let (key, value) = line.split_once('=')?;
            match key {
                "job" => record.job_id = u64::from_str_radix(value, 16).ok()?,
                "size" => size = value.parse().ok()?,
                "mapping" => mapping_text = value,
                "pids" => record.local_pids = value.split(',').map(parse_pid).collect::<Option<_>>()?,
                "app" => record.app_num = value.parse().ok()?,
                "oversubscribed" => record.oversubscribed = value == "1",
                "proxy" => record.proxy_pid = Some(parse_pid(value)?),
                "segment" => record.segment_bytes = Some(value.parse().ok()?),
                "observation" => record.observation_bytes = Some(value.parse().ok()?),
                "parent" => record.parent = Some(unescape(value).into_owned()),
                "universe" => record.universe_size = Some(value.parse().ok()?),
                "info" => {
                    let (name, value) = value.split_once(' ')?;
                    record.info.push((unescape(name).into_owned(), unescape(value).into_owned()));
                }
                _ => {}
            }
        }
        record.node_of = mapping::parse(mapping_text, size)?;
        Some(record)
    }
}

fn parse_pid(text: &str) -> Option<i32> {
    text.parse().ok().filter(|&pid| pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_record() -> impl Strategy<Value = JobRecord> {
        let numbers =
            (any::<u64>(), any::<i32>(), any::<[Option<u64>; 2]>(), any::<Option<u32>>(), any::<bool>());
        let lists = (
            proptest::collection::vec(0u32..3, 1..20),
            proptest::collection::vec(1i32.., 1..20),
            proptest::collection::vec((any::<String>(), any::<String>()), 0..4),
        );
        (numbers, lists).prop_map(
            |((job_id, app_num, [segment_bytes, observation_bytes], universe_size, flag), lists)| JobRecord {
                job_id,
                node_of: lists.0,
                local_pids: lists.1,
                proxy_pid: flag.then_some(7),
                segment_bytes,
                observation_bytes,
                app_num,
                universe_size,
                oversubscribed: flag,
                parent: flag.then(|| "a port = b".to_owned()),
                info: lists.2,
            },
        )
    }

    proptest! {
        #[test]
        fn bodies_round_trip(record in any_record()) {
            let text = record.encode();
            prop_assert_eq!(JobRecord::parse(&text), Some(record));
        }

        #[test]
        fn no_body_panics(text in "((job|size|mapping|pids|proxy|segment|info)=[-(),a-z0-9 ]{0,12}\n){0,6}") {
            let _ = JobRecord::parse(&text);
        }
    }
}
