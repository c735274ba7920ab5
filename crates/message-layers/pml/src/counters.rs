//! What a layer counts.

/// What happened so far and what is queued now; the source of performance variables. A layer leaves at 0 what it does
/// not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Messages sent eagerly.
    pub eager_sends: u64,
    /// Messages sent eagerly in synchronous mode.
    pub sync_sends: u64,
    /// Messages offered by rendezvous.
    pub offers: u64,
    /// Messages fetched by get.
    pub gets: u64,
    /// Messages stored by put.
    pub puts: u64,
    /// Messages sent as fragments.
    pub copies: u64,
    /// Messages whose get or put failed, so that they went as fragments.
    pub fallbacks: u64,
    /// Messages that arrived before their receive.
    pub unexpected_arrivals: u64,
    /// Frames that overtook others.
    pub parked_arrivals: u64,
    /// Frames dropped because no honest peer sends them.
    pub bad_frames: u64,
    /// Most bytes of kept payload at any time since [`crate::LayerState::restart_peak`].
    pub unexpected_bytes_peak: u64,
    /// Bytes of kept payload now.
    pub unexpected_bytes: u64,
    /// Messages without a receive now.
    pub unexpected_length: u64,
    /// Receives without a message now.
    pub posted_length: u64,
}
