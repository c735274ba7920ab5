//! Interfaces, names, ssh, other launchers, libfabric.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::finding::Finding;
use super::pairing::in_path;

/// Name services have this long.
const TIMEOUT: Duration = Duration::from_secs(5);

pub fn findings() -> Vec<Finding> {
    vec![interfaces(), own_name(), ssh(), launchers(), libfabric()]
}

/// The addresses that lead here from other hosts, with their interfaces.
pub fn addresses() -> Vec<(String, IpAddr)> {
    let all = platform::interfaces::addresses().unwrap_or_default();
    let outside = all.into_iter().filter(|one| !one.address.is_loopback());
    outside.map(|one| (one.name, one.address)).collect()
}

/// Whether other hosts may be behind an interface: a bridge to which only containers and virtual machines are joined has
/// none.
pub fn leads_outside(interface: &str) -> bool {
    let Ok(ports) = fs::read_dir(format!("/sys/class/net/{interface}/brif")) else { return true };
    ports.flatten().any(|port| {
        let port = Path::new("/sys/class/net").join(port.file_name());
        let is_lower = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("lower_");
        port.join("device").exists() || fs::read_dir(port).is_ok_and(|all| all.flatten().any(is_lower))
    })
}

/// The largest packet of an interface.
pub fn mtu(interface: &str) -> Option<u32> {
    fs::read_to_string(format!("/sys/class/net/{interface}/mtu")).ok()?.trim().parse().ok()
}

fn interfaces() -> Finding {
    let check = "interfaces";
    let list: Vec<String> = addresses()
        .iter()
        .map(|(name, address)| {
            let mtu = mtu(name).map_or(String::new(), |mtu| format!(", MTU {mtu}"));
            let speed = fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok();
            let speed = speed.and_then(|text| text.trim().parse::<i64>().ok()).filter(|&speed| speed > 0);
            format!(
                "{name} {address}{mtu}{}",
                speed.map_or(String::new(), |speed| format!(", {speed} Mbit/s"))
            )
        })
        .collect();
    match list.is_empty() {
        false => Finding::ok(check, list.join("; ")),
        true => Finding::warning(
            check,
            "only the loopback: no job of several hosts can run here",
            "ip link; ip addr",
        ),
    }
}

/// Whether the own name is known, which programs ask for though this library does not.
fn own_name() -> Finding {
    let check = "name resolution";
    let name = super::host_name();
    match resolve(&name) {
        Some(addresses) if !addresses.is_empty() => {
            let list: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
            Finding::ok(check, format!("{name} is {}", list.join(", ")))
        }
        Some(_) => Finding::warning(
            check,
            format!("{name}, this host's name, has no address; Alhena does not need one, other programs may"),
            format!("echo '127.0.1.1 {name}' >> /etc/hosts (as root)"),
        ),
        None => Finding::warning(
            check,
            format!("asking for {name}, this host's name, took more than {} s", TIMEOUT.as_secs()),
            "see /etc/resolv.conf and /etc/nsswitch.conf",
        ),
    }
}

/// The addresses of `name`; `None` where no answer came in time.
fn resolve(name: &str) -> Option<Vec<IpAddr>> {
    let (send, receive) = mpsc::channel();
    let name = name.to_owned();
    // The thread may outlive the check: the system's resolver cannot be interrupted.
    thread::spawn(move || {
        let found = (name.as_str(), 0).to_socket_addrs().map(|all| all.map(|one| one.ip()).collect());
        let _ = send.send(found.unwrap_or_default());
    });
    let mut addresses: Vec<IpAddr> = receive.recv_timeout(TIMEOUT).ok()?;
    addresses.dedup();
    Some(addresses)
}

fn ssh() -> Finding {
    let check = "ssh";
    match in_path("ssh") {
        Some(path) => {
            Finding::ok(check, format!("{}; try hosts with `alhena doctor --hosts a,b`", path.display()))
        }
        None => Finding::warning(
            check,
            "there is no ssh: mpiexec cannot start daemons on other hosts with it",
            "install openssh-client, name another launcher (-launcher-exec), or let workers call (mpiexec -listen)",
        ),
    }
}

/// Signs of launchers that may have started this process, and libraries for them.
fn launchers() -> Finding {
    let check = "other launchers";
    let found: Vec<&str> =
        ["SLURM_JOB_ID", "PMIX_RANK", "PMI_RANK", "FLUX_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE"]
            .into_iter()
            .filter(|name| std::env::var_os(name).is_some())
            // Our own mpiexec's.
            .filter(|name| *name != "PMI_RANK" || std::env::var_os("ALHENA_PMI").is_none())
            .collect();
    let pmix = library("libpmix.so.2").map_or("no libpmix".to_owned(), |path| path.display().to_string());
    let said = if found.is_empty() { "no variables of any".to_owned() } else { found.join(", ") };
    if found.contains(&"PMIX_RANK") && !found.contains(&"PMI_RANK") && pmix == "no libpmix" {
        return Finding::problem(
            check,
            format!("{said}, and {pmix}: ranks that were started by PMIx cannot join their job"),
            "start the job with Alhena's mpiexec, or with srun --mpi=pmi2, or install libpmix",
        );
    }
    Finding::ok(check, format!("{said}; PMI-1 is built in; {pmix}"))
}

fn libfabric() -> Finding {
    let check = "libfabric";
    let Some(path) = library("libfabric.so.1") else {
        return Finding::ok(check, "not installed, and not needed by shared memory and TCP");
    };
    let listed = in_path("fi_info").and_then(|program| Command::new(program).arg("-l").output().ok());
    let text = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let providers: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.trim().strip_suffix(':'))
        .collect();
    match providers.is_empty() {
        false => Finding::ok(check, format!("{}: {}", path.display(), providers.join(", "))),
        true => Finding::ok(check, format!("{}; `fi_info -l` would list its providers", path.display())),
    }
}

/// Where the loader would find the library called `name`.
fn library(name: &str) -> Option<PathBuf> {
    let own = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
    ];
    let found = std::env::split_paths(&own)
        .chain(usual.map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|file| file.exists());
    found.or_else(|| {
        let listed = ["ldconfig", "/sbin/ldconfig"]
            .into_iter()
            .find_map(|program| Command::new(program).arg("-p").output().ok())?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let line = text.lines().find(|line| line.trim_start().starts_with(name))?;
        line.split_once("=> ").map(|(_, path)| PathBuf::from(path))
    })
}
