/* A ping-pong that never ends by itself: for what happens to a job in the middle of it, or before its first message.
 * usage: endless [LENGTH [OFFSET [PAUSE]]]     received messages lie OFFSET bytes behind a page's start; between
 * MPI_Init and the first message are PAUSE seconds */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void announce(void)
{
    printf("running %d\n", (int)getpid());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int length = argc > 1 ? atoi(argv[1]) : 8, offset = argc > 2 ? atoi(argv[2]) : 0;
    int pause = argc > 3 ? atoi(argv[3]) : 0, rank;
    char *out = aligned_alloc(4096, (length + 4095) / 4096 * 4096);
    char *in = aligned_alloc(4096, (length + offset + 4095) / 4096 * 4096);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (pause > 0 && rank == 1)
        announce();
    sleep(pause);
    for (int round = 0;; round++) {
        if (rank == 0)
            MPI_Send(out, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in + offset, length, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        if (rank == 1 && round == 100)
            announce();
    }
}
