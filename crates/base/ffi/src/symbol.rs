//! Symbols that need not be there.

/// The address of a symbol that need not be there, or 0.
#[macro_export]
macro_rules! weak_address {
    ($symbol:literal) => {{
        let address: usize;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: reads an entry of the global offset table, which is 0 where no library has the symbol.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $symbol), concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                out(reg) address, options(pure, nomem, nostack, preserves_flags),
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $symbol), concat!("adrp {0}, :got:", $symbol),
                concat!("ldr {0}, [{0}, :got_lo12:", $symbol, "]"),
                out(reg) address, options(pure, nomem, nostack, preserves_flags),
            );
        }
        address
    }};
}
