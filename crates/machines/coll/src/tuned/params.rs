//! Parameters that choose algorithms: `coll_tuned_<collective>_{algorithm,segment,fanout}` and rule files.

use std::time::Duration;

use super::{Choice, Forced, Query, RuleTable, Unfit};
use crate::algorithms::registry::{self, Named};
use crate::params::Coll;

/// One row per parameter: what it prescribes for which collective.
macro_rules! forced {
    ($params:ident, $forced:ident: $($coll:ident { $($what:ident $field:ident),* })*) => {
        $($(forced!(@$what $forced[Coll::$coll as usize], $params.$field);)*)*
    };
    (@algorithm $slot:expr, $value:expr) => { $slot.algorithm = $value; };
    (@segment $slot:expr, $value:expr) => { $slot.segment = given($value).map(|n| n as u64); };
    (@fanout $slot:expr, $value:expr) => { $slot.fanout = given($value).map(|n| n as u32); };
}

mca::choice! {
    /// How closely collective calls are compared.
    pub enum Level {
        /// Not at all.
        Off = "off",
        /// Operation, order, root and bytes.
        On = "on",
        /// Also type signatures and reduction operations.
        Full = "full",
    }
}

/// Which ranks of a node share a last-level cache, and which caches a memory node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caches {
    /// Those that the system reports of the processors to which ranks are bound.
    System,
    /// Caches are not looked up.
    Off,
    /// So many consecutive ranks, so many consecutive caches.
    Given {
        /// Ranks of a cache.
        ranks: u32,
        /// Caches of a memory node.
        caches: u32,
    },
}

impl mca::Type for Caches {
    type Value = Caches;
    const KIND: mca::Kind = mca::Kind::Text;

    fn parse(text: &str) -> Option<Caches> {
        match text {
            "system" => return Some(Caches::System),
            "off" => return Some(Caches::Off),
            _ => {}
        }
        let number = |text: &str| text.parse().ok().filter(|&number: &u32| number > 0);
        let (ranks, caches) =
            text.split_once('x').map_or((text, None), |(ranks, caches)| (ranks, Some(caches)));
        let caches = caches.map_or(Some(u32::MAX), number)?;
        Some(Caches::Given { ranks: number(ranks)?, caches })
    }
}

mca::params! {
    /// Parameters of all collectives.
    pub struct CollParams("coll_") {
        /// Sums of floating-point numbers are exact and rounded once: they depend only on the multiset of contributed
        /// values. Other reductions associate their operands in one way, in the order of ranks, fixed by their number.
        reproducible: mca::Bool = "false";
        /// Whether processes that make different collective calls on a communicator get an error instead of a hang:
        /// by operation, order, root and bytes (`on`), also by type signatures and reduction operations (`full`),
        /// or not (`off`, which also lets calls pass whose send buffer lies in their receive buffer). The same on all
        /// processes.
        check: Level = "on";
        /// Collectives of processes of one node go through the node's shared memory, whatever transports carry messages;
        /// if not, through messages.
        areas: mca::Bool = "true", scope AllEq;
        /// Shared memory of a node that a process takes at most for areas beyond those that every job has: each communicator whose processes
        /// are all on the node has one, and each of its persistent collectives of short data; communicators take half of it at most.
        /// Where there is no more, calls go through messages. 0: all of these.
        area_memory: mca::Size = "128M", unit "bytes", range 0 to 1099511627776;
    }
}

mca::params! {
    /// Parameters of the choice among collective algorithms.
    pub struct TunedParams("coll_tuned_") {
        /// File with rules for choosing algorithms, asked before the built-in table; the format is that of the
        /// table, `crates/machines/coll/src/tuned/tuned.toml`.
        rules: mca::Text = "";
        /// Blocking calls try the algorithms in turn at first, communicator by communicator; then its processes vote for
        /// the fastest. The same on all processes.
        online: mca::Bool = "false";
        /// Which ranks of a node share a last-level cache, and which caches a memory node: the table has rules for two ranks
        /// of one cache, and trees over caches for more than 16 ranks. `system` asks what ranks are bound to, `off` does
        /// not, `8` means eight consecutive ranks to a cache, `8x4` also four caches to a memory node. The same on all
        /// processes.
        caches: Caches = "system", scope AllEq;
        /// Where a call cannot use the algorithm that `coll_tuned_*_algorithm` names, the table decides; if not, the
        /// call is an error with the reason. The same on all processes.
        fallback: mca::Bool = "false", scope AllEq;
        /// How long a process polls for what one on another processor gives next before it yields to the others on its
        /// own, in small blocking collectives, where ranks share processors and the others wait as well. 0: not at all.
        hint: mca::Int = "10", unit "microseconds", range 0 to 1000;
        /// Algorithm of `MPI_Barrier`; empty: chosen by the table.
        barrier_algorithm: Named<{ Coll::Barrier as usize }> = "";
        /// Children per node, radix or exchanges under way in algorithms of `MPI_Barrier`; -1: as in the table, 0: the
        /// algorithm's own.
        barrier_fanout: mca::Int = "-1", range -1 to 65536;
        /// Algorithm of `MPI_Bcast`; empty: chosen by the table.
        bcast_algorithm: Named<{ Coll::Bcast as usize }> = "";
        /// Bytes per piece of pipelined algorithms of `MPI_Bcast`; -1: as in the table, 0: not cut.
        bcast_segment: mca::Int = "-1", unit "bytes", range -1 to 1099511627776;
        /// Children per node, radix or exchanges under way in algorithms of `MPI_Bcast`; -1: as in the table, 0: the
        /// algorithm's own.
        bcast_fanout: mca::Int = "-1", range -1 to 65536;
        /// Algorithm of `MPI_Gather`; empty: chosen by the table.
        gather_algorithm: Named<{ Coll::Gather as usize }> = "";
        /// Algorithm of `MPI_Gatherv`; empty: chosen by the table.
        gatherv_algorithm: Named<{ Coll::Gatherv as usize }> = "";
        /// Algorithm of `MPI_Scatter`; empty: chosen by the table.
        scatter_algorithm: Named<{ Coll::Scatter as usize }> = "";
        /// Algorithm of `MPI_Scatterv`; empty: chosen by the table.
        scatterv_algorithm: Named<{ Coll::Scatterv as usize }> = "";
        /// Algorithm of `MPI_Allgather`; empty: chosen by the table.
        allgather_algorithm: Named<{ Coll::Allgather as usize }> = "";
        /// Bytes per piece of pipelined algorithms of `MPI_Allgather`; -1: as in the table, 0: not cut.
        allgather_segment: mca::Int = "-1", unit "bytes", range -1 to 1099511627776;
        /// Algorithm of `MPI_Allgatherv`; empty: chosen by the table.
        allgatherv_algorithm: Named<{ Coll::Allgatherv as usize }> = "";
        /// Algorithm of `MPI_Alltoall`; empty: chosen by the table.
        alltoall_algorithm: Named<{ Coll::Alltoall as usize }> = "";
        /// Children per node, radix or exchanges under way in algorithms of `MPI_Alltoall`; -1: as in the table, 0: the
        /// algorithm's own.
        alltoall_fanout: mca::Int = "-1", range -1 to 65536;
        /// Algorithm of `MPI_Alltoallv`; empty: chosen by the table.
        alltoallv_algorithm: Named<{ Coll::Alltoallv as usize }> = "";
        /// Children per node, radix or exchanges under way in algorithms of `MPI_Alltoallv`; -1: as in the table, 0: the
        /// algorithm's own.
        alltoallv_fanout: mca::Int = "-1", range -1 to 65536;
        /// Algorithm of `MPI_Alltoallw`; empty: chosen by the table.
        alltoallw_algorithm: Named<{ Coll::Alltoallw as usize }> = "";
        /// Children per node, radix or exchanges under way in algorithms of `MPI_Alltoallw`; -1: as in the table, 0: the
        /// algorithm's own.
        alltoallw_fanout: mca::Int = "-1", range -1 to 65536;
        /// Algorithm of `MPI_Reduce`; empty: chosen by the table.
        reduce_algorithm: Named<{ Coll::Reduce as usize }> = "";
        /// Bytes per piece of pipelined algorithms of `MPI_Reduce`; -1: as in the table, 0: not cut.
        reduce_segment: mca::Int = "-1", unit "bytes", range -1 to 1099511627776;
        /// Children per node, radix or exchanges under way in algorithms of `MPI_Reduce`; -1: as in the table, 0: the
        /// algorithm's own.
        reduce_fanout: mca::Int = "-1", range -1 to 65536;
        /// Algorithm of `MPI_Allreduce`; empty: chosen by the table.
        allreduce_algorithm: Named<{ Coll::Allreduce as usize }> = "";
        /// Bytes per piece of pipelined algorithms of `MPI_Allreduce`; -1: as in the table, 0: not cut.
        allreduce_segment: mca::Int = "-1", unit "bytes", range -1 to 1099511627776;
        /// Children per node, radix or exchanges under way in algorithms of `MPI_Allreduce`; -1: as in the table, 0: the
        /// algorithm's own.
        allreduce_fanout: mca::Int = "-1", range -1 to 65536;
        /// Algorithm of `MPI_Reduce_scatter`; empty: chosen by the table.
        reduce_scatter_algorithm: Named<{ Coll::ReduceScatter as usize }> = "";
        /// Algorithm of `MPI_Reduce_scatter_block`; empty: chosen by the table.
        reduce_scatter_block_algorithm: Named<{ Coll::ReduceScatterBlock as usize }> = "";
        /// Algorithm of `MPI_Scan`; empty: chosen by the table.
        scan_algorithm: Named<{ Coll::Scan as usize }> = "";
        /// Bytes per piece of pipelined algorithms of `MPI_Scan`; -1: as in the table, 0: not cut.
        scan_segment: mca::Int = "-1", unit "bytes", range -1 to 1099511627776;
        /// Algorithm of `MPI_Exscan`; empty: chosen by the table.
        exscan_algorithm: Named<{ Coll::Exscan as usize }> = "";
        /// Bytes per piece of pipelined algorithms of `MPI_Exscan`; -1: as in the table, 0: not cut.
        exscan_segment: mca::Int = "-1", unit "bytes", range -1 to 1099511627776;
    }
}

/// The choice among algorithms: the table in force and what is prescribed beside it.
pub struct Tuned {
    table: RuleTable,
    forced: [Forced; Coll::ALL.len()],
    /// Reductions keep to one association.
    pub reproducible: bool,
    /// How closely calls are compared.
    pub check: Level,
    /// Collectives of one node go through its shared memory.
    pub areas: bool,
    /// Bytes of memory for areas beyond the node's, see [`CollParams::area_memory`].
    pub area_memory: u64,
    /// Algorithms are chosen by trial.
    pub online: bool,
    /// Which ranks of a node share caches.
    pub caches: Caches,
    /// How long to keep polling where a process is next on a processor that it shares.
    pub hint: Duration,
}

impl Tuned {
    /// Reads the parameters.
    ///
    /// # Errors
    /// The three lines to print: a rule file that cannot be read, a value that does not fit.
    pub fn read(values: &mca::Values) -> Result<Tuned, String> {
        let params = TunedParams::read(values).map_err(|error| error.to_string())?;
        let all = CollParams::read(values).map_err(|error| error.to_string())?;
        let (table, mut forced) = (table(&params.rules)?, prescribed(&params));
        // Trials are among what can be used.
        if params.fallback || params.online {
            forced.iter_mut().for_each(|forced| forced.or_table = true);
        }
        let hint = Duration::from_micros(params.hint as u64);
        let (reproducible, check, areas, online) = (all.reproducible, all.check, all.areas, params.online);
        let area_memory = all.area_memory as u64;
        let caches = params.caches;
        Ok(Tuned { table, forced, reproducible, check, areas, area_memory, online, caches, hint })
    }

    /// As [`Tuned::select`], with the algorithm given.
    ///
    /// # Errors
    /// As [`RuleTable::select`].
    pub fn select_named(&self, query: &Query, algorithm: registry::AlgorithmId) -> Result<Choice, Unfit> {
        let prescribed = self.forced[query.coll as usize];
        self.table.select(query, &Forced { algorithm: Some(algorithm), ..prescribed })
    }

    /// As [`Tuned::select`], for calls that the library makes by itself: the table decides where they cannot use what
    /// is forced.
    ///
    /// # Errors
    /// As [`RuleTable::select`].
    pub fn select_own(&self, query: &Query) -> Result<Choice, Unfit> {
        self.table.select(query, &Forced { or_table: true, ..self.forced[query.coll as usize] })
    }

    /// The algorithm for a call, and the most bytes up to which calls that are the same otherwise use it.
    pub fn select_up_to(&self, query: &Query) -> Option<(registry::AlgorithmId, u64)> {
        self.table.select_up_to(query, &self.forced[query.coll as usize])
    }

    /// The algorithm for a call.
    ///
    /// # Errors
    /// As [`RuleTable::select`].
    pub fn select(&self, query: &Query) -> Result<Choice, Unfit> {
        self.table.select(query, &self.forced[query.coll as usize])
    }
}

fn table(file: &str) -> Result<RuleTable, String> {
    if file.is_empty() {
        return Ok(RuleTable::builtin());
    }
    let text = std::fs::read_to_string(file).map_err(|error| {
        format!(
            "alhena: reading the rules for choosing collective algorithms failed\n\
             alhena: seen: {file}: {error}\n\
             alhena: correct or unset the parameter coll_tuned_rules"
        )
    })?;
    let rules = RuleTable::parse(&text).map_err(|error| error.to_string())?;
    Ok(rules.before(RuleTable::builtin()))
}

fn prescribed(params: &TunedParams) -> [Forced; Coll::ALL.len()] {
    let mut forced = [Forced::default(); Coll::ALL.len()];
    forced! { params, forced:
        Barrier { algorithm barrier_algorithm, fanout barrier_fanout }
        Bcast { algorithm bcast_algorithm, segment bcast_segment, fanout bcast_fanout }
        Gather { algorithm gather_algorithm }
        Scatter { algorithm scatter_algorithm }
        Allgather { algorithm allgather_algorithm, segment allgather_segment }
        Allgatherv { algorithm allgatherv_algorithm }
        Gatherv { algorithm gatherv_algorithm }
        Scatterv { algorithm scatterv_algorithm }
        Alltoall { algorithm alltoall_algorithm, fanout alltoall_fanout }
        Alltoallv { algorithm alltoallv_algorithm, fanout alltoallv_fanout }
        Alltoallw { algorithm alltoallw_algorithm, fanout alltoallw_fanout }
        Reduce { algorithm reduce_algorithm, segment reduce_segment, fanout reduce_fanout }
        Allreduce { algorithm allreduce_algorithm, segment allreduce_segment, fanout allreduce_fanout }
        ReduceScatter { algorithm reduce_scatter_algorithm }
        ReduceScatterBlock { algorithm reduce_scatter_block_algorithm }
        Scan { algorithm scan_algorithm, segment scan_segment }
        Exscan { algorithm exscan_algorithm, segment exscan_segment }
    }
    forced
}

fn given(value: i64) -> Option<i64> {
    (value >= 0).then_some(value)
}
