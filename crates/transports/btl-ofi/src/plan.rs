//! What follows from the provider's limits and the parameters.

use core::fmt;

use btl::{Limits, Pace};
use ofi::Facts;
use ofi::abi::flag;
use rdma::wire;

use crate::params::BtlOfiParams;

/// Bytes before a frame's wire message: kind and mark.
pub(crate) const PREFIX: usize = 8;
/// Most bytes of a frame before its payload, and of a frame without one.
const HEADS: usize = PREFIX + wire::GET_INIT_MOST;

/// The numbers in effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OfiPlan {
    /// Longest frame in bytes.
    pub frame: usize,
    /// Longest frame that the provider copies at once.
    pub inject: usize,
    /// Bytes of an Eager GET buffer; 0: all that is eager fits in a frame.
    pub eager_get: usize,
    /// Receives to post.
    pub receives: usize,
    /// Send buffers: at first, made at a time, at most.
    pub sends: [i64; 3],
    /// Messages to one peer that it has not reported as acknowledged, at most.
    pub window: u32,
    /// What the layer above sees.
    pub limits: Limits,
    /// What it compares with other ways.
    pub pace: Pace,
}

/// The provider's messages hold no header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooShort {
    /// Its name.
    pub provider: String,
    /// Its longest message in bytes.
    pub longest: usize,
}

impl fmt::Display for TooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "using libfabric's provider {} failed\nits longest message has {} bytes, and {} are needed\nname another: --mca ofi_provider \
             NAME",
            self.provider,
            self.longest,
            2 * HEADS
        )
    }
}

impl std::error::Error for TooShort {}

impl OfiPlan {
    /// The numbers for a provider that is so.
    ///
    /// # Errors
    /// [`TooShort`]
    pub fn new(params: &BtlOfiParams, facts: &Facts) -> Result<OfiPlan, TooShort> {
        let longest = usize::try_from(facts.max_message).unwrap_or(usize::MAX);
        let frame = params.frame_size.min(longest);
        if frame < 2 * HEADS {
            return Err(TooShort { provider: facts.provider.clone(), longest });
        }
        let may = |access: u64| facts.caps & (flag::RMA | access) == flag::RMA | access;
        let max_get = if may(flag::READ | flag::REMOTE_READ) { params.get_limit.min(longest) } else { 0 };
        let max_put = if may(flag::WRITE | flag::REMOTE_WRITE) && facts.flags & flag::DELIVERY_COMPLETE != 0 {
            params.put_limit.min(longest)
        } else {
            0
        };
        let room = frame - HEADS;
        let wished = if params.eager_limit == 0 { room } else { params.eager_limit };
        // What does not fit in a frame is fetched, in one piece.
        let eager = if wished <= room || max_get >= wished { wished } else { room };
        let eager_get = if eager > room { eager.next_multiple_of(64) } else { 0 };
        let (tx, rx) = (facts.depth.0.max(2), facts.depth.1.max(2));
        Ok(OfiPlan {
            frame,
            inject: facts.inject.min(frame),
            pace: pace(params, &facts.provider),
            eager_get,
            receives: (params.receives as usize).min(rx),
            window: params.window as u32,
            sends: [params.send_inc, params.send_inc, params.send_max.min(tx as i64)],
            limits: Limits {
                eager,
                max_send: room.max(eager),
                get: max_get > 0,
                put: max_put > 0,
                min_rdma: eager + 1,
                min_rdma_answer: eager + 1,
                max_get,
                max_put,
                get_align: 1,
            },
        })
    }
}

/// Providers over sockets, which are slower than an adapter.
const OVER_SOCKETS: [&str; 4] = ["tcp", "net", "udp", "sockets"];

fn pace(params: &BtlOfiParams, provider: &str) -> Pace {
    let core = provider.split(';').next().unwrap_or_default();
    let (latency, bandwidth) = if OVER_SOCKETS.contains(&core) { (25_000, 1000) } else { (1500, 10_000) };
    let or = |given: i64, common| if given == 0 { common } else { given as u64 };
    Pace { latency: or(params.latency, latency), bandwidth: or(params.bandwidth, bandwidth) }
}
