//! Placement of the ranks on processors.

use std::path::Path;

use hardware::CpuSet;
use placement::{Bind, Map, Placement};

use super::{Complaint, Flag, text};
use crate::options::{JobOptions, Options};
use crate::rankfile::RankFile;
use crate::usage::UsageError;

pub const FLAGS: &[Flag] = &[
    Flag {
        names: &["bind-to"],
        values: &["UNIT"],
        help: "none, hwthread, core, l1cache, l2cache, l3cache, numa, socket; core:2; user:0,1 by rank; :overload-allowed",
        apply: |options, values| bind_to(&mut options.job.placement, text(&values[0])?),
    },
    Flag {
        names: &["map-by"],
        values: &["UNIT"],
        help: "slot, a unit as above, ppr:N:UNIT, rankfile:file=F; with :PE=N, :OVERSUBSCRIBE, :NOOVERSUBSCRIBE, :HWTCPUS",
        apply: |options, values| map_by(&mut options.job, text(&values[0])?),
    },
    Flag {
        names: &["bind-to-core"],
        values: &[],
        help: "-bind-to core",
        apply: |options, _| bind_to(&mut options.job.placement, "core"),
    },
    Flag {
        names: &["bind-to-socket"],
        values: &[],
        help: "-bind-to socket",
        apply: |options, _| bind_to(&mut options.job.placement, "socket"),
    },
    Flag {
        names: &["bind-to-none"],
        values: &[],
        help: "-bind-to none",
        apply: |options, _| bind_to(&mut options.job.placement, "none"),
    },
    Flag {
        names: &["byslot"],
        values: &[],
        help: "-map-by slot",
        apply: |options, _| map_by(&mut options.job, "slot"),
    },
    Flag {
        names: &["bycore"],
        values: &[],
        help: "-map-by core",
        apply: |options, _| map_by(&mut options.job, "core"),
    },
    Flag {
        names: &["bysocket"],
        values: &[],
        help: "-map-by socket",
        apply: |options, _| map_by(&mut options.job, "socket"),
    },
    Flag {
        names: &["bynode"],
        values: &[],
        help: "-map-by node",
        apply: |options, _| map_by(&mut options.job, "node"),
    },
    Flag {
        names: &["cpus-per-proc", "cpus-per-rank"],
        values: &["N"],
        help: "-map-by slot:PE=N",
        apply: |options, values| {
            let number = super::count(&values[0])?;
            map_by(&mut options.job, &format!("slot:PE={number}"))
        },
    },
    Flag {
        names: &["rank-by"],
        values: &["ORDER"],
        help: "slot or span number ranks round robin over the units; fill, core and hwthread unit by unit",
        apply: |options, values| {
            options.job.placement.fill = match text(&values[0])?.to_ascii_lowercase().as_str() {
                "fill" | "core" | "hwthread" => true,
                "slot" | "span" | "socket" | "package" | "numa" | "node" | "object" => false,
                _ => return Err(Complaint::Expected("slot, span, fill, core or hwthread")),
            };
            Ok(())
        },
    },
    Flag {
        names: &["cpu-set"],
        values: &["LIST"],
        help: "use only these processors, such as 0-3,8",
        apply: |options, values| {
            let cpus = cpu_set(text(&values[0])?)?;
            options.job.placement.cpu_set = Some(cpus);
            Ok(())
        },
    },
    Flag {
        names: &["cpu-list"],
        values: &["LIST"],
        help: "processor of rank 0, of rank 1, …: 4,5,0-1",
        apply: |options, values| {
            let cpus = text(&values[0])?.split(',').map(|part| cpu_set(part).map(Some));
            options.job.placement.by_rank = cpus.collect::<Result<_, _>>()?;
            Ok(())
        },
    },
    Flag {
        names: &["rankfile", "rf"],
        values: &["FILE"],
        help: "host and processors by rank: `rank 0=host slot=1:0-2` (socket 1, its cores 0 to 2)",
        apply: |options, values| {
            options.job.rank_file = Some(RankFile::read(Path::new(&values[0]))?);
            Ok(())
        },
    },
    Flag {
        names: &["report-bindings"],
        values: &[],
        help: "print the processors of each rank",
        apply: |options, _| {
            options.job.report_bindings = true;
            Ok(())
        },
    },
    Flag {
        names: &["display-map", "display-allocation", "display-devel-map", "print-rank-map"],
        values: &[],
        help: "print which rank runs what and where",
        apply: |options, _| {
            options.job.display_map = true;
            Ok(())
        },
    },
    Flag {
        names: &["display"],
        values: &["WHAT,…"],
        help: "map, bind: as -display-map and -report-bindings",
        apply: |options, values| {
            for word in text(&values[0])?.split(',') {
                match word {
                    "map" | "map-devel" | "allocation" | "topo" => options.job.display_map = true,
                    "bind" | "bindings" => options.job.report_bindings = true,
                    _ => return Err(Complaint::Expected("map or bind")),
                }
            }
            Ok(())
        },
    },
    Flag {
        names: &["use-hwthread-cpus"],
        values: &[],
        help: "count hardware threads instead of cores",
        apply: |options, _| {
            options.job.placement.threads_count = true;
            Ok(())
        },
    },
    Flag {
        names: &["oversubscribe"],
        values: &[],
        help: "more ranks than processors or slots are welcome",
        apply: |options, _| oversubscribe(options, true),
    },
    Flag {
        names: &["nooversubscribe"],
        values: &[],
        help: "more ranks than processors are an error",
        apply: |options, _| oversubscribe(options, false),
    },
];

/// `-bind-to`, or a variable that means it.
pub fn bind_to(placement: &mut Placement, value: &str) -> Result<(), Complaint> {
    if let Some(list) = value.strip_prefix("user:") {
        placement.by_rank = list.split(',').map(|entry| joined(entry).map(Some)).collect::<Result<_, _>>()?;
        placement.by_rank_in_turn = true;
        return Ok(());
    }
    let bind = Bind::parse(value).ok_or(Complaint::Expected(
        "none, hwthread, core, l1cache, l2cache, l3cache, numa, socket or user:LIST",
    ))?;
    if placement.bind.is_some_and(|before| before != bind) {
        return Err(contradiction(format!("-bind-to {value} and another -bind-to before it")));
    }
    placement.bind = Some(bind);
    Ok(())
}

/// `-map-by`, or a variable that means it.
pub fn map_by(job: &mut JobOptions, value: &str) -> Result<(), Complaint> {
    let rest = by_file(job, value)?;
    let value = rest.as_deref().unwrap_or(value);
    let options = Map::parse(value).ok_or(Complaint::Expected(
        "slot, core, numa, socket, node, ppr:N:UNIT or rankfile:file=F with modifiers",
    ))?;
    let placement = &mut job.placement;
    if placement.map.is_some() && options.map.is_some() && placement.map != options.map {
        return Err(contradiction(format!("-map-by {value} and another mapping before it")));
    }
    placement.map = options.map.or(placement.map);
    placement.oversubscribe = options.oversubscribe.or(placement.oversubscribe);
    placement.threads_count |= options.threads_count;
    Ok(())
}

/// `rankfile:file=F`, with modifiers that hold for `slot` as well: what is then left to be read.
fn by_file(job: &mut JobOptions, value: &str) -> Result<Option<String>, Complaint> {
    let mut words = value.split(':');
    if !words.next().is_some_and(|word| word.eq_ignore_ascii_case("rankfile")) {
        return Ok(None);
    }
    let mut rest = "slot".to_owned();
    for word in words {
        match word.split_once('=') {
            Some((key, path)) if key.eq_ignore_ascii_case("file") => {
                job.rank_file = Some(RankFile::read(Path::new(path))?);
            }
            _ => rest.extend([":", word]),
        }
    }
    Ok(Some(rest))
}

fn oversubscribe(options: &mut Options, wanted: bool) -> Result<(), Complaint> {
    if options.job.placement.oversubscribe == Some(!wanted) {
        return Err(contradiction("-oversubscribe and -nooversubscribe".to_owned()));
    }
    options.job.placement.oversubscribe = Some(wanted);
    Ok(())
}

/// Processors of one rank, which MPICH joins by `+`.
fn joined(entry: &str) -> Result<CpuSet, Complaint> {
    let parts: Vec<CpuSet> = entry.split('+').map(cpu_set).collect::<Result<_, _>>()?;
    Ok(parts.iter().flat_map(CpuSet::iter).collect())
}

fn cpu_set(value: &str) -> Result<CpuSet, Complaint> {
    CpuSet::parse(value)
        .filter(|cpus| !cpus.is_empty())
        .ok_or(Complaint::Expected("processors such as 0-3,8"))
}

fn contradiction(seen: String) -> Complaint {
    Complaint::Other(UsageError::Contradiction { seen })
}
