//! Registered memory: the NIC as a registration cache sees it, from where pools get blocks, and keys that name memory
//! to peers.
//!
//! A registration may cover more than the memory it was asked for. A [`RemoteKey`] is the handle and, in its third
//! word, what of the registration is exposed:
//!
//! ```text
//!   63       62                  61 ...... 31            30 ........ 0
//!   stores   length in pages     offset in bytes from    length, in bytes or pages
//!   allowed                      the handle's page
//! ```

use btl::RemoteKey;
use gni::{Cq, Error, Gni, MemFlags, MemHandle};
use mem::UserMem;
use rcache::{Rcache, Register};
use rdma::{Blocks, Quota, Use};

/// Set in a key whose memory may be stored into.
pub(crate) const STORES: u64 = 1 << 63;
const IN_PAGES: u64 = 1 << 62;
const FIELD: u64 = (1 << 31) - 1;
const PAGE: u64 = 4096;

/// A NIC as a registration cache sees it.
pub struct Interface<'a, N>(pub &'a mut N);

impl<N: Gni> Register for Interface<'_, N> {
    type Handle = MemHandle;
    type Error = Error;

    fn register(&mut self, memory: UserMem) -> Result<MemHandle, Error> {
        self.0.mem_register(memory, None, MemFlags::RELAXED_PI_ORDERING)
    }

    fn deregister(&mut self, handle: MemHandle) -> Result<(), Error> {
        self.0.mem_deregister(handle)
    }

    fn is_exhausted(error: &Error) -> bool {
        matches!(error, Error::Resource | Error::NoMemory)
    }
}

/// From where the pools get registered memory.
pub(crate) struct Room<'a, N> {
    nic: &'a mut N,
    /// Its unused registrations give way.
    cache: &'a mut Rcache<MemHandle>,
    pub(crate) quota: &'a mut Quota,
    /// Counts registered bytes.
    grown: &'a mut u64,
}

impl<'a, N: Gni> Room<'a, N> {
    pub(crate) fn new(
        nic: &'a mut N,
        cache: &'a mut Rcache<MemHandle>,
        quota: &'a mut Quota,
        grown: &'a mut u64,
    ) -> Room<'a, N> {
        Room { nic, cache, quota, grown }
    }

    /// A registered block, kept until the end.
    ///
    /// # Errors
    /// The NIC's, when it has no room and the cache nothing to give back.
    pub(crate) fn block(
        &mut self,
        bytes: usize,
        arrivals: Option<Cq>,
        flags: MemFlags,
    ) -> gni::Result<(UserMem, MemHandle)> {
        let memory = self.nic.mem_alloc(bytes)?;
        loop {
            match self.nic.mem_register(memory, arrivals, flags) {
                Ok(handle) => {
                    *self.grown += memory.len() as u64;
                    return Ok((memory, handle));
                }
                Err(error)
                    if Interface::<N>::is_exhausted(&error)
                        && self.cache.evict(&mut Interface(&mut *self.nic)) => {}
                Err(error) => {
                    // Nothing of it is registered, so it can be freed.
                    let _ = self.nic.mem_free(memory);
                    return Err(error);
                }
            }
        }
    }
}

// SAFETY: the NIC allocates each block anew, and frees what it gave out when it ends, after the transport.
#[allow(unsafe_code, reason = "a promise about the NIC's memory")]
unsafe impl<N: Gni> Blocks for Room<'_, N> {
    type Handle = MemHandle;

    fn block(&mut self, bytes: usize, extra: bool) -> Option<(UserMem, MemHandle)> {
        if extra && !self.quota.take(Use::Growth) {
            return None;
        }
        let made = Room::block(self, bytes, None, MemFlags::RELAXED_PI_ORDERING);
        if made.is_err() && extra {
            self.quota.give(Use::Growth);
        }
        made.ok()
    }
}

/// Names what is exposed; `None` where the registration begins too far below it, or for more than 2^43 bytes.
pub(crate) fn key_of(handle: MemHandle, memory: UserMem, stores: bool) -> Option<RemoteKey> {
    let [low, high] = handle.0;
    let offset = (memory.address() as u64).checked_sub(low & !(PAGE - 1))?;
    let len = memory.len() as u64;
    let (len, unit) = if len <= FIELD { (len, 0) } else { (len.div_ceil(PAGE), IN_PAGES) };
    let fits = offset <= FIELD && len <= FIELD;
    fits.then_some(RemoteKey([low, high, if stores { STORES } else { 0 } | unit | offset << 31 | len]))
}

/// The handle of exposed memory, where it begins, and its length (rounded up to pages where it is very long; the
/// NIC checks the rest).
pub(crate) fn place(key: &RemoteKey) -> (MemHandle, u64, u64) {
    let [low, high, place] = key.0;
    let len = (place & FIELD) * if place & IN_PAGES == 0 { 1 } else { PAGE };
    (MemHandle([low, high]), (low & !(PAGE - 1)).wrapping_add(place >> 31 & FIELD), len)
}

/// Registration and address of `len` bytes at `offset` of exposed memory, if they lie in it.
pub(crate) fn within(key: &RemoteKey, offset: u64, len: u64) -> Option<(MemHandle, u64)> {
    let (handle, base, exposed) = place(key);
    (offset.checked_add(len)? <= exposed).then(|| (handle, base.wrapping_add(offset)))
}

/// Whether the NIC has no room now, as opposed to never.
pub(crate) fn is_temporary(error: Error) -> bool {
    matches!(error, Error::NotDone | Error::Resource | Error::NoMemory)
}

#[cfg(test)]
mod tests {
    use super::{key_of, place};
    use gni::{HandleFields, MemHandle};
    use mem::UserMem;

    const BASE: u64 = 0x7f00_0000_0000;

    fn named(offset: usize, len: usize) -> Option<(u64, u64)> {
        let handle = MemHandle::pack(&HandleFields { base: BASE, mdd: 77, ..HandleFields::default() });
        #[allow(unsafe_code, reason = "a view of nothing")]
        // SAFETY: only numbers are looked at.
        let memory = unsafe { UserMem::new(BASE as usize + offset, len) };
        let key = key_of(handle, memory, len.is_multiple_of(2))?;
        let (back, start, len) = place(&key);
        assert_eq!(back, handle);
        Some((start - BASE, len))
    }

    #[test]
    fn keys_say_where_exposed_memory_lies_in_its_registration() {
        for (offset, len) in [(0, 0), (1, 1), (4095, 8192), (1 << 30, (1 << 31) - 1), ((1 << 31) - 1, 3)] {
            assert_eq!(named(offset, len), Some((offset as u64, len as u64)));
        }
        assert_eq!(named(0, (1 << 31) + 1), Some((0, (1 << 31) + 4096)), "rounded up to pages");
        assert_eq!(named(1 << 31, 1), None);
        assert_eq!(named(0, 1 << 44), None);
    }
}
