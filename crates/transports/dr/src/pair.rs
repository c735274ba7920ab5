//! The machine: this process's side of the traffic with one peer.

use std::collections::VecDeque;

use crate::Counts;
use crate::config::{Config, MICROSECOND, Names, PathConfig, Time};
use crate::frame::{Body, Head, Kind, MAX_CARRIED, expand};
use crate::inbound::{Inbound, Verdict};
use crate::mask::{BITS, Mask};
use crate::outbound::{Outbound, Slot, Stage};
use crate::path::{Path, PathState};

/// Nothing was taken: as much is under way as may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// A path has no room now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// Where frames leave.
pub trait Port {
    /// Sends a frame by a path, copying it.
    ///
    /// # Errors
    /// [`Full`]; nothing was taken.
    fn transmit(&mut self, path: u8, header: &[u64], body: &[u8]) -> Result<(), Full>;
}

/// What a frame was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// Nothing for the layer above.
    Nothing,
    /// New and whole: the body begins with so many words of the header that it carries.
    New {
        /// Words of 8 bytes.
        words: usize,
    },
}

/// A short frame that is to leave when there is room.
#[derive(Clone, Copy, Debug)]
struct Notice {
    kind: Kind,
    /// Where it leaves.
    by: u8,
    /// What its header names as its path.
    path: u8,
    sequence: u64,
    attempt: u8,
}

/// Notices that may wait; the peer asks again for what it does not get.
const MOST_NOTICES: usize = 64;
/// Frames acknowledged that left later on the same path, after which one is lost.
const OVERTAKEN: u64 = 3;
/// Largest body of a probe.
const MOST_PROBED: usize = 64 << 10;

/// This process's side of the traffic with one peer. See the crate's documentation.
#[derive(Debug)]
pub struct Pair {
    config: Config,
    seed_out: u32,
    seed_in: u32,
    pub(crate) outbound: Outbound,
    inbound: Inbound,
    paths: Vec<Path>,
    notices: VecDeque<Notice>,
    /// When room on a path comes back that has it by time alone.
    room_at: Option<Time>,
    /// A frame has left when no time was at hand: the time of its path begins when one is.
    is_untimed: bool,
    counts: Counts,
}

impl Pair {
    /// A pair that has sent and received nothing. `paths` is the same list on both sides but for what each side wants of
    /// them, the best first, at most 255.
    pub fn new(config: Config, names: Names, paths: &[PathConfig]) -> Pair {
        let config = Config { window: config.window.clamp(1, BITS as u32), ..config };
        Pair {
            config,
            seed_out: names.seed_out(),
            seed_in: names.seed_in(),
            outbound: Outbound::new(config.first_sequence),
            inbound: Inbound::new(config.first_sequence),
            paths: paths.iter().take(usize::from(u8::MAX)).map(|&path| Path::new(path)).collect(),
            notices: VecDeque::new(),
            room_at: None,
            is_untimed: false,
            counts: Counts::default(),
        }
    }

    /// Takes a frame that carries the `words` and `len` bytes, which `fill` writes. [`Pair::pump`] lets it leave.
    ///
    /// # Errors
    /// [`Busy`]; `fill` was not called.
    pub fn send(&mut self, words: &[u64], len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), Busy> {
        assert!(words.len() <= MAX_CARRIED, "a header of {} words", words.len());
        let bytes = words.len() * 8 + len;
        if !self.has_room(bytes) {
            return Err(Busy);
        }
        let mut body = self.outbound.memory(bytes);
        let (head, payload) = body.split_at_mut(words.len() * 8);
        for (place, word) in head.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_ne_bytes();
        }
        fill(payload);
        self.outbound.push(body, words.len() as u8);
        Ok(())
    }

    /// As [`Pair::send`], and lets the frame leave where nothing else is to, without a look at the clock: the time in which it is to
    /// be answered begins with the next call that has one. Whether nothing is left to be done by [`Pair::let_leave`].
    ///
    /// # Errors
    /// As [`Pair::send`].
    pub fn send_at_once(
        &mut self,
        words: &[u64],
        len: usize,
        fill: impl FnOnce(&mut [u8]),
        port: &mut impl Port,
    ) -> Result<bool, Busy> {
        let is_quiet = self.is_quiet();
        self.send(words, len, fill)?;
        match self.paths.first() {
            Some(first) if is_quiet && !first.config.datagrams => {
                self.send_first_queued(0, None, port);
                Ok(!self.has_queued())
            }
            _ => Ok(false),
        }
    }

    /// Whether nothing waits to leave but perhaps an acknowledgement, and all paths are up.
    pub fn is_quiet(&self) -> bool {
        let is_quiet = |path: &Path| path.state == PathState::Up && !path.wants_probe;
        !self.has_queued() && self.notices.is_empty() && self.paths.iter().all(is_quiet)
    }

    /// Whether [`Pair::send`] would take a frame with a body of so many bytes.
    pub fn has_room(&self, bytes: usize) -> bool {
        let under_way = self.outbound.len();
        under_way == 0
            || under_way < self.config.window as usize
                && self.outbound.bytes() + bytes <= self.config.window_bytes
    }

    /// Whether all that was sent is acknowledged.
    pub fn is_flushed(&self) -> bool {
        self.outbound.len() == 0
    }

    /// Whether the peer is to get something yet: a frame, an acknowledgement, an answer.
    pub fn owes(&self) -> bool {
        !self.is_flushed() || self.inbound.due().is_some() || !self.notices.is_empty()
    }

    /// Whether a frame waits to leave.
    pub fn has_queued(&self) -> bool {
        self.outbound.has_queued()
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What a path is used for.
    pub fn path_state(&self, path: u8) -> PathState {
        self.paths[usize::from(path)].state
    }

    /// Since when the peer has answered by no path, though something waits for an answer.
    pub fn silent_since(&self) -> Option<Time> {
        if self.is_flushed() {
            return None;
        }
        let first = self.paths.iter().filter(|path| path.expiries > 0).map(|path| path.first_expiry).min()?;
        (!self.paths.iter().any(|path| path.was_heard_after(first))).then_some(first)
    }

    /// The transport below has reported that a path leads nowhere. Whether none is left.
    pub fn path_lost(&mut self, path: u8, now: Time) -> bool {
        if let Some(lost) = self.paths.get_mut(usize::from(path))
            && lost.state != PathState::Lost
        {
            lost.lose(now);
            self.counts.falls += 1;
            self.move_all(path);
        }
        let is_lost = self.paths.iter().all(|path| path.state == PathState::Lost);
        if is_lost {
            self.outbound.clear();
            self.inbound.paid();
            self.notices.clear();
        }
        is_lost
    }

    /// The transport below reaches the peer by a path again that it had reported lost, by a new address perhaps: it is tried.
    pub fn path_returned(&mut self, path: u8, now: Time) {
        if let Some(back) = self.paths.get_mut(usize::from(path))
            && back.state == PathState::Lost
        {
            back.rtt = Default::default();
            back.begin_trial(now);
        }
    }

    /// Whether an acknowledgement is due.
    pub fn is_due(&self, now: Time) -> bool {
        self.inbound.due().is_some_and(|due| due <= now)
    }

    /// Whether frames have left whose time has not begun.
    pub fn is_untimed(&self) -> bool {
        self.is_untimed
    }

    /// When the machine wants its next turn of [`Pair::pump`], if nothing happens before.
    pub fn deadline(&self) -> Option<Time> {
        let paths = self.paths.iter().flat_map(|path| [path.timer, path.state_timer]);
        paths.chain([self.inbound.due(), self.room_at]).flatten().min()
    }

    /// The process is about to sleep: what is to be acknowledged later is due now.
    pub fn hurry(&mut self, now: Time) {
        self.inbound.hurry(now);
    }

    /// Takes a frame that arrived by `path`.
    pub fn take(&mut self, now: Time, path: u8, header: &[u64], body: &[u8]) -> Taken {
        self.take_in_place(now, path, header, body)
    }

    /// As [`Pair::take`], of a body that stays where it lies.
    pub fn take_in_place(
        &mut self,
        now: Time,
        path: u8,
        header: &[u64],
        body: &(impl Body + ?Sized),
    ) -> Taken {
        self.start_times(now);
        let opened = Head::open(self.seed_in, header, body);
        let Some((head, is_whole)) = opened.filter(|(head, _)| head.epoch == self.config.epoch) else {
            self.counts.bad_headers += 1;
            return Taken::Nothing;
        };
        if self.paths.get(usize::from(path)).is_none() || !self.take_acknowledgement(now, &head) {
            self.counts.nonsense += 1;
            return Taken::Nothing;
        }
        match head.kind {
            Kind::Data => return self.take_data(now, path, &head, is_whole),
            Kind::Ack => {}
            Kind::Damaged => self.take_damaged(now, &head),
            // The path is no good if its frames are damaged.
            Kind::Probe if !is_whole => self.counts.bad_payloads += 1,
            Kind::Probe => {
                let (sequence, attempt) = (head.sequence, head.attempt);
                self.notify(Notice { kind: Kind::Answer, by: path, path: head.path, sequence, attempt });
            }
            Kind::Answer => self.take_answer(now, &head),
        }
        Taken::Nothing
    }

    /// Lets leave what is due, and counts as lost what is unanswered for too long. All that has arrived was taken: an acknowledgement
    /// that waits is no loss.
    pub fn pump(&mut self, now: Time, port: &mut impl Port) {
        self.look_at_times(now);
        self.let_leave(now, port);
    }

    /// Lets leave what is due, while more may have arrived.
    pub fn let_leave(&mut self, now: Time, port: &mut impl Port) {
        self.start_times(now);
        self.room_at = None;
        self.send_probes(now, port);
        self.send_queued(now, port);
        self.send_notices(port);
        self.send_acknowledgement(now, port);
    }

    /// Of several paths the first that is up; if none is, the least bad one.
    fn best(&self) -> Option<u8> {
        let badness = |path: &Path| match path.state {
            PathState::Up => 0,
            PathState::Suspect => 1,
            PathState::Trial => 2,
            PathState::Down => 3,
            PathState::Banned => 4,
            PathState::Lost => 5,
        };
        let there = self.paths.iter().enumerate().filter(|(_, path)| path.state != PathState::Lost);
        there.min_by_key(|(_, path)| badness(path)).map(|(index, _)| index as u8)
    }

    fn notify(&mut self, notice: Notice) {
        if self.notices.len() < MOST_NOTICES {
            self.notices.push_back(notice);
        }
    }
}

/// What arrives.
impl Pair {
    fn take_data(&mut self, now: Time, path: u8, head: &Head, is_whole: bool) -> Taken {
        let sequence = expand(self.inbound.next(), head.sequence);
        match self.inbound.verdict(sequence) {
            Verdict::Known => {
                // The acknowledgement may have been lost where this frame came from.
                self.counts.duplicates += 1;
                let another = self.others(path).find(|(_, other)| other.state == PathState::Up);
                self.inbound.reply_path = another.map(|(index, _)| index);
                self.inbound.last = (head.sequence, head.attempt);
                self.inbound.owe_at_once(now);
                return Taken::Nothing;
            }
            Verdict::Beyond => {
                self.inbound.owe_at_once(now);
                return Taken::Nothing;
            }
            Verdict::New if !is_whole => {
                self.counts.bad_payloads += 1;
                let (sequence, attempt) = (head.sequence, head.attempt);
                self.notify(Notice { kind: Kind::Damaged, by: path, path, sequence, attempt });
                return Taken::Nothing;
            }
            Verdict::New => {}
        }
        self.inbound.remember(sequence);
        self.inbound.reply_path = Some(path);
        self.inbound.last = (head.sequence, head.attempt);
        self.inbound.owe(now, &self.config);
        if head.attempt > 1 {
            self.inbound.owe_at_once(now);
        }
        Taken::New { words: usize::from(head.words) }
    }

    /// Takes what a header tells of delivery; `false`: it tells of what was never sent.
    fn take_acknowledgement(&mut self, now: Time, head: &Head) -> bool {
        let (base, next) = (self.outbound.base(), self.outbound.next());
        let acked = expand(base, head.acked);
        let after = acked.wrapping_add(1);
        let highest = head.mask.highest().map_or(acked, |bit| after.wrapping_add(bit));
        if (next.wrapping_sub(highest) as i64) <= 0 || head.mask.has(0) {
            return false;
        }
        // An old one tells nothing new.
        let new = (after.wrapping_sub(base) as i64).max(0) as u64;
        let echo = (head.kind == Kind::Ack).then(|| (expand(base, head.sequence), head.attempt));
        let mut any = false;
        for sequence in base..base + new {
            any |= self.acknowledge(now, sequence, echo);
        }
        if head.mask != Mask::default() {
            let bits = (0..=highest.wrapping_sub(after)).filter(|&bit| head.mask.has(bit));
            for sequence in bits.map(|bit| after.wrapping_add(bit)) {
                any |= self.acknowledge(now, sequence, echo);
            }
        }
        if !any {
            return true;
        }
        self.outbound.free();
        if self.outbound.len() > 0 && head.mask != Mask::default() {
            self.find_overtaken();
        }
        for path in &mut self.paths {
            path.timer = (path.out > 0).then(|| now + path.patience(&self.config));
        }
        true
    }

    /// The peer has the frame; whether that is new. `echo`: the frame and the attempt that the peer answers.
    fn acknowledge(&mut self, now: Time, sequence: u64, echo: Option<(u64, u8)>) -> bool {
        let Some(before) = self.outbound.acknowledge(sequence) else { return false };
        if before == Stage::Queued {
            return true;
        }
        let slot = self.outbound.get(sequence).expect("it is acknowledged and not yet freed");
        let (attempt, departure, sent_at) = (slot.attempt, slot.departure, slot.sent_at);
        let path = &mut self.paths[usize::from(slot.path)];
        path.out -= 1;
        path.window.grow(1);
        // Otherwise it is not known which of its departures arrived.
        if attempt == 1 || echo == Some((sequence, attempt)) {
            if let Some(sent_at) = sent_at {
                path.rtt.sample(now - sent_at);
            }
            path.hear(now, departure);
        }
        true
    }

    /// Frames that several later ones of their path have overtaken are lost.
    fn find_overtaken(&mut self) {
        self.resend_all(|slot, path| slot.departure + OVERTAKEN <= path.acked_departure);
    }

    fn take_damaged(&mut self, now: Time, head: &Head) {
        let sequence = expand(self.outbound.base(), head.sequence);
        let Some(slot) = self.outbound.get(sequence) else { return };
        if slot.stage != Stage::Out || slot.attempt != head.attempt {
            return;
        }
        let at = slot.path;
        self.resend(sequence);
        let too_many = self.paths[usize::from(at)].count_damaged();
        if too_many && self.another_is_up(at) {
            self.suspect(at, now);
        }
    }

    fn take_answer(&mut self, now: Time, head: &Head) {
        let Some(path) = self.paths.get_mut(usize::from(head.path)) else {
            self.counts.nonsense += 1;
            return;
        };
        let number = expand(path.departures, head.sequence);
        if number > path.departures {
            self.counts.nonsense += 1;
            return;
        }
        match path.probe.filter(|probe| probe.number == number) {
            Some(probe) => path.answer(probe, now),
            // Of an earlier one, which took long.
            None => path.hear(now, number),
        }
        path.timer = (path.out > 0).then(|| now + path.patience(&self.config));
        // What had left before the probe and is not acknowledged by its answer is lost.
        self.resend_all(|slot, _| slot.path == head.path && slot.departure < number);
    }
}

/// Losses and paths.
impl Pair {
    /// A frame that is out is lost: it leaves again.
    fn resend(&mut self, sequence: u64) {
        let slot = self.outbound.get(sequence).expect("a frame that is out has a slot");
        let (departure, at) = (slot.departure, usize::from(slot.path));
        let path = &mut self.paths[at];
        path.out -= 1;
        path.window.shrink(departure, path.departures);
        if path.out == 0 {
            path.timer = None;
        }
        self.outbound.requeue(sequence);
    }

    /// All frames that are out and lost, by themselves and the path on which they left, leave again.
    fn resend_all(&mut self, is_lost: impl Fn(&Slot, &Path) -> bool) {
        let Pair { outbound, paths, .. } = self;
        let lost = outbound.out().filter(|(_, slot)| is_lost(slot, &paths[usize::from(slot.path)]));
        let lost: Vec<u64> = lost.map(|(sequence, _)| sequence).collect();
        lost.into_iter().for_each(|sequence| self.resend(sequence));
    }

    /// All that is out on a path leaves again, by the best one.
    fn move_all(&mut self, path: u8) {
        self.resend_all(|slot, _| slot.path == path);
        self.paths[usize::from(path)].timer = None;
    }

    /// All paths but this one.
    fn others(&self, path: u8) -> impl Iterator<Item = (u8, &Path)> {
        (0..=u8::MAX).zip(&self.paths).filter(move |&(index, _)| index != path)
    }

    fn another_is_up(&self, path: u8) -> bool {
        self.others(path).any(|(_, other)| other.state == PathState::Up)
    }

    fn another_was_heard_after(&self, path: u8, time: Time) -> bool {
        self.others(path).any(|(_, other)| other.was_heard_after(time))
    }

    fn suspect(&mut self, path: u8, now: Time) {
        self.paths[usize::from(path)].suspect(now);
        self.counts.falls += 1;
        self.move_all(path);
    }

    fn look_at_times(&mut self, now: Time) {
        for path in 0..self.paths.len() as u8 {
            let at = &self.paths[usize::from(path)];
            let (frames, state) = (at.timer, at.state_timer);
            if frames.is_some_and(|timer| timer <= now) {
                self.frames_are_unanswered(path, now);
            }
            if state.is_some_and(|timer| timer <= now) {
                self.look_at_state(path, now);
            }
        }
    }

    /// What is out on a path is unanswered for longer than it takes. On a network that loses, the peer is asked for it first, by a short frame.
    /// Then one frame leaves again; if that is not answered either, all paths are asked, and the path is suspected if another one answers.
    fn frames_are_unanswered(&mut self, path: u8, now: Time) {
        let index = usize::from(path);
        let at = &mut self.paths[index];
        if at.asks_early() {
            at.timer = Some(now + at.wait(&self.config));
            return;
        }
        at.expiries += 1;
        self.counts.timeouts += 1;
        at.timer = Some(now + at.wait(&self.config));
        if at.expiries == 1 {
            at.first_expiry = now;
            let oldest = self.outbound.out().find(|(_, slot)| slot.path == path);
            if let Some(oldest) = oldest.map(|(sequence, _)| sequence) {
                self.resend(oldest);
            }
            return;
        }
        let (first, state) = (at.first_expiry, at.state);
        if self.another_was_heard_after(path, first) {
            match state {
                PathState::Up => self.suspect(path, now),
                _ => self.move_all(path),
            }
            return;
        }
        for other in &mut self.paths {
            other.wants_probe |=
                !matches!(other.state, PathState::Lost | PathState::Banned | PathState::Down);
        }
        self.paths[index].wants_probe = true;
    }

    fn look_at_state(&mut self, path: u8, now: Time) {
        let index = usize::from(path);
        let at = &mut self.paths[index];
        let asked = at.probe.map(|probe| probe.at);
        let (state, since) = (at.state, at.since);
        at.state_timer = Some(now + at.wait(&self.config));
        match state {
            PathState::Down => {
                at.begin_trial(now);
                at.wants_probe = true;
            }
            PathState::Suspect | PathState::Trial => {
                let Some(asked) = asked else {
                    at.wants_probe = true;
                    return;
                };
                let (is_over, silent_from) = match state {
                    PathState::Suspect => (now.saturating_sub(since) >= self.config.condemn, since),
                    _ => (true, asked),
                };
                at.miss();
                // A peer that answers on no path is busy.
                if is_over && self.another_was_heard_after(path, silent_from) {
                    let jitter = now.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
                    self.paths[index].put_down(now, jitter);
                    self.move_all(path);
                }
            }
            PathState::Up | PathState::Banned | PathState::Lost => at.state_timer = None,
        }
    }
}

/// What leaves.
impl Pair {
    fn head(&self, kind: Kind, path: u8) -> Head {
        let (acked, mask) = self.inbound.delivered();
        let epoch = self.config.epoch;
        Head { kind, path, epoch, sequence: 0, attempt: 0, words: 0, has_crc: false, length: 0, acked, mask }
    }

    fn send_queued(&mut self, now: Time, port: &mut impl Port) {
        let Some(best) = self.best() else { return };
        while self.outbound.has_queued() {
            if let Err(at) = self.paths[usize::from(best)].room(now) {
                self.room_at = at;
                return;
            }
            if !self.send_first_queued(best, Some(now), port) {
                // A transport's room is reported by itself, and looked for with each turn.
                return;
            }
        }
    }

    /// Lets the first frame that waits leave by a path, which has a share of the network for it; whether it did.
    fn send_first_queued(&mut self, by: u8, now: Option<Time>, port: &mut impl Port) -> bool {
        let mut head = self.head(Kind::Data, by);
        let path = &mut self.paths[usize::from(by)];
        let Some((sequence, slot)) = self.outbound.first_queued() else { return false };
        head.sequence = sequence;
        head.attempt = slot.attempt.saturating_add(1);
        head.words = slot.words;
        head.has_crc = path.config.payload_crc;
        head.length = slot.body.len() as u32;
        let words = head.seal_again(self.seed_out, &slot.body, &mut slot.sum);
        if port.transmit(by, words.as_slice(), &slot.body).is_err() {
            return false;
        }
        if slot.attempt > 0 {
            self.counts.resent += 1;
            self.counts.resent_bytes += slot.body.len() as u64;
        }
        self.counts.sent += 1;
        (slot.attempt, slot.path, slot.stage) = (head.attempt, by, Stage::Out);
        (slot.departure, slot.sent_at) = (path.depart(now), now);
        path.out += 1;
        if path.timer.is_none() {
            path.timer = now.map(|now| now + path.patience(&self.config));
            self.is_untimed |= now.is_none();
        }
        self.outbound.left();
        self.inbound.paid();
        true
    }

    /// The times of frames begin that left when no time was at hand.
    fn start_times(&mut self, now: Time) {
        if !core::mem::take(&mut self.is_untimed) {
            return;
        }
        for path in self.paths.iter_mut().filter(|path| path.out > 0 && path.timer.is_none()) {
            path.timer = Some(now + path.patience(&self.config));
        }
    }

    fn send_probes(&mut self, now: Time, port: &mut impl Port) {
        for index in 0..self.paths.len() {
            if !self.paths[index].wants_probe {
                continue;
            }
            let mut head = self.head(Kind::Probe, index as u8);
            let path = &self.paths[index];
            head.sequence = path.departures + 1;
            let full = if path.probes_are_full() { path.config.max.min(MOST_PROBED) } else { 0 };
            let body: Vec<u8> = (0..full).map(|at| at as u8).collect();
            (head.length, head.has_crc) = (full as u32, full > 0);
            let words = head.seal(self.seed_out, &body);
            if port.transmit(index as u8, words.as_slice(), &body).is_ok() {
                let path = &mut self.paths[index];
                let number = path.depart(Some(now));
                path.ask(number, now, &self.config);
            }
        }
    }

    fn send_notices(&mut self, port: &mut impl Port) {
        for _ in 0..self.notices.len() {
            let Some(notice) = self.notices.pop_front() else { return };
            let mut head = self.head(notice.kind, notice.path);
            (head.sequence, head.attempt) = (notice.sequence, notice.attempt);
            let words = head.seal(self.seed_out, &[]);
            if port.transmit(notice.by, words.as_slice(), &[]).is_err() {
                self.notices.push_back(notice);
            }
        }
    }

    fn send_acknowledgement(&mut self, now: Time, port: &mut impl Port) {
        if self.inbound.due().is_none_or(|due| due > now) {
            return;
        }
        let works = |&path: &u8| self.paths[usize::from(path)].state != PathState::Lost;
        let Some(by) = self.inbound.reply_path.filter(works).or_else(|| self.best()) else { return };
        let mut head = self.head(Kind::Ack, by);
        (head.sequence, head.attempt) = self.inbound.last;
        let words = head.seal(self.seed_out, &[]);
        match port.transmit(by, words.as_slice(), &[]) {
            Ok(()) => self.inbound.paid(),
            // Soon again, whatever happens.
            Err(Full) => self.room_at = Some(now + 50 * MICROSECOND),
        }
    }
}
