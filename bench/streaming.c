/*
 * One direction, a window of messages in flight: the sender starts WINDOW sends, the receiver has as many receives
 * posted and answers the whole window with an empty message.
 */
#include "kernel.h"

enum { WINDOW = 64 };

static void streaming(size_t bytes, long iterations)
{
    int n = (int)bytes, last = k.ranks - 1;
    MPI_Request requests[WINDOW];

    for (long i = 0; i < iterations; i++) {
        if (k.rank == 0) {
            for (int w = 0; w < WINDOW; w++)
                MPI_Isend(k.out, n, MPI_BYTE, last, TAG, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(NULL, 0, MPI_BYTE, last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (k.rank == last) {
            for (int w = 0; w < WINDOW; w++)
                MPI_Irecv(k.in, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static double megabytes_per_second(size_t bytes, double seconds)
{
    return (double)WINDOW * bytes / seconds / 1e6;
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 2, 1, 8 << 20);
    k.receives = k.rank == k.ranks - 1;
    k.messages = WINDOW;
    kernel_sizes(streaming, megabytes_per_second, "MB/s");
    kernel_end();
    return 0;
}
