//! Many descriptors behind one.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A set of descriptors; it is readable itself while one of them is ready.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

/// A descriptor that is ready, by the token under which it is watched. One that is broken is both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// Names the descriptor.
    pub token: u64,
    /// There is something to read, or the end.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
}

/// Descriptors that one [`Epoll::poll`] reports at most.
pub(crate) const MOST_READY: usize = 64;

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// The system's error.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: the call takes numbers alone and touches no memory of ours.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        Ok(Epoll(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Reports `fd` as `token` while it is readable, and with `room` while it is writable.
    ///
    /// # Errors
    /// The system's error.
    pub fn add(&self, fd: BorrowedFd<'_>, token: u64, room: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, room)
    }

    /// Changes what [`Epoll::add`] set.
    ///
    /// # Errors
    /// The system's error.
    pub fn change(&self, fd: BorrowedFd<'_>, token: u64, room: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, room)
    }

    /// Reports `fd` as `token` the next time that it is readable, be that now, and then no more until this is called
    /// again. It was added before.
    ///
    /// # Errors
    /// The system's error.
    pub fn report_once(&self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        self.set(libc::EPOLL_CTL_MOD, fd, token, libc::EPOLLIN | libc::EPOLLONESHOT)
    }

    /// Reports `fd` no longer. Closing it is not enough where a forked child has it, too.
    pub fn remove(&self, fd: BorrowedFd<'_>) {
        // Fails only for a descriptor that is not in the set.
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, 0, false);
    }

    fn control(&self, what: i32, fd: BorrowedFd<'_>, token: u64, room: bool) -> io::Result<()> {
        self.set(what, fd, token, if room { libc::EPOLLIN | libc::EPOLLOUT } else { libc::EPOLLIN })
    }

    fn set(&self, what: i32, fd: BorrowedFd<'_>, token: u64, events: i32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        // SAFETY: the event is valid for the call, both descriptors are open.
        let rc = unsafe { libc::epoll_ctl(self.0.as_raw_fd(), what, fd.as_raw_fd(), &mut event) };
        if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Replaces `ready` by the descriptors that are ready now, without waiting for one.
    pub fn poll(&self, ready: &mut Vec<Ready>) {
        self.poll_for(ready, 0);
    }

    /// As [`Epoll::poll`], asleep until one is ready or a signal comes.
    pub fn wait(&self, ready: &mut Vec<Ready>) {
        self.poll_for(ready, -1);
    }

    fn poll_for(&self, ready: &mut Vec<Ready>, millis: i32) {
        ready.clear();
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; MOST_READY];
        // SAFETY: `events` has room for `MOST_READY` events.
        let count =
            unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), MOST_READY as i32, millis) };
        let broken = libc::EPOLLERR | libc::EPOLLHUP;
        // An interruption is as good as nothing: the next call sees the same.
        ready.extend(events.iter().take(count.max(0) as usize).map(|event| {
            let events = event.events as i32;
            Ready {
                token: event.u64,
                readable: events & (libc::EPOLLIN | broken) != 0,
                writable: events & (libc::EPOLLOUT | broken) != 0,
            }
        }));
    }
}

/// To sleep on: readable while a descriptor of the set is ready.
impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::{Epoll, Ready};
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_is_ready_is_reported_until_it_is_removed() {
        let set = Epoll::new().unwrap();
        let (mut writer, reader) = UnixStream::pair().unwrap();
        set.add(reader.as_fd(), 7, false).unwrap();
        let mut ready = Vec::new();
        set.poll(&mut ready);
        assert_eq!(ready, []);
        writer.write_all(b"x").unwrap();
        set.poll(&mut ready);
        assert_eq!(ready, [Ready { token: 7, readable: true, writable: false }]);
        set.change(reader.as_fd(), 8, true).unwrap();
        set.poll(&mut ready);
        assert_eq!(ready, [Ready { token: 8, readable: true, writable: true }]);
        set.report_once(reader.as_fd(), 9).unwrap();
        set.wait(&mut ready);
        assert_eq!(ready, [Ready { token: 9, readable: true, writable: false }]);
        set.poll(&mut ready);
        assert_eq!(ready, []);
        set.change(reader.as_fd(), 8, true).unwrap();
        set.remove(reader.as_fd());
        set.poll(&mut ready);
        assert_eq!(ready, []);
    }
}
