//! Where a proxy's output goes: mpiexec's own standard output and error, or mpiexec on another host.

use std::collections::VecDeque;

use rustix::termios::Winsize;

use crate::console::Writer;
use crate::link::{CREDIT, Link};
use crate::messages::Up;
use crate::pty;
use crate::wire::Bytes;

/// Above this many waiting bytes ranks are no longer read.
const HIGH_WATER: usize = 1 << 20;
/// A frame of output has so many bytes at most, unless it is one line.
const PIECE: usize = 16 * 1024;

/// mpiexec's outputs as a daemon learns of them: rows and columns of each that is a terminal.
pub(crate) type Outputs = Vec<Option<(u16, u16)>>;

/// One output.
pub(crate) enum Outlet {
    /// Written by this process.
    Console(Writer),
    /// Written by mpiexec.
    Remote(Remote),
}

/// Output on its way to mpiexec.
pub(crate) struct Remote {
    /// Standard output (0) or error (1).
    channel: u8,
    /// Stream and bytes of each piece that waits for credit.
    pieces: VecDeque<(u32, Vec<u8>)>,
    /// Bytes in `pieces`.
    waiting: usize,
    broken: bool,
    /// Size of mpiexec's terminal, if it writes to one.
    terminal: Option<Winsize>,
}

impl Outlet {
    /// Output number `channel` of a mpiexec whose terminal has so many rows and columns, if it has one.
    pub fn remote(channel: u8, terminal: Option<(u16, u16)>) -> Outlet {
        let terminal = terminal.map(|size| window(size.0, size.1));
        Outlet::Remote(Remote { channel, pieces: VecDeque::new(), waiting: 0, broken: false, terminal })
    }

    /// Whether a person is likely to watch.
    pub fn is_terminal(&self) -> bool {
        match self {
            Outlet::Console(writer) => writer.is_terminal(),
            Outlet::Remote(remote) => remote.terminal.is_some(),
        }
    }

    /// The terminal's size, where that is known.
    pub fn size(&self) -> Option<Winsize> {
        match self {
            Outlet::Console(writer) => pty::size_of(writer),
            Outlet::Remote(remote) => remote.terminal,
        }
    }

    /// The terminal has a new size.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        if let Outlet::Remote(remote) = self
            && remote.terminal.is_some()
        {
            remote.terminal = Some(window(rows, columns));
        }
    }

    /// Whether the reader is gone.
    pub fn is_broken(&self) -> bool {
        match self {
            Outlet::Console(writer) => writer.is_broken(),
            Outlet::Remote(remote) => remote.broken,
        }
    }

    /// Too much is waiting: read nothing more from ranks for now.
    pub fn is_full(&self) -> bool {
        match self {
            Outlet::Console(writer) => writer.is_full(),
            Outlet::Remote(remote) => remote.waiting > HIGH_WATER,
        }
    }

    /// Whether bytes wait to be written.
    pub fn is_pending(&self) -> bool {
        match self {
            Outlet::Console(writer) => writer.is_pending(),
            Outlet::Remote(remote) => remote.waiting > 0 && !remote.broken,
        }
    }

    /// Queues what `fill` appends for `stream`.
    pub fn put(&mut self, stream: usize, fill: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Outlet::Console(writer) => writer.put(stream, fill),
            Outlet::Remote(remote) => {
                let mut bytes = Vec::new();
                fill(&mut bytes);
                if !bytes.is_empty() && !remote.broken {
                    remote.waiting += bytes.len();
                    remote.pieces.push_back((stream as u32, bytes));
                }
            }
        }
    }

    /// The reader is gone, as mpiexec reports.
    pub fn break_off(&mut self) {
        if let Outlet::Remote(remote) = self {
            remote.broken = true;
            remote.pieces.clear();
            remote.waiting = 0;
        }
    }

    /// Sends what fits into the credit, of which `used` bytes are used.
    pub fn send(&mut self, link: &mut Link, used: &mut usize) {
        let Outlet::Remote(remote) = self else { return };
        while *used < CREDIT {
            let Some((stream, mut bytes)) = remote.pieces.pop_front() else { return };
            let rest = bytes.split_off(end_of_lines(&bytes));
            if !rest.is_empty() {
                remote.pieces.push_front((stream, rest));
            }
            remote.waiting -= bytes.len();
            *used += bytes.len();
            link.send(&Up::Output(remote.channel, stream, Bytes(bytes)));
        }
    }
}

/// Where to cut `bytes`, so that lines stay whole: other streams come between frames.
fn end_of_lines(bytes: &[u8]) -> usize {
    let fits = bytes.len().min(PIECE);
    if fits == bytes.len() {
        return fits;
    }
    let is_newline = |&byte: &u8| byte == b'\n';
    let end = bytes[..fits].iter().rposition(is_newline).or_else(|| bytes.iter().position(is_newline));
    end.map_or(bytes.len(), |at| at + 1)
}

fn window(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
