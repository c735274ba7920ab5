//! Data reliability: delivery over paths that lose, repeat, damage, reorder and die.
//!
//! One [`Pair`] is this process's side of the traffic with one peer. It numbers what it sends, keeps it until the peer has
//! acknowledged it, and sends it again, on another path if need be. It is a machine without sockets and clocks: time is an
//! argument ([`Time`]), frames leave by a [`Port`], and [`Pair::deadline`] says when the machine wants its next turn.
//!
//! ```text
//!   sender                                              receiver
//!     send: copied into a slot, numbered
//!     ── data 7 (path 0) ─────────────────────────────►  length, header CRC, epoch, known?, window, payload CRC;
//!     ── data 8 (path 0) ──────────────── lost            only then: remember, hand up, acknowledge
//!     ── data 9 (path 0) ─────────────────────────────►
//!     ◄───────────── acknowledged 7, and of the later ones 9
//!     8 is lost when three that left later on its path are acknowledged, when the peer names it as damaged or, asked
//!     for the last one, lacks it, when its path's time is over, or when its path is given up
//! ```
//!
//! # Rules
//!
//! * *One sequence for each pair of processes*, over all paths. It belongs to reliability alone; what is above numbers its
//!   messages itself.
//! * *Verify, then remember.* A frame changes nothing before its checksums are good. The header is always under CRC-32C,
//!   seeded with sender, receiver and job, which do not travel: a frame that comes to the wrong process fails.
//! * *Acknowledge what was handed up*, not what arrived.
//! * *Numbers, no addresses.* All that a frame names is checked against what was sent.
//! * *Ask before blame.* A path whose time is over is asked by a probe without payload. It is suspected only if another path of
//!   the same peer answers meanwhile: a peer that computes answers on none, and nothing is held against its paths.
//! * *Try before trust.* A path that was given up comes back by frames of full size that all arrive.
//! * *Bounded.* At most [`Config::window`] frames and [`Config::window_bytes`] bytes are kept for a peer, from the
//!   first frame on. A silent peer costs one frame that is sent again, then frames of some 40 bytes at growing intervals.
//!
//! # States of a path
//!
//! ```text
//!                 time over twice, another path answers;      silent for `condemn`
//!                 too many damaged frames                     while another answers
//!          ┌────┐ ────────────────────────────► ┌─────────┐ ─────────────► ┌──────┐ ◄──┐
//!          │ Up │                               │ Suspect │                │ Down │    │ one is
//!          └────┘ ◄──────────────────────────── └─────────┘                └──────┘    │ missing
//!             ▲      3 probes answered                                        │ pause   │
//!             │                                                               ▼         │
//!             └─────────────── 5 full probes answered ───────────────────  ┌───────┐ ──┘
//!                                                                          │ Trial │
//!          more than 5 falls in 10 minutes: Banned                         └───────┘
//! ```
//! Of several paths that are up, the first one carries the data. Where none is up, the least bad one does: there is never no
//! path, unless the transport below reports each of them lost ([`Pair::path_lost`]).
//!
//! # Congestion
//!
//! A path over datagrams has a window of its own that grows with acknowledgements and halves with losses, once a round
//! trip, as TCP's does; its frames are spread over the round trip. A path over a transport that has flow control sends what
//! that takes.
//!
//! Sources: LA-MPI (Int. J. Parallel Programming 31(4), 2003) for acknowledgements of what was delivered; RFC 6298 and Karn's
//! rule for times; RFC 5681 for the window; Open MPI's DR (Euro-Par 2007) for what a message layer asks of such a protocol.
#![forbid(unsafe_code)]

mod config;
mod frame;
#[cfg(test)]
mod hostile_tests;
mod inbound;
mod mask;
mod outbound;
mod pair;
mod path;
mod rtt;

pub use config::{Config, Names, PathConfig, Time};
pub use frame::{Body, MAX_CARRIED, MAX_HEADER_WORDS, MIN_HEADER_WORDS, has_sum};
pub use pair::{Busy, Full, Pair, Port, Taken};
pub use path::PathState;

/// What a pair has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Frames of data that left, each time they did.
    pub sent: u64,
    /// Of these, frames that had left before.
    pub resent: u64,
    /// Their bytes.
    pub resent_bytes: u64,
    /// Frames whose header was damaged or was not for this pair.
    pub bad_headers: u64,
    /// Frames whose payload was damaged.
    pub bad_payloads: u64,
    /// Frames that were there already.
    pub duplicates: u64,
    /// Frames with a good header that make no sense: acknowledgements of what was not sent, answers to no question.
    pub nonsense: u64,
    /// Times that frames were unanswered for so long that one of them left again, or that all paths were asked.
    pub timeouts: u64,
    /// Times that a path was given up or suspected.
    pub falls: u64,
}
