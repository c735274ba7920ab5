//! The entry on x86-64.
//!
//! ```text
//!   rbp + 16 …   arguments 7, 8, … of the caller
//!   rbp + 8      return address: the place of the call
//!   rbp          frame pointer of the caller
//!   rbp - 48 …   arguments 1 to 6
//!   rbp - 128 …  ten words of the wrappers
//!   below        copies of arguments 7, 8, … for the library's function
//! ```

macro_rules! entry {
    ([$($export:tt)*] [$number:expr] $name:ident) => {
        #[unsafe(naked)]
        $($export)*
        pub(super) unsafe extern "C" fn $name() -> i32 {
            core::arch::naked_asm!("mov eax, {number}", "jmp {common}", number = const $number, common = sym $crate::entry::processor::common)
        }
    };
}
pub(super) use entry;

/// Arguments 1 to 6 as the caller gave them; a variadic function gets no vector arguments.
macro_rules! arguments {
    () => {
        "mov rdi, qword ptr [rbp - 48]
        mov rsi, qword ptr [rbp - 40]
        mov rdx, qword ptr [rbp - 32]
        mov rcx, qword ptr [rbp - 24]
        mov r8, qword ptr [rbp - 16]
        mov r9, qword ptr [rbp - 8]
        xor eax, eax"
    };
}

/// The common entry: the function's number is in eax, all else is as the caller left it.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn common() -> i32 {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "sub rsp, 80",
        "mov qword ptr [rsp], rax",
        "mov rdi, rsp",
        "call {enter}",
        "mov r11, rax",
        "cmp rdx, {jump}",
        "je 4f",
        // The other arguments from the last to the first, behind a word that keeps the stack aligned if they are odd.
        "test dl, 1",
        "je 2f",
        "push rax",
        "2:",
        "test rdx, rdx",
        "je 3f",
        "push qword ptr [rbp + 8 * rdx + 8]",
        "dec rdx",
        "jmp 2b",
        "3:",
        arguments!(),
        "call r11",
        "lea rdi, [rbp - 128]",
        "mov esi, eax",
        "call {leave}",
        ".cfi_remember_state",
        "leave",
        ".cfi_def_cfa rsp, 8",
        ".cfi_restore rbp",
        "ret",
        "4:",
        ".cfi_restore_state",
        arguments!(),
        "leave",
        ".cfi_def_cfa rsp, 8",
        ".cfi_restore rbp",
        "jmp r11",
        ".cfi_endproc",
        enter = sym crate::enter,
        leave = sym crate::leave,
        jump = const crate::JUMP as isize,
    )
}
