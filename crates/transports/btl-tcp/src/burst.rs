//! Short messages to one peer in a row, which leave together: a system call and a segment for each take a hundred times as long as
//! a copy.
//!
//! ```text
//!   the first [`AT_ONCE`] messages       leave at once, as a single one does
//!   those after them                     are kept, and leave when there are enough (`btl_tcp_burst`)
//!   the process polls, or does anything else with the transport:  what is kept leaves
//!   the process computes:  the releaser, a thread of the transport, sends it after [`LONGEST`]
//! ```
//! What is kept lies behind a lock of its own, so that the thread needs nothing else of the transport.

use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Payload of a short message, in bytes, at most.
pub(crate) const SHORT: usize = 1 << 10;
/// Messages of a burst that leave at once.
const AT_ONCE: u32 = 4;
/// How long a process that computes keeps a message back.
const LONGEST: Duration = Duration::from_micros(100);
/// Looks of the thread, [`LONGEST`] apart, that may find nothing before it sleeps until it is woken: while bursts follow one another
/// the process need not wake it for each.
const LOOKS: u32 = 2;

/// A connection.
pub(crate) trait Stream: Send + Sync + 'static {
    /// Sends what there is room for; how many bytes. `Ok(0)`: there is no room now.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;
}

/// The messages that were sent last, if nothing else was done since.
#[derive(Debug)]
pub(crate) struct Burst<S = TcpStream> {
    /// To whom: the conversation.
    to: u32,
    messages: u32,
    /// Bytes from which on what is kept leaves; 0: nothing is kept.
    most: usize,
    /// Messages were kept since the last [`Burst::take`].
    keeps: bool,
    releaser: Option<Releaser<S>>,
    /// The memory of what was kept before.
    spare: Vec<u8>,
}

impl<S: Stream> Burst<S> {
    pub(crate) fn new(most: usize) -> Burst<S> {
        Burst { to: 0, messages: 0, most, keeps: false, releaser: None, spare: Vec::new() }
    }

    /// Whether messages are kept, and a message to `to` would not be one more of them: they leave before it.
    #[inline]
    pub(crate) fn is_before(&self, to: u32) -> bool {
        self.keeps && self.to != to
    }

    /// Counts a short message to a peer; whether it may be kept.
    #[inline]
    pub(crate) fn next(&mut self, to: u32) -> bool {
        self.messages = if self.to == to { self.messages + 1 } else { 1 };
        self.to = to;
        self.messages > AT_ONCE && self.most > 0
    }

    /// Keeps a message, which `write` adds to those before it; whether there are enough to leave. `None`: the system has no thread
    /// that could send it, and nothing is ever kept.
    pub(crate) fn keep(&mut self, stream: &Arc<S>, write: impl FnOnce(&mut Vec<u8>)) -> Option<bool> {
        if self.releaser.is_none() {
            self.releaser = Releaser::start().ok();
        }
        let Some(releaser) = &self.releaser else {
            self.most = 0;
            return None;
        };
        self.keeps = true;
        Some(releaser.keep(stream, write) >= self.most)
    }

    /// Whether messages are kept: all, or to this peer.
    #[inline]
    pub(crate) fn keeps(&self, to: Option<u32>) -> bool {
        self.keeps && to.is_none_or(|to| self.to == to)
    }

    /// The process does something else than to send short messages to the same peer.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.messages = 0;
    }

    /// What is kept, and for whom; the caller sends it before all else.
    pub(crate) fn take(&mut self) -> (u32, &[u8]) {
        self.keeps = false;
        self.spare.clear();
        self.releaser.iter().for_each(|releaser| releaser.take(&mut self.spare));
        (self.to, &self.spare)
    }
}

/// A thread that sends what is kept while the process computes. It is there from the first burst on, and ends with this.
#[derive(Debug)]
struct Releaser<S>(Arc<Shared<S>>);

#[derive(Debug)]
struct Shared<S> {
    kept: Mutex<Kept<S>>,
    woken: Condvar,
}

#[derive(Debug)]
struct Kept<S> {
    bytes: Vec<u8>,
    /// Where they go, unless that is closed.
    to: Weak<S>,
    /// Until when they are kept.
    until: Instant,
    /// The thread sleeps until it is woken.
    sleeps: bool,
    ends: bool,
}

impl<S: Stream> Releaser<S> {
    fn start() -> io::Result<Releaser<S>> {
        let kept =
            Kept { bytes: Vec::new(), to: Weak::new(), until: Instant::now(), sleeps: false, ends: false };
        let shared = Arc::new(Shared { kept: Mutex::new(kept), woken: Condvar::new() });
        let its = Arc::clone(&shared);
        platform::thread::start("alhena-tcp", move || its.run())?;
        Ok(Releaser(shared))
    }

    /// Keeps what `write` adds; how many bytes that are in all.
    fn keep(&self, stream: &Arc<S>, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let mut kept = self.0.lock();
        if kept.bytes.is_empty() {
            kept.to = Arc::downgrade(stream);
            kept.until = Instant::now() + LONGEST;
            if std::mem::take(&mut kept.sleeps) {
                self.0.woken.notify_one();
            }
        }
        write(&mut kept.bytes);
        kept.bytes.len()
    }

    fn take(&self, into: &mut Vec<u8>) {
        std::mem::swap(&mut self.0.lock().bytes, into);
    }
}

impl<S> Drop for Releaser<S> {
    fn drop(&mut self) {
        self.0.lock().ends = true;
        self.0.woken.notify_one();
    }
}

impl<S> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, Kept<S>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Stream> Shared<S> {
    /// The thread.
    fn run(&self) {
        let mut kept = self.lock();
        let mut idle = 0;
        while !kept.ends {
            let left = kept.until.saturating_duration_since(Instant::now());
            idle = if kept.bytes.is_empty() { idle + 1 } else { 0 };
            kept = if idle > LOOKS {
                idle = 0;
                kept.sleeps = true;
                self.woken.wait(kept).unwrap_or_else(PoisonError::into_inner)
            } else if idle == 0 && left.is_zero() {
                kept.release();
                kept
            } else {
                let limit = if idle == 0 { left } else { LONGEST };
                self.woken.wait_timeout(kept, limit).unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }
}

impl<S: Stream> Kept<S> {
    /// Sends what there is room for, as the process does not: what is left waits for its next call, or some more.
    fn release(&mut self) {
        let sent =
            self.to.upgrade().map_or(Err(io::ErrorKind::NotConnected.into()), |to| to.send(&self.bytes));
        match sent {
            Ok(sent) => drop(self.bytes.drain(..sent)),
            // The connection has ended, which reading reports.
            Err(_) => self.bytes.clear(),
        }
        self.until = Instant::now() + LONGEST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    const MOST: usize = 1000;

    /// A socket with room for some bytes at a time.
    #[derive(Default)]
    struct Socket(Mutex<Vec<u8>>);

    impl Stream for Socket {
        fn send(&self, bytes: &[u8]) -> io::Result<usize> {
            let room = bytes.len().min(100);
            self.0.lock().unwrap().extend(&bytes[..room]);
            Ok(room)
        }
    }

    impl Socket {
        fn count(&self) -> usize {
            self.0.lock().unwrap().len()
        }
    }

    /// Sends what is kept.
    fn end(burst: &mut Burst<Socket>, socket: &Socket) {
        burst.end();
        let bytes = burst.take().1;
        socket.0.lock().unwrap().extend(bytes);
    }

    /// Sends one byte as the transport sends a message.
    fn send(burst: &mut Burst<Socket>, socket: &Arc<Socket>, byte: u8) {
        if !burst.next(0) {
            socket.0.lock().unwrap().push(byte);
        } else if burst.keep(socket, |bytes| bytes.push(byte)) == Some(true) {
            end(burst, socket);
        }
    }

    #[test]
    fn only_messages_in_a_row_are_kept() {
        let mut burst = Burst::<Socket>::new(MOST);
        assert_eq!([(); 6].map(|()| burst.next(3)), [false, false, false, false, true, true]);
        assert!(!burst.next(2));
        assert_eq!([(); 4].map(|()| burst.next(2)), [false, false, false, true]);
        burst.end();
        assert!(!burst.next(2));
        assert_eq!([(); 4].map(|()| burst.next(2)), [false, false, false, true]);
        let socket = Arc::default();
        assert_eq!(burst.keep(&socket, |bytes| bytes.extend([1; MOST - 1])), Some(false));
        assert!(burst.keeps(Some(2)) && burst.keeps(None) && !burst.keeps(Some(3)));
        assert!(burst.is_before(3) && !burst.is_before(2));
        let mut none = Burst::<Socket>::new(0);
        assert!((0..20).all(|_| !none.next(2)));
    }

    /// Nothing but the thread can send some of these: where it misses them, this never ends.
    #[test]
    fn all_leaves_in_order_while_the_process_computes_too() {
        let mut runner = TestRunner::deterministic();
        let pauses = proptest::collection::vec(prop_oneof![9 => Just(0), 1 => 0..300_u64], 1..90);
        let socket = Arc::new(Socket::default());
        let mut burst = Burst::new(MOST);
        let mut sent = 0;
        for round in 0..500 {
            for pause in pauses.new_tree(&mut runner).unwrap().current() {
                send(&mut burst, &socket, sent as u8);
                sent += 1;
                let until = Instant::now() + Duration::from_micros(pause);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
            }
            if round % 3 == 0 {
                end(&mut burst, &socket);
            }
            while socket.count() < sent {
                platform::waiter::give_way();
            }
        }
        let bytes = socket.0.lock().unwrap();
        assert!(bytes.iter().enumerate().all(|(at, &byte)| at as u8 == byte));
    }

    #[test]
    fn what_is_kept_goes_with_its_connection() {
        let socket = Arc::new(Socket::default());
        let mut burst = Burst::new(MOST);
        (0..20).for_each(|byte| send(&mut burst, &socket, byte));
        let gone = Arc::downgrade(&socket);
        drop(socket);
        // The thread may be sending.
        while gone.upgrade().is_some() {}
        while !burst.take().1.is_empty() {}
    }
}
