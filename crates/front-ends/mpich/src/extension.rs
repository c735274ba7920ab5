//! Functions that MPICH has beside the standard's. No program among some hundred that were read imports one, but an executable
//! that is bound at its start needs every name.

use core::ffi::c_int;

use dialect::engine::row;
use dialect::{P, call, entry};

use crate::Handle;
use crate::functions::{
    PMPI_Info_set, PMPI_Remove_error_class, PMPI_Remove_error_code, PMPI_Remove_error_string,
    PMPI_Request_get_status, errcode,
};

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

// No communicator is one of threads.
entry! { MPIX_Comm_test_threadcomm PMPIX_Comm_test_threadcomm (_comm: Handle, is: *mut c_int) -> c_int {
    if is.is_null() {
        return errcode::give(abi::ERR_ARG);
    }
    *is = 0;
    0
} }

// A word, and not an error code.
entry! { MPIX_Request_is_complete PMPIX_Request_is_complete (request: Handle) -> c_int {
    let mut is: c_int = 0;
    PMPI_Request_get_status(request, &raw mut is as P, core::ptr::without_provenance_mut(1));
    is
} }

// Bytes as text: two digits each.
entry! { MPIX_Info_set_hex PMPIX_Info_set_hex (info: Handle, key: P, value: *const u8, size: c_int) -> c_int {
    if value.is_null() || size < 0 {
        return errcode::give(abi::ERR_ARG);
    }
    let bytes = core::slice::from_raw_parts(value, size as usize);
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).chain(["\0".to_string()]).collect();
    PMPI_Info_set(info, key, text.as_ptr().cast_mut() as P)
} }

/// Raises the error of a function that is not here, by the error handler of `MPI_COMM_SELF`.
unsafe extern "C-unwind" fn unsupported() -> c_int {
    // SAFETY: takes numbers.
    unsafe {
        call!(row::Comm_call_errhandler, (usize, i32) -> i32)(
            abi::COMM_SELF.0,
            abi::ERR_UNSUPPORTED_OPERATION,
        );
    }
    errcode::give(abi::ERR_UNSUPPORTED_OPERATION)
}

/// What is not here: whatever its arguments are, the call raises an error that the program can ask for.
macro_rules! unsupported {
    ($($mpix:ident $pmpix:ident)*) => { $(
        dialect::alias! { $mpix = unsupported }
        dialect::alias! { $pmpix = unsupported }
    )* };
}

// Generalized requests that the library asks for their progress, streams of threads and of GPUs, communicators of threads, pieces of
// datatypes, functions with a word of their own, and Intel's notified transfers.
unsupported! {
    MPIX_Allreduce_enqueue PMPIX_Allreduce_enqueue
    MPIX_Allreduce_enqueue_c PMPIX_Allreduce_enqueue_c
    MPIX_Async_get_state PMPIX_Async_get_state
    MPIX_Async_spawn PMPIX_Async_spawn
    MPIX_Async_start PMPIX_Async_start
    MPIX_Comm_create_errhandler_x PMPIX_Comm_create_errhandler_x
    MPIX_Comm_get_stream PMPIX_Comm_get_stream
    MPIX_File_create_errhandler_x PMPIX_File_create_errhandler_x
    MPIX_Get_notify PMPIX_Get_notify
    MPIX_Get_notify_c PMPIX_Get_notify_c
    MPIX_Grequest_class_allocate PMPIX_Grequest_class_allocate
    MPIX_Grequest_class_create PMPIX_Grequest_class_create
    MPIX_Grequest_start PMPIX_Grequest_start
    MPIX_Irecv_enqueue PMPIX_Irecv_enqueue
    MPIX_Irecv_enqueue_c PMPIX_Irecv_enqueue_c
    MPIX_Isend_enqueue PMPIX_Isend_enqueue
    MPIX_Isend_enqueue_c PMPIX_Isend_enqueue_c
    MPIX_Op_create_x PMPIX_Op_create_x
    MPIX_Put_notify PMPIX_Put_notify
    MPIX_Put_notify_c PMPIX_Put_notify_c
    MPIX_Recv_enqueue PMPIX_Recv_enqueue
    MPIX_Recv_enqueue_c PMPIX_Recv_enqueue_c
    MPIX_Send_enqueue PMPIX_Send_enqueue
    MPIX_Send_enqueue_c PMPIX_Send_enqueue_c
    MPIX_Session_create_errhandler_x PMPIX_Session_create_errhandler_x
    MPIX_Start_progress_thread PMPIX_Start_progress_thread
    MPIX_Stop_progress_thread PMPIX_Stop_progress_thread
    MPIX_Stream_comm_create PMPIX_Stream_comm_create
    MPIX_Stream_comm_create_multiplex PMPIX_Stream_comm_create_multiplex
    MPIX_Stream_create PMPIX_Stream_create
    MPIX_Stream_free PMPIX_Stream_free
    MPIX_Stream_irecv PMPIX_Stream_irecv
    MPIX_Stream_irecv_c PMPIX_Stream_irecv_c
    MPIX_Stream_isend PMPIX_Stream_isend
    MPIX_Stream_isend_c PMPIX_Stream_isend_c
    MPIX_Stream_progress PMPIX_Stream_progress
    MPIX_Stream_recv PMPIX_Stream_recv
    MPIX_Stream_recv_c PMPIX_Stream_recv_c
    MPIX_Stream_send PMPIX_Stream_send
    MPIX_Stream_send_c PMPIX_Stream_send_c
    MPIX_Threadcomm_finish PMPIX_Threadcomm_finish
    MPIX_Threadcomm_free PMPIX_Threadcomm_free
    MPIX_Threadcomm_init PMPIX_Threadcomm_init
    MPIX_Threadcomm_start PMPIX_Threadcomm_start
    MPIX_Type_iov PMPIX_Type_iov
    MPIX_Type_iov_len PMPIX_Type_iov_len
    MPIX_Wait_enqueue PMPIX_Wait_enqueue
    MPIX_Waitall_enqueue PMPIX_Waitall_enqueue
    MPIX_Win_create_errhandler_x PMPIX_Win_create_errhandler_x
    MPIX_Win_create_notify PMPIX_Win_create_notify
    MPIX_Win_free_notify PMPIX_Win_free_notify
    MPIX_Win_get_notify PMPIX_Win_get_notify
    MPIX_Win_get_notify_request PMPIX_Win_get_notify_request
    MPIX_Win_set_notify PMPIX_Win_set_notify
}
