/* Each rank sends to each, short and long messages, several times, and checks what it gets.
 * usage: all_pairs [ROUNDS [FILE]]     at least so many rounds, and until there is a file of that name */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
#include "check.h"

enum { LONG = 50000 };

int main(int argc, char **argv)
{
    int rank, size, goes_on = 1, rounds = argc > 1 ? atoi(argv[1]) : 6;
    long wrong = 0, all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *out = malloc(sizeof *out * size * LONG), *in = malloc(sizeof *in * size * LONG);
    MPI_Request *requests = malloc(sizeof *requests * 2 * size);

    for (int round = 0; goes_on; round++) {
        int count = round % 2 ? LONG : 10;

        for (int i = 0; i < size * count; i++)
            out[i] = rank * 1000 + i / count * 10 + round;
        for (int peer = 0; peer < size; peer++) {
            MPI_Irecv(in + peer * count, count, MPI_INT, peer, round, MPI_COMM_WORLD, requests + peer);
            MPI_Isend(out + peer * count, count, MPI_INT, peer, round, MPI_COMM_WORLD, requests + size + peer);
        }
        MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < size * count; i++)
            wrong += in[i] != i / count * 1000 + rank * 10 + round;
        goes_on = round + 1 < rounds || (argc > 2 && access(argv[2], F_OK));
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        CHECK_EQ(all, 0, "wrong numbers");
    MPI_Finalize();
    return 0;
}
