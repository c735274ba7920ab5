//! The two machines, their costs, and which of them are fitted to what.
//!
//! | fitted | to | with |
//! |---|---|---|
//! | Red Storm's wire | 5.23 µs, Portals, 0 bytes | no software |
//! | code of MPICH-1.2.6 | 5.64 µs, 0 bytes | the wire above |
//! | code of MPICH2-0.97 | 8.12 µs | the same |
//! | the XT4's wire | 4.78 µs, Cray-MPI, 0 bytes | no time for its code, which is not known |
//! | code of CM | 4.91 µs, 0 bytes | the wire above |
//!
//! All else is predicted: OB1's 6.16 µs, 6.25 µs of 1.2.6 without very short messages, 11.74 µs over SHMEM (whose code
//! takes no time here: the three interrupts of its two puts are enough), every bandwidth, every step.

use crate::error::Error;
use crate::seastar::experiments::{latency, raw_latency};
use crate::seastar::machine::Machine;
use crate::seastar::programs::Mode;
use crate::seastar::system::{Software, System};
use portals_timed::Mesh;

/// What a port of the XT4 injects or takes, in bytes per nanosecond: Brightwell, Underwood and Vaughan measured 2.0 on
/// SeaStar 2.1 where SeaStar 1.2 had 1.1 (*Performance Impact of the Red Storm Upgrade*).
const SEASTAR_2: f64 = 2.0;

/// Half round trips of 0 bytes in nanoseconds, as the papers have them.
pub mod paper {
    /// Red Storm, Portals.
    pub const PORTALS: f64 = 5230.0;
    /// Red Storm, MPICH-1.2.6.
    pub const MPICH1: f64 = 5640.0;
    /// Red Storm, the same without the path of very short messages.
    pub const MPICH1_PLAIN: f64 = 6250.0;
    /// Red Storm, MPICH2-0.97.
    pub const MPICH2: f64 = 8120.0;
    /// Red Storm, MPICH-1.2.6 over SHMEM.
    pub const SHMEM: f64 = 11_740.0;
    /// XT4, Open MPI's CM.
    pub const CM: f64 = 4910.0;
    /// XT4, Open MPI's OB1.
    pub const OB1: f64 = 6160.0;
    /// XT4, Cray-MPI.
    pub const CRAY: f64 = 4780.0;
}

impl Machine {
    /// Red Storm, fitted.
    ///
    /// # Errors
    /// What a simulation reports.
    pub fn red_storm() -> Result<Machine, Error> {
        let mut machine = Machine::sourced("Red Storm", Mesh::RED_STORM);
        machine.costs.wire += paper::PORTALS - raw_latency(&machine, 0)?;
        machine.fit(System::MPICH1, paper::MPICH1)?;
        let of_mpich1 = machine.software(System::MPICH1);
        for (very_short, rendezvous) in [(false, false), (true, true), (false, true)] {
            machine.software.push((System::Mpich1 { very_short, rendezvous }, of_mpich1));
        }
        machine.fit(System::Mpich2, paper::MPICH2)?;
        Ok(machine)
    }

    /// The XT4, fitted: SeaStar 2, and nodes of two cores with a rank on each.
    ///
    /// # Errors
    /// What a simulation reports.
    pub fn xt4() -> Result<Machine, Error> {
        let mut machine = Machine { cores: 2, ..Machine::sourced("XT4", Mesh::XT4) };
        machine.costs.port_rate = SEASTAR_2;
        machine.costs.wire += paper::CRAY - latency(&machine, System::Cray, 0, Mode::Posted)?;
        machine.software.retain(|(system, _)| *system != System::Cm);
        machine.fit(System::Cm, paper::CM)?;
        Ok(machine)
    }

    /// Gives a layer's code the time that is missing to a half round trip of 0 bytes; none where nothing is missing.
    fn fit(&mut self, system: System, goal: f64) -> Result<(), Error> {
        let missing = goal - latency(self, system, 0, Mode::Posted)?;
        self.software.push((system, Software::halves(missing.max(0.0))));
        Ok(())
    }
}
