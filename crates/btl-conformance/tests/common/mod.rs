//! A node made of one process: several attachments to one memory file.

use std::os::fd::{FromRawFd, OwnedFd};

use btl::Peer;
use btl_vader::{Attach, Vader, VaderParams, segment_bytes};

/// A memory file of `bytes` zeros.
pub fn memory_file(bytes: u64) -> OwnedFd {
    // SAFETY: a constant name; the descriptor is ours alone.
    let fd = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"segment".as_ptr(), libc::MFD_CLOEXEC)) };
    std::fs::File::from(fd.try_clone().unwrap()).set_len(bytes).unwrap();
    fd
}

/// What process `index` of `count`, all with this process's id, attaches with.
pub fn node(fd: &OwnedFd, bytes: u64, index: usize, count: usize) -> Attach {
    Attach {
        fd: fd.try_clone().unwrap(),
        bytes,
        local_index: index,
        local_peers: (0..count as u32).map(Peer).collect(),
        pids: vec![std::process::id() as i32; count],
        oversubscribed: false,
        guard_pid: None,
    }
}

/// `count` endpoints with `params` on one segment.
pub fn attach_all(count: usize, params: &VaderParams) -> Vec<Vader> {
    let bytes = segment_bytes(count);
    let fd = memory_file(bytes);
    (0..count).map(|index| Vader::attach(node(&fd, bytes, index, count), params).unwrap()).collect()
}
