//! A pair over Portals: the NIC in software over the shared memory of the node, as processes of a job have it.

use std::sync::Arc;

use bml::{AtNode, Bml, SoftPortals, Transports};
use btl::Peer;
use btl_vader::{Vader, VaderParams};
use mem::{PeerBytes, UserMem};
use node::{Attach, Node, NodeParams};
use portals::{Jid, Nid, Pid, ProcessId, Uid, lasting};
use portals_soft::{Identity, Mode, NicConfig, PortalsParams, SoftNic};
use portals_wire::Wire;
use sim::raw::{OverPortals, Pattern};

use super::exchange::{Exchange, pattern};

/// A side with its memory.
pub(super) struct Puts {
    side: OverPortals<SoftPortals>,
    from: UserMem,
    into: UserMem,
}

/// Opens this process's side, for messages of at most `most` bytes.
pub(super) fn open(job: &mut pmi::Job, values: &mca::Values, most: usize) -> Result<Puts, String> {
    let params = PortalsParams::read(values).map_err(|error| error.to_string())?;
    let mode = if params.accelerated { Mode::Accelerated } else { Mode::Interrupt };
    let wire = wire(job, values)?;
    let id = |rank: u32| ProcessId { nid: Nid(job.node_of[rank as usize]), pid: Pid(rank) };
    let who = Identity { id: id(job.rank), uid: Uid(0), jid: Jid(0) };
    let wire = Wire::new(wire, who, vec![id(0), id(1)]);
    let nic = SoftNic::new(wire, NicConfig { mode, ..NicConfig::default() });
    let (from, into) = (lasting(most), lasting(most));
    let side = OverPortals::new(nic, id(1 - job.rank), job.rank == 0, from, into);
    let side = side.map_err(|error| format!("the NIC answered {error}"))?;
    job.fence().map_err(|error| error.to_string())?;
    Ok(Puts { side, from, into })
}

/// The node's shared memory as the wire.
fn wire(job: &mut pmi::Job, values: &mca::Values) -> Result<Bml, String> {
    let params = VaderParams::read(values).map_err(|error| error.to_string())?;
    let of_node = NodeParams::read(values).map_err(|error| error.to_string())?;
    let segment = job.segment.take().ok_or("the two processes share no memory: start them on one node")?;
    let attach = Attach {
        layout: params.layout(job.local_ranks.len(), segment.bytes),
        fd: segment.fd,
        local_index: job.local_index(),
        local_peers: job.local_ranks.iter().map(|&rank| Peer(rank)).collect(),
        pids: job.local_pids.clone(),
        oversubscribed: job.oversubscribed,
        proxy_pid: job.proxy_pid,
    };
    let node = Node::attach(attach, &of_node).map_err(|error| error.to_string())?;
    let vader = Some(Vader::new(Arc::clone(&node), &params));
    job.fence().map_err(|error| error.to_string())?;
    let at_node = AtNode { doorbell: node.doorbell(), shared: true };
    let transports = Transports { vader, ..Transports::default() };
    Bml::new(Peer(job.rank), job.size as usize, Some(at_node), transports).map_err(|error| error.to_string())
}

impl Exchange for Puts {
    fn exchange(&mut self, bytes: usize, messages: u32) -> Result<(), String> {
        self.side.begin(Pattern::PingPong, bytes, messages);
        while !self.side.is_done() {
            self.side.turn().map_err(|error| format!("the NIC answered {error}"))?;
        }
        Ok(())
    }

    fn fill(&mut self, bytes: usize) {
        self.from.write(PeerBytes::of(&pattern(bytes)));
        self.into.write(PeerBytes::of(&vec![0; bytes]));
    }

    fn is_intact(&self, bytes: usize) -> bool {
        self.into.part(0, bytes).as_bytes().to_vec() == pattern(bytes)
    }
}
