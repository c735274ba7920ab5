//! Tools that look at the job while it runs (`alhena top` and others, crate `live`): they get its description and the
//! observation memory, and read that themselves.

use std::os::fd::{AsFd, OwnedFd};

use live::{Description, Listener, RankOf};
use observe::Section;

use super::Proxy;
use crate::poller::{Poller, Token};

/// Tools that may look at a time.
const MOST: usize = 16;

/// The socket, and the tools that look.
pub(super) struct Live {
    /// `None`: there is no directory for it. The job runs as well.
    listener: Option<Listener>,
    /// By number of their token. What a tool sends means nothing but that it has gone.
    tools: Vec<Option<OwnedFd>>,
    /// When the job began, in seconds since 1970.
    began: u64,
}

impl Live {
    /// Opens the socket of the job whose mpiexec, or daemon, has this process id.
    pub fn open(number: i32, poller: &Poller) -> Live {
        let listener =
            Listener::open(number).ok().filter(|listener| poller.watch(listener, Token::Tools).is_ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Live { listener, tools: Vec::new(), began: now.map_or(0, |time| time.as_secs()) }
    }

    /// No tool finds the job any more.
    pub fn close(&mut self) {
        self.listener = None;
    }

    fn keep(&mut self, tool: OwnedFd, poller: &Poller) {
        let free = self.tools.iter().position(Option::is_none).unwrap_or(self.tools.len());
        if free < MOST && poller.watch(&tool, Token::Tool(free)).is_ok() {
            match self.tools.get_mut(free) {
                Some(place) => *place = Some(tool),
                None => self.tools.push(Some(tool)),
            }
        }
    }
}

impl Proxy {
    /// Tools have connected.
    pub(super) fn accept_tools(&mut self) {
        while let Some(tool) = self.live.listener.as_ref().and_then(Listener::accept) {
            let memory = self.observation.as_ref().map(|memory| memory.file());
            let text = self.description().encode();
            if live::send(tool.as_fd(), &text, memory).is_ok() {
                self.live.keep(tool, &self.poller);
            }
        }
    }

    /// A tool has gone. The last one takes its question along: ranks do not answer for none.
    pub(super) fn tool_has_gone(&mut self, index: usize) {
        let Some(tool) = self.live.tools.get_mut(index).and_then(Option::take) else { return };
        self.poller.forget(&tool);
        if self.live.tools.iter().all(Option::is_none) {
            self.sections().iter().for_each(Section::ask_no_more);
        }
    }

    /// What tools have got is of the past: the ranks run another program. They connect anew.
    pub(super) fn dismiss_tools(&mut self) {
        (0..self.live.tools.len()).for_each(|index| self.tool_has_gone(index));
    }

    fn description(&self) -> Description {
        let rank = |slot: usize| {
            let state = &self.ranks[slot];
            let program = self.job.spec.apps[self.job.app_of[slot]].program.to_string_lossy();
            let pid = state.mpi_pid.unwrap_or(state.process.pid().as_raw_nonzero().get());
            RankOf {
                rank: self.number(slot) as u32,
                pid,
                is_over: state.is_over(),
                program: program.into_owned(),
            }
        };
        Description {
            number: self.parent.pid().as_raw_nonzero().get(),
            job: self.job.job_id,
            host: self.job.host.clone(),
            began: self.live.began,
            size: self.job.node_of.len() as u32,
            hosts: self.job.node_of.iter().max().map_or(1, |&last| last + 1),
            ranks: (0..self.ranks.len()).map(rank).collect(),
        }
    }
}
