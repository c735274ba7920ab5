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
