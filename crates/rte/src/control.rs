//! What the watching mpiexec process and the guard tell each other. One message is one packet.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};

/// A message; all but [`Message::SegmentWanted`] go to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The shared memory is allocated and sealed.
    SegmentReady,
    /// The shared memory could not be had; the system's error number.
    SegmentFailed(i32),
    /// mpiexec got this signal.
    Signal(i32),
    /// To mpiexec: the first rank calls `MPI_Init`, so the shared memory will be used.
    SegmentWanted,
}

/// Both ends of a new control connection.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

impl Message {
    /// Sends the message. An error means that the other process has ended, which its pidfd tells as well.
    pub fn send(self, to: impl AsFd) -> io::Result<()> {
        let (kind, number) = match self {
            Message::SegmentReady => (0u8, 0),
            Message::SegmentFailed(errno) => (1, errno),
            Message::Signal(signal) => (2, signal),
            Message::SegmentWanted => (3, 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        send(to, &[kind, a, b, c, d], SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        Ok(())
    }

    /// The next message; `None` when there is none now or the other end is gone.
    pub fn receive(from: impl AsFd) -> Option<Message> {
        let mut bytes = [0; 5];
        match recv(from, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((5, _)) => Message::decode(bytes),
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
        for message in [Message::SegmentReady, Message::SegmentFailed(12), Message::Signal(-1)] {
            message.send(&ours).unwrap();
        }
        assert_eq!(Message::receive(&theirs), Some(Message::SegmentReady));
        assert_eq!(Message::receive(&theirs), Some(Message::SegmentFailed(12)));
        assert_eq!(Message::receive(&theirs), Some(Message::Signal(-1)));
        assert_eq!(Message::receive(&theirs), None);
    }
}
