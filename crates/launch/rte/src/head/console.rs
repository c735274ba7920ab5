//! mpiexec's standard input and output, for a job on several hosts. Both are bounded by credit, so that neither a reader
//! that stops nor a rank that does not read keeps anything else from passing.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use inquest::Failure;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Head;
use crate::console::name_of;
use crate::console::reopen;
use crate::link::CREDIT;
use crate::messages::Down;
use crate::poller::{Poller, Token};
use crate::pty;
use crate::spec::Stdin;
use crate::stdin::above_standard;
use crate::wire::Bytes;

/// Bytes of input read at a time.
const CHUNK: usize = 16 * 1024;
/// mpiexec in the background of a terminal looks this often whether it may read again.
const BACKGROUND_DELAY: Duration = Duration::from_millis(500);

/// Standard input on its way to hosts.
pub(super) struct Input {
    source: OwnedFd,
    /// Files are always readable and cannot be polled.
    is_file: bool,
    reads: Stdin,
    /// Hosts that read, with the bytes that they have not passed on yet.
    readers: Option<Vec<(usize, usize)>>,
    /// The source is watched.
    watched: bool,
    /// When to try again although no event comes.
    pub again: Option<Instant>,
}

impl Input {
    /// mpiexec's standard input, if any rank reads it.
    pub fn new(reads: Stdin, poller: &Poller) -> io::Result<Option<Input>> {
        if reads == Stdin::None {
            return Ok(None);
        }
        let stdin = rustix::stdio::stdin();
        let source = match reopen(stdin, OFlags::RDONLY) {
            Ok(again) => again,
            Err(_) => above_standard(stdin)?,
        };
        let is_file = match poller.watch(&source, Token::Stdin) {
            Ok(()) => false,
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => true,
            Err(e) => return Err(e),
        };
        // A file opened anew would be read from its beginning.
        let source = if is_file { above_standard(stdin)? } else { source };
        Ok(Some(Input { source, is_file, reads, readers: None, watched: !is_file, again: None }))
    }
}

impl Head {
    /// Reads standard input as far as there is credit.
    pub(super) fn read_input(&mut self) {
        let Some(input) = &mut self.input else { return };
        input.again = None;
        if input.readers.is_none() && self.started {
            let rank_of = &self.spec.host_of;
            input.readers = Some(match input.reads {
                Stdin::Rank(rank) => vec![(rank_of[rank as usize] as usize, 0)],
                _ => (0..self.hosts.len()).map(|host| (host, 0)).collect(),
            });
        }
        loop {
            let Some(input) = &mut self.input else { return };
            let has_credit = match &input.readers {
                None => false,
                Some(readers) if readers.is_empty() => return self.end_input(),
                Some(readers) => readers.iter().all(|(_, unacknowledged)| unacknowledged + CHUNK <= CREDIT),
            };
            if !input.is_file && input.watched != has_credit {
                input.watched = has_credit;
                // The source is watched as long as it is open.
                let _ = self.poller.set(&input.source, Token::Stdin, has_credit, false);
            }
            if !has_credit {
                return;
            }
            let mut buffer = [0; CHUNK];
            match rustix::io::read(&input.source, &mut buffer) {
                Ok(0) => return self.end_input(),
                Ok(bytes) => {
                    let readers = input.readers.iter_mut().flatten();
                    let hosts: Vec<usize> = readers
                        .map(|(host, unacknowledged)| {
                            *unacknowledged += bytes;
                            *host
                        })
                        .collect();
                    let message = Down::Stdin(Bytes(buffer[..bytes].to_vec()));
                    hosts.into_iter().for_each(|host| self.tell(host, &message));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // A terminal in whose background we are.
                Err(_) => {
                    input.again = Some(Instant::now() + BACKGROUND_DELAY);
                    if !input.is_file {
                        input.watched = false;
                        let _ = self.poller.set(&input.source, Token::Stdin, false, false);
                    }
                    return;
                }
            }
            if self.input.as_ref().is_some_and(|input| !input.is_file) {
                // Read again only after an event: without the nonblocking flag a second read might wait.
                return;
            }
        }
    }

    fn end_input(&mut self) {
        if let Some(input) = self.input.take() {
            self.poller.forget(&input.source);
            for (host, _) in input.readers.unwrap_or_default() {
                self.tell(host, &Down::StdinEnd);
            }
        }
    }

    /// A host has passed on so many bytes.
    pub(super) fn input_taken(&mut self, host: usize, bytes: usize) {
        let Some(input) = &mut self.input else { return };
        for (reader, unacknowledged) in input.readers.iter_mut().flatten() {
            if *reader == host {
                *unacknowledged = unacknowledged.saturating_sub(bytes);
            }
        }
        self.read_input();
    }

    /// No rank reads on a host any more.
    pub(super) fn input_unwanted(&mut self, host: usize) {
        if let Some(readers) = self.input.as_mut().and_then(|input| input.readers.as_mut()) {
            readers.retain(|(reader, _)| *reader != host);
        }
        self.read_input();
    }

    /// A host is gone, and with it the readers there.
    pub(super) fn tell_stdin_lost(&mut self, host: usize) {
        self.input_unwanted(host);
    }

    /// Output of a host.
    pub(super) fn put_output(&mut self, host: usize, channel: u8, stream: u32, bytes: Vec<u8>) {
        let which = usize::from(channel).min(self.writers.len() - 1);
        self.hosts[host].owed += bytes.len();
        self.writers[which].put(stream as usize, |out| out.extend_from_slice(&bytes));
    }

    /// Writes what can be written, and acknowledges output as long as not too much waits.
    pub(super) fn write_outputs(&mut self) {
        while self.write_consoles() {}
        self.look_at_readers();
        if self.writers.iter().any(crate::console::Writer::is_full) {
            return;
        }
        for index in 0..self.hosts.len() {
            let owed = std::mem::take(&mut self.hosts[index].owed);
            if owed > 0 {
                self.tell(index, &Down::OutputTaken(owed as u32));
            }
        }
    }

    /// Gives up consoles whose readers have stopped, once the user wants the job ended.
    fn look_at_readers(&mut self) {
        let now = Instant::now();
        for which in 0..self.writers.len() {
            if let Some(text) = self.patience.look(which, &mut self.writers[which], now) {
                self.note(&text);
            }
        }
    }

    /// Writes to each console what it takes. Whether one of them has lost output, which is then reported; no console
    /// reports twice.
    fn write_consoles(&mut self) -> bool {
        let mut any = false;
        for which in 0..self.writers.len() {
            let writer = &mut self.writers[which];
            writer.flush_and_watch(&self.poller, Token::Console(which));
            let Some(errno) = writer.take_loss() else { continue };
            let (path, is_broken) = (name_of(which, writer), writer.is_broken());
            if is_broken {
                self.tell_all(&Down::OutputBroken(which as u8));
            }
            self.lose_output(&Failure::Output { path, errno: errno.raw_os_error() });
            any = true;
        }
        any
    }

    /// The terminal has a new size.
    pub(super) fn resize(&mut self) {
        let terminal = self.writers.iter().find(|writer| writer.is_terminal());
        if let Some(size) = terminal.and_then(pty::size_of) {
            self.tell_all(&Down::Window(size.ws_row, size.ws_col));
        }
    }
}
