//! Memory that processes of a host share, and what the kernel lets them copy.

use std::error::Error;
use std::fs;
use std::process::Command;

use platform::memory_file::MemoryFile;

use super::finding::Finding;

/// Bytes that are tried: what a job of some ranks needs.
const TRIAL: u64 = 64 << 20;

pub fn findings() -> Vec<Finding> {
    vec![shared(), single_copy(), huge_pages()]
}

fn shared() -> Finding {
    let check = "shared memory";
    let mib = TRIAL >> 20;
    match MemoryFile::create(TRIAL).and_then(|file| file.allocate()) {
        Ok(()) => {
            Finding::ok(check, format!("{mib} MiB of anonymous shared memory can be had (memfd_create)"))
        }
        Err(error) => Finding::problem(
            check,
            format!("{mib} MiB of anonymous shared memory cannot be had: {error}"),
            "give the container or control group more memory (docker run --memory=…, Slurm --mem=…), or allow memfd_create",
        ),
    }
}

/// A child reads this process's memory as ranks read each other's.
fn single_copy() -> Finding {
    let check = "single copy";
    let number = Box::new(std::process::id() as u64 ^ 0x5af3_107a_4000);
    platform::ptracer::allow(std::process::id() as i32);
    let address = std::ptr::from_ref::<u64>(&number).addr().to_string();
    let child = std::env::current_exe().and_then(|own| {
        let words = ["doctor", "--read", &std::process::id().to_string(), &address].map(str::to_owned);
        Command::new(own).args(words).output()
    });
    let seen = match child {
        Ok(output) if String::from_utf8_lossy(&output.stdout).trim() == number.to_string() => {
            return Finding::ok(check, "a process reads another one's memory (process_vm_readv)");
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "),
        Err(error) => error.to_string(),
    };
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let next = match scope.trim() {
        "2" | "3" => "sysctl kernel.yama.ptrace_scope=1 (as root)",
        _ => "docker run --cap-add=SYS_PTRACE, or a seccomp profile that allows process_vm_readv",
    };
    let scope = if scope.is_empty() { String::new() } else { format!(" (ptrace_scope {})", scope.trim()) };
    Finding::warning(
        check,
        format!("process_vm_readv is refused{scope}: large messages are copied twice; {seen}"),
        next,
    )
}

/// The child of [`single_copy`].
pub fn read_for_parent(pid: i32, address: u64) -> Result<(), Box<dyn Error>> {
    let number = platform::cma::read_number(pid, address).map_err(|failure| format!("{failure:?}"))?;
    println!("{number}");
    Ok(())
}

fn huge_pages() -> Finding {
    let check = "huge pages";
    let text = |name: &str| {
        fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{name}")).unwrap_or_default()
    };
    let chosen = |text: &str| text.split(['[', ']']).nth(1).unwrap_or("not known").to_owned();
    let (own, shared) = (chosen(&text("enabled")), chosen(&text("shmem_enabled")));
    match (platform::huge::size(), own.as_str()) {
        (Some(bytes), "always" | "madvise") => Finding::ok(
            check,
            format!("{} KiB pages: {own} for memory, {shared} for shared memory", bytes >> 10),
        ),
        _ => Finding::warning(
            check,
            format!(
                "processes get none ({own} for memory, {shared} for shared memory): large jobs take more page faults"
            ),
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)",
        ),
    }
}
