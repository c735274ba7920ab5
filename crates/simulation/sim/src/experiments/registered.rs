//! Registered memory of one rank of a large job.
//!
//! One rank is observed; its peers are set up one after another, exchange a message each way with it, and are taken
//! away again. So any job fits into memory, and every byte counted was registered by the transport itself.

use crate::cluster::Cluster;
use crate::error::Error;
use crate::programs::Exchange;
use crate::setup::Setup;
use btl_ugni::{UgniParams, UseMsgq};
use std::collections::BTreeSet;

/// The ranks with which a rank exchanges messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// All ranks.
    AllToAll,
    /// The six neighbours in a three-dimensional periodic grid.
    Nearest,
    /// Sixteen peers drawn at random, and those that have drawn this rank.
    Random16,
}

/// How messages of 1 KiB are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMethod {
    /// Through mailboxes that are large enough.
    Smsg,
    /// By Eager GET, requested through the smallest mailboxes.
    EagerGet,
    /// By Eager GET, requested through the node's shared queue.
    Msgq,
}

/// What the observed rank has registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registered {
    /// Peers it has talked to.
    pub peers: u32,
    /// Bytes of mailboxes.
    pub mailboxes: u64,
    /// Bytes of Eager GET buffers.
    pub buffers: u64,
    /// This rank's share of its node's queue.
    pub queue: u64,
}

impl Registered {
    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.mailboxes + self.buffers + self.queue
    }
}

/// Bytes of each message.
const MESSAGE: usize = 1024;
const DRAWN: u32 = 16;
const OBSERVED: u32 = 0;

/// What rank 0 of `ranks` registers for messages of 1 KiB to and from its peers.
///
/// # Errors
/// [`Error`].
pub fn registered(setup: &Setup, pattern: Pattern, way: SendMethod, ranks: u32) -> Result<Registered, Error> {
    let nodes = ranks.div_ceil(setup.ranks_per_node.max(1));
    let setup = Setup { params: params(way, nodes), ..setup.clone() };
    let mut cluster = Cluster::empty(&setup, ranks)?;
    let peers = pattern.peers(ranks);
    cluster.insert(OBSERVED, Exchange::new(MESSAGE, None))?;
    for &peer in &peers {
        cluster.insert(peer, Exchange::new(MESSAGE, Some(OBSERVED)))?;
        if let Some(observed) = cluster.resume(OBSERVED) {
            observed.with(peer);
        }
        cluster.run_to_rest()?;
        cluster.remove(peer);
    }
    let ugni = cluster.end(OBSERVED).and_then(|end| end.transport().ugni());
    let stats = ugni.map(|ugni| *ugni.stats()).unwrap_or_default();
    Ok(Registered {
        peers: peers.len() as u32,
        mailboxes: stats.mailbox_bytes,
        buffers: stats.buffer_bytes,
        queue: stats.msgq_bytes / setup.local_ranks(OBSERVED, ranks) as u64,
    })
}

/// The pools of Eager GET are made whole at once, as if all peers sent together.
fn params(way: SendMethod, nodes: u32) -> UgniParams {
    let default = UgniParams::default();
    let params = UgniParams { eager_num: default.eager_max, ..default };
    match way {
        SendMethod::Smsg => UgniParams { smsg_limit: MESSAGE + 64, ..params },
        SendMethod::EagerGet => UgniParams { smsg_limit: 256, ..params },
        // Each node must be able to hold what all others may send at once.
        SendMethod::Msgq => {
            let share = params.msgq_pool / i64::from(nodes.max(1));
            let credits = (share / 2 * 2).clamp(1, params.msgq_credits);
            UgniParams { use_msgq: UseMsgq::Always, msgq_credits: credits, ..params }
        }
    }
}

impl Pattern {
    /// The peers of rank 0.
    fn peers(self, ranks: u32) -> BTreeSet<u32> {
        let all = match self {
            Pattern::AllToAll => (0..ranks).collect(),
            Pattern::Nearest => nearest(ranks),
            Pattern::Random16 => {
                let drawn_by = (0..ranks).filter(|&rank| draws(rank, ranks).any(|peer| peer == OBSERVED));
                drawn_by.chain(draws(OBSERVED, ranks)).collect::<BTreeSet<u32>>()
            }
        };
        all.into_iter().filter(|&peer| peer != OBSERVED).collect()
    }
}

/// The neighbours of rank 0 in the grid that is nearest to a cube.
fn nearest(ranks: u32) -> BTreeSet<u32> {
    let [width, height, depth] = crate::programs::grid(ranks);
    let ends = |stride: u32, size: u32| [stride * (1 % size), stride * (size - 1)];
    [ends(1, width), ends(width, height), ends(width * height, depth)].into_iter().flatten().collect()
}

/// The peers that a rank draws; the same in every run.
fn draws(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    (0..DRAWN).map(move |draw| (chance::drawn(u64::from(rank * DRAWN + draw)) % u64::from(ranks)) as u32)
}

#[cfg(test)]
mod tests {
    use super::{Pattern, nearest};

    #[test]
    fn a_grid_has_six_neighbours() {
        assert_eq!(nearest(64).into_iter().collect::<Vec<_>>(), [1, 3, 4, 12, 16, 48]);
        assert_eq!(Pattern::Nearest.peers(49_152).len(), 6);
    }

    #[test]
    fn every_rank_is_drawn_about_as_often_as_drawing() {
        for ranks in [1024, 16_384, 49_152] {
            let peers = Pattern::Random16.peers(ranks).len();
            assert!((20..50).contains(&peers), "{peers} of {ranks}");
        }
    }

    #[test]
    fn no_rank_is_its_own_peer() {
        for pattern in [Pattern::AllToAll, Pattern::Nearest, Pattern::Random16] {
            assert!(!pattern.peers(64).contains(&0));
        }
        assert_eq!(Pattern::AllToAll.peers(64).len(), 63);
    }
}
