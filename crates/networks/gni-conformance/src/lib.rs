//! Conformance suite for implementations of [`gni::Gni`]: every call, its effects and its refusals.
//!
//! An implementation supplies a [`Rig`] that attaches NICs, and runs the suite with [`suite!`], which makes one
//! test of each case:
//!
//! ```ignore
//! struct MyRig;
//! impl gni_conformance::Rig for MyRig { ... }
//! gni_conformance::suite!(MyRig);
//! ```
//!
//! Cases take the two NICs in turns from one thread. What an implementation cannot be asked to do (faults on
//! demand, small resource limits, foreign jobs) its rig answers with `None`, and the case passes without
//! having looked; hardware answers so. A rig for a real `libugni` would load the library with `dlopen`, wrap
//! its handles in the types of `gni`, and create both NICs with different instance ids under the job's
//! protection tag and cookie; nothing else of the suite would change.
#![forbid(unsafe_code)]

pub mod datagrams;
pub mod faults;
pub mod memory;
pub mod msgq;
mod pair;
pub mod posts;
pub mod queues;
pub mod smsg;

pub use pair::{Pair, SmallMailbox};

use gni::{Gni, Modes, Time};
use mem::UserMem;

/// What a case wants of its NICs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Modes of both communication domains.
    pub modes: Modes,
    /// Faults of the first NIC, as `name=value` pairs; empty for none.
    pub faults: &'static str,
    /// Memory descriptors of each NIC's node; 0: the hardware's number.
    pub mdds: u32,
    /// Relocation table entries of each NIC's node; 0: the hardware's number.
    pub mrt_entries: u32,
    /// Both NICs serve one node.
    pub same_node: bool,
    /// The second NIC belongs to another job.
    pub stranger: bool,
}

/// Attaches NICs of one implementation.
pub trait Rig {
    /// The implementation.
    type Nic: Gni;

    /// Two NICs that can reach each other; `None` when the wishes cannot be met.
    fn attach(&mut self, wanted: &Wanted) -> Option<(Self::Nic, Self::Nic)>;

    /// The time, which goes on by about `step` with each call. Real implementations sleep.
    fn pause(&mut self, step: Time) -> Time;

    /// `bytes` of zeroed memory that stays valid as long as `nic`.
    fn memory(&mut self, nic: &mut Self::Nic, bytes: usize) -> UserMem {
        nic.mem_alloc(bytes).expect("memory for a test")
    }

    /// `bytes` of address space that a registration may cover but no test touches; `None` where that much
    /// cannot be had.
    fn untouched(&mut self, nic: &mut Self::Nic, bytes: usize) -> Option<UserMem>;
}

/// One case: a name and a function that panics when the implementation does not conform.
pub type Case<R> = (&'static str, fn(&mut R));

/// Makes one test of each case, over `$rig` (an expression that makes the rig).
#[macro_export]
macro_rules! suite {
    ($rig:expr) => {
        $crate::cases!(@tests $rig;
            queues: empty_and_unknown, roles_exclude_each_other, used_queues_stay, local_overrun, arrival_overrun;
            memory: refusals, bounds_are_exact, broken_handles, stale_handles, read_only, foreign_job,
                descriptors_run_out, pages_run_out, node_shares_descriptors;
            posts: put_any_alignment, put_from_unregistered, empty_put, get_alignment, get_refusals, events_and_words,
                dual_events, silent, atomics, atomics_refused, cq_write, sync_flag, request_slots, rdma_put_and_get,
                rdma_is_asynchronous, rdma_lengths, rdma_refusals, many_transfers, in_order;
            smsg: sizes, states, attributes_must_agree, messages_in_order, tags, releases, credits, credit_entries,
                both_directions, many_rounds, request_slots_stall, unbind_waits, oversize;
            datagrams: crossing, held, wildcard, wildcard_once, refusals, cancelled, probes, absent_peer;
            msgq: states, messages, credits, sizes;
            faults: lost_messages_arrive_once, lost_answers, retries_end, plain_mailbox_reports, post_fails_and_is_repeated,
                fatal_is_final, overrun_is_marked, early_entries, lost_datagrams, late_completions, overtaking;
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
