//! What the watching mpiexec process and the guard tell each other. One message is one packet.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pmi::scm;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// A message; all but [`Message::SegmentWanted`] go to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The shared memory is allocated and sealed; its descriptor comes along.
    SegmentReady,
    /// The shared memory could not be had; the system's error number.
    SegmentFailed(i32),
    /// mpiexec got this signal.
    Signal(i32),
    /// To mpiexec: the first rank calls `MPI_Init`, or the first of the next program of each, so shared memory will be used.
    SegmentWanted,
}

/// Both ends of a new control connection, nonblocking.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

impl Message {
    /// Sends the message. An error means that the other process has ended, which its pidfd tells as well.
    pub fn send(self, to: impl AsFd) -> io::Result<()> {
        self.send_with(to, None)
    }

    /// [`Message::send`] with a descriptor.
    pub fn send_with(self, to: impl AsFd, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let (kind, number) = match self {
            Message::SegmentReady => (0u8, 0),
            Message::SegmentFailed(errno) => (1, errno),
            Message::Signal(signal) => (2, signal),
            Message::SegmentWanted => (3, 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        scm::send(to.as_fd(), &[kind, a, b, c, d], descriptor).map(drop)
    }

    /// The next message and the descriptor that came along; `None` when there is none now or the other end is gone.
    pub fn receive(from: impl AsFd) -> Option<(Message, Option<OwnedFd>)> {
        let mut bytes = [0; 5];
        match scm::receive(from.as_fd(), &mut bytes) {
            Ok(received) if received.bytes == bytes.len() => Some((Message::decode(bytes)?, received.fd)),
            _ => None,
        }
    }

    fn decode([kind, a, b, c, d]: [u8; 5]) -> Option<Message> {
        let number = i32::from_le_bytes([a, b, c, d]);
        match kind {
            0 => Some(Message::SegmentReady),
            1 => Some(Message::SegmentFailed(number)),
            2 => Some(Message::Signal(number)),
            3 => Some(Message::SegmentWanted),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_one_by_one() {
        let (ours, theirs) = pair().unwrap();
        Message::SegmentReady.send_with(&ours, Some(ours.as_fd())).unwrap();
        for message in [Message::SegmentFailed(12), Message::Signal(-1)] {
            message.send(&ours).unwrap();
        }
        let next = || Message::receive(&theirs).map(|(message, descriptor)| (message, descriptor.is_some()));
        assert_eq!(next(), Some((Message::SegmentReady, true)));
        assert_eq!(next(), Some((Message::SegmentFailed(12), false)));
        assert_eq!(next(), Some((Message::Signal(-1), false)));
        assert_eq!(next(), None);
    }
}
