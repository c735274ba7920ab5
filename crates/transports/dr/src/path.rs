//! One path to the peer: what is known of its time, its room and its health.

use std::collections::VecDeque;

use crate::config::{Config, MILLISECOND, PathConfig, SECOND, Time};
use crate::rtt::Rtt;

/// What a path is used for; see the crate's picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathState {
    /// Data.
    Up,
    /// Probes, until it is clear whether it works.
    Suspect,
    /// Frames of full size, which must all arrive.
    Trial,
    /// Nothing, for a while.
    Down,
    /// Nothing any more, unless all others are lost.
    Banned,
    /// The transport below has reported that it leads nowhere.
    Lost,
}

/// Answers in a row that end a suspicion.
const ANSWERS: u32 = 3;
/// Answers in a row that end a trial.
const TRIALS: u32 = 5;
/// First and longest pause of a path that is down.
const PAUSES: (Time, Time) = (SECOND, 60 * SECOND);
/// As many falls within [`FALLS_WITHIN`] are too many.
const FALLS: usize = 6;
const FALLS_WITHIN: Time = 600 * SECOND;
/// Of so many frames, [`DAMAGED`] damaged ones are too many.
const FRAMES_COUNTED: u64 = 4096;
const DAMAGED: u32 = 8;

/// A probe without answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub number: u64,
    pub at: Time,
}

#[derive(Debug)]
pub(crate) struct Path {
    pub config: PathConfig,
    pub state: PathState,
    pub rtt: Rtt,
    pub window: Window,
    /// Frames that have left on it, probes among them: numbers them.
    pub departures: u64,
    /// The latest of these that the peer has got, as far as is known.
    pub acked_departure: u64,
    /// Frames of data that are out on it.
    pub out: u32,
    /// When these count as unanswered.
    pub timer: Option<Time>,
    /// The peer was asked for them since the last answer.
    asked: bool,
    /// How often they have since the last answer, and when they did first.
    pub expiries: u32,
    pub first_expiry: Time,
    /// When the peer was last known to have got something by it.
    pub heard: Option<Time>,
    /// The last probe, if it is not answered.
    pub probe: Option<Probe>,
    /// A probe is to leave.
    pub wants_probe: bool,
    /// When its state is looked at again.
    pub state_timer: Option<Time>,
    /// When its state began.
    pub since: Time,
    answered: u32,
    pause: Time,
    falls: VecDeque<Time>,
    damaged: u32,
    counted_from: u64,
}

impl Path {
    pub(crate) fn new(config: PathConfig) -> Path {
        Path {
            config,
            state: PathState::Up,
            rtt: Rtt::default(),
            window: Window::default(),
            departures: 0,
            acked_departure: 0,
            out: 0,
            timer: None,
            asked: false,
            expiries: 0,
            first_expiry: 0,
            heard: None,
            probe: None,
            wants_probe: false,
            state_timer: None,
            since: 0,
            answered: 0,
            pause: PAUSES.0,
            falls: VecDeque::new(),
            damaged: 0,
            counted_from: 0,
        }
    }

    /// How long it may be silent now: doubled with each time that it was.
    pub(crate) fn wait(&self, config: &Config) -> Time {
        let wait = self.rtt.wait(self.config.shortest_wait, config.longest_wait);
        wait.saturating_mul(1 << self.expiries.min(20))
            .min(config.longest_wait.max(self.config.shortest_wait))
    }

    /// How long frames on it may be unanswered now, before the peer is asked or they count as lost. On a network that loses, the last
    /// frames of many are overtaken by none: the peer is asked for them soon.
    pub(crate) fn patience(&self, config: &Config) -> Time {
        let wait = self.wait(config);
        match self.rtt.quick() {
            Some(quick) if self.config.datagrams && !self.asked => wait.min(2 * quick + MILLISECOND),
            _ => wait,
        }
    }

    /// Frames on it are unanswered: whether the peer is to be asked for them, once.
    pub(crate) fn asks_early(&mut self) -> bool {
        let asks = self.config.datagrams && !self.asked && self.rtt.quick().is_some();
        self.asked = true;
        self.wants_probe |= asks;
        asks
    }

    /// Whether the peer got something by it after `time`.
    pub(crate) fn was_heard_after(&self, time: Time) -> bool {
        self.heard.is_some_and(|heard| heard > time)
    }

    /// Whether a frame may leave as far as the path's share of the network is concerned; if not now, then when.
    pub(crate) fn room(&self, now: Time) -> Result<(), Option<Time>> {
        if !self.config.datagrams {
            return Ok(());
        }
        self.window.room(self.out, now)
    }

    /// A frame leaves: its number. The share of a network needs the time.
    pub(crate) fn depart(&mut self, now: Option<Time>) -> u64 {
        self.departures += 1;
        if self.departures - self.counted_from >= FRAMES_COUNTED {
            (self.counted_from, self.damaged) = (self.departures, 0);
        }
        if self.config.datagrams
            && let Some(now) = now
        {
            self.window.depart(now, self.rtt.quick());
        }
        self.departures
    }

    /// The peer has got what left as `departure`.
    pub(crate) fn hear(&mut self, now: Time, departure: u64) {
        self.acked_departure = self.acked_departure.max(departure);
        self.heard = Some(now);
        (self.asked, self.expiries) = (false, 0);
    }

    /// One more frame on it was damaged; whether that is too many.
    pub(crate) fn count_damaged(&mut self) -> bool {
        self.damaged += 1;
        self.damaged > DAMAGED
    }

    /// It is suspected from now on, or banned.
    pub(crate) fn suspect(&mut self, now: Time) {
        while self.falls.front().is_some_and(|&fall| now - fall > FALLS_WITHIN) {
            self.falls.pop_front();
        }
        self.falls.push_back(now);
        self.damaged = 0;
        if self.falls.len() >= FALLS {
            self.enter(PathState::Banned, now, None);
        } else {
            self.enter(PathState::Suspect, now, Some(now));
        }
    }

    /// It is not used for a while, twice as long as the last time.
    pub(crate) fn put_down(&mut self, now: Time, jitter: Time) {
        let pause = self.pause;
        self.pause = (2 * pause).min(PAUSES.1);
        self.enter(PathState::Down, now, Some(now + pause + jitter % (pause / 4)));
    }

    pub(crate) fn lose(&mut self, now: Time) {
        self.enter(PathState::Lost, now, None);
    }

    pub(crate) fn begin_trial(&mut self, now: Time) {
        self.expiries = 0;
        self.enter(PathState::Trial, now, Some(now));
    }

    fn enter(&mut self, state: PathState, now: Time, state_timer: Option<Time>) {
        (self.state, self.since, self.state_timer) = (state, now, state_timer);
        (self.answered, self.probe, self.wants_probe) = (0, None, false);
    }

    /// A probe leaves, as number `number`.
    pub(crate) fn ask(&mut self, number: u64, now: Time, config: &Config) {
        self.probe = Some(Probe { number, at: now });
        self.wants_probe = false;
        if self.state_timer.is_some() {
            self.state_timer = Some(now + self.wait(config));
        }
    }

    /// The last probe was not answered in its time.
    pub(crate) fn miss(&mut self) {
        self.answered = 0;
        self.expiries += 1;
        self.wants_probe = true;
    }

    /// A probe is answered; with enough of them the path is up.
    pub(crate) fn answer(&mut self, probe: Probe, now: Time) {
        self.rtt.sample(now - probe.at);
        self.hear(now, probe.number);
        self.probe = None;
        self.answered += 1;
        let enough = match self.state {
            PathState::Suspect => ANSWERS,
            PathState::Trial => TRIALS,
            _ => return,
        };
        if self.answered < enough {
            self.wants_probe = true;
            return;
        }
        if self.state == PathState::Trial {
            self.pause = PAUSES.0;
            self.window = Window::default();
        }
        self.enter(PathState::Up, now, None);
    }

    /// Probes are of full size.
    pub(crate) fn probes_are_full(&self) -> bool {
        self.state == PathState::Trial
    }
}

/// Frames that a path over datagrams may have out (RFC 5681), and when the next one leaves.
#[derive(Debug)]
pub(crate) struct Window {
    frames: f64,
    /// From here on it grows by one a round trip.
    threshold: f64,
    /// A loss of what left up to here has halved it already.
    recovered: u64,
    /// When the next frame may leave.
    next: Time,
}

const FIRST_WINDOW: f64 = 16.0;
const LEAST_WINDOW: f64 = 4.0;
/// Frames that may leave at once.
const BURST: u64 = 16;

impl Default for Window {
    fn default() -> Window {
        Window { frames: FIRST_WINDOW, threshold: f64::INFINITY, recovered: 0, next: 0 }
    }
}

impl Window {
    fn room(&self, out: u32, now: Time) -> Result<(), Option<Time>> {
        if f64::from(out) >= self.frames {
            return Err(None);
        }
        if self.next > now { Err(Some(self.next)) } else { Ok(()) }
    }

    /// A frame leaves: the next ones are spread over the round trip.
    fn depart(&mut self, now: Time, round_trip: Option<Time>) {
        let interval = (round_trip.unwrap_or(0) as f64 / self.frames / 1.25) as u64;
        self.next = self.next.max(now.saturating_sub(BURST * interval)) + interval;
    }

    pub(crate) fn grow(&mut self, acked: u32) {
        let acked = f64::from(acked);
        self.frames += if self.frames < self.threshold { acked } else { acked / self.frames };
        self.frames = self.frames.min(crate::mask::BITS as f64);
    }

    /// What left as `departure` is lost, when `departures` have left.
    pub(crate) fn shrink(&mut self, departure: u64, departures: u64) {
        if departure <= self.recovered {
            return;
        }
        self.recovered = departures;
        self.frames = (self.frames / 2.0).max(LEAST_WINDOW);
        self.threshold = self.frames;
    }
}
