//! The systems that the papers compare: which message layer, and what its own code costs.

use crate::seastar::stack::{Mpi, Stack};
use btl_portals::{BtlPortalsParams, Portals as OverPortals};
use mtl_portals::{Device, Long, MtlPortalsParams, PortalsMtl};
use mtl_shmem::{MtlShmemParams, ShmemMtl};
use pml_cm::Cm;
use pml_ob1::{Config, Ob1};
use portals::{ProcessId, SetupError};
use portals_timed::TimedNic;

/// A message layer over Portals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum System {
    /// Open MPI, matching in the NIC.
    Cm,
    /// Open MPI, matching in the library.
    Ob1,
    /// Cray MPT 1.5 of the XT4.
    Cray,
    /// MPICH-1.2.6.
    Mpich1 {
        /// Very short messages are copied.
        very_short: bool,
        /// A header goes before a long message.
        rendezvous: bool,
    },
    /// MPICH2-0.97.
    Mpich2,
    /// MPICH-1.2.6 over SHMEM.
    Shmem,
}

/// What a layer's own code costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Software {
    /// A send, in nanoseconds.
    pub send: f64,
    /// A receive, in nanoseconds.
    pub recv: f64,
    /// Rate of copies in bytes per nanosecond.
    pub copy_rate: f64,
}

impl Software {
    /// Rate of copies: assumed, one core of an Opteron out of its caches.
    pub const COPY_RATE: f64 = 2.0;
    /// No time but that of copies.
    pub const NONE: Software = Software { send: 0.0, recv: 0.0, copy_rate: Software::COPY_RATE };
    /// ob1: 170 and 530 instructions (callgrind), taken as 2 per cycle of a 2.4 GHz Opteron.
    pub const OB1: Software = Software { send: 35.0, recv: 110.0, ..Software::NONE };
    /// cm: assumed to be half of that, since it matches nothing.
    pub const CM: Software = Software { send: 20.0, recv: 50.0, ..Software::NONE };

    /// Costs of `total` nanoseconds for a message, half of it on each side.
    pub const fn halves(total: f64) -> Software {
        Software { send: total / 2.0, recv: total / 2.0, ..Software::NONE }
    }
}

/// Eager limit of both layers of Open MPI on the XT4, as the paper has it.
const OPEN_MPI_EAGER: usize = 32 << 10;
const COPIED: usize = 8 << 10;

impl System {
    /// MPICH-1.2.6 as it was.
    pub const MPICH1: System = System::Mpich1 { very_short: true, rendezvous: false };

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            System::Cm => "CM",
            System::Ob1 => "OB1",
            System::Cray => "Cray-MPI",
            System::Mpich1 { very_short: true, rendezvous: false } => "MPICH-1.2.6",
            System::Mpich1 { very_short: false, rendezvous: false } => "1.2.6 without very short",
            System::Mpich1 { rendezvous: true, .. } => "1.2.6 with rendezvous",
            System::Mpich2 => "MPICH2-0.97",
            System::Shmem => "1.2.6 over SHMEM",
        }
    }

    /// The device, where the NIC matches, with the original's memory for early messages. What is not used of that takes no
    /// memory of this machine.
    fn device(self) -> Option<Device> {
        match self {
            System::Cm => {
                let params = MtlPortalsParams { eager_limit: OPEN_MPI_EAGER, ..MtlPortalsParams::default() };
                Some(Device::open_mpi(&params))
            }
            System::Cray => Some(Device::CRAY_1_5),
            System::Mpich1 { very_short, rendezvous } => Some(Device {
                copy_blocks: if very_short { Device::MPICH_1_2_6.copy_blocks } else { 0 },
                copy_block_len: if very_short { Device::MPICH_1_2_6.copy_block_len } else { 0 },
                long: if rendezvous { Long::Rendezvous } else { Long::Eager },
                ..Device::MPICH_1_2_6
            }),
            System::Mpich2 => Some(Device::MPICH2_0_97),
            System::Ob1 | System::Shmem => None,
        }
    }

    /// The message layer of rank `me` on its NIC.
    ///
    /// # Errors
    /// [`SetupError`].
    pub(crate) fn make(self, nic: TimedNic, ids: &[ProcessId], me: u32) -> Result<Box<dyn Mpi>, SetupError> {
        let frames = || btl_mock::Net::new(btl_mock::Options::new(1)).port(0);
        // The bits of each of these networks are enough for a layout of cm.
        let narrow = |_| SetupError {
            what: "cm over Portals",
            parameters: "mtl_",
            step: "laying out match bits",
            error: portals::Error::Fail,
        };
        Ok(match (self, self.device()) {
            (_, Some(device)) => {
                let layer = Cm::new(PortalsMtl::new(nic, ids.to_vec(), &device)?).map_err(narrow)?;
                Box::new(Stack { layer, btl: frames(), me, nic: in_portals })
            }
            (System::Shmem, None) => {
                let network = ShmemMtl::new(nic, ids.to_vec(), &MtlShmemParams::default())?;
                let layer = Cm::new(network).map_err(narrow)?;
                Box::new(Stack { layer, btl: frames(), me, nic: in_shmem })
            }
            (_, None) => {
                let params = BtlPortalsParams { free_list_max: 64, ..BtlPortalsParams::default() };
                let layer = Ob1::new(Config { places: 0, ..Config::new(ids.len() as u32) });
                let btl = OverPortals::new(nic, ids.to_vec(), &params)?;
                Box::new(Stack { layer, btl, me, nic: in_transport })
            }
        })
    }

    /// Longest message that its sender copies.
    const fn copied_out(self) -> usize {
        match self {
            System::Cm | System::Mpich1 { very_short: true, .. } => COPIED,
            System::Ob1 => OPEN_MPI_EAGER,
            System::Shmem => 1 << 10,
            System::Cray | System::Mpich1 { very_short: false, .. } | System::Mpich2 => 0,
        }
    }

    /// Longest message that its receiver copies: one that came before its receive, or any.
    const fn copied_in(self, early: bool) -> usize {
        match (self, early) {
            (System::Ob1, _) => OPEN_MPI_EAGER,
            (System::Shmem, _) => 1 << 10,
            (System::Cm, true) => OPEN_MPI_EAGER,
            (System::Cray, true) => Device::CRAY_1_5.eager_limit,
            (System::Mpich1 { .. } | System::Mpich2, true) => Device::MPICH_1_2_6.eager_limit,
            (_, false) => 0,
        }
    }

    /// Nanoseconds of copies for a send.
    pub(crate) fn copying_out(self, bytes: usize, software: &Software) -> f64 {
        if bytes <= self.copied_out() { bytes as f64 / software.copy_rate } else { 0.0 }
    }

    /// Nanoseconds of copies for a receive.
    pub(crate) fn copying_in(self, bytes: usize, early: bool, software: &Software) -> f64 {
        if bytes <= self.copied_in(early) { bytes as f64 / software.copy_rate } else { 0.0 }
    }
}

fn in_portals<'a>(layer: &'a mut Cm<PortalsMtl<TimedNic>>, _: &'a mut btl_mock::Port) -> &'a mut TimedNic {
    layer.network_mut().nic_mut()
}

fn in_shmem<'a>(layer: &'a mut Cm<ShmemMtl<TimedNic>>, _: &'a mut btl_mock::Port) -> &'a mut TimedNic {
    layer.network_mut().nic_mut()
}

fn in_transport<'a>(_: &'a mut Ob1, btl: &'a mut OverPortals<TimedNic>) -> &'a mut TimedNic {
    btl.nic_mut()
}
