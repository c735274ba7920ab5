//! The exported names: each puts its function's number into a register and goes on in one common entry, which lays the
//! arguments out as a [`Frame`](interpose::Frame), calls the tools and the library's function.
//!
//! The entry has a frame of its own, described by CFI, and none of this library's frames is on the stack while the library's
//! function runs. So error handlers may throw C++ exceptions through it, and a debugger sees the program behind it. A call that
//! no tool sees here has not even that frame: it is a jump.
//!
//! What a processor brings: the macro `entry` and the common entry.

#[cfg(target_arch = "aarch64")]
#[path = "entry/aarch64.rs"]
mod processor;
#[cfg(target_arch = "x86_64")]
#[path = "entry/x86_64.rs"]
mod processor;

use processor::entry;

macro_rules! entries {
    ($export:tt $add:expr; $($number:literal $name:ident ($($type:ident)*))*) => { $(
        entry! { $export [$number + $add] $name }
    )* };
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
