//! Single copy through xpmem: the peer's memory is mapped here, and a copy is a copy.
//!
//! Mapping costs a system call and page faults, so windows stay attached, in large pieces of the address space, as the
//! device keeps them true to the peer's mappings. The peer has promised to keep exposed memory mapped; one that
//! breaks its promise ends this process by SIGBUS, which is why this way is used only where it is asked for.

use mem::{UserMem, copy_bytes};
use platform::xpmem::Device;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use btl::Access;
use platform::cma::Failure;
use shm::Segment;

/// Windows begin and end at multiples of this many bytes.
const GRAIN: u64 = 4 << 20;
/// Windows attached to one peer at a time.
const WINDOWS: usize = 16;

/// Peers' memory that is mapped here.
#[derive(Debug)]
pub(crate) struct Mapped {
    device: Box<dyn Device>,
    /// By place on the node.
    peers: Box<[Attached]>,
}

#[derive(Debug, Default)]
struct Attached {
    /// The permission to attach.
    access: Option<i64>,
    /// Used last first.
    windows: VecDeque<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    /// The peer's address of its first byte.
    start: u64,
    len: u64,
    /// Where it is here.
    here: usize,
}

impl Mapped {
    /// Lets `ranks` processes of the node attach this one's memory; the identity of rank `me` shows them that. `None`:
    /// the device does not let us.
    pub(crate) fn new(device: Box<dyn Device>, segment: &Segment, me: usize, ranks: usize) -> Option<Mapped> {
        let name = device.make().ok()?;
        // Published by the store of the identity's address, which follows.
        segment.identity(me).xpmem.store(name as u64, Ordering::Relaxed);
        Some(Mapped { device, peers: (0..ranks).map(|_| Attached::default()).collect() })
    }

    /// Tries whether the memory of a peer can be attached: its secret number must be found there.
    pub(crate) fn meet(&mut self, segment: &Segment, local: usize) -> bool {
        let identity = segment.identity(local);
        let address = identity.address.load(Ordering::Acquire);
        let (name, expected) =
            (identity.xpmem.load(Ordering::Relaxed) as i64, identity.nonce.load(Ordering::Relaxed));
        if name == 0 || address == 0 {
            return false;
        }
        self.peers[local].access = self.device.get(name).ok();
        let mut found = 0u64;
        // SAFETY: `found` is ours, and nothing else refers to it.
        let memory = unsafe { UserMem::new(&raw mut found as usize, 8) };
        let read = self.copy(local as u32, address, memory, Access::Read);
        // Read through its address, since the copy went through it too.
        // SAFETY: a local variable.
        let met = read.is_ok() && unsafe { (&raw const found).read_volatile() } == expected && expected != 0;
        if !met {
            self.peers[local].access = None;
        }
        met
    }

    /// Whether the memory of a peer can be attached, as [`Mapped::meet`] has found.
    pub(crate) fn reaches(&self, local: u32) -> bool {
        self.peers[local as usize].access.is_some()
    }

    /// Copies between `memory` and `remote` of a peer that is reached.
    ///
    /// # Errors
    /// [`Failure`]: the device does not attach it.
    pub(crate) fn copy(
        &mut self,
        local: u32,
        remote: u64,
        memory: UserMem,
        access: Access,
    ) -> Result<(), Failure> {
        let there = self.attach(local, remote, memory.len() as u64)? as *mut u8;
        let here = memory.address() as *mut u8;
        // SAFETY: the window shows the peer's memory for the whole length, which the peer has promised to keep
        // mapped; the view's constructor vouches for ours. The two are different memory.
        unsafe {
            match access {
                Access::Read => copy_bytes(there, here, memory.len()),
                Access::Write => copy_bytes(here, there, memory.len()),
            }
        }
        Ok(())
    }

    /// Where `len` bytes at `remote` of the peer are here.
    fn attach(&mut self, local: u32, remote: u64, len: u64) -> Result<usize, Failure> {
        let peer = &mut self.peers[local as usize];
        let end = remote.checked_add(len).ok_or(Failure::Fault)?;
        let known = peer.windows.iter().position(|window| window.covers(remote, end));
        let window = match known.and_then(|at| peer.windows.remove(at)) {
            Some(window) => window,
            None => {
                let access = peer.access.ok_or(Failure::Refused)?;
                let start = remote / GRAIN * GRAIN;
                let len = end.checked_next_multiple_of(GRAIN).ok_or(Failure::Fault)? - start;
                let attached = self.device.attach(access, start, len as usize);
                let here = attached.map_err(|_| Failure::Refused)?;
                Window { start, len, here }
            }
        };
        peer.windows.push_front(window);
        if peer.windows.len() > WINDOWS
            && let Some(old) = peer.windows.pop_back()
        {
            self.device.detach(old.here);
        }
        Ok(window.here + (remote - window.start) as usize)
    }
}

impl Window {
    fn covers(&self, start: u64, end: u64) -> bool {
        self.start <= start && end <= self.start + self.len
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        for window in self.peers.iter().flat_map(|peer| &peer.windows) {
            self.device.detach(window.here);
        }
    }
}
