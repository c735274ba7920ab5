//! What tools that look at the job get (`alhena top` and others, crate `live`): its description and the observation memory,
//! which they read themselves.

use std::os::fd::{AsFd, OwnedFd};

use live::{Description, RankOf};
use observe::Section;

use super::Proxy;

impl Proxy {
    /// Tools have connected.
    pub(super) fn accept_tools(&mut self) {
        while let Some(tool) = self.tools.accept() {
            self.show_job_to(tool);
        }
    }

    /// Lets a tool look at the ranks of this host. Its connection never blocks.
    pub(super) fn show_job_to(&mut self, tool: OwnedFd) {
        let memory = self.observation.as_ref().map(|memory| memory.file());
        let text = self.description().encode();
        if live::send(tool.as_fd(), &text, memory).is_ok() {
            self.tools.keep(tool, &self.poller);
        }
    }

    /// A tool has gone. The last one takes its question along: ranks do not answer for none.
    pub(super) fn tool_has_gone(&mut self, index: usize) {
        self.tools.remove(index, &self.poller);
        if self.tools.is_empty() {
            self.sections().iter().for_each(Section::ask_no_more);
        }
    }

    /// What tools have got is of the past: the ranks run another program. They connect anew.
    pub(super) fn dismiss_tools(&mut self) {
        self.tools.numbers().for_each(|index| self.tool_has_gone(index));
    }

    fn description(&self) -> Description {
        let rank = |slot: usize| {
            let state = &self.ranks[slot];
            let program = self.job.spec.apps[self.job.app_of[slot]].program.to_string_lossy();
            RankOf {
                rank: self.number(slot) as u32,
                pid: state.pid(),
                is_over: state.is_over(),
                program: program.into_owned(),
            }
        };
        Description {
            number: self.parent.pid().as_raw_nonzero().get(),
            job: self.job.job_id,
            host: self.job.host.clone(),
            began: self.tools.began,
            size: self.job.node_of.len() as u32,
            hosts: self.job.node_of.iter().max().map_or(1, |&last| last + 1),
            ranks: (0..self.ranks.len()).map(rank).collect(),
        }
    }
}
