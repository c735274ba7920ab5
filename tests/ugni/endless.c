/* A ping-pong that never ends by itself: for what happens to a job in the middle of it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int length = argc > 1 ? atoi(argv[1]) : 8, rank;
    char *bytes = calloc(length, 1);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0;; round++) {
        if (rank == 0)
            MPI_Send(bytes, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(bytes, length, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(bytes, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        if (rank == 0 && round == 100) {
            puts("running");
            fflush(stdout);
        }
    }
}
