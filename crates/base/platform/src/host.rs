//! The name of this host.

/// The host's name as the kernel has it, in the process's own namespace; nothing is resolved.
pub fn name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned())
}
