//! What ranks wait for, on its way from a daemon to mpiexec, which looks for dead-locks among the ranks of all hosts.

use deadlock::{Does, Rank};
use observe::{Begun, Kind, Need, Part, Slot, Targets, Wait};

use crate::wire::{wire_enum, wire_struct};

wire_enum! { Does { 0 Runs, 1 Ended, 2 Waits { slots, begun, busy }, } }
wire_enum! { Need { 0 All, 1 Any, } }
wire_enum! { Kind { 0 Receive, 1 Send, 2 Collective, 3 Lock, 4 Epoch, 5 Other, } }
wire_enum! { Targets { 0 Ranks(runs), 1 Outside, } }

wire_struct! {
    Rank { does, waited }
    Slot { number, turn, wait }
    Wait { thread, since, call, frames, origins, need, parts }
    Part { kind, need, targets, tag, context, round }
    Begun { turn, calls, is_whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{decode, encode};
    use std::time::Duration;

    #[test]
    fn a_rank_is_read_as_it_was_written() {
        let part = Part {
            kind: Kind::Epoch,
            need: Need::Any,
            targets: Targets::Ranks(vec![(1, 3), (7, 7)]),
            tag: Some(-1),
            context: 9,
            round: Some(6),
        };
        let wait = Wait {
            thread: 5,
            since: 1,
            call: "MPI_Recv".to_owned(),
            frames: vec![],
            origins: vec![],
            need: Need::All,
            parts: vec![part.clone(), Part::outside()],
        };
        let begun = Begun { turn: 8, calls: vec![part.clone()], is_whole: true };
        let slots = vec![Slot { number: 2, turn: 4, wait }];
        for does in [Does::Runs, Does::Ended, Does::Waits { slots, begun, busy: 8 }] {
            let rank = Rank { does, waited: Duration::from_millis(1500) };
            assert_eq!(decode::<Rank>(&encode(&rank)), Some(rank));
        }
    }
}
