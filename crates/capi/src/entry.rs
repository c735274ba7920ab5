//! Entry points: the exported names of a function that may raise an error.
//!
//! On x86-64 `PMPI_X` is a naked function that calls the body and, on the good path, returns its answer: seven
//! instructions with the jump from `MPI_X`. A user's error handler is called by [`call_handler`], which is
//! jumped to when every frame of this library has returned, so a handler of a C++ program may throw: the unwinder
//! finds only the frame of `call_handler`, described by its CFI directives, between the handler and the program.
//!
//! Elsewhere the handler is called from the frame of `PMPI_X`, as "C-unwind".

/// Exports a function that may raise an error: its two names and its body.
///
/// `stack` is the number of arguments passed on the stack.
macro_rules! entry {
    ($mpi:ident, $pmpi:ident, $name:ident, $stack:literal, ($($argument:ident: $kind:ty),*) $body:block) => {
        #[allow(unused_variables)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> Answer $body

        crate::entry::export! { $pmpi, $name, $stack, ($($argument: $kind),*) }
        crate::entry::alias! { $mpi, $pmpi, ($($argument: $kind),*) -> i32 }
    };
}
pub(crate) use entry;

/// `PMPI_X`, the caller of a body.
///
/// ```text
///   entry:   return address | arg 7 | arg 8 …        (rsp is 8 modulo 16)
///   call:    arg 7 | arg 8 … | padding | return address | arg 7 | arg 8 …   (rsp is 0 modulo 16)
/// ```
#[cfg(target_arch = "x86_64")]
macro_rules! export {
    ($pmpi:ident, $name:ident, $stack:literal, $arguments:tt) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $pmpi() -> i32 {
            core::arch::naked_asm!(
                ".cfi_startproc",
                ".rept {padding}",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                ".endr",
                // From the last argument to the first; each push moves the next one to the same offset.
                ".rept {stack}",
                "push qword ptr [rsp + {frame}]",
                ".cfi_adjust_cfa_offset 8",
                ".endr",
                "call {body}",
                "add rsp, {frame}",
                ".cfi_adjust_cfa_offset -{frame}",
                "test rax, rax",
                "js {handler}",
                "ret",
                ".cfi_endproc",
                padding = const crate::entry::padding($stack),
                stack = const $stack,
                frame = const 8 * ($stack + crate::entry::padding($stack)),
                body = sym $name,
                handler = sym crate::entry::call_handler,
            )
        }
    };
}

/// `MPI_X`, which a tool may define itself and then call `PMPI_X`.
#[cfg(target_arch = "x86_64")]
macro_rules! alias {
    ($mpi:ident, $pmpi:ident, $arguments:tt -> $returns:ty) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $mpi() {
            core::arch::naked_asm!("jmp {}", sym $pmpi)
        }
    };
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! export {
    ($pmpi:ident, $name:ident, $stack:literal, ($($argument:ident: $kind:ty),*)) => {
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $pmpi($($argument: $kind),*) -> i32 {
            // SAFETY: the arguments are the caller's, who keeps MPI's contract.
            unsafe { $name($($argument),*) }.finish()
        }
    };
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! alias {
    ($mpi:ident, $pmpi:ident, ($($argument:ident: $kind:ty),*) -> $returns:ty) => {
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $mpi($($argument: $kind),*) -> $returns {
            // SAFETY: the arguments are the caller's, who keeps MPI's contract.
            unsafe { $pmpi($($argument),*) }
        }
    };
}

pub(crate) use {alias, export};

/// Words between the copied stack arguments and the return address, so that the call is aligned to 16 bytes.
#[cfg(target_arch = "x86_64")]
pub const fn padding(stack: usize) -> usize {
    (stack + 1) % 2
}

/// Calls the user's error handler that an [`Answer`](crate::answer::Answer) names, then returns its code.
///
/// Jumped to by `PMPI_X` with the answer in rax and rdx and the stack as the program left it.
///
/// ```text
///   rsp + 0   the handle, whose address the handler gets
///   rsp + 8   the error code, whose address the handler gets
///   rsp + 12  the code to return, whatever the handler does to the other
/// ```
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn call_handler() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "mov dword ptr [rsp + 8], eax",
        // The code to return: zero if the flag of rdx is set, else the error code.
        "btr rdx, 63",
        "sbb ecx, ecx",
        "not ecx",
        "and ecx, eax",
        "mov dword ptr [rsp + 12], ecx",
        // The handle: bits 62 to 32.
        "shl rax, 1",
        "shr rax, 33",
        "mov qword ptr [rsp], rax",
        "mov rdi, rsp",
        "lea rsi, [rsp + 8]",
        // A variadic function without vector arguments.
        "xor eax, eax",
        "call rdx",
        "mov eax, dword ptr [rsp + 12]",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
    )
}
