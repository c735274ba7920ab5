//! Opens the transport in a job, over the others, which have published the cards that it takes.

use std::marker::PhantomData;

use btl::{Cards, Join, Lines, Peer, Start, Ways};
use mca::Quantity::Sum;
use mca::Variable;

use crate::{Dr, DrParams, FaultPlan};

/// A process that will have the transport over the transports `B`.
pub struct Joining<B> {
    params: DrParams,
    faults: FaultPlan,
    below: PhantomData<B>,
}

impl<B: Ways + 'static> Join for Joining<B> {
    type Opened = Dr<B>;
    type Below = B;
    const ABOUT: &'static str = "data reliability over the other transports: checksums, acknowledgements, another way where one fails; by --mca pml dr";
    const PARAMS: &'static [mca::Param] = DrParams::PARAMS;
    const VARIABLES: &'static [Variable<Dr<B>>] = &[
        Variable::new(
            "btl_dr_frames",
            Sum,
            |dr| dr.counts().sent,
            "Frames of data that left under data reliability",
        ),
        Variable::new(
            "btl_dr_resent",
            Sum,
            |dr| dr.counts().resent,
            "Frames of data that left again, since they were lost, damaged or on a way that failed",
        ),
        Variable::new(
            "btl_dr_damaged",
            Sum,
            |dr| dr.counts().bad_headers + dr.counts().bad_payloads,
            "Frames that arrived damaged and were thrown away",
        ),
        Variable::new("btl_dr_duplicates", Sum, |dr| dr.counts().duplicates, "Frames that arrived once more"),
        Variable::new(
            "btl_dr_timeouts",
            Sum,
            |dr| dr.counts().timeouts,
            "Times that frames were unanswered for so long that they counted as lost, by no word of the peer",
        ),
        Variable::new(
            "btl_dr_falls",
            Sum,
            |dr| dr.counts().falls,
            "Times that a way to a peer was suspected, or reported lost by its transport",
        ),
        Variable::new(
            "btl_dr_gets",
            Sum,
            |dr| dr.gets().0,
            "Gets and puts that were compared with their owner's memory, and were equal",
        ),
        Variable::new(
            "btl_dr_gets_again",
            Sum,
            |dr| dr.gets().1,
            "Gets that were made again, since what they had brought was damaged",
        ),
    ];

    fn begin(start: &mut Start<'_>) -> Result<Joining<B>, Lines> {
        let params = DrParams::read(start.values)?;
        let faults = FaultPlan::parse(&params.faults).map_err(|error| Lines::of(&error))?;
        let seed = faults.seed.wrapping_add(start.job.me().0.into());
        Ok(Joining { params, faults: FaultPlan { seed, ..faults }, below: PhantomData })
    }

    fn open(self, job: &mut dyn Cards, below: B) -> Result<Dr<B>, Lines> {
        let names = (job.me(), job.id());
        let opened = Dr::new(below, names, job.size(), &self.params, &self.faults);
        opened.map_err(|error| Lines::system("making a timer for data reliability", &error))
    }

    fn detail(dr: &Dr<B>, peer: Peer) -> String {
        format!("; over {}", dr.ways_to(peer).join(", then "))
    }
}
