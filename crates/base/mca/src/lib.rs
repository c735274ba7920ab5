//! MCA parameters: the knobs a user can turn without recompiling anything.
//!
//! A crate declares each of its parameters once, with [`params!`]:
//!
//! ```
//! mca::params! {
//!     /// Parameters of the shared-memory transport.
//!     pub struct VaderParams("btl_vader_") {
//!         /// Largest message that is copied through shared memory.
//!         eager_limit: mca::Size = "4k", unit "bytes", range 64 to 1048576, alias "btl_sm_eager_limit";
//!         /// Let sender and receiver copy a large message together.
//!         cooperative: mca::Bool = "true";
//!     }
//! }
//!
//! let values = mca::Values::from_variables([("ALHENA_MCA_btl_vader_eager_limit", "8k")]);
//! let vader = VaderParams::read(&values).unwrap();
//! assert_eq!(vader.eager_limit, 8192);
//! assert!(vader.cooperative);
//! ```
//!
//! That one declaration yields
//!
//! | what                    | here                                                                 |
//! |-------------------------|----------------------------------------------------------------------|
//! | environment variable    | `ALHENA_MCA_btl_vader_eager_limit` (and `OMPI_MCA_…`, name or alias)  |
//! | `mpiexec --mca` key     | `btl_vader_eager_limit`; mpiexec exports the environment variable     |
//! | key in a TOML file      | `btl_vader_eager_limit`, or `eager_limit` in the table `[btl.vader]`  |
//! | MPI_T control variable  | one per [`Param`] of the [`Registry`], MPI-5.0 section 15.3.6         |
//! | documentation           | the doc comment, in `docs/parameters.md` and `alhena info`            |
//!
//! Where a value is given more than once, the first of these wins: a tool ([`Values::set`]), `ALHENA_MCA_*`,
//! `OMPI_MCA_*`, the file named by `$ALHENA_PARAM_FILE`, `~/.config/alhena/mca.toml`,
//! `<prefix>/etc/alhena.toml`, the default. A value of `OMPI_MCA_*` that does not fit is left to Open MPI.
//!
//! The crate is part of `libmpi_abi.so`: it needs only `std`, and a start without files costs a walk over
//! the environment and three failed opens.
#![forbid(unsafe_code)]

mod declare;
mod error;
mod file;
mod param;
mod registry;
mod value;
mod values;
mod variable;

pub use error::{BadValue, FileError};
pub use param::{Level, Param, Range, Scope};
pub use registry::{Registry, Unknown, mistyped, nearest};
pub use value::{Bool, Int, Kind, List, Size, Text, Type, listed};
pub use values::{Setting, Source, Values, files_of};
pub use variable::{Quantity, Variable};
