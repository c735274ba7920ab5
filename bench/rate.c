/*
 * Message rate: the first half of the ranks sends windows of small messages to the second half, all pairs at once;
 * messages of all pairs together per second.
 */
#include "kernel.h"

enum { WINDOW = 256 };

static void rate(size_t bytes, long iterations)
{
    int n = (int)bytes, half = k.ranks / 2;
    MPI_Request requests[WINDOW];

    for (long i = 0; i < iterations; i++) {
        if (k.rank < half) {
            int to = k.rank + half;
            for (int w = 0; w < WINDOW; w++)
                MPI_Isend(k.out, n, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(NULL, 0, MPI_BYTE, to, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (k.rank < 2 * half) {
            int from = k.rank - half;
            for (int w = 0; w < WINDOW; w++)
                MPI_Irecv(k.in, n, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, from, TAG, MPI_COMM_WORLD);
        }
    }
}

static double messages_per_second(size_t bytes, double seconds)
{
    (void)bytes;
    return (double)WINDOW * (k.ranks / 2) / seconds;
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 2, 1, 1024);
    k.receives = k.rank >= k.ranks / 2 && k.rank < 2 * (k.ranks / 2);
    k.messages = (long)WINDOW * (k.ranks / 2);
    kernel_sizes(rate, messages_per_second, "msg/s");
    kernel_end();
    return 0;
}
