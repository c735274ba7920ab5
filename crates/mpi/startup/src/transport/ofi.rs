//! Opens libfabric as a network that matches: an endpoint, its card put before the job's fence; those of the others
//! read after it.

use mtl_ofi::{Card, Ofi, Opening};
use ofi::OfiParams;
use pml_cm::Cm;

use super::lines;
use objects::params::Params;

/// Key of each rank's card.
const CARD: &str = "alhena-mtl-ofi";

/// Loads libfabric, opens an endpoint and puts its card, which the others see after the next fence.
///
/// # Errors
/// The lines to print.
pub(super) fn begin(job: &mut pmi::Job, params: &Params) -> Result<Opening, String> {
    let ofi = OfiParams::read(&params.values).map_err(|error| error.to_string())?;
    let one_host = job.node_of.iter().all(|node| *node == job.node_of[0]);
    let opening = Opening::new(&ofi, job.size as usize, one_host).map_err(|error| lines(&error))?;
    job.put(CARD, &opening.card().encode()).map_err(|error| error.to_string())?;
    Ok(opening)
}

/// The message layer over the network, all of whose peers have put their cards.
///
/// # Errors
/// The lines to print.
pub(super) fn open(opening: Opening, job: &mut pmi::Job) -> Result<Cm<Ofi>, String> {
    let cards = (0..job.size).map(|rank| card_of(job, rank)).collect::<Result<Vec<_>, _>>()?;
    let network = opening.open(&cards).map_err(|error| lines(&error))?;
    Cm::new(network).map_err(|error| lines(&error))
}

fn card_of(job: &mut pmi::Job, rank: u32) -> Result<Card, String> {
    let text = job.get(rank, CARD).map_err(|error| error.to_string())?;
    text.and_then(|text| Card::parse(&text)).ok_or_else(|| {
        format!(
            "alhena: rank {} has no way to rank {rank}\n\
             alhena: seen: it did not say its libfabric address\n\
             alhena: give all ranks the same message layer: mpiexec --mca pml cm for the whole job",
            job.rank
        )
    })
}
