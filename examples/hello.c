/* Each rank passes its number around a ring and says what came back. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, length, from;
    char host[MPI_MAX_PROCESSOR_NAME];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);

    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0,
                 &from, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d on %s: rank %d says hello\n", rank, size, host, from);

    MPI_Finalize();
    return 0;
}
