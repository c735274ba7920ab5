//! `--mca name value`: parameters of the library travel to the ranks as environment variables, which win over
//! files. Names and values are checked here, once per job.

use std::env;
use std::ffi::{OsStr, OsString};

use mca::Registry;

use crate::options::JobOptions;
use crate::phrasebook::{self, Value};
use crate::variables;

/// Variables of the library, and Open MPI's.
const OWN: &str = "ALHENA_MCA_";
const FOREIGN: &str = "OMPI_MCA_";

/// Turns the `--mca` flags of `job` into variables, and returns what is to be printed about names and values that no
/// rank will understand. Also checks variables that are set already; Open MPI's may be meant for Open MPI, so there
/// only typing errors count.
pub fn settle(job: &mut JobOptions) -> Vec<String> {
    let inherited: Vec<(String, String)> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with(OWN) || name.starts_with(FOREIGN))
        .collect();
    if job.parameters.is_empty() && inherited.is_empty() {
        return Vec::new();
    }
    let registry = parameters::registry();
    let mut warnings = Vec::new();
    for (name, value) in std::mem::take(&mut job.parameters) {
        if !variables::is_launchers(&name) {
            warnings.extend(settle_flag(job, &registry, &name, value));
        }
    }
    for (variable, value) in &inherited {
        if let Some(name) = variable.strip_prefix(FOREIGN).filter(|name| !variables::is_launchers(name)) {
            warnings.extend(settle_foreign(job, &registry, name, value));
        }
    }
    let values = mca::Values::from_variables(inherited);
    warnings.extend(registry.unknown(&values).iter().map(ToString::to_string));
    warnings
}

/// Sets a parameter for the ranks that neither a flag nor a variable sets.
pub fn set_by_default(job: &mut JobOptions, name: &str, value: &str) {
    let variables = [OWN, FOREIGN].map(|prefix| OsString::from(format!("{prefix}{name}")));
    let is_set = |variable: &OsString| {
        env::var_os(variable).is_some() || job.set.iter().any(|(other, _)| other == variable)
    };
    if !variables.iter().any(is_set) {
        job.set.push((variables[0].clone(), value.into()));
    }
}

/// One `--mca` flag.
fn settle_flag(job: &mut JobOptions, registry: &Registry, name: &str, value: String) -> Option<String> {
    let Some(param) = registry.translate(name) else {
        let hint = match registry.nearest(name) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => "`alhena info --params` lists them".to_owned(),
        };
        let is_foreign = phrasebook::is_foreign(name, registry);
        return (!is_foreign).then(|| format!("there is no parameter {name} (--mca {name} {value}); {hint}"));
    };
    let (value, warning) = match phrasebook::value(param, &value, job.has_several_hosts()) {
        Value::Fits(value) => (value, None),
        Value::Dropped => return None,
        Value::Useless => {
            return Some(format!(
                "--mca {name} {value}: none of these is here; the default {} is used",
                param.default
            ));
        }
        Value::Mistyped(word) => {
            let warning = format!("--mca {name} {value}: the value does not fit; did you mean {word}?");
            (value, Some(warning))
        }
        Value::Bad => {
            let warning = format!("--mca {name} {value}: the value does not fit; {}", param.expectation());
            (value, Some(warning))
        }
    };
    job.set.push((OsString::from(param.variable()), OsString::from(value)));
    warning
}

/// One variable of Open MPI. Ranks read it themselves where its value fits.
fn settle_foreign(job: &mut JobOptions, registry: &Registry, name: &str, value: &str) -> Option<String> {
    let Some(param) = registry.translate(name) else {
        let meant =
            phrasebook::typing_error(name, registry).filter(|_| !phrasebook::is_foreign(name, registry))?;
        return Some(format!(
            "there is no parameter {name} ({FOREIGN}{name}={value}); did you mean {meant}?"
        ));
    };
    let own = param.variable();
    let is_set = job.set.iter().any(|(name, _)| *name == OsStr::new(&own)) || env::var_os(&own).is_some();
    match phrasebook::value(param, value, job.has_several_hosts()) {
        _ if is_set || param.accepts(value) => None,
        Value::Fits(value) => {
            job.set.push((OsString::from(own), OsString::from(value)));
            None
        }
        Value::Mistyped(word) => {
            Some(format!("{FOREIGN}{name}={value}: the value does not fit; did you mean {word}?"))
        }
        Value::Dropped | Value::Useless | Value::Bad => None,
    }
}
