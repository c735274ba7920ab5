//! Programs that come to the proxy by its socket: they run in a rank's place, and have not inherited the rank's
//! connection.
//!
//! ```text
//!   sh (rank 3) ─┬─ ./first            its descriptor: the connection made for rank 3
//!                └─ python ── ./second its descriptors were closed: calls at the proxy's socket, sends rank 3's hello
//! ```
//!
//! Only processes of this user that descend from this proxy are admitted, by the kernel's word on both. One whose hello
//! is taken is its rank from then on. The connection that the rank had before waits here in its place, for a program
//! after this one may have inherited it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;

use pmi::server::Server;
use pmi::wire::{Line, LineBuffer};
use pmi::{protocol, scm, socket};
use rustix::process::Pid;

use super::Proxy;
use crate::poller::{Poller, Token};
use crate::tree;

/// Callers that are kept until they send a hello, not counting connections of ranks. They send it at once.
const MOST: usize = 64;

/// The socket and the callers.
pub(super) struct Callers {
    /// `None`: this host has no such sockets, or no descriptor is left for one.
    listener: Option<UnixListener>,
    name: u64,
    /// By number of their token.
    waiting: Vec<Option<Caller>>,
}

/// A connection whose process has not sent a hello.
struct Caller {
    socket: OwnedFd,
    input: LineBuffer,
    /// The rank that it was made for.
    made_for: Option<usize>,
}

impl Callers {
    /// Opens the socket.
    pub fn new(poller: &Poller) -> io::Result<Callers> {
        let name = pmi::random().map_err(io::Error::other)?;
        let open = || {
            let listener = socket::listen(name)?;
            listener.set_nonblocking(true)?;
            scm::want_credentials(listener.as_fd())?;
            poller.watch(&listener, Token::Callers)?;
            io::Result::Ok(listener)
        };
        // Without it programs need the connection that they inherit.
        Ok(Callers { listener: open().ok(), name, waiting: Vec::new() })
    }

    /// Random number that the socket's address holds.
    pub fn name(&self) -> u64 {
        self.name
    }

    fn add(&mut self, caller: Caller, poller: &Poller) {
        let free = self.waiting.iter().position(Option::is_none).unwrap_or(self.waiting.len());
        // What cannot be watched is not kept; its process sees the end of its connection.
        if poller.watch(&caller.socket, Token::Caller(free)).is_ok() {
            match self.waiting.get_mut(free) {
                Some(place) => *place = Some(caller),
                None => self.waiting.push(Some(caller)),
            }
        }
    }

    /// Closes the first connection that was not made for a rank, if there are as many as `at_least`.
    fn give_one_up(&mut self, at_least: usize) -> bool {
        let called = |place: &Option<Caller>| place.as_ref().is_some_and(|caller| caller.made_for.is_none());
        let is_full = self.waiting.iter().filter(|place| called(place)).count() >= at_least;
        let oldest = self.waiting.iter().position(called).filter(|_| is_full);
        oldest.is_some_and(|index| self.waiting[index].take().is_some())
    }
}

impl Proxy {
    /// Accepts callers.
    pub(super) fn accept_callers(&mut self) {
        loop {
            let Some(listener) = &self.callers.listener else { return };
            match listener.accept() {
                Ok((stream, _)) => {
                    let is_ours = socket::peer_of_same_user(stream.as_fd()).is_ok();
                    let ready =
                        stream.set_nonblocking(true).and_then(|()| scm::want_credentials(stream.as_fd()));
                    if is_ours && ready.is_ok() {
                        self.callers.give_one_up(MOST);
                        let (socket, input) = (stream.into(), LineBuffer::default());
                        self.callers.add(Caller { socket, input, made_for: None }, &self.poller);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    if !self.callers.give_one_up(1) {
                        // Without a descriptor no caller can be let in, and the socket would stay readable.
                        self.callers.listener = None;
                    }
                }
                // The caller has gone again.
                Err(_) => {}
            }
        }
    }

    /// Reads what a caller sends. Its first line must be the hello of a process in a rank's place.
    pub(super) fn hear_caller(&mut self, index: usize) {
        let Some(caller) = self.callers.waiting.get_mut(index).and_then(Option::as_mut) else { return };
        let mut buffer = [0; 1024];
        let (bytes, sender) = match scm::receive(caller.socket.as_fd(), &mut buffer) {
            Ok(received) => (received.bytes, received.pid),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => (0, None),
        };
        caller.input.push(&buffer[..bytes]);
        let made_for = caller.made_for;
        let line = match caller.input.next_line() {
            Ok(None) if bytes > 0 => return,
            Ok(Some(line)) => line.to_vec(),
            _ => return drop(self.callers.waiting[index].take()),
        };
        let Some(line) = Line::new(&line).filter(|line| line.command() == protocol::HELLO) else {
            return drop(self.callers.waiting[index].take());
        };
        let Some(rank) = self.place_of(line, sender, made_for) else {
            self.refuse_caller(index, Server::refusal_of_stranger());
            return drop(self.callers.waiting[index].take());
        };
        // The program before may have sent its last words just now.
        self.read_pmi(rank);
        match self.server.refusal(rank, line) {
            Some(text) => {
                self.refuse_caller(index, text);
                // A program that has inherited the connection of a rank may try again.
                if made_for.is_none() {
                    self.callers.waiting[index] = None;
                }
            }
            None => {
                self.let_in(index, rank);
                let event = self.server.handle(rank, line.text().as_bytes());
                self.act(rank, event, sender);
                self.pmi_lines(rank, sender);
            }
        }
    }

    /// The rank in whose place the process `sender` runs, which has sent a hello.
    fn place_of(&self, line: Line<'_>, sender: Option<i32>, made_for: Option<usize>) -> Option<usize> {
        let number: u32 = line.number("rank")?;
        let rank = self.job.world.iter().position(|&world| world == number)?;
        let claims_well = made_for.is_none_or(|own| own == rank);
        let own = rustix::process::getpid();
        let ancestor = tree::ancestors(Pid::from_raw(sender?)?)
            .find(|&pid| pid == own || self.ranks.iter().any(|state| state.process.pid() == pid))?;
        // What no longer descends from a rank's process, because that has ended or let it go, descends from the proxy.
        let descends = ancestor == own || self.ranks[rank].process.pid() == ancestor;
        (claims_well && descends && !self.ranks[rank].is_over()).then_some(rank)
    }

    fn refuse_caller(&self, index: usize, text: String) {
        if let Some(caller) = &self.callers.waiting[index] {
            // A new connection has room for it; one that is closed needs no answer.
            let _ = scm::send(caller.socket.as_fd(), (text + "\n").as_bytes(), &[]);
        }
    }

    /// Makes the connection of a caller that of `rank`.
    fn let_in(&mut self, index: usize, rank: usize) {
        let Some(caller) = self.callers.waiting[index].take() else { return };
        let state = &mut self.ranks[rank];
        let before = state.socket.replace(caller.socket);
        let input = std::mem::replace(&mut state.input, caller.input);
        state.unsent.clear();
        state.waits_to_send = false;
        if let Some(socket) = &state.socket {
            // It is watched already.
            let _ = self.poller.set_token(socket, Token::Pmi(rank));
        }
        if let Some(socket) = before {
            self.poller.forget(&socket);
            self.callers.add(Caller { socket, input, made_for: Some(rank) }, &self.poller);
        }
    }
}
