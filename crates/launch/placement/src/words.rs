//! What users ask for: the words of `-bind-to` and `-map-by`, and what goes with them.

use channel::wire::{wire_enum, wire_struct};
use hardware::{CpuSet, Unit};

use crate::slots::Slots;

/// What the user asked for. The default asks for nothing.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// `-bind-to`.
    pub bind: Option<Bind>,
    /// `-map-by`.
    pub map: Option<Map>,
    /// `-rank-by`: number the ranks object by object instead of round robin.
    pub fill: bool,
    /// `-cpu-set`: use only these processors.
    pub cpu_set: Option<CpuSet>,
    /// `-cpu-list`: processors by rank; ranks that are missing are not bound. Ranks count from 0 on each host.
    pub by_rank: Vec<Option<CpuSet>>,
    /// `-bind-to user:LIST`: further ranks begin the list anew.
    pub by_rank_in_turn: bool,
    /// `-rankfile`: for each rank of the job.
    pub by_file: Vec<Slots>,
    /// `-oversubscribe` / `-nooversubscribe`.
    pub oversubscribe: Option<bool>,
    /// `-use-hwthread-cpus`: a processor to count is a hardware thread, not a core.
    pub threads_count: bool,
}

/// `-bind-to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Leave the ranks where the system puts them.
    None,
    /// To a group of processors; several ranks may share one only if `overload` is set.
    To {
        /// The group.
        unit: Unit,
        /// `:overload-allowed`.
        overload: bool,
        /// `core:2`: so many of them for each rank.
        count: u32,
    },
}

/// `-map-by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// Ranks go round robin over these objects.
    pub unit: Unit,
    /// `ppr:N:unit`: exactly this many ranks on each object, object by object.
    pub per_object: Option<u32>,
    /// `:PE=n`: processors (cores, or threads with `-use-hwthread-cpus`) for each rank.
    pub per_rank: Option<u32>,
}

impl Bind {
    /// Reads the argument of `-bind-to`. `None` for what is not known.
    pub fn parse(text: &str) -> Option<Bind> {
        let (name, modifiers) = text.split_once(':').unwrap_or((text, ""));
        let (mut overload, mut count) = (false, 1);
        for modifier in modifiers.split(',').filter(|m| !m.is_empty()) {
            match modifier.to_ascii_lowercase().as_str() {
                "overload-allowed" => overload = true,
                "no-overload" | "if-supported" | "report" => {}
                number => count = number.parse().ok().filter(|&n| n > 0)?,
            }
        }
        match name.to_ascii_lowercase().as_str() {
            "none" => Some(Bind::None),
            // MPICH's "round robin" over what the system calls processors.
            "rr" => Some(Bind::To { unit: Unit::Thread, overload, count }),
            name => Unit::parse(name).map(|unit| Bind::To { unit, overload, count }),
        }
    }
}

/// What [`Map::parse`] understood: the mapping and what its modifiers set of other things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapOptions {
    /// The mapping; none for `slot` and its like.
    pub map: Option<Map>,
    /// `:OVERSUBSCRIBE`, `:NOOVERSUBSCRIBE`.
    pub oversubscribe: Option<bool>,
    /// `:HWTCPUS`.
    pub threads_count: bool,
}

impl Map {
    /// Reads the argument of `-map-by`: `unit[:modifiers]`, `ppr:N:unit[:modifiers]`, `slot[:modifiers]`.
    /// `None` for what is not known.
    pub fn parse(text: &str) -> Option<MapOptions> {
        let lower = text.to_ascii_lowercase();
        let mut words = lower.split([':', ',']);
        let mut options = MapOptions::default();
        let mut map = match words.next()? {
            "slot" | "seq" | "dist" | "" => None,
            "ppr" => {
                let count = words.next()?.parse().ok().filter(|&n| n > 0)?;
                Some(Map { unit: Unit::parse(words.next()?)?, per_object: Some(count), per_rank: None })
            }
            name => Some(Map { unit: Unit::parse(name)?, per_object: None, per_rank: None }),
        };
        for word in words {
            match word {
                "oversubscribe" => options.oversubscribe = Some(true),
                "nooversubscribe" => options.oversubscribe = Some(false),
                "hwtcpus" => options.threads_count = true,
                "corecpus" | "span" | "nolocal" | "display" | "" => {}
                _ => {
                    let count = word.strip_prefix("pe=")?.parse().ok().filter(|&n| n > 0)?;
                    map = Some(map.unwrap_or(Map { unit: Unit::Core, per_object: None, per_rank: None }));
                    map.as_mut()?.per_rank = Some(count);
                }
            }
        }
        options.map = map;
        Some(options)
    }
}

wire_enum! { Bind { 0 None, 1 To { unit, overload, count }, } }
wire_struct! {
    Placement { bind, map, fill, cpu_set, by_rank, by_rank_in_turn, by_file, oversubscribe, threads_count }
    Map { unit, per_object, per_rank }
}
