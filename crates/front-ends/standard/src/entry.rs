//! Entry points: the exported names of a function that may raise an error.
//!
//! `PMPI_X` is a naked function that calls the body and, on the good path, returns its answer. Where there is a fast
//! path, that is called first. A user's error handler is called by `call_handler`, which is jumped to when every frame
//! of this library has returned, so a handler of a C++ program may throw: the unwinder finds only the frame of
//! `call_handler`, described by its CFI directives, between the handler and the program.
//!
//! What a processor brings: the macros `caller`, `fast_caller` and `alias`, and `call_handler`; and in `build/` the number
//! of arguments that its calling convention passes in registers.

#[cfg(target_arch = "aarch64")]
#[path = "entry/aarch64.rs"]
pub(crate) mod processor;
#[cfg(target_arch = "x86_64")]
#[path = "entry/x86_64.rs"]
pub(crate) mod processor;

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
compile_error!(
    "entry points are written for x86-64 and aarch64: see entry/x86_64.rs for what another processor needs"
);

pub(crate) use processor::{alias, caller, fast_caller};

/// Exports a function that may raise an error: its two names and its body. One or two fast paths, see [`line`], are
/// tried before that where there are some.
///
/// `stack` is the number of arguments passed on the stack.
macro_rules! entry {
    ($mpi:ident, $pmpi:ident, $name:ident, $stack:literal, ($($argument:ident: $kind:ty),*) $body:block) => {
        #[allow(unused_variables)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> Answer $body

        crate::entry::caller! { #[unsafe(no_mangle)] $pmpi, $name, $stack, ($($argument: $kind),*) }
        crate::entry::alias! { $mpi, $pmpi, ($($argument: $kind),*) -> i32 }
    };
    (
        $mpi:ident, $pmpi:ident, [$fast:ident $($second:ident)?], $long:ident, $name:ident, $stack:literal,
        ($($argument:ident: $kind:ty),*) $body:block
    ) => {
        #[cold]
        #[allow(unused_variables)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> Answer $body

        crate::entry::caller! { $long, $name, $stack, ($($argument: $kind),*) }
        crate::entry::fast_caller! { $pmpi, [$fast $($second)?], $long, $stack, ($($argument: $kind),*) }
        crate::entry::alias! { $mpi, $pmpi, ($($argument: $kind),*) -> i32 }
    };
}
pub(crate) use entry;

/// A fast path as [`fast_caller`] calls it: 0 when it did everything.
macro_rules! line {
    ($name:ident, ($($argument:ident: $kind:ty),*) $line:block) => {
        unsafe extern "C" fn $name($($argument: $kind),*) -> i32 $line
    };
}
pub(crate) use line;
