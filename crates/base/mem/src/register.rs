//! An address that is computed once.

/// `place`, whose address the compiler has in a register from here on and takes for a new value: else it would add up
/// base, index and offset anew at each use, and keep all of them in registers for that.
#[inline(always)]
pub fn in_register<T>(place: &T) -> &T {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut address = core::ptr::from_ref(place).expose_provenance();
        // SAFETY: no instruction at all; the address stays what it was, and with it what may be done there.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) address, options(pure, nomem, nostack, preserves_flags));
            core::hint::assert_unchecked(address != 0);
            &*core::ptr::with_exposed_provenance(address)
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    place
}
