//! What Fortran alone has, and procedures of MPI-1 that programs still call (MPI-5.0 chapter 17).

use crate::descriptor::Descriptor;
use crate::handle::{self, Kind};
use crate::library;
use crate::logical;
use crate::names::aliases;
use crate::place::{P, give};
use crate::status::Status;
use crate::{callback, origin};

/// C functions by one of their two names.
macro_rules! c_functions {
    ($( $field:ident $mpi:ident $pmpi:ident($($kind:ty),*); )*) => {
        unsafe extern "C" {
            $( fn $mpi($(_: $kind),*) -> i32; fn $pmpi($(_: $kind),*) -> i32; )*
        }

        struct C {
            $( $field: unsafe extern "C" fn($($kind),*) -> i32, )*
        }

        static MPI: C = C { $( $field: $mpi, )* };
        static PMPI: C = C { $( $field: $pmpi, )* };
    };
}

c_functions! {
    get_address MPI_Get_address PMPI_Get_address(P, P);
    hvector MPI_Type_create_hvector PMPI_Type_create_hvector(i32, i32, i64, usize, P);
    hindexed MPI_Type_create_hindexed PMPI_Type_create_hindexed(i32, P, P, usize, P);
    structure MPI_Type_create_struct PMPI_Type_create_struct(i32, P, P, P, P);
    get_extent MPI_Type_get_extent PMPI_Type_get_extent(usize, P, P);
    create_errhandler MPI_Comm_create_errhandler PMPI_Comm_create_errhandler(P, P);
    set_errhandler MPI_Comm_set_errhandler PMPI_Comm_set_errhandler(usize, usize);
    get_errhandler MPI_Comm_get_errhandler PMPI_Comm_get_errhandler(usize, P);
}

/// Procedures of both names; the one calls C functions by their names with MPI_, the other by those with PMPI_.
macro_rules! procedures {
    ($( $main:ident $($alias:ident)*, $pmain:ident $($palias:ident)*
        $(|$c:ident|)? ($($argument:ident: $kind:ty),*) $(-> $returns:ty)? $body:block )*) => { $(
        // SAFETY: the program's arguments, under MPI's contract.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $main($($argument: $kind),*) $(-> $returns)? {
            $( let $c = &MPI; )?
            // SAFETY: as above.
            #[allow(unused_unsafe)]
            unsafe { $body }
        }
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmain($($argument: $kind),*) $(-> $returns)? {
            $( let $c = &PMPI; )?
            // SAFETY: as above.
            #[allow(unused_unsafe)]
            unsafe { $body }
        }
        aliases! { $main: $($alias)* }
        aliases! { $pmain: $($palias)* }
    )* };
}

procedures! {
    mpi_sizeof_f08ts_ mpi_sizeof mpi_sizeof__ MPI_SIZEOF, pmpi_sizeof_f08ts_ pmpi_sizeof__ pmpi_sizeof PMPI_SIZEOF
    (x: *const Descriptor, size: *mut i32, ierror: *mut i32) {
        *size = Descriptor::bytes(&*x) as i32;
        give(ierror, library::SUCCESS);
    }

    mpi_f_sync_reg_ mpi_f_sync_reg__ mpi_f_sync_reg MPI_F_SYNC_REG,
    pmpi_f_sync_reg_ pmpi_f_sync_reg__ pmpi_f_sync_reg PMPI_F_SYNC_REG
    (_buffer: P) {}

    mpi_f_sync_reg_f08ts_ mpi_f_sync_reg_f08_, pmpi_f_sync_reg_f08ts_ pmpi_f_sync_reg_f08_ (_buffer: P) {}

    mpi_status_f2f08_ mpi_status_f2f08__ mpi_status_f2f08 MPI_STATUS_F2F08,
    pmpi_status_f2f08_ pmpi_status_f2f08__ pmpi_status_f2f08 PMPI_STATUS_F2F08
    (from: *const Status, to: *mut Status, ierror: *mut i32) {
        *to = *from;
        give(ierror, library::SUCCESS);
    }

    mpi_status_f082f_ mpi_status_f082f__ mpi_status_f082f MPI_STATUS_F082F,
    pmpi_status_f082f_ pmpi_status_f082f__ pmpi_status_f082f PMPI_STATUS_F082F
    (from: *const Status, to: *mut Status, ierror: *mut i32) {
        *to = *from;
        give(ierror, library::SUCCESS);
    }

    mpi_handle_eq_f08_ mpi_handle_eq_f08__ mpi_handle_eq_f08 MPI_HANDLE_EQ_F08,
    pmpi_handle_eq_f08_ (left: *const i32, right: *const i32) -> i32 {
        logical::to(i32::from(*left == *right))
    }

    mpi_handle_ne_f08_ mpi_handle_ne_f08__ mpi_handle_ne_f08 MPI_HANDLE_NE_F08,
    pmpi_handle_ne_f08_ (left: *const i32, right: *const i32) -> i32 {
        logical::to(i32::from(*left != *right))
    }

    mpi_address_ mpi_address__ mpi_address MPI_ADDRESS, pmpi_address_ pmpi_address__ pmpi_address PMPI_ADDRESS
    |c| (location: P, address: *mut i32, ierror: *mut i32) {
        let mut wide = 0_i64;
        let code = (c.get_address)(crate::sentinel::buffer(location), &raw mut wide as P);
        // What a default integer cannot hold is an error, where MPI-1 gave a wrong address.
        match i32::try_from(wide) {
            Ok(short) => {
                *address = short;
                give(ierror, code);
            }
            Err(_) => crate::section::refuse(crate::section::On::Itself, ierror),
        }
    }

    mpi_type_hvector_ mpi_type_hvector__ mpi_type_hvector MPI_TYPE_HVECTOR,
    pmpi_type_hvector_ pmpi_type_hvector__ pmpi_type_hvector PMPI_TYPE_HVECTOR
    |c| (count: *const i32, block: *const i32, stride: *const i32, of: *const i32, new: *mut i32, ierror: *mut i32) {
        give_handle(Kind::Datatype, new, ierror, |place| {
            (c.hvector)(*count, *block, i64::from(*stride), handle::of(Kind::Datatype, *of), place)
        });
    }

    mpi_type_hindexed_ mpi_type_hindexed__ mpi_type_hindexed MPI_TYPE_HINDEXED,
    pmpi_type_hindexed_ pmpi_type_hindexed__ pmpi_type_hindexed PMPI_TYPE_HINDEXED
    |c| (count: *const i32, blocks: P, places: *const i32, of: *const i32, new: *mut i32, ierror: *mut i32) {
        let places = wide(places, *count);
        give_handle(Kind::Datatype, new, ierror, |place| {
            (c.hindexed)(*count, blocks, places.as_ptr() as P, handle::of(Kind::Datatype, *of), place)
        });
    }

    mpi_type_struct_ mpi_type_struct__ mpi_type_struct MPI_TYPE_STRUCT,
    pmpi_type_struct_ pmpi_type_struct__ pmpi_type_struct PMPI_TYPE_STRUCT
    |c| (count: *const i32, blocks: P, places: *const i32, types: *const i32, new: *mut i32, ierror: *mut i32) {
        let places = wide(places, *count);
        let types = handle::list(Kind::Datatype, types, i64::from(*count));
        give_handle(Kind::Datatype, new, ierror, |place| {
            (c.structure)(*count, blocks, places.as_ptr() as P, types.as_ptr() as P, place)
        });
    }

    mpi_type_extent_ mpi_type_extent__ mpi_type_extent MPI_TYPE_EXTENT,
    pmpi_type_extent_ pmpi_type_extent__ pmpi_type_extent PMPI_TYPE_EXTENT
    |c| (datatype: *const i32, extent: *mut i32, ierror: *mut i32) {
        let ((_, bytes), code) = bounds(c, *datatype);
        *extent = bytes as i32;
        give(ierror, code);
    }

    mpi_type_lb_ mpi_type_lb__ mpi_type_lb MPI_TYPE_LB, pmpi_type_lb_ pmpi_type_lb__ pmpi_type_lb PMPI_TYPE_LB
    |c| (datatype: *const i32, place: *mut i32, ierror: *mut i32) {
        let ((lower, _), code) = bounds(c, *datatype);
        *place = lower as i32;
        give(ierror, code);
    }

    mpi_type_ub_ mpi_type_ub__ mpi_type_ub MPI_TYPE_UB, pmpi_type_ub_ pmpi_type_ub__ pmpi_type_ub PMPI_TYPE_UB
    |c| (datatype: *const i32, place: *mut i32, ierror: *mut i32) {
        let ((lower, bytes), code) = bounds(c, *datatype);
        *place = (lower + bytes) as i32;
        give(ierror, code);
    }

    mpi_errhandler_create_ mpi_errhandler_create__ mpi_errhandler_create MPI_ERRHANDLER_CREATE,
    pmpi_errhandler_create_ pmpi_errhandler_create__ pmpi_errhandler_create PMPI_ERRHANDLER_CREATE
    |c| (function: P, errhandler: *mut i32, ierror: *mut i32) {
        give_handle(Kind::Errhandler, errhandler, ierror, |place| {
            let _origin = origin::call(place, &callback::FORTRAN);
            (c.create_errhandler)(function, place)
        });
    }

    mpi_errhandler_set_ mpi_errhandler_set__ mpi_errhandler_set MPI_ERRHANDLER_SET,
    pmpi_errhandler_set_ pmpi_errhandler_set__ pmpi_errhandler_set PMPI_ERRHANDLER_SET
    |c| (comm: *const i32, errhandler: *const i32, ierror: *mut i32) {
        give(ierror, (c.set_errhandler)(handle::of(Kind::Comm, *comm), handle::of(Kind::Errhandler, *errhandler)));
    }

    mpi_errhandler_get_ mpi_errhandler_get__ mpi_errhandler_get MPI_ERRHANDLER_GET,
    pmpi_errhandler_get_ pmpi_errhandler_get__ pmpi_errhandler_get PMPI_ERRHANDLER_GET
    |c| (comm: *const i32, errhandler: *mut i32, ierror: *mut i32) {
        give_handle(Kind::Errhandler, errhandler, ierror, |place| (c.get_errhandler)(handle::of(Kind::Comm, *comm), place));
    }
}

/// Has C write a handle, which the program gets.
unsafe fn give_handle(kind: Kind, handle: *mut i32, ierror: *mut i32, call: impl FnOnce(P) -> i32) {
    // SAFETY: the program's arguments.
    unsafe {
        let mut written = handle::before(*handle);
        let code = call(&raw mut written as P);
        handle::give(kind, handle, written);
        give(ierror, code);
    }
}

unsafe fn wide(places: *const i32, count: i32) -> Vec<i64> {
    // SAFETY: the program's array has as many elements.
    (0..count.max(0) as usize).map(|at| i64::from(unsafe { *places.add(at) })).collect()
}

fn bounds(c: &C, datatype: i32) -> ((i64, i64), i32) {
    let (mut lower, mut extent) = (0_i64, 0_i64);
    // SAFETY: the answers have places of their own.
    let code = unsafe {
        (c.get_extent)(handle::of(Kind::Datatype, datatype), &raw mut lower as P, &raw mut extent as P)
    };
    ((lower, extent), code)
}
