//! Post descriptors: one FMA, atomic or block-transfer operation.

use crate::{Cq, HwStatus, MemHandle};
use core::ops::BitOr;
use mem::UserMem;

/// What a post does (`gni_post_type_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PostKind {
    /// Block transfer to the peer (1). Both sides registered; any alignment.
    RdmaPut,
    /// Block transfer from the peer (2). Both sides registered and 4-byte aligned, the length too.
    RdmaGet,
    /// The CPU stores the data into a window (3). The local side needs no registration; length 0 is legal.
    FmaPut,
    /// As `FmaPut`, then `flag` is stored at the 8-byte aligned `flag_addr` of the same handle, ordered after
    /// the data (4).
    FmaPutFlag {
        /// Where the flag goes.
        flag_addr: u64,
        /// What is stored.
        flag: u64,
    },
    /// The CPU loads through a window (5); alignment as `RdmaGet`, length 0 is illegal.
    FmaGet,
    /// An atomic on one 64-bit word of the peer (6). A fetching one stores the old value in `local`.
    Amo {
        /// The operation.
        command: Amo,
        /// First operand.
        first: u64,
        /// Second operand, for the operations that have one.
        second: u64,
    },
    /// An entry with the six low bytes of `value` in the completion queue of the remote handle, no data (7).
    CqWrite {
        /// The entry's data.
        value: u64,
    },
    /// The collective engine (8): not on Gemini.
    Collective,
}

/// Atomic operations on memory (`gni_fma_cmd_type_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amo {
    /// `word += first`.
    Add,
    /// `word &= first`.
    And,
    /// `word |= first`.
    Or,
    /// `word ^= first`.
    Xor,
    /// `word = (word & first) ^ second`; 16-byte aligned.
    AndXor,
    /// As `Add`, returning the old word.
    FetchAdd,
    /// As `And`, returning the old word.
    FetchAnd,
    /// As `Or`, returning the old word.
    FetchOr,
    /// As `Xor`, returning the old word.
    FetchXor,
    /// As `AndXor`, returning the old word.
    FetchAndXor,
    /// `if word == first { word = second }`, returning the old word.
    CompareSwap,
    /// Unconditional swap: the next generation's, illegal on Gemini.
    Swap,
    /// Signed minimum: illegal on Gemini.
    Min,
    /// Signed maximum: illegal on Gemini.
    Max,
    /// 32-bit addition: illegal on Gemini.
    Add32,
    /// Floating-point addition: illegal on Gemini.
    FloatAdd,
}

impl Amo {
    /// Whether the Gemini NIC has it.
    pub const fn on_gemini(self) -> bool {
        !matches!(self, Amo::Swap | Amo::Min | Amo::Max | Amo::Add32 | Amo::FloatAdd)
    }

    /// Whether the old value comes back.
    pub const fn fetches(self) -> bool {
        matches!(
            self,
            Amo::FetchAdd
                | Amo::FetchAnd
                | Amo::FetchOr
                | Amo::FetchXor
                | Amo::FetchAndXor
                | Amo::CompareSwap
                | Amo::Swap
        )
    }

    /// Whether the operand must be aligned to 16 bytes instead of 8.
    pub const fn is_pair(self) -> bool {
        matches!(self, Amo::AndXor | Amo::FetchAndXor)
    }

    /// What the word becomes.
    pub const fn apply(self, word: u64, first: u64, second: u64) -> u64 {
        match self {
            Amo::Add | Amo::FetchAdd => word.wrapping_add(first),
            Amo::And | Amo::FetchAnd => word & first,
            Amo::Or | Amo::FetchOr => word | first,
            Amo::Xor | Amo::FetchXor => word ^ first,
            Amo::AndXor | Amo::FetchAndXor => word & first ^ second,
            Amo::CompareSwap => {
                if word == first {
                    second
                } else {
                    word
                }
            }
            Amo::Swap | Amo::Min | Amo::Max | Amo::Add32 | Amo::FloatAdd => word,
        }
    }
}

/// Which events a post asks for (`gni_cq_mode_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CqMode(pub u8);

impl CqMode {
    /// None; the descriptor is not returned.
    pub const SILENT: CqMode = CqMode(0);
    /// When the source buffer may be reused (PUT) or the data is in place (GET, fetching atomic).
    pub const LOCAL: CqMode = CqMode(1);
    /// When the data is visible at the target.
    pub const GLOBAL: CqMode = CqMode(2);
    /// An entry in the queue attached to the remote memory handle.
    pub const REMOTE: CqMode = CqMode(4);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: CqMode) -> bool {
        self.0 & other.0 == other.0
    }

    /// Entries in the poster's own queue.
    pub const fn local_events(self) -> u32 {
        (self.0 & 3).count_ones()
    }
}

impl BitOr for CqMode {
    type Output = CqMode;

    fn bitor(self, other: CqMode) -> CqMode {
        CqMode(self.0 | other.0)
    }
}

/// How packets may be routed, and thereby ordered (`gni_dlvr_mode_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delivery(pub u8);

impl Delivery {
    /// Adaptive: two posts may land in either order.
    pub const PERFORMANCE: Delivery = Delivery(0);
    /// No adaptive routing of requests.
    pub const NO_ADAPT: Delivery = Delivery(1);
    /// No hashing of routes.
    pub const NO_HASH: Delivery = Delivery(2);
    /// No adaptive routing of responses.
    pub const NO_RADAPT: Delivery = Delivery(4);
    /// One route: FMA posts to one target land in the order of posting.
    pub const IN_ORDER: Delivery = Delivery(1 | 2);

    /// Whether the route is fixed.
    pub const fn is_ordered(self) -> bool {
        self.0 & Delivery::IN_ORDER.0 == Delivery::IN_ORDER.0
    }
}

/// One operation (`gni_post_descriptor_t`). Plain data; the NIC copies it when it is posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostDescriptor {
    /// The operation.
    pub kind: PostKind,
    /// Which events are wanted.
    pub events: CqMode,
    /// How it may be routed.
    pub delivery: Delivery,
    /// The local buffer; its length is the operation's. An atomic that fetches needs 8 bytes, others none.
    pub local: UserMem,
    /// Its handle; not looked at for an FMA PUT.
    pub local_handle: MemHandle,
    /// Address in the peer's memory.
    pub remote_addr: u64,
    /// That memory's handle.
    pub remote_handle: MemHandle,
    /// Queue for the LOCAL and GLOBAL events of block transfers; other posts use the endpoint's.
    pub src_cq: Option<Cq>,
    /// The caller's word, returned unchanged.
    pub post_id: u64,
    /// The verdict, set when the descriptor comes back.
    pub status: HwStatus,
    /// Which event the entry stood for, set when the descriptor comes back.
    pub completed: CqMode,
}

impl PostDescriptor {
    /// An operation with a LOCAL event in PERFORMANCE delivery; buffers and handles are still empty.
    pub const fn new(kind: PostKind) -> PostDescriptor {
        PostDescriptor {
            kind,
            events: CqMode::LOCAL,
            delivery: Delivery::PERFORMANCE,
            local: UserMem::EMPTY,
            local_handle: MemHandle([0; 2]),
            remote_addr: 0,
            remote_handle: MemHandle([0; 2]),
            src_cq: None,
            post_id: 0,
            status: HwStatus::Ok,
            completed: CqMode::SILENT,
        }
    }
}
