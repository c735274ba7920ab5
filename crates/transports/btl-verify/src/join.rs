//! Opens the transport in a job, over the others, which have published the cards that it takes.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use btl::{Cards, Join, Lines, Peer, Start, Ways};
use mca::Quantity::Sum;
use mca::Variable;
use sums::{Faults, SumParams};

use crate::{Hosts, Settings, Verify};

/// Under this name each process puts the name of its host.
const CARD: &str = "alhena-host";

/// A process that will have the transport over the transports `B`.
pub struct Joining<B> {
    faults: Option<Faults>,
    below: PhantomData<B>,
}

impl<B: Ways + 'static> Join for Joining<B> {
    type Opened = Verify<B>;
    type Below = B;
    const ABOUT: &'static str = "checksums from end to end over the other transports: damage ends the job; by --mca mpi_checksum verify";
    const PARAMS: &'static [mca::Param] = &[];
    const VARIABLES: &'static [Variable<Verify<B>>] = &[
        Variable::new(
            "btl_verify_frames",
            Sum,
            |verify| verify.verified_frames(),
            "Frames that arrived, each of which was as it had been sent",
        ),
        Variable::new(
            "btl_verify_copies",
            Sum,
            |verify| verify.verified_copies(),
            "Gets and puts that were compared with their owner's memory, and were equal",
        ),
    ];

    fn begin(start: &mut Start<'_>) -> Result<Joining<B>, Lines> {
        let params = SumParams::read(start.values)?;
        let faults = Faults::of(&params.checksum_faults, start.job.me().0);
        start.job.put(CARD, &sums::host())?;
        Ok(Joining { faults: faults.map_err(|error| Lines::of(&error))?, below: PhantomData })
    }

    fn open(self, job: &mut dyn Cards, below: B) -> Result<Verify<B>, Lines> {
        let (names, size, end) = ((job.me(), job.id()), job.size(), job.end());
        let settings = Settings { hosts: hosts(job)?, faults: self.faults, end };
        Ok(Verify::new(below, names, size, settings))
    }

    fn detail(verify: &Verify<B>, peer: Peer) -> String {
        format!("; over {}", verify.path_to(peer))
    }
}

/// The names of the hosts, each of which its first process has put.
fn hosts(job: &mut dyn Cards) -> Result<Hosts, Lines> {
    let nodes = job.nodes().to_vec();
    let mut first = BTreeMap::new();
    nodes.iter().zip(0..).for_each(|(&node, rank)| {
        first.entry(node).or_insert(Peer(rank));
    });
    let mut names = BTreeMap::new();
    for (node, of) in first {
        let advice =
            "give all ranks the same mpi_checksum: mpiexec --mca mpi_checksum verify for the whole job";
        names.insert(node, job.card(of, (CARD, "name of its host", advice), |text| Some(text.to_owned()))?);
    }
    Ok(Hosts { nodes, names })
}
