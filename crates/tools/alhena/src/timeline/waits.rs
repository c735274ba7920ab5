//! Who waited for whom, by the times of both ends.
//!
//! ```text
//!   receiver  ├──── MPI_Recv ─────────┤         sender    ├──── MPI_Send ────────┤
//!   sender            ├─ MPI_Send ─┤            receiver          ├── MPI_Recv ──┤
//!             ◀ late  ▶                                   ◀ late  ▶
//!             ◀ sender▶                                   ◀ recei-▶ver: where the send had to wait for the receive
//! ```
//!
//! These are the patterns of F. Wolf and B. Mohr, "Automatic performance analysis of hybrid MPI/OpenMP applications" (2003).

use std::collections::HashMap;

use super::{Call, Timeline};

/// Notes the waits in the calls of a timeline.
pub fn find(timeline: &mut Timeline) {
    for message in &timeline.messages {
        let began = timeline.call(message.from).time.0;
        let (rank, call) = message.to;
        let receive = &mut timeline.ranks[rank].calls[call];
        // Of several messages that one call waits for, the last one counts.
        receive.late_sender = receive.late_sender.max(until(began, receive));
        let Some((rank, call)) = message.completed_by else { continue };
        let send = &mut timeline.ranks[rank].calls[call];
        // A send that has ended before was taken into a buffer.
        if message.posted < send.time.1 {
            send.late_receiver = send.late_receiver.max(until(message.posted, send));
        }
    }
    let mut last: HashMap<(u64, u64), u64> = HashMap::new();
    for call in timeline.ranks.iter().flat_map(|rank| &rank.calls) {
        if let Some(round) = call.round {
            let last = last.entry(round).or_default();
            *last = call.time.0.max(*last);
        }
    }
    for call in timeline.ranks.iter_mut().flat_map(|rank| &mut rank.calls) {
        if let Some(&last) = call.round.and_then(|round| last.get(&round))
            && waits_for_all(&call.name)
        {
            call.late_others = until(last, call);
        }
    }
}

/// How much of a call had passed at a time.
fn until(time: u64, call: &Call) -> u64 {
    time.min(call.time.1).saturating_sub(call.time.0)
}

/// Whether no process can end this collective before all have called it.
fn waits_for_all(name: &str) -> bool {
    ["MPI_Barrier", "MPI_All", "MPI_Reduce_scatter"].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::super::{Message, Rank};
    use super::*;

    fn call(name: &'static str, time: (u64, u64)) -> Call {
        Call { name: name.into(), time, ..Call::default() }
    }

    fn two(sender: Call, receiver: Call, posted: u64) -> Timeline {
        let rank = |rank, call| Rank { rank, calls: vec![call], ..Rank::default() };
        let (from, to) = ((0, 0), (1, 0));
        let message = Message { from, to, completed_by: Some(from), posted, tag: 0, bytes: 8 };
        Timeline { ranks: vec![rank(0, sender), rank(1, receiver)], messages: vec![message] }
    }

    #[test]
    fn late_senders_and_receivers_are_told_apart() {
        let mut late = two(call("MPI_Send", (50, 60)), call("MPI_Recv", (10, 70)), 10);
        find(&mut late);
        assert_eq!((late.ranks[1].calls[0].late_sender, late.ranks[0].calls[0].late_receiver), (40, 0));
        let mut late = two(call("MPI_Ssend", (10, 60)), call("MPI_Recv", (50, 70)), 50);
        find(&mut late);
        assert_eq!((late.ranks[1].calls[0].late_sender, late.ranks[0].calls[0].late_receiver), (0, 40));
        let mut buffered = two(call("MPI_Send", (10, 12)), call("MPI_Recv", (50, 70)), 50);
        find(&mut buffered);
        assert_eq!(buffered.ranks[0].calls[0].late_receiver, 0);
    }

    #[test]
    fn a_barrier_waits_for_the_last() {
        let calls = [(5, 30), (25, 31)].map(|time| Call { round: Some((1, 1)), ..call("MPI_Barrier", time) });
        let ranks = calls.map(|call| Rank { calls: vec![call], ..Rank::default() });
        let mut timeline = Timeline { ranks: ranks.into(), messages: Vec::new() };
        find(&mut timeline);
        assert_eq!([0, 1].map(|rank| timeline.ranks[rank].calls[0].late_others), [20, 0]);
    }
}
