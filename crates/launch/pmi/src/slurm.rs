//! The place of a process that `srun` has started without any service (`--mpi=none`), from Slurm's variables alone.

use std::env;

/// A job step, as one of its processes sees it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JobStep {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// This process's node, counted from 0 within the step.
    pub(crate) node: u32,
    /// Name of the step's first node, on which rank 0 runs.
    pub(crate) first: String,
    pub(crate) job: u32,
    pub(crate) step: u32,
    /// Where rank 0 may listen.
    pub(crate) ports: Vec<u16>,
}

/// Ports that are tried where Slurm reserves none, and the range they are from: below those that systems give out.
const TRIED: u32 = 8;
const RANGE: std::ops::Range<u32> = 20_000..30_000;
/// Most ports that are tried of those that Slurm has reserved.
const MOST: usize = 64;

/// The step of several processes that this one belongs to.
pub(crate) fn step() -> Option<JobStep> {
    from(|name| env::var(name).ok())
}

fn from(variable: impl Fn(&str) -> Option<String>) -> Option<JobStep> {
    let number = |name| variable(name)?.trim().parse::<u32>().ok();
    let (rank, size) = (number("SLURM_PROCID")?, number("SLURM_STEP_NUM_TASKS")?);
    let (job, step) = (number("SLURM_JOB_ID")?, number("SLURM_STEP_ID")?);
    if size < 2 || rank >= size {
        return None;
    }
    let first = first_of(&variable("SLURM_STEP_NODELIST")?)?;
    let reserved = variable("SLURM_STEP_RESV_PORTS").and_then(|list| ports(&list));
    let ports = reserved.unwrap_or_else(|| derived(job, step));
    Some(JobStep { rank, size, node: number("SLURM_NODEID")?, first, job, step, ports })
}

/// The first name of a list like `n[01-04,7],g3`.
fn first_of(list: &str) -> Option<String> {
    let end = list.find(',').unwrap_or(list.len());
    let Some(open) = list.find('[').filter(|&open| open < end) else {
        return Some(list[..end].to_owned()).filter(|name| !name.is_empty());
    };
    let (inside, behind) = list[open + 1..].split_once(']')?;
    let number = inside.split([',', '-']).next().filter(|number| !number.is_empty())?;
    let behind = behind.split(',').next().unwrap_or("");
    // A second bracket counts within the first one's numbers.
    let behind =
        if behind.contains('[') { first_of(&list[list.find(']')? + 1..])? } else { behind.to_owned() };
    Some(format!("{}{number}{behind}", &list[..open]))
}

/// The ports of a list like `12000-12003,12007`.
fn ports(list: &str) -> Option<Vec<u16>> {
    let mut ports = Vec::new();
    for part in list.trim().trim_matches(['[', ']']).split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u16, u16) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        ports.extend((low..=high).take(MOST.saturating_sub(ports.len())));
    }
    (!ports.is_empty()).then_some(ports)
}

/// Ports that all processes of a step compute alike, and those of another step hardly ever.
fn derived(job: u32, step: u32) -> Vec<u16> {
    let mut state = u64::from(job) << 32 | u64::from(step);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        chance::mix(state) as u32
    };
    (0..TRIED).map(|_| (RANGE.start + next() % (RANGE.end - RANGE.start)) as u16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> Option<JobStep> {
        from(|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn a_step_is_read_from_slurms_variables() {
        let mut set = vec![
            ("SLURM_PROCID", "3"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_JOB_ID", "17"),
            ("SLURM_STEP_ID", "2"),
            ("SLURM_NODEID", "1"),
            ("SLURM_STEP_NODELIST", "n[07-09]"),
        ];
        let step = with(&set).unwrap();
        assert_eq!((step.rank, step.size, step.node, step.first.as_str()), (3, 4, 1, "n07"));
        assert_eq!(step.ports, derived(17, 2));
        assert_ne!(derived(17, 2), derived(17, 3));
        set.push(("SLURM_STEP_RESV_PORTS", "12000-12001,12005"));
        assert_eq!(with(&set).unwrap().ports, [12000, 12001, 12005]);
        // A script of sbatch is in no step of several processes.
        assert_eq!(with(&[("SLURM_PROCID", "0"), ("SLURM_JOB_ID", "17")]), None);
        set[1].1 = "1";
        assert_eq!(with(&set), None);
    }

    #[test]
    fn lists_of_nodes_begin_with_a_name() {
        for (list, first) in [
            ("a", "a"),
            ("a,b[1-2]", "a"),
            ("n[3,5]", "n3"),
            ("n[01-04,7],g3", "n01"),
            ("r[1-2]n[5-6]x", "r1n5x"),
        ] {
            assert_eq!(first_of(list).as_deref(), Some(first), "{list}");
        }
        for list in ["", "n[", "n[]"] {
            assert_eq!(first_of(list), None, "{list}");
        }
    }
}
