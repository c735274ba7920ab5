//! The exported names: each puts its function's number into a register and goes on in one common entry, which lays the
//! arguments out as a [`Frame`](interpose::Frame), calls the tools and the library's function.
//!
//! ```text
//!   rbp + 16 …   arguments 7, 8, … of the caller
//!   rbp + 8      return address: the place of the call
//!   rbp          frame pointer of the caller
//!   rbp - 48 …   arguments 1 to 6
//!   rbp - 128 …  ten words of the wrappers
//!   below        copies of arguments 7, 8, … for the library's function
//! ```
//!
//! The entry has a frame of its own, described by CFI, and none of this library's frames is on the stack while the library's
//! function runs. So error handlers may throw C++ exceptions through it, and a debugger sees the program behind it. A call that
//! no tool sees here has not even that frame: it is a jump.

#[cfg(target_arch = "x86_64")]
macro_rules! entries {
    (@ [$($export:tt)*] [$number:expr] $name:ident) => {
        #[unsafe(naked)]
        $($export)*
        pub(super) unsafe extern "C" fn $name() -> i32 {
            core::arch::naked_asm!("mov eax, {number}", "jmp {common}", number = const $number, common = sym common)
        }
    };
    ($export:tt $add:expr; $($number:literal $name:ident ($($type:ident)*))*) => { $(
        entries! { @ $export [$number + $add] $name }
    )* };
}

/// Arguments 1 to 6 as the caller gave them; a variadic function gets no vector arguments.
#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn common() -> i32 {
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

/// Elsewhere the frame is laid out in Rust, and the place of a call is not known.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! entries {
    (@ [$($export:tt)*] [$number:expr] $name:ident () ($($rest:ident)*) ($($argument:ident: $type:ident,)*)) => {
        $($export)*
        pub(super) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> i32 {
            let arguments: &[usize] = &[$($argument as usize),*];
            let mut laid_out = LaidOut::new($number, arguments);
            // SAFETY: the frame has all arguments; the library's function of this name takes them.
            unsafe {
                let real = crate::enter(&mut laid_out.frame);
                let function: unsafe extern "C-unwind" fn($($type),*) -> i32 = core::mem::transmute(real.address);
                let code = function($($argument),*);
                if real.on_stack == crate::JUMP { code } else { crate::leave(&mut laid_out.frame, code) }
            }
        }
    };
    (@ $export:tt $number:tt $name:ident ($first:ident $($type:ident)*) ($argument:ident $($rest:ident)*) ($($done:tt)*)) => {
        entries! { @ $export $number $name ($($type)*) ($($rest)*) ($($done)* $argument: $first,) }
    };
    // Last, since its first words fit those above, too.
    ($export:tt $add:expr; $($number:literal $name:ident ($($type:ident)*))*) => { $(
        entries! { @ $export [$number + $add] $name ($($type)*) (a b c d e f g h i j k l m n o p q r s t) () }
    )* };
}

/// A frame with room for all arguments that a function may have on the stack.
#[cfg(not(target_arch = "x86_64"))]
#[repr(C)]
struct LaidOut {
    frame: interpose::Frame,
    stack: [usize; 16],
}

#[cfg(not(target_arch = "x86_64"))]
impl LaidOut {
    fn new(number: usize, arguments: &[usize]) -> LaidOut {
        let mut registers = [0; 6];
        let mut stack = [0; 16];
        for (index, &word) in arguments.iter().enumerate() {
            match index.checked_sub(6) {
                None => registers[index] = word,
                Some(index) => stack[index] = word,
            }
        }
        LaidOut { frame: interpose::Frame::new(number, registers), stack }
    }
}

/// What programs call.
mod exported {
    #![allow(non_snake_case, clippy::too_many_arguments)]
    use super::*;

    macro_rules! exported { ($($rows:tt)*) => { entries! { [#[unsafe(no_mangle)]] 0; $($rows)* } }; }
    interpose::functions! { exported }
}

/// What front-ends of other ABIs call, by the table of addresses below.
mod wrapped {
    #![allow(non_snake_case, clippy::too_many_arguments)]
    use super::*;

    macro_rules! wrapped { ($($rows:tt)*) => { entries! { [] crate::FROM_FRONT_END; $($rows)* } }; }
    interpose::functions! { wrapped }
}

/// The functions that no tool sees, for that table.
mod others {
    #![allow(non_snake_case, clippy::too_many_arguments)]

    macro_rules! others {
        ($($number:literal $name:ident ($($type:ident)*) $result:ident)*) => { $(
            others! { @ $number $name $result ($($type)*) (a b c d e f g h i j k l m n o p q r s t) () }
        )* };
        (@ $number:literal $name:ident $result:ident () ($($rest:ident)*) ($($argument:ident: $type:ident,)*)) => {
            pub(super) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
                // SAFETY: the library's function of this name, with what the caller gives it.
                unsafe {
                    core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($type),*) -> $result>(
                        interpose::OTHERS[$number].address(),
                    )($($argument),*)
                }
            }
        };
        (@ $number:literal $name:ident $result:ident ($first:ident $($type:ident)*) ($argument:ident $($rest:ident)*) ($($done:tt)*)) => {
            others! { @ $number $name $result ($($type)*) ($($rest)*) ($($done)* $argument: $first,) }
        };
    }
    interpose::others! { others }
}

/// The table of addresses by which front-ends call, as `libmpi_abi` exports it (`standard::front_end`). The loader finds this
/// one first.
#[repr(C)]
pub struct Functions<const N: usize> {
    version: u64,
    functions: [*const (); N],
}

// SAFETY: addresses of functions, never written.
unsafe impl<const N: usize> Sync for Functions<N> {}

macro_rules! table {
    ($($module:ident::$name:ident)*) => {
        const COUNT: usize = [$(stringify!($name)),*].len();

        #[unsafe(no_mangle)]
        static alhena_front_end_v1: Functions<COUNT> = Functions {
            version: interpose::FRONT_END_VERSION,
            functions: [$($module::$name as *const ()),*],
        };
    };
}
interpose::in_order! { table }
