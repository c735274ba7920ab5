//! The sockets of a process: connections by number, in one epoll set.

use crate::burst::Stream;
use crate::card::Card;
use crate::foreign::{Acquaintance, Foreign, Foreigners};
use crate::frame::CONFIRM;
use crate::hello::{JobProof, LANES, Verdict};
use crate::numbers::{lane_of, lane_to, peer_of};
use crate::output::MOST_PIECES;
use crate::pair::{Failure, Wires};
use crate::seal::{LEAST, Seal};
use connect::exchange::{CHALLENGE, Calling};
use connect::{Caller, Ends, Protection, Role as CallerRole, Secret, Session, Who};
use core::fmt;
use mem::{PeerBytes, Slab, UserMem};
use platform::descriptor::is_shortage;
use platform::epoll::Epoll;
use platform::interfaces::Interface;
use platform::tcp::Piece;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Tokens of the epoll set that are no connection's number.
pub(crate) const LISTENER: u64 = u64::MAX;
pub(crate) const STRANGER: u64 = u64::MAX - 1;
pub(crate) const TIMER: u64 = u64::MAX - 2;
/// Networks of which the bytes are counted one by one; the last one stands for all after it.
pub(crate) const COUNTED: usize = 4;

/// A socket in the set.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Arc<TcpStream>,
    set: Arc<Epoll>,
    /// Protects all bytes, once both sides have proven who they are.
    seal: Option<Box<Seal>>,
}

impl Socket {
    /// Puts a stream that does not block into the set, as `token`; with `room`, while there is room to write.
    pub(crate) fn new(stream: TcpStream, set: &Arc<Epoll>, token: u64, room: bool) -> io::Result<Socket> {
        set.add(stream.as_fd(), token, room)?;
        Ok(Socket { stream: Arc::new(stream), set: Arc::clone(set), seal: None })
    }

    pub(crate) fn report(&self, token: u64, room: bool) {
        // Can only fail for want of kernel memory, which does not grow by this.
        let _ = self.set.change(self.stream.as_fd(), token, room);
    }

    /// What the other host has answered of what was sent.
    pub(crate) fn answered(&self) -> platform::tcp::Answered {
        platform::tcp::answered(self.stream.as_fd())
    }

    /// Has the kernel find out that the other host is gone: while nothing is on its way or, where the processes are still
    /// `meeting`, at any time.
    fn give_up_after(&self, silence: Duration, meeting: bool) {
        if silence.is_zero() {
            return;
        }
        let socket = self.stream.as_fd();
        // Where the system has no such times, its own ones hold.
        let _ = platform::tcp::keep_alive(socket, silence);
        let _ = platform::tcp::give_up_after(socket, if meeting { silence } else { Duration::ZERO });
    }

    /// Whether a connection that was begun stands now; why not, if it failed.
    pub(crate) fn stands(&self) -> io::Result<bool> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        Ok(self.stream.peer_addr().is_ok())
    }

    /// From now on all bytes are protected.
    pub(crate) fn protect(&mut self, session: Session) {
        self.seal = Some(Box::new(Seal::new(session)));
    }

    /// The connection is the one: frames are protected as both sides have agreed.
    fn begin_frames(&mut self) {
        self.seal.take_if(|seal| seal.protection() == Protection::None);
    }

    /// Space that [`Socket::read`] needs for frames.
    pub(crate) fn least_space(&self) -> usize {
        if self.seal.is_some() { LEAST } else { 1 }
    }

    /// Whether memory of users can be the kernel's source and target.
    pub(crate) fn is_plain(&self) -> bool {
        self.seal.is_none()
    }

    /// The connection, where bytes are sent as they are.
    pub(crate) fn plain(&self) -> Option<&Arc<TcpStream>> {
        self.is_plain().then_some(&self.stream)
    }

    /// Whether the kernel has not taken all that was sealed.
    pub(crate) fn has_unsent(&self) -> bool {
        self.seal.as_ref().is_some_and(|seal| seal.has_unsent())
    }

    /// Writes what was sealed, as far as there is room.
    pub(crate) fn flush_unsent(&mut self) -> io::Result<()> {
        let Socket { stream, seal, .. } = self;
        seal.as_mut().map_or(Ok(()), |seal| seal.flush(|bytes| write_some(stream, bytes)))
    }

    /// Reads what is there; `Ok(None)`: nothing now. `Ok(Some(0))`: the other side has closed.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let Socket { stream, seal, .. } = self;
        match seal {
            None => read_some(stream, into),
            Some(seal) => seal.read(|into| read_some(stream, into), into),
        }
    }

    /// Sends what there is room for of `pieces`, in one system call; `Ok(0)`: no room now.
    ///
    /// # Safety
    /// The pieces are readable during the call.
    #[allow(unsafe_code, reason = "memory of users, which the kernel reads")]
    pub(crate) unsafe fn send_pieces(&mut self, pieces: &[Piece]) -> io::Result<usize> {
        let Socket { stream, seal, .. } = self;
        if let Some(seal) = seal {
            let view = |piece: &Piece| {
                // SAFETY: the caller's promise.
                unsafe { PeerBytes::new(piece.address() as *const u8, piece.len()) }
            };
            let mut views = [PeerBytes::of(&[]); MOST_PIECES];
            views.iter_mut().zip(pieces).for_each(|(space, piece)| *space = view(piece));
            return seal.send(&views[..pieces.len().min(MOST_PIECES)], |bytes| write_some(stream, bytes));
        }
        // SAFETY: the caller's promise.
        match unsafe { platform::tcp::send_pieces(self.stream.as_fd(), pieces) } {
            Err(error) if is_passing(&error) => Ok(0),
            sent => sent,
        }
    }

    /// Receives what is there into memory of a user; `Ok(None)`: nothing now. `Ok(Some(0))`: the other side has closed.
    #[allow(unsafe_code, reason = "memory of users, which the kernel writes")]
    pub(crate) fn receive_into(&self, memory: UserMem) -> io::Result<Option<usize>> {
        // SAFETY: the view's constructor vouches that the memory is writable while the view is in use.
        match unsafe { platform::tcp::receive_into(self.stream.as_fd(), memory.address(), memory.len()) } {
            Err(error) if is_passing(&error) => Ok(None),
            received => received.map(Some),
        }
    }

    /// Sends a few bytes to a socket whose buffer is empty. Where that fails, the connection breaks.
    pub(crate) fn write_word(&mut self, bytes: &[u8]) {
        let Socket { stream, seal, .. } = self;
        let written = match seal {
            None => write_some(stream, bytes),
            Some(seal) => seal.send(&[PeerBytes::of(bytes)], |bytes| write_some(stream, bytes)),
        };
        if self.has_unsent() || !matches!(written, Ok(written) if written == bytes.len()) {
            // Shows as the end of the connection when it is read.
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }
}

impl Caller for Socket {
    fn read_some(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        read_some(&self.stream, into)
    }

    fn write_now(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&*self.stream).write_all(bytes)
    }

    fn name(&self) -> String {
        self.stream.peer_addr().map_or_else(|_| "by TCP".into(), |address| address.to_string())
    }

    fn ends(&self) -> Ends {
        Ends::of_owner(&self.stream)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A forked child may keep the socket open, and the set would go on reporting it.
        self.set.remove(self.stream.as_fd());
    }
}

/// What a connection broke of.
pub(crate) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut => "the other host does not answer".into(),
        _ => error.to_string(),
    }
}

/// Reads what is there; `Ok(None)`: nothing now. `Ok(Some(0))`: the other side has closed.
fn read_some(mut stream: &TcpStream, into: &mut [u8]) -> io::Result<Option<usize>> {
    match stream.read(into) {
        Err(error) if is_passing(&error) => Ok(None),
        read => read.map(Some),
    }
}

impl Stream for TcpStream {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        write_some(self, bytes)
    }
}

/// Writes what there is room for; `Ok(0)`: no room now.
fn write_some(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match stream.write(bytes) {
        Err(error) if is_passing(&error) => Ok(0),
        written => written,
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// The speed of an interface that declares none, in Mbit/s.
const UNDECLARED: f64 = 1000.0;

/// What a connection is for its pair.
#[derive(Debug)]
pub(crate) enum Role {
    /// We have begun it, and it does not stand yet.
    Begun,
    /// We have sent our hello over it, and wait for the challenge.
    Asked(Calling),
    /// We have proven that we are of the job, and wait for the verdict.
    Proven,
    /// The peer has proven that it is of the job, and may confirm.
    Candidate,
    /// It is the pair's connection.
    Open,
}

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) socket: Socket,
    /// The conversation.
    pub(crate) at: u32,
    /// The interface over which it goes, once it is open.
    pub(crate) interface: usize,
    /// The address at the other end, for people.
    place: String,
    pub(crate) role: Role,
    /// A challenge, verdict or confirmation as far as it has come.
    word: [u8; CHALLENGE],
    read: usize,
}

impl Link {
    /// Reads a word of `len` bytes; `Ok(None)`: not all of it is there.
    pub(crate) fn read_word(&mut self, len: usize) -> io::Result<Option<&[u8]>> {
        while self.read < len {
            match self.socket.read(&mut self.word[self.read..len])? {
                None => return Ok(None),
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(bytes) => self.read += bytes,
            }
        }
        self.read = 0;
        Ok(Some(&self.word[..len]))
    }
}

/// How a peer is reached.
#[derive(Clone, Debug)]
pub(crate) struct Contact {
    /// Where it listens.
    pub(crate) card: Card,
    /// Of a process of another job.
    pub(crate) acquaintance: Option<Acquaintance>,
}

/// All connections of a process, and what it needs to make one.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) set: Arc<Epoll>,
    pub(crate) links: Slab<Link, 20, 12>,
    pub(crate) me: u32,
    pub(crate) job: JobProof,
    /// How connections are protected at least.
    pub(crate) security: Protection,
    /// Processes of the job that may call; none where they are reached by other ways.
    pub(crate) of_job: u32,
    /// Where each peer is, and how it knows this process; `None`: it is reached by other ways alone.
    pub(crate) contacts: Vec<Option<Contact>>,
    /// Peers of other jobs.
    pub(crate) foreigners: Foreigners,
    /// With the addresses of this one.
    pub(crate) own: Vec<Interface>,
    /// Their names, each once.
    pub(crate) interfaces: Vec<String>,
    /// Where lanes call that this process makes, by conversation.
    pub(crate) lane_places: HashMap<u32, SocketAddr>,
    /// Connections and callers that there may be at a time.
    pub(crate) most: usize,
    /// Callers that have not proven themselves.
    pub(crate) callers: usize,
    /// There was no room for a connection.
    pub(crate) wants_room: bool,
    /// What is not answered for so long is given up; zero: never.
    pub(crate) silence: Duration,
}

impl Network {
    fn begin(&mut self, at: u32, place: usize) -> io::Result<u32> {
        let address = self.place(at, place);
        let stream = platform::tcp::connect(address)?;
        // The number is known once the link is in the slab.
        let socket = Socket::new(stream, &self.set, 0, true)?;
        self.enter(socket, (at, address.to_string()), Role::Begun)
    }

    /// Takes a socket whose caller has proven that it may have a part in conversation `from`.
    pub(crate) fn take_caller(&mut self, mut socket: Socket, from: u32, session: Session) -> io::Result<u32> {
        let place = socket.name();
        socket.protect(session);
        self.enter(socket, (from, place), Role::Candidate)
    }

    fn enter(&mut self, socket: Socket, (at, place): (u32, String), role: Role) -> io::Result<u32> {
        // A connection that does not stand yet shows by its room that it does.
        let room = matches!(role, Role::Begun);
        socket.give_up_after(self.silence, true);
        let link = Link { socket, at, interface: 0, place, role, word: [0; CHALLENGE], read: 0 };
        let wire = self.links.insert(link).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        self.links.get(wire).inspect(|link| link.socket.report(wire.into(), room));
        Ok(wire)
    }

    /// A connection is the one with its peer.
    pub(crate) fn opened(&mut self, wire: u32) {
        let local = self.links.get(wire).and_then(|link| link.socket.stream.local_addr().ok());
        let interface = local.and_then(|local| self.interface_of(local.ip())).unwrap_or(0);
        if let Some(link) = self.links.get_mut(wire) {
            (link.role, link.interface) = (Role::Open, interface);
            link.socket.begin_frames();
            link.socket.give_up_after(self.silence, false);
        }
    }

    /// Which of this process's interfaces has an address.
    pub(crate) fn interface_of(&self, address: IpAddr) -> Option<usize> {
        let address = address.to_canonical();
        let one = self.own.iter().find(|one| one.address == address)?;
        self.interfaces.iter().position(|name| *name == one.name)
    }

    /// The speed that the interface of a connection reports, in Mbit/s.
    pub(crate) fn declared_speed(&self, wire: u32) -> f64 {
        let interface = self.links.get(wire).map_or(0, |link| link.interface);
        let name = self.interfaces.get(interface);
        name.and_then(|name| platform::interfaces::speed(name)).map_or(UNDECLARED, f64::from)
    }

    /// Where a peer listens, in the order in which its addresses are tried.
    pub(crate) fn places(&self, peer: u32) -> Vec<SocketAddr> {
        self.contact(peer).map_or_else(Vec::new, |contact| contact.card.places(&self.own))
    }

    pub(crate) fn contact(&self, peer: u32) -> Option<&Contact> {
        self.contacts.get(peer as usize)?.as_ref()
    }

    /// What is kept of a peer of another job.
    pub(crate) fn acquaintance(&self, peer: u32) -> Option<&Acquaintance> {
        self.contact(peer)?.acquaintance.as_ref()
    }

    pub(crate) fn acquaintance_mut(&mut self, peer: u32) -> Option<&mut Acquaintance> {
        self.contacts.get_mut(peer as usize)?.as_mut()?.acquaintance.as_mut()
    }

    /// Whether this process has parted from the peer of a conversation.
    pub(crate) fn is_apart(&self, at: u32) -> bool {
        self.acquaintance(peer_of(at)).is_some_and(|acquaintance| acquaintance.is_apart)
    }

    /// Whether a conversation is the first with a process of this job.
    pub(crate) fn is_of_job(&self, at: u32) -> bool {
        self.contact(at).is_some_and(|contact| contact.acquaintance.is_none())
    }

    /// Whether the peer of a conversation comes before this process, of two that both see it alike.
    pub(crate) fn comes_second(&self, at: u32) -> bool {
        let peer = peer_of(at);
        match self.acquaintance(peer) {
            Some(Acquaintance { foreign: Foreign { job, rank, .. }, .. }) => {
                (self.job.id, self.me) > (*job, *rank)
            }
            None => self.me > peer,
        }
    }

    /// What this process sends when it calls the peer of a conversation, and what it proves to know.
    pub(crate) fn call(&self, at: u32) -> Option<(Secret, Who)> {
        let lane = lane_of(at);
        let (secret, to) = match &self.contact(peer_of(at))?.acquaintance {
            Some(Acquaintance { foreign, .. }) => (foreign.secret, foreign.rank),
            None => (self.job.secret(), peer_of(at)),
        };
        Some((secret, self.job.call(lane_to(self.me, lane), to)))
    }

    /// The secret that a caller who claims to be `who` has to know; why it cannot be a peer, where to be reported.
    pub(crate) fn expects(&self, who: &Who) -> Result<Secret, Option<&'static str>> {
        if who.role != CallerRole::Process || who.job == self.job.id {
            return self.job.expects(who, self.me, self.of_job).map(|()| self.job.secret());
        }
        // It may call before this process has learned that their groups have met; it calls again.
        let peer = self.foreigners.find(who.job, peer_of(who.from)).ok_or(None)?;
        match self.acquaintance(peer) {
            _ if lane_of(who.from) >= LANES => {
                Err(Some("it is of a job that this one has met, and no process of it"))
            }
            // It tries the addresses of another process, of which this one leads here.
            Some(acquaintance) if who.to == self.me => Ok(acquaintance.foreign.secret),
            _ => Err(None),
        }
    }

    /// The conversation that a caller who has proven to be `who` has a part in.
    pub(crate) fn conversation_of(&self, who: &Who) -> Option<u32> {
        if who.job == self.job.id {
            return Some(who.from);
        }
        let peer = self.foreigners.find(who.job, peer_of(who.from))?;
        Some(lane_to(peer, lane_of(who.from)))
    }

    /// Where to call: a peer at this one of its addresses, for a lane at its own.
    fn place(&self, at: u32, place: usize) -> SocketAddr {
        let of_lane = self.lane_places.get(&at).copied();
        of_lane.unwrap_or_else(|| self.places(peer_of(at))[place])
    }

    /// What a caller that wants no connection sends at a peer's port: the hello of a process of this job for another one than
    /// that peer, which the peer neither answers nor reports.
    pub(crate) fn greeting(&self) -> Vec<u8> {
        let who = self.job.call(self.me, self.me);
        Calling::new(self.job.secret(), who, &Ends::UNKNOWN, self.security, 0).hello().to_vec()
    }

    /// What happened on a connection, for people.
    pub(crate) fn happened(&self, wire: u32, what: &dyn fmt::Display) -> String {
        let place = self.links.get(wire).map_or("", |link| &link.place);
        format!("{place}: {what}")
    }
}

impl Wires for Network {
    fn connect(&mut self, at: u32, place: usize) -> Result<Option<u32>, Failure> {
        if !self.has_room_for_attempt() {
            return Ok(None);
        }
        match self.begin(at, place) {
            Ok(wire) => Ok(Some(wire)),
            Err(error) if is_shortage(&error) && !self.links.is_empty() => {
                self.is_at_limit();
                Ok(None)
            }
            Err(error) => {
                let address = self.place(at, place);
                Err(Failure::new(format!("{address}: {}", in_words(&error)), &error))
            }
        }
    }

    fn hello(&mut self, wire: u32) {
        let security = self.security;
        let Some((secret, call)) = self.links.get(wire).and_then(|link| self.call(link.at)) else { return };
        if let Some(link) = self.links.get_mut(wire) {
            let ends = Ends::of_caller(&link.socket.stream);
            let nonce = platform::random::nonce();
            let calling = Calling::new(secret, call, &ends, security, nonce);
            link.socket.write_word(calling.hello());
            link.socket.report(wire.into(), false);
            link.role = Role::Asked(calling);
        }
    }

    fn answer(&mut self, wire: u32, verdict: Verdict) {
        if let Some(link) = self.links.get_mut(wire) {
            link.socket.write_word(&verdict.to_bytes());
        }
    }

    fn confirm(&mut self, wire: u32) {
        if let Some(link) = self.links.get_mut(wire) {
            link.socket.write_word(&CONFIRM);
        }
    }

    fn close(&mut self, wire: u32) {
        let is_unheard =
            |link: &Link| matches!(link.role, Role::Begun) && matches!(link.socket.stands(), Ok(true));
        if self.links.get(wire).is_some_and(is_unheard) {
            // The peer would take it for a stranger's.
            self.hello(wire);
        }
        self.links.remove(wire);
    }
}
