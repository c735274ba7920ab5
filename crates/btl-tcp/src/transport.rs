//! The transport: conversations with peers, and the contract's calls.

use crate::card::{Card, offered};
use crate::direct::{Direct, End, Pouring};
use crate::frame::{Broken, CONFIRM, Control, First, HEAD, Input, Message, OVERHEAD, message_head};
use crate::hello::{self, Hello, JobProof};
use crate::network::{Network, Role, Socket};
use crate::output::{Lender, MOST_PIECES, Output};
use crate::pair::{Pair, Patience, State};
use crate::params::TcpParams;
use btl::{Access, Arrival, Btl, Busy, Event, FastPath, Limits, Loss, Peer, Refusal, RemoteKey, Sleep};
use core::fmt;
use core::ops::RangeInclusive;
use mem::{PeerBytes, Source, UserMem};
use platform::epoll::{Epoll, Ready};
use platform::tcp::Piece;
use platform::timer::Timer;
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use strangers::{Caller as _, Refused, Strangers};

/// Tokens of the epoll set that are no connection's number.
const LISTENER: u64 = u64::MAX;
const STRANGER: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;
/// Callers accepted in a row, before those accepted already are heard.
const CALLERS: usize = 64;
/// Polls of the socket of one peer, for one of the whole set.
const POLLS: u32 = 8;
/// Payload from which on a message is sent from where it lies.
const STRAIGHT: usize = 4 << 10;
/// Payload that is read from one peer before others have their turn, where it goes straight to its place.
const READ_AT_A_TIME: usize = 1 << 20;
/// Frames and payloads of gets that wait for one peer at most, so that it cannot ask for ever without reading.
const MOST_PARTS: usize = 1 << 16;
/// Bytes of answers that may wait for a peer beside what is sent to it.
const MOST_OWED: usize = 64 << 20;
/// Arrivals in a row, before peers are polled whose messages have not been read yet.
const ARRIVALS: u32 = 16;

/// Why the transport cannot be set up.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// The parameters leave no address, or name what is none.
    Addresses(String),
    /// The ports of the parameter are none, or taken.
    Ports(String),
    /// A system call failed.
    System(&'static str, io::Error),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Addresses(seen) => write!(
                f,
                "choosing the addresses of this process for TCP failed\n{seen}\nset btl_tcp_if_include or \
                 btl_tcp_if_exclude to names of interfaces or networks of this host: ip address"
            ),
            SetupError::Ports(seen) => write!(
                f,
                "listening for TCP connections failed\n{seen}\nset btl_tcp_ports to a range with a free port for each \
                 rank of a host, as 20000-20999, or to nothing"
            ),
            SetupError::System(step, error) => write!(
                f,
                "setting up the transport over TCP failed: {step}\n{error}\nlook at the limit for open files: ulimit -n"
            ),
        }
    }
}

impl std::error::Error for SetupError {}

/// The ports of a parameter's text; 0: any.
fn ports(text: &str) -> Option<RangeInclusive<u16>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0..=0);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (1 <= first && first <= last).then_some(first..=last)
}

/// A transport whose peers are not known yet.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    set: Arc<Epoll>,
    timer: Timer,
    own: Vec<IpAddr>,
    port: u16,
}

impl Listening {
    /// Listens on a free port.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(params: &TcpParams) -> Result<Listening, SetupError> {
        let system = |step| move |error| SetupError::System(step, error);
        let all = platform::interfaces::addresses().map_err(system("listing the network interfaces"))?;
        let own = offered(&all, &params.if_include, &params.if_exclude).map_err(SetupError::Addresses)?;
        let ports = ports(&params.ports).ok_or_else(|| {
            SetupError::Ports(format!("btl_tcp_ports is \"{}\", which is no port and no range", params.ports))
        })?;
        let listener = platform::tcp::listen(ports.clone()).map_err(|error| match *ports.start() {
            0 => SetupError::System("listening on a port", error),
            _ => SetupError::Ports(format!("no port of {} is free: {error}", params.ports)),
        })?;
        let port = listener.local_addr().map_err(system("listening on a port"))?.port();
        let set = Arc::new(Epoll::new().map_err(system("making an epoll set"))?);
        set.add(listener.as_fd(), LISTENER, false).map_err(system("making an epoll set"))?;
        let timer = Timer::new().map_err(system("making a timer"))?;
        set.add(timer.as_fd(), TIMER, false).map_err(system("making an epoll set"))?;
        Ok(Listening { listener, set, timer, own, port })
    }

    /// What the peers must know.
    pub fn card(&self) -> Card {
        Card::new(self.port, self.own.clone())
    }

    /// The transport of process `me` of a job whose processes have these cards. `report` takes the lines about the first
    /// stranger who calls.
    pub fn open(
        self,
        me: Peer,
        job: JobProof,
        cards: Box<[Card]>,
        params: &TcpParams,
        report: Option<fn(&str)>,
    ) -> Tcp {
        let peers = cards.iter().map(|_| None).collect();
        let max_send = params.max_send_size;
        Tcp {
            limits: Limits {
                eager: params.eager_limit.min(max_send),
                max_send,
                get: true,
                put: true,
                min_rdma: STRAIGHT,
                min_rdma_answer: STRAIGHT,
                max_get: params.max_rdma_size,
                max_put: params.max_rdma_size,
                get_align: 1,
            },
            out_buffer: params.out_buffer,
            patience: Patience {
                address: Duration::from_millis(params.connect_patience_ms as u64),
                rounds: params.connect_rounds as u32,
            },
            network: Network {
                set: self.set,
                links: Slab::new(),
                me: me.0,
                job,
                cards,
                own: self.own,
                nonce: job.id ^ u64::from(me.0) << 32 ^ u64::from(self.port),
            },
            listener: self.listener,
            timer: self.timer,
            timer_at: None,
            strangers: Strangers::new("the TCP transport", report),
            report,
            peers,
            unsettled: Vec::new(),
            ready: VecDeque::new(),
            lent: None,
            events: VecDeque::new(),
            direct: Direct::default(),
            recent: None,
            polls: 0,
            polled: false,
            arrivals: 0,
            bytes_sent: 0,
            reported: Vec::new(),
        }
    }
}

/// The transport of one process. See the crate's documentation.
#[derive(Debug)]
pub struct Tcp {
    limits: Limits,
    out_buffer: usize,
    patience: Patience,
    network: Network,
    listener: TcpListener,
    /// Ends a sleep when something is due that no socket reports.
    timer: Timer,
    /// What it is set to.
    timer_at: Option<Instant>,
    strangers: Strangers<Socket, Hello>,
    /// Takes the report that descriptors ran out; `None` once it was made.
    report: Option<fn(&str)>,
    /// By peer; made when one is first spoken to.
    peers: Box<[Option<Box<Conversation>>]>,
    /// Peers with which a connection is being made.
    unsettled: Vec<u32>,
    /// Peers of which a whole message may be there, those served longest ago first.
    ready: VecDeque<u32>,
    /// The message that is out: whose, and its bytes of header and payload.
    lent: Option<(u32, usize)>,
    events: VecDeque<Event>,
    direct: Direct,
    /// The peer talked to last.
    recent: Option<u32>,
    /// Polls since the whole set was polled.
    polls: u32,
    /// Whether the sockets were polled since the last event was asked for.
    polled: bool,
    arrivals: u32,
    bytes_sent: u64,
    /// What the set reported; kept for its memory.
    reported: Vec<Ready>,
}

/// A peer that was spoken to.
#[derive(Debug)]
struct Conversation {
    pair: Pair,
    input: Input,
    /// Payload that is coming and is no arrival's.
    pouring: Option<Pouring>,
    output: Output,
    /// It is in `unsettled`.
    is_unsettled: bool,
    /// It is in `ready`.
    is_ready: bool,
    /// Its socket is full: the set reports room.
    awaits_room: bool,
    /// Why its connection is over, while messages that came before that are still here.
    ending: Option<String>,
    /// Why it is lost.
    loss: Option<String>,
}

impl Tcp {
    /// Payload sent so far, in bytes.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent
    }

    fn conversation(&mut self, at: u32) -> &mut Conversation {
        let Tcp { peers, network, patience, .. } = self;
        peers[at as usize].get_or_insert_with(|| {
            let places = network.cards[at as usize].addresses.len();
            Box::new(Conversation {
                pair: Pair::new(network.me, at, places, *patience, Instant::now()),
                input: Input::default(),
                pouring: None,
                output: Output::default(),
                is_unsettled: false,
                is_ready: false,
                awaits_room: false,
                ending: None,
                loss: None,
            })
        })
    }

    /// Lets `act` work on a pair, then does what follows from the pair's new state.
    fn with_pair<R>(&mut self, at: u32, act: impl FnOnce(&mut Pair, &mut Network, bool) -> R) -> R {
        self.conversation(at);
        let conversation = self.peers[at as usize].as_mut().expect("made above");
        let before = conversation.pair.state();
        let wanted = !conversation.output.is_empty();
        let result = act(&mut conversation.pair, &mut self.network, wanted);
        let state = conversation.pair.state();
        if matches!(state, State::Connecting | State::Resting(_)) && !conversation.is_unsettled {
            conversation.is_unsettled = true;
            self.unsettled.push(at);
        }
        match state {
            State::Open(wire) if state != before => {
                if let Some(link) = self.network.links.get_mut(wire) {
                    link.role = Role::Open;
                }
                self.flush(at);
            }
            State::Lost if state != before => {
                let failures = conversation.pair.failures().to_owned();
                self.lose(at, failures);
            }
            _ => {}
        }
        result
    }

    // ---- the sockets ----

    /// Polls the peer talked to last, and every few times all.
    fn look(&mut self) {
        self.polls += 1;
        match self.recent {
            Some(at) if self.polls < POLLS && self.is_quiet(at) => {
                self.polled = true;
                self.read(at);
            }
            _ => self.poll(),
        }
    }

    /// Whether nothing but a message of this peer is waited for in short.
    fn is_quiet(&self, at: u32) -> bool {
        let conversation = self.peers[at as usize].as_ref();
        self.unsettled.is_empty()
            && conversation.is_some_and(|conversation| {
                !conversation.awaits_room && matches!(conversation.pair.state(), State::Open(_))
            })
    }

    /// Does what the sockets are ready for, and what is due.
    fn poll(&mut self) {
        self.polled = true;
        self.polls = 0;
        self.arrivals = 0;
        let mut somebody_speaks = false;
        let mut reported = core::mem::take(&mut self.reported);
        self.network.set.poll(&mut reported);
        for ready in &reported {
            match ready.token {
                LISTENER => self.accept(),
                STRANGER => somebody_speaks = true,
                TIMER => self.set_timer(None),
                wire => self.serve(wire as u32, *ready),
            }
        }
        self.reported = reported;
        if somebody_speaks || self.strangers.deadline().is_some_and(|until| until <= Instant::now()) {
            self.hear();
        }
        if !self.unsettled.is_empty() {
            self.tick();
        }
    }

    fn tick(&mut self) {
        let now = Instant::now();
        for at in core::mem::take(&mut self.unsettled) {
            self.conversation(at).is_unsettled = false;
            self.with_pair(at, |pair, network, wanted| pair.tick(now, wanted, network));
        }
    }

    fn set_timer(&mut self, at: Option<Instant>) {
        if self.timer_at != at {
            self.timer_at = at;
            self.timer.set(at);
        }
    }

    /// When something is due that no socket reports.
    fn deadline(&self) -> Option<Instant> {
        let pairs = self.unsettled.iter().filter_map(|&at| self.peers[at as usize].as_ref()?.pair.deadline());
        pairs.chain(self.strangers.deadline()).min()
    }

    /// Takes callers, some at a time. Without descriptors for more, silent callers make room; else the others wait.
    fn accept(&mut self) {
        for _ in 0..CALLERS {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let prepared = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
                    let socket =
                        prepared.and_then(|()| Socket::new(stream, &self.network.set, STRANGER, false));
                    // A caller that has gone already is none.
                    socket.into_iter().for_each(|socket| self.strangers.add(socket, Instant::now()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) if self.strangers.give_one_up() => {}
                Err(error) => return self.report_refusal(&error),
            }
        }
    }

    /// A caller cannot be accepted, and waits; a peer that waits with it learns nothing.
    #[cold]
    fn report_refusal(&mut self, error: &io::Error) {
        if let Some(report) = self.report.take() {
            report(&format!(
                "rank {} cannot accept a TCP connection\n\
                 seen: {error}; {} connections are open\n\
                 the peer waits until descriptors are free; raise the limit for open files: ulimit -n",
                self.network.me,
                self.network.links.len()
            ));
        }
    }

    /// Hears the callers, and takes those of the job for candidates.
    fn hear(&mut self) {
        let Network { me, job, cards, .. } = &self.network;
        let size = cards.len() as u32;
        let mut callers = Vec::new();
        self.strangers.hear(Instant::now(), |caller, hello| {
            let why = match hello {
                _ if hello.other_order => Some("its machine has the other byte order, which is not served"),
                _ if hello.job != *job => Some("it is of another job"),
                // It tries the addresses of another process, of which this one leads here.
                _ if hello.to != *me => None,
                _ if hello.verdict.is_some() || hello.from == *me || hello.from >= size => {
                    Some("it is of this job, and no process of it")
                }
                _ => {
                    callers.push((caller, *hello));
                    return Ok(());
                }
            };
            Err(Refused { caller, why })
        });
        for (socket, hello) in callers {
            let Ok(wire) = self.network.take_caller(socket, hello) else { continue };
            if !self.with_pair(hello.from, |pair, network, _| pair.called(wire, network)) {
                self.network.links.remove(wire);
            }
        }
    }

    /// Goes on with a connection that is ready.
    fn serve(&mut self, wire: u32, ready: Ready) {
        let Some(link) = self.network.links.get_mut(wire) else { return };
        let at = link.peer;
        let done: io::Result<()> = match link.role {
            Role::Begun => match link.socket.stands() {
                Ok(true) => {
                    self.with_pair(at, |pair, network, _| pair.connected(wire, network));
                    Ok(())
                }
                Ok(false) => Ok(()),
                Err(error) => Err(error),
            },
            Role::Asked(asked) => match link.read_word(hello::BYTES) {
                Ok(Some(answer)) => {
                    let answer = <Hello as strangers::Hello>::from_bytes(answer);
                    match answer.and_then(|answer| answer.verdict_on(&asked)) {
                        Some(verdict) => {
                            let now = Instant::now();
                            self.with_pair(at, |pair, network, _| pair.answered(wire, verdict, now, network));
                            Ok(())
                        }
                        None => Err(io::Error::other("another process answered")),
                    }
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            },
            Role::Candidate => match link.read_word(CONFIRM.len()) {
                Ok(Some(word)) if word == CONFIRM => {
                    self.with_pair(at, |pair, network, _| pair.confirmed(wire, network));
                    Ok(())
                }
                Ok(Some(_)) => Err(io::ErrorKind::InvalidData.into()),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            },
            Role::Open => {
                if ready.writable {
                    self.flush(at);
                }
                if ready.readable {
                    self.read(at);
                }
                return;
            }
        };
        if let Err(error) = done {
            let why = self.network.happened(wire, &error);
            self.network.links.remove(wire);
            let now = Instant::now();
            self.with_pair(at, |pair, network, wanted| pair.broke(wire, &why, now, wanted, network));
        }
    }

    /// The socket of the connection with a peer, if there is one.
    fn socket_of<'a>(conversation: &Conversation, network: &'a Network) -> Option<(u32, &'a Socket)> {
        let State::Open(wire) = conversation.pair.state() else { return None };
        network.links.get(wire).map(|link| (wire, &link.socket))
    }

    /// Writes what waits for a peer, as far as there is room.
    #[allow(unsafe_code, reason = "memory of users, which the kernel reads")]
    fn flush(&mut self, at: u32) {
        let Some(conversation) = &mut self.peers[at as usize] else { return };
        let Some((wire, socket)) = Tcp::socket_of(conversation, &self.network) else { return };
        while !conversation.output.is_empty() {
            let mut pieces = [Piece::default(); MOST_PIECES];
            let count = conversation.output.pieces(&mut pieces);
            // SAFETY: copied pieces live in the output; lent ones are readable until their get or put is over or they are
            // concealed, and then they leave the output.
            match unsafe { socket.send_pieces(&pieces[..count]) } {
                Ok(0) => break,
                Ok(written) => conversation.output.sent(written),
                // The end of the connection, which reading tells after all that came before it.
                Err(_) => conversation.output = Output::default(),
            }
        }
        let awaits_room = !conversation.output.is_empty();
        if awaits_room != conversation.awaits_room {
            conversation.awaits_room = awaits_room;
            socket.report(wire.into(), awaits_room);
        }
    }

    /// As [`Tcp::make_room`], where the set does not report room.
    fn make_room_unless_full(&mut self, at: u32) {
        self.recent = Some(at);
        if !self.conversation(at).awaits_room {
            self.make_room(at);
        }
    }

    /// The name in a peer's key of which `local` is a part from `offset` on.
    fn part_of(&mut self, peer: Peer, key: &RemoteKey, offset: u64, local: UserMem) -> Result<u32, Refusal> {
        let [name, len, _] = key.0;
        let len_wanted = local.len() as u64;
        let fits = offset.checked_add(len_wanted).is_some_and(|end| end <= len);
        let is_lost = self.conversation(peer.0).loss.is_some();
        if !fits || local.len() > self.limits.max_get || is_lost {
            return Err(Refusal::Unfit);
        }
        u32::try_from(name).map_err(|_| Refusal::Unfit)
    }

    /// Writes what waits for a peer or, without a connection, works on having one.
    fn make_room(&mut self, at: u32) {
        if let State::Open(_) = self.conversation(at).pair.state() {
            return self.flush(at);
        }
        let now = Instant::now();
        self.with_pair(at, |pair, network, _| pair.want(now, network));
        self.poll();
    }

    /// Sends a message from where it lies, if nothing waits before it; whether it was sent or what is left of it waits.
    #[allow(unsafe_code, reason = "memory of users, which the kernel reads")]
    fn send_straight(&mut self, at: u32, header: &[u64], payload: UserMem) -> bool {
        let conversation = self.peers[at as usize].as_mut().expect("spoken to");
        if !conversation.output.is_empty() {
            return false;
        }
        let Some((_, socket)) = Tcp::socket_of(conversation, &self.network) else { return false };
        let mut start = [0; OVERHEAD];
        start[..HEAD].copy_from_slice(&message_head(payload.len(), header.len()));
        for (space, word) in start[HEAD..].chunks_exact_mut(8).zip(header) {
            space.copy_from_slice(&word.to_ne_bytes());
        }
        let start = &start[..HEAD + 8 * header.len()];
        let pieces =
            [Piece::new(start.as_ptr() as usize, start.len()), Piece::new(payload.address(), payload.len())];
        // SAFETY: the start is on the stack; the view's constructor vouches for the payload.
        let sent = unsafe { socket.send_pieces(&pieces) };
        // An error is the end of the connection, which reading tells after all that came before it.
        if let Ok(sent) = sent
            && sent < start.len() + payload.len()
        {
            conversation.output.add_rest(start, payload, sent);
            self.flush(at);
        }
        true
    }

    /// Reads from a peer's socket, unless a message of it is still to be taken.
    fn read(&mut self, at: u32) {
        let Some(conversation) = &mut self.peers[at as usize] else { return };
        let is_lent = self.lent.is_some_and(|(peer, _)| peer == at);
        if conversation.is_ready || is_lent {
            return;
        }
        let Some((_, socket)) = Tcp::socket_of(conversation, &self.network) else { return };
        let most = self.limits.max_send;
        let read = match &mut conversation.pouring {
            Some(pouring @ Pouring { into: Some(_), .. }) => Tcp::read_straight(socket, pouring),
            _ => match socket.read_some(conversation.input.room(most)) {
                Ok(None) => return,
                Ok(Some(0)) => Err("it closed the connection".into()),
                Ok(Some(bytes)) => {
                    conversation.input.filled(bytes);
                    Ok(())
                }
                Err(error) => Err(format!("the connection broke: {error}")),
            },
        };
        match read {
            Ok(()) => self.recent = Some(at),
            Err(why) => conversation.ending = Some(why),
        }
        self.settle(at);
    }

    /// Reads payload to its place; nothing of it is in the input.
    fn read_straight(socket: &Socket, pouring: &mut Pouring) -> Result<(), String> {
        let mut budget = READ_AT_A_TIME;
        while let Some(memory) = pouring.into
            && pouring.left > 0
            && budget > 0
        {
            match socket.receive_into(memory.part(0, pouring.left)) {
                Ok(None) => break,
                Ok(Some(0)) => return Err("it closed the connection".into()),
                Ok(Some(bytes)) => {
                    pouring.filled(bytes);
                    budget = budget.saturating_sub(bytes);
                }
                Err(error) => return Err(format!("the connection broke: {error}")),
            }
        }
        Ok(())
    }

    /// Takes what has come from a peer up to the next message, and sees whether that is there, or nothing more will come.
    fn settle(&mut self, at: u32) {
        let most = self.limits.max_send;
        let mut answered = false;
        let broken = loop {
            let Some(conversation) = &mut self.peers[at as usize] else { return };
            if let Some(pouring) = &mut conversation.pouring {
                let bytes = conversation.input.take(pouring.left);
                pouring.take(bytes);
                let Pouring { left, end, into } = *pouring;
                if left == 0 {
                    conversation.pouring = None;
                    answered |= self.poured(at, end, into.is_some());
                    continue;
                }
                break conversation.ending.take();
            }
            match conversation.input.first(most) {
                Ok(Some(First::Message(_))) => {
                    if !conversation.is_ready {
                        conversation.is_ready = true;
                        self.ready.push_back(at);
                    }
                    break None;
                }
                Ok(Some(First::Control(control))) => {
                    conversation.input.consume_control(control);
                    match self.take_control(at, control) {
                        Ok(answers) => answered |= answers,
                        Err(Broken) => break Some("it sent what nobody asked for".into()),
                    }
                }
                Ok(None) => break conversation.ending.take(),
                Err(Broken) => break Some("it sent what is no message".into()),
            }
        };
        if answered && self.peers[at as usize].as_ref().is_some_and(|conversation| !conversation.awaits_room)
        {
            self.flush(at);
        }
        if let Some(why) = broken {
            self.end(at, &why);
        }
    }

    /// All payload has come. Whether there is an answer to be sent.
    fn poured(&mut self, at: u32, end: End, in_place: bool) -> bool {
        match end {
            End::Fetched(get) => {
                self.events.extend(self.direct.over(at, get, true));
                false
            }
            End::Stored { put, .. } => {
                self.conversation(at).output.add_control(Control::Over { what: put, succeeded: in_place });
                true
            }
        }
    }

    /// Does what a peer's transport asks for. Whether there is an answer to be sent.
    ///
    /// # Errors
    /// It is no peer that keeps to the protocol.
    fn take_control(&mut self, at: u32, control: Control) -> Result<bool, Broken> {
        let most = self.out_buffer + MOST_OWED;
        let output = &self.conversation(at).output;
        if output.parts() > MOST_PARTS || output.copied() > most {
            return Err(Broken);
        }
        match control {
            Control::Fetch { name, offset, len, get } => {
                let memory = self.direct.named(at, name, Access::Read, (offset, len));
                let memory = memory.filter(|memory| memory.len() <= u32::MAX as usize);
                let output = &mut self.conversation(at).output;
                match memory {
                    Some(memory) => {
                        output.add_control(Control::Fetched { get, len: memory.len() });
                        output.lend(memory, Lender::Exposed(name));
                    }
                    None => output.add_control(Control::Over { what: get, succeeded: false }),
                }
                Ok(true)
            }
            Control::Fetched { get, len } => {
                let into = self.direct.fetched(at, get, len).ok_or(Broken)?;
                self.conversation(at).pouring =
                    Some(Pouring { into: Some(into), left: len, end: End::Fetched(get) });
                Ok(false)
            }
            Control::Store { name, offset, put, len } => {
                let into = self.direct.named(at, name, Access::Write, (offset, len as u64));
                self.conversation(at).pouring =
                    Some(Pouring { into, left: len, end: End::Stored { put, name } });
                Ok(false)
            }
            Control::Over { what, succeeded } => {
                self.events.extend(self.direct.over(at, what, succeeded));
                Ok(false)
            }
        }
    }

    /// The connection with a peer is over.
    fn end(&mut self, at: u32, why: &str) {
        let Some(conversation) = &self.peers[at as usize] else { return };
        let State::Open(wire) = conversation.pair.state() else { return };
        let why = self.network.happened(wire, &why);
        self.network.links.remove(wire);
        self.with_pair(at, |pair, network, wanted| {
            pair.broke(wire, &why, Instant::now(), wanted, network);
        });
    }

    fn lose(&mut self, at: u32, why: String) {
        let conversation = self.conversation(at);
        conversation.loss = Some(why);
        conversation.output = Output::default();
        conversation.input = Input::default();
        conversation.pouring = None;
        self.events.extend(self.direct.lost(at));
        self.events.push_back(Event::PeerLost(Peer(at)));
    }

    // ---- arrivals ----

    /// Hands out the first message of a peer, if it is whole.
    #[allow(unsafe_code, reason = "views of bytes that stay where they are until they are given back")]
    fn lend(&mut self, at: u32) -> Option<Arrival> {
        let most = self.limits.max_send;
        let conversation =
            self.peers[at as usize].as_ref().filter(|conversation| conversation.pouring.is_none())?;
        let First::Message(Message { header, payload }) = conversation.input.first(most).ok()?? else {
            return None;
        };
        self.lent = Some((at, header.len() + payload.len()));
        // SAFETY: the input of a peer whose message is out is neither read into nor moved (`read`, `lose` after `settle`).
        let (header, payload) = unsafe {
            (PeerBytes::new(header.as_ptr(), header.len()), PeerBytes::new(payload.as_ptr(), payload.len()))
        };
        Some(Arrival { peer: Peer(at), header, payload, token: 0 })
    }
}

impl Btl for Tcp {
    fn reaches(&self, peer: Peer) -> bool {
        peer.0 != self.network.me && (peer.0 as usize) < self.peers.len()
    }

    fn limits(&self, _peer: Peer) -> &Limits {
        &self.limits
    }

    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        let (at, bytes) = (peer.0, payload.remaining());
        self.recent = Some(at);
        let most = self.out_buffer;
        let is_too_much = |waiting: usize| waiting > 0 && waiting + OVERHEAD + bytes > most;
        if is_too_much(self.conversation(at).output.copied()) {
            self.make_room(at);
        }
        let conversation = self.conversation(at);
        if conversation.loss.is_some() || is_too_much(conversation.output.copied()) {
            return Err(Busy);
        }
        self.bytes_sent += bytes as u64;
        let straight = if bytes >= STRAIGHT { payload.take_contiguous() } else { None };
        if straight.is_some_and(|memory| self.send_straight(at, header, memory)) {
            return Ok(());
        }
        let output = &mut self.conversation(at).output;
        match straight {
            Some(mut memory) => output.add(header, &mut memory),
            None => output.add(header, payload),
        }
        let conversation = self.conversation(at);
        // Where the set reports room, there is none yet.
        if !conversation.awaits_room {
            self.make_room(at);
        }
        Ok(())
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.lent.is_some() {
            return None;
        }
        self.arrivals += 1;
        if self.arrivals > ARRIVALS {
            self.poll();
        } else if self.ready.is_empty() {
            self.look();
        }
        while let Some(at) = self.ready.pop_front() {
            self.conversation(at).is_ready = false;
            if let Some(arrival) = self.lend(at) {
                return Some(arrival);
            }
        }
        None
    }

    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        if self.lent.is_some() {
            return None;
        }
        if let Some(arrival) = self.lend(peer.0) {
            return Some(arrival);
        }
        match self.conversation(peer.0).pair.state() {
            State::Open(_) => self.read(peer.0),
            _ => self.poll(),
        }
        self.lend(peer.0)
    }

    fn release(&mut self, arrival: Arrival) {
        let Some((at, bytes)) = self.lent.take() else { return };
        debug_assert_eq!(arrival.peer, Peer(at));
        self.conversation(at).input.consume(bytes);
        self.settle(at);
    }

    fn next_event(&mut self) -> Option<Event> {
        // Who asks for arrivals and events in turns has the sockets polled once for both.
        if self.events.is_empty() && !core::mem::take(&mut self.polled) {
            self.look();
            self.polled = false;
        }
        // What a lost peer had sent before comes first.
        self.events.pop_front()
    }

    fn loss(&self, peer: Peer) -> Loss {
        let seen = self.peers[peer.0 as usize].as_ref().and_then(|conversation| conversation.loss.as_deref());
        Loss {
            seen: format!("no TCP connection with it: {}", seen.unwrap_or("none was wanted")),
            advice: "and at the network between the two hosts; --mca btl_tcp_if_include chooses the addresses that \
                     are tried, btl_tcp_connect_rounds how often"
                .into(),
        }
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        self.direct.expose(peer.0, memory, access).ok_or(Refusal::Busy)
    }

    fn conceal(&mut self, peer: Peer, key: RemoteKey) {
        let Some(name) = self.direct.conceal(peer.0, key) else { return };
        let Some(conversation) = &mut self.peers[peer.0 as usize] else { return };
        conversation.output.keep(name);
        if let Some(Pouring { into, end: End::Stored { name: theirs, .. }, .. }) = &mut conversation.pouring
            && *theirs == name
        {
            *into = None;
        }
    }

    fn get(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let name = self.part_of(peer, key, offset, local)?;
        let get = self.direct.begin(peer.0, cookie, Some(local)).ok_or(Refusal::Busy)?;
        let output = &mut self.conversation(peer.0).output;
        output.add_control(Control::Fetch { name, offset, len: local.len() as u64, get });
        self.make_room_unless_full(peer.0);
        Ok(())
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let name = self.part_of(peer, key, offset, local)?;
        let put = self.direct.begin(peer.0, cookie, None).ok_or(Refusal::Busy)?;
        let output = &mut self.conversation(peer.0).output;
        output.add_control(Control::Store { name, offset, put, len: local.len() });
        output.lend(local, Lender::Put);
        self.bytes_sent += local.len() as u64;
        self.make_room_unless_full(peer.0);
        Ok(())
    }

    fn congested(&self, _peer: Peer) -> bool {
        false
    }

    fn is_flushed(&self) -> bool {
        self.peers.iter().flatten().all(|conversation| conversation.output.is_empty())
    }

    fn advertise_congestion(&mut self, _on: bool) -> bool {
        false
    }

    /// Room is reported by the set: what was refused waits behind output that a socket has not taken, or for a connection
    /// in the making.
    fn arm(&mut self) -> Option<Sleep> {
        if !self.ready.is_empty() || !self.events.is_empty() || self.lent.is_some() {
            return None;
        }
        self.set_timer(self.deadline());
        // The poll before the sleep is one of all sockets.
        self.polls = POLLS;
        Some(Sleep::Descriptor(self.network.set.as_fd().as_raw_fd()))
    }

    fn disarm(&mut self) {}

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.network.set.as_fd())
    }
}

impl FastPath for Tcp {}
