//! Calls the owner of a port that has several addresses.
//!
//! It is not known which of them lead there, and what goes to a network that this host does not reach is often dropped
//! in silence. So the next address is tried when one has not answered for a quarter of a second, and all that were
//! tried go on meanwhile (as RFC 8305 has it). The first one wins whose owner proves to know the secret.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use connect::{Secret, Who};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::link::{Link, random};

/// Time between two attempts.
const NEXT: Duration = Duration::from_millis(250);
/// How long an address may be silent after the last attempt has begun. The kernel repeats a request after 1, 3 and 7 s,
/// since a network may lose packets.
const SILENCE: Duration = Duration::from_millis(7500);
/// Longest wait for the owner's part of the exchange.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Calls the owner at the first of `addresses` where it answers and proves to know the secret.
///
/// # Errors
/// What happened at each address.
pub fn call(addresses: &[SocketAddr], secret: Secret, who: Who) -> Result<Link, String> {
    let mut left = addresses.iter();
    let mut attempts: Vec<(SocketAddr, TcpStream)> = Vec::new();
    let mut failures: Vec<String> = Vec::new();
    let mut last = Instant::now();
    loop {
        if attempts.is_empty() || last.elapsed() >= NEXT {
            match left.next() {
                Some(&address) => {
                    last = Instant::now();
                    match platform::tcp::connect(address) {
                        Ok(stream) => attempts.push((address, stream)),
                        Err(why) => failures.push(format!("{address}: {why}")),
                    }
                    continue;
                }
                None if attempts.is_empty() || last.elapsed() >= SILENCE => break,
                None => {}
            }
        }
        let limit = if left.len() > 0 { NEXT } else { SILENCE };
        for (address, stream) in take_answered(&mut attempts, limit.saturating_sub(last.elapsed())) {
            match agree(stream, secret, who) {
                Ok(link) => return Ok(link),
                Err(why) => failures.push(format!("{address}: {why}")),
            }
        }
    }
    let silent = |(address, _)| format!("{address}: it has not answered for {} s", SILENCE.as_secs());
    failures.extend(attempts.into_iter().map(silent));
    Err(failures.join("; "))
}

/// Waits for answers, whatever they are; the attempts that have one.
fn take_answered(
    attempts: &mut Vec<(SocketAddr, TcpStream)>,
    limit: Duration,
) -> Vec<(SocketAddr, TcpStream)> {
    let mut sockets: Vec<PollFd<'_>> =
        attempts.iter().map(|(_, stream)| PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::OUT)).collect();
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
    // An interruption is as good as an event: the caller tries again.
    let _ = poll(&mut sockets, Some(&limit));
    let mut answered =
        sockets.iter().map(|socket| !socket.revents().is_empty()).collect::<Vec<_>>().into_iter();
    attempts.extract_if(.., |_| answered.next() == Some(true)).collect()
}

fn agree(stream: TcpStream, secret: Secret, who: Who) -> Result<Link, String> {
    let words = |error: io::Error| error.to_string();
    if let Some(error) = stream.take_error().map_err(words)? {
        return Err(error.to_string());
    }
    stream.set_nonblocking(false).map_err(words)?;
    let session = connect::prove(&stream, secret, who, random()?, TIMEOUT)?;
    Link::new(stream, session).map_err(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use connect::{Acceptor, Protection, Role};
    use rustix::net::{AddressFamily, SocketType};
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;

    const WHO: Who = Who { role: Role::Daemon, job: 1, from: 2, to: 0 };

    fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// An address that answers no further request; what must be kept for that.
    fn silent() -> (TcpListener, Vec<TcpStream>, SocketAddr) {
        let (listener, address) = listener();
        // SAFETY: no pointers; the socket listens already, so only the length of its queue changes.
        assert_eq!(unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), 0) }, 0);
        let first = TcpStream::connect(address).unwrap();
        (listener, vec![first], address)
    }

    /// An address that refuses, and what keeps others from listening there meanwhile.
    fn closed() -> (OwnedFd, SocketAddr) {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = rustix::net::getsockname(&socket).unwrap().try_into().unwrap();
        (socket, address)
    }

    /// The caller that the owner of `listener` admits when these addresses are called with this secret.
    fn heard(listener: TcpListener, addresses: Vec<SocketAddr>, secret: Secret) -> Result<Who, String> {
        let caller = std::thread::spawn(move || call(&addresses, secret, WHO));
        listener.set_nonblocking(true).unwrap();
        let mut acceptor = Acceptor::new("the test", Secret::new(77), Protection::Encrypt, None);
        let mut caller = Some(caller);
        // The caller sends last, so it may have ended before that is read.
        let mut until = None;
        while until.is_none_or(|until| Instant::now() < until) {
            if let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(true).unwrap();
                acceptor.add(stream, Instant::now());
            }
            if let Some((_, who, _)) = acceptor.hear(Instant::now(), || 5, |_| Ok(())).pop() {
                if let Some(caller) = caller.take() {
                    caller.join().unwrap()?;
                }
                return Ok(who);
            }
            if let Some(ended) = caller.take_if(|caller| caller.is_finished()) {
                ended.join().unwrap()?;
                until = Some(Instant::now() + TIMEOUT);
            }
        }
        Err("called another process".to_owned())
    }

    #[test]
    fn an_address_that_answers_is_found_among_others() {
        let (listener, address) = listener();
        let (_silent, _kept, silent) = silent();
        let (_held, closed) = closed();
        // Of another owner, which sends nothing that makes sense and closes.
        let (other, stranger) = self::listener();
        let strange = std::thread::spawn(move || drop(other.accept()));
        assert_eq!(heard(listener, vec![silent, closed, stranger, address], Secret::new(77)), Ok(WHO));
        strange.join().unwrap();
    }

    #[test]
    fn what_happened_at_each_address_is_said() {
        let (_held, closed) = closed();
        let (_silent, _kept, silent) = silent();
        let why = call(&[silent, closed], Secret::new(77), WHO).err().unwrap();
        assert!(why.contains(&format!("{closed}: Connection refused")), "{why}");
        assert!(why.contains(&format!("{silent}: it has not answered")), "{why}");
    }

    #[test]
    fn a_caller_without_the_secret_finds_no_acceptor() {
        let (listener, address) = listener();
        let why = heard(listener, vec![address], Secret::new(1)).unwrap_err();
        assert!(why.contains("does not know the job's secret"), "{why}");
    }
}
