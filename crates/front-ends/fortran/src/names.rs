//! Names of procedures: compilers add one underscore, two, none, or write capitals.

/// A second name of a procedure.
macro_rules! alias {
    ($name:ident = $to:path) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym $to);
            #[cfg(not(target_arch = "x86_64"))]
            core::arch::naked_asm!("b {}", sym $to);
        }
    };
}
pub(crate) use alias;

/// The names of a procedure beside the one with an underscore.
macro_rules! aliases {
    ($to:ident: $($name:ident)*) => { $( crate::names::alias! { $name = $to } )* };
}
pub(crate) use aliases;

/// The address of an object or a procedure as the program has it, from the loader's table: an executable may have its
/// own copy of an object, and its own place for the address of a procedure.
macro_rules! address_of {
    ($symbol:ident) => {{
        #[cfg(target_arch = "x86_64")]
        {
            let address: crate::place::P;
            // SAFETY: reads an entry of the global offset table.
            unsafe {
                core::arch::asm!(
                    "mov {}, qword ptr [rip + {}@GOTPCREL]", out(reg) address, sym $symbol,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            address
        }
        #[cfg(target_arch = "aarch64")]
        {
            let address: crate::place::P;
            // SAFETY: as above.
            unsafe {
                core::arch::asm!(
                    "adrp {0}, :got:{1}", "ldr {0}, [{0}, :got_lo12:{1}]", out(reg) address, sym $symbol,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            address
        }
    }};
}
pub(crate) use address_of;
