//! Works the processors of each rank out.

use std::fmt::{self, Display, Formatter, Write};

use hardware::{CpuSet, Topology, Unit};

use crate::words::{Bind, Map, Placement};

/// The result: processors of each rank, and what was found on the way.
#[derive(Debug, PartialEq, Eq)]
pub struct BindingPlan {
    /// Processors of each rank; `None` where it is not bound.
    pub cpus: Vec<Option<CpuSet>>,
    /// More ranks than processors, or than the quota of processor time allows.
    pub oversubscribed: bool,
    /// Why no rank is bound, where that was decided here.
    pub reason: Option<String>,
}

/// A placement that cannot be had.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What contradicts what, or is not there.
    pub seen: String,
    /// What to ask for instead.
    pub next: String,
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Refusal { seen, next } = self;
        write!(f, "placing the ranks: not possible as asked\n  seen: {seen}\n  next: {next}")
    }
}

impl std::error::Error for Refusal {}

impl Placement {
    /// Ranks that `ppr:N:unit` makes on this machine; `None` where it was not asked for.
    pub fn ranks_by_ppr(&self) -> Option<u32> {
        let map = self.map?;
        let objects = Topology::new(self.allowed()).units(map.unit).len() as u32;
        Some(map.per_object?.saturating_mul(objects))
    }

    /// The processors that this job may use.
    pub fn allowed(&self) -> CpuSet {
        let allowed = CpuSet::allowed();
        match &self.cpu_set {
            Some(wanted) => allowed.intersection(wanted),
            None => allowed,
        }
    }

    /// The processors of these ranks, by a rank file; `None` where there is none.
    pub fn plan_by_file(
        &self,
        world: &[u32],
        topology: &Topology,
        quota: Option<f64>,
    ) -> Result<Option<BindingPlan>, Refusal> {
        if self.by_file.is_empty() {
            return Ok(None);
        }
        if self.bind.is_some() || !self.by_rank.is_empty() {
            return Err(refuse("a rank file and -bind-to or -cpu-list", "leave one of the two out"));
        }
        let of_rank = |&rank: &u32| match self.by_file.get(rank as usize) {
            None => Ok(None),
            Some(slots) => slots.on(topology, self.threads_count).map(Some).map_err(|seen| {
                refuse(
                    format!("rank {rank} of the rank file has {seen}"),
                    "correct its slot=; `lscpu -e` on that host lists what there is",
                )
            }),
        };
        let cpus = world.iter().map(of_rank).collect::<Result<_, _>>()?;
        let oversubscribed = world.len() > usable(topology.allowed().len(), quota);
        Ok(Some(BindingPlan { cpus, oversubscribed, reason: None }))
    }

    /// Works out the processors of `size` ranks. `quota` is the processor time that control groups allow.
    pub fn plan(&self, size: usize, topology: &Topology, quota: Option<f64>) -> Result<BindingPlan, Refusal> {
        self.check_contradictions()?;
        if topology.allowed().is_empty() {
            return Err(refuse(
                "none of the processors given by -cpu-set may be used by this process",
                format!("use some of {}", CpuSet::allowed()),
            ));
        }
        let usable = usable(topology.allowed().len(), quota);
        let oversubscribed = size > usable;
        if oversubscribed && self.oversubscribe == Some(false) {
            return Err(refuse(
                format!("{size} ranks for {usable} processors, and -nooversubscribe"),
                format!("start at most {usable} ranks, or leave -nooversubscribe out"),
            ));
        }
        let unbound = |reason: Option<String>| BindingPlan { cpus: vec![None; size], oversubscribed, reason };
        if !self.by_rank.is_empty() {
            let entry = |rank| if self.by_rank_in_turn { rank % self.by_rank.len() } else { rank };
            let cpus = (0..size).map(|rank| self.by_rank.get(entry(rank)).cloned().flatten()).collect();
            return Ok(BindingPlan { cpus, oversubscribed, reason: None });
        }
        match (self.bind, self.map) {
            (Some(Bind::None), _) => Ok(unbound(None)),
            (None, None) if oversubscribed && quota.is_none() && size.is_multiple_of(usable) => {
                let threads = topology.units(Unit::Thread);
                let cpus = threads.into_iter().cycle().take(size).map(Some).collect();
                Ok(BindingPlan { cpus, oversubscribed, reason: None })
            }
            (None, None) if oversubscribed => {
                Ok(unbound(Some(format!("more ranks than processors: {size} for {usable}"))))
            }
            (None, None) if usable < topology.allowed().len() => {
                Ok(unbound(Some(format!("a control group limits processor time to {usable} processors"))))
            }
            (None, None) => Ok(BindingPlan {
                cpus: shares(size, topology).into_iter().map(Some).collect(),
                oversubscribed,
                reason: None,
            }),
            (None, Some(map)) if map.per_rank.is_none() && oversubscribed => {
                self.places(size, map, topology)?;
                Ok(unbound(Some(format!("more ranks than processors: {size} for {usable}"))))
            }
            (bind, map) => {
                let cpus = self.bound(size, bind, map, topology)?;
                Ok(BindingPlan { cpus: cpus.into_iter().map(Some).collect(), oversubscribed, reason: None })
            }
        }
    }

    fn check_contradictions(&self) -> Result<(), Refusal> {
        let pe = self.map.and_then(|map| map.per_rank);
        let clash = match (self.bind, pe) {
            (Some(Bind::None), Some(n)) => Some(format!("-bind-to none and -map-by …:PE={n}")),
            (Some(Bind::To { unit, .. }), Some(n)) if unit > Unit::Core => {
                Some(format!("-bind-to {} and -map-by …:PE={n}, which binds to {n} cores", unit.name()))
            }
            _ => None,
        };
        if let Some(clash) = clash {
            return Err(refuse(clash, "leave one of the two out"));
        }
        if self.bind.is_some() && !self.by_rank.is_empty() {
            return Err(refuse("-bind-to and a list of processors by rank", "leave one of the two out"));
        }
        Ok(())
    }

    /// The object of each rank, and the how many-th rank of that object it is.
    fn places(&self, size: usize, map: Map, topology: &Topology) -> Result<Vec<(CpuSet, usize)>, Refusal> {
        let objects = topology.units(map.unit);
        let mut places: Vec<(usize, usize)> = match map.per_object {
            Some(per_object) => {
                let room = objects.len() * per_object as usize;
                if size > room {
                    return Err(refuse(
                        format!(
                            "ppr:{per_object}:{0} has room for {room} ranks, {size} were asked for",
                            map.unit.name()
                        ),
                        format!("start at most {room} ranks, or raise the number after ppr:"),
                    ));
                }
                (0..size).map(|rank| (rank / per_object as usize, rank % per_object as usize)).collect()
            }
            None => (0..size).map(|rank| (rank % objects.len(), rank / objects.len())).collect(),
        };
        if self.fill {
            places.sort_unstable();
        }
        Ok(places.into_iter().map(|(object, nth)| (objects[object].clone(), nth)).collect())
    }

    fn bound(
        &self,
        size: usize,
        bind: Option<Bind>,
        map: Option<Map>,
        topology: &Topology,
    ) -> Result<Vec<CpuSet>, Refusal> {
        let smallest = if self.threads_count { Unit::Thread } else { Unit::Core };
        let (unit, overload, count) = match bind {
            Some(Bind::To { unit, overload, count }) => (unit, overload, count),
            _ => (smallest, false, 1),
        };
        let per_rank = map.and_then(|map| map.per_rank).unwrap_or(count) as usize;
        let overload = overload || self.oversubscribe == Some(true);
        let mut map = map.unwrap_or(Map { unit, per_object: None, per_rank: None });
        if per_rank > 1 && map.unit <= unit && map.per_object.is_none() {
            // An object holds one group at most, so ranks get neighbouring groups of the whole machine.
            map.unit = Unit::Host;
        }
        let units = topology.units(unit);
        let mut result = Vec::with_capacity(size);
        for (object, nth) in self.places(size, map, topology)? {
            // The groups inside the object, or the one around it where that is larger.
            let inside: Vec<&CpuSet> = units.iter().filter(|u| !u.intersection(&object).is_empty()).collect();
            if unit > map.unit {
                result.push(inside[0].clone());
                continue;
            }
            let first = nth * per_rank;
            if first + per_rank > inside.len() && !(overload && per_rank <= inside.len()) && unit <= Unit::L2
            {
                let room = inside.len() / per_rank;
                let seen = format!(
                    "each {} has {} of kind {} to bind to, room for {room} ranks of {per_rank} each; \
                     {size} ranks need more",
                    map.unit.name(),
                    inside.len(),
                    unit.name(),
                );
                return Err(refuse(
                    if map.unit == unit { one_level(size, per_rank, units.len(), unit) } else { seen },
                    "start fewer ranks, use -bind-to none, or share them with -bind-to …:overload-allowed",
                ));
            }
            let members = (0..per_rank).flat_map(|i| inside[(first + i) % inside.len()].iter());
            result.push(members.collect());
        }
        Ok(result)
    }
}

/// Why ranks that are mapped and bound to the same kind of group do not fit.
fn one_level(size: usize, per_rank: usize, groups: usize, unit: Unit) -> String {
    format!("{size} ranks of {per_rank} {0} each, and {groups} of kind {0} that may be used", unit.name())
}

/// An even share of the cores for each of `size` ranks; of the threads where there are fewer cores than ranks.
fn shares(size: usize, topology: &Topology) -> Vec<CpuSet> {
    let cores = ordered_cores(topology);
    let units = if size <= cores.len() { cores } else { topology.units(Unit::Thread) };
    let share = |rank: usize| {
        let (first, end) = (rank * units.len() / size, (rank + 1) * units.len() / size);
        units[first..end].iter().flat_map(CpuSet::iter).collect()
    };
    (0..size).map(share).collect()
}

/// The cores, those of one package and memory node next to each other.
fn ordered_cores(topology: &Topology) -> Vec<CpuSet> {
    let cores = topology.units(Unit::Core);
    if cores.len() <= 2 {
        return cores;
    }
    let nodes = topology.units(Unit::Numa);
    nodes.iter().flat_map(|node| cores.iter().filter(|c| !c.intersection(node).is_empty()).cloned()).collect()
}

/// Processors that count: a quota of 1.5 processors keeps two of them busy in part.
fn usable(allowed: usize, quota: Option<f64>) -> usize {
    match quota {
        Some(quota) => allowed.min(quota.ceil().max(1.0) as usize),
        None => allowed,
    }
}

fn refuse(seen: impl Into<String>, next: impl Into<String>) -> Refusal {
    Refusal { seen: seen.into(), next: next.into() }
}

impl BindingPlan {
    /// For `-report-bindings`: one line per rank.
    pub fn report(&self, host: &str, world: &[u32]) -> String {
        let mut text = String::new();
        for (rank, cpus) in world.iter().zip(&self.cpus) {
            let _ = match (cpus, &self.reason) {
                (Some(cpus), _) => {
                    writeln!(text, "mpiexec: rank {rank} on {host} is bound to processors {cpus}")
                }
                (None, Some(reason)) => {
                    writeln!(text, "mpiexec: rank {rank} on {host} is not bound ({reason})")
                }
                (None, None) => writeln!(text, "mpiexec: rank {rank} on {host} is not bound"),
            };
        }
        text
    }
}
