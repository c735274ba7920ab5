//! The check that every transaction passes at its target.

use crate::fabric::Registration;
use gni::{HandleFields, HwStatus, JobKey, MemFlags, MemHandle};

/// What a transaction wants to do with registered memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// Look at it.
    Read,
    /// Change it.
    Write,
}

/// The descriptor index a handle names, if the handle is intact.
pub(crate) fn mdd_of(handle: MemHandle) -> Result<u16, HwStatus> {
    handle.unpack().map(|fields| fields.mdd).ok_or(HwStatus::MddInvalid)
}

/// Whether `len` bytes at `addr` of the memory that `handle` names may be accessed.
///
/// `found` is what the target's descriptor table has at the handle's index, `keys` the initiator's and the
/// target's job.
pub(crate) fn check(
    found: Option<&Registration>,
    handle: MemHandle,
    keys: (JobKey, JobKey),
    addr: u64,
    len: u64,
    want: Want,
) -> Result<(), HwStatus> {
    let fields = handle.unpack().ok_or(HwStatus::MddInvalid)?;
    check_fields(found, &fields, keys, addr, len, want)
}

/// As [`check`], for a handle whose CRC was verified before.
#[inline]
pub(crate) fn check_fields(
    found: Option<&Registration>,
    fields: &HandleFields,
    keys: (JobKey, JobKey),
    addr: u64,
    len: u64,
    want: Want,
) -> Result<(), HwStatus> {
    let registration = found.ok_or(HwStatus::MddInvalid)?;
    if registration.generation != fields.generation || registration.addr & !0xfff != fields.base {
        return Err(HwStatus::MddInvalid);
    }
    if keys.0 != keys.1 || want == Want::Write && registration.flags.has(MemFlags::READ_ONLY) {
        return Err(HwStatus::Protection);
    }
    let end = addr.checked_add(len).ok_or(HwStatus::MemoryBounds)?;
    if addr < registration.addr || end > registration.addr + registration.len {
        return Err(HwStatus::MemoryBounds);
    }
    Ok(())
}
