//! A node made of one process: several attachments to one memory file.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use btl::Peer;
use btl_vader::{Vader, VaderParams, segment_bytes};
use node::{Attach, Node, NodeParams};

/// A memory file of `bytes` zeros, which does not shrink.
pub fn memory_file(bytes: u64) -> OwnedFd {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: a constant name; the descriptor is ours alone.
    let fd = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"segment".as_ptr(), flags)) };
    std::fs::File::from(fd.try_clone().unwrap()).set_len(bytes).unwrap();
    // SAFETY: the call takes numbers alone and touches no memory of ours.
    assert_eq!(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) }, 0);
    fd
}

/// What process `index` of `count`, all with this process's id, attaches with.
pub fn place(fd: &OwnedFd, params: &VaderParams, index: usize, count: usize) -> Attach {
    Attach {
        fd: fd.try_clone().unwrap(),
        layout: params.layout(count, segment_bytes(count)),
        local_index: index,
        local_peers: (0..count as u32).map(Peer).collect(),
        pids: vec![std::process::id() as i32; count],
        oversubscribed: false,
        proxy_pid: None,
    }
}

/// Process `index` of `count` on one segment.
pub fn node(fd: &OwnedFd, params: &VaderParams, index: usize, count: usize) -> Arc<Node> {
    Node::attach(place(fd, params, index, count), &NodeParams::default()).unwrap()
}

/// `count` endpoints with `params` on one segment.
pub fn attach_all(count: usize, params: &VaderParams) -> Vec<Vader> {
    let fd = memory_file(segment_bytes(count));
    (0..count).map(|index| Vader::new(node(&fd, params, index, count), params)).collect()
}
