//! What other front-ends call: the functions of the standard ABI by their addresses.
//!
//! A front-end of another ABI (`libmpi.so.12`, say) needs `libmpi_abi.so.1` and reaches its functions by one exported table,
//! never by their names: a profiling library defines `MPI_Send` in terms of the ABI that its program has, and the loader
//! would find that one. Several front-ends in one process so share one library.

/// The table. Front-ends are made from the same function table; the version states which.
#[repr(C)]
pub struct Functions<const N: usize> {
    /// That of the function table, see `function_table::version`.
    pub version: u64,
    /// The addresses of all functions, in the order of `function_table::for_front_ends`.
    pub functions: [*const (); N],
}

// SAFETY: addresses of functions, never written.
unsafe impl<const N: usize> Sync for Functions<N> {}
