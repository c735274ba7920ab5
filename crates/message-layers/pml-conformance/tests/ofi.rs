//! The suite on cm over libfabric, whose only provider checks that everything is done as modes ask.

use btl_mock::Port;
use mtl_ofi::{Card, Ofi, Opening};
use ofi::OfiParams;
use ofi_mock::Modes;
use pml_cm::Cm;
use pml_conformance::Processes;

fn world(ranks: u32, modes: Modes) -> Processes<Cm<Ofi>, Port> {
    let library = ofi_mock::library(modes);
    let params = OfiParams::default();
    let open =
        |_| Opening::of(library, &params, ranks as usize, true).unwrap_or_else(|error| panic!("{error}"));
    let opened: Vec<Opening> = (0..ranks).map(open).collect();
    let cards: Vec<Card> =
        opened.iter().map(|opening| Card::parse(&opening.card().encode()).expect("a card")).collect();
    let frames = btl_mock::Net::new(btl_mock::Options::new(ranks));
    let layer = |opening: Opening| {
        Cm::new(opening.open(&cards).expect("cards of this process")).expect("bits enough")
    };
    Processes::new(
        opened.into_iter().zip(0..).map(|(opening, rank)| (layer(opening), frames.port(rank))).collect(),
    )
}

/// Nothing is asked, and there is room.
mod software {
    use super::*;

    fn make(ranks: u32, _seed: u64) -> Processes<Cm<Ofi>, Port> {
        world(ranks, Modes::SOFTWARE)
    }

    pml_conformance::suite!(make);
}

/// Every memory is registered, bound to the endpoint and named by a key of the provider; calls are refused.
mod adapter {
    use super::*;

    fn make(ranks: u32, seed: u64) -> Processes<Cm<Ofi>, Port> {
        world(ranks, Modes { data_bytes: if seed.is_multiple_of(2) { 8 } else { 4 }, ..Modes::ADAPTER })
    }

    pml_conformance::suite!(make);
}

/// No data beside a tag, and not all of its bits.
mod narrow {
    use super::*;

    fn make(ranks: u32, _seed: u64) -> Processes<Cm<Ofi>, Port> {
        world(
            ranks,
            Modes { data_bytes: 0, tag_format: u64::MAX >> 4, inject: 0, again: 3, ..Modes::SOFTWARE },
        )
    }

    pml_conformance::suite!(make);
}

/// What an operation registered goes when it is over.
#[test]
fn regions_are_closed() {
    pml_conformance::layouts_may_differ(|ranks, _| world(ranks, Modes::ADAPTER));
    pml_conformance::messages_of_a_pair_match_in_order(|ranks, _| world(ranks, Modes::ADAPTER));
    assert_eq!(ofi_mock::open_regions(), 0);
}

/// Too few bits: the layer reports an error.
#[test]
fn a_network_with_few_bits_is_refused() {
    let modes = Modes { data_bytes: 0, tag_format: u64::MAX >> 20, ..Modes::SOFTWARE };
    let params = OfiParams::default();
    let opening = Opening::of(ofi_mock::library(modes), &params, 1, true).expect("an endpoint");
    let cards = [opening.card()];
    let refused = Cm::new(opening.open(&cards).expect("its own card")).err().expect("too few bits");
    assert!(refused.to_string().contains("--mca pml ob1"));
}

/// A provider that is not there is named, with what to do.
#[test]
fn another_provider_is_not_found() {
    let params = OfiParams { provider: String::from("verbs"), ..OfiParams::default() };
    let error =
        Opening::of(ofi_mock::library(Modes::SOFTWARE), &params, 1, true).err().expect("no such provider");
    let text = error.to_string();
    assert!(
        text.lines().count() == 3 && text.contains("verbs") && text.contains("--mca ofi_provider"),
        "{text}"
    );
}
