/*
 * Before every program of MPICH's suite: errors of calls that name no communicator go to MPI_COMM_SELF's handler since
 * MPI-4.0 (MPI-5.0 section 9.3); the programs were written when they went to MPI_COMM_WORLD's.
 */
#include <mpi.h>

static inline int set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    if (comm == MPI_COMM_WORLD)
        MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    return MPI_Comm_set_errhandler(comm, handler);
}

#define MPI_Comm_set_errhandler set_errhandler

/* ROMIO's names from the time before MPI-2. */
#define MPIO_Request MPI_Request
#define MPIO_Wait MPI_Wait
#define MPIO_Test MPI_Test
