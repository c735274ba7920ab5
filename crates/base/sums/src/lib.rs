//! Checksums of messages from end to end (`mpi_checksum`): what a message layer, or a transport over transports, sums, compares
//! and reports.
//!
//! All sums are CRC-32C. Memory is summed in pieces of [`PIECE`] bytes, so that a report names the first piece that is wrong. The sum
//! of an envelope begins with its sender, its receiver and its job ([`Names`]): what was brought to the wrong process is damaged, too.
#![deny(unsafe_code)]

mod damage;
mod faults;
mod params;
mod pieces;

pub use damage::{Damage, Half, Place, host};
pub use faults::{FaultPlan, Faults, damage_bit};
pub use params::{Checksum, SumParams};
pub use pieces::{PIECE, of_bytes, of_runs, of_words};

/// Whose message it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Names {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Their job.
    pub job: u64,
}

impl Names {
    /// What sums of the envelopes of their messages begin with.
    pub fn seed(&self) -> u32 {
        of_words(0, &[u64::from(self.from) << 32 | u64::from(self.to), self.job])
    }
}
