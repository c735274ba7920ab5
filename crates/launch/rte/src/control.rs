//! What the watching mpiexec process and the proxy send each other, and mpiexecs of jobs of which one has spawned the other. One message
//! is one packet.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pmi::scm;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::far_failure::FarFailure;

/// The other process may take so long until it has room for a packet.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Bytes of a packet: what it is, a number, a job.
const LENGTH: usize = 13;
/// In the place of a rank: all of the job.
const ALL: i32 = -1;

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
    /// From a spawned job's mpiexec: the number of its job.
    Begun(u64),
    /// Between mpiexecs, to mpiexec and to the proxy: this has failed.
    Failed(FarFailure),
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
    let mut bytes = [0; LENGTH];
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
        let (kind, number, job) = match self {
            Message::SegmentReady => (0u8, 0, 0),
            Message::SegmentFailed(errno) => (1, errno, 0),
            Message::Signal(signal) => (2, signal, 0),
            Message::SegmentWanted => (3, 0, 0),
            Message::Launch => (4, 0, 0),
            Message::Begun(job) => (5, 0, job),
            Message::Failed(FarFailure { job, rank }) => (6, rank.map_or(ALL, |rank| rank as i32), job),
        };
        let mut bytes = [0; LENGTH];
        bytes[0] = kind;
        bytes[1..5].copy_from_slice(&i32::to_le_bytes(number));
        bytes[5..].copy_from_slice(&u64::to_le_bytes(job));
        scm::send(to.as_fd(), &bytes, descriptor.as_slice()).map(drop)
    }

    /// As [`Message::send`], and waits for room, if not for long.
    pub fn send_patiently(self, to: impl AsFd) -> io::Result<()> {
        match self.send(&to) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&PATIENCE))?;
                self.send(to)
            }
            outcome => outcome,
        }
    }

    fn decode([kind, a, b, c, d, job @ ..]: [u8; LENGTH]) -> Option<Message> {
        let (number, job) = (i32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(job));
        match kind {
            0 => Some(Message::SegmentReady),
            1 => Some(Message::SegmentFailed(number)),
            2 => Some(Message::Signal(number)),
            3 => Some(Message::SegmentWanted),
            4 => Some(Message::Launch),
            5 => Some(Message::Begun(job)),
            6 => Some(Message::Failed(FarFailure { job, rank: (number != ALL).then_some(number as u32) })),
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
        let failed = |rank| Message::Failed(FarFailure { job: u64::MAX, rank });
        let sent = [Message::SegmentFailed(12), Message::Signal(-1), failed(Some(3)), failed(None)];
        for message in sent {
            message.send(&ours).unwrap();
        }
        for (expected, has_descriptor) in
            std::iter::once((Message::SegmentReady, true)).chain(sent.map(|message| (message, false)))
        {
            let Received::Message(message, descriptor) = receive(&theirs) else { panic!() };
            assert_eq!((message, descriptor.is_some()), (expected, has_descriptor));
        }
        assert!(matches!(receive(&theirs), Received::Nothing));
        drop(ours);
        assert!(matches!(receive(&theirs), Received::End));
    }
}
