//! The environment of ranks: what they inherit, what an outer job's variables must not reach them, and what
//! the launcher sets for them (names that scripts of MPICH's and Open MPI's users rely on, and our own).

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::spec::{Environment, Inherit};

/// Variables of an outer job or launcher, by prefix. Left in place they would connect a nested job to the
/// outer one.
const OUTER_PREFIXES: [&str; 6] = ["PMI_", "PMIX_", "OMPI_COMM_WORLD_", "HYDI_", "PRTE_", "ALHENA_PMI"];
/// Further such variables, whole names.
const OUTER_NAMES: [&str; 11] = [
    // Memory of tools of the outer job, in which its own ranks have parts.
    "ALHENA_PROFILE",
    "ALHENA_CHECK",
    "ALHENA_CHECK_SENDS",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_FIRST_RANKS",
    "OMPI_COMMAND",
    "OMPI_ARGV",
    "OMPI_FILE_LOCATION",
];

/// Place of one rank.
pub struct RankPlace {
    /// Rank in the job.
    pub rank: usize,
    /// Ranks of the job.
    pub size: usize,
    /// The how many-th rank of this host it is.
    pub local_rank: usize,
    /// Ranks of this host.
    pub local_size: usize,
    /// Number of the rank's PMI descriptor.
    pub pmi_fd: i32,
    /// Inode of that socket.
    pub pmi_inode: u64,
    /// Name of the proxy's socket.
    pub socket: u64,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe: Option<u32>,
}

/// The environment that all ranks of a program share, as `NAME=value`.
pub fn shared(environment: &Environment) -> Vec<CString> {
    let mut variables: Vec<(OsString, OsString)> = match &environment.inherit {
        Inherit::None => Vec::new(),
        Inherit::Usual | Inherit::All => env::vars_os().collect(),
        Inherit::Only(names) => {
            names.iter().filter_map(|name| env::var_os(name).map(|value| (name.clone(), value))).collect()
        }
    };
    variables.retain(|(name, _)| !is_outer(name));
    for (name, value) in &environment.set {
        variables.retain(|(other, _)| other != name);
        variables.push((name.clone(), value.clone()));
    }
    // gfortran buffers output of pre-connected units, which is then lost in an abort.
    let unbuffered = OsStr::new("GFORTRAN_UNBUFFERED_PRECONNECTED");
    if !variables.iter().any(|(name, _)| name == unbuffered) {
        variables.push((unbuffered.to_owned(), OsString::from("y")));
    }
    variables.into_iter().filter_map(|(name, value)| entry(name, &value)).collect()
}

/// Variables that go along to other hosts, by prefix: parameters of this library and of others whose names it reads,
/// OpenMP's, and those of libfabric, which it loads.
const FORWARDED_PREFIXES: [&str; 5] = ["ALHENA_", "OMPI_MCA_", "MPIR_CVAR_", "OMP_", "FI_"];
/// Further such variables, whole names.
const FORWARDED_NAMES: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// The variables of this process's environment that go along to other hosts, for programs with these environments:
/// `PATH`, `LD_LIBRARY_PATH`, and names that begin with `ALHENA_`, `OMPI_MCA_`, `MPIR_CVAR_`, `OMP_` or `FI_`; all of them
/// where the user asked for all.
pub(crate) fn forwarded<'a>(
    environments: impl Iterator<Item = &'a Environment> + Clone,
) -> Vec<(OsString, OsString)> {
    let everything = environments.clone().any(|environment| environment.inherit == Inherit::All);
    let asked = |name: &OsStr| {
        environments.clone().any(|environment| match &environment.inherit {
            Inherit::Only(names) => names.iter().any(|other| other == name),
            _ => false,
        })
    };
    let usual = |name: &OsStr| {
        let bytes = name.as_bytes();
        FORWARDED_PREFIXES.iter().any(|prefix| bytes.starts_with(prefix.as_bytes()))
            || FORWARDED_NAMES.iter().any(|other| name == *other)
    };
    let goes = |name: &OsStr| !is_outer(name) && (everything || usual(name) || asked(name));
    env::vars_os().filter(|(name, _)| goes(name)).collect()
}

/// What one rank gets in addition.
pub fn of_rank(place: &RankPlace) -> Vec<CString> {
    let RankPlace { rank, size, local_rank, local_size, pmi_fd, pmi_inode, socket, universe } = place;
    let universe = universe.map_or(*size, |n| n as usize);
    let texts = [
        format!("{}={pmi_fd}:{pmi_inode}:{socket:016x}", pmi::protocol::VARIABLE),
        format!("PMI_FD={pmi_fd}"),
        format!("PMI_RANK={rank}"),
        format!("PMI_SIZE={size}"),
        format!("MPI_LOCALRANKID={local_rank}"),
        format!("MPI_LOCALNRANKS={local_size}"),
        format!("OMPI_COMM_WORLD_RANK={rank}"),
        format!("OMPI_COMM_WORLD_SIZE={size}"),
        format!("OMPI_COMM_WORLD_LOCAL_RANK={local_rank}"),
        format!("OMPI_COMM_WORLD_LOCAL_SIZE={local_size}"),
        format!("OMPI_COMM_WORLD_NODE_RANK={local_rank}"),
        format!("OMPI_UNIVERSE_SIZE={universe}"),
    ];
    texts.into_iter().filter_map(|text| CString::new(text).ok()).collect()
}

/// Whether a variable belongs to an outer job.
pub fn is_outer(name: &OsStr) -> bool {
    let name = name.as_bytes();
    OUTER_PREFIXES.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
        || OUTER_NAMES.iter().any(|other| name == other.as_bytes())
}

/// `NAME=value`; nothing for what the system cannot express.
fn entry(name: OsString, value: &OsStr) -> Option<CString> {
    let mut bytes = name.into_vec();
    bytes.push(b'=');
    bytes.extend_from_slice(value.as_bytes());
    CString::new(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared_text(environment: &Environment) -> Vec<String> {
        shared(environment).iter().map(|s| s.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn later_settings_win_and_nothing_else_is_inherited() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let environment =
            Environment { inherit: Inherit::None, set: vec![pair("A", "1"), pair("B", "2"), pair("A", "3")] };
        assert_eq!(shared_text(&environment), ["B=2", "A=3", "GFORTRAN_UNBUFFERED_PRECONNECTED=y"]);
    }

    #[test]
    fn only_named_variables_are_inherited() {
        let names = vec![OsString::from("PATH"), OsString::from("NO_SUCH_VARIABLE")];
        let text = shared_text(&Environment { inherit: Inherit::Only(names), set: Vec::new() });
        assert_eq!(text.len(), 2);
        assert!(text[0].starts_with("PATH="));
    }

    #[test]
    fn variables_of_an_outer_job_are_known() {
        for name in ["PMI_FD", "OMPI_COMM_WORLD_RANK", "PMIX_NAMESPACE", "ALHENA_PMI", "MPI_LOCALRANKID"] {
            assert!(is_outer(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "OMPI_MCA_btl", "ALHENA_MCA_btl", "ALHENA_ALLOW_SINGLETON"] {
            assert!(!is_outer(OsStr::new(name)), "{name}");
        }
    }
}
