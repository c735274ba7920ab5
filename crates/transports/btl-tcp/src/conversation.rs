//! What a process keeps of a peer that it has talked to, and of all whose hosts it watches.

use crate::direct::Pouring;
use crate::frame::Input;
use crate::output::Output;
use crate::pair::Pair;
use crate::params::TcpParams;
use btl::Suspects;
use std::time::{Duration, Instant};

/// Checks in the time that a host may be silent.
pub(crate) const CHECKS: u32 = 4;

/// Time between two checks at most, where suspicions are wanted.
const LOOK: Duration = Duration::from_millis(500);

/// A peer that this process has talked to, or a lane to one.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) pair: Pair,
    /// How much of what is divided goes here, compared with others; `None`: as much as its interface declares.
    pub(crate) weight: Option<f64>,
    /// Its lanes were made, or tried.
    pub(crate) has_asked_for_lanes: bool,
    pub(crate) input: Input,
    /// Payload that is coming and is no arrival's.
    pub(crate) pouring: Option<Pouring>,
    pub(crate) output: Output,
    /// Gets and puts, or parts of them, that are under way with the peer; of lanes, counted with the first one.
    pub(crate) asked: usize,
    /// It is in `unsettled`.
    pub(crate) is_unsettled: bool,
    /// It is in `ready`.
    pub(crate) is_ready: bool,
    /// Its socket is full: the set reports room.
    pub(crate) awaits_room: bool,
    /// Why its connection is over, while messages that came before that are still here.
    pub(crate) ending: Option<String>,
    /// Why it is lost.
    pub(crate) loss: Option<String>,
    /// Its connection was the one with the peer at some time.
    pub(crate) was_open: bool,
    /// The peer has parted from this process, after so many meetings.
    pub(crate) peer_parted_at: Option<u32>,
    /// Its connection is being closed, since descriptors run short.
    pub(crate) closing: Option<Closing>,
    /// Frames went or came since it was last considered for that.
    pub(crate) was_used: bool,
    /// It is one of those watched.
    pub(crate) is_watched: bool,
    /// Since when its host has been seen to answer nothing.
    pub(crate) silent_since: Option<Instant>,
    /// Since when no attempt to connect was answered, while something waits for the connection.
    pub(crate) unheard_since: Option<Instant>,
}

impl Conversation {
    /// One that begins.
    pub(crate) fn new(pair: Pair) -> Conversation {
        Conversation {
            pair,
            weight: None,
            has_asked_for_lanes: false,
            input: Input::default(),
            pouring: None,
            output: Output::default(),
            asked: 0,
            is_unsettled: false,
            is_ready: false,
            awaits_room: false,
            ending: None,
            loss: None,
            was_open: false,
            peer_parted_at: None,
            closing: None,
            was_used: true,
            is_watched: false,
            silent_since: None,
            unheard_since: None,
        }
    }

    /// Forgets what was read in part and is to be written.
    pub(crate) fn forget_bytes(&mut self) {
        self.input = Input::default();
        self.output = Output::default();
        (self.pouring, self.closing, self.ending) = (None, None, None);
        (self.awaits_room, self.silent_since) = (false, None);
    }

    /// Whether nothing has come from the peer or gone there, and nothing is about to.
    pub(crate) fn is_untouched(&self) -> bool {
        !self.was_open && self.output.is_empty() && !self.pair.is_known_to_peer()
    }
}

/// The end of a connection that is to be closed.
#[derive(Debug)]
pub(crate) struct Closing {
    /// The last that is sent on it.
    pub(crate) output: Output,
    /// The peer has sent its last frame.
    pub(crate) peer_rests: bool,
    /// Calls of the peer that wait for the end of this connection.
    pub(crate) callers: Vec<u32>,
}

/// The peers to which something is on its way, as far as is known.
#[derive(Debug)]
pub(crate) struct Watch {
    /// A host that answers nothing for so long is gone; zero: none is.
    pub(crate) silence: Duration,
    pub(crate) peers: Vec<u32>,
    /// When to check them next.
    pub(crate) due: Option<Instant>,
    /// Takes what is suspected.
    pub(crate) suspects: Option<Box<dyn Suspects>>,
}

impl Watch {
    pub(crate) fn new(silence: Duration) -> Watch {
        Watch { silence, peers: Vec::new(), due: None, suspects: None }
    }

    pub(crate) fn forget(&mut self, at: u32) {
        self.peers.retain(|&other| other != at);
    }

    /// Time between two checks.
    pub(crate) fn interval(&self) -> Duration {
        let interval = self.silence / CHECKS;
        if self.suspects.is_some() { interval.min(LOOK) } else { interval }
    }

    /// How long the network may be silent at least: what the user asks for, if it is more than usual.
    pub(crate) fn patience(&self) -> Duration {
        let usual = Duration::from_millis(TcpParams::default().silence_ms as u64);
        if self.silence > usual { self.silence } else { Duration::ZERO }
    }
}
