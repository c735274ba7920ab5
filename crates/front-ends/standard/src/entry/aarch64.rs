//! Entry points on aarch64 (AAPCS64): eight arguments in x0 to x7, the others on the stack in eight bytes each, the
//! answer in x0 and x1.

/// The caller of a body, which is `PMPI_X` itself where there is no fast path.
///
/// ```text
///   entry:   arg 9 | arg 10 …                                            (sp is 0 modulo 16, as at each call)
///   call:    arg 9 | arg 10 … | padding | x29 | x30 | arg 9 | arg 10 …
/// ```
macro_rules! caller {
    ($(#[$export:meta])? $caller:ident, $name:ident, $stack:literal, $arguments:tt) => {
        #[unsafe(naked)]
        $(#[$export])?
        unsafe extern "C" fn $caller() -> i32 {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "stp x29, x30, [sp, #-16]!",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset x29, -16",
                ".cfi_offset x30, -8",
                "mov x29, sp",
                ".cfi_def_cfa_register x29",
                ".if {stack}",
                "sub sp, sp, #{copies}",
                ".endif",
                ".irp argument, 0, 1, 2, 3, 4, 5",
                ".if \\argument < {stack}",
                "ldr x9, [x29, #(16 + 8 * \\argument)]",
                "str x9, [sp, #(8 * \\argument)]",
                ".endif",
                ".endr",
                "bl {body}",
                "mov sp, x29",
                "ldp x29, x30, [sp], #16",
                ".cfi_def_cfa sp, 0",
                ".cfi_restore x29",
                ".cfi_restore x30",
                // A short branch: the handler's shim may be too far for a test and branch.
                "tbz x0, #63, 2f",
                "b {handler}",
                "2:",
                "ret",
                ".cfi_endproc",
                stack = const crate::entry::processor::fits($stack),
                copies = const crate::entry::processor::room($stack),
                body = sym $name,
                handler = sym crate::entry::processor::call_handler,
            )
        }
    };
}

/// `PMPI_X` with a fast path, which has all registers for itself: the arguments are kept here, and the second fast
/// path, if there is one, then the long way get them where the one before reports that it did nothing, or the fast one
/// once more.
///
/// ```text
///   call:    arg 9 | arg 10 … | padding | x29 | x30 | arg 1 … arg 8 | arg 9 | arg 10 …
/// ```
macro_rules! fast_caller {
    ($pmpi:ident, [$fast:ident], $long:ident, $stack:literal, $arguments:tt) => {
        crate::entry::fast_caller! { @ $pmpi, $fast, 0, $fast, $long, $stack }
    };
    ($pmpi:ident, [$fast:ident $second:ident], $long:ident, $stack:literal, $arguments:tt) => {
        crate::entry::fast_caller! { @ $pmpi, $fast, 1, $second, $long, $stack }
    };
    (@ $pmpi:ident, $fast:ident, $has_second:literal, $second:ident, $long:ident, $stack:literal) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $pmpi() -> i32 {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "3:",
                "stp x29, x30, [sp, #-80]!",
                ".cfi_def_cfa_offset 80",
                ".cfi_offset x29, -80",
                ".cfi_offset x30, -72",
                "mov x29, sp",
                ".cfi_def_cfa_register x29",
                "stp x0, x1, [x29, #16]",
                "stp x2, x3, [x29, #32]",
                "stp x4, x5, [x29, #48]",
                "stp x6, x7, [x29, #64]",
                ".if {stack}",
                "sub sp, sp, #{copies}",
                ".endif",
                ".irp argument, 0, 1, 2, 3, 4, 5",
                ".if \\argument < {stack}",
                "ldr x9, [x29, #(80 + 8 * \\argument)]",
                "str x9, [sp, #(8 * \\argument)]",
                ".endif",
                ".endr",
                "bl {fast}",
                "cbnz w0, 2f",
                "4:",
                "mov sp, x29",
                "ldp x29, x30, [sp], #80",
                ".cfi_remember_state",
                ".cfi_def_cfa sp, 0",
                ".cfi_restore x29",
                ".cfi_restore x30",
                "ret",
                "2:",
                ".cfi_restore_state",
                ".if {has_second}",
                // The arguments once more; those on the stack were the callee's to change.
                "mov sp, x29",
                "ldp x0, x1, [x29, #16]",
                "ldp x2, x3, [x29, #32]",
                "ldp x4, x5, [x29, #48]",
                "ldp x6, x7, [x29, #64]",
                ".if {stack}",
                "sub sp, sp, #{copies}",
                ".endif",
                ".irp argument, 0, 1, 2, 3, 4, 5",
                ".if \\argument < {stack}",
                "ldr x9, [x29, #(80 + 8 * \\argument)]",
                "str x9, [sp, #(8 * \\argument)]",
                ".endif",
                ".endr",
                "bl {second}",
                "cbz w0, 4b",
                ".endif",
                "mov w9, w0",
                "mov sp, x29",
                "ldp x0, x1, [x29, #16]",
                "ldp x2, x3, [x29, #32]",
                "ldp x4, x5, [x29, #48]",
                "ldp x6, x7, [x29, #64]",
                "ldp x29, x30, [sp], #80",
                ".cfi_def_cfa sp, 0",
                ".cfi_restore x29",
                ".cfi_restore x30",
                "cmp w9, #{again}",
                "b.eq 3b",
                "b {long}",
                ".cfi_endproc",
                stack = const crate::entry::processor::fits($stack),
                copies = const crate::entry::processor::room($stack),
                has_second = const $has_second,
                second = sym $second,
                again = const objects::Attempt::RETRY.code(),
                fast = sym $fast,
                long = sym $long,
            )
        }
    };
}

/// `MPI_X`, which a tool may define itself and then call `PMPI_X`.
macro_rules! alias {
    ($mpi:ident, $pmpi:ident, $arguments:tt -> $returns:ty) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $mpi() {
            core::arch::naked_asm!("b {}", sym $pmpi)
        }
    };
}

pub(crate) use {alias, caller, fast_caller};

/// The number of arguments on the stack, of which entry points copy six at most.
pub(crate) const fn fits(stack: usize) -> usize {
    assert!(stack <= 6, "six arguments on the stack are copied");
    stack
}

/// Bytes for arguments on the stack: the stack pointer stays at a multiple of 16.
pub(crate) const fn room(stack: usize) -> usize {
    (8 * stack).next_multiple_of(16)
}

/// Calls the user's error handler that an [`Answer`](crate::answer::Answer) names, then returns the code that the handler
/// leaves: its second argument is the code to be returned (MPI-5.0 section 9.3.1), so a handler may change it.
///
/// Jumped to by `PMPI_X` with the answer in x0 and x1 and the stack as the program left it.
///
/// ```text
///   sp + 0    x29, x30
///   sp + 16   the handle, whose address the handler gets
///   sp + 24   the error code, whose address the handler gets
///   sp + 28   all bits set, or zero if the function returns success all the same
/// ```
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_handler() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-32]!",
        ".cfi_def_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "mov x29, sp",
        "str w0, [sp, #24]",
        // Zero if the flag of x1 is set.
        "cmp x1, #0",
        "csetm w9, ge",
        "str w9, [sp, #28]",
        "and x9, x1, #0x7fffffffffffffff",
        // The handle: bits 62 to 32.
        "ubfx x0, x0, #32, #31",
        "str x0, [sp, #16]",
        "add x0, sp, #16",
        "add x1, sp, #24",
        "blr x9",
        "ldr w0, [sp, #24]",
        "ldr w9, [sp, #28]",
        "and w0, w0, w9",
        "ldp x29, x30, [sp], #32",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
    )
}
