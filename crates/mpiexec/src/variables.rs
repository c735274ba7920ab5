//! Environment variables of other launchers that stand for flags. A flag always wins over a variable.

use std::env;
use std::path::Path;

use crate::flags::Complaint;
use crate::flags::control::seconds;
use crate::flags::placement::{bind_to, map_by};
use crate::hosts;
use crate::options::JobOptions;
use crate::usage::UsageError;

const BINDING: [&str; 4] = [
    "HYDRA_BINDING",
    "OMPI_MCA_hwloc_base_binding_policy",
    "PRTE_MCA_hwloc_default_binding_policy",
    "PRTE_MCA_bind_to",
];
const MAPPING: [&str; 3] =
    ["HYDRA_MAPPING", "OMPI_MCA_rmaps_base_mapping_policy", "PRTE_MCA_rmaps_default_mapping_policy"];
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

/// Fills in what the command line left open.
pub fn fill_in(job: &mut JobOptions) -> Result<(), UsageError> {
    if let (None, Some((name, value))) = (job.placement.bind, first(&BINDING)) {
        bind_to(&mut job.placement, &value).map_err(|complaint| explain(complaint, name, value))?;
    }
    if let (None, Some((name, value))) = (job.placement.map, first(&MAPPING)) {
        map_by(&mut job.placement, &value).map_err(|complaint| explain(complaint, name, value))?;
    }
    if let (None, Some((_, value))) = (job.placement.oversubscribe, first(&OVERSUBSCRIBE)) {
        job.placement.oversubscribe = matches!(value.as_str(), "1" | "true" | "yes").then_some(true);
    }
    if let (None, Some((name, value))) = (job.timeout, first(&TIMEOUT)) {
        job.timeout = Some(seconds(&value).map_err(|complaint| explain(complaint, name, value))?);
    }
    if let (None, Some((name, value))) = (job.universe_size, first(&UNIVERSE)) {
        let size = value.parse().map_err(|_| explain(Complaint::Expected("a number"), name, value))?;
        job.universe_size = Some(size);
    }
    for (option, names) in [
        (&mut job.launcher.name, &LAUNCHER[..]),
        (&mut job.launcher.program, &LAUNCHER_PROGRAM),
        (&mut job.launcher.arguments, &LAUNCHER_ARGUMENTS),
    ] {
        if option.is_none() {
            *option = first(names).map(|(_, value)| value);
        }
    }
    if let (true, Some((_, value))) = (job.hosts.is_empty(), first(&HOST_FILE)) {
        job.hosts = hosts::read_file(Path::new(&value))?;
    }
    Ok(())
}

/// The first of `names` that is set and not empty, with its value.
fn first(names: &[&'static str]) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| Some((*name, env::var(name).ok().filter(|value| !value.is_empty())?)))
}

fn explain(complaint: Complaint, name: &str, value: String) -> UsageError {
    match complaint {
        Complaint::Expected(expected) => UsageError::BadValue { flag: format!("{name}="), value, expected },
        Complaint::Other(error) => error,
    }
}
