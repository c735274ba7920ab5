//! Input and output of ranks on its way from and to mpiexec's own.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};

use super::Proxy;
use super::clock::no_later_than;
use super::rank::{Flow, Stream};
use crate::console::{name_of, writers};
use crate::lines::{Lines, Prefix};
use crate::outlet::Outlet;
use crate::pattern::{self, Names};
use crate::poller::{Poller, Token};
use crate::pty;
use crate::spec::Stdin;
use crate::stdin::{Forwarder, Pumped, above_standard, may_be_inherited, null};

/// The most that is read of one stream when its rank ends, in bytes: more than any pipe holds.
const LAST_WORDS: usize = 1 << 20;
/// mpiexec in the background of a terminal looks this often whether it may read again: a shell that brings
/// it to the front does not announce that.
const BACKGROUND_DELAY: Duration = Duration::from_millis(500);

/// mpiexec's standard output and error as writers; one for both where they are the same file.
pub(super) fn consoles() -> io::Result<Vec<Outlet>> {
    Ok(writers()?.into_iter().map(Outlet::Console).collect())
}

/// A forwarder, where ranks cannot have mpiexec's standard input itself.
pub(super) fn forwarder(stdin: Stdin, poller: &Poller) -> io::Result<Option<Forwarder>> {
    let needed = match stdin {
        Stdin::None => false,
        Stdin::All => true,
        Stdin::Rank(_) => !may_be_inherited(rustix::stdio::stdin()),
    };
    if needed { Forwarder::new(poller).map(Some) } else { Ok(None) }
}

impl Proxy {
    /// Standard input of `rank`: mpiexec's own, a copy of it, or nothing.
    pub(super) fn stdin_of(&mut self, rank: usize) -> io::Result<OwnedFd> {
        let reads = match self.job.spec.stdin {
            Stdin::Rank(reader) => reader == self.job.world[rank],
            Stdin::All => true,
            Stdin::None => false,
        };
        match &mut self.stdin {
            Some(forwarder) if reads => forwarder.add(rank),
            None if reads => above_standard(rustix::stdio::stdin()),
            _ => null(),
        }
    }

    /// Where `rank` writes (its end), and what we read of it, if anything.
    pub(super) fn output_of(&mut self, rank: usize, channel: usize) -> io::Result<(OwnedFd, Option<Stream>)> {
        let output = &self.job.spec.output;
        let number = self.job.world[rank] as usize;
        let label = match channel {
            0 if output.stream_prefix => format!("[{number}]<stdout>: "),
            _ if output.stream_prefix => format!("[{number}]<stderr>: "),
            _ if output.rank_prefix => format!("[{number}] "),
            _ => output.prefix_pattern.as_deref().map_or(String::new(), |pattern| {
                let (app, host, pid) = (self.job.app_of[rank], &*self.job.host, std::process::id());
                pattern::expand(pattern, &Names { rank: number, app, host, pid })
            }),
        };
        let prefix = Prefix { label, timestamp: output.timestamp };
        let file = self.job.files[rank][channel].take();
        let console = (file.is_none() || output.copy).then_some(channel.min(self.writers.len() - 1));
        let terminal = console.map(|which| &self.writers[which]).filter(|writer| writer.is_terminal());
        let (reader, writer) = match terminal {
            // A container may have no pseudo-terminals, an emulated one none that can be set: the output then comes by blocks.
            Some(terminal) => pty::open(terminal.size()).or_else(|_| pipe_with(PipeFlags::CLOEXEC))?,
            None => pipe_with(PipeFlags::CLOEXEC)?,
        };
        rustix::io::ioctl_fionbio(&reader, true)?;
        self.poller.watch(&reader, output_token(rank, channel))?;
        let id = number * 2 + channel;
        Ok((
            writer,
            Some(Stream {
                reader,
                lines: Lines::default(),
                prompt: None,
                prefix,
                file,
                console,
                id,
                paused: false,
            }),
        ))
    }

    /// Copies standard input onwards.
    pub(super) fn pump_stdin(&mut self) {
        let Some(forwarder) = &mut self.stdin else { return };
        match forwarder.pump(&self.poller) {
            Pumped::Waits => {}
            Pumped::InBackground => no_later_than(&mut self.clock.stdin, BACKGROUND_DELAY),
            // Closes the pipes: ranks see the end of file.
            Pumped::Ended => self.stdin = None,
        }
    }

    /// Reads one stream once.
    pub(super) fn read_output(&mut self, rank: usize, channel: usize) {
        let Some(stream) = &mut self.ranks[rank].streams[channel] else { return };
        if stream.read(&mut self.buffer, &mut self.writers) == Flow::Ended {
            return self.close_output(rank, channel);
        }
        if let Some(at) = stream.prompt {
            self.clock.prompts.get_or_insert(at);
        }
        self.look_at_output(rank);
    }

    /// Passes on unfinished lines whose time has come.
    pub(super) fn show_prompts(&mut self, now: Instant) {
        for stream in self.ranks.iter_mut().flat_map(|rank| rank.streams.iter_mut().flatten()) {
            match stream.prompt {
                Some(at) if at <= now => stream.flush(&mut self.writers),
                Some(at) => self.clock.prompts = Some(self.clock.prompts.map_or(at, |next| next.min(at))),
                None => {}
            }
        }
    }

    /// Takes what `rank` wrote before it ended, without waiting for descendants that still hold its pipes.
    pub(super) fn drain_output(&mut self, rank: usize) {
        for channel in 0..2 {
            let Some(stream) = &mut self.ranks[rank].streams[channel] else { continue };
            let mut total = 0;
            while let Flow::Bytes(n) = stream.read(&mut self.buffer, &mut self.writers) {
                total += n;
                if total >= LAST_WORDS {
                    break;
                }
            }
            stream.flush(&mut self.writers);
        }
    }

    fn close_output(&mut self, rank: usize, channel: usize) {
        if let Some(stream) = &mut self.ranks[rank].streams[channel] {
            self.poller.forget(&stream.reader);
            stream.flush(&mut self.writers);
            self.look_at_files();
            self.ranks[rank].streams[channel] = None;
        }
    }

    /// Reports the first file that has lost output: the others are likely to be on the same disk.
    fn look_at_files(&mut self) {
        let mut streams = self.ranks.iter().flat_map(|rank| rank.streams.iter().flatten());
        let loss = streams.find_map(|stream| stream.file.as_ref()?.loss());
        if let (false, Some((path, errno))) = (self.file_lost, loss) {
            let path = path.display().to_string();
            self.file_lost = true;
            self.lose_output(path, errno);
        }
    }

    /// Gives all pseudo-terminals the size of ours.
    pub(super) fn resize_terminals(&self) {
        for stream in self.ranks.iter().flat_map(|rank| rank.streams.iter().flatten()) {
            if let Some(terminal) =
                stream.console.map(|which| &self.writers[which]).filter(|w| w.is_terminal())
            {
                pty::set_size(terminal.size(), &stream.reader);
            }
        }
    }

    /// Writes what can be written; reads nothing more from ranks while too much waits.
    pub(super) fn flush_consoles(&mut self) {
        self.look_at_files();
        while self.write_consoles() {}
        self.look_at_readers();
        self.flush_link();
    }

    /// Gives up consoles whose readers have stopped, once the user wants the job ended.
    fn look_at_readers(&mut self) {
        let now = Instant::now();
        for which in 0..self.writers.len() {
            let Outlet::Console(writer) = &mut self.writers[which] else { continue };
            if let Some(text) = self.patience.look(which, writer, now) {
                self.note(&text);
                self.pause_streams(which, false, false);
            }
        }
        self.clock.readers = self.patience.deadline();
    }

    /// Writes to each console what it takes. Whether one of them has lost output, which is then reported; no console
    /// reports twice.
    fn write_consoles(&mut self) -> bool {
        let mut losses = Vec::new();
        for which in 0..self.writers.len() {
            let writer = &mut self.writers[which];
            if let Outlet::Console(writer) = writer {
                writer.flush_and_watch(&self.poller, Token::Console(which));
                losses.extend(writer.take_loss().map(|errno| (name_of(which, writer), errno.raw_os_error())));
            }
            let (full, broken) = (writer.is_full(), writer.is_broken());
            self.pause_streams(which, full, broken);
        }
        let any = !losses.is_empty();
        losses.into_iter().for_each(|(name, errno)| self.lose_output(name, errno));
        any
    }

    /// Stops or resumes reading of streams that go to console `which`; closes them if it is broken, so that
    /// ranks notice (SIGPIPE) that the reader is gone.
    fn pause_streams(&mut self, which: usize, full: bool, broken: bool) {
        for rank in 0..self.ranks.len() {
            for channel in 0..2 {
                let Some(stream) = &mut self.ranks[rank].streams[channel] else { continue };
                if stream.console != Some(which) {
                    continue;
                }
                if broken && stream.file.is_none() {
                    self.close_output(rank, channel);
                } else if stream.paused != full {
                    stream.paused = full;
                    // The stream is watched as long as it is open.
                    let _ = self.poller.set(&stream.reader, output_token(rank, channel), !full, false);
                }
            }
        }
    }
}

fn output_token(rank: usize, channel: usize) -> Token {
    if channel == 0 { Token::Stdout(rank) } else { Token::Stderr(rank) }
}
