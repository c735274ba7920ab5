//! The suite on the route table.

mod common;

use bml::Bml;
use btl::Peer;
use btl_conformance::World;
use btl_vader::VaderParams;

mod a_node {
    use super::*;
    fn world() -> World<Bml> {
        let vaders = common::attach_all(3, &VaderParams::default()).into_iter().enumerate();
        let table = |(index, vader)| Bml::of_node(Peer(index as u32), 3, vader).unwrap();
        World { ends: vaders.map(table).collect() }
    }
    btl_conformance::suite!(world);
}

mod alone {
    use super::*;
    fn world() -> World<Bml> {
        World { ends: vec![Bml::solo()] }
    }
    btl_conformance::suite!(world);
}

#[test]
fn a_peer_elsewhere_is_named() {
    let vader = common::attach_all(2, &VaderParams::default()).remove(0);
    let error = Bml::of_node(Peer(0), 3, vader).unwrap_err();
    assert_eq!(error, bml::Unreachable(Peer(2)));
    assert_eq!(error.to_string().lines().count(), 3);
}
