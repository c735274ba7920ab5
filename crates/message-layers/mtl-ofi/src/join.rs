//! Opens the network in a job: an endpoint and its card; the others' cards.

use btl::{Cards, Lines};
use ofi::{Card, OfiParams};

use crate::{Ofi, Opening};

/// Under this name each process puts how it is reached.
const CARD: &str = "alhena-mtl-ofi";

const ADVICE: &str = "give all ranks the same message layer: mpiexec --mca pml cm for the whole job";

/// A process that has an endpoint and does not know its peers yet.
pub struct Joining(Opening);

impl Joining {
    /// Loads libfabric, opens an endpoint and puts its card, which the others see after the next fence.
    ///
    /// # Errors
    /// The lines to print.
    pub fn begin(job: &mut dyn Cards, values: &mca::Values) -> Result<Joining, Lines> {
        let params = OfiParams::read(values)?;
        let opening = Opening::new(&params, job.size() as usize, job.is_one_node());
        let opening = opening.map_err(|error| Lines::of(&error))?;
        job.put(CARD, &opening.card().encode())?;
        Ok(Joining(opening))
    }

    /// The network, all of whose peers have put their cards.
    ///
    /// # Errors
    /// The lines to print.
    pub fn open(self, job: &mut dyn Cards) -> Result<Ofi, Lines> {
        let cards = job.cards((CARD, "libfabric address", ADVICE), Card::parse)?;
        self.0.open(&cards).map_err(|error| Lines::of(&error))
    }
}
