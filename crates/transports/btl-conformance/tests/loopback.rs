//! The suite on the loopback.

use bell::Bell;
use btl::Peer;
use btl_conformance::World;
use btl_self::Loopback;

fn world() -> World<Loopback> {
    World { ends: vec![Loopback::new(Peer(0), Bell::of(Box::leak(Box::default())))] }
}

btl_conformance::suite!(world);
