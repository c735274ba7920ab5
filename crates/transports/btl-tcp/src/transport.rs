//! The transport: conversations with peers, and the contract's calls.

use crate::burst::{Burst, SHORT};
use crate::card::Card;
use crate::conversation::{Conversation, Watch};
use crate::conversations::Conversations;
use crate::direct::{Direct, End, Pouring};
use crate::frame::{CONFIRM, Input, OVERHEAD};
use crate::hello::{VERDICT, Verdict};
use crate::network::{COUNTED, LISTENER, Link, Network, Role, STRANGER, Socket, TIMER};
use crate::numbers::{is_lane, peer_of};
use crate::output::Output;
use crate::pair::{ConnectLimits, FOREIGN_REFUSALS, Failure, Pair, State};
use crate::tracks::Tracks;
use btl::{
    Access, Arrival, Btl, Busy, Event, FastPath, Limits, Loss, Pace, Peer, Refusal, RemoteKey, RemoteMemory,
    Sleep,
};
use connect::Acceptor;
use connect::exchange::CHALLENGE;
use mem::{Source, UserMem};
use platform::epoll::Ready;
use platform::tcp::Answered;
use platform::timer::Timer;
use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Polls of the socket of one peer, for one of the whole set.
const POLLS: u32 = 8;
/// Payload from which on a message is sent from where it lies.
pub(crate) const STRAIGHT: usize = 4 << 10;
/// Arrivals in a row, before peers are polled whose messages have not been read yet.
const ARRIVALS: u32 = 16;

/// The transport of one process. See the crate's documentation.
#[derive(Debug)]
pub struct Tcp {
    pub(crate) limits: Limits,
    pub(crate) pace: Pace,
    pub(crate) out_buffer: usize,
    /// Smallest get or put that is divided; 0: none is.
    pub(crate) striping: usize,
    /// Lanes over each network.
    pub(crate) links_each: usize,
    pub(crate) connect_limits: ConnectLimits,
    pub(crate) network: Network,
    /// What others must know to call this process.
    pub(crate) card: Card,
    pub(crate) listener: TcpListener,
    /// Ends a sleep when something is due that no socket reports.
    pub(crate) timer: Timer,
    /// What it is set to.
    pub(crate) timer_at: Option<Instant>,
    pub(crate) strangers: Acceptor<Socket>,
    /// When this process, which had no room for callers, looks for some again; `None`: the set reports callers.
    pub(crate) listens_again: Option<Instant>,
    /// The peer considered next for having its connection closed.
    pub(crate) hand: u32,
    pub(crate) watch: Watch,
    /// Takes the report that descriptors ran out; `None` once it was made.
    pub(crate) report: Option<fn(&str)>,
    /// By peer; made with the first message. The lanes beside them follow ([`crate::lanes`]).
    pub(crate) peers: Conversations,
    /// Peers from which the process has parted, and whose numbers are free.
    pub(crate) gone: Vec<u32>,
    /// Peers with which a connection is being made.
    pub(crate) unsettled: Vec<u32>,
    /// The result of [`connects`].
    pub(crate) connects: bool,
    /// Peers of which a whole message may be there, those served longest ago first.
    pub(crate) ready: VecDeque<u32>,
    /// The message that is out: whose, and its bytes of header and payload.
    pub(crate) lent: Option<(u32, usize)>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) direct: Direct,
    /// The peer talked to last.
    pub(crate) recent: Option<u32>,
    pub(crate) burst: Burst,
    /// Polls since the whole set was polled.
    pub(crate) polls: u32,
    /// Whether the sockets were polled since the last event was asked for.
    pub(crate) polled: bool,
    pub(crate) arrivals: u32,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_moved: [u64; COUNTED],
    /// Gets and puts that could be divided.
    pub(crate) divisions: u32,
    /// Each network is a way of its own for messages.
    pub(crate) rails: Option<Tracks>,
    /// What the set reported; kept for its memory.
    pub(crate) reported: Vec<Ready>,
}

/// Whether frames of this process wait for a connection that is being made. A word that all threads read without a
/// lock: after each call of MPI the engine sees whether progress is needed while the program computes.
static CONNECTS: AtomicBool = AtomicBool::new(false);

/// Whether frames of this process wait for a connection that is being made, as of the last poll.
#[inline(always)]
pub fn connects() -> bool {
    CONNECTS.load(Ordering::Relaxed)
}

impl Tcp {
    /// Payload sent so far, in bytes.
    pub(crate) fn bytes_sent(&self) -> u64 {
        self.bytes_sent
    }

    /// How messages are protected at least, in words; `None`: they are not.
    pub fn protected(&self) -> Option<&'static str> {
        match self.network.security {
            connect::Protection::None => None,
            connect::Protection::Integrity => Some("signed"),
            connect::Protection::Encrypt => Some("signed and encrypted"),
        }
    }

    /// Sends a message on one conversation.
    #[inline]
    pub(crate) fn send_at<S: Source>(
        &mut self,
        at: u32,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let bytes = payload.remaining();
        let is_short = bytes <= SHORT;
        if !is_short || self.burst.is_before(at) {
            self.end_burst();
        }
        self.recent = Some(at);
        let most = self.out_buffer;
        let is_too_much = |waiting: usize| waiting > 0 && waiting + OVERHEAD + bytes > most;
        let mut conversation = self.conversation(at);
        if is_too_much(conversation.output.copied()) {
            self.make_room(at);
            conversation = self.conversation(at);
        }
        if conversation.loss.is_some() || is_too_much(conversation.output.copied()) {
            return Err(Busy);
        }
        conversation.was_used = true;
        self.bytes_sent += bytes as u64;
        if is_short && self.burst.next(at) && self.keep(at, header, payload) {
            return Ok(());
        }
        let straight = if bytes >= STRAIGHT { payload.take_contiguous() } else { None };
        if straight.is_some_and(|memory| self.send_straight(at, header, memory)) {
            return Ok(());
        }
        let output = &mut self.conversation(at).output;
        match straight {
            Some(mut memory) => output.add(header, &mut memory),
            None => output.add(header, payload),
        }
        self.make_room_unless_full(at);
        Ok(())
    }

    /// Whether something on one conversation has not reached the other kernel.
    pub(crate) fn owes_at(&self, at: u32) -> bool {
        let Some(conversation) = self.peers.get(at) else { return false };
        let owes = |socket: &Socket| socket.has_unsent() || socket.answered() != Answered::All;
        let link = match conversation.pair.state() {
            State::Open(wire) => self.network.links.get(wire),
            _ => None,
        };
        // From a peer that the process has parted from it awaits no last word.
        let closes = conversation
            .closing
            .as_ref()
            .is_some_and(|closing| !self.network.is_apart(at) || !closing.output.is_empty());
        self.burst.keeps(Some(at))
            || !conversation.output.is_empty()
            || closes
            || link.is_some_and(|link| owes(&link.socket))
    }

    /// Why a conversation is over.
    pub(crate) fn loss_of(&self, at: u32) -> Loss {
        let seen = self.peers[at].as_ref().and_then(|conversation| conversation.loss.as_deref());
        Loss {
            seen: format!("no TCP connection with it: {}", seen.unwrap_or("none was wanted")),
            advice: "and at the network between the two hosts; --mca btl_tcp_if_include chooses the addresses that \
                     are tried, btl_tcp_connect_rounds how often"
                .into(),
        }
    }

    #[inline]
    pub(crate) fn conversation(&mut self, at: u32) -> &mut Conversation {
        let Tcp { peers, network, connect_limits, rails, .. } = self;
        peers.slot(at).get_or_insert_with(|| begin(at, network, *connect_limits, rails.is_some()))
    }

    /// Lets `act` work on a pair, then does what follows from the pair's new state.
    pub(crate) fn with_pair<R>(
        &mut self,
        at: u32,
        act: impl FnOnce(&mut Pair, &mut Network, bool) -> R,
    ) -> R {
        self.conversation(at);
        let conversation = self.peers[at].as_mut().expect("made above");
        let before = conversation.pair.state();
        let wanted = !conversation.output.is_empty();
        let result = act(&mut conversation.pair, &mut self.network, wanted);
        let state = conversation.pair.state();
        let has_broken = matches!(before, State::Open(_)) && state != before && state != State::Idle;
        if self.rails.is_some() && has_broken {
            // What was on its way is lost with the connection, and what is left of it makes no sense on another one.
            conversation.forget_bytes();
        }
        if matches!(state, State::Connecting | State::Resting(_)) && !conversation.is_unsettled {
            conversation.is_unsettled = true;
            self.unsettled.push(at);
        }
        match state {
            State::Open(wire) if state != before => {
                conversation.was_open = true;
                self.network.opened(wire);
                self.rail_is_open(at);
                self.flush(at);
            }
            State::Lost if state != before => {
                let failures = conversation.pair.failures().to_owned();
                self.lose(at, failures);
            }
            State::Connecting | State::Resting(_) => self.watch(at),
            _ => {}
        }
        result
    }

    /// Polls the peer talked to last, and every few times all.
    pub(crate) fn poll_recent(&mut self) {
        self.end_burst();
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
        let conversation = self.peers[at].as_ref();
        self.unsettled.is_empty()
            && !self.direct.is_divided()
            && conversation.is_some_and(|conversation| {
                !conversation.awaits_room && matches!(conversation.pair.state(), State::Open(_))
            })
    }

    /// Does what the sockets are ready for, and what is due.
    pub(crate) fn poll(&mut self) {
        self.end_burst();
        self.polled = true;
        self.polls = 0;
        self.arrivals = 0;
        let mut stranger_speaks = false;
        let mut reported = core::mem::take(&mut self.reported);
        self.network.set.poll(&mut reported);
        for ready in &reported {
            match ready.token {
                LISTENER => self.accept(),
                STRANGER => stranger_speaks = true,
                TIMER => self.take_time(),
                wire => self.serve(wire as u32, *ready),
            }
        }
        self.reported = reported;
        if stranger_speaks || self.strangers.deadline().is_some_and(|until| until <= Instant::now()) {
            self.hear();
        }
        if self.rails.is_some() {
            self.try_lost_rails();
        }
        if !self.unsettled.is_empty() {
            self.tick();
        }
        if self.listens_again.is_some() || self.network.wants_room {
            self.balance();
        }
        self.tell_whether_connects();
    }

    fn tell_whether_connects(&mut self) {
        let waits =
            |&at: &u32| self.peers[at].as_ref().is_some_and(|conversation| !conversation.output.is_empty());
        let connects = self.unsettled.iter().any(waits);
        if connects != std::mem::replace(&mut self.connects, connects) {
            CONNECTS.store(connects, Ordering::Relaxed);
        }
    }

    /// The timer has run out: does what has no other signal.
    fn take_time(&mut self) {
        self.set_timer(None);
        self.look_after(Instant::now());
        self.set_timer(self.watch.due);
    }

    fn tick(&mut self) {
        let now = Instant::now();
        for at in core::mem::take(&mut self.unsettled) {
            self.conversation(at).is_unsettled = false;
            self.with_pair(at, |pair, network, wanted| pair.tick(now, wanted, network));
        }
    }

    pub(crate) fn set_timer(&mut self, at: Option<Instant>) {
        if self.timer_at != at {
            self.timer_at = at;
            self.timer.set(at);
        }
    }

    /// Something is to be done that the set does not report.
    fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.events.is_empty() || self.lent.is_some()
    }

    /// When something is due that no socket reports.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let pairs = self.unsettled.iter().filter_map(|&at| self.peers[at].as_ref()?.pair.deadline());
        pairs
            .chain(self.strangers.deadline())
            .chain(self.watch.due)
            .chain(self.listens_again)
            .chain(self.next_try())
            .min()
    }

    fn serve(&mut self, wire: u32, ready: Ready) {
        let Some(link) = self.network.links.get_mut(wire) else { return };
        let at = link.at;
        let done: io::Result<()> = match &link.role {
            Role::Begun => match link.socket.stands() {
                Ok(true) => {
                    self.with_pair(at, |pair, network, _| pair.connected(wire, network));
                    Ok(())
                }
                Ok(false) => Ok(()),
                Err(error) => Err(error),
            },
            Role::Asked(_) => match link.read_word(CHALLENGE) {
                Ok(Some(challenge)) => {
                    let challenge = challenge.first_chunk().copied().expect("as long as was read");
                    self.prove(wire, at, &challenge)
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            },
            Role::Proven => match link.read_word(VERDICT).map(|word| word.map(Verdict::from_bytes)) {
                Ok(Some(Some(verdict))) => {
                    let now = Instant::now();
                    self.with_pair(at, |pair, network, _| pair.answered(wire, verdict, now, network));
                    Ok(())
                }
                Ok(Some(None)) => Err(io::ErrorKind::InvalidData.into()),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            },
            // The message that is out lies in the input of the connection before.
            Role::Candidate if self.lent.is_some_and(|(lent, _)| lent == at) => return,
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
            let failure = Failure::new(self.network.happened(wire, &error), &error);
            self.network.links.remove(wire);
            let now = Instant::now();
            self.with_pair(at, |pair, network, wanted| pair.broke(wire, &failure, now, wanted, network));
        }
    }

    /// Answers the challenge that came over a connection, if the other side has proven itself.
    fn prove(&mut self, wire: u32, at: u32, challenge: &[u8; CHALLENGE]) -> io::Result<()> {
        let Some(Link { role: Role::Asked(calling), .. }) = self.network.links.get(wire) else {
            return Ok(());
        };
        let (proof, session) =
            calling.prove(challenge).map_err(|refusal| io::Error::other(refusal.to_string()))?;
        if self.with_pair(at, |pair, _, _| pair.challenged(wire))
            && let Some(link) = self.network.links.get_mut(wire)
        {
            link.role = Role::Proven;
            link.socket.write_word(&proof);
            link.socket.protect(session);
        }
        Ok(())
    }

    /// The connection with a peer is over.
    pub(crate) fn end(&mut self, at: u32, why: &str) {
        let Some(conversation) = self.peers.get(at) else { return };
        let State::Open(wire) = conversation.pair.state() else { return };
        if conversation.closing.as_ref().is_some_and(|closing| closing.peer_rests) {
            // The peer has sent its last, and may have ended since.
            return self.close_now(at, wire);
        }
        let failure = Failure { why: self.network.happened(wire, &why), is_refusal: false };
        self.network.links.remove(wire);
        self.with_pair(at, |pair, network, wanted| {
            pair.broke(wire, &failure, Instant::now(), wanted, network);
        });
    }

    pub(crate) fn lose(&mut self, at: u32, why: String) {
        let conversation = self.conversation(at);
        conversation.loss = Some(why);
        conversation.output = Output::default();
        conversation.closing = None;
        conversation.input = Input::default();
        conversation.pouring = None;
        if self.rails.is_some() {
            return self.rail_is_lost(at);
        }
        if is_lane(at) {
            return self.fall_back(at);
        }
        self.end_lanes(at);
        self.fail_all(at);
        if self.network.is_apart(at) {
            self.is_gone(at);
        } else if !self.is_no_loss(at) {
            self.events.push_back(Event::PeerLost(Peer(at)));
        }
    }
}

/// What a process keeps of a peer from the first message on.
#[cold]
fn begin(
    at: u32,
    network: &mut Network,
    connect_limits: ConnectLimits,
    has_rails: bool,
) -> Box<Conversation> {
    if has_rails {
        return Box::new(Conversation::new(network.rail(at, connect_limits)));
    }
    let (places, rounds) =
        if is_lane(at) { (1, 1) } else { (network.places(at).len(), connect_limits.rounds) };
    let refusals = if network.is_of_job(at) { rounds } else { FOREIGN_REFUSALS };
    let limits = ConnectLimits { rounds, refusals, ..connect_limits };
    Box::new(Conversation::new(Pair::new(at, network.comes_second(at), places, limits, Instant::now())))
}

impl RemoteMemory for Tcp {}

impl Btl for Tcp {
    fn reaches(&self, peer: Peer) -> bool {
        peer.0 != self.network.me && self.network.contact(peer.0).is_some()
    }

    fn limits(&self, _peer: Peer) -> &Limits {
        &self.limits
    }

    fn pace(&self, _peer: Peer) -> Pace {
        self.pace
    }

    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        self.send_at(peer.0, header, payload)
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.lent.is_some() {
            return None;
        }
        self.arrivals += 1;
        if self.arrivals > ARRIVALS {
            self.poll();
        } else if self.ready.is_empty() {
            self.poll_recent();
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
        self.end_burst();
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
        debug_assert_eq!(arrival.peer, Peer(peer_of(at)));
        self.conversation(at).input.consume(bytes);
        self.settle(at);
    }

    fn next_event(&mut self) -> Option<Event> {
        // An owner that asks for arrivals and events in turns has the sockets polled once for both.
        if self.events.is_empty() && !core::mem::take(&mut self.polled) {
            self.poll_recent();
            self.polled = false;
        }
        // What a lost peer had sent before comes first.
        self.events.pop_front()
    }

    fn loss(&self, peer: Peer) -> Loss {
        self.loss_of(peer.0)
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        self.direct.expose(peer.0, memory, access).ok_or(Refusal::Busy)
    }

    fn conceal(&mut self, peer: Peer, key: RemoteKey) {
        let Some(name) = self.direct.conceal(peer.0, key) else { return };
        for conversation in self.peers.with_peer(peer.0) {
            conversation.output.keep(name);
            conversation.closing.iter_mut().for_each(|closing| closing.output.keep(name));
            if let Some(Pouring { into, end: End::Stored { name: theirs, .. }, .. }) =
                &mut conversation.pouring
                && *theirs == name
            {
                *into = None;
            }
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
        self.begin_move(peer, (local, false), (key, offset), cookie)
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.begin_move(peer, (local, true), (key, offset), cookie)?;
        self.bytes_sent += local.len() as u64;
        Ok(())
    }

    fn congested(&self, _peer: Peer) -> bool {
        false
    }

    fn is_flushed(&self) -> bool {
        let is_flushed = |conversation: &Conversation| {
            let closing = conversation.closing.as_ref();
            conversation.output.is_empty() && closing.is_none_or(|closing| closing.output.is_empty())
        };
        !self.burst.keeps(None)
            && self.peers.iter().all(is_flushed)
            && self.network.links.iter().all(|(_, link)| !link.socket.has_unsent())
    }

    /// The other kernel has to have it: the end of this process resets a connection on which more comes in, and then this
    /// kernel sends nothing more.
    fn owes(&self, peer: Peer) -> bool {
        self.owes_at(peer.0)
    }

    /// There need not be a connection whose end would show.
    fn must_look_for_losses(&self) -> bool {
        self.network.contacts.len() > 1
    }

    fn look_for_losses(&mut self, awaited: &[Peer]) -> bool {
        self.call_awaited(awaited);
        !self.events.is_empty()
    }

    fn has_ended(&mut self, peer: Peer) {
        self.note_end(peer.0);
    }

    fn reaches_away(&self, peer: Peer) -> bool {
        self.would_miss(peer)
    }

    fn would_miss(&self, peer: Peer) -> bool {
        let conversation = self.peers.get(peer.0);
        !self.network.is_apart(peer.0)
            && conversation.is_some_and(|conversation| conversation.pair.is_known_to_peer())
    }

    fn advertise_congestion(&mut self, _on: bool) -> bool {
        false
    }

    /// Room is reported by the set: what was refused waits behind output that a socket has not taken, or for a connection
    /// in the making.
    fn arm(&mut self) -> Option<Sleep> {
        self.end_burst();
        if self.has_work() {
            return None;
        }
        self.set_timer(self.deadline());
        // The poll before the sleep is one of all sockets.
        self.polls = POLLS;
        Some(Sleep::Descriptor(self.network.set.as_fd().as_raw_fd()))
    }

    fn must_arm_again(&self) -> bool {
        // The poll after `arm` may have taken what the timer was set for, and begun what is due earlier.
        let is_earlier = self.deadline().is_some_and(|next| self.timer_at.is_none_or(|at| next < at));
        self.has_work() || is_earlier
    }

    fn disarm(&mut self) {}

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.network.set.as_fd())
    }
}

impl FastPath for Tcp {}
