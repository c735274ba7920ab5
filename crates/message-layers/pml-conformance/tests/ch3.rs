//! The suite on MPICH2's layer, over simulated networks of several kinds. Its limits are small, so that the lengths of
//! the suite meet each of its protocols.

use btl_mock::{Net, Options, Port};
use pml_ch3::{Ch3, Config};
use pml_conformance::Processes;

const LIMITS: Config =
    Config { vshort: 512, cells: 2048, eager: 4096, ndreg_max: 50_000, chunk: 20_000, buffers: 3 };

fn world(options: Options, limits: Config) -> Processes<Ch3, Port> {
    let net = Net::new(options);
    Processes::new((0..options.ranks).map(|rank| (Ch3::new(limits), net.port(rank))).collect())
}

/// One path, room enough, gets of aligned words, as on Gemini.
mod kind {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Ch3, Port> {
        let mut options = Options { seed, ..Options::new(ranks) };
        options.limits.get_align = 4;
        world(options, LIMITS)
    }

    pml_conformance::suite!(make);
}

/// Messages overtake each other; sends, gets, puts and exposures are refused; gets and puts fail.
mod unpleasant {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Ch3, Port> {
        let mut options = Options {
            seed,
            paths: 3,
            slots: 4,
            busy: 20,
            unfit: 20,
            failing: 20,
            late: 30,
            ..Options::new(ranks)
        };
        options.limits.get_align = 4;
        options.limits.max_get = 15_000;
        world(options, LIMITS)
    }

    pml_conformance::suite!(make);
}

/// Neither get nor put.
mod narrow {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Ch3, Port> {
        let mut options = Options { seed, paths: 2, slots: 2, busy: 10, ..Options::new(ranks) };
        options.limits.get = false;
        options.limits.put = false;
        options.limits.max_send = 2048;
        world(options, Config { vshort: 2048, ..LIMITS })
    }

    pml_conformance::suite!(make);
}

/// All peers on the node: messages of E0 are longer, and E1 does not occur.
mod on_node {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Ch3, Port> {
        let net = Net::new(Options { seed, paths: 2, late: 20, ..Options::new(ranks) });
        let layer = || {
            let mut layer = Ch3::new(LIMITS);
            (0..ranks).for_each(|peer| layer.set_on_node(btl::Peer(peer), true));
            layer
        };
        Processes::new((0..ranks).map(|rank| (layer(), net.port(rank))).collect())
    }

    pml_conformance::suite!(make);
}
