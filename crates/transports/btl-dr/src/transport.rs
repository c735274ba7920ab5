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
use dr::{Config, Counts, Names, Pair, PathConfig, PathState, Time};
use mem::{PeerSpace, Source, UserMem};
use platform::timer::Timer;

use crate::faults::{FaultPlan, Faults};
use crate::frame::{CARRIED, Frame};
use crate::looks::Looks;
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
    /// Peers in that list may want a turn before their time.
    has_dirty: bool,
    looks: Looks,
    /// Frames that were taken while an event was asked for, acknowledged ones among them. Of these the last alone may lie where
    /// its way has it.
    pub(crate) ready: VecDeque<Frame>,
    /// The frame that is out, and the header that it carries.
    pub(crate) lent: Option<Frame>,
    pub(crate) lent_header: Box<[u8; CARRIED]>,
    /// Memory for the next body.
    pub(crate) spare: Vec<u8>,
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

pub(crate) fn now() -> Time {
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
            has_dirty: false,
            looks: Looks::default(),
            events: VecDeque::new(),
            ready: VecDeque::new(),
            lent: None,
            lent_header: Box::new([0; CARRIED]),
            spare: Vec::new(),
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

    /// How many processes there are.
    pub(crate) fn peers(&self) -> usize {
        self.conversations.len()
    }

    /// The peer gets a turn soon.
    pub(crate) fn wake(&mut self, peer: Peer) {
        self.conversation(peer).is_dirty = true;
        self.has_dirty = true;
        self.keep_awake(peer);
    }

    /// The peer gets a turn when it is time.
    pub(crate) fn keep_awake(&mut self, peer: Peer) {
        if !core::mem::replace(&mut self.conversation(peer).is_awake, true) {
            self.awake.push(peer.0);
        }
    }

    /// Notes what the clock shows.
    pub(crate) fn look_at_clock(&mut self, now: Time) -> Time {
        self.has_news = true;
        self.looks.note(now);
        now
    }

    /// Lets leave what is due to a peer. `all_is_taken`: what has arrived is known, so times count.
    pub(crate) fn pump(&mut self, peer: Peer, now: Time, all_is_taken: bool) {
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
        if self.awake.is_empty() || !core::mem::take(&mut self.has_dirty) && !self.looks.is_due() {
            return;
        }
        let now = now();
        self.looks.look(now);
        let mut place = 0;
        while let Some(&peer) = self.awake.get(place) {
            let Conversation { pair, is_dirty, .. } = self.conversation(Peer(peer));
            let is_due = pair.deadline().is_some_and(|deadline| deadline <= now);
            if *is_dirty || is_due || pair.has_queued() || pair.is_untimed() {
                self.pump(Peer(peer), now, all_is_taken);
            }
            let Conversation { pair, is_awake, .. } = self.conversation(Peer(peer));
            let has_queued = pair.has_queued();
            if pair.deadline().is_none() && !has_queued {
                *is_awake = false;
                self.awake.swap_remove(place);
            } else {
                self.has_dirty |= has_queued;
                place += 1;
            }
        }
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
        let conversation = self.conversation(peer);
        if conversation.is_lost {
            return Err(Busy);
        }
        if !conversation.pair.has_room(header.len() * 8 + len) {
            self.take_frames(true);
        }
        let Dr { below, conversations, faults, held, .. } = self;
        let Some(Conversation { pair, ways, is_awake, is_lost: false, .. }) =
            conversations[peer.0 as usize].as_deref_mut()
        else {
            return Err(Busy);
        };
        let fill = |to: &mut [u8]| payload.fill(PeerSpace::of(to));
        let has_left = if faults.is_some() {
            pair.send(header, len, fill).map(|()| false)
        } else {
            let mut out = Out { below, faults: None, held, peer, ways, now: 0 };
            pair.send_at_once(header, len, fill, &mut out)
        };
        let has_left = has_left.map_err(|_| Busy)?;
        if !core::mem::replace(is_awake, true) {
            self.awake.push(peer.0);
        }
        if has_left {
            below.depart();
        } else {
            self.wake(peer);
            self.pump(peer, now(), false);
        }
        Ok(())
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.is_lent() {
            return None;
        }
        let Some(frame) = self.next_frame() else {
            self.advance(true);
            return None;
        };
        Some(self.lend(frame))
    }

    fn next_arrival_from(&mut self, peer: Peer) -> Option<Arrival> {
        self.take_frames(false);
        let is_first = self.ready.front().is_some_and(|frame| frame.peer == peer);
        if is_first { self.next_arrival() } else { None }
    }

    fn release(&mut self, _arrival: Arrival) {
        self.take_back();
    }

    /// Takes what has arrived, too: acknowledgements make room. A loss comes after what had arrived before.
    fn next_event(&mut self) -> Option<Event> {
        let all_is_taken = self.take_frames(false);
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
        self.has_dirty = true;
        self.advance(false);
        self.has_news = false;
        let next = self.deadline();
        self.set_timer(next);
        self.below.arm()
    }

    fn must_arm_again(&self) -> bool {
        // What left after `arm` may be overdue before what the timer was set for.
        let is_earlier = self.deadline().is_some_and(|next| self.timer_at.is_none_or(|at| next < at));
        let is_untimed = |&peer: &u32| {
            self.conversations[peer as usize].as_ref().is_some_and(|talk| talk.pair.is_untimed())
        };
        let has_more = self.awake.iter().any(is_untimed)
            || self.has_news
            || !self.ready.is_empty()
            || !self.events.is_empty();
        has_more || is_earlier || self.below.must_arm_again()
    }

    fn disarm(&mut self) {
        self.below.disarm();
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
