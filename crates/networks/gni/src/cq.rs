//! Completion queues: handles, entries and what they say.

use crate::Error;

/// A completion queue of one NIC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cq(pub u32);

/// What kind of operation an entry is about (`GNI_CQ_EVENT_TYPE_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventType {
    /// An FMA or block-transfer post (0), or data that a peer's post has written.
    Post,
    /// A mailbox message, sent (local queue) or arrived (remote queue), or credits that came back (1).
    Smsg,
    /// Another library's traffic (2); never made here.
    Dmapp,
    /// A shared-queue message (3).
    Msgq,
}

/// The block transfer engine's and the network's verdict on a transaction, after the hardware's status codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum HwStatus {
    /// Delivered.
    Ok = 0,
    /// Data was damaged on the way; sending again may help.
    Uncorrectable = 1,
    /// The descriptor made no sense to the engine.
    InvalidCommand = 2,
    /// An address has no entry in the relocation table.
    Translation = 3,
    /// The virtual memory-domain handle is not valid.
    VmdhInvalid = 4,
    /// The memory descriptor is not valid: the memory is not registered.
    MddInvalid = 5,
    /// Protection tag or access right does not match.
    Protection = 6,
    /// Outside the registered range.
    MemoryBounds = 7,
    /// A sequence was ended by an earlier failure.
    SequenceTerminate = 8,
    /// No answer in time; sending again may help, unless the peer is gone.
    RequestTimeout = 9,
    /// The host interface delivered bad data.
    HostData = 10,
}

impl HwStatus {
    /// Every status, by its code.
    pub const ALL: [HwStatus; 11] = [
        HwStatus::Ok,
        HwStatus::Uncorrectable,
        HwStatus::InvalidCommand,
        HwStatus::Translation,
        HwStatus::VmdhInvalid,
        HwStatus::MddInvalid,
        HwStatus::Protection,
        HwStatus::MemoryBounds,
        HwStatus::SequenceTerminate,
        HwStatus::RequestTimeout,
        HwStatus::HostData,
    ];

    /// Whether posting the same descriptor again may succeed (`CqErrorRecoverable`).
    pub const fn is_recoverable(self) -> bool {
        matches!(self, HwStatus::Uncorrectable | HwStatus::RequestTimeout)
    }

    /// A sentence about it (`CqErrorStr`).
    pub const fn text(self) -> &'static str {
        match self {
            HwStatus::Ok => "delivered",
            HwStatus::Uncorrectable => "uncorrectable data error in the network",
            HwStatus::InvalidCommand => "the engine does not know the command",
            HwStatus::Translation => "no relocation table entry for the address",
            HwStatus::VmdhInvalid => "the virtual memory-domain handle is not valid",
            HwStatus::MddInvalid => "the memory is not registered",
            HwStatus::Protection => "protection tag or access right does not match",
            HwStatus::MemoryBounds => "outside the registered range",
            HwStatus::SequenceTerminate => "ended by an earlier failure of its sequence",
            HwStatus::RequestTimeout => "the peer's NIC did not answer",
            HwStatus::HostData => "bad data from the host interface",
        }
    }
}

/// One entry of a completion queue.
///
/// The first word has the layout of the hardware's 64-bit entry, with the type beside the source:
///
/// ```text
///   63        62 .. 59   58 .. 56   55 .. 54   53 .. 48   47 ............ 0
///   overrun   status     source     type       0          data
/// ```
///
/// A source of zero means "no entry". Data is the endpoint's 32-bit event word, or the six bytes of a CQ write.
/// The second word is known only to entries of local queues: the message's `msg_id`, or which post it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CqEntry {
    word: u64,
    tid: u32,
}

const DATA_MASK: u64 = (1 << 48) - 1;

impl CqEntry {
    /// Makes an entry; `data` is cut to 48 bits.
    pub const fn new(kind: EventType, status: HwStatus, data: u64, tid: u32) -> CqEntry {
        const SOURCE_RMT: u64 = 4;
        let word = (status as u64) << 59 | SOURCE_RMT << 56 | (kind as u64) << 54 | data & DATA_MASK;
        CqEntry { word, tid }
    }

    /// The entry of a raw word as another process may have written it; `None` for "no entry" and for a status
    /// that does not exist.
    pub const fn from_raw(word: u64) -> Option<CqEntry> {
        if word >> 56 & 7 == 0 || (word >> 59 & 0xf) as usize >= HwStatus::ALL.len() {
            return None;
        }
        Some(CqEntry { word, tid: 0 })
    }

    /// The first word.
    pub const fn raw(self) -> u64 {
        self.word
    }

    /// What kind of operation it is about.
    pub const fn kind(self) -> EventType {
        match self.word >> 54 & 3 {
            0 => EventType::Post,
            1 => EventType::Smsg,
            2 => EventType::Dmapp,
            _ => EventType::Msgq,
        }
    }

    /// All 48 data bits: what a peer's CQ write has sent.
    pub const fn data(self) -> u64 {
        self.word & DATA_MASK
    }

    /// The event word: the endpoint's local word in a local queue, the sender's remote word in a remote one.
    pub const fn inst_id(self) -> u32 {
        self.word as u32
    }

    /// The message's `msg_id`; meaningful in local queues, for messages.
    pub const fn msg_id(self) -> u32 {
        self.tid
    }

    /// Which post it was; meaningful in local queues, for [`crate::Gni::get_completed`].
    pub const fn tid(self) -> u32 {
        self.tid
    }

    /// The verdict.
    pub fn status(self) -> HwStatus {
        HwStatus::ALL[(self.word >> 59 & 0xf) as usize]
    }
}

/// Why [`crate::Gni::cq_get_event`] has no ordinary entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CqFault {
    /// The queue is empty (`NOT_DONE`).
    NotDone,
    /// Entries were lost (`ERROR_RESOURCE`). Reported once; what was lost must be found by other means.
    Overrun,
    /// This entry describes a failed transaction (`TRANSACTION_ERROR`).
    Failed(CqEntry),
    /// No such queue (`INVALID_PARAM`).
    InvalidParam,
}

impl CqFault {
    /// The code of the C interface.
    pub const fn error(self) -> Error {
        match self {
            CqFault::NotDone => Error::NotDone,
            CqFault::Overrun => Error::Resource,
            CqFault::Failed(_) => Error::Transaction,
            CqFault::InvalidParam => Error::InvalidParam,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CqEntry, EventType, HwStatus};

    #[test]
    fn fields_survive_the_raw_word() {
        for status in HwStatus::ALL {
            let entry = CqEntry::new(EventType::Smsg, status, 0xffff_1234_5678_9abc, 7);
            let raw = CqEntry::from_raw(entry.raw()).expect("an entry");
            assert_eq!(raw.kind(), EventType::Smsg);
            assert_eq!(raw.status(), status);
            assert_eq!(raw.data(), 0x1234_5678_9abc);
            assert_eq!(raw.inst_id(), 0x5678_9abc);
            assert_eq!((entry.msg_id(), raw.msg_id()), (7, 0));
        }
    }

    #[test]
    fn words_that_are_no_entry_are_refused() {
        assert_eq!(CqEntry::from_raw(0), None);
        assert_eq!(CqEntry::from_raw(15 << 59 | 4 << 56), None);
    }
}
