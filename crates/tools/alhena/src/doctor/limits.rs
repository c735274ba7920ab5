//! Limits of processes and control groups.

use std::fs;

use rte::Cgroup;
use rustix::process::{Resource, getrlimit};

use super::finding::Finding;

pub fn findings() -> Vec<Finding> {
    vec![processors(), memory(), open_files(), locked(), cores(), handlers()]
}

fn processors() -> Finding {
    let check = "processors";
    let allowed = hardware::CpuSet::allowed().len();
    match Cgroup::own().cpu_quota() {
        Some(quota) if quota < allowed as f64 => Finding::warning(
            check,
            format!("{allowed} may be used, but a control group limits their time to {quota:.1} processors"),
            format!(
                "start at most {} ranks, or raise the limit (docker run --cpus=…, cpu.max)",
                quota.ceil()
            ),
        ),
        _ => Finding::ok(check, format!("{allowed} may be used, and no control group limits their time")),
    }
}

fn memory() -> Finding {
    let check = "memory";
    let cgroup = Cgroup::own();
    let mib = |bytes: u64| bytes >> 20;
    match (cgroup.memory_limit(), cgroup.memory_left()) {
        (Some(limit), Some(left)) if left < 256 << 20 => Finding::warning(
            check,
            format!("a control group's limit of {} MiB leaves {} MiB", mib(limit), mib(left)),
            "raise it: docker run --memory=…, Slurm --mem=…, memory.max",
        ),
        (Some(limit), left) => Finding::ok(
            check,
            format!("a control group allows {} MiB and leaves {} MiB", mib(limit), mib(left.unwrap_or(0))),
        ),
        _ => Finding::ok(check, "no control group limits it"),
    }
}

fn open_files() -> Finding {
    let check = "open files";
    let limit = getrlimit(Resource::Nofile);
    let ranks = |most: u64| most.saturating_sub(rte::BESIDES) / rte::FOR_EACH;
    let processors = hardware::CpuSet::allowed().len() as u64;
    match limit.maximum {
        Some(most) if ranks(most) < processors => Finding::problem(
            check,
            format!(
                "at most {most}: enough for {} ranks on this host of {processors} processors",
                ranks(most)
            ),
            format!("ulimit -n {} (limits.conf: * - nofile 65536)", 65536),
        ),
        Some(most) if most < 1024 => Finding::warning(
            check,
            format!("at most {most}: enough for {} ranks on this host", ranks(most)),
            format!("ulimit -n {}", 65536),
        ),
        most => Finding::ok(
            check,
            format!("at most {}", most.map_or("any number".to_owned(), |most| most.to_string())),
        ),
    }
}

fn locked() -> Finding {
    let check = "locked memory";
    match getrlimit(Resource::Memlock).current {
        Some(bytes) if bytes < 64 << 20 => Finding::warning(
            check,
            format!(
                "{} KiB: networks that register memory (libfabric's verbs, for instance) need more",
                bytes >> 10
            ),
            "ulimit -l unlimited (limits.conf: * - memlock unlimited; in Slurm PropagateResourceLimitsExcept=MEMLOCK)",
        ),
        Some(bytes) => Finding::ok(check, format!("{} MiB", bytes >> 20)),
        None => Finding::ok(check, "unlimited"),
    }
}

fn cores() -> Finding {
    let check = "core files";
    match getrlimit(Resource::Core).current {
        Some(0) => Finding::warning(
            check,
            "none are written: a crash leaves nothing to look at",
            "ulimit -c unlimited",
        ),
        Some(bytes) => Finding::ok(check, format!("up to {} MiB", bytes >> 20)),
        None => {
            let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
            Finding::ok(check, format!("unlimited, to {}", pattern.trim()))
        }
    }
}

/// Whether a program is here that shows the call stacks of a job that hangs.
fn handlers() -> Finding {
    let check = "call stacks";
    match super::pairing::in_path("gdb").or_else(|| super::pairing::in_path("eu-stack")) {
        Some(path) => Finding::ok(check, format!("{} for -get-stack-traces", path.display())),
        None => Finding::warning(
            check,
            "neither gdb nor eu-stack is here: -get-stack-traces shows only what the kernel knows",
            "install gdb or elfutils",
        ),
    }
}
