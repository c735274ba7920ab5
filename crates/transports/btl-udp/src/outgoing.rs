//! Datagrams that wait for their socket, and leave together.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use platform::udp::{BATCH, send_many};

/// Datagrams that wait at most.
const MOST: usize = 256;
/// Memory that is kept for later ones.
const MOST_SPARE: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    queue: VecDeque<(Vec<u8>, SocketAddr)>,
    spare: Vec<Vec<u8>>,
    /// The socket had no room: the set reports when it has.
    pub(crate) awaits_room: bool,
}

/// What became of the datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flushed {
    /// All have left, or are lost where the network takes none now.
    Gone,
    /// Some wait for room in the socket.
    Waits,
    /// The socket's own address is gone.
    Homeless,
}

impl Outgoing {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < MOST
    }

    /// Enough wait that they should leave.
    pub(crate) fn is_batch(&self) -> bool {
        self.queue.len() >= BATCH && !self.awaits_room
    }

    pub(crate) fn memory(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, datagram: Vec<u8>, to: SocketAddr) {
        self.queue.push_back((datagram, to));
    }

    /// Lets leave what the socket takes.
    pub(crate) fn flush(&mut self, socket: BorrowedFd<'_>) -> Flushed {
        let mut end = Flushed::Gone;
        while !self.queue.is_empty() {
            let left = match send_many(socket, self.queue.iter().map(|(bytes, to)| (bytes.as_slice(), *to))) {
                Ok(count) => count.max(1),
                Err(error) if is_full(&error) => return Flushed::Waits,
                Err(error) => {
                    if is_homeless(&error) {
                        end = Flushed::Homeless;
                    }
                    // The network takes this one not now, or never: it is one that is lost.
                    1
                }
            };
            for (datagram, _) in self.queue.drain(..left) {
                if self.spare.len() < MOST_SPARE {
                    self.spare.push(datagram);
                }
            }
        }
        end
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        || error.raw_os_error() == Some(ENOBUFS)
}

const ENOBUFS: i32 = 105;

/// What the kernel answers where no interface has the address of the socket any more.
fn is_homeless(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::InvalidInput | io::ErrorKind::NetworkUnreachable
    )
}
