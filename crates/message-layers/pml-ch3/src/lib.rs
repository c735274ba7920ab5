//! The message layer of MPICH2 on Gemini: CH3's two lists over the protocols of its uGNI network module.
//!
//! The vendor's MPI of the Cray XE6 is closed. Its protocols are published (H. Pritchard, I. Gorodetsky, D. Buntinas: *A
//! uGNI-based MPICH2 Nemesis network module for the Cray XE*, EuroMPI 2011), and this is a layer of its own by that
//! description, to compare with. Four protocols carry a message, by its length:
//!
//! ```text
//!       sender                                   receiver
//!   E0  packet with payload ───────────────────► matches, copies
//!
//!   E1  copies into a registered buffer
//!       packet with the buffer's key ──────────► GET into a registered buffer, then as E0
//!       buffer is free   ◄────────────────────── DONE
//!
//!   R0  packet with the user's memory's key ───► matches, GET into the user's memory
//!       complete         ◄────────────────────── DONE
//!
//!   R1  packet, as R0 ─────────────────────────► matches
//!                        ◄────────────────────── CTS with the key of a piece, at most two at a time
//!       PUT, then FIN ─────────────────────────► the next piece
//!       complete         ◄────────────────────── DONE
//! ```
//!
//! * E0 ends where a packet no longer fits a mailbox ([`Config::vshort`]), E1 at [`Config::eager`], R0 at
//!   [`Config::ndreg_max`]. R1 also takes messages whose address or length at the receiver no GET takes.
//! * E1 copies on both sides: neither user buffer is registered, and the sender is free at once. Without a free buffer
//!   the message goes by R0.
//! * **Matching** is CH3's: a list of posted receives and one of unexpected messages, both searched from the front. The
//!   network module fetches an E1 message before it is matched.
//! * **Order.** Packets that carry an envelope have a sequence number for each peer; a packet waits for those before it,
//!   also for one that is being fetched.
//! * Data that is not one run, and transports that refuse a transfer, take fragments in packets instead of R0 and R1.
//! * **Cancel.** A packet follows the message; the receiver drops the message if it is still unexpected.
//!
//! Ranks of one node use shared memory in Nemesis; there [`Config::cells`] stands for the end of E0
//! ([`Ch3::set_on_node`]), and E1 does not occur.
#![deny(unsafe_code)]

mod cancel;
mod lanes;
mod matching;
mod packet;
mod progress;
mod receive;
mod rendezvous;
mod request;
mod send;
mod staging;
mod state;

use crate::lanes::Lanes;
use crate::matching::{Kept, Unexpected};
use crate::rendezvous::Retry;
use crate::request::{State, Transfer};
use crate::staging::{Fetch, Staged, Staging};
use btl::Peer;
use mem::Slab;
use pml::{Counters, GENERATION_BITS, INDEX_BITS, Notices, ReqId, Requests};
use std::collections::VecDeque;

/// The layer's limits, in bytes of payload unless noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Longest message of E0 between nodes; cut to what the transport sends in one frame.
    pub vshort: usize,
    /// The same within a node.
    pub cells: usize,
    /// Longest message of E1.
    pub eager: usize,
    /// Longest message of R0.
    pub ndreg_max: usize,
    /// Length of R1's pieces.
    pub chunk: usize,
    /// Registered buffers for E1's sends, and as many for its receives.
    pub buffers: usize,
}

impl Config {
    /// Bytes of a mailbox that a packet of E0 takes beside its payload.
    pub const PACKET_HEAD: usize = FRAME_HEAD + packet::EAGER_BYTES;
}

impl Default for Config {
    /// The limits of the runs that Gutierrez et al. report (HOTI 2012): packets end with mailboxes of 1 KiB, E1 at 8 KiB.
    /// R0 ends where the paper's curves meet, at 512 KiB.
    fn default() -> Config {
        Config {
            vshort: 1024 - Config::PACKET_HEAD,
            cells: 64 << 10,
            eager: (8 << 10) - 1,
            ndreg_max: 512 << 10,
            chunk: 512 << 10,
            buffers: 64,
        }
    }
}

/// Bytes that the ugni transport puts before a frame's header in a mailbox.
const FRAME_HEAD: usize = 4;

/// The layer; see the module's documentation.
pub struct Ch3 {
    config: Config,
    requests: Requests<State>,
    /// Messages claimed by matched probes.
    claimed: Slab<Kept, INDEX_BITS, GENERATION_BITS>,
    /// Receives without a message, oldest first.
    posted: VecDeque<ReqId>,
    unexpected: Unexpected,
    lanes: Lanes,
    /// Buffers of E1 for sends, and the messages in them.
    outgoing: Staging,
    staged: Slab<Staged, 20, 12>,
    /// Buffers of E1 for receives, and the messages that are fetched into them.
    incoming: Staging,
    fetches: Slab<Fetch, 20, 12>,
    /// Gets and puts under way.
    transfers: Slab<Transfer, 20, 12>,
    /// What the transport refused for the moment.
    retries: VecDeque<Retry>,
    counts: Counters,
    notices: Notices,
    changes: u32,
    /// Sends and transfers that are not complete.
    unfinished: usize,
    lost_news: Vec<Peer>,
}

impl Ch3 {
    /// A layer with nothing to do.
    pub fn new(config: Config) -> Ch3 {
        // A get fetches whole words.
        let slot = config.eager.next_multiple_of(staging::WORD);
        Ch3 {
            config,
            requests: Requests::new(),
            claimed: Slab::new(),
            posted: VecDeque::new(),
            unexpected: Unexpected::default(),
            lanes: Lanes::default(),
            outgoing: Staging::new(slot, config.buffers),
            staged: Slab::new(),
            incoming: Staging::new(slot, config.buffers),
            fetches: Slab::new(),
            transfers: Slab::new(),
            retries: VecDeque::new(),
            counts: Counters::default(),
            notices: Notices::default(),
            changes: 0,
            unfinished: 0,
            lost_news: Vec::new(),
        }
    }

    /// Sets whether `peer` is reached through shared memory.
    pub fn set_on_node(&mut self, peer: Peer, on_node: bool) {
        self.lanes.of(peer).on_node = on_node;
    }
}
