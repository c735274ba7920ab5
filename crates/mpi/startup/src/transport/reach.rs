//! Which transport carries messages to which rank, and why: what `mpiexec -report` prints.

use std::fmt::Write;

use bml::{Bml, BtlParams};
use btl::{Btl, Peer};
use engine::{Network, P2p, PmlParams};

use objects::params::Params;

/// The table of this process, a line for each transport: peers, transport, reason, with tabs between them. The same for
/// processes whose peers are the same, so that the launcher can join them.
pub fn reach(p2p: &P2p, job: &pmi::Job, params: &Params) -> String {
    let (bml, mut text) = (&p2p.bml, String::new());
    if p2p.matches_below() {
        let all: Vec<Peer> = (0..job.size).map(Peer).collect();
        let by = match PmlParams::read(&params.values).map(|params| params.mtl) {
            Ok(Network::Shmem) => "the library, over symmetric memory",
            Ok(Network::Portals | Network::Mpich) => "the Portals NIC",
            _ => "libfabric",
        };
        let why = format!(
            "messages, matched by {by}, for the parameter pml is cm; the rest carries windows and files"
        );
        let _ = writeln!(text, "ranks {}\tcm\t{why}", ranges(&all));
    }
    for (transport, mut peers) in bml.table() {
        let why = reason(transport, bml, peers[0], job, params);
        let to = if transport == "self" {
            "themselves".to_owned()
        } else {
            // A process is one of its node, though it reaches itself in another way.
            if peers.iter().any(|peer| job.local_ranks.contains(&peer.0)) {
                let place = peers.partition_point(|peer| peer.0 < job.rank);
                peers.insert(place, Peer(job.rank));
            }
            format!("ranks {}", ranges(&peers))
        };
        let _ = writeln!(text, "{to}\t{transport}\t{why}");
    }
    text
}

fn reason(transport: &str, bml: &Bml, peer: Peer, job: &pmi::Job, params: &Params) -> String {
    let was_chosen = !params.values.are_defaults(BtlParams::PARAMS);
    let is_elsewhere = !job.local_ranks.contains(&peer.0);
    let detail = bml.detail(peer);
    let slower = bml.slower_ways(peer);
    let slower = match slower.is_empty() {
        true => String::new(),
        false => format!("; it declares less time than {}", slower.join(" and ")),
    };
    match transport {
        "self" => "within the process".to_owned(),
        "dr" => format!("data reliability, for the parameter pml is dr or mpi_checksum is repair{detail}"),
        "verify" => format!("verification, for the parameter mpi_checksum is verify{detail}"),
        "vader" if bml.limits(peer).get => {
            "shared memory of the host; large messages in one copy, by process_vm_readv".to_owned()
        }
        "vader" => {
            "shared memory of the host; large messages in two copies, for process_vm_readv is refused or switched off".to_owned()
        }
        _ if was_chosen && is_elsewhere => format!("on another host; the parameter btl allows {transport}{detail}{slower}"),
        _ if was_chosen => format!("the parameter btl allows {transport}{detail}{slower} and not vader"),
        _ => format!("on another host; no network was chosen by the parameter btl{detail}"),
    }
}

/// Ascending ranks as `0-3,8`.
fn ranges(peers: &[Peer]) -> String {
    let mut text = String::new();
    let mut rest = peers.iter().map(|peer| peer.0).peekable();
    while let Some(first) = rest.next() {
        let mut last = first;
        while let Some(next) = rest.next_if_eq(&(last + 1)) {
            last = next;
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = if first == last {
            write!(text, "{comma}{first}")
        } else {
            write!(text, "{comma}{first}-{last}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        let peers: Vec<Peer> = [0, 1, 2, 5, 7, 8].map(Peer).into();
        assert_eq!(ranges(&peers), "0-2,5,7-8");
        assert_eq!(ranges(&[]), "");
    }
}
