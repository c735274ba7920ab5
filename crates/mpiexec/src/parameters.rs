//! `--mca name value`: parameters of the library travel to the ranks as environment variables, which win over
//! files. Names and values are checked here, once per job.

use std::env;
use std::ffi::OsString;

use crate::options::JobOptions;

/// Open MPI's names that concern its launcher, and which nothing has to be done for.
const WITHOUT_EFFECT: [&str; 8] = [
    "plm_rsh_no_tree_spawn",
    "oob_tcp_if_include",
    "oob_tcp_if_exclude",
    "orte_keep_fqdn_hostnames",
    "orte_default_hostfile",
    "orte_base_help_aggregate",
    "btl_base_warn_component_unused",
    "opal_warn_on_missing_libcuda",
];

/// Turns the `--mca` flags of `job` into variables, and returns what is to be said about names and values
/// that no rank will understand. Looks at variables that are set already as well.
pub fn settle(job: &mut JobOptions) -> Vec<String> {
    let inherited =
        env::vars_os().any(|(name, _)| name.to_str().is_some_and(|n| n.starts_with("ALHENA_MCA_")));
    if job.parameters.is_empty() && !inherited {
        return Vec::new();
    }
    let registry = rooms::registry();
    let mut warnings = Vec::new();
    for (name, value) in std::mem::take(&mut job.parameters) {
        if WITHOUT_EFFECT.contains(&name.as_str()) {
            continue;
        }
        match name.as_str() {
            "plm_rsh_agent" => {
                job.launcher.program.get_or_insert(value);
                continue;
            }
            "plm_rsh_args" => {
                job.launcher.arguments.get_or_insert(value);
                continue;
            }
            _ => {}
        }
        let variable = match registry.translate(&name) {
            Some(param) => {
                if !param.accepts(&value) {
                    warnings.push(format!(
                        "--mca {name} {value}: the value does not fit; {}",
                        param.expectation()
                    ));
                }
                param.variable()
            }
            None => format!("ALHENA_MCA_{name}"),
        };
        job.set.push((OsString::from(variable), OsString::from(value)));
    }
    let pairs = job.set.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let all = env::vars().collect::<Vec<_>>();
    let values = mca::Values::from_variables(pairs.chain(all.iter().map(|(n, v)| (n.as_str(), v.as_str()))));
    warnings.extend(registry.unknown(&values).iter().map(ToString::to_string));
    warnings
}
