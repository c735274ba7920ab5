/* Included before a program for few ranks, with CROWD the number that it is for: its MPI_COMM_WORLD becomes a part of
 * the job with that many ranks, so that many of it run side by side. Ranks that are left over only wait for the end. */
#ifndef CROWD_H
#define CROWD_H

#include <mpi.h>
#include <stdlib.h>

static inline MPI_Comm crowd_part(void)
{
    static MPI_Comm part = MPI_COMM_NULL;
    int rank, size, begun, ended;

    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (!begun || ended)
        return MPI_COMM_WORLD;
    if (part == MPI_COMM_NULL) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_split(MPI_COMM_WORLD, rank / CROWD, rank, &part);
        MPI_Comm_size(part, &size);
        if (size < CROWD) {
            MPI_Finalize();
            exit(0);
        }
    }
    return part;
}

#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD crowd_part()

#endif
