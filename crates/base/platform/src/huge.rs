//! Huge pages under memory that is in use already.

use std::io;

/// Why memory did not get a huge page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// This range cannot have one: not all of it is mapped, or not in one way.
    Unfit,
    /// Not now: its pages are in use elsewhere.
    Busy,
    /// The kernel cannot do it, or has no huge page left.
    Lacking,
}

/// Bytes of a huge page, where the system lets processes have such.
pub fn size() -> Option<usize> {
    let setting =
        |name: &str| std::fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{name}")).ok();
    if setting("enabled")?.contains("[never]") {
        return None;
    }
    setting("hpage_pmd_size")?.trim().parse().ok().filter(|&size: &usize| size.is_power_of_two())
}

/// Puts the `len` bytes at `address`, both multiples of [`size`], onto huge pages, at once; what they hold stays.
///
/// # Errors
/// [`Refusal`]; nothing has changed then.
pub fn collapse(address: usize, len: usize) -> Result<(), Refusal> {
    // SAFETY: the call changes neither what the range holds nor how it may be used, whatever is mapped there.
    if unsafe { libc::madvise(address as *mut libc::c_void, len, MADV_COLLAPSE) } == 0 {
        return Ok(());
    }
    Err(match io::Error::last_os_error().raw_os_error() {
        // Kernels before 6.1 do not know the advice and answer as to an unfit range.
        Some(libc::EINVAL | libc::EFAULT) => Refusal::Unfit,
        // Documented for ranges that are not mapped as a whole, and for cgroups without memory.
        Some(libc::ENOMEM) => Refusal::Unfit,
        Some(libc::EAGAIN | libc::EBUSY) => Refusal::Busy,
        _ => Refusal::Lacking,
    })
}

/// Of Linux 6.1 and later.
const MADV_COLLAPSE: libc::c_int = 25;

#[cfg(test)]
mod tests {
    use super::{collapse, size};

    #[test]
    fn what_memory_holds_stays() {
        let Some(page) = size() else { return };
        let mut memory: Vec<u64> = (0..3 * page as u64 / 8).collect();
        let start = (memory.as_ptr() as usize).next_multiple_of(page);
        // Whether it succeeds depends on the kernel.
        let _ = collapse(start, page);
        assert!(memory.iter().enumerate().all(|(at, &word)| word == at as u64));
        memory[page / 8] = 7;
        assert_eq!(memory[page / 8], 7);
    }
}
