//! What this process shows of itself to tools while it runs (`observe`, `alhena top` and others): what it has counted, and
//! what is not done.

use std::sync::LazyLock;

use bml::Count;
use engine::Operation;
use mca::Quantity;
use observe::live::Entry;
use observe::{Figures, Line, Section, Work};
use pml::{Open, OpenKind};

use crate::reason;
use crate::state::State;

/// The counts of payload that transports have. Other sums of theirs are of frames and operations.
static BYTES: LazyLock<Vec<Count>> = LazyLock::new(|| {
    let is_payload = |count: &Count| count.quantity == Quantity::Sum && count.name.ends_with("_bytes");
    bml::counts().into_iter().filter(is_payload).collect()
});

/// Answers a reader that has asked.
#[cold]
pub fn answer(state: &State) {
    if let Some(section) = observe::own() {
        show(state, section);
    }
}

/// Writes all that there is. It may be a million of messages: they are written as they are found.
pub fn show(state: &State, section: &Section) {
    section.show(&figures(state), |shown| {
        state.p2p.each_open(&mut |open| shown(line(state, open)));
        let others = state
            .requests
            .iter()
            .filter(|operation| operation.is_active() && operation.stands_for().is_none());
        others.filter_map(|operation| request(state, operation)).for_each(shown);
    });
}

/// The line of a request; `None`: nothing of it can be under way.
fn request(state: &State, operation: &dyn Operation<State>) -> Option<Line> {
    let line = |work| Line { entry: Entry::Request, work, rank: None, tag: None, context: 0, bytes: 0 };
    let Some(part) = operation.lacks(state) else { return operation.work().map(line) };
    let mut ranks = part.targets.ranks(u32::MAX);
    let rank = ranks.next();
    let lacked = u64::from(rank.is_some()) + ranks.count() as u64;
    Some(Line { rank, context: part.context, bytes: lacked, ..line(Work::Collective) })
}

fn line(state: &State, open: Open) -> Line {
    Line {
        entry: match open.kind {
            OpenKind::Posted => Entry::Posted,
            OpenKind::Unexpected => Entry::Unexpected,
            OpenKind::Send => Entry::Send,
            OpenKind::Transfer => Entry::Transfer,
        },
        work: Work::Other,
        rank: open.peer.and_then(|peer| reason::rank_of(state, peer)),
        tag: (open.tag != abi::ANY_TAG).then_some(open.tag),
        context: open.context,
        bytes: open.bytes,
    }
}

fn figures(state: &State) -> Figures {
    let counters = state.p2p.counters();
    Figures {
        messages: counters.eager_sends + counters.sync_sends + counters.offers,
        bytes: BYTES.iter().map(|count| (count.read)(&state.p2p.bml)).sum(),
        unexpected_bytes: counters.unexpected_bytes,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_are_those_of_all_transports_and_nothing_else() {
        let names: Vec<&str> = super::BYTES.iter().map(|count| count.name).collect();
        for transport in ["self", "vader", "tcp", "udp", "ofi", "portals", "ugni"] {
            assert!(names.contains(&&*format!("btl_{transport}_bytes")), "{transport}: {names:?}");
        }
        for other in ["btl_dr_frames", "btl_portals_retransmissions", "btl_ugni_atomics"] {
            assert!(!names.contains(&other), "{names:?}");
        }
    }
}
