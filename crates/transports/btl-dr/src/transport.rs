//! The transport: a pair for each peer that talks, and the contract's calls.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use btl::{
    Access, Arrival, Btl, Busy, Event, FastPath, Full, Limits, LimitsByPeer, Loss, Pace, Peer, Rails,
    Refusal, RemoteKey, RemoteMemory, Sleep, Turn, Way, Ways,
};
use copies::{Copy, Kind};
use dr::{Config, Counts, MAX_HEADER_WORDS, Names, Pair, PathConfig, PathState, Taken, Time};
use mem::{PeerBytes, PeerSpace, Source, UserMem};
use platform::timer::Timer;

use crate::faults::{FaultPlan, Faults};
use crate::news::{News, name};
use crate::port::{Held, Out};
use crate::under_way::{Gets, direct};
use crate::{Checksum, DrParams, Rdma};

/// The peer of a pair, and how it is reached.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) pair: Pair,
    pub(crate) ways: Vec<Way>,
    /// What was reported of them last.
    news: News,
    /// It is in the list of those that want turns.
    is_awake: bool,
    /// Something has arrived or was sent since its last turn.
    is_dirty: bool,
    pub(crate) is_lost: bool,
}

impl Conversation {
    /// The ways that carry data, or could.
    fn ways_up(&self) -> impl Iterator<Item = Way> {
        let is_up = |&path: &usize| self.pair.path_state(path as u8) == PathState::Up;
        (0..self.ways.len()).filter(is_up).map(|path| self.ways[path])
    }
}

/// Data reliability over the transports `B`.
#[derive(Debug)]
pub struct Dr<B> {
    pub(crate) below: B,
    me: Peer,
    job: u64,
    config: Config,
    checksum: Checksum,
    limits: LimitsByPeer,
    /// By peer; made when the first frame is sent or arrives.
    conversations: Vec<Option<Box<Conversation>>>,
    /// Peers that want turns: something is under way, or due.
    awake: Vec<u32>,
    pub(crate) events: VecDeque<Event>,
    /// Frames that were taken while an event was asked for, acknowledged ones among them: sender, words of the header that is
    /// carried, and body.
    ready: VecDeque<(Peer, usize, Vec<u8>)>,
    /// The body that is out.
    lent: Vec<u8>,
    /// Memory for the next body.
    spare: Vec<u8>,
    is_lent: bool,
    pub(crate) faults: Option<Faults>,
    held: Option<Held>,
    timer: Timer,
    timer_at: Option<Time>,
    /// A frame has come since the last `arm`, which may have made room or be due an answer.
    has_news: bool,
    /// Takes the lines about ways that fail and return.
    report: Option<fn(&str)>,
    pub(crate) rdma: Rdma,
    pub(crate) gets: Gets,
}

/// Frames of data that wait for being asked for; with more, acknowledgements behind them wait, too.
const MOST_READY: usize = 64;
/// Frames that are taken for one event.
const MOST_TAKEN: usize = 32;

/// Of a frame's body, for the header that is carried.
const CARRIED: usize = btl::MAX_HEADER_WORDS * 8;

fn now() -> Time {
    platform::clock::nanoseconds()
}

impl<B: Ways> Dr<B> {
    /// The transport of process `me` of a job with this number, over `below`, which reaches `peers` processes.
    ///
    /// # Errors
    /// The system's: there is no timer left.
    pub fn new(
        below: B,
        (me, job): (Peer, u64),
        peers: u32,
        params: &DrParams,
        faults: &FaultPlan,
    ) -> io::Result<Dr<B>> {
        let config = Config { window_bytes: params.window, ..Config::default() };
        let limits = LimitsByPeer::new(peers, |peer| limits(&below, params.rdma, peer));
        Ok(Dr {
            below,
            me,
            job,
            config,
            checksum: params.checksum,
            limits,
            conversations: (0..peers).map(|_| None).collect(),
            awake: Vec::new(),
            events: VecDeque::new(),
            ready: VecDeque::new(),
            lent: Vec::new(),
            spare: Vec::new(),
            is_lent: false,
            faults: Faults::new(faults),
            held: None,
            timer: Timer::new()?,
            timer_at: None,
            has_news: false,
            report: params.report.then_some(btl::join::report),
            rdma: params.rdma,
            gets: Gets::default(),
        })
    }

    /// The transports below.
    pub fn below(&self) -> &B {
        &self.below
    }

    /// Readable when a frame is overdue: what the owner of the transports below sleeps on beside theirs.
    pub fn timer(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// What happened so far, of all peers.
    pub fn counts(&self) -> Counts {
        let all = self.conversations.iter().flatten().map(|conversation| conversation.pair.counts());
        all.fold(Counts::default(), |sum, one| Counts {
            sent: sum.sent + one.sent,
            resent: sum.resent + one.resent,
            resent_bytes: sum.resent_bytes + one.resent_bytes,
            bad_headers: sum.bad_headers + one.bad_headers,
            bad_payloads: sum.bad_payloads + one.bad_payloads,
            duplicates: sum.duplicates + one.duplicates,
            nonsense: sum.nonsense + one.nonsense,
            timeouts: sum.timeouts + one.timeouts,
            falls: sum.falls + one.falls,
        })
    }

    /// Gets and puts that were compared with their owner's memory and were equal, and gets that were made again.
    pub fn gets(&self) -> (u64, u64) {
        (self.gets.table.equal(), self.gets.again)
    }

    /// The ways to a peer in the order in which they are tried, by name.
    pub fn ways_to(&self, peer: Peer) -> Vec<String> {
        self.below.ways(peer).into_iter().map(|way| name(&self.below, way, peer)).collect()
    }

    pub(crate) fn conversation(&mut self, peer: Peer) -> &mut Conversation {
        let Dr { below, me, job, config, checksum, conversations, .. } = self;
        conversations[peer.0 as usize].get_or_insert_with(|| {
            let ways = below.ways(peer);
            let path = |&way: &Way| {
                let (max, is_of_host) = (below.limits_by(way, peer).max_send, below.is_of_host(way));
                let base = if is_of_host { PathConfig::of_host(max) } else { PathConfig::of_network(max) };
                let payload_crc = match checksum {
                    Checksum::Never => false,
                    Checksum::Network => !is_of_host,
                    Checksum::Always => true,
                };
                PathConfig { payload_crc, datagrams: below.is_of_datagrams(way), ..base }
            };
            let paths: Vec<PathConfig> = ways.iter().map(path).collect();
            let names = Names { me: me.0, peer: peer.0, job: *job };
            let pair = Pair::new(*config, names, &paths);
            let news = News::of(&pair, ways.len());
            Box::new(Conversation { pair, ways, news, is_awake: false, is_dirty: false, is_lost: false })
        })
    }

    /// The peer gets a turn soon.
    pub(crate) fn wake(&mut self, peer: Peer) {
        let conversation = self.conversation(peer);
        conversation.is_dirty = true;
        if !core::mem::replace(&mut conversation.is_awake, true) {
            self.awake.push(peer.0);
        }
    }

    /// Lets leave what is due to a peer. `all_is_taken`: what has arrived is known, so times count.
    fn pump(&mut self, peer: Peer, now: Time, all_is_taken: bool) {
        let Dr { below, conversations, faults, held, .. } = self;
        let Some(Conversation { pair, ways, news, is_dirty, .. }) =
            conversations[peer.0 as usize].as_deref_mut()
        else {
            return;
        };
        *is_dirty = false;
        let mut out = Out { below, faults: faults.as_mut(), held, peer, ways, now };
        match all_is_taken {
            true => pair.pump(now, &mut out),
            false => pair.let_leave(now, &mut out),
        }
        below.depart();
        if news.is_due(pair, now) {
            news.follow(below, pair, peer, ways, self.report, now);
        }
    }

    /// Gives a turn to each peer that wants one; see [`Dr::pump`].
    fn advance(&mut self, all_is_taken: bool) {
        if !self.gets.is_flushed() {
            self.send_questions();
        }
        if self.awake.is_empty() {
            return;
        }
        let now = now();
        let mut place = 0;
        while let Some(&peer) = self.awake.get(place) {
            let conversation = self.conversation(Peer(peer));
            let deadline = conversation.pair.deadline();
            let is_due = deadline.is_some_and(|deadline| deadline <= now);
            if conversation.is_dirty || is_due || conversation.pair.has_queued() {
                self.pump(Peer(peer), now, all_is_taken);
            }
            let conversation = self.conversation(Peer(peer));
            let rests = conversation.pair.deadline().is_none() && !conversation.pair.has_queued();
            if rests {
                conversation.is_awake = false;
                self.awake.swap_remove(place);
            } else {
                place += 1;
            }
        }
    }

    /// Takes a frame. What it brings for the layer above, if it does: sender, words of the header that is carried, and body.
    fn take(&mut self, way: Way, arrival: Arrival) -> Option<(Peer, usize, Vec<u8>)> {
        let peer = arrival.peer;
        let count = arrival.header.len() / 8;
        let mut header = [0; MAX_HEADER_WORDS];
        header.iter_mut().enumerate().take(count).for_each(|(at, word)| *word = arrival.header.word(at));
        // A copy: what was verified does not change any more.
        let mut body = core::mem::take(&mut self.spare);
        body.clear();
        body.resize(arrival.payload.len(), 0);
        arrival.payload.copy_to(&mut body);
        self.below.release_by(way, arrival);
        self.has_news = true;
        if peer.0 as usize >= self.conversations.len() {
            self.spare = body;
            return None;
        }
        let conversation = self.conversation(peer);
        let path = conversation.ways.iter().position(|&one| one == way).unwrap_or(usize::from(u8::MAX));
        let header = &header[..count.min(MAX_HEADER_WORDS)];
        let now = now();
        let taken = match conversation.is_lost {
            true => Taken::Nothing,
            false => conversation.pair.take(now, path as u8, header, &body),
        };
        let is_due = conversation.pair.deadline().is_some_and(|deadline| deadline <= now);
        self.wake(peer);
        if is_due {
            self.pump(peer, now, false);
        }
        match taken {
            Taken::Nothing => {
                self.spare = body;
                None
            }
            Taken::New { words } if self.rdma != Rdma::Never && self.take_question(peer, words, &body) => {
                self.spare = body;
                None
            }
            Taken::New { words } => Some((peer, words, body)),
        }
    }

    /// Takes what has arrived; data waits for being asked for. Whether that is all.
    fn take_frames(&mut self) -> bool {
        for _ in 0..MOST_TAKEN {
            if self.is_lent || self.ready.len() >= MOST_READY {
                return false;
            }
            let Some((way, arrival)) = self.below.next_arrival_by() else { return true };
            let new = self.take(way, arrival);
            self.ready.extend(new);
        }
        false
    }

    #[allow(unsafe_code, reason = "views of bytes that stay where they are until they are given back")]
    fn lend(&mut self, (peer, words, body): (Peer, usize, Vec<u8>)) -> Arrival {
        self.is_lent = true;
        self.lent = body;
        let (header, payload) = self.lent.split_at(words * 8);
        // SAFETY: `lent` is neither moved nor changed before the arrival is given back (`next_arrival`, `release`).
        let (header, payload) = unsafe {
            (PeerBytes::new(header.as_ptr(), header.len()), PeerBytes::new(payload.as_ptr(), payload.len()))
        };
        Arrival { peer, header, payload, token: 0 }
    }

    /// A way to a peer is lost; the peer, with the last one.
    fn lose(&mut self, way: Way, peer: Peer) {
        if peer.0 as usize >= self.conversations.len() {
            return;
        }
        let now = now();
        let conversation = self.conversation(peer);
        let Some(path) = conversation.ways.iter().position(|&one| one == way) else { return };
        if conversation.pair.path_lost(path as u8, now) && !conversation.is_lost {
            conversation.is_lost = true;
            self.forget_copies(peer);
            self.events.push_back(Event::PeerLost(peer));
        }
        self.wake(peer);
    }

    /// A way to a peer is there again.
    fn regain(&mut self, way: Way, peer: Peer) {
        let now = now();
        let conversation = self.conversation(peer);
        if let Some(path) = conversation.ways.iter().position(|&one| one == way) {
            conversation.pair.path_returned(path as u8, now);
            self.wake(peer);
        }
    }

    /// When a peer wants its next turn.
    fn deadline(&self) -> Option<Time> {
        let deadline = |&peer: &u32| self.conversations[peer as usize].as_ref()?.pair.deadline();
        self.awake.iter().filter_map(deadline).min()
    }

    fn set_timer(&mut self, at: Option<Time>) {
        if self.timer_at == at {
            return;
        }
        self.timer_at = at;
        let left = |at: Time| Duration::from_nanos(at.saturating_sub(now()));
        self.timer.set(at.map(|at| Instant::now() + left(at)));
    }
}

/// What fits every way to a peer: a frame may move from one to another. Gets and puts have the limits of the way that they take.
fn limits<B: Ways>(below: &B, rdma: Rdma, peer: Peer) -> Limits {
    let all = below.ways(peer);
    let least = |of: fn(&Limits) -> usize| {
        all.iter().map(|&way| of(below.limits_by(way, peer))).min().unwrap_or(CARRIED + 1)
    };
    let max_send = least(|limits| limits.max_send).saturating_sub(CARRIED).max(1);
    let of_messages = Limits::of_messages(least(|limits| limits.eager).min(max_send), max_send);
    match direct(below, peer).filter(|_| rdma != Rdma::Never) {
        None => of_messages,
        Some(way) => {
            let Limits { eager, max_send, .. } = of_messages;
            let direct = *below.limits_by(way, peer);
            Limits { eager, max_send, ..direct }
        }
    }
}

impl<B: Ways> RemoteMemory for Dr<B> {}
impl<B: Ways> FastPath for Dr<B> {}
impl<B: Ways> Rails for Dr<B> {}

impl<B: Ways> Btl for Dr<B> {
    fn reaches(&self, peer: Peer) -> bool {
        peer != self.me && (peer.0 as usize) < self.conversations.len() && self.below.reaches(peer)
    }

    fn limits(&self, peer: Peer) -> &Limits {
        self.limits.of(peer)
    }

    fn pace(&self, peer: Peer) -> Pace {
        self.below.pace(peer)
    }

    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        let len = payload.remaining();
        if !self.conversation(peer).pair.has_room(header.len() * 8 + len) {
            self.take_frames();
        }
        let conversation = self.conversation(peer);
        if conversation.is_lost {
            return Err(Busy);
        }
        let fill = |to: &mut [u8]| payload.fill(PeerSpace::of(to));
        conversation.pair.send(header, len, fill).map_err(|_| Busy)?;
        self.wake(peer);
        self.pump(peer, now(), false);
        Ok(())
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.is_lent {
            return None;
        }
        if let Some(ready) = self.ready.pop_front() {
            return Some(self.lend(ready));
        }
        loop {
            let Some((way, arrival)) = self.below.next_arrival_by() else {
                self.advance(true);
                return None;
            };
            if let Some(new) = self.take(way, arrival) {
                return Some(self.lend(new));
            }
        }
    }

    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        self.take_frames();
        let is_first = self.ready.front().is_some_and(|&(from, ..)| from == peer);
        if is_first { self.next_arrival() } else { None }
    }

    fn release(&mut self, _arrival: Arrival) {
        self.is_lent = false;
        self.spare = core::mem::take(&mut self.lent);
    }

    /// Takes what has arrived, too: acknowledgements make room. A loss comes after what had arrived before.
    fn next_event(&mut self) -> Option<Event> {
        let all_is_taken = self.take_frames();
        while let Some((way, event)) = self.below.next_event_by() {
            match event {
                Event::Done(name) => self.on_copy(name as u32, false),
                Event::Failed(name) => self.on_copy(name as u32, true),
                Event::PeerLost(peer) => {
                    self.fail_copies(way, peer);
                    let all = self.below.ways(peer).into_iter();
                    let rails = all.filter(|one| one.transport() == way.transport());
                    rails.for_each(|way| self.lose(way, peer));
                }
                Event::Flushed(_) => {}
            }
        }
        while let Some((way, peer, turn)) = self.below.next_turn_by() {
            match turn {
                Turn::Lost => self.lose(way, peer),
                Turn::Returned => self.regain(way, peer),
            }
        }
        self.advance(all_is_taken);
        if self.ready.is_empty() { self.events.pop_front() } else { None }
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        let way = self.direct(peer)?;
        let key = self.below.expose_by(way, peer, memory, access)?;
        let is_sealed = access == Access::Write && self.rdma == Rdma::Verified;
        self.gets.table.expose(peer, key, vec![memory], is_sealed);
        Ok(key)
    }

    fn conceal(&mut self, peer: Peer, key: RemoteKey) {
        if self.gets.table.conceal(peer, &key)
            && let Some(way) = direct(&self.below, peer)
        {
            self.below.conceal_by(way, peer, key);
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
        self.begin_copy(Copy { kind: Kind::Get, peer, local: vec![local], key: *key, offset, cookie })
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        self.begin_copy(Copy { kind: Kind::Put, peer, local: vec![local], key: *key, offset, cookie })
    }

    fn must_look_for_losses(&self) -> bool {
        self.below.must_look_for_losses()
    }

    fn look_for_losses(&mut self, awaited: &[Peer]) -> bool {
        self.below.look_for_losses(awaited) || !self.events.is_empty()
    }

    fn has_ended(&mut self, peer: Peer) {
        for way in self.below.ways(peer) {
            self.lose(way, peer);
        }
    }

    fn loss(&self, peer: Peer) -> Loss {
        self.below.loss(peer)
    }

    fn congested(&self, peer: Peer) -> bool {
        self.below.congested(peer)
    }

    fn full(&self, peer: Peer) -> Option<Full> {
        let conversation = self.conversations[peer.0 as usize].as_ref()?;
        let bytes = self.limits(peer).max_send + CARRIED;
        if conversation.pair.has_room(bytes) {
            return None;
        }
        // Where frames wait for a transport, that may know why.
        if conversation.pair.has_queued() { self.below.full(peer) } else { Some(Full::Peer) }
    }

    fn is_flushed(&self) -> bool {
        let talks = || self.conversations.iter().flatten();
        let is_up = |talk: &Conversation| talk.ways_up().count() == talk.ways.len();
        // What is stuck on a way that has failed has gone by another one; and see `owes`.
        self.gets.is_flushed()
            && talks().all(|talk| talk.pair.is_flushed())
            && (self.below.is_flushed() || !talks().all(|talk| is_up(talk)))
    }

    fn owes(&self, peer: Peer) -> bool {
        // An acknowledgement that is due counts: the peer may not end before it has it.
        self.gets.owes(peer)
            || self.conversations[peer.0 as usize].as_ref().is_some_and(|conversation| {
                conversation.pair.owes() || conversation.ways_up().any(|way| self.below.owes_by(way, peer))
            })
    }

    fn would_miss(&self, peer: Peer) -> bool {
        self.conversations[peer.0 as usize].is_some() || self.below.would_miss(peer)
    }

    fn advertise_congestion(&mut self, on: bool) -> bool {
        self.below.advertise_congestion(on)
    }

    fn arm(&mut self) -> Option<Sleep> {
        if !self.ready.is_empty() || !self.events.is_empty() {
            return None;
        }
        let now = now();
        for place in 0..self.awake.len() {
            let peer = Peer(self.awake[place]);
            self.conversation(peer).pair.hurry(now);
        }
        self.advance(false);
        self.has_news = false;
        let next = self.deadline();
        self.set_timer(next);
        self.below.arm()
    }

    fn must_arm_again(&self) -> bool {
        // What left after `arm` may be overdue before what the timer was set for.
        let is_earlier = self.deadline().is_some_and(|next| self.timer_at.is_none_or(|at| next < at));
        let has_more = self.has_news || !self.ready.is_empty() || !self.events.is_empty();
        has_more || is_earlier || self.below.must_arm_again()
    }

    fn disarm(&mut self) {
        self.below.disarm();
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
