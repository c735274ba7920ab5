//! Conformance suite for implementations of [`portals::Portals`]: every call, its effects and its refusals.
//!
//! An implementation supplies a [`Rig`] that attaches NICs, and runs the suite with [`suite!`], which makes one test of
//! each case. Cases drive the two NICs in turns from one thread. What an implementation cannot be asked to do (faults, a
//! NIC of another user) its rig answers with `None`, and the case passes without a check.
#![deny(unsafe_code)]

pub mod access;
pub mod data;
pub mod entries;
pub mod faulty;
pub mod matching;
mod oracle;
mod pair;
pub mod queues;
pub mod races;
pub mod random;
pub mod thresholds;

pub use pair::{Pair, Side, buffer, bytes_of};

use portals::{Limits, Portals, Uid};

/// What a case wants of its NICs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Limits of both; `None`: the implementation's own.
    pub limits: Option<Limits>,
    /// Faults of the second NIC (the target of most cases), as `name=value` pairs.
    pub faults_of_target: &'static str,
    /// Faults of the first NIC (the initiator of most cases).
    pub faults_of_initiator: &'static str,
    /// The first NIC's user; 0 is the second's.
    pub uid: Uid,
    /// Match lists are kept in the NIC's own memory.
    pub accelerated: bool,
}

/// Attaches NICs of one implementation.
pub trait Rig {
    /// The implementation.
    type Nic: Portals;

    /// Two NICs of different processes that can reach each other; `None` when the wishes cannot be met.
    fn attach(&mut self, wanted: &Wanted) -> Option<(Self::Nic, Self::Nic)>;
}

/// Makes one test of each case, over `$rig` (an expression that makes the rig).
#[macro_export]
macro_rules! suite {
    ($rig:expr) => {
        $crate::cases!(@tests $rig;
            entries: order_of_insertion, any_index, limits_hold, stale_handles, in_use, unlink_takes_the_descriptor,
                accelerated_memory_runs_out;
            matching: first_fit_wins, ignore_bits, sources, refusal_goes_on, inactive_is_skipped, without_descriptor,
                nothing_fits, truncation, truncation_to_nothing, remote_and_local_offsets, max_size_boundary,
                unlinks_after_its_end;
            thresholds: put, put_with_ack, ack_to_inactive, get, reply_to_inactive, acceptance, infinite, ack_disabled;
            data: sizes, regions, scattered, gets, short_reply, swaps, swap_limits, to_itself, both_ways, counters;
            queues: order_and_links, overrun, silent_descriptors, handlers, use_counts, fields_of_events, polling;
            races: update_is_refused_when_something_came, post_is_refused_when_something_came, arm_a_disarmed_one,
                every_interleaving;
            access: entries_admit, unknown_index, unknown_process;
            faulty: dropped, failed, late_ends, lost_events, no_space;
            random: against_the_oracle;
        );
    };
}

/// Helper of [`suite!`].
#[macro_export]
#[doc(hidden)]
macro_rules! cases {
    (@tests $rig:expr; $($module:ident: $($case:ident),+;)+) => {
        $(mod $module {
            $(#[test]
            fn $case() {
                #[allow(unused_imports)]
                use super::*;
                $crate::$module::$case(&mut $rig);
            })+
        })+
    };
}
