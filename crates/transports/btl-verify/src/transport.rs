//! The transport: sums on frames that leave, comparison of those that arrive, and questions about copies.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use btl::{
    Access, Arrival, Btl, Busy, Class, Event, FastPath, Full, Limits, LimitsByPeer, Loss, MAX_HEADER_WORDS,
    Pace, Peer, Rails, Refusal, RemoteKey, RemoteMemory, Sleep, Way, Ways,
};
use copies::{Copy, Difference, Kind, Letter, Question, Step, Table};
use mem::{PeerBytes, PeerSpace, Source, UserMem};
use sums::{Damage, Faults, Half, Names, Place};

use crate::frame::{self, Bad};

/// The hosts of a job's processes.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// The node of each process.
    pub nodes: Vec<u32>,
    /// The name of each node's host.
    pub names: BTreeMap<u32, String>,
}

impl Hosts {
    fn name(&self, peer: Peer) -> String {
        let name = self.nodes.get(peer.0 as usize).and_then(|node| self.names.get(node));
        name.cloned().unwrap_or_else(sums::host)
    }
}

/// What a transport does beside its work.
#[derive(Debug)]
pub struct Settings {
    /// What it calls hosts.
    pub hosts: Hosts,
    /// Faults for tests.
    pub faults: Option<Faults>,
    /// Ends the job, with the lines to print.
    pub end: fn(&str) -> !,
}

/// What a frame of the message layer is, for people, and the byte of its message at which its payload begins.
pub type Describe = fn(PeerBytes<'_>) -> Option<(String, u64)>;

/// Verification over the transports `B`.
#[derive(Debug)]
pub struct Verify<B> {
    below: B,
    me: Peer,
    job: u64,
    limits: LimitsByPeer,
    settings: Settings,
    describe: Describe,
    table: Table,
    /// Sealed frames that wait for room, by peer: questions, answers, and at most one of the layer above, whose payload was taken
    /// before the refusal.
    waiting: BTreeMap<Peer, VecDeque<Sealed>>,
    /// One of them is new since the last `arm`, so that the transport below has announced no room for it.
    is_refused: bool,
    events: VecDeque<Event>,
    /// An arrival that was taken while an event was asked for, with the words of its header.
    ready: Option<Below>,
    /// The arrival that is out.
    out: Option<Below>,
    /// Memory for the body of a frame that leaves.
    body: Vec<u8>,
    frames: u64,
}

/// An arrival as the transport below gave it: way, arrival, and words of the header that it carries.
type Below = (Way, Arrival, usize);

/// A frame that is ready to leave.
type Sealed = ([u64; 2], Vec<u8>);

/// Of a frame's body, for the header that is carried.
const CARRIED: usize = MAX_HEADER_WORDS * 8;

impl<B: Ways> Verify<B> {
    /// The transport of process `me` of a job with this number, over `below`, which reaches `peers` processes.
    pub fn new(below: B, (me, job): (Peer, u64), peers: u32, settings: Settings) -> Verify<B> {
        let limits = LimitsByPeer::new(peers, |peer| {
            let own = *below.limits(peer);
            let max_send = own.max_send.saturating_sub(CARRIED).max(1);
            Limits { eager: own.eager.min(max_send), max_send, ..own }
        });
        Verify {
            below,
            me,
            job,
            limits,
            settings,
            describe: |_| None,
            table: Table::default(),
            waiting: BTreeMap::new(),
            is_refused: false,
            events: VecDeque::new(),
            ready: None,
            out: None,
            body: Vec::new(),
            frames: 0,
        }
    }

    /// Has frames of the message layer described by `describe`.
    pub fn describe_by(&mut self, describe: Describe) {
        self.describe = describe;
    }

    /// The transports below.
    pub fn below(&self) -> &B {
        &self.below
    }

    /// Frames that arrived and were as they had been sent.
    pub fn verified_frames(&self) -> u64 {
        self.frames
    }

    /// Gets and puts that were compared and were equal.
    pub fn verified_copies(&self) -> u64 {
        self.table.equal()
    }

    /// Transport, device and addresses of the way that frames and copies for a peer take.
    pub fn path_to(&self, peer: Peer) -> String {
        self.below.ways(peer).first().map_or_else(String::new, |&way| self.path(way, peer))
    }

    fn path(&self, way: Way, peer: Peer) -> String {
        let (name, place) = (self.below.name_of(way), self.below.place_of(way, peer));
        if place.is_empty() { name.to_owned() } else { format!("{name} by {place}") }
    }

    /// What sums of frames from one process to the other begin with.
    fn seed(&self, from: Peer, to: Peer) -> u32 {
        Names { from: from.0, to: to.0, job: self.job }.seed()
    }

    /// Sends a frame whose body, with so many words of header, is in `self.body`: now or when there is room.
    fn send_body(&mut self, peer: Peer, words: usize) {
        let mut sealed = frame::seal(self.seed(self.me, peer), words, &self.body);
        let bits = u64::BITS as usize;
        let in_sealed = sealed.len() * bits;
        let all = in_sealed + self.body.len() * 8;
        let bit = self.settings.faults.as_mut().and_then(|faults| faults.of_frame(all));
        match bit.map(|bit| bit.checked_sub(in_sealed).ok_or(bit)) {
            None => {}
            Some(Err(bit)) => sealed[bit / bits] ^= 1 << (bit % bits),
            Some(Ok(bit)) => self.body[bit / 8] ^= 1 << (bit % 8),
        }
        let sent = match self.waiting.contains_key(&peer) {
            true => Err(Busy),
            false => self.below.send(peer, &sealed, &mut PeerBytes::of(&self.body)),
        };
        if sent.is_err() {
            self.is_refused = true;
            self.waiting.entry(peer).or_default().push_back((sealed, core::mem::take(&mut self.body)));
        }
    }

    /// Sends what waits for room, in the order of each peer.
    fn send_waiting(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let Verify { below, waiting, .. } = self;
        waiting.retain(|&peer, frames| {
            while let Some((sealed, body)) = frames.front()
                && below.send(peer, sealed, &mut PeerBytes::of(body)).is_ok()
            {
                frames.pop_front();
            }
            !frames.is_empty()
        });
    }

    /// Does what a copy asks for next.
    fn follow(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Tell(Letter { peer, header, payload }) => {
                self.body.clear();
                self.body.extend(header.iter().flat_map(|word| word.to_ne_bytes()));
                self.body.extend(payload);
                self.send_body(peer, header.len());
            }
            Step::Over(event) => self.events.push_back(event),
            Step::Differs(name, found) => self.end_copy(name, found),
        }
    }

    /// The transport below has moved the bytes of a copy.
    fn moved(&mut self, name: u32) {
        // What was put the owner damages.
        if let (Some(faults), Some(copy)) = (&mut self.settings.faults, self.table.copies.get(name))
            && copy.kind == Kind::Get
        {
            faults.damage_copy(&copy.local);
        }
        let step = self.table.moved(name);
        self.follow(step);
    }

    /// A copy is damaged.
    #[cold]
    fn end_copy(&self, name: u32, found: Difference) {
        let Some(Copy { kind, peer, .. }) = self.table.copies.get(name) else { return };
        let half = Half::Payload { offset: found.offset, len: found.len };
        let what = "a directly copied message".to_owned();
        let path = self.path_to(*peer);
        match kind {
            Kind::Get => self.end((*peer, self.me), path, what, (half, found.theirs, found.ours)),
            Kind::Put => self.end((self.me, *peer), path, what, (half, found.ours, found.theirs)),
        }
    }

    /// Takes the next frame that is not this transport's own.
    fn take_next(&mut self) -> Option<Below> {
        loop {
            let (way, arrival) = self.below.next_arrival_by()?;
            let taken = self.take(way, arrival);
            if taken.is_some() {
                return taken;
            }
        }
    }

    /// Takes a frame: what is this transport's own is done, the rest is for the layer above.
    fn take(&mut self, way: Way, arrival: Arrival) -> Option<Below> {
        let (peer, body) = (arrival.peer, arrival.payload);
        let words = match frame::open(self.seed(peer, self.me), arrival.header, body) {
            Ok(words) => words,
            Err(bad) => self.end_frame(way, &arrival, bad),
        };
        self.frames += 1;
        let payload = body.part(words * 8, body.len());
        let Some(question) = Question::read(peer, body.part(0, words * 8)) else {
            return Some((way, arrival, words));
        };
        let Verify { table, below, settings, .. } = self;
        if let (Some(faults), Some(memory)) = (&mut settings.faults, table.stored(&question)) {
            faults.damage_copy(&[memory]);
        }
        let step = table.take(peer, question, payload, |key| below.conceal(peer, key));
        below.release_by(way, arrival);
        self.follow(step);
        None
    }

    /// A frame is damaged.
    #[cold]
    fn end_frame(&self, way: Way, arrival: &Arrival, Bad { half, sent, found }: Bad) -> ! {
        let header = arrival.payload.part(0, frame::carried(arrival.header) * 8);
        // Only a header that is whole is described.
        let described = match half {
            Half::Envelope => None,
            Half::Payload { .. } => self.name_frame(header),
        };
        let (what, base) = described.unwrap_or_else(|| ("a frame".to_owned(), 0));
        let half = match half {
            Half::Payload { offset, len } => Half::Payload { offset: base + offset, len },
            Half::Envelope => Half::Envelope,
        };
        self.end((arrival.peer, self.me), self.path(way, arrival.peer), what, (half, sent, found))
    }

    fn name_frame(&self, header: PeerBytes<'_>) -> Option<(String, u64)> {
        let what = match Class::of(header)? {
            Class::Pml => return (self.describe)(header),
            Class::Osc => "an operation on a window",
            Class::Io => "an operation on a file",
            _ => "a frame of the library",
        };
        Some((what.to_owned(), 0))
    }

    fn end(
        &self,
        (from, to): (Peer, Peer),
        path: String,
        what: String,
        (half, sent, found): (Half, u32, u32),
    ) -> ! {
        let hosts = &self.settings.hosts;
        let place = Place { path, from: hosts.name(from), to: hosts.name(to) };
        let damage = Damage { what, from: from.0, to: to.0, place, half, sent, found };
        (self.settings.end)(&damage.to_string())
    }

    /// Begins a copy by the transport below.
    fn begin(
        &mut self,
        copy: Copy,
        begin: impl FnOnce(&mut B, u64) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let Verify { table, below, .. } = self;
        table.begin(copy, |_, name| begin(below, name))
    }
}

impl<B: Ways> RemoteMemory for Verify<B> {}
impl<B: Ways> FastPath for Verify<B> {}
impl<B: Ways> Rails for Verify<B> {}

impl<B: Ways> Btl for Verify<B> {
    fn reaches(&self, peer: Peer) -> bool {
        peer != self.me && self.limits.has(peer) && self.below.reaches(peer)
    }

    fn limits(&self, peer: Peer) -> &Limits {
        self.limits.of(peer)
    }

    fn pace(&self, peer: Peer) -> Pace {
        self.below.pace(peer)
    }

    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        if self.waiting.contains_key(&peer) {
            return Err(Busy);
        }
        self.body.clear();
        self.body.extend(header.iter().flat_map(|word| word.to_ne_bytes()));
        let carried = self.body.len();
        self.body.resize(carried + payload.remaining(), 0);
        payload.fill(PeerSpace::of(&mut self.body[carried..]));
        self.send_body(peer, header.len());
        Ok(())
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.out.is_some() {
            return None;
        }
        self.send_waiting();
        let next = self.ready.take().or_else(|| self.take_next())?;
        let (_, Arrival { peer, payload: body, .. }, words) = self.out.insert(next);
        let (header, payload) = (body.part(0, *words * 8), body.part(*words * 8, body.len()));
        Some(Arrival { peer: *peer, header, payload, token: 0 })
    }

    /// What is asked for may be behind frames of others.
    fn next_arrival_from(&mut self, _peer: Peer) -> Option<Arrival> {
        None
    }

    fn release(&mut self, _arrival: Arrival) {
        if let Some((way, arrival, _)) = self.out.take() {
            self.below.release_by(way, arrival);
        }
    }

    /// Takes what has arrived, too: questions and answers. A loss comes after what had arrived before.
    fn next_event(&mut self) -> Option<Event> {
        self.send_waiting();
        if self.out.is_none() && self.ready.is_none() {
            self.ready = self.take_next();
        }
        while let Some((_, event)) = self.below.next_event_by() {
            match event {
                Event::Done(name) => self.moved(name as u32),
                Event::Failed(name) => {
                    let step = self.table.failed(name as u32);
                    self.follow(step);
                }
                Event::PeerLost(peer) => {
                    self.table.copies.forget(peer);
                    self.waiting.remove(&peer);
                    self.events.push_back(event);
                }
                Event::Flushed(_) => {}
            }
        }
        if self.ready.is_none() { self.events.pop_front() } else { None }
    }

    fn must_look_for_losses(&self) -> bool {
        self.below.must_look_for_losses()
    }

    fn look_for_losses(&mut self, awaited: &[Peer]) -> bool {
        self.below.look_for_losses(awaited)
    }

    fn has_ended(&mut self, peer: Peer) {
        self.below.has_ended(peer);
    }

    fn loss(&self, peer: Peer) -> Loss {
        self.below.loss(peer)
    }

    fn expose(&mut self, peer: Peer, memory: UserMem, access: Access) -> Result<RemoteKey, Refusal> {
        let key = self.below.expose(peer, memory, access)?;
        self.table.expose(peer, key, vec![memory], access == Access::Write);
        Ok(key)
    }

    fn conceal(&mut self, peer: Peer, key: RemoteKey) {
        if self.table.conceal(peer, &key) {
            self.below.conceal(peer, key);
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
        let copy = Copy { kind: Kind::Get, peer, local: vec![local], key: *key, offset, cookie };
        self.begin(copy, |below, name| below.get(peer, local, key, offset, name))
    }

    fn put(
        &mut self,
        peer: Peer,
        local: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let copy = Copy { kind: Kind::Put, peer, local: vec![local], key: *key, offset, cookie };
        self.begin(copy, |below, name| below.put(peer, local, key, offset, name))
    }

    fn takes_runs(&self, peer: Peer) -> bool {
        self.below.takes_runs(peer)
    }

    fn expose_runs(&mut self, peer: Peer, runs: &[UserMem]) -> Result<RemoteKey, Refusal> {
        let key = self.below.expose_runs(peer, runs)?;
        self.table.expose(peer, key, runs.to_vec(), false);
        Ok(key)
    }

    fn get_runs(
        &mut self,
        peer: Peer,
        local: &[UserMem],
        key: &RemoteKey,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let copy = Copy { kind: Kind::Get, peer, local: local.to_vec(), key: *key, offset: 0, cookie };
        self.begin(copy, |below, name| below.get_runs(peer, local, key, name))
    }

    fn expect_packing(&mut self, peer: Peer, bounds: Range<usize>, runs: u64) {
        self.below.expect_packing(peer, bounds, runs);
    }

    fn congested(&self, peer: Peer) -> bool {
        self.below.congested(peer)
    }

    fn full(&self, peer: Peer) -> Option<Full> {
        self.below.full(peer)
    }

    fn is_flushed(&self) -> bool {
        self.waiting.is_empty() && self.below.is_flushed()
    }

    fn owes(&self, peer: Peer) -> bool {
        self.waiting.contains_key(&peer) || self.below.owes(peer)
    }

    fn reaches_away(&self, peer: Peer) -> bool {
        self.below.reaches_away(peer)
    }

    fn would_miss(&self, peer: Peer) -> bool {
        self.below.would_miss(peer)
    }

    fn advertise_congestion(&mut self, on: bool) -> bool {
        self.below.advertise_congestion(on)
    }

    fn arm(&mut self) -> Option<Sleep> {
        self.send_waiting();
        self.is_refused = false;
        if self.events.is_empty() && self.ready.is_none() { self.below.arm() } else { None }
    }

    fn must_arm_again(&self) -> bool {
        self.is_refused || !self.events.is_empty() || self.ready.is_some() || self.below.must_arm_again()
    }

    fn disarm(&mut self) {
        self.below.disarm();
    }
}
