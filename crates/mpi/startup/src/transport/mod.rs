//! The way to the other processes of the job. Transports open themselves ([`btl::Join`]); this module gives them the job.

mod cards;
mod reach;

use std::sync::Arc;

use bml::NodeMemory;
use btl::{Lines, Peer};
use engine::{Classes, P2p};
use node::Node;

use objects::state::State;

use cards::JobCards;

pub use reach::reach;

/// The handlers that take frames beside the message layer: one line each.
pub fn classes() -> Classes<State> {
    Classes::new().with::<windows::Serve>().with::<files::Serve>().with::<failures::Serve>()
}

/// Opens all that leads to the other processes of the job, and what those of this node share, if they have a segment.
/// Takes the job's segment.
///
/// # Errors
/// The three lines to print.
pub fn open(job: &mut pmi::Job, values: &mca::Values) -> Result<(Option<Arc<Node>>, P2p), Lines> {
    let memory = job.segment.take().map(|segment| NodeMemory {
        fd: segment.fd,
        bytes: segment.bytes,
        members: job.local_ranks.iter().map(|&rank| Peer(rank)).collect(),
        pids: job.local_pids.clone(),
    });
    P2p::open(&mut JobCards(job), values, memory)
}
