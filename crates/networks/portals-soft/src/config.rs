//! What can be set about a NIC.

use crate::FaultPlan;
use portals::Limits;

/// What walks the match lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The host, in interrupts: entries, descriptors and events lie in its memory.
    #[default]
    Interrupt,
    /// The NIC's processor: they lie in its scratch memory ([`SCRATCH`] bytes), and how far nodes are is not known.
    Accelerated,
}

/// Scratch memory of a SeaStar, in bytes.
pub const SCRATCH: usize = 384 << 10;

/// Bytes of NIC memory that one match entry takes. Assumed: source, bits, list and descriptor links.
pub(crate) const ENTRY_BYTES: usize = 48;
/// Bytes of NIC memory that one memory descriptor takes. Assumed: its fields, offset and counts.
pub(crate) const DESCRIPTOR_BYTES: usize = 80;
/// Bytes of NIC memory that one event of a queue takes. Assumed: its fields with the copy of the descriptor.
pub(crate) const EVENT_BYTES: usize = 128;

/// What a NIC gives a process that wishes for no less: assumed, but for the indices, whose highest in use on an XT was 34.
pub const XT_LIMITS: Limits = Limits {
    max_mes: 1 << 16,
    max_mds: 1 << 16,
    max_eqs: 1 << 16,
    max_ac_index: 15,
    max_pt_index: 63,
    max_md_iovecs: 1024,
    max_me_list: 1 << 16,
    max_getput_md: 64,
};

/// Settings of one NIC.
#[derive(Clone, PartialEq, Debug)]
pub struct NicConfig {
    /// What walks the match lists.
    pub mode: Mode,
    /// What the NIC has.
    pub limits: Limits,
    /// Operations that may wait for the network at a time.
    pub operations: u32,
    /// Faults to inject.
    pub faults: FaultPlan,
}

impl Default for NicConfig {
    fn default() -> NicConfig {
        NicConfig {
            mode: Mode::default(),
            limits: XT_LIMITS,
            operations: 1 << 16,
            faults: FaultPlan::default(),
        }
    }
}
