//! The suite on the loopback.

use btl::Peer;
use btl_conformance::Endpoints;
use btl_self::Loopback;
use node::wakeup::Bell;

fn world() -> Endpoints<Loopback> {
    Endpoints { ends: vec![Loopback::new(Peer(0), Bell::of(Box::leak(Box::default())))] }
}

btl_conformance::suite!(world);
