/* Any number of receives may be posted at once (MPI-5.0 section 3.5): what bounds a transport is flow control between the two
 * processes, and neither takes the other for hostile. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

enum { BYTES = 4096, COUNT = 40000 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, wrong = 0, go = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Request *requests = malloc(COUNT * sizeof *requests);
    char *bytes = calloc(rank ? COUNT : 1, BYTES);
    if (rank == 0) {
        memset(bytes, 7, BYTES);
        for (int i = 0; i < COUNT; i++)
            MPI_Isend(bytes, BYTES, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
        MPI_Send(&go, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
        /* All are there before the first receive. */
        MPI_Recv(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < COUNT; i++)
            MPI_Irecv(bytes + (size_t)i * BYTES, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    for (size_t i = 0; rank == 1 && i < (size_t)COUNT * BYTES; i++)
        wrong += bytes[i] != 7;
    if (rank == 1)
        CHECK_EQ(wrong, 0, "forty thousand receives at once");
    free(requests);
    free(bytes);
    MPI_Finalize();
    return check_failures != 0;
}
