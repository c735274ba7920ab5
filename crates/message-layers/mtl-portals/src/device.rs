//! Ways of using the NIC: what differs between the message layers that matched in it.

use crate::params::{LongMessages, MpichDevice, MpichParams, MtlPortalsParams};

/// One of the message layers that matched in a Portals NIC; see the crate's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    /// For people.
    pub name: &'static str,
    /// Longest message, in bytes, that is kept at the receiver if it comes before its receive.
    pub eager_limit: usize,
    /// Buffers that short messages leave from; 0: they leave from the user's memory.
    pub copy_blocks: usize,
    /// Length of each in bytes: longest message that is copied.
    pub copy_block_len: usize,
    /// Where messages are kept that come before their receive.
    pub kept: Kept,
    /// How a message longer than that travels.
    pub long: Long,
    /// What stands behind the posted receives.
    pub list: List,
    /// How a receive gets into the list.
    pub post: Post,
    /// Whether each operation has an event queue of its own.
    pub queue_each: bool,
    /// Events of the queue for sends and receives; with queues of their own: of the copies.
    pub expected_events: u32,
    /// Events of the queue for messages that come before their receive.
    pub unexpected_events: u32,
    /// Whether running out of something ends the process, whatever its error handler is.
    pub strict: bool,
    /// The parameters that give more of what has run out.
    pub parameters: Parameters,
}

/// Where messages are kept that come before their receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// In blocks that messages of any sender fill one after the other.
    Blocks {
        /// Number of blocks.
        count: usize,
        /// Length of each in bytes.
        bytes: usize,
    },
    /// In buffers of the eager limit, a message in each.
    Buffers {
        /// Number of buffers.
        count: usize,
    },
}

/// How a long message travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Long {
    /// All of it at once. Without a receive it is thrown away and fetched later.
    Eager,
    /// A header alone; the receiver fetches the rest. Source and length share the header's word, so no data travels
    /// beside the match bits.
    Rendezvous,
}

/// What stands behind the posted receives, before the entry that catches all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum List {
    /// The entry for long messages, then memory for short ones, as Open MPI had it.
    LongFirst,
    /// A marker that nothing matches, memory for short messages, the entry for long ones, as in the devices of MPICH.
    Marker,
}

/// How a receive gets into the list unless a message has come meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Post {
    /// Entry and descriptor in one step, `PtlMEMDPost`.
    AtOnce,
    /// An entry with a descriptor that accepts nothing, which `PtlMDUpdate` then arms.
    Armed,
}

/// The parameters that give more of something, by their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// How all of them begin.
    pub prefix: &'static str,
    /// Of events of sends and receives.
    pub expected: &'static str,
    /// Of events of messages without a receive.
    pub unexpected: &'static str,
    /// Of memory for those.
    pub memory: &'static str,
}

const OPEN_MPI: Parameters = Parameters {
    prefix: "mtl_portals_",
    expected: "mtl_portals_expected_queue_size",
    unexpected: "mtl_portals_unexpected_queue_size",
    memory: "mtl_portals_short_recv_mds_size",
};

const MPICH: Parameters = Parameters {
    prefix: "mpich_",
    expected: "mpich_other_events",
    unexpected: "mpich_unexpected_events",
    memory: "mpich_unexpected_buffers",
};

impl Device {
    /// Open MPI's matching, as parameters have it.
    pub fn open_mpi(params: &MtlPortalsParams) -> Device {
        Device {
            name: "matching over Portals",
            eager_limit: params.eager_limit.max(params.copy_block_len),
            copy_blocks: params.num_copy_blocks as usize,
            copy_block_len: params.copy_block_len,
            kept: Kept::Blocks {
                count: params.short_recv_mds_num as usize,
                bytes: params.short_recv_mds_size,
            },
            long: if params.use_rendezvous { Long::Rendezvous } else { Long::Eager },
            list: List::LongFirst,
            post: Post::AtOnce,
            queue_each: false,
            expected_events: params.expected_queue_size as u32,
            unexpected_events: params.unexpected_queue_size as u32,
            strict: params.strict,
            parameters: OPEN_MPI,
        }
    }

    /// A device of MPICH, as parameters have it; those that are 0 are the device's own.
    pub fn mpich(params: &MpichParams) -> Device {
        let own = match params.device {
            MpichDevice::One => Device::MPICH_1_2_6,
            MpichDevice::Two => Device::MPICH2_0_97,
            MpichDevice::Xt => Device::CRAY_1_5,
        };
        let or = |given: usize, own: usize| if given == 0 { own } else { given };
        let copies = own.copy_blocks > 0 && params.very_short;
        let copy_block_len = if copies { params.very_short_limit } else { 0 };
        let buffers = params.unexpected_buffers as usize;
        let (kept, events) = match own.kept {
            Kept::Blocks { count, bytes } => (
                Kept::Blocks { count, bytes: or(params.unexpected_size / count, bytes) },
                own.unexpected_events,
            ),
            // Each message has two events, as the devices counted.
            Kept::Buffers { count } => {
                let count = or(buffers, count);
                (Kept::Buffers { count }, 2 * count as u32)
            }
        };
        Device {
            eager_limit: or(params.short_limit, own.eager_limit).max(copy_block_len),
            copy_blocks: if copies { own.copy_blocks } else { 0 },
            copy_block_len,
            kept,
            long: match params.long_messages {
                LongMessages::Device => own.long,
                LongMessages::Eager => Long::Eager,
                LongMessages::Rendezvous => Long::Rendezvous,
            },
            expected_events: or(params.other_events as usize, own.expected_events as usize) as u32,
            unexpected_events: or(params.unexpected_events as usize, events as usize) as u32,
            strict: params.strict,
            ..own
        }
    }

    /// MPICH-1.2.6 as it was ported from Cplant to Red Storm: copies of very short messages, a queue for each operation.
    pub const MPICH_1_2_6: Device = Device {
        name: "MPICH-1.2.6 over Portals",
        eager_limit: 128 << 10,
        copy_blocks: 256,
        copy_block_len: 8 << 10,
        kept: Kept::Buffers { count: 1024 },
        long: Long::Eager,
        list: List::Marker,
        post: Post::Armed,
        queue_each: true,
        expected_events: 1024,
        unexpected_events: 2048,
        strict: false,
        parameters: MPICH,
    };

    /// Cray's MPICH2-0.97 of Red Storm: two queues in all.
    pub const MPICH2_0_97: Device = Device {
        name: "MPICH2-0.97 over Portals",
        copy_blocks: 0,
        copy_block_len: 0,
        queue_each: false,
        expected_events: 8192,
        ..Device::MPICH_1_2_6
    };

    /// Cray's MPT 1.5 of the XT4: three blocks, long messages by rendezvous.
    pub const CRAY_1_5: Device = Device {
        name: "Cray MPT 1.5 over Portals",
        eager_limit: 128_000,
        kept: Kept::Blocks { count: 3, bytes: 20 << 20 },
        long: Long::Rendezvous,
        post: Post::AtOnce,
        unexpected_events: 90_000,
        parameters: Parameters { memory: "mpich_unexpected_size", ..MPICH },
        ..Device::MPICH2_0_97
    };
}

#[cfg(test)]
mod tests {
    use super::{Device, Kept, Long};
    use crate::params::{LongMessages, MpichDevice, MpichParams};

    #[test]
    fn parameters_that_are_not_given_are_the_devices() {
        for (device, own) in [
            (MpichDevice::One, Device::MPICH_1_2_6),
            (MpichDevice::Two, Device::MPICH2_0_97),
            (MpichDevice::Xt, Device::CRAY_1_5),
        ] {
            assert_eq!(Device::mpich(&MpichParams { device, ..MpichParams::default() }), own);
        }
    }

    #[test]
    fn parameters_change_what_they_name() {
        let params = MpichParams {
            very_short: false,
            unexpected_buffers: 16,
            long_messages: LongMessages::Rendezvous,
            ..MpichParams::default()
        };
        let device = Device::mpich(&params);
        assert_eq!((device.copy_blocks, device.copy_block_len), (0, 0));
        assert_eq!((device.kept, device.unexpected_events), (Kept::Buffers { count: 16 }, 32));
        assert_eq!(device.long, Long::Rendezvous);
    }
}
