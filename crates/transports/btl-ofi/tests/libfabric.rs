//! The suite over each provider of the installed libfabric, and of the one that `OFI_LIBRARY` names.
//!
//! Each check runs in this process between endpoints on one host. Where there is no library, or no such provider, that is
//! printed, and nothing is checked.

use btl::{Btl, Peer};
use btl_conformance::Endpoints;
use btl_ofi::{BtlOfiParams, Ofi, Opening};
use ofi::{Card, OfiParams};

/// Endpoints of a provider that have exchanged a message each way; `None`: there is no such provider.
fn world(provider: &str, params: &BtlOfiParams) -> Option<Endpoints<Ofi>> {
    const RANKS: u32 = 2;
    let library = std::env::var("OFI_LIBRARY").unwrap_or_else(|_| String::from("libfabric.so.1"));
    let ofi = OfiParams { library, provider: provider.to_owned(), ..OfiParams::default() };
    let mut opened = Vec::new();
    for _ in 0..RANKS {
        match Opening::new(&ofi, params, RANKS as usize, true) {
            Ok(opening) => opened.push(opening),
            Err(error) => {
                eprintln!("skip: {error}");
                return None;
            }
        }
    }
    let cards: Vec<Card> = opened.iter().map(Opening::card).collect();
    let job = u64::from(std::process::id());
    let end = |(opening, rank): (Opening, u32)| {
        opening.open(Peer(rank), job, cards.clone(), params).expect("cards of this process")
    };
    let mut world = Endpoints { ends: opened.into_iter().zip(0..).map(end).collect() };
    connect(&mut world.ends);
    Some(world)
}

/// Sends one message each way, so that no check sees a connection being made.
fn connect(ends: &mut [Ofi]) {
    for (from, to) in [(0, 1), (1, 0)] {
        let mut nothing = mem::UserMem::EMPTY;
        ends[from].send(Peer(to as u32), &[], &mut nothing).expect("an idle pair");
        let mut got = false;
        while !got || !ends[from].is_flushed() {
            got |= ends[to].next_arrival().map(|arrival| ends[to].release(arrival)).is_some();
            assert_eq!(ends[from].next_event(), None);
        }
    }
}

/// One module for each provider: those checks that it passes.
macro_rules! provider {
    ($name:ident: $provider:literal, $params:expr; $($check:ident)*) => {
        mod $name {
            use super::*;
            $(
                #[test]
                fn $check() {
                    if let Some(world) = world($provider, &$params) {
                        btl_conformance::$check(world);
                    }
                }
            )*
        }
    };
    // All, with sleep.
    ($name:ident: $provider:literal, $params:expr, sleeping) => {
        provider!($name: $provider, $params; a_sleeping_pair_talks);
    };
    // All but the longest, which takes these providers many seconds, and the one whose receiver stops when it finds
    // nothing at the moment: some of these need its turns to give room back.
    ($name:ident: $provider:literal, $params:expr) => {
        provider!($name: $provider, $params;
            limits_are_consistent every_size_arrives headers_of_every_length_arrive a_stream_of_mixed_sizes_arrives_once
            back_pressure_is_temporary many_senders_are_served_fairly every_size_and_offset_is_fetched
            every_size_and_offset_is_stored what_was_not_exposed_is_refused cookies_and_events_match
            registered_memory_is_read_and_written_anywhere registered_memory_serves_all_peers
            what_was_not_registered_is_refused
            congestion_is_seen_by_peers arm_notices_what_is_there a_message_after_arm_wakes
            room_before_a_sleep_is_not_missed a_blocked_sender_sleeps
            active_messages_are_ordered_and_answered active_messages_are_bounded active_messages_end_a_sleep
            who_says_goodbye_has_sent_all who_comes_back_has_not_left who_comes_back_learns_who_is_back
            an_awaited_end_is_noticed a_sleeper_notices_an_end);
    };
}

fn default() -> BtlOfiParams {
    BtlOfiParams::default()
}

/// Frames of 512 bytes, and what is eager beyond them by Eager GET.
fn eager_get() -> BtlOfiParams {
    BtlOfiParams { frame_size: 512, eager_limit: 8 << 10, ..default() }
}

/// Put Fallback.
fn puts_alone() -> BtlOfiParams {
    BtlOfiParams { get_limit: 0, ..default() }
}

/// Two messages to a peer, and a report for each.
fn two_credits() -> BtlOfiParams {
    BtlOfiParams { window: 2, ..default() }
}

provider!(rxm: "tcp;ofi_rxm", default());
provider!(rxm_eager_get: "tcp;ofi_rxm", eager_get());
provider!(rxm_puts_alone: "tcp;ofi_rxm", puts_alone());
provider!(rxm_two_credits: "tcp;ofi_rxm", two_credits());
provider!(rxm_two_credits_asleep: "tcp;ofi_rxm", two_credits(), sleeping);
provider!(rxm_asleep: "tcp;ofi_rxm", default(), sleeping);
provider!(net: "net", default());
provider!(net_eager_get: "net", eager_get());
// The native provider for TCP, which was called "net" before 1.18 and has no reliable datagrams under this name before.
provider!(tcp: "tcp", default());
// Nothing to sleep on.
provider!(shm: "shm", default();
    limits_are_consistent every_size_arrives headers_of_every_length_arrive a_stream_of_mixed_sizes_arrives_once
    every_size_and_offset_is_fetched every_size_and_offset_is_stored);
