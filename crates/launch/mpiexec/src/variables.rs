//! Environment variables of other launchers that stand for flags. A flag always wins over a variable.

use std::env;
use std::path::Path;

use crate::flags::Complaint;
use crate::flags::control::seconds;
use crate::flags::placement::{bind_to, map_by};
use crate::hosts;
use crate::options::{JobOptions, Universe};
use crate::rankfile::RankFile;
use crate::usage::UsageError;

const BINDING: [&str; 4] = [
    "HYDRA_BINDING",
    "OMPI_MCA_hwloc_base_binding_policy",
    "PRTE_MCA_hwloc_default_binding_policy",
    "PRTE_MCA_bind_to",
];
const MAPPING: [&str; 3] =
    ["HYDRA_MAPPING", "OMPI_MCA_rmaps_base_mapping_policy", "PRTE_MCA_rmaps_default_mapping_policy"];
const RANK_FILE: [&str; 2] = ["OMPI_MCA_rmaps_rank_file_path", "OMPI_MCA_orte_rankfile"];
const OVERSUBSCRIBE: [&str; 1] = ["OMPI_MCA_rmaps_base_oversubscribe"];
const TIMEOUT: [&str; 1] = ["MPIEXEC_TIMEOUT"];
const UNIVERSE: [&str; 1] = ["MPIEXEC_UNIVERSE_SIZE"];
const HOST_FILE: [&str; 3] = ["HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile"];

const LAUNCHER: [&str; 2] = ["HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP"];
const LAUNCHER_PROGRAM: [&str; 4] =
    ["HYDRA_LAUNCHER_EXEC", "HYDRA_BOOTSTRAP_EXEC", "OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"];
const LAUNCHER_ARGUMENTS: [&str; 5] = [
    "HYDRA_LAUNCHER_EXTRA_ARGS",
    "HYDRA_LAUNCH_EXTRA_ARGS",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
    "OMPI_MCA_plm_rsh_args",
    "PRTE_MCA_plm_ssh_args",
];

type Switch = fn(&mut JobOptions);

/// Open MPI's switches, by the names that they had over time, and what they do.
const SWITCHES: [(&[&str], Switch); 5] = [
    (&["OMPI_MCA_orte_tag_output"], |job| job.output.stream_prefix = true),
    (&["OMPI_MCA_orte_timestamp_output"], |job| job.output.timestamp = true),
    (&["OMPI_MCA_hwloc_base_report_bindings", "OMPI_MCA_orte_report_bindings"], |job| {
        job.report_bindings = true
    }),
    (&["OMPI_MCA_rmaps_base_display_map"], |job| job.display_map = true),
    (&["OMPI_MCA_hwloc_base_use_hwthreads_as_cpus"], |job| job.placement.threads_count = true),
];

/// Fills in what the command line left open. Variables of Open MPI may come as `--mca` flags, too.
pub fn fill_in(job: &mut JobOptions) -> Result<(), UsageError> {
    let given = |names: &[&'static str]| first(names, &job.parameters);
    let (bind, map, oversubscribe) = (given(&BINDING), given(&MAPPING), given(&OVERSUBSCRIBE));
    let (timeout, universe) = (given(&TIMEOUT), given(&UNIVERSE));
    let (host_file, rank_file) = (given(&HOST_FILE), given(&RANK_FILE));
    let launcher = [given(&LAUNCHER), given(&LAUNCHER_PROGRAM), given(&LAUNCHER_ARGUMENTS)];
    let switched =
        SWITCHES.iter().filter(|(names, _)| given(names).is_some_and(|(_, value)| is_true(&value)));
    let switched: Vec<_> = switched.map(|(_, apply)| *apply).collect();
    switched.into_iter().for_each(|apply| apply(job));

    if let (None, Some((name, value))) = (job.placement.bind, bind) {
        bind_to(&mut job.placement, &value).map_err(|complaint| explain(complaint, name, value))?;
    }
    if let (None, Some((name, value))) = (job.placement.map, map) {
        map_by(job, &value).map_err(|complaint| explain(complaint, name, value))?;
    }
    if let (None, Some((_, value))) = (&job.rank_file, rank_file) {
        job.rank_file = Some(RankFile::read(Path::new(&value))?);
    }
    if let (None, Some((_, value))) = (job.placement.oversubscribe, oversubscribe) {
        job.placement.oversubscribe = is_true(&value).then_some(true);
    }
    if let (None, Some((name, value))) = (job.timeout, timeout) {
        job.timeout = Some(seconds(&value).map_err(|complaint| explain(complaint, name, value))?);
    }
    if let (None, Some((name, value))) = (job.universe, universe) {
        let size = value.parse().map_err(|_| explain(Complaint::Expected("a number"), name, value))?;
        job.universe = Some(Universe::Size(size));
    }
    let wishes = [&mut job.launcher.name, &mut job.launcher.program, &mut job.launcher.arguments];
    for (wish, given) in wishes.into_iter().zip(launcher) {
        if wish.is_none() {
            *wish = given.map(|(_, value)| value);
        }
    }
    if let (true, Some((_, value))) = (job.hosts.is_empty(), host_file) {
        job.hosts = hosts::read_file(Path::new(&value))?;
    }
    Ok(())
}

/// Whether the parameter `name` of Open MPI is one that concerns the launcher and is read here.
pub fn is_launchers(name: &str) -> bool {
    let read = [
        &BINDING[..],
        &MAPPING,
        &RANK_FILE,
        &OVERSUBSCRIBE,
        &HOST_FILE,
        &LAUNCHER_PROGRAM,
        &LAUNCHER_ARGUMENTS,
    ];
    let switches = SWITCHES.iter().flat_map(|(names, _)| names.iter());
    read.into_iter().flatten().chain(switches).any(|known| parameter(known) == Some(name))
}

/// The parameter that a variable of Open MPI or PRRTE sets.
fn parameter(variable: &str) -> Option<&str> {
    variable.strip_prefix("OMPI_MCA_").or_else(|| variable.strip_prefix("PRTE_MCA_"))
}

fn is_true(value: &str) -> bool {
    matches!(value, "1" | "true" | "yes")
}

/// The first of `names` that is set and not empty, as a `--mca` flag or a variable, with its value.
fn first(names: &[&'static str], flags: &[(String, String)]) -> Option<(&'static str, String)> {
    let flag = |name: &&'static str| {
        let (_, value) = flags.iter().rev().find(|(flag, _)| parameter(name) == Some(flag.as_str()))?;
        Some((*name, value.clone()))
    };
    let variable = |name: &&'static str| Some((*name, env::var(name).ok()?));
    let set = names.iter().find_map(flag).or_else(|| names.iter().find_map(variable));
    set.filter(|(_, value)| !value.is_empty())
}

fn explain(complaint: Complaint, name: &str, value: String) -> UsageError {
    match complaint {
        Complaint::Expected(expected) => UsageError::BadValue { flag: format!("{name}="), value, expected },
        Complaint::Other(error) => error,
    }
}
