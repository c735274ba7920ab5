//! Opens the transport in a job: an endpoint and its card; the others' cards.

use btl::{Cards, Join, Lines, Peer, Start};
use mca::Quantity::Sum;
use mca::Variable;
use ofi::{Card, OfiParams};
use rcache::RcacheParams;

use crate::{BtlOfiParams, Ofi, Opening};

/// Under this name each process puts how it is reached.
const CARD: &str = "alhena-btl-ofi";

const ADVICE: &str = "give all ranks the same transports: mpiexec --mca btl self,vader,ofi for the whole job";

/// A process that has an endpoint and does not know its peers yet.
pub struct Joining {
    opening: Opening,
    params: BtlOfiParams,
    rcache: RcacheParams,
}

impl Join for Joining {
    type Opened = Ofi;
    type Below = ();
    const ABOUT: &'static str =
        "libfabric, which is loaded then: messages, Eager GET, GET and PUT as its provider allows";
    const PARAMS: &'static [mca::Param] = BtlOfiParams::PARAMS;
    const VARIABLES: &'static [Variable<Ofi>] = &[
        Variable::new(
            "btl_ofi_bytes",
            Sum,
            |ofi| ofi.stats().sent_bytes,
            "Payload sent over libfabric in messages, those included that the peer fetches from a buffer",
        ),
        Variable::new(
            "btl_ofi_moved_bytes",
            Sum,
            |ofi| ofi.stats().moved_bytes,
            "Payload that this process fetched from or stored into other processes' memory over libfabric: of messages and in windows",
        ),
    ];

    /// Loads libfabric.
    fn begin(start: &mut Start<'_>) -> Result<Joining, Lines> {
        let ofi = OfiParams::read(start.values)?;
        let params = BtlOfiParams::read(start.values)?;
        let rcache = RcacheParams::read(start.values)?;
        let job = &mut *start.job;
        let opening = Opening::new(&ofi, &params, job.size() as usize, job.is_one_node());
        let opening = opening.map_err(|error| Lines::of(&error))?;
        job.put(CARD, &opening.card().encode())?;
        Ok(Joining { opening, params, rcache })
    }

    fn open(self, job: &mut dyn Cards, _below: ()) -> Result<Ofi, Lines> {
        let cards = job.cards((CARD, "libfabric address", ADVICE), Card::parse)?;
        let opened = self.opening.open(job.me(), job.id(), cards, &self.params);
        let mut ofi = opened.map_err(|error| Lines::of(&error))?;
        // Where nothing is pinned, a registration costs less than to watch over one that is kept.
        if ofi.facts().pins() {
            ofi.cache_registrations(rcache::watch(&self.rcache, job.me() == Peer(0)));
        }
        if let Some(suspects) = job.suspects() {
            let own = job.node_of(job.me());
            let others: Vec<Peer> = job.all().filter(|&peer| job.node_of(peer) != own).collect();
            ofi.report_suspicions_to(suspects, others.into_iter());
        }
        Ok(ofi)
    }

    fn detail(ofi: &Ofi, _peer: Peer) -> String {
        format!(", whose provider is {} on {}", ofi.facts().provider, ofi.facts().domain)
    }
}
