//! The parameters of files.

use crate::staging::{Staging, Where};

mca::params! {
    /// Parameters of files.
    pub struct IoParams("io_") {
        /// Where data that is written to files waits until it is there, so that the program goes on at once: off,
        /// memory, or the absolute path of a folder of the host (a burst buffer), in which nothing is left behind.
        /// `MPI_File_sync` and `MPI_File_close` wait for it and report its errors. The hint of that name goes before.
        staging: mca::Text = "off";
        /// Bytes that each process has waiting for each file at most; beyond that, a write waits.
        staging_size: mca::Size = "64M", unit "bytes", range 65536 to 1099511627776;
    }
}

impl IoParams {
    /// What files start with.
    ///
    /// # Errors
    /// What the user reads: the value is none that can be.
    pub fn start(&self) -> Result<Staging, String> {
        let place = Where::parse(&self.staging).ok_or_else(|| {
            format!(
                "alhena: the parameter io_staging cannot be read\n  it is \"{}\"\n  say off, memory or the absolute path of a folder",
                self.staging
            )
        })?;
        Ok(Staging { place, limit: self.staging_size as u64 })
    }
}
