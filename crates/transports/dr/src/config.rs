//! What a pair is made with.

/// Nanoseconds, from any beginning; never goes back.
pub type Time = u64;

/// One microsecond.
pub(crate) const MICROSECOND: Time = 1_000;
/// One millisecond.
pub(crate) const MILLISECOND: Time = 1_000_000;
/// One second.
pub(crate) const SECOND: Time = 1_000_000_000;

/// Bounds and times of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Frames that may be under way, at most 256.
    pub window: u32,
    /// Bytes that may be under way. One frame always may.
    pub window_bytes: usize,
    /// Frames of data that arrive before one acknowledgement leaves.
    pub ack_every: u32,
    /// How long an acknowledgement waits at most for a frame that takes it along.
    pub ack_delay: Time,
    /// Longest time before an unanswered path is asked again.
    pub longest_wait: Time,
    /// How long a suspected path may be silent, while another answers, before it is given up.
    pub condemn: Time,
    /// Number of the first frame; the same on both sides.
    pub first_sequence: u64,
    /// Incarnation of the pair; frames of another one are dropped.
    pub epoch: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            window: 256,
            window_bytes: 4 << 20,
            ack_every: 8,
            ack_delay: 50 * MICROSECOND,
            longest_wait: SECOND,
            condemn: SECOND,
            first_sequence: 1,
            epoch: 1,
        }
    }
}

/// One path to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathConfig {
    /// Shortest time before a frame on it counts as lost: above what a healthy peer and network ever need.
    pub shortest_wait: Time,
    /// Largest body of a frame, in bytes.
    pub max: usize,
    /// The payload travels under CRC-32C, too.
    pub payload_crc: bool,
    /// It is made of datagrams, for whose share of the network the pair has to care.
    pub datagrams: bool,
}

impl PathConfig {
    /// A path between processes of one host, whose memory is trusted.
    pub fn of_host(max: usize) -> PathConfig {
        PathConfig { shortest_wait: MILLISECOND, max, payload_crc: false, datagrams: false }
    }

    /// A path over a network.
    pub fn of_network(max: usize) -> PathConfig {
        PathConfig { shortest_wait: 20 * MILLISECOND, max, payload_crc: true, datagrams: false }
    }
}

/// Who sends to whom, in which job. These numbers seed the checksums and do not travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Names {
    /// This process.
    pub me: u32,
    /// The peer.
    pub peer: u32,
    /// The job.
    pub job: u64,
}

impl Names {
    /// What checksums of frames from this process begin with.
    pub(crate) fn seed_out(&self) -> u32 {
        seed(self.me, self.peer, self.job)
    }

    /// What checksums of frames from the peer begin with.
    pub(crate) fn seed_in(&self) -> u32 {
        seed(self.peer, self.me, self.job)
    }
}

fn seed(from: u32, to: u32, job: u64) -> u32 {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&from.to_le_bytes());
    bytes[4..8].copy_from_slice(&to.to_le_bytes());
    bytes[8..].copy_from_slice(&job.to_le_bytes());
    crc32c::crc32c(&bytes)
}
