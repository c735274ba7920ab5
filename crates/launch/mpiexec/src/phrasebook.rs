//! Names of Open MPI's parameters that mean nothing here, or something else.
//!
//! Scripts carry them along for years. What needs no action stays silent; only what a typing error for one of our own
//! names would give is worth a word.

use mca::{Kind, Param, Registry};

/// Frameworks of Open MPI, PRRTE and PMIx: `pml`, `pml_ucx_verbose` and so on are names of theirs.
const FRAMEWORKS: &str = "accelerator allocator atomic backtrace base bml btl coll common compress crcp crs dfs dl dpm errmgr ess event \
    fbtl fcoll filem fs gpr grpcomm hook hwloc if installdirs io iof mca memchecker memcpy memheap memory mpool \
    mtl notifier ns odls oob ompi op opal orte osc part patcher plm pls pmdl pmix pml prte prtereachable pstat \
    pubsub ras rcache reachable rmaps rmgr rml routed rtc schizo scoll sec sensor sharedfp shmem smr spml sshmem \
    state threads timer topo ucx vprotocol vt";

/// Names of Open MPI's that begin with `mpi_`, as ours do.
const OF_MPI: &str = "mpi_abort_delay mpi_abort_print_stack mpi_accelerator_rcache mpi_add_procs_cutoff mpi_assert \
    mpi_built_with_cuda_support mpi_comm_warn mpi_common_cuda_verbose mpi_cuda_support mpi_dynamics_enabled \
    mpi_event_tick_rate mpi_ft_detector mpi_ft_enable mpi_ft_verbose mpi_have_sparse_group_storage \
    mpi_help_aggregate mpi_leave_pinned mpi_leave_pinned_pipeline mpi_maffinity_alone mpi_memory_alloc_kinds \
    mpi_no_free_handles mpi_oversubscribe mpi_paffinity_alone mpi_param_check mpi_pmix_connect_timeout \
    mpi_preconnect_all mpi_preconnect_mpi mpi_preconnect_oob mpi_show_handle_leaks mpi_show_mca_params \
    mpi_show_mpi_alloc_mem_leaks mpi_sparse_group mpi_warn_on_fork";

/// Transports of Open MPI that do not exist here.
const TRANSPORTS: &str = "cuda elan gm knem mvapi mx mxm ofi ofud openib portals portals4 psm psm2 scif sctp smcuda template uct udapl \
    usnic";

/// Its message layers.
const MESSAGE_LAYERS: &str = "ucx yalla bfo mxm monitoring v dr example";

/// Ours that reach no other host.
const ON_ONE_HOST: [&str; 2] = ["vader", "sm"];

/// Whether `name` is one that Open MPI's users may set without anything to be done for it.
pub fn is_foreign(name: &str, registry: &Registry) -> bool {
    // The name of a framework itself is not to be taken for a typing error of another one's.
    let is_framework =
        |known| name == known || is_part_of(name, known) && typing_error(name, registry).is_none();
    has(OF_MPI, name) || FRAMEWORKS.split_whitespace().any(is_framework)
}

fn is_part_of(name: &str, framework: &str) -> bool {
    name.strip_prefix(framework).is_some_and(|rest| rest.starts_with('_'))
}

fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// The parameter of ours that `name` is a typing error for.
pub fn typing_error(name: &str, registry: &Registry) -> Option<&'static str> {
    mca::mistyped(name, registry.all().iter().map(|param| param.name))
}

/// A value of Open MPI's in our words.
#[derive(Debug, PartialEq, Eq)]
pub enum Value {
    /// It fits, or what is left of it does.
    Fits(String),
    /// It fits nothing we have, and that is no mistake.
    Dropped,
    /// A list in which nothing is left that carries messages between processes.
    Useless,
    /// A typing error, probably for this word.
    Mistyped(&'static str),
    /// A mistake.
    Bad,
}

/// What `text` means for `param`, in a job on `several` hosts or on one. Of a list, words that are not known are left
/// out: all of them after `^`, otherwise as long as one remains that carries messages between all processes.
pub fn value(param: &Param, text: &str, several: bool) -> Value {
    if param.accepts(text) {
        return Value::Fits(text.to_owned());
    }
    match param.kind {
        Kind::Words(words) => list(words, text, several),
        // Open MPI numbers its algorithms, and has message layers of its own.
        Kind::Choice(_) if text.parse::<u32>().is_ok() || text.starts_with('^') => Value::Dropped,
        Kind::Choice(_) if text.split(',').any(|word| has(MESSAGE_LAYERS, word)) => Value::Dropped,
        Kind::Choice(words) => match mca::mistyped(text, words.iter().copied()) {
            Some(word) => Value::Mistyped(word),
            None => Value::Bad,
        },
        _ => Value::Bad,
    }
}

fn list(known: &'static [&'static str], text: &str, several: bool) -> Value {
    let (names, exclusive) = text.trim().strip_prefix('^').map_or((text, false), |rest| (rest, true));
    let mut kept = Vec::new();
    for word in names.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let typing_error = mca::mistyped(word, known.iter().copied()).filter(|_| !has(TRANSPORTS, word));
        match typing_error {
            _ if known.contains(&word) => kept.push(word),
            Some(word) => return Value::Mistyped(word),
            None => {}
        }
    }
    match exclusive {
        true => Value::Fits(format!("^{}", kept.join(","))),
        false if kept.iter().any(|word| *word != "self" && !(several && ON_ONE_HOST.contains(word))) => {
            Value::Fits(kept.join(","))
        }
        false => Value::Useless,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_typing_errors_are_worth_a_word() {
        let registry = parameters::registry();
        for name in [
            "pml",
            "coll",
            "osc",
            "io",
            "mtl",
            "mpi_leave_pinned",
            "btl_base_verbose",
            "btl_openib_allow_ib",
            "pml_ucx_tls",
            "coll_hcoll_enable",
            "orte_base_help_aggregate",
            "opal_cuda_support",
            "hwloc_base_report_bindings",
            "osc_ucx_tls",
        ] {
            assert!(is_foreign(name, &registry) || registry.translate(name).is_some(), "{name}");
        }
        for name in ["btl_vadre_eager_limit", "btl_tcp_if_inclde", "mpi_spinus", "nonsense", "plmx"] {
            assert!(!is_foreign(name, &registry), "{name}");
        }
    }

    #[test]
    fn lists_keep_what_is_known() {
        const WORDS: &[&str] = &["self", "vader", "tcp"];
        let fits = |text: &str| Value::Fits(text.to_owned());
        assert_eq!(list(WORDS, "vader,self,openib", false), fits("vader,self"));
        assert_eq!(list(WORDS, "^openib,tcp", true), fits("^tcp"));
        assert_eq!(list(WORDS, "^uct", false), fits("^"));
        assert_eq!(list(WORDS, "openib,self", false), Value::Useless);
        assert_eq!(list(WORDS, "vader,self,openib", true), Value::Useless);
        assert_eq!(list(WORDS, "self,vadre", false), Value::Mistyped("vader"));
    }
}
