//! The suite on the shared-memory transport, in the shapes it runs in.

mod common;

use btl_conformance::World;
use btl_vader::{SingleCopy, Vader, VaderParams};

mod a_pair {
    use super::*;
    fn world() -> World<Vader> {
        World { ends: common::attach_all(2, &VaderParams::default()) }
    }
    btl_conformance::suite!(world);
}

mod a_crowd {
    use super::*;
    fn world() -> World<Vader> {
        World { ends: common::attach_all(9, &VaderParams::default()) }
    }
    btl_conformance::suite!(world);
}

/// Only some senders have a fastbox; the others stay with the receive queue.
mod few_fastboxes {
    use super::*;
    fn world() -> World<Vader> {
        let params = VaderParams { max_fastboxes: 2, fastbox_size: 4096, ..VaderParams::default() };
        World { ends: common::attach_all(6, &params) }
    }
    btl_conformance::suite!(world);
}

/// Everything through the receive queue, nothing by single copy.
mod only_cells {
    use super::*;
    fn world() -> World<Vader> {
        let single_copy_mechanism = SingleCopy::Off;
        let params = VaderParams { max_fastboxes: 0, single_copy_mechanism, ..VaderParams::default() };
        World { ends: common::attach_all(3, &params) }
    }
    btl_conformance::suite!(world);
}

/// What this transport promises beyond the contract.
mod beyond {
    use super::*;
    use btl::{Btl, Peer};
    use mem::UserMem;

    #[test]
    fn room_ends_a_sleep() {
        for (count, max_fastboxes) in [(2, 32), (6, 2), (3, 0)] {
            let params = VaderParams { max_fastboxes, ..VaderParams::default() };
            btl_conformance::room_ends_a_sleep(World { ends: common::attach_all(count, &params) });
        }
    }

    /// Messages of all sizes stay in order: through the queue, across the change to a fastbox, by slot and by cell.
    #[test]
    fn order_is_kept_per_peer() {
        let mut ends = common::attach_all(2, &VaderParams::default());
        let (mut sent, mut received) = (0u64, 0u64);
        for turn in 0.. {
            if received == 5000 {
                break;
            }
            let mut bytes = vec![0; [0, 8, 120, 5000, 32_768][sent as usize % 5]];
            // SAFETY: the bytes outlive the call.
            let mut payload = unsafe { UserMem::of(&mut bytes) };
            sent += u64::from(ends[0].send(Peer(1), &[sent], &mut payload).is_ok());
            // Slower than the sender, so that there is always something on every path.
            if turn % 3 != 0
                && let Some(arrival) = ends[1].next_arrival()
            {
                assert_eq!(arrival.header.word(0), received);
                received += 1;
                ends[1].release(arrival);
            }
        }
    }
}
