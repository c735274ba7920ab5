//! The suite that every byte transfer layer passes: the promises of the `btl` crate, as tests.
//!
//! A transport's tests make a [`Endpoints`] of connected endpoints and name it to [`suite!`], which yields one test
//! per promise. Endpoints are driven from one thread in most checks, which nothing forbids, since no method
//! blocks; the last checks use a thread per endpoint.
#![deny(unsafe_code)]

mod active;
mod leaving;
mod messages;
mod one_sided;
mod pattern;
mod remote;
mod waiting;
mod world;

pub use crate::active::{
    active_messages_are_bounded, active_messages_are_ordered_and_answered, active_messages_end_a_sleep,
    answers_wait_for_their_own_peer,
};
pub use leaving::{
    a_sleeper_notices_an_end, an_awaited_end_is_noticed, an_end_without_a_word_is_noticed,
    who_comes_back_has_not_left, who_comes_back_learns_who_is_back, who_says_goodbye_has_sent_all,
};
pub use messages::{
    a_full_peer_stops_no_other, a_stream_of_mixed_sizes_arrives_once, arrivals_of_one_peer_are_its_own,
    back_pressure_is_temporary, every_size_arrives, headers_of_every_length_arrive, limits_are_consistent,
    many_senders_are_all_served, many_senders_are_served_fairly,
};
pub use one_sided::{
    any_number_of_gets_may_be_asked_for, cookies_and_events_match, every_size_and_offset_is_fetched,
    every_size_and_offset_is_stored, runs_of_every_size_are_fetched, what_was_not_exposed_is_refused,
};
pub use pattern::{fill, verify};
pub use remote::{
    atomics_change_words, atomics_of_all_add_up, atomics_on_a_word_keep_their_order,
    registered_memory_is_read_and_written_anywhere, registered_memory_serves_all_peers,
    what_was_not_registered_is_refused,
};
pub use waiting::{
    a_blocked_sender_sleeps, a_get_in_the_last_poll_is_answered, a_message_after_arm_wakes,
    a_sleeping_pair_talks, arm_notices_what_is_there, congestion_is_seen_by_peers,
    room_before_a_sleep_is_not_missed, room_ends_a_sleep, sleeping_ranks_talk_to_all,
};
pub use world::Endpoints;

/// Declares one test per promise on the world that `$make` (a `fn() -> Endpoints<_>`) makes.
#[macro_export]
macro_rules! suite {
    ($make:path) => {
        $crate::suite!(@ $make:
            limits_are_consistent
            every_size_arrives
            headers_of_every_length_arrive
            a_stream_of_mixed_sizes_arrives_once
            back_pressure_is_temporary
            many_senders_are_served_fairly
            arrivals_of_one_peer_are_its_own
            a_full_peer_stops_no_other
            every_size_and_offset_is_fetched
            every_size_and_offset_is_stored
            runs_of_every_size_are_fetched
            what_was_not_exposed_is_refused
            cookies_and_events_match
            any_number_of_gets_may_be_asked_for
            registered_memory_is_read_and_written_anywhere
            registered_memory_serves_all_peers
            atomics_change_words
            atomics_of_all_add_up
            atomics_on_a_word_keep_their_order
            what_was_not_registered_is_refused
            congestion_is_seen_by_peers
            arm_notices_what_is_there
            a_message_after_arm_wakes
            a_sleeping_pair_talks
            sleeping_ranks_talk_to_all
            room_ends_a_sleep
            room_before_a_sleep_is_not_missed
            a_blocked_sender_sleeps
            a_get_in_the_last_poll_is_answered
            active_messages_are_ordered_and_answered
            active_messages_are_bounded
            active_messages_end_a_sleep
            answers_wait_for_their_own_peer
            who_says_goodbye_has_sent_all
            who_comes_back_has_not_left
            who_comes_back_learns_who_is_back
            an_end_without_a_word_is_noticed
            an_awaited_end_is_noticed
            a_sleeper_notices_an_end
        );
    };
    (@ $make:path: $($check:ident)*) => {
        $(
            #[test]
            fn $check() {
                $crate::$check($make());
            }
        )*
    };
}
