/* Each rank sends to its right and receives from its left neighbour at once: the time of one such exchange. */
#include "kernel.h"

static void ring(size_t bytes, long iterations)
{
    int n = (int)bytes;
    int right = (k.rank + 1) % k.ranks, left = (k.rank + k.ranks - 1) % k.ranks;
    for (long i = 0; i < iterations; i++)
        MPI_Sendrecv(k.out, n, MPI_BYTE, right, TAG, k.in, n, MPI_BYTE, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 1, 8, 8);
    k.receives = 1;
    kernel_sizes(ring, kernel_microseconds, "us");
    kernel_end();
    return 0;
}
