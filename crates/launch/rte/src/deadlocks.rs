//! Dead-locks as mpiexec and its daemons have them: when to look, and how a finding reads.

use std::time::Duration;

use deadlock::graph::Graph;
use inquest::Failure;
use observe::Wait;

use crate::wire::wire_struct;

/// Time between two looks.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// Time between the two looks that agree.
pub(crate) const AGAIN: Duration = Duration::from_millis(150);

/// The call that a thread waits in, and where it was made.
#[derive(Clone, Debug)]
pub(crate) struct WaitSite {
    pub rank: u32,
    pub thread: i32,
    pub call: String,
    /// As a report has it after the call; may be empty.
    pub place: String,
}

/// What is reported of `dead` ranks, of which each has waited for `waited` at least. `site`: see [`deadlock::text`].
pub(crate) fn failure(
    graph: &Graph,
    dead: &[u32],
    waited: Duration,
    site: impl FnMut(u32, &Wait) -> (String, String),
) -> Failure {
    let who = match (dead.len(), graph.0.len()) {
        (all, size) if all == size => format!("all {size} ranks"),
        (1, _) => format!("rank {}", dead[0]),
        (some, size) => format!("{some} of {size} ranks"),
    };
    Failure::Deadlock { who, lines: deadlock::text(graph, dead, site), waited }
}

wire_struct! { WaitSite { rank, thread, call, place } }
