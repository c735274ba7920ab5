//! Functions that Open MPI has beside the standard's: persistent collectives by the names that they had before MPI-4.0. No program
//! among some hundred that were read imports one, but an executable that is bound at its start needs every name.

use core::ffi::c_int;

use dialect::P;

use crate::Handle;
use crate::functions::{PMPI_Info_free, PMPI_Init_thread, PMPI_Session_get_info};

// Hints for a session, none of which is known. No header declares the function.
dialect::entry! { MPI_Session_set_info PMPI_Session_set_info (session: Handle, _info: Handle) -> c_int {
    let mut used = Handle::default();
    match PMPI_Session_get_info(session, &raw mut used) {
        0 => PMPI_Info_free(&raw mut used),
        code => code,
    }
} }

/// The function of Open MPI's own behind `MPI_Init_thread`. Programs that are built for several MPI libraries and look for one at run
/// time tell Open MPI's by this name (NEURON).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_mpi_init(
    mut count: c_int,
    mut arguments: P,
    requested: c_int,
    provided: P,
    _may_begin_again: bool,
) -> c_int {
    // SAFETY: the program's arguments, under MPI's contract.
    unsafe {
        PMPI_Init_thread((&raw mut count).cast(), (&raw mut arguments).cast(), requested, provided.cast())
    }
}

/// The standard functions by two more names each.
macro_rules! other_names {
    ($($mpix:ident $pmpix:ident = $pmpi:ident)*) => { $(
        dialect::alias! { $mpix = crate::functions::$pmpi }
        dialect::alias! { $pmpix = crate::functions::$pmpi }
    )* };
}

other_names! {
    MPIX_Allgather_init PMPIX_Allgather_init = PMPI_Allgather_init
    MPIX_Allgatherv_init PMPIX_Allgatherv_init = PMPI_Allgatherv_init
    MPIX_Allreduce_init PMPIX_Allreduce_init = PMPI_Allreduce_init
    MPIX_Alltoall_init PMPIX_Alltoall_init = PMPI_Alltoall_init
    MPIX_Alltoallv_init PMPIX_Alltoallv_init = PMPI_Alltoallv_init
    MPIX_Alltoallw_init PMPIX_Alltoallw_init = PMPI_Alltoallw_init
    MPIX_Barrier_init PMPIX_Barrier_init = PMPI_Barrier_init
    MPIX_Bcast_init PMPIX_Bcast_init = PMPI_Bcast_init
    MPIX_Exscan_init PMPIX_Exscan_init = PMPI_Exscan_init
    MPIX_Gather_init PMPIX_Gather_init = PMPI_Gather_init
    MPIX_Gatherv_init PMPIX_Gatherv_init = PMPI_Gatherv_init
    MPIX_Neighbor_allgather_init PMPIX_Neighbor_allgather_init = PMPI_Neighbor_allgather_init
    MPIX_Neighbor_allgatherv_init PMPIX_Neighbor_allgatherv_init = PMPI_Neighbor_allgatherv_init
    MPIX_Neighbor_alltoall_init PMPIX_Neighbor_alltoall_init = PMPI_Neighbor_alltoall_init
    MPIX_Neighbor_alltoallv_init PMPIX_Neighbor_alltoallv_init = PMPI_Neighbor_alltoallv_init
    MPIX_Neighbor_alltoallw_init PMPIX_Neighbor_alltoallw_init = PMPI_Neighbor_alltoallw_init
    MPIX_Reduce_init PMPIX_Reduce_init = PMPI_Reduce_init
    MPIX_Reduce_scatter_init PMPIX_Reduce_scatter_init = PMPI_Reduce_scatter_init
    MPIX_Reduce_scatter_block_init PMPIX_Reduce_scatter_block_init = PMPI_Reduce_scatter_block_init
    MPIX_Scan_init PMPIX_Scan_init = PMPI_Scan_init
    MPIX_Scatter_init PMPIX_Scatter_init = PMPI_Scatter_init
    MPIX_Scatterv_init PMPIX_Scatterv_init = PMPI_Scatterv_init
}
