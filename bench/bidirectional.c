/* Both ranks send at once, each into a posted receive: the bandwidth of both directions together. */
#include "kernel.h"

static void bidirectional(size_t bytes, long iterations)
{
    int n = (int)bytes, last = k.ranks - 1;
    MPI_Request requests[2];

    if (k.rank != 0 && k.rank != last)
        return;
    int peer = k.rank == 0 ? last : 0;
    for (long i = 0; i < iterations; i++) {
        MPI_Irecv(k.in, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(k.out, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static double megabytes_per_second(size_t bytes, double seconds)
{
    return 2.0 * bytes / seconds / 1e6;
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 2, 1, 8 << 20);
    k.receives = k.rank == 0 || k.rank == k.ranks - 1;
    kernel_sizes(bidirectional, megabytes_per_second, "MB/s");
    kernel_end();
    return 0;
}
