//! Ports: where processes of other jobs call (MPI-5.0 section 11.8.2).
//!
//! ```text
//!   alhena1_0123456789abcdef_00112233445566778899aabbccddeeff_40123_10.0.0.1_fd00::1
//!           number           token                            port  addresses
//! ```
//! The token is random, and the proof that callers have been given the name. Names have no blanks and none of the
//! characters that shells read.

use std::collections::VecDeque;
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use abi::{Error, Result};
use btl_tcp::TcpParams;
use connect::{Acceptor, Protection, Role, Secret, Session, Who};
use objects::info::Info;
use platform::eventfd::EventFd;

/// The beginning of all names, with the version of what follows.
const MARK: &str = "alhena1";

/// What a port's name is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    /// The port's number.
    pub(crate) id: u64,
    token: u128,
    /// Where it listens.
    pub(crate) places: Vec<SocketAddr>,
}

impl Name {
    /// What a caller proves to know.
    pub(crate) fn secret(&self) -> Secret {
        Secret::new(self.token)
    }

    /// What a caller of this port calls itself.
    pub(crate) fn who(&self) -> Who {
        Who { role: Role::Process, job: self.id, from: 0, to: 0 }
    }

    fn encode(&self) -> String {
        let port = self.places.first().map_or(0, SocketAddr::port);
        let mut text = format!("{MARK}_{:016x}_{:032x}_{port}", self.id, self.token);
        for place in &self.places {
            // Writing to a string cannot fail.
            let _ = write!(text, "_{}", place.ip());
        }
        text
    }

    /// What [`Name::encode`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Name> {
        let mut words = text.trim().split('_');
        let mut next = || words.next();
        if next()? != MARK {
            return None;
        }
        let id = u64::from_str_radix(next()?, 16).ok()?;
        let token = u128::from_str_radix(next()?, 16).ok()?;
        let port: u16 = next()?.parse().ok()?;
        let place = |word: &str| word.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, port));
        let places: Vec<SocketAddr> = words.map(place).collect::<Option<_>>()?;
        (!places.is_empty()).then_some(Name { id, token, places })
    }
}

/// An open port.
pub(crate) struct Port {
    pub(crate) name: String,
    id: u64,
    listener: TcpListener,
    door: Mutex<Door>,
    /// Readable while there are callers that no thread may be waiting for: proven ones, and those that a thread has let in
    /// that has gone since.
    more: EventFd,
}

struct Door {
    acceptor: Acceptor<TcpStream>,
    proven: VecDeque<(TcpStream, Session)>,
}

/// How a wait for a caller has ended.
pub(crate) enum Arrived {
    Caller(TcpStream, Box<Session>),
    /// A descriptor that was watched is readable.
    Watched,
    TimedOut,
}

impl Port {
    /// Opens one. Of the hints `ip_port` and `ip_address` choose where.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER`: no port can be had.
    pub(crate) fn open(params: &TcpParams, hints: &Info) -> Result<Port> {
        let mut params = params.clone();
        if let Some(port) = hints.get("ip_port") {
            port.clone_into(&mut params.ports);
        }
        if let Some(address) = hints.get("ip_address") {
            address.clone_into(&mut params.if_include);
        }
        let failed = Error::new(abi::ERR_OTHER, "a port cannot be opened");
        let opened = btl_tcp::listen(&params).map_err(|error| failed.described(|| error.to_string()))?;
        let system = |error: std::io::Error| failed.described(|| error.to_string());
        let (id, token) = platform::random::number()
            .and_then(|id| Ok((id, platform::random::secret()?)))
            .map_err(system)?;
        let card = opened.card();
        let (port, addresses) = card.parts();
        let places = addresses.iter().map(|&address| SocketAddr::new(address, port)).collect();
        let name = Name { id, token, places };
        let acceptor = Acceptor::new("a port of MPI_Open_port", name.secret(), Protection::Encrypt, None);
        Ok(Port {
            name: name.encode(),
            id,
            listener: opened.listener,
            door: Mutex::new(Door { acceptor: acceptor.for_processes(), proven: VecDeque::new() }),
            more: EventFd::new().map_err(system)?,
        })
    }

    fn door(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a caller that knows the port's name, until `end`; or until one that is watched is readable. Several threads may wait.
    pub(crate) fn next_caller(&self, watched: &[i32], end: Option<Instant>) -> Arrived {
        loop {
            let (fds, wake) = {
                let mut door = self.door();
                if let Some((stream, session)) = self.hear(&mut door) {
                    return Arrived::Caller(stream, Box::new(session));
                }
                let callers = door.acceptor.callers().map(AsRawFd::as_raw_fd);
                let own = [self.listener.as_raw_fd(), self.more.as_fd().as_raw_fd()];
                let fds: Vec<i32> = own.into_iter().chain(callers).chain(watched.iter().copied()).collect();
                (fds, door.acceptor.deadline())
            };
            if watched.iter().any(|&fd| platform::descriptor::wait_readable(fd, Some(Duration::ZERO))) {
                self.leave(&self.door());
                return Arrived::Watched;
            }
            let now = Instant::now();
            if end.is_some_and(|end| end <= now) {
                self.leave(&self.door());
                return Arrived::TimedOut;
            }
            let until = end.into_iter().chain(wake).min();
            platform::descriptor::wait_any(&fds, until.map(|until| until.saturating_duration_since(now)));
        }
    }

    /// Takes those that call, reads what has come, and hands out one that has proven itself.
    fn hear(&self, door: &mut Door) -> Option<(TcpStream, Session)> {
        let now = Instant::now();
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_ok() {
                door.acceptor.add(stream, now);
            }
        }
        let expect = |who: &Who| match who.job == self.id && who.role == Role::Process {
            true => Ok(()),
            false => Err(Some("it calls at another port")),
        };
        let admitted = door.acceptor.hear(now, platform::random::nonce, expect);
        door.proven.extend(admitted.into_iter().map(|(stream, _, session)| (stream, session)));
        let first = door.proven.pop_front();
        match first {
            Some(_) => self.leave(door),
            None => self.more.drain(),
        }
        first
    }

    /// A thread ends its wait. Other threads that wait may sleep without the callers that it has let in.
    fn leave(&self, door: &Door) {
        match door.proven.is_empty() && door.acceptor.callers().next().is_none() {
            true => self.more.drain(),
            false => self.more.signal(),
        }
    }
}

/// The parameters of TCP, which hold for ports, too.
pub(crate) fn tcp_params(values: &mca::Values) -> Result<TcpParams> {
    let bad = Error::new(abi::ERR_OTHER, "a parameter of TCP does not fit");
    TcpParams::read(values).map_err(|error| bad.described(|| error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another thread may have gone to sleep before the caller without a word came.
    #[test]
    fn a_thread_that_leaves_with_a_caller_wakes_threads_for_the_others() {
        let port = Port::open(&TcpParams::default(), &Info::default()).unwrap();
        let must_wake =
            || platform::descriptor::wait_readable(port.more.as_fd().as_raw_fd(), Some(Duration::ZERO));
        let name = Name::parse(&port.name).unwrap();
        let silent = name.places.iter().find_map(|&place| TcpStream::connect(place).ok()).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        let never = EventFd::new().unwrap();
        let caller = std::thread::spawn(move || {
            crate::dial::dial(&name, Some(end), never.as_fd().as_raw_fd()).unwrap().is_some()
        });
        assert!(matches!(port.next_caller(&[], Some(end)), Arrived::Caller(..)));
        assert!(caller.join().unwrap());
        assert!(must_wake());
        assert!(matches!(port.next_caller(&[], Some(Instant::now())), Arrived::TimedOut));
        assert!(must_wake());
        drop(silent);
        while port.door().acceptor.callers().next().is_some() {
            port.next_caller(&[], Some(Instant::now()));
        }
        assert!(!must_wake());
    }

    #[test]
    fn names_are_read_as_they_were_written() {
        let places = ["10.0.0.1:4711", "[fd00::1]:4711"].map(|place| place.parse().unwrap()).to_vec();
        let name = Name { id: 7 << 60, token: 1 << 127 | 5, places };
        let text = name.encode();
        assert_eq!(Name::parse(&format!(" {text}\n")), Some(name));
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:".contains(&byte)), "{text}");
        for text in [
            "",
            "alhena1",
            "alhena2_1_1_1_::1",
            "alhena1_x_1_1_::1",
            "alhena1_1_1_1",
            "alhena1_1_1_99999_::1",
        ] {
            assert_eq!(Name::parse(text), None, "{text}");
        }
    }
}
