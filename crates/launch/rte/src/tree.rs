//! Ending everything that descends from this process.
//!
//! This process is a subreaper: when a child dies, its children become ours. So it is enough to kill our own
//! children again and again until none is left; no process can hide by forking or by leaving its session.

use std::fs;

use platform::process_stat::Stat;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, wait};

/// Makes orphaned descendants children of this process.
pub fn adopt_orphans() {
    // Fails on kernels before 3.4 only; orphans then go to init, and the death signal has to do.
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
}

/// Kills all descendants and waits for them. Returns those that this user may not kill.
pub fn end_all() -> Vec<Pid> {
    let mut immune = Vec::new();
    loop {
        let children = children();
        let mut killed = false;
        for &child in &children {
            match kill_process(child, Signal::KILL) {
                Err(Errno::PERM) => immune.push(child),
                _ => killed = true,
            }
        }
        if !killed || wait(WaitOptions::empty()).is_err() {
            return immune;
        }
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    }
}

/// Our own children, zombies included. The launcher has one thread, so one file lists them all.
fn children() -> Vec<Pid> {
    let own = rustix::process::getpid();
    let own = own.as_raw_nonzero();
    match fs::read_to_string(format!("/proc/{own}/task/{own}/children")) {
        Ok(list) => list.split_whitespace().filter_map(parse_pid).collect(),
        Err(_) => children_by_scan(own.get()),
    }
}

/// For kernels without `CONFIG_PROC_CHILDREN`: looks at the parent of every process.
fn children_by_scan(parent: i32) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| parse_pid(entry.file_name().to_str()?));
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// `pid` and those from which it descends, as far as this process sees them.
pub fn ancestors(pid: Pid) -> impl Iterator<Item = Pid> {
    std::iter::successors(Some(pid), |&pid| Pid::from_raw(parent_of(pid)?))
}

fn parent_of(pid: Pid) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    Stat::parse(&text)?.number(4)?.try_into().ok()
}

fn parse_pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scan_finds_a_child() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        assert!(children_by_scan(own).contains(&Pid::from_raw(child.id() as i32).unwrap()));
        let line: Vec<Pid> = ancestors(Pid::from_raw(child.id() as i32).unwrap()).collect();
        assert_eq!(line[1].as_raw_nonzero().get(), own);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
