//! Fixed limits of the Gemini hardware, from Cray's public headers for uGNI and kGNI and the Gemini hardware
//! header shipped with the same driver.

/// Alignment in bytes of both addresses and of the length of a GET. A PUT has no such rule.
pub const GET_ALIGN: u64 = 4;
/// Alignment in bytes of an atomic's operand in memory.
pub const AMO_ALIGN: u64 = 8;
/// Alignment in bytes of the operand of the two-operand (AND then XOR) atomics.
pub const AMO_PAIR_ALIGN: u64 = 16;

/// FMA descriptors for user processes, per NIC.
pub const FMA_DESCRIPTORS: u32 = 64;
/// Largest length in bytes of one block transfer.
pub const RDMA_MAX_LENGTH: u64 = u32::MAX as u64;
/// Block transfer engine channels that a user may use; they are taken round-robin.
pub const BTE_CHANNELS: u32 = 3;
/// Transmit descriptors of the block transfer engine.
pub const BTE_DESCRIPTORS: u32 = 1023;

/// Memory descriptors per NIC, shared by all ranks of its node.
pub const MDDS: u32 = 4096;
/// Entries of the memory relocation table per NIC, all of one page size.
pub const MRT_ENTRIES: u32 = 16_384;
/// Page sizes the relocation table can be set to, as powers of two: 128 KiB to 1 GiB.
pub const MRT_PAGE_SHIFTS: [u32; 8] = [17, 19, 21, 23, 24, 26, 28, 30];

/// Largest payload in bytes of a datagram.
pub const DATAGRAM_MAX: usize = 128;
/// Header and data together of one SMSG message, in bytes.
pub const SMSG_MAX: u32 = 65_535;
/// Times the library retransmits a message of type `MBOX_AUTO_RETRANSMIT` unless set otherwise.
pub const SMSG_RETRIES: u16 = 10;
/// Largest MSGQ message in bytes, header included.
pub const MSGQ_MAX: u32 = 128;
/// Ranks of one node that can share a message queue.
pub const MSGQ_INSTANCES: u32 = 48;

/// NICs that one communication domain may attach to.
pub const CDM_NICS: usize = 32;
/// First and last protection tag a user job may have.
pub const USER_PTAGS: core::ops::RangeInclusive<u8> = 3..=253;
/// Cookie keys (the upper half of a cookie) for user jobs.
pub const USER_PKEYS: core::ops::RangeInclusive<u16> = 128..=65_407;
/// A PE address has 18 bits.
pub const PE_BITS: u32 = 18;
