//! The entry on aarch64 (AAPCS64).
//!
//! ```text
//!   x29 + 16 …   arguments 9, 10, … of the caller, eight bytes each
//!   x29 + 8      return address: the place of the call
//!   x29          frame pointer of the caller
//!   x29 - 64 …   arguments 1 to 8
//!   x29 - 144 …  ten words of the wrappers
//!   below        copies of arguments 9, 10, … for the library's function
//! ```

macro_rules! entry {
    ([$($export:tt)*] [$number:expr] $name:ident) => {
        #[unsafe(naked)]
        $($export)*
        pub(super) unsafe extern "C" fn $name() -> i32 {
            core::arch::naked_asm!(
                "movz w9, #{low}",
                "movk w9, #{high}, lsl 16",
                "b {common}",
                low = const $number & 0xffff,
                high = const $number >> 16,
                common = sym $crate::entry::processor::common,
            )
        }
    };
}
pub(super) use entry;

/// Arguments 1 to 8 as the caller gave them, or as the tools have changed them.
macro_rules! arguments {
    () => {
        "ldp x0, x1, [x29, #-64]
        ldp x2, x3, [x29, #-48]
        ldp x4, x5, [x29, #-32]
        ldp x6, x7, [x29, #-16]"
    };
}

/// The common entry: the function's number is in w9, all else is as the caller left it.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn common() -> i32 {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "sub sp, sp, #160",
        ".cfi_def_cfa_offset 160",
        "stp x29, x30, [sp, #144]",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "add x29, sp, #144",
        ".cfi_def_cfa x29, 16",
        "stp x0, x1, [x29, #-64]",
        "stp x2, x3, [x29, #-48]",
        "stp x4, x5, [x29, #-32]",
        "stp x6, x7, [x29, #-16]",
        "str x9, [sp]",
        "mov x0, sp",
        "bl {enter}",
        "mov x9, x0",
        "cmn x1, #{no_jump}",
        "b.eq 4f",
        "cbz x1, 3f",
        // The other arguments, with a word behind them that keeps the stack aligned if they are odd.
        "add x10, x1, #1",
        "and x10, x10, #-2",
        "sub sp, sp, x10, lsl #3",
        "2:",
        "sub x1, x1, #1",
        "add x10, x29, x1, lsl #3",
        "ldr x10, [x10, #16]",
        "str x10, [sp, x1, lsl #3]",
        "cbnz x1, 2b",
        "3:",
        arguments!(),
        "blr x9",
        "mov w1, w0",
        "sub x0, x29, #144",
        "bl {leave}",
        ".cfi_remember_state",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        "4:",
        ".cfi_restore_state",
        arguments!(),
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "br x9",
        ".cfi_endproc",
        enter = sym crate::enter,
        leave = sym crate::leave,
        no_jump = const crate::JUMP.wrapping_neg(),
    )
}
