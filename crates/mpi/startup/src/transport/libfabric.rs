//! Opens the transport over libfabric: an endpoint, its card put before the job's fence; those of the others read after
//! it.

use btl::Peer;
use btl_ofi::{BtlOfiParams, Ofi, Opening};
use ofi::{Card, OfiParams};

use super::lines;
use objects::params::Params;

/// Under this name each process puts how it is reached.
const CARD: &str = "alhena-btl-ofi";

/// Loads libfabric, opens an endpoint and puts its card, which the others see after the next fence.
///
/// # Errors
/// The lines to print.
pub(super) fn begin(job: &mut pmi::Job, params: &Params) -> Result<Opening, String> {
    let ofi = OfiParams::read(&params.values).map_err(|error| error.to_string())?;
    let btl = BtlOfiParams::read(&params.values).map_err(|error| error.to_string())?;
    let one_host = job.node_of.iter().all(|node| *node == job.node_of[0]);
    let opening = Opening::new(&ofi, &btl, job.size as usize, one_host).map_err(|error| lines(&error))?;
    job.put(CARD, &opening.card().encode()).map_err(|error| error.to_string())?;
    Ok(opening)
}

/// The transport, all of whose peers have put their cards.
///
/// # Errors
/// The lines to print.
pub(super) fn open(opening: Opening, job: &mut pmi::Job, params: &Params) -> Result<Ofi, String> {
    let btl = BtlOfiParams::read(&params.values).map_err(|error| error.to_string())?;
    let cards = (0..job.size).map(|rank| card_of(job, rank)).collect::<Result<Vec<_>, _>>()?;
    let opened = opening.open(Peer(job.rank), job.job_id, cards, &btl);
    let mut transport = opened.map_err(|error| lines(&error))?;
    // Where nothing is pinned, a registration costs less than to watch over one that is kept.
    if transport.facts().pins() {
        transport.cache_registrations(super::registered::watch(job.rank, &params.rcache));
    }
    Ok(transport)
}

fn card_of(job: &mut pmi::Job, rank: u32) -> Result<Card, String> {
    let text = job.get(rank, CARD).map_err(|error| error.to_string())?;
    text.and_then(|text| Card::parse(&text)).ok_or_else(|| {
        format!(
            "alhena: rank {} has no way to rank {rank}\n\
             alhena: seen: it did not say its libfabric address\n\
             alhena: give all ranks the same transports: mpiexec --mca btl self,vader,ofi for the whole job",
            job.rank
        )
    })
}
