//! The socket for tools that look at the job while it runs, and the tools that do.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use live::Listener;
use rustix::io::Errno;

use crate::poller::{Poller, Token};

/// Tools that may look at a time.
const MOST: usize = 16;

/// Bytes of a question at most. A tool sends it at once.
const QUESTION: usize = 256;

/// Hosts are waited for at most so long.
const LONGEST: Duration = Duration::from_secs(3_700);

/// What a tool has sent.
pub(super) enum Heard {
    Nothing,
    /// It has gone, or what it says makes no sense.
    Gone,
    /// Its number of the question, for how long it waits, and the question (`live::Question`).
    Question(u64, Duration, String),
}

/// The socket, and the tools that look.
pub(super) struct Tools {
    /// `None`: there is no directory for it. The job runs as well.
    listener: Option<Listener>,
    /// By number of their token.
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

    /// A tool that looks.
    pub fn get(&self, index: usize) -> Option<BorrowedFd<'_>> {
        self.open.get(index)?.as_ref().map(AsFd::as_fd)
    }

    /// Reads what a tool has sent.
    pub fn hear(&self, index: usize) -> Heard {
        let Some(tool) = self.get(index) else { return Heard::Nothing };
        let mut bytes = [0; QUESTION];
        let length = match rustix::io::read(tool, &mut bytes) {
            Ok(length) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Heard::Nothing,
            Err(_) => return Heard::Gone,
        };
        let line = std::str::from_utf8(&bytes[..length]).ok().and_then(|text| text.strip_suffix('\n'));
        line.and_then(question).unwrap_or(Heard::Gone)
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

fn question(line: &str) -> Option<Heard> {
    let [number, patience, words] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { return None };
    let patience = Duration::from_millis(patience.parse().ok()?).min(LONGEST);
    Some(Heard::Question(number.parse().ok()?, patience, words.to_owned()))
}
