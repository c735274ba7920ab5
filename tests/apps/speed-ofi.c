/* Ping-pong as fi_pingpong takes its time: all iterations count. usage: speed-ofi BYTES ITERATIONS; prints microseconds one way. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, bytes = atoi(argv[1]), iterations = atoi(argv[2]);
    char *buffer = calloc(1, bytes + 1);
    double begin = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = -10; i < iterations; i++) {
        if (i == 0)
            begin = MPI_Wtime();
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.3f\n", (MPI_Wtime() - begin) / iterations / 2 * 1e6);
    free(buffer);
    MPI_Finalize();
    return 0;
}
