//! The recorder: a library that is loaded before `libmpi_abi` and writes down each rank's MPI calls.
//!
//! ```text
//!   the program ── MPI_Send ──▶ this library ── PMPI_Send ──▶ libmpi_abi
//!                                    │
//!                                    └─▶ DIR/rank.N.rec       format: the crate `recording`
//! ```
//!
//! `mpiexec -record DIR` loads it and names the folder. It uses MPI's own profiling interface (MPI-5.0 section 15.2),
//! so a job that is not recorded pays nothing, and the library does not know of it. A call that is recorded costs four
//! readings of clocks and some ten bytes of memory, written every [`BLOCK`] bytes. Programs that are linked statically
//! are not seen, nor are the calls before `MPI_Init` and those of sessions without it.
#![allow(clippy::missing_safety_doc, reason = "all functions here are MPI's, and keep its contract")]

mod call;
mod real;
mod state;

/// Bytes that are collected before they are written to the file.
const BLOCK: usize = 1 << 20;

/// Wraps one function: `call` takes what is written before and after it.
macro_rules! wrapper {
    (
        $number:literal, $name:ident, $real:literal, ($($argument:ident: $type:ty),*), ($($value:ident),*),
        $call:ident, { $($before:tt)* }, { $($after:tt)* }
    ) => {
        /// The MPI function of this name.
        #[unsafe(no_mangle)]
        #[allow(unused_mut, reason = "some functions have nothing to write")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
            static REAL: Real = Real::new(concat!($real, "\0"));
            // SAFETY: the library's function of this name takes these arguments (both are made from one table).
            let real = unsafe { core::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> i32>(REAL.address()) };
            let Some(mut $call) = Call::begin($number, stringify!($name)) else {
                // SAFETY: the caller keeps the function's contract.
                let answer = unsafe { real($($value),*) };
                crate::state::after(stringify!($name), answer);
                return answer;
            };
            $($before)*
            $call.starts();
            // SAFETY: the caller keeps the function's contract.
            let answer = unsafe { real($($value),*) };
            $call.ended();
            if answer == 0 {
                $($after)*
            }
            $call.write();
            answer
        }
    };
}

mod wrappers {
    #![allow(
        non_snake_case,
        clippy::too_many_arguments,
        clippy::useless_conversion,
        clippy::unnecessary_cast
    )]

    use crate::call::Call;
    use crate::real::Real;

    include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
}
