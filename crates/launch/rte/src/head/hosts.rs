//! The daemons: their calls, what they send, and their end.

use std::io;
use std::net::TcpStream;
use std::time::Instant;

use connect::{Role, Session, Who};
use inquest::{Failure, Status};

use super::launch::Launched;
use super::{Head, Phase};
use crate::far_failure::FarFailure;
use crate::link::Link;
use crate::messages::{Down, Up};
use crate::poller::Token;
use crate::wire::Bytes;

impl Head {
    /// Accepts callers and reads what they send.
    pub(super) fn hear_callers(&mut self) {
        let now = Instant::now();
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let ready = stream.set_nonblocking(true).is_ok();
                    if ready && self.poller.watch(&stream, Token::Listener).is_ok() {
                        self.acceptor.add(stream, now);
                    }
                }
                // No descriptor is left: one that has proven nothing gives its own.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    if !self.acceptor.give_one_up() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => break,
            }
        }
        let (job, hosts, listens) = (self.job, &self.hosts, self.spec.listen.is_some());
        let waits = hosts.iter().any(|host| host.phase == Phase::Launching);
        let expect = |who: &Who| match hosts.get(who.from as usize) {
            _ if listens && who.role == Role::Worker && waits => Ok(()),
            _ if listens => Err(Some("no worker is waited for")),
            _ if who.role != Role::Daemon => Err(Some("it is no daemon")),
            _ if who.job != job => Err(Some("it is of another job")),
            Some(host) if host.phase == Phase::Launching => Ok(()),
            _ => Err(Some("it is of this job, and no daemon of it that is waited for")),
        };
        let nonce = platform::random::nonce;
        for (caller, who, session) in self.acceptor.hear(now, nonce, expect) {
            let free = self.hosts.iter().position(|host| host.phase == Phase::Launching);
            let index = if listens { free } else { Some(who.from as usize) };
            if let Some(index) = index {
                self.admit(index, caller, session);
            }
        }
    }

    /// The daemon of a host has called.
    fn admit(&mut self, index: usize, caller: TcpStream, session: Session) {
        let Some(host) = self.hosts.get_mut(index) else { return };
        // Two that call in the name of one host and know the secret: the second one is none that was started.
        if host.phase != Phase::Launching {
            return;
        }
        let place = connect::Caller::name(&caller);
        let Ok(mut link) = Link::new(caller, session) else { return };
        link.allow_silence(self.spec.host_silence);
        // It was watched as a caller until now, with the same descriptor.
        if self.poller.set_token(&link, Token::Link(index)).is_err() {
            return;
        }
        host.link = Some(link);
        host.phase = Phase::Preparing;
        if let Some(launched) = &mut host.launched {
            launched.has_called();
        }
        if self.spec.listen.is_some() {
            host.name = place;
            let order = Box::new(self.order.clone());
            self.tell(index, &Down::Order(index as u32, order));
        }
        let name = self.hosts[index].name.clone();
        self.trace(|| format!("the daemon of host {name} has called"));
    }

    /// Reads what the daemon of a host sends.
    pub(super) fn hear(&mut self, index: usize) {
        if let Some(link) = &mut self.hosts[index].link {
            link.flush();
            link.read();
        }
        while let Some(message) = self.hosts[index].link.as_mut().and_then(Link::next_message) {
            self.take(index, message);
        }
        let broken = self.hosts[index].link.as_ref().and_then(Link::broken).map(str::to_owned);
        if let Some(seen) = broken {
            self.lost(index, seen);
        }
    }

    /// Sees whether all hosts still answer.
    pub(super) fn look_after_hosts(&mut self) {
        for index in 0..self.hosts.len() {
            let Some(link) = &mut self.hosts[index].link else { continue };
            link.look_after();
            if link.broken().is_some() {
                self.hear(index);
            }
        }
    }

    fn take(&mut self, index: usize, message: Up) {
        match message {
            Up::Ready => {
                self.hosts[index].phase = Phase::Ready;
                if self.hosts.iter().all(|host| host.phase == Phase::Ready) {
                    self.start_ranks();
                }
            }
            Up::Refused(code, text) => {
                let text = format!("mpiexec: on host {}: {text}\n", self.hosts[index].name);
                self.refuse(code, &text);
            }
            Up::Started(processes) => self.take_processes(index, processes),
            Up::Hello(program) => {
                self.space.newest = self.space.newest.max(program);
                self.look_for_missing();
            }
            Up::Fence(pairs, record) => {
                if let Some((pairs, table)) = self.space.fence(index, pairs, record.0) {
                    self.tell_all(&Down::Fence(pairs, Bytes(table)));
                }
            }
            Up::Name(rank, line) => {
                if let Some(text) = self.space.name_service(&line) {
                    self.tell(index, &Down::Reply(rank, text + "\n"));
                }
            }
            Up::Output(channel, stream, bytes) => self.put_output(index, channel, stream, bytes.0),
            Up::Note(text) => self.note(&text),
            Up::StdinTaken(bytes) => self.input_taken(index, bytes as usize),
            Up::StdinUnwanted => self.input_unwanted(index),
            Up::Failure(report) => {
                self.fail(report.failure, report.culprit, report.cause, report.goes_on);
            }
            Up::Ended(rank, status, programs) => {
                if self.hosts[index].ranks.contains(&rank) {
                    self.statuses[rank as usize] = Some(status);
                    self.space.ended(rank, status, programs);
                    self.look_for_missing();
                }
            }
            Up::Tables(tables, rank, offset, bytes) => {
                let tables = self.spec.tables.get(tables as usize);
                if let Some(tables) = tables.filter(|_| self.hosts[index].ranks.contains(&rank)) {
                    tables.take(rank, offset, &bytes.0);
                }
            }
            Up::LongWait(after, ends) => self.hear_of_long_wait(after, ends),
            Up::Seen(number, ranks) => self.take_look(index, number, ranks),
            Up::WaitSites(sites) => self.take_sites(index, sites),
            Up::Ask(tool, number, patience, words) => {
                self.ask_hosts(index, (tool, number), patience, &words);
            }
            Up::Answer(number, why, page) => self.take_answer(index, number, why, page.0),
            Up::RankFailed(rank) => {
                if self.hosts[index].ranks.contains(&rank) {
                    self.announce_failure(rank);
                }
            }
            Up::FailedAbroad(failure) => self.announce_far_failure(failure),
            Up::Accused(by, rank) if self.hosts[index].ranks.contains(&by) => self.accuse(index, by, rank),
            Up::Accused(..) => {}
            Up::Traced => self.traced(),
            Up::Settled => self.hosts[index].settles = false,
            Up::Finished(code) => {
                let host = &mut self.hosts[index];
                host.phase = Phase::Finished;
                let has_run = host.ranks.iter().all(|&rank| self.statuses[rank as usize].is_some());
                if let Some(link) = host.link.take() {
                    self.poller.forget(&link);
                }
                self.forget_look(index);
                self.answers_no_more(index);
                self.come_no_more(index);
                if let Some(code) = code {
                    self.verdict.fall_back(code);
                }
                if !has_run && !self.verdict.is_ending() {
                    self.did_not_run(index);
                }
            }
        }
    }

    /// All hosts are ready.
    fn start_ranks(&mut self) {
        self.started = true;
        self.hosts.iter_mut().for_each(|host| host.phase = Phase::Running);
        self.trace(|| "all hosts are ready, the ranks start".to_owned());
        self.tell_all(&Down::Start);
        self.read_input();
    }

    /// The connection of a host has ended before its ranks have.
    fn lost(&mut self, index: usize, seen: String) {
        let host = &mut self.hosts[index];
        let phase = std::mem::replace(&mut host.phase, Phase::Lost);
        if let Some(link) = host.link.take() {
            self.poller.forget(&link);
        }
        let (name, ranks) = (host.name.clone(), self.ranks_of(index));
        self.tell_stdin_lost(index);
        self.forget_look(index);
        self.answers_no_more(index);
        if phase == Phase::Running {
            self.hear_launcher(index);
            let launched = self.hosts[index].launched.as_ref();
            let words = launched.and_then(Launched::last_words);
            let words = words.map_or(String::new(), |words| format!("; it wrote: {words}"));
            let seen = format!("its daemon is gone: {seen}{words}");
            let failure = Failure::HostLost { host: name, ranks, seen };
            match self.spec.survives && !self.verdict.is_ending() {
                true => self.go_on_without(index, &failure),
                false => self.fail(failure, None, None, false),
            }
        } else if !self.verdict.is_ending() {
            self.hear_launcher(index);
            self.could_not_reach(index, &format!("its daemon has called and gone: {seen}"));
        }
    }

    /// A host is lost, and the job goes on: its ranks have failed.
    fn go_on_without(&mut self, index: usize, failure: &Failure) {
        self.note(&inquest::message(failure, None, 0, None));
        for rank in self.hosts[index].ranks.clone() {
            if self.statuses[rank as usize].replace(Status::Killed(libc::SIGKILL)).is_none() {
                self.announce_failure(rank);
            }
        }
        self.come_no_more(index);
    }

    /// Informs all hosts that a rank has failed, and the job that has spawned this one.
    fn announce_failure(&mut self, rank: u32) {
        if let Some(spawner) = self.spec.spawner() {
            spawner.inform(FarFailure { job: self.job, rank: Some(rank) });
        }
        self.tell_all(&Down::RankFailed(rank));
    }

    /// Informs all hosts of what has failed in another job, and the job that has spawned this one.
    pub(super) fn announce_far_failure(&mut self, failure: FarFailure) {
        if failure.job == self.job || !self.far_failures.insert(failure) {
            return;
        }
        if let Some(spawner) = self.spec.spawner() {
            spawner.inform(failure);
        }
        self.tell_all(&Down::FailedAbroad(failure));
    }

    /// All ranks of a host are over. In a job that goes on others do not wait for them in a fence.
    fn come_no_more(&mut self, index: usize) {
        if self.spec.survives
            && let Some((pairs, table)) = self.space.come_no_more(index)
        {
            self.tell_all(&Down::Fence(pairs, Bytes(table)));
        }
    }

    /// Rank `by` of a host does not reach `rank`, which is ended unless its side has accused the side of `by` before.
    fn accuse(&mut self, index: usize, by: u32, rank: u32) {
        let Some(&host) = self.spec.host_of.get(rank as usize) else { return };
        let sides = match host as usize == index {
            true => (self.hosts.len() as u32 + by, self.hosts.len() as u32 + rank),
            false => (index as u32, host),
        };
        if self.accusations.believes(sides.0, sides.1) {
            self.tell(host as usize, &Down::Kill(by, rank));
        }
    }

    /// A host has finished without having reported the ends of all its ranks: nothing will ever come from them.
    fn did_not_run(&mut self, index: usize) {
        let host = self.hosts[index].name.clone();
        let seen = "its daemon has finished, and some of its ranks have not run to their end".to_owned();
        let failure = Failure::HostLost { host, ranks: self.ranks_of(index), seen };
        self.fail(failure, None, None, false);
    }

    /// `rank 3`, `ranks 2 to 5` or `ranks 0, 2, …`.
    fn ranks_of(&self, index: usize) -> String {
        match self.hosts[index].ranks[..] {
            [] => "no ranks".to_owned(),
            [rank] => format!("rank {rank}"),
            [first, .., last] if (last - first) as usize + 1 == self.hosts[index].ranks.len() => {
                format!("ranks {first} to {last}")
            }
            [first, second, ..] => {
                format!("{} ranks: {first}, {second}, …", self.hosts[index].ranks.len())
            }
        }
    }

    /// Sends `message` to the daemon of a host, if there is one.
    pub(super) fn tell(&mut self, index: usize, message: &Down) {
        if let Some(link) = &mut self.hosts[index].link {
            link.send(message);
        }
    }

    /// Sends `message` to all daemons.
    pub(super) fn tell_all(&mut self, message: &Down) {
        for host in &mut self.hosts {
            if let Some(link) = &mut host.link {
                link.send(message);
            }
        }
    }

    /// Sends what waits, and has the event loop report when more can be sent.
    pub(super) fn flush_links(&mut self) {
        for index in 0..self.hosts.len() {
            let Some(link) = &mut self.hosts[index].link else { continue };
            link.flush();
            let pending = link.is_pending();
            if pending != link.watched {
                link.watched = pending;
                // The connection is watched as long as it is open.
                let _ = self.poller.set(&*link, Token::Link(index), true, pending);
            }
            if link.broken().is_some() {
                self.hear(index);
            }
        }
    }
}
