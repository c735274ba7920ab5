//! The MPI-5.0 standard ABI as Rust: handles, constants, `MPI_Status`, error values.
//!
//! These types are the internal ones too; nothing is translated at the border.
#![forbid(unsafe_code)]

pub mod constants;
mod error;
pub mod extension;
mod handle;
mod status;

pub use constants::*;
pub use error::{Error, Result};
pub use extension::{ERR_PROC_FAILED, ERR_PROC_FAILED_PENDING, ERR_REVOKED, FT};
pub use handle::*;
pub use status::Status;

/// `MPI_Aint`: an address or a byte displacement.
pub type Aint = isize;
/// `MPI_Count`: large enough for any count, address or file offset.
pub type Count = i64;
/// `MPI_Offset`: a file offset in bytes.
pub type Offset = i64;
/// `MPI_Fint`: the default Fortran `INTEGER`.
pub type Fint = i32;

// The ABI knows other widths of address; this library is for those where an address is as wide as a count.
const _: () = assert!(size_of::<Aint>() == size_of::<Count>());
