//! Processors of a rank in the words of a rank file, which mean something on the rank's host only.
//!
//! ```text
//!   slot=1:0-2      package 1, its cores 0 to 2          slot=0:*;1:0   several, joined
//!   slot=0-3        cores 0 to 3 of the host             slot=S1        package 1 as a whole
//!   slot=p0-3       processors 0 to 3 as the system numbers them
//! ```
//!
//! Packages and cores are counted from 0 among those that the job may use on the host. With `-use-hwthread-cpus` hardware
//! threads are counted instead of cores. Source: Open MPI's `mpirun(1)` and PRRTE's `prte-map(1)`, section on rank files.

use channel::wire::{wire_enum, wire_struct};
use hardware::{CpuSet, Topology, Unit};

/// Processors of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    parts: Vec<Part>,
}

/// What stands between two semicolons.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Processors as the system numbers them.
    Numbered(CpuSet),
    /// Cores of a package, or of the whole host.
    Cores { package: Option<u32>, cores: Option<CpuSet> },
}

wire_enum! { Part { 0 Numbered(cpus), 1 Cores { package, cores }, } }
wire_struct! { Slots { parts } }

impl Slots {
    /// Reads what follows `slot=`. `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Slots> {
        let parts: Vec<Part> = text.split(';').map(|part| Part::parse(part.trim())).collect::<Option<_>>()?;
        Some(Slots { parts })
    }

    /// The processors that these are on a host; the error names which of them it does not have.
    pub(crate) fn on(&self, topology: &Topology, threads_count: bool) -> Result<CpuSet, String> {
        let unit = if threads_count { Unit::Thread } else { Unit::Core };
        let parts = self.parts.iter().map(|part| part.on(topology, unit));
        let parts: Vec<CpuSet> = parts.collect::<Result<_, _>>()?;
        Ok(parts.iter().flat_map(CpuSet::iter).collect())
    }
}

impl Part {
    fn parse(text: &str) -> Option<Part> {
        let some = |list: &str| CpuSet::parse(list).filter(|numbers| !numbers.is_empty());
        if let Some((package, cores)) = text.split_once(':') {
            let package = package.trim().parse().ok()?;
            let cores = if cores.trim() == "*" { None } else { Some(some(cores)?) };
            return Some(Part::Cores { package: Some(package), cores });
        }
        if let Some(package) = text.strip_prefix(['S', 's']) {
            return Some(Part::Cores { package: Some(package.trim().parse().ok()?), cores: None });
        }
        match text.strip_prefix(['P', 'p']) {
            Some(numbers) => some(numbers).map(Part::Numbered),
            None => Some(Part::Cores { package: None, cores: Some(some(text)?) }),
        }
    }

    fn on(&self, topology: &Topology, unit: Unit) -> Result<CpuSet, String> {
        let (package, cores) = match self {
            Part::Numbered(cpus) if cpus.intersection(topology.allowed()) == *cpus => {
                return Ok(cpus.clone());
            }
            Part::Numbered(cpus) => {
                return Err(format!("processors {cpus}, of which only {} may be used", topology.allowed()));
            }
            Part::Cores { package, cores } => (package, cores),
        };
        let mut units = topology.units(unit);
        let mut place = String::new();
        if let Some(number) = package {
            let packages = topology.units(Unit::Package);
            let Some(package) = packages.get(*number as usize) else {
                return Err(format!("package {number} where there are {} to use", packages.len()));
            };
            units.retain(|unit| !unit.intersection(package).is_empty());
            place = format!(" of package {number}");
        }
        let Some(cores) = cores else { return Ok(units.iter().flat_map(CpuSet::iter).collect()) };
        let chosen: Option<Vec<&CpuSet>> = cores.iter().map(|number| units.get(number as usize)).collect();
        let missing = || format!("{}s {cores}{place} where there are {} to use", unit.name(), units.len());
        Ok(chosen.ok_or_else(missing)?.into_iter().flat_map(CpuSet::iter).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use channel::wire::{decode, encode};
    use hardware::sample::Sample;

    fn on_sample(name: &str, text: &str, threads_count: bool) -> Result<String, String> {
        let slots = Slots::parse(text).ok_or("malformed")?;
        assert_eq!(decode(&encode(&slots)), Some(slots.clone()));
        slots.on(&Sample::two_packages(name, "0-7"), threads_count).map(|cpus| cpus.to_string())
    }

    #[test]
    fn slots_are_cores_of_packages_or_of_the_host() {
        for (text, threads_count, cpus) in [
            ("1:0-1", false, "2-3,6-7"),
            ("0:1", false, "1,5"),
            ("1:*", false, "2-3,6-7"),
            ("S0", false, "0-1,4-5"),
            ("0-2", false, "0-2,4-6"),
            ("0,3", false, "0,3-4,7"),
            ("0:0;1:0", false, "0,2,4,6"),
            ("0:2", true, "4"),
            ("5", true, "5"),
            ("p0-1", false, "0-1"),
        ] {
            assert_eq!(on_sample("slots", text, threads_count).as_deref(), Ok(cpus), "{text}");
        }
    }

    #[test]
    fn what_a_host_does_not_have_is_named() {
        for (text, why) in [
            ("2:0", "package 2 where there are 2"),
            ("0:0-2", "cores 0-2 of package 0 where there are 2"),
            ("4", "cores 4 where there are 4"),
            ("p8", "processors 8, of which only 0-7"),
        ] {
            let seen = on_sample("missing", text, false).unwrap_err();
            assert!(seen.contains(why), "{text}: {seen}");
        }
    }

    #[test]
    fn malformed_slots_are_refused() {
        for text in ["", "x", "0:", ":0", "0:x", "0;", "p", "S", "3-1"] {
            assert_eq!(Slots::parse(text), None, "{text}");
        }
    }
}
