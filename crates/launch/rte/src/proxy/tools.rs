//! The socket for tools that look at the job while it runs, and the tools that do.

use std::os::fd::OwnedFd;

use live::Listener;

use crate::poller::{Poller, Token};

/// Tools that may look at a time.
const MOST: usize = 16;

/// The socket, and the tools that look.
pub(super) struct Tools {
    /// `None`: there is no directory for it. The job runs as well.
    listener: Option<Listener>,
    /// By number of their token. What a tool sends means nothing but that it has gone.
    open: Vec<Option<OwnedFd>>,
    /// When the job began, in seconds since 1970.
    pub began: u64,
}

impl Tools {
    /// Opens the socket of the job whose mpiexec, or daemon, has this process id.
    pub fn open(number: i32, poller: &Poller) -> Tools {
        let listener =
            Listener::open(number).ok().filter(|listener| poller.watch(listener, Token::Tools).is_ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Tools { listener, open: Vec::new(), began: now.map_or(0, |time| time.as_secs()) }
    }

    /// No tool finds the job any more.
    pub fn close(&mut self) {
        self.listener = None;
    }

    /// A tool that has connected.
    pub fn accept(&mut self) -> Option<OwnedFd> {
        let accepted = self.listener.as_ref()?.accept();
        // Without a descriptor no tool can be let in, and the socket would stay readable.
        accepted.inspect_err(|_| self.close()).ok()?
    }

    /// Notices from now on that a tool goes; one too many is turned away.
    pub fn keep(&mut self, tool: OwnedFd, poller: &Poller) {
        let free = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        if free < MOST && poller.watch(&tool, Token::Tool(free)).is_ok() {
            match self.open.get_mut(free) {
                Some(place) => *place = Some(tool),
                None => self.open.push(Some(tool)),
            }
        }
    }

    /// Takes a tool that has gone.
    pub fn remove(&mut self, index: usize, poller: &Poller) {
        if let Some(tool) = self.open.get_mut(index).and_then(Option::take) {
            poller.forget(&tool);
        }
    }

    /// Numbers of the tools, some of which may have gone.
    pub fn numbers(&self) -> std::ops::Range<usize> {
        0..self.open.len()
    }

    /// No tool looks.
    pub fn is_empty(&self) -> bool {
        self.open.iter().all(Option::is_none)
    }
}
