//! Output of ranks on its way to mpiexec's own.

use super::Guard;
use super::rank::Flow;
use crate::console::Writer;
use crate::poller::Token;

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// mpiexec's standard output and error as writers; one for both where they are the same file.
pub(super) fn consoles() -> std::io::Result<Vec<Writer>> {
    let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
    let mut writers = vec![Writer::new(stdout)?];
    let same = match (rustix::fs::fstat(stdout), rustix::fs::fstat(stderr)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    };
    if !same {
        writers.push(Writer::new(stderr)?);
    }
    Ok(writers)
}

impl Guard {
    /// Reads one stream once.
    pub(super) fn read_output(&mut self, rank: usize, channel: usize) {
        let mut buffer = [0u8; CHUNK];
        let Some(stream) = &mut self.ranks[rank].streams[channel] else { return };
        if stream.read(&mut buffer, &mut self.writers) == Flow::Ended {
            self.close_output(rank, channel);
        }
    }

    /// Takes what `rank` wrote before it ended, without waiting for descendants that still hold its pipes.
    pub(super) fn drain_output(&mut self, rank: usize) {
        let mut buffer = [0u8; CHUNK];
        for channel in 0..2 {
            let Some(stream) = &mut self.ranks[rank].streams[channel] else { continue };
            let mut left = rustix::io::ioctl_fionread(&stream.reader).unwrap_or(0) as usize;
            while let Flow::Bytes(n) = stream.read(&mut buffer, &mut self.writers) {
                if n >= left {
                    break;
                }
                left -= n;
            }
            stream.flush(&mut self.writers);
        }
    }

    fn close_output(&mut self, rank: usize, channel: usize) {
        if let Some(mut stream) = self.ranks[rank].streams[channel].take() {
            self.poller.forget(&stream.reader);
            stream.flush(&mut self.writers);
        }
    }

    /// Writes what can be written.
    pub(super) fn flush_consoles(&mut self) {
        for writer in &mut self.writers {
            writer.flush();
        }
    }

    /// Writes the rest, waiting for whoever reads it; gives up when the watching mpiexec ends.
    pub(super) fn flush_last(&mut self) {
        self.flush_consoles();
        for (which, writer) in self.writers.iter().enumerate().filter(|(_, writer)| writer.is_pending()) {
            // A file takes everything at once, so what is pending can be watched.
            let _ = self.poller.watch_writable(writer, Token::Console(which));
        }
        while self.writers.iter().any(Writer::is_pending) {
            match self.poller.wait(None) {
                Ok(tokens) if !tokens.contains(&Token::Parent) => self.flush_consoles(),
                _ => return,
            }
        }
    }
}
