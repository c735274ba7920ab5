//! The suite on ob1, over simulated networks of several kinds.

use btl_mock::{Net, Options, Port};
use pml_conformance::Processes;
use pml_ob1::{Config, Ob1};

fn world(options: Options, config: Config) -> Processes<Ob1, Port> {
    let net = Net::new(options);
    Processes::new((0..options.ranks).map(|rank| (Ob1::new(config), net.port(rank))).collect())
}

/// One path, room enough, get and put.
mod kind {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Ob1, Port> {
        world(Options { seed, ..Options::new(ranks) }, Config::new(ranks))
    }

    pml_conformance::suite!(make);
}

/// Messages overtake each other; sends, gets, puts and exposures are refused; gets and puts fail, and puts that failed arrive late.
mod unpleasant {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Ob1, Port> {
        let options = Options {
            seed,
            paths: 3,
            slots: 4,
            busy: 20,
            unfit: 20,
            failing: 20,
            ghosts: 50,
            late: 30,
            ..Options::new(ranks)
        };
        world(options, Config::new(ranks))
    }

    pml_conformance::suite!(make);
}

/// Neither get nor put, short frames, and so little memory for what has no receive that senders must hold back.
mod narrow {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Ob1, Port> {
        let mut options = Options {
            seed,
            paths: 2,
            slots: 2,
            busy: 10,
            congestion_word: seed.is_multiple_of(2),
            ..Options::new(ranks)
        };
        options.limits.get = false;
        options.limits.put = false;
        options.limits.eager = 1024;
        options.limits.max_send = 2048;
        world(options, Config { unexpected_cap: 16 << 10, ..Config::new(ranks) })
    }

    pml_conformance::suite!(make);
}

/// Gets of aligned pieces only.
mod aligned {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Ob1, Port> {
        let mut options = Options { seed, paths: 2, busy: 10, late: 20, ..Options::new(ranks) };
        options.limits.put = false;
        options.limits.get_align = 4;
        options.limits.max_get = 30_000;
        world(options, Config::new(ranks))
    }

    pml_conformance::suite!(make);
}

/// Under data reliability with verified puts: they fail, arrive late and damaged, and go astray.
mod reliable_puts {
    use super::*;
    use btl::Peer;
    use btl_dr::{Dr, DrParams, FaultPlan, Rdma};

    fn make(ranks: u32, seed: u64) -> Processes<Ob1, Dr<Port>> {
        let mut options = Options {
            seed,
            busy: 5,
            unfit: 5,
            failing: 10,
            ghosts: 50,
            astray: 10,
            late: 20,
            ..Options::new(ranks)
        };
        options.limits.get = false;
        options.limits.max_put = 30_000;
        let net = Net::new(options);
        let end = |rank| {
            let params = DrParams { rdma: Rdma::Verified, ..DrParams::default() };
            let dr = Dr::new(net.port(rank), (Peer(rank), 5), ranks, &params, &FaultPlan::default());
            (Ob1::new(Config::new(ranks)), dr.unwrap())
        };
        Processes::new((0..ranks).map(end).collect())
    }

    pml_conformance::suite!(make);
}
