//! The PMI-1 server, without sockets: lines in, replies and events out. One per job and node.
//!
//! It serves our own library ([`crate::protocol`]) and every other PMI-1 client (MPICH's and its relatives):
//! both live on the same socket and share the key-value space and the barrier.

use std::collections::HashMap;

use crate::wireup::{self, Record};

use crate::failed::Failed;
use crate::lost::Suspicion;
use crate::protocol::{ACCUSE, FENCE, HELLO, JOB, LAUNCH, PROTOCOL, PUT, REPORT, STATE, SUSPECT, TABLE};
use crate::wire::{Line, MAX_KEY, MAX_KVS_NAME, MAX_VALUE, escape, unescape};

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has sent nothing: not an MPI program, or not yet.
    Silent,
    /// It has sent its hello and waits for the others.
    Waiting,
    /// Between init and finalize.
    Active,
    /// MPI is finalized.
    Finalized,
}

/// What a line means for the job, beyond its reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing.
    None,
    /// The rank sent its hello; when all have, [`Server::begin`] and [`Server::job_record`] are due.
    Hello,
    /// Another library than ours sends for this rank.
    OtherLibrary,
    /// The rank's table of transports.
    Report(String),
    /// The rank called `MPI_Abort`.
    Abort {
        /// The code it gave.
        code: i32,
        /// Its message; empty if it gave none.
        message: String,
    },
    /// All ranks of this host are in a barrier, which those of other hosts must come to as well; the keys that were put
    /// here since the last one, and the record of what our own ranks have put. Goes on with [`Server::release`].
    Fence(Vec<(String, String)>, Vec<u8>),
    /// The host of another rank does not answer this one.
    Suspect(Suspicion),
    /// The rank does not reach this one of the job any more.
    Accuse(u32),
    /// The rank wants another job started, and has sent a socket along.
    Launch,
    /// The rank asks the name service, which is another process's.
    Ask(String),
    /// The rank violates the protocol; no further line of it can be understood.
    Broken(String),
}

/// The key of the place of each rank, which the server itself puts.
const MAPPING: &str = "PMI_process_mapping";

/// State of the server.
pub struct Server {
    kvs_name: String,
    kvs: HashMap<String, String>,
    services: Services,
    /// What was put since the last barrier, where there are other hosts, whose ranks have to learn of it.
    fresh: Option<Vec<(String, String)>>,
    /// What our own ranks have put since the last barrier, by their places on this host.
    record: Record,
    ranks: Vec<Client>,
    universe: Option<u32>,
    in_barrier: usize,
    /// Ranks that have failed and are in no barrier: none waits for them.
    missing: usize,
    /// What has failed, in the order in which all are informed.
    failed: Vec<Failed>,
    /// Replies that are to be sent: rank and text.
    pub outbox: Vec<(usize, String)>,
    /// What our own ranks get at the end of a barrier, and which of them.
    handout: Option<(Vec<usize>, Vec<u8>)>,
}

struct Client {
    phase: Phase,
    /// MPI programs that have run in the rank's place, one after the other, with the one that runs.
    programs: u32,
    app: usize,
    in_barrier: bool,
    /// It has failed, and the job goes on.
    has_failed: bool,
    /// It has been in a barrier that has ended: all have what it put before.
    is_wired: bool,
    /// Our own library is there, which gets a table.
    wants_table: bool,
    /// Inside a message of several lines (`mcmd=spawn` up to `endcmd`).
    in_spawn: bool,
}

impl Server {
    /// A server for ranks that run the programs `app_of`, of a job whose ranks run on the nodes `node_of`.
    pub fn new(kvs_name: String, app_of: &[usize], node_of: &[u32], universe: Option<u32>) -> Server {
        let client = |&app| Client {
            phase: Phase::Silent,
            programs: 0,
            app,
            in_barrier: false,
            has_failed: false,
            is_wired: false,
            wants_table: false,
            in_spawn: false,
        };
        let mapping = (MAPPING.to_owned(), crate::mapping::format(node_of));
        Server {
            kvs_name,
            kvs: HashMap::from([mapping]),
            services: Services::default(),
            fresh: None,
            record: Record::default(),
            ranks: app_of.iter().map(client).collect(),
            universe,
            in_barrier: 0,
            missing: 0,
            failed: Vec::new(),
            outbox: Vec::new(),
            handout: None,
        }
    }

    /// The job has ranks of other hosts, too: barriers and the name service go beyond this one.
    pub fn is_one_of_several(&mut self) {
        self.fresh = Some(Vec::new());
    }

    /// All hosts have come to the barrier; `pairs` are the keys that they have put, `table` that of all records, empty
    /// where none holds anything.
    pub fn release(&mut self, pairs: Vec<(String, String)>, table: Vec<u8>) {
        self.kvs.extend(pairs);
        let mut takers = Vec::new();
        for rank in 0..self.ranks.len() {
            if !std::mem::take(&mut self.ranks[rank].in_barrier) {
                continue;
            }
            self.ranks[rank].is_wired = true;
            self.missing += usize::from(self.ranks[rank].has_failed);
            match (std::mem::take(&mut self.ranks[rank].wants_table), table.is_empty()) {
                (false, _) => self.reply(rank, "cmd=barrier_out rc=0".to_owned()),
                (true, true) => self.reply(rank, format!("cmd={TABLE} bytes=0")),
                (true, false) => takers.push(rank),
            }
        }
        if !takers.is_empty() {
            self.handout = Some((takers, table));
        }
    }

    /// Ranks that wait for this table, in a memory file that goes with the first byte of [`Server::table_reply`].
    pub fn take_handout(&mut self) -> Option<(Vec<usize>, Vec<u8>)> {
        self.handout.take()
    }

    /// What to send with a table of so many bytes.
    pub fn table_reply(bytes: usize) -> String {
        format!("cmd={TABLE} bytes={bytes}\n")
    }

    /// How far `rank` has come.
    pub fn phase(&self, rank: usize) -> Phase {
        self.ranks[rank].phase
    }

    /// MPI programs that have run in `rank`'s place, one after the other, with the one that runs.
    pub fn programs(&self, rank: usize) -> u32 {
        self.ranks[rank].programs
    }

    /// Whether others go on only once `rank` sends its hello, should it still do so: it has not yet, or its program has
    /// finalized MPI and another rank's next program waits for the next of this one.
    pub fn is_awaited(&self, rank: usize) -> bool {
        match self.ranks[rank].phase {
            Phase::Silent => true,
            Phase::Finalized => self.ranks.iter().any(|client| client.phase == Phase::Waiting),
            Phase::Waiting | Phase::Active => false,
        }
    }

    /// Whether every rank has sent its hello and waits.
    pub fn all_wait(&self) -> bool {
        self.ranks.iter().all(|client| client.phase == Phase::Waiting)
    }

    /// Whether some rank cannot go on before the others have come (in init or in a barrier).
    pub fn has_waiting(&self) -> bool {
        self.ranks.iter().any(|client| client.phase == Phase::Waiting || client.in_barrier)
    }

    /// Whether no rank is on its way through `MPI_Init`: each has got what the others had put there, or has finalized MPI.
    pub fn is_wired(&self) -> bool {
        let alone = self.ranks.len() == 1 && self.fresh.is_none();
        self.ranks.iter().all(|client| match client.phase {
            Phase::Silent | Phase::Waiting => false,
            // One that is alone has no barrier.
            Phase::Active => client.is_wired || alone,
            Phase::Finalized => true,
        })
    }

    /// All ranks wait, and their programs begin: nothing of the programs that ran before in their places is left.
    pub fn begin(&mut self) {
        self.ranks.iter_mut().for_each(|client| client.is_wired = false);
        self.kvs.retain(|key, _| key == MAPPING);
        self.fresh.iter_mut().for_each(Vec::clear);
        self.record = Record::default();
    }

    /// The answer to `rank`'s hello. Its descriptor goes with the first byte. What other hosts have announced before follows it.
    pub fn job_record(&mut self, rank: usize, body: &str) -> String {
        self.ranks[rank].phase = Phase::Active;
        for failed in self.failed.clone() {
            self.reply(rank, failed.line());
        }
        format!("cmd={JOB} rc=0 bytes={}\n{body}", body.len())
    }

    /// Takes one line of `rank`.
    pub fn handle(&mut self, rank: usize, bytes: &[u8]) -> Event {
        let Some(line) = Line::new(bytes) else {
            return Event::Broken("a line that is not text".to_owned());
        };
        if self.ranks[rank].in_spawn {
            return self.spawn_line(rank, line);
        }
        match line.command() {
            HELLO => return self.hello(rank, line),
            STATE => {
                let active = line.get("active") == Some("1");
                self.ranks[rank].phase = if active { Phase::Active } else { Phase::Finalized };
            }
            LAUNCH => return Event::Launch,
            ACCUSE => return line.number("rank").map_or(Event::None, Event::Accuse),
            SUSPECT => return Suspicion::parse(line).map_or(Event::None, Event::Suspect),
            REPORT => return Event::Report(unescape(line.get_rest("text").unwrap_or("")).into_owned()),
            "init" => return self.init(rank, line),
            "get_maxes" => self.reply(
                rank,
                format!(
                    "cmd=maxes rc=0 kvsname_max={MAX_KVS_NAME} keylen_max={MAX_KEY} vallen_max={MAX_VALUE}"
                ),
            ),
            "get_appnum" => self.reply(rank, format!("cmd=appnum rc=0 appnum={}", self.ranks[rank].app)),
            "get_my_kvsname" => self.reply(rank, format!("cmd=my_kvsname rc=0 kvsname={}", self.kvs_name)),
            "get_universe_size" => {
                let size = self.universe.map_or(-1, i64::from);
                self.reply(rank, format!("cmd=universe_size rc=0 size={size}"));
            }
            "put" => self.put(rank, line),
            "get" => self.get(rank, line),
            "barrier_in" => return self.barrier(rank),
            PUT => {
                let (key, value) = (line.get("key").map(unescape), line.get("value").map(unescape));
                let put = key
                    .zip(value)
                    .is_some_and(|(key, value)| self.record.put(rank as u32, &key, value.as_bytes()));
                if !put {
                    return Event::Broken(format!("{PUT} without key and value, or with too many keys"));
                }
            }
            FENCE => {
                self.ranks[rank].wants_table = true;
                return self.barrier(rank);
            }
            "finalize" => {
                self.ranks[rank].phase = Phase::Finalized;
                self.reply(rank, "cmd=finalize_ack rc=0".to_owned());
            }
            "abort" => {
                let code = line.number("exitcode").unwrap_or(1);
                let text = line.get_rest("message").or_else(|| line.get_rest("error_msg")).unwrap_or("");
                return Event::Abort { code, message: unescape(text).into_owned() };
            }
            "publish_name" | "unpublish_name" | "lookup_name" => {
                if self.fresh.is_some() {
                    return Event::Ask(line.text().to_owned());
                }
                let text = self.services.answer(line);
                self.reply(rank, text);
            }
            "spawn" => self.ranks[rank].in_spawn = true,
            other => return Event::Broken(format!("unknown PMI command {other:?}")),
        }
        Event::None
    }

    fn reply(&mut self, rank: usize, text: String) {
        self.outbox.push((rank, text + "\n"));
    }

    fn hello(&mut self, rank: usize, line: Line<'_>) -> Event {
        if let Some(text) = self.refusal(rank, line) {
            self.reply(rank, text);
            return Event::None;
        }
        self.ranks[rank].phase = Phase::Waiting;
        self.ranks[rank].programs += 1;
        Event::Hello
    }

    /// The answer to a hello that is refused; `None`: it is not.
    pub fn refusal(&self, rank: usize, line: Line<'_>) -> Option<String> {
        if line.number::<u32>("protocol") != Some(PROTOCOL) {
            Some(refused(false, "another version of this exchange"))
        } else if matches!(self.ranks[rank].phase, Phase::Waiting | Phase::Active) {
            Some(refused(true, "the process that is this rank has called MPI_Init and not yet MPI_Finalize"))
        } else {
            None
        }
    }

    /// The answer to a hello of a process that no rank has started.
    pub fn refusal_of_stranger() -> String {
        refused(true, "ALHENA_PMI names a job that has not started this process")
    }

    fn init(&mut self, rank: usize, line: Line<'_>) -> Event {
        let version = line.number::<u32>("pmi_version").unwrap_or(1);
        let rc = if version == 1 { 0 } else { -1 };
        self.reply(rank, format!("cmd=response_to_init rc={rc} pmi_version=1 pmi_subversion=1"));
        self.ranks[rank].phase = Phase::Active;
        self.ranks[rank].programs += 1;
        Event::OtherLibrary
    }

    fn put(&mut self, rank: usize, line: Line<'_>) {
        let text = match (line.get("key"), line.get_rest("value")) {
            (Some(key), Some(value)) if line.get("kvsname") == Some(&self.kvs_name) => {
                self.kvs.insert(key.to_owned(), value.to_owned());
                if let Some(fresh) = &mut self.fresh {
                    fresh.push((key.to_owned(), value.to_owned()));
                }
                "cmd=put_result rc=0 msg=success".to_owned()
            }
            _ => "cmd=put_result rc=-1 msg=no_such_key-value_space_or_no_key".to_owned(),
        };
        self.reply(rank, text);
    }

    fn get(&mut self, rank: usize, line: Line<'_>) {
        let key = line.get("key").unwrap_or("");
        let text = match self.kvs.get(key) {
            Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
            None => format!("cmd=get_result rc=-1 msg=key_{key}_not_found value=unknown"),
        };
        self.reply(rank, text);
    }

    fn barrier(&mut self, rank: usize) -> Event {
        if !std::mem::replace(&mut self.ranks[rank].in_barrier, true) {
            self.in_barrier += 1;
        }
        self.end_barrier()
    }

    /// The rank of this host has failed, and the job goes on: barriers do not wait for it, and it is finalized.
    pub fn has_failed(&mut self, rank: usize) -> Event {
        let client = &mut self.ranks[rank];
        if std::mem::replace(&mut client.has_failed, true) {
            return Event::None;
        }
        client.phase = Phase::Finalized;
        self.missing += usize::from(!client.in_barrier);
        self.end_barrier()
    }

    /// Informs the ranks of this host that are inside MPI of a failure; which they are. Those that are about to be learn of it with their
    /// job record.
    pub fn announce(&mut self, failed: Failed) -> Vec<usize> {
        self.failed.push(failed);
        let active = |rank: &usize| self.ranks[*rank].phase == Phase::Active;
        let informed: Vec<usize> = (0..self.ranks.len()).filter(active).collect();
        informed.iter().for_each(|&rank| self.reply(rank, failed.line()));
        informed
    }

    /// Whether a failure was announced.
    pub fn has_announced(&self, failed: Failed) -> bool {
        self.failed.contains(&failed)
    }

    fn end_barrier(&mut self) -> Event {
        if self.in_barrier > 0 && self.in_barrier + self.missing == self.ranks.len() {
            self.in_barrier = 0;
            let record = std::mem::take(&mut self.record).encode();
            match &mut self.fresh {
                Some(fresh) => return Event::Fence(std::mem::take(fresh), record),
                None if record.is_empty() => self.release(Vec::new(), Vec::new()),
                None => self.release(Vec::new(), wireup::build(&[record])),
            }
        }
        Event::None
    }

    /// Skips the body of a spawn request, then refuses it.
    fn spawn_line(&mut self, rank: usize, line: Line<'_>) -> Event {
        if line.text() == "endcmd" {
            self.ranks[rank].in_spawn = false;
            self.reply(
                rank,
                "cmd=spawn_result rc=-1 errcodes=1 msg=this_mpiexec_starts_no_further_processes".to_owned(),
            );
        }
        Event::None
    }
}

/// A refused hello; `taken`: the place in the job is another process's.
fn refused(taken: bool, reason: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("cmd={JOB} rc=-1 version={version} busy={} msg={}", u8::from(taken), escape(reason))
}

/// The name service of PMI-1: ports by name.
#[derive(Default)]
pub struct Services(HashMap<String, String>);

impl Services {
    /// The reply to a command of the name service.
    pub fn answer(&mut self, line: Line<'_>) -> String {
        let service = line.get("service").unwrap_or("").to_owned();
        match line.command() {
            "publish_name" => {
                self.0.insert(service, line.get_rest("port").unwrap_or("").to_owned());
                "cmd=publish_result rc=0 info=ok".to_owned()
            }
            "unpublish_name" => match self.0.remove(&service) {
                Some(_) => "cmd=unpublish_result rc=0 info=ok".to_owned(),
                None => "cmd=unpublish_result rc=-1 info=no_such_service".to_owned(),
            },
            _ => match self.0.get(&service) {
                Some(port) => format!("cmd=lookup_result rc=0 info=ok port={port}"),
                None => "cmd=lookup_result rc=-1 info=no_such_service".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::FAILED;
    use proptest::prelude::*;

    fn server(size: usize) -> Server {
        Server::new("kvs".to_owned(), &vec![0; size], &vec![0; size], None)
    }

    fn say(server: &mut Server, rank: usize, line: &str) -> Vec<(usize, String)> {
        server.handle(rank, line.as_bytes());
        std::mem::take(&mut server.outbox)
    }

    #[test]
    fn a_barrier_does_not_wait_for_a_rank_that_has_failed() {
        let mut server = server(3);
        for rank in 0..3 {
            say(&mut server, rank, "cmd=init pmi_version=1");
        }
        say(&mut server, 2, "cmd=barrier_in");
        // One that is in the barrier counts until that is over.
        server.has_failed(2);
        assert!(say(&mut server, 0, "cmd=barrier_in").is_empty());
        assert_eq!(say(&mut server, 1, "cmd=barrier_in").len(), 3);
        assert!(say(&mut server, 0, "cmd=barrier_in").is_empty());
        server.has_failed(1);
        server.has_failed(1);
        assert_eq!(std::mem::take(&mut server.outbox).len(), 1);
        assert_eq!(say(&mut server, 0, "cmd=barrier_in").len(), 1);
        assert_eq!(server.announce(Failed::Rank(1)), [0]);
    }

    #[test]
    fn ranks_are_wired_up_once_their_first_barrier_is_over() {
        let mut server = server(2);
        assert!(!server.is_wired(), "none is there");
        for rank in 0..2 {
            server.job_record(rank, "");
            assert!(!server.is_wired());
        }
        say(&mut server, 0, "cmd=barrier_in\n");
        assert!(!server.is_wired());
        say(&mut server, 1, "cmd=barrier_in\n");
        assert!(server.is_wired());
        server.begin();
        assert!(!server.is_wired(), "the next programs in their places have their own");
    }

    #[test]
    fn a_failure_that_another_host_announces_early_follows_the_job_record() {
        let mut server = server(2);
        server.is_one_of_several();
        for rank in 0..2 {
            say(&mut server, rank, &format!("cmd={HELLO} protocol={PROTOCOL}"));
        }
        assert!(server.all_wait() && server.announce(Failed::Rank(7)).is_empty() && server.outbox.is_empty());
        server.begin();
        for rank in 0..2 {
            server.job_record(rank, "");
            assert_eq!(std::mem::take(&mut server.outbox), [(rank, format!("cmd={FAILED} rank=7\n"))]);
        }
    }

    #[test]
    fn keys_put_before_the_barrier_are_seen_after_it() {
        let mut server = server(2);
        assert!(say(&mut server, 0, "cmd=put kvsname=kvs key=a value=b c")[0].1.contains("rc=0"));
        assert!(say(&mut server, 0, "cmd=barrier_in").is_empty());
        assert!(server.has_waiting());
        let out = say(&mut server, 1, "cmd=barrier_in");
        assert_eq!(out.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(
            say(&mut server, 1, "cmd=get kvsname=kvs key=a")[0].1,
            "cmd=get_result rc=0 msg=success value=b c\n"
        );
        assert!(say(&mut server, 1, "cmd=get kvsname=kvs key=z")[0].1.contains("rc=-1"));
    }

    #[test]
    fn our_own_ranks_get_a_table_and_others_their_answer() {
        let mut server = server(3);
        assert!(say(&mut server, 0, &format!("cmd={PUT} key=a value=b%20c")).is_empty());
        assert!(say(&mut server, 0, &format!("cmd={FENCE}")).is_empty());
        assert!(say(&mut server, 1, "cmd=barrier_in").is_empty());
        assert_eq!(say(&mut server, 2, &format!("cmd={FENCE}")), [(1, "cmd=barrier_out rc=0\n".to_owned())]);
        let (takers, table) = server.take_handout().unwrap();
        assert_eq!((takers, table.len() > 8), (vec![0, 2], true));
        // Nothing was put since.
        for rank in 0..3 {
            say(&mut server, rank, &format!("cmd={FENCE}"));
        }
        assert_eq!(server.take_handout(), None);
        assert!(matches!(server.handle(0, b"cmd=alhena_put key=a"), Event::Broken(_)));
    }

    #[test]
    fn hello_moves_a_rank_through_its_phases() {
        let mut server = server(1);
        let hello = format!("cmd={HELLO} protocol={PROTOCOL} version=0 rank=0");
        assert_eq!(server.handle(0, hello.as_bytes()), Event::Hello);
        assert!(server.all_wait());
        server.job_record(0, "");
        assert_eq!(server.phase(0), Phase::Active);
        server.handle(0, format!("cmd={STATE} active=0").as_bytes());
        assert_eq!(server.phase(0), Phase::Finalized);
        assert!(say(&mut server, 0, "cmd=alhena_hello protocol=0")[0].1.contains("rc=-1"));
    }

    #[test]
    fn the_next_program_in_a_ranks_place_begins_anew() {
        let mut server = server(2);
        let hello = format!("cmd={HELLO} protocol={PROTOCOL} version=0 rank=0");
        let both_begin = |server: &mut Server| {
            assert_eq!(server.handle(1, hello.as_bytes()), Event::Hello);
            assert!(server.all_wait());
            server.begin();
            (0..2).for_each(|rank| drop(server.job_record(rank, "")));
        };
        assert_eq!(server.handle(0, hello.as_bytes()), Event::Hello);
        both_begin(&mut server);
        assert!(say(&mut server, 0, &hello)[0].1.contains("rc=-1") && server.outbox.is_empty());
        say(&mut server, 0, "cmd=put kvsname=kvs key=a value=b");
        server.handle(0, format!("cmd={STATE} active=0").as_bytes());
        assert!(!server.is_awaited(0));
        // The other rank is slower.
        assert_eq!(server.handle(0, hello.as_bytes()), Event::Hello);
        assert_eq!((server.programs(0), server.is_awaited(1)), (2, false));
        server.handle(1, format!("cmd={STATE} active=0").as_bytes());
        assert!(server.is_awaited(1) && !server.all_wait());
        both_begin(&mut server);
        assert!(say(&mut server, 1, "cmd=get kvsname=kvs key=a")[0].1.contains("rc=-1"));
        assert!(say(&mut server, 1, &format!("cmd=get kvsname=kvs key={MAPPING}"))[0].1.contains("rc=0"));
    }

    #[test]
    fn an_abort_carries_code_and_message() {
        let event = server(1).handle(0, b"cmd=abort exitcode=3 message=no%20luck");
        assert_eq!(event, Event::Abort { code: 3, message: "no luck".to_owned() });
    }

    #[test]
    fn a_spawn_request_is_refused_as_a_whole() {
        let mut server = server(1);
        assert!(say(&mut server, 0, "mcmd=spawn").is_empty());
        assert!(say(&mut server, 0, "nprocs=2").is_empty());
        assert!(say(&mut server, 0, "endcmd")[0].1.starts_with("cmd=spawn_result rc=-1"));
    }

    proptest! {
        #[test]
        fn no_lines_panic(lines in proptest::collection::vec(
            "(cmd=(put|get|barrier_in|init|alhena_hello|alhena_put|alhena_fence|alhena_state|abort|spawn|lookup_name)|endcmd)( [a-z]{1,8}=[ -~]{0,9}){0,4}|\\PC{0,40}",
            0..20,
        )) {
            let mut server = server(2);
            for (i, line) in lines.iter().enumerate() {
                server.handle(i % 2, line.as_bytes());
            }
        }
    }
}
