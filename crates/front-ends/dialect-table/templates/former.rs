// What these libraries export beside the standard: handles as integers of Fortran, statuses in other languages, and what
// MPI-1 had.

use core::ffi::c_int;

use crate::address::Pointer;
use crate::functions::{
    PMPI_Comm_create_errhandler, PMPI_Comm_get_errhandler, PMPI_Comm_set_errhandler, PMPI_Get_address,
    PMPI_Type_create_hindexed, PMPI_Type_create_hvector, PMPI_Type_create_struct, datatype, errcode, integer,
};

/// Handles as integers of Fortran.
macro_rules! integers {
    ($($handle:ident $mpi_c2f:ident $pmpi_c2f:ident $of:ident $mpi_f2c:ident $pmpi_f2c:ident $to:ident)*) => { $(
        entry! { $mpi_c2f $pmpi_c2f (it: $handle) -> c_int { integer::$of(it) } }
        entry! { $mpi_f2c $pmpi_f2c (it: c_int) -> $handle { integer::$to(it) } }
    )* };
}

integers! {
    Handle MPI_Comm_c2f PMPI_Comm_c2f comm_of MPI_Comm_f2c PMPI_Comm_f2c comm_to
    Handle MPI_Errhandler_c2f PMPI_Errhandler_c2f errhandler_of MPI_Errhandler_f2c PMPI_Errhandler_f2c errhandler_to
    usize MPI_File_c2f PMPI_File_c2f file_of MPI_File_f2c PMPI_File_f2c file_to
    Handle MPI_Group_c2f PMPI_Group_c2f group_of MPI_Group_f2c PMPI_Group_f2c group_to
    Handle MPI_Info_c2f PMPI_Info_c2f info_of MPI_Info_f2c PMPI_Info_f2c info_to
    Handle MPI_Message_c2f PMPI_Message_c2f message_of MPI_Message_f2c PMPI_Message_f2c message_to
    Handle MPI_Op_c2f PMPI_Op_c2f op_of MPI_Op_f2c PMPI_Op_f2c op_to
    Handle MPI_Request_c2f PMPI_Request_c2f request_of MPI_Request_f2c PMPI_Request_f2c request_to
    Handle MPI_Session_c2f PMPI_Session_c2f session_of MPI_Session_f2c PMPI_Session_f2c session_to
    Handle MPI_Type_c2f PMPI_Type_c2f datatype_of MPI_Type_f2c PMPI_Type_f2c datatype_to
    Handle MPI_Win_c2f PMPI_Win_c2f win_of MPI_Win_f2c PMPI_Win_f2c win_to
}

/// Statuses are the same bytes in all languages.
macro_rules! statuses {
    ($($mpi:ident $pmpi:ident)*) => { $(
        entry! { $mpi $pmpi (from: *const Status, to: *mut Status) -> c_int {
            if from.is_null() || to.is_null() {
                return errcode::give(abi::ERR_ARG);
            }
            *to = *from;
            0
        } }
    )* };
}

statuses! {
    MPI_Status_c2f PMPI_Status_c2f
    MPI_Status_f2c PMPI_Status_f2c
    MPI_Status_c2f08 PMPI_Status_c2f08
    MPI_Status_f082c PMPI_Status_f082c
    MPI_Status_f2f08 PMPI_Status_f2f08
    MPI_Status_f082f PMPI_Status_f082f
}

/// What statuses of Fortran that are to be ignored point to; the Fortran library writes its own places here.
macro_rules! ignored {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        #[used]
        static $name: Pointer = Pointer::of_ignored();
    )* };
}

ignored! {
    MPI_F_STATUS_IGNORE MPI_F_STATUSES_IGNORE MPI_F08_STATUS_IGNORE MPI_F08_STATUSES_IGNORE
}

// What MPI-3 removed; programs that were built before have it.
entry! { MPI_Address PMPI_Address (location: P, address: P) -> c_int {
    PMPI_Get_address(location, address)
} }

entry! { MPI_Errhandler_create PMPI_Errhandler_create (function: P, errhandler: *mut Handle) -> c_int {
    PMPI_Comm_create_errhandler(function, errhandler)
} }

entry! { MPI_Errhandler_get PMPI_Errhandler_get (comm: Handle, errhandler: *mut Handle) -> c_int {
    PMPI_Comm_get_errhandler(comm, errhandler)
} }

entry! { MPI_Errhandler_set PMPI_Errhandler_set (comm: Handle, errhandler: Handle) -> c_int {
    PMPI_Comm_set_errhandler(comm, errhandler)
} }

entry! { MPI_Type_hindexed PMPI_Type_hindexed (
    count: i32, blocklengths: P, displacements: P, oldtype: Handle, newtype: *mut Handle
) -> c_int {
    PMPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype)
} }

entry! { MPI_Type_hvector PMPI_Type_hvector (
    count: i32, blocklength: i32, stride: i64, oldtype: Handle, newtype: *mut Handle
) -> c_int {
    PMPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype)
} }

entry! { MPI_Type_struct PMPI_Type_struct (
    count: i32, blocklengths: P, displacements: P, types: *mut Handle, newtype: *mut Handle
) -> c_int {
    PMPI_Type_create_struct(count, blocklengths, displacements, types, newtype)
} }

/// Lower bound and extent of a datatype.
unsafe fn bounds(it: Handle, answer: *mut i64, choose: fn(i64, i64) -> i64) -> c_int {
    let (mut lower, mut extent) = (0_i64, 0_i64);
    // SAFETY: both places are right.
    let code = unsafe {
        call!(row::Type_get_extent, (usize, P, P) -> i32)(
            datatype::of(it),
            &raw mut lower as P,
            &raw mut extent as P,
        )
    };
    if code == 0 && !answer.is_null() {
        // SAFETY: the program's place.
        unsafe { *answer = choose(lower, extent) };
    }
    errcode::give(code)
}

entry! { MPI_Type_extent PMPI_Type_extent (datatype: Handle, extent: *mut i64) -> c_int {
    bounds(datatype, extent, |_, extent| extent)
} }

entry! { MPI_Type_lb PMPI_Type_lb (datatype: Handle, lb: *mut i64) -> c_int {
    bounds(datatype, lb, |lower, _| lower)
} }

entry! { MPI_Type_ub PMPI_Type_ub (datatype: Handle, ub: *mut i64) -> c_int {
    bounds(datatype, ub, |lower, extent| lower + extent)
} }

// Programs ask whether buffers may lie on a GPU.
entry! { MPIX_Query_cuda_support PMPIX_Query_cuda_support () -> c_int { 0 } }
entry! { MPIX_Query_hip_support PMPIX_Query_hip_support () -> c_int { 0 } }
entry! { MPIX_Query_rocm_support PMPIX_Query_rocm_support () -> c_int { 0 } }
entry! { MPIX_Query_ze_support PMPIX_Query_ze_support () -> c_int { 0 } }
