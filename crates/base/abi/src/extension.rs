//! Error classes and the attribute of user-level failure mitigation, which is no part of MPI-5.0: far from the numbers that the standard
//! may take next. Classes are below `MPI_ERR_LASTCODE`, the key is below those of programs. The header `mpi-ext.h` has them as `MPIX_…`.

/// A process that the operation needs has failed.
pub const ERR_PROC_FAILED: i32 = 16_001;
/// A process has failed that might have sent what the receive waits for; the request goes on.
pub const ERR_PROC_FAILED_PENDING: i32 = 16_002;
/// The communicator was revoked.
pub const ERR_REVOKED: i32 = 16_003;

/// Key of the attribute of communicators that is 1 where the job goes on after failures, else 0 (`MPIX_FT`, as Open MPI has it).
pub const FT: i32 = 4_001;

/// The classes with the names of their macros.
pub const CLASSES: [(&str, i32); 3] = [
    ("MPIX_ERR_PROC_FAILED", ERR_PROC_FAILED),
    ("MPIX_ERR_PROC_FAILED_PENDING", ERR_PROC_FAILED_PENDING),
    ("MPIX_ERR_REVOKED", ERR_REVOKED),
];
