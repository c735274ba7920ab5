//! Opens the transport in a job: a NIC in software, whose wire is made of other transports.

use btl::{Btl, Cards, Join, Lines, Peer, Start};
use mca::Quantity::Sum;
use mca::Variable;
use portals::{Jid, Nid, Pid, ProcessId, Shared, Uid};
use portals_soft::{FaultPlan, Identity, Mode, NicConfig, PortalsParams, SoftNic};
use portals_wire::Wire;
use std::marker::PhantomData;

use crate::{BtlPortalsParams, Portals};

/// The transport as processes use it: over a NIC whose wire is a table of transports.
pub type OverWire<B> = Portals<Shared<SoftNic<Wire<B>>>>;

/// A process that will have a NIC over the transports `B`, which tell the cards.
pub struct Joining<B> {
    params: BtlPortalsParams,
    config: NicConfig,
    below: PhantomData<B>,
}

impl<B: Btl + 'static> Join for Joining<B> {
    type Opened = OverWire<B>;
    type Below = B;
    const ABOUT: &'static str = "Portals 3.3, in software: blocks, flow control by retry, GET and PUT";
    const PARAMS: &'static [mca::Param] = BtlPortalsParams::PARAMS;
    const VARIABLES: &'static [Variable<OverWire<B>>] = &[
        Variable::new(
            "btl_portals_bytes",
            Sum,
            |portals| portals.stats().sent_bytes,
            "Payload sent over Portals in frames",
        ),
        Variable::new(
            "btl_portals_moved_bytes",
            Sum,
            |portals| portals.stats().moved_bytes,
            "Payload of messages that this process fetched from or stored into other processes' memory over Portals",
        ),
        Variable::new(
            "btl_portals_retransmissions",
            Sum,
            |portals| portals.stats().retransmissions,
            "Frames that this process sent over Portals again, since their target had no room",
        ),
    ];

    fn begin(start: &mut Start<'_>) -> Result<Joining<B>, Lines> {
        let params = BtlPortalsParams::read(start.values)?;
        let portals = PortalsParams::read(start.values)?;
        let faults = FaultPlan::parse(&portals.faults).map_err(|error| Lines::of(&error))?;
        let seed = faults.seed.wrapping_add(start.job.me().0.into());
        let config = NicConfig {
            mode: if portals.accelerated { Mode::Accelerated } else { Mode::Interrupt },
            faults: FaultPlan { seed, ..faults },
            ..NicConfig::default()
        };
        Ok(Joining { params, config, below: PhantomData })
    }

    fn open(self, job: &mut dyn Cards, below: B) -> Result<OverWire<B>, Lines> {
        let id = |peer: Peer| ProcessId { nid: Nid(job.node_of(peer)), pid: Pid(peer.0) };
        let ids: Vec<ProcessId> = job.all().map(id).collect();
        // The transports below have made sure that all processes are of one job, and so of one user.
        let who = Identity { id: id(job.me()), uid: Uid(0), jid: Jid(0) };
        let nic = Shared::new(SoftNic::new(Wire::new(below, who, ids.clone()), self.config));
        Portals::new(nic, ids, &self.params).map_err(|error| Lines::of(&error))
    }
}
