//! Entry points on x86-64: seven instructions with the jump from `MPI_X`, where nothing goes wrong.

/// The caller of a body, which is `PMPI_X` itself where there is no fast path.
///
/// ```text
///   entry:   return address | arg 7 | arg 8 …        (rsp is 8 modulo 16)
///   call:    arg 7 | arg 8 … | padding | return address | arg 7 | arg 8 …   (rsp is 0 modulo 16)
/// ```
macro_rules! caller {
    ($(#[$export:meta])? $caller:ident, $name:ident, $stack:literal, $arguments:tt) => {
        #[unsafe(naked)]
        $(#[$export])?
        unsafe extern "C" fn $caller() -> i32 {
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
                padding = const crate::entry::processor::padding($stack),
                stack = const $stack,
                frame = const 8 * ($stack + crate::entry::processor::padding($stack)),
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
///   call:    arg 7 | arg 8 … | padding | arg 1 … arg 6 | return address | arg 7 | arg 8 …
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
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                ".cfi_adjust_cfa_offset 48",
                ".rept {padding}",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                ".endr",
                ".rept {stack}",
                "push qword ptr [rsp + {frame}]",
                ".cfi_adjust_cfa_offset 8",
                ".endr",
                "call {fast}",
                "test eax, eax",
                "jne 2f",
                "4:",
                "add rsp, {frame}",
                ".cfi_remember_state",
                ".cfi_adjust_cfa_offset -{frame}",
                "ret",
                "2:",
                ".cfi_restore_state",
                ".if {has_second}",
                // The arguments once more; those on the stack were the callee's to change.
                "add rsp, {copies}",
                ".cfi_adjust_cfa_offset -{copies}",
                "mov rdi, qword ptr [rsp + {padded}]",
                "mov rsi, qword ptr [rsp + {padded} + 8]",
                "mov rdx, qword ptr [rsp + {padded} + 16]",
                "mov rcx, qword ptr [rsp + {padded} + 24]",
                "mov r8, qword ptr [rsp + {padded} + 32]",
                "mov r9, qword ptr [rsp + {padded} + 40]",
                ".rept {stack}",
                "push qword ptr [rsp + {frame}]",
                ".cfi_adjust_cfa_offset 8",
                ".endr",
                "call {second}",
                "test eax, eax",
                "je 4b",
                ".endif",
                "add rsp, {below}",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop r8",
                "pop r9",
                ".cfi_adjust_cfa_offset -{frame}",
                "cmp eax, {again}",
                "je 3b",
                "jmp {long}",
                ".cfi_endproc",
                padding = const crate::entry::processor::padding($stack),
                stack = const $stack,
                frame = const 8 * (6 + $stack + crate::entry::processor::padding($stack)),
                below = const 8 * ($stack + crate::entry::processor::padding($stack)),
                copies = const 8 * $stack,
                padded = const 8 * crate::entry::processor::padding($stack),
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
            core::arch::naked_asm!("jmp {}", sym $pmpi)
        }
    };
}

pub(crate) use {alias, caller, fast_caller};

/// Words between the copied stack arguments and the return address, so that the call is aligned to 16 bytes.
pub(crate) const fn padding(stack: usize) -> usize {
    (stack + 1) % 2
}

/// Calls the user's error handler that an [`Answer`](crate::answer::Answer) names, then returns the code that the handler
/// leaves: its second argument is the code to be returned (MPI-5.0 section 9.3.1), so a handler may change it.
///
/// Jumped to by `PMPI_X` with the answer in rax and rdx and the stack as the program left it.
///
/// ```text
///   rsp + 0   the handle, whose address the handler gets
///   rsp + 8   the error code, whose address the handler gets
///   rsp + 12  all bits set, or zero if the function returns success all the same
/// ```
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_handler() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "mov dword ptr [rsp + 8], eax",
        // Zero if the flag of rdx is set.
        "btr rdx, 63",
        "sbb ecx, ecx",
        "not ecx",
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
        "mov eax, dword ptr [rsp + 8]",
        "and eax, dword ptr [rsp + 12]",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
    )
}
