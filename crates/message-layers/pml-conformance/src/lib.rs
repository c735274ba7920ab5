//! The suite that every message layer passes: the promises of the `pml` crate, as tests.
//!
//! A layer's tests make a [`Processes`] of connected processes and name the function that does so to [`suite!`], which
//! yields one test per promise. Each check makes several of them, of different seeds. All processes run by turns in one thread,
//! which nothing forbids, since no call blocks. The transport below may refuse, reorder and delay as its contract allows;
//! it does not lose messages.
#![deny(unsafe_code)]

mod cancel;
mod fast;
pub mod mock;
mod modes;
mod order;
mod probe;
mod strided;
mod traffic;
mod world;

pub use cancel::{
    a_cancelled_receive_leaves_its_message_to_the_next, a_lost_peer_ends_what_depends_on_it,
    a_send_is_cancelled_or_received, an_unmatched_send_is_cancelled,
};
pub use fast::{fast_paths_keep_the_order, refused_fast_paths_do_nothing};
pub use modes::{
    a_longer_message_is_truncated, empty_messages_carry_their_envelope, standard_sends_need_no_receive,
    synchronous_sends_complete_after_the_match,
};
pub use order::{
    any_source_takes_the_messages_of_a_pair_in_order, any_tag_takes_tags_in_order,
    classes_of_sources_do_not_mix, contexts_do_not_mix, messages_of_a_pair_match_in_order,
    receives_match_in_the_order_of_posting, receives_without_a_message_are_known,
};
pub use probe::{
    a_matched_probe_takes_the_message_out, notices_tell_of_messages_without_receive,
    probe_shows_what_the_receive_gets, what_is_sought_is_counted,
};
pub use strided::Strided;
pub use traffic::{
    detached_operations_take_place, layouts_may_differ, many_messages_are_outstanding, names_go_stale,
};
pub use world::Processes;

/// Declares one test per promise on the worlds that `$make` makes: a `fn(ranks: u32, seed: u64) -> Processes<_, _>`.
#[macro_export]
macro_rules! suite {
    ($make:path) => {
        $crate::suite!(@ $make:
            messages_of_a_pair_match_in_order
            contexts_do_not_mix
            classes_of_sources_do_not_mix
            any_source_takes_the_messages_of_a_pair_in_order
            any_tag_takes_tags_in_order
            receives_match_in_the_order_of_posting
            receives_without_a_message_are_known
            probe_shows_what_the_receive_gets
            what_is_sought_is_counted
            a_matched_probe_takes_the_message_out
            notices_tell_of_messages_without_receive
            a_cancelled_receive_leaves_its_message_to_the_next
            an_unmatched_send_is_cancelled
            a_send_is_cancelled_or_received
            a_lost_peer_ends_what_depends_on_it
            standard_sends_need_no_receive
            synchronous_sends_complete_after_the_match
            a_longer_message_is_truncated
            empty_messages_carry_their_envelope
            many_messages_are_outstanding
            layouts_may_differ
            detached_operations_take_place
            names_go_stale
            fast_paths_keep_the_order
            refused_fast_paths_do_nothing
        );
    };
    (@ $make:path: $($check:ident)*) => {
        $(
            #[test]
            fn $check() {
                $crate::$check($make);
            }
        )*
    };
}

/// Worlds that each check is run on.
const SEEDS: u64 = 5;

/// Lengths around everything that a layer may decide by: nothing, one short frame, an eager frame, an offer in one piece
/// and in several.
const LENGTHS: [usize; 9] = [0, 8, btl::SHORT, btl::SHORT + 1, 1000, 4096, 4097, 40_000, 100_001];
