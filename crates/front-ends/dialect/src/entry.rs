//! Entry points: the two names of a function.

/// Exports a function as `PMPI_X` and as `MPI_X`, which a tool may define itself.
#[macro_export]
macro_rules! entry {
    ($mpi:ident $pmpi:ident ($($argument:ident: $kind:ty),*) -> $returns:ty { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub(crate) unsafe extern "C-unwind" fn $pmpi($($argument: $kind),*) -> $returns {
            // SAFETY: the program's arguments, under MPI's contract.
            unsafe { $($body)* }
        }

        $crate::alias! { $mpi = $pmpi }
    };
}

/// Exports a function by another name, too.
#[macro_export]
macro_rules! alias {
    ($name:ident = $to:path) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym $to);
            #[cfg(not(target_arch = "x86_64"))]
            core::arch::naked_asm!("b {}", sym $to);
        }
    };
}
