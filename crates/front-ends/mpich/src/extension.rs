//! Functions that MPICH has beside the standard's. No program among some hundred that were read imports one, but an executable
//! that is bound at its start needs every name.

use core::ffi::c_int;

use dialect::{P, entry};

use crate::Handle;
use crate::functions::{PMPI_Remove_error_class, PMPI_Remove_error_code, PMPI_Remove_error_string, errcode};

entry! { MPIX_Delete_error_class PMPIX_Delete_error_class (class: c_int) -> c_int { PMPI_Remove_error_class(class) } }
entry! { MPIX_Delete_error_code PMPIX_Delete_error_code (code: c_int) -> c_int { PMPI_Remove_error_code(code) } }
entry! { MPIX_Delete_error_string PMPIX_Delete_error_string (code: c_int) -> c_int { PMPI_Remove_error_string(code) } }

// No buffer may lie on a GPU of any kind.
entry! { MPIX_GPU_query_support PMPIX_GPU_query_support (kind: c_int, is: *mut c_int) -> c_int {
    if is.is_null() || !(0..=2).contains(&kind) {
        return errcode::give(abi::ERR_ARG);
    }
    *is = 0;
    0
} }

/// What is not here: the program gets an error that it can ask for.
macro_rules! unsupported {
    ($($mpix:ident $pmpix:ident ($($argument:ident: $kind:ty),*);)*) => { $(
        entry! { $mpix $pmpix ($($argument: $kind),*) -> c_int { errcode::give(abi::ERR_UNSUPPORTED_OPERATION) } }
    )* };
}

// Failed processes, and generalized requests that the library asks for their progress.
unsupported! {
    MPIX_Comm_revoke PMPIX_Comm_revoke (_comm: Handle);
    MPIX_Comm_shrink PMPIX_Comm_shrink (_comm: Handle, _new: P);
    MPIX_Comm_agree PMPIX_Comm_agree (_comm: Handle, _flag: P);
    MPIX_Comm_failure_ack PMPIX_Comm_failure_ack (_comm: Handle);
    MPIX_Comm_failure_get_acked PMPIX_Comm_failure_get_acked (_comm: Handle, _failed: P);
    MPIX_Grequest_start PMPIX_Grequest_start (_query: P, _free: P, _cancel: P, _poll: P, _wait: P, _own: P, _request: P);
    MPIX_Grequest_class_create PMPIX_Grequest_class_create (_query: P, _free: P, _cancel: P, _poll: P, _wait: P, _class: P);
    MPIX_Grequest_class_allocate PMPIX_Grequest_class_allocate (_class: c_int, _own: P, _request: P);
}
