//! Modules of a front-end that `dialect_table::build` writes.

/// The modules of a front-end with the names and texts that its build script has written. They use what the front-end has
/// at its root: `Handle`, `VERSION`, the modules `address`, `callback` and `status`, and what it takes from this crate.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "what the front-end has at its root")]
macro_rules! generated {
    ($($name:ident = $file:literal;)*) => { $(
        // Written by machine: the lints are those of the generator.
        mod $name {
            #![allow(
                non_snake_case,
                non_upper_case_globals,
                unused_imports,
                unused_mut,
                unused_braces,
                unused_assignments,
                clippy::too_many_arguments,
                clippy::unnecessary_cast,
                clippy::undocumented_unsafe_blocks,
                clippy::useless_conversion,
                clippy::identity_op,
                clippy::match_single_binding,
                clippy::wildcard_in_or_patterns
            )]

            use $crate::engine::row;
            use $crate::{P, call, entry, extent, handle, origin, text, value};

            use crate::status::Status;
            use crate::{Handle, VERSION, address, attribute, callback, callers, status};

            include!(concat!(env!("OUT_DIR"), $file));
        }
    )* };
}
