//! What the provider is to be like on this thread.

use std::cell::Cell;

use ofi::abi::{flag, mode, mr};

/// What the provider asks and offers.
#[derive(Clone, Copy, Debug)]
pub struct Modes {
    /// As in [`ofi::abi::mr`].
    pub mr_mode: i32,
    /// As in [`ofi::abi::mode`].
    pub mode: u64,
    /// Bytes of data that completions carry.
    pub data_bytes: usize,
    /// Bits of a tag that are the user's, from the lowest.
    pub tag_format: u64,
    /// Longest payload that is injected.
    pub inject: usize,
    /// Every so many calls one is refused; 0: none.
    pub again: u32,
    /// What else can be had, as in [`ofi::abi::flag`]: capabilities, and flags of operations.
    pub caps: u64,
    /// Longest message.
    pub max_message: usize,
    /// Sends and transfers, and receives, that may be under way.
    pub depth: (usize, usize),
    /// Runs of memory that a receive of a tagged message may name. Where there are two, no message may be longer than both.
    pub runs: usize,
    /// Bytes of a key that the user chooses.
    pub key_bytes: usize,
    /// Whether completion queues have a descriptor.
    pub sleeps: bool,
}

impl Modes {
    /// As libfabric's providers in software: nothing is asked.
    pub const SOFTWARE: Modes = Modes {
        mr_mode: 0,
        mode: 0,
        data_bytes: 8,
        tag_format: 0xaaaa_aaaa_aaaa_aaaa,
        inject: 64,
        again: 0,
        caps: ALL,
        max_message: 1 << 30,
        depth: (256, 256),
        runs: 4,
        key_bytes: 8,
        sleeps: false,
    };

    /// As adapters do: everything is asked.
    pub const ADAPTER: Modes = Modes {
        mr_mode: mr::LOCAL | mr::VIRT_ADDR | mr::ALLOCATED | mr::PROV_KEY | mr::ENDPOINT,
        mode: mode::CONTEXT | mode::CONTEXT2,
        data_bytes: 4,
        again: 7,
        runs: 1,
        ..Modes::SOFTWARE
    };
}

/// All that the user of this crate asks for.
const ALL: u64 = flag::MSG
    | flag::RMA
    | flag::TAGGED
    | flag::READ
    | flag::WRITE
    | flag::RECV
    | flag::SEND
    | flag::REMOTE_READ
    | flag::REMOTE_WRITE
    | flag::LOCAL_COMM
    | flag::REMOTE_COMM
    | flag::SOURCE
    | flag::DIRECTED_RECV
    | flag::DELIVERY_COMPLETE;

thread_local! {
    static MODES: Cell<Modes> = const { Cell::new(Modes::SOFTWARE) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// The provider of this thread works by `modes` from now on.
pub(crate) fn set(modes: Modes) {
    MODES.set(modes);
}

pub(crate) fn modes() -> Modes {
    MODES.get()
}

/// Whether this call is refused.
pub(crate) fn refuses() -> bool {
    let calls = CALLS.get().wrapping_add(1);
    CALLS.set(calls);
    let again = modes().again;
    again != 0 && calls.is_multiple_of(again)
}
