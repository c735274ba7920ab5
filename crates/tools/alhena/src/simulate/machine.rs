//! The machine of a simulation, as the command line gives it.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use btl_ugni::UgniParams;
use btl_vader::VaderParams;
use clap::Args;
use coll::tuned::Caches;
use gni_timed::{Background, Costs, Torus};
use mca::Registry;
use sim::{Setup, SoftwareCosts, Timeline, paper};

use crate::timeline;

/// Torus, costs and parameters.
#[derive(Args, Clone, Debug)]
pub struct Machine {
    /// Gemini chips along X, Y and Z; each serves two nodes
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', default_values_t = Torus::CIELO.dims())]
    torus: Vec<u32>,
    /// Change one of the costs that `alhena sim calibrate` lists
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Route each transaction by the order of dimensions in which it arrives first
    #[arg(long)]
    adaptive: bool,
    /// Share of each link's capacity that other jobs take, and the bytes of their messages
    #[arg(long, value_name = "SHARE[,BYTES]", value_parser = background)]
    background: Option<Background>,
    /// Let ranks of one node speak through its NIC instead of shared memory
    #[arg(long)]
    through_nic: bool,
    /// Run the other MPI of the paper: MPICH2's message layer for Gemini
    #[arg(long)]
    mpich2: bool,
    /// Run as the paper's Open MPI did: its limits, odd lengths by Put Fallback, small fastboxes, and ranks that are disturbed
    /// as on a machine in operation
    #[arg(long)]
    paper: bool,
    /// Software costs what it does on two cores of this time, for runs that were recorded there
    #[arg(long, conflicts_with = "mpich2")]
    two_cores: bool,
    /// Software and cache lines cost what they do on a wide node of this time, for collectives on one node
    #[arg(long, conflicts_with_all = ["mpich2", "two_cores"])]
    wide_node: bool,
    /// Ranks that share a last-level cache, and caches of a memory node, as 8x12
    #[arg(long, value_name = "RANKS[xCACHES]", value_parser = caches)]
    caches: Option<(u32, u32)>,
    /// Radix of the trees of collective algorithms, 0 for each algorithm's own
    #[arg(long, default_value_t = 0)]
    fanout: u32,
    /// Give nodes and mailboxes room for few messages at a time, so that a million ranks fit into this machine
    #[arg(long)]
    compact: bool,
    /// Which of many draws of the ranks' computing times in `lammps` and `amg` (costs `jitter`, `amg_jitter`)
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Parameters of the transports, as mpiexec takes them
    #[arg(long, num_args = 2, value_names = ["KEY", "VALUE"])]
    mca: Vec<String>,
    /// Write when each rank of the last job called what, and which message went where, on virtual time: for Perfetto, as JSON
    /// where the name ends with .json
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[arg(skip)]
    timeline: Arc<Timeline>,
}

/// Four messages a mailbox, and few mailboxes at a time.
const COMPACT: [(&str, &str); 2] = [("btl_ugni_smsg_max_credits", "4"), ("btl_ugni_smsg_page_size", "8k")];

/// Which values the three fitted costs have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostTable {
    /// Those that hit three of the paper's points.
    Fitted,
    /// Those of independent sources.
    Sourced,
}

impl CostTable {
    /// That of a flag `--sourced`.
    pub fn of(sourced: bool) -> CostTable {
        if sourced { CostTable::Sourced } else { CostTable::Fitted }
    }

    fn costs(self) -> Costs {
        match self {
            CostTable::Fitted => paper::FITTED,
            CostTable::Sourced => Costs::SOURCED,
        }
    }
}

impl Machine {
    /// Two neighbouring chips, one rank each, with the limits of the paper's runs.
    pub fn pair(&self, table: CostTable) -> Result<Setup, Box<dyn Error>> {
        self.adapted(paper::setup(table.costs()), &paper::LIMITS)
    }

    /// Nodes side by side with `ranks_per_node` ranks each and the transport's defaults.
    pub fn nodes(&self, table: CostTable, ranks_per_node: u32) -> Result<Setup, Box<dyn Error>> {
        let setup = Setup { ranks_per_node, node_spacing: 1, ..paper::setup(table.costs()) };
        self.adapted(setup, if self.paper { &paper::LIMITS } else { &[] })
    }

    /// Writes the timeline, if that was asked for.
    pub fn save_timeline(&self) -> Result<(), Box<dyn Error>> {
        self.trace.as_ref().map_or(Ok(()), |path| timeline::save_simulated(self.timeline.take(), path))
    }

    fn adapted(&self, setup: Setup, limits: &[(&str, &str)]) -> Result<Setup, Box<dyn Error>> {
        let dims = <[u32; 3]>::try_from(self.torus.as_slice()).ok();
        let torus = dims.and_then(Torus::new).ok_or_else(|| {
            format!(
                "alhena: building the torus failed\n  seen: {:?}\n  next: give three numbers above 0 with a product \
                 of at most 131072, as in --torus 16,12,24",
                self.torus
            )
        })?;
        let setup = if self.mpich2 { paper::with_mpich2(setup) } else { setup };
        let (mut costs, mut software) = (setup.costs, setup.software);
        if self.two_cores {
            software = SoftwareCosts::TWO_CORES;
        }
        if self.wide_node {
            software = SoftwareCosts::WIDE_NODE;
        }
        if self.paper {
            software = paper::in_operation(software);
        }
        for word in &self.set {
            change(&mut costs, &mut software, word)?;
        }
        let pairs = self.parameters(limits)?;
        let vader = (!self.through_nic).then(|| paper::vader_params(&pairs)).transpose()?;
        let setup = Setup {
            torus,
            adaptive: self.adaptive,
            background: self.background,
            compact: self.compact,
            seed: self.seed,
            caches: self.caches,
            fanout: self.fanout,
            costs,
            software,
            params: paper::params(&pairs)?,
            vader,
            timeline: self.trace.is_some().then(|| Arc::clone(&self.timeline)),
            ..setup
        };
        Ok(if self.paper { paper::as_in_the_paper(setup) } else { setup })
    }

    /// The preset's parameters and those of the command line, by name.
    fn parameters<'a>(
        &'a self,
        limits: &[(&'a str, &'a str)],
    ) -> Result<Vec<(&'a str, &'a str)>, Box<dyn Error>> {
        let registry = Registry::new(&[UgniParams::PARAMS, VaderParams::PARAMS]);
        let mut pairs = limits.to_vec();
        if self.compact {
            pairs.extend(COMPACT);
        }
        for pair in self.mca.chunks_exact(2) {
            if registry.find(&pair[0]).is_none() {
                let nearest = registry.nearest(&pair[0]).unwrap_or("btl_ugni_smsg_limit");
                return Err(format!(
                    "alhena: setting a parameter failed\n  seen: the transports have no {}\n  next: --mca {nearest} \
                     VALUE? alhena info --param btl ugni lists all",
                    pair[0]
                )
                .into());
            }
            pairs.push((&pair[0], &pair[1]));
        }
        Ok(pairs)
    }
}

/// Traffic of other jobs: a share below 1, and the length of their messages, 16 KiB if it is not given.
fn background(word: &str) -> Result<Background, String> {
    let (share, bytes) = word.split_once(',').unwrap_or((word, "16384"));
    let parsed = share.parse::<f64>().ok().zip(bytes.parse::<f64>().ok());
    let sound = parsed.filter(|&(share, bytes)| share > 0.0 && share < 1.0 && (64.0..1e9).contains(&bytes));
    let (share, bytes) =
        sound.ok_or("give a share above 0 and below 1, and bytes from 64, as in 0.2,16384")?;
    Ok(Background { share, bytes })
}

/// Ranks of a cache and caches of a memory node, written as the library's parameter `coll_tuned_caches`.
fn caches(word: &str) -> Result<(u32, u32), String> {
    match <Caches as mca::Type>::parse(word) {
        Some(Caches::Given { ranks, caches }) => Ok((ranks, caches)),
        _ => {
            Err("give ranks of a cache, and caches of a memory node if there are several, as in 8x12".into())
        }
    }
}

/// Sets the cost that `word` names, in whichever table it is.
fn change(costs: &mut Costs, software: &mut SoftwareCosts, word: &str) -> Result<(), String> {
    let parsed = word.split_once('=').and_then(|(name, value)| {
        let value = value.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)?;
        let cost = costs.parameter_mut(name).or_else(|| software.parameter_mut(name))?;
        *cost = value;
        // A rate of nothing would take for ever.
        (value > 0.0 || !(name.ends_with("_rate") || name.starts_with("link_"))).then_some(())
    });
    parsed.ok_or_else(|| {
        format!(
            "alhena: changing a cost failed\n  seen: {word}\n  next: give NAME=VALUE with a name that alhena sim \
             calibrate lists; rates must be above 0"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_changed_by_name() {
        let (mut costs, mut software) = (Costs::SOURCED, SoftwareCosts::SOURCED);
        change(&mut costs, &mut software, "hop=50").expect("a cost of the network");
        change(&mut costs, &mut software, "copy_rate=3.5").expect("a cost of software");
        assert_eq!((costs.hop, software.copy_rate), (50.0, 3.5));
        for word in ["hop", "hop=", "hop=-1", "hip=1", "hop=inf", "nic_rate=0"] {
            let message = change(&mut costs, &mut software, word).expect_err("nonsense");
            assert_eq!(message.lines().count(), 3);
        }
    }
}
