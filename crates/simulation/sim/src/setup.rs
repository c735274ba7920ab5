//! A machine and how a job lies on it.

use crate::error::Error;
use crate::software::SoftwareCosts;
use crate::timeline::Timeline;
use crate::watch::Watch;
use btl_ugni::{PeerAddress, UgniParams};
use btl_vader::VaderParams;
use coll::Locality;
use gni::{InstId, PeAddr};
use gni_soft::NodeLimits;
use gni_timed::{Background, Costs, NetworkConfig, Torus};
use std::ops::Range;
use std::sync::Arc;

/// Whose message layer the ranks have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    /// This library's ob1.
    Alhena,
    /// MPICH2's, as the vendor's MPI has it ([`pml_ch3`]).
    Mpich2,
}

/// The machine, the transport's parameters, and where ranks run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The message layer.
    pub library: Library,
    /// The torus.
    pub torus: Torus,
    /// Whether transactions avoid links that are taken.
    pub adaptive: bool,
    /// What other jobs send over its links.
    pub background: Option<Background>,
    /// What network and NIC cost.
    pub costs: Costs,
    /// What software costs.
    pub software: SoftwareCosts,
    /// The parameters of the transport between nodes.
    pub params: UgniParams,
    /// Those of shared memory; `None`: ranks of one node send through its NIC.
    pub vader: Option<VaderParams>,
    /// Where to show how far the simulation is.
    pub watch: Option<Arc<Watch>>,
    /// Where to put what the ranks of a job did when.
    pub timeline: Option<Arc<Timeline>>,
    /// Whether the memory of nodes has room for few messages at a time, so that a million ranks fit into this machine.
    pub compact: bool,
    /// Whether ob1 carries the last bytes of an odd length in its offer.
    pub takes_tail: bool,
    /// Ranks of one node, in order of their numbers.
    pub ranks_per_node: u32,
    /// Processors of a node, to which its ranks are bound in turn, and for which they wait to compute; `None`: each
    /// has its own.
    pub cores: Option<u32>,
    /// Ranks that share a last-level cache, and caches of a memory node; `None`: all cores of a node are equally far apart.
    pub caches: Option<(u32, u32)>,
    /// Radix of trees, or messages under way, of collective algorithms; 0: each algorithm's own.
    pub fanout: u32,
    /// Which of many draws of the ranks' computing times ([`crate::Jitter`]).
    pub seed: u64,
    /// From one node of the job to the next; 2 leaves the other node of each chip to others.
    pub node_spacing: u32,
}

impl Setup {
    /// Where a rank runs; the node may be beyond the torus.
    pub fn node_of(&self, rank: u32) -> PeAddr {
        PeAddr(rank / self.ranks_per_node.max(1) * self.node_spacing)
    }

    /// What the ranks of a job on one node are bound to, if there are several caches.
    pub(crate) fn localities(&self, ranks: u32) -> Vec<Locality> {
        let (Some((of_cache, of_node)), true) = (self.caches, ranks <= self.ranks_per_node) else {
            return vec![];
        };
        Locality::if_several((0..ranks).map(|rank| Locality::at(rank, of_cache, of_node)).collect())
    }

    /// The ranks of a rank's node, if the last node is full.
    pub(crate) fn ranks_of_node(&self, rank: u32) -> Range<u32> {
        let per_node = self.ranks_per_node.max(1);
        let first = rank / per_node * per_node;
        first..first + per_node
    }

    /// Ranks that share a rank's node, in a job of `ranks`.
    pub(crate) fn local_ranks(&self, rank: u32, ranks: u32) -> usize {
        let per_node = self.ranks_per_node.max(1);
        let first = rank / per_node * per_node;
        per_node.min(ranks - first) as usize
    }

    /// The machine for a job of `ranks`.
    pub(crate) fn world(&self, ranks: u32) -> Result<NetworkConfig, Error> {
        let last = self.node_of(ranks.max(1) - 1);
        if last.0 >= self.torus.nodes() {
            return Err(Error::TooSmall { needed: u64::from(last.0) + 1, nodes: self.torus.nodes() });
        }
        let Setup { torus, adaptive, background, costs, .. } = *self;
        Ok(NetworkConfig { torus, adaptive, background, costs, limits: NodeLimits::default(), ranks })
    }

    /// Whether the ranks of a node share memory.
    pub(crate) fn shares_memory(&self) -> bool {
        self.vader.is_some() && self.ranks_per_node > 1
    }

    /// The addresses of all ranks.
    pub(crate) fn peers(&self, ranks: u32) -> Arc<[PeerAddress]> {
        let address =
            |rank| PeerAddress { pe: self.node_of(rank), inst: InstId(rank), locator: Box::new([]) };
        (0..ranks).map(address).collect()
    }
}
