//! The suite over a provider that checks that everything is done as modes ask.

use btl::{Access, Btl, Event, Full, Peer, Refusal};
use btl_conformance::Endpoints;
use btl_ofi::{BtlOfiParams, Error, Ofi, Opening};
use ofi::abi::{flag, mr};
use ofi::{Card, OfiParams};
use ofi_mock::Modes;

fn ofi_params() -> OfiParams {
    OfiParams::default()
}

fn world(ranks: u32, modes: Modes, params: &BtlOfiParams) -> Endpoints<Ofi> {
    let library = ofi_mock::library(modes);
    let open = |_| Opening::of(library, &ofi_params(), params, ranks as usize, true).expect("an endpoint");
    let opened: Vec<Opening> = (0..ranks).map(open).collect();
    let cards: Vec<Card> = opened.iter().map(Opening::card).collect();
    let end = |(opening, rank): (Opening, u32)| {
        opening.open(Peer(rank), 77, cards.clone(), params).expect("cards of this process")
    };
    Endpoints { ends: opened.into_iter().zip(0..).map(end).collect() }
}

/// The suite without threads, since the mock's endpoints are of one, and without fairness: the first caller takes its
/// room. A provider reports the end of a peer to those that send alone, so that others learn of it by their owner.
macro_rules! of_one_thread {
    ($make:path) => {
        btl_conformance::suite!(@ $make:
            limits_are_consistent
            every_size_arrives
            headers_of_every_length_arrive
            a_stream_of_mixed_sizes_arrives_once
            arrivals_of_one_peer_are_its_own
            back_pressure_is_temporary
            every_size_and_offset_is_fetched
            every_size_and_offset_is_stored
            runs_of_every_size_are_fetched
            what_was_not_exposed_is_refused
            cookies_and_events_match
            any_number_of_gets_may_be_asked_for
            registered_memory_is_read_and_written_anywhere
            registered_memory_serves_all_peers
            what_was_not_registered_is_refused
            congestion_is_seen_by_peers
            arm_notices_what_is_there
            room_before_a_sleep_is_not_missed
            active_messages_are_ordered_and_answered
            active_messages_are_bounded
            a_full_peer_stops_no_other
            answers_wait_for_their_own_peer
            who_says_goodbye_has_sent_all
            who_comes_back_has_not_left
            who_comes_back_learns_who_is_back
            an_awaited_end_is_noticed
            a_sleeper_notices_an_end
        );
    };
}

/// One module for each way a provider may be.
macro_rules! providers {
    ($($name:ident: $modes:expr, $params:expr;)*) => {
        $(mod $name {
            #[allow(unused_imports, reason = "not all of them use all")]
            use super::*;

            fn make() -> Endpoints<Ofi> {
                world(3, $modes, &$params)
            }

            of_one_thread!(make);
        })*
    };
}

providers! {
    software: Modes::SOFTWARE, BtlOfiParams::default();
    // Everything is asked, and calls are refused.
    adapter: Modes::ADAPTER, BtlOfiParams::default();
    sleeps: Modes { sleeps: true, ..Modes::SOFTWARE }, BtlOfiParams::default();
    local: Modes { mr_mode: mr::LOCAL, ..Modes::SOFTWARE }, BtlOfiParams::default();
    virtual_addresses: Modes { mr_mode: mr::VIRT_ADDR | mr::ALLOCATED, ..Modes::SOFTWARE }, BtlOfiParams::default();
    keys_of_its_own: Modes { mr_mode: mr::PROV_KEY, ..Modes::SOFTWARE }, BtlOfiParams::default();
    // As cxi.
    endpoint: Modes { mr_mode: mr::ENDPOINT, key_bytes: 4, ..Modes::SOFTWARE }, BtlOfiParams::default();
    short_keys: Modes { key_bytes: 1, ..Modes::SOFTWARE }, BtlOfiParams { eager_inc: 1, ..BtlOfiParams::default() };
    // What is eager does not fit in its messages.
    eager_get: Modes { max_message: 1 << 20, ..Modes::ADAPTER }, BtlOfiParams {
        frame_size: 512, eager_limit: 8 << 10, eager_inc: 2, eager_max: 4, ..BtlOfiParams::default()
    };
    // It only writes: Put Fallback.
    puts_alone: Modes::ADAPTER, BtlOfiParams { get_limit: 0, ..BtlOfiParams::default() };
    // No write is known to be in place.
    no_delivery: Modes { caps: Modes::SOFTWARE.caps & !flag::DELIVERY_COMPLETE, ..Modes::SOFTWARE }, BtlOfiParams::default();
    messages_alone: Modes {
        caps: Modes::SOFTWARE.caps & !(flag::RMA | flag::SOURCE), inject: 0, ..Modes::ADAPTER
    }, BtlOfiParams { eager_limit: 8 << 10, frame_size: 2048, ..BtlOfiParams::default() };
    // Two messages to a peer, and a report for each.
    two_credits: Modes { sleeps: true, ..Modes::ADAPTER }, BtlOfiParams { window: 2, ..BtlOfiParams::default() };
    scarce: Modes { depth: (2, 2), again: 3, max_message: 1 << 20, ..Modes::SOFTWARE }, BtlOfiParams {
        send_inc: 1, ..BtlOfiParams::default()
    };
}

/// What a provider cannot do is not promised.
#[test]
fn limits_follow_the_provider() {
    let limits = |modes, params: &BtlOfiParams| *world(2, modes, params).ends[0].limits(Peer(1));
    let default = BtlOfiParams::default();
    let all = limits(Modes::SOFTWARE, &default);
    assert!(all.get && all.put && all.eager > 60_000);
    let short = limits(Modes { max_message: 1000, ..Modes::SOFTWARE }, &default);
    assert!(short.eager < 1000 && short.max_get == 1000);
    let caps = Modes::SOFTWARE.caps;
    assert!(!limits(Modes { caps: caps & !flag::DELIVERY_COMPLETE, ..Modes::SOFTWARE }, &default).put);
    let none = limits(Modes { caps: caps & !flag::RMA, ..Modes::SOFTWARE }, &default);
    assert!(!none.get && !none.put);
    let eager = BtlOfiParams { eager_limit: 1 << 20, ..BtlOfiParams::default() };
    assert_eq!(limits(Modes::SOFTWARE, &eager).eager, 1 << 20);
    assert!(limits(Modes { caps: caps & !flag::RMA, ..Modes::SOFTWARE }, &eager).eager < 65_536);
}

/// A provider whose messages hold no header is named.
#[test]
fn too_short_messages_are_refused() {
    let library = ofi_mock::library(Modes { max_message: 100, ..Modes::SOFTWARE });
    let refused = Opening::of(library, &ofi_params(), &BtlOfiParams::default(), 1, true).err();
    let Some(Error::TooShort(error)) = refused else { panic!("messages of 100 bytes are too short") };
    assert!(error.to_string().lines().count() == 3 && error.to_string().contains("mock"));
}

/// What was registered goes when the transport does, and what an operation registered when it is over.
#[test]
fn regions_are_closed() {
    let mut world = world(2, Modes::ADAPTER, &BtlOfiParams::default());
    let before = ofi_mock::open_regions();
    let mut bytes = vec![1u8; 100_000];
    // SAFETY: the bytes live until the end of this test.
    let memory = unsafe { mem::UserMem::of(&mut bytes) };
    let key = world.ends[0].expose(Peer(1), memory, Access::Read).expect("room");
    let mut local = vec![0u8; 100_000];
    // SAFETY: as above.
    let into = unsafe { mem::UserMem::of(&mut local) };
    while world.ends[1].get(Peer(0), into, &key, 0, 5) == Err(Refusal::Busy) {
        assert_eq!(world.ends[1].next_event(), None);
    }
    assert_eq!(ofi_mock::open_regions(), before + 2);
    let event = (0..100).find_map(|_| world.ends[1].next_event());
    assert_eq!(event, Some(Event::Done(5)));
    world.ends[0].conceal(Peer(1), key);
    assert_eq!(ofi_mock::open_regions(), before);
    drop(world);
    assert_eq!(ofi_mock::open_regions(), 0);
    assert_eq!(local, bytes);
}

/// A frame of another job is not an arrival.
#[test]
fn frames_of_another_job_are_dropped() {
    let library = ofi_mock::library(Modes::SOFTWARE);
    let params = BtlOfiParams::default();
    let open = || Opening::of(library, &ofi_params(), &params, 2, true).expect("an endpoint");
    let (ours, theirs) = (open(), open());
    let cards = vec![ours.card(), theirs.card()];
    let mut ours = ours.open(Peer(0), 1, cards.clone(), &params).expect("a transport");
    let mut theirs = theirs.open(Peer(1), 2, cards, &params).expect("a transport");
    let mut nothing = mem::UserMem::EMPTY;
    theirs.send(Peer(0), &[1], &mut nothing).expect("room");
    assert!((0..10).all(|_| ours.next_arrival().is_none()));
    assert_eq!(ours.stats().dropped, 1);
}

/// However much room the provider has, a peer that takes nothing is sent so many messages and no more; it makes room by
/// taking them, and the sender, which did not try meanwhile, may not sleep over that.
#[test]
fn a_peer_that_takes_nothing_is_sent_no_more_than_the_window() {
    let params = BtlOfiParams { window: 8, ..BtlOfiParams::default() };
    let mut world = world(2, Modes { sleeps: true, ..Modes::SOFTWARE }, &params);
    let [sender, receiver] = &mut world.ends[..] else { panic!("two ends") };
    let mut nothing = mem::UserMem::EMPTY;
    let mut send = |sender: &mut Ofi| sender.send(Peer(1), &[1], &mut nothing).is_ok();
    assert_eq!((0..100).filter(|_| send(sender)).count(), 8);
    assert_eq!(sender.full(Peer(1)), Some(Full::Peer));
    let take =
        |receiver: &mut Ofi| receiver.next_arrival().map(|arrival| receiver.release(arrival)).is_some();
    assert_eq!((0..100).filter(|_| take(receiver)).count(), 8);
    assert!((0..100).all(|_| sender.next_arrival().is_none()));
    assert!(sender.full(Peer(1)).is_none() && sender.must_arm_again());
    assert!(sender.arm().is_none(), "who was refused tries again first");
    assert!(sender.arm().is_some());
    assert_eq!((0..100).filter(|_| send(sender)).count(), 8);
}
