//! What the watching mpiexec process and the proxy send each other. One message is one packet.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pmi::scm;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// A message; all but [`Message::SegmentWanted`] and [`Message::Launch`] go to the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The shared memory is allocated and sealed; its descriptor comes along.
    SegmentReady,
    /// The shared memory could not be had; the system's error number.
    SegmentFailed(i32),
    /// mpiexec got this signal.
    Signal(i32),
    /// To mpiexec: the first rank calls `MPI_Init`, or the first of the next program of each, so shared memory will be
    /// used.
    SegmentWanted,
    /// To mpiexec: a rank wants another job started; the socket of its mpiexec comes along.
    Launch,
}

/// What was there to receive.
#[derive(Debug)]
pub enum Received {
    /// A message and the descriptor that came along.
    Message(Message, Option<OwnedFd>),
    /// Nothing now.
    Nothing,
    /// The other process has ended.
    End,
}

/// Receives the next message.
pub fn receive(from: impl AsFd) -> Received {
    let mut bytes = [0; 5];
    match scm::receive(from.as_fd(), &mut bytes) {
        Ok(received) if received.bytes == 0 => Received::End,
        Ok(received) => match Message::decode(bytes) {
            Some(message) => Received::Message(message, received.fds.into_iter().next()),
            None => Received::Nothing,
        },
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Received::End,
        Err(_) => Received::Nothing,
    }
}

/// Both ends of a new control connection, nonblocking.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

impl Message {
    /// Sends the message. An error means that the other process has ended, which its pidfd reports as well.
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
            Message::Launch => (4, 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        scm::send(to.as_fd(), &[kind, a, b, c, d], descriptor.as_slice()).map(drop)
    }

    fn decode([kind, a, b, c, d]: [u8; 5]) -> Option<Message> {
        let number = i32::from_le_bytes([a, b, c, d]);
        match kind {
            0 => Some(Message::SegmentReady),
            1 => Some(Message::SegmentFailed(number)),
            2 => Some(Message::Signal(number)),
            3 => Some(Message::SegmentWanted),
            4 => Some(Message::Launch),
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
        for (expected, has_descriptor) in
            [(Message::SegmentReady, true), (Message::SegmentFailed(12), false), (Message::Signal(-1), false)]
        {
            let Received::Message(message, descriptor) = receive(&theirs) else { panic!() };
            assert_eq!((message, descriptor.is_some()), (expected, has_descriptor));
        }
        assert!(matches!(receive(&theirs), Received::Nothing));
        drop(ours);
        assert!(matches!(receive(&theirs), Received::End));
    }
}
